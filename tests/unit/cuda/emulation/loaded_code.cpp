// In the place of kernels/devices/cuda/executor/device_code.cpp: the emulated device's code is the host's.
#include <cstdlib>
#include <filesystem>
#include <map>

#include "kernels/devices/cuda/executor/context.h"
#include "tests/unit/cuda/emulation/host_code.h"

namespace hotplate {

// Destroyed with the last context that has it.
class LoadedCode {
 public:
  explicit LoadedCode(const std::string& source) : folder_(MakeFolder()), code_(source, folder_) {
    std::filesystem::remove_all(folder_);
  }
  const emulation::HostCode& code() const { return code_; }

 private:
  static std::string MakeFolder() {
    char name[] = "/tmp/hotplate-emulated-XXXXXX";
    return mkdtemp(name);
  }

  const std::string folder_;
  const emulation::HostCode code_;
};

Outcome CudaContext::LoadCode(const std::string& source) {
  static std::map<std::string, std::shared_ptr<LoadedCode>>& known =
      *new std::map<std::string, std::shared_ptr<LoadedCode>>;
  std::shared_ptr<LoadedCode>& code = known[source];
  code_times_.cache_hit = code != nullptr ? 1 : 0;
  if (code == nullptr) code = std::make_shared<LoadedCode>(source);
  code_ = code;
  return code_->code().error().empty() ? Outcome::Ok() : Outcome::Failed(code_->code().error());
}

Outcome CudaContext::LaunchLoaded(const char* function, std::uint64_t blocks, unsigned threads,
                                  std::span<void*> parameters) {
  if (blocks == 0 || blocks > kMaxGrid || threads < 1 || threads > 1024) return Outcome::Failed("launch: invalid");
  const bool run =
      code_ != nullptr && code_->code().Run(function, static_cast<unsigned>(blocks), threads, parameters.data());
  return run ? Outcome::Ok() : Outcome::Failed("launch: there is no such function");
}

}  // namespace hotplate
