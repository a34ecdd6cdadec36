#include "kernels/devices/cuda/compiler/compiler.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/run_program.h"
#include "kernels/devices/cuda/compiler/sha256.h"

namespace hotplate {
namespace {

constexpr std::size_t kMostCubinBytes = std::size_t{64} << 20;
constexpr std::size_t kMostLogBytes = 150;         // an outcome's message has room for no more
constexpr int kDoesNotCompile = 1, kUnusable = 2;  // statuses of hotplate-nvrtc

// Products and sums are rounded each for itself, as NumPy's are; quotients and roots are correctly rounded, and small
// numbers kept, as they are by default.
constexpr const char* kOptions[] = {"--std=c++17", "--fmad=false"};

// A library that was replaced is another one.
std::string FileIdentity(const std::string& path) {
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) return path;
  return absl::StrCat(path, " ", facts.st_size, " ", facts.st_mtim.tv_sec, ".", facts.st_mtim.tv_nsec);
}

// The first lines.
std::string Cut(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\0')) text.pop_back();
  if (text.size() <= kMostLogBytes) return text;
  return text.substr(0, kMostLogBytes) + " …";
}

}  // namespace

absl::StatusOr<SharedCubin> CudaCompiler::RunCompiler(const std::string& source, const std::string& architecture,
                                                      const std::string& library) const {
  auto cubin = std::make_shared<std::string>();
  ProgramCall call{.words = {options_.program, library, std::to_string(options_.memory_bytes), architecture}};
  call.words.insert(call.words.end(), std::begin(kOptions), std::end(kOptions));
  call.input = source;
  call.timeout = options_.timeout;
  call.longest_output = kMostLogBytes * 4;
  call.on_output = [&cubin](std::string_view piece) {
    cubin->append(piece);
    return cubin->size() <= kMostCubinBytes;
  };
  // The program is a path, for which no variable is asked.
  const absl::StatusOr<ProgramResult> result =
      RunProgram(call, [](const std::string&) -> std::optional<std::string> { return std::nullopt; });
  if (cubin->size() > kMostCubinBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the code is more than ", kMostCubinBytes >> 20, " MiB; make the expression shorter"));
  }
  if (absl::IsNotFound(result.status())) {
    return absl::FailedPreconditionError(absl::StrCat(
        "there is no ", options_.program, ", which compiles expressions for GPUs; install all of Hotplate"));
  }
  if (absl::IsDeadlineExceeded(result.status())) {
    return absl::DeadlineExceededError(absl::StrCat("it took the compiler more than ",
                                                    options_.timeout / std::chrono::seconds(1),
                                                    " s; make the expression shorter, or run it on the CPU"));
  }
  if (!result.ok()) return result.status();
  if (result->exit_code == kUnusable) {
    return absl::FailedPreconditionError(absl::StrCat("CUDA's ", library, " cannot be used: ", Cut(result->err)));
  }
  if (result->exit_code == kDoesNotCompile) {
    return absl::InternalError(absl::StrCat(
        "CUDA's compiler does not take the expression's text; this is a defect of Hotplate's: ", Cut(result->err)));
  }
  // It ran out of memory, which the compiler may say in many ways, or broke down.
  if (result->exit_code != 0) {
    return absl::ResourceExhaustedError(absl::StrCat("CUDA's compiler broke down (status ", result->exit_code,
                                                     ", with at most ", options_.memory_bytes >> 20, " MiB of memory)",
                                                     result->err.empty() ? "" : ": ", Cut(result->err)));
  }
  if (!cubin->starts_with("\177ELF")) return absl::InternalError("CUDA's compiler ended well, and gave no code");
  return SharedCubin(std::move(cubin));
}

absl::StatusOr<CompiledCode> CudaCompiler::Compile(const std::string& source, int compute, const std::string& library) {
  const std::string architecture = absl::StrCat("--gpu-architecture=sm_", compute);
  std::string all = absl::StrCat("1\n", FileIdentity(library), "\n", architecture, "\n");
  for (const char* const option : kOptions) absl::StrAppend(&all, option, "\n");
  const std::string key = Sha256(all + source);
  if (SharedCubin found = cache_.Find(key)) return CompiledCode{std::move(found), true};
  Turn turn(*this, key);
  if (!turn.failure().ok()) return turn.failure();
  // Another lane may have been at it.
  if (SharedCubin found = cache_.Find(key)) return CompiledCode{std::move(found), true};
  absl::StatusOr<SharedCubin> compiled = RunCompiler(source, architecture, library);
  if (!compiled.ok()) return turn.Fail(compiled.status());
  cache_.Keep(key, *compiled);
  return CompiledCode{*std::move(compiled), false};
}

CudaCompiler::Turn::Turn(CudaCompiler& compiler, const std::string& key) : compiler_(compiler), key_(key) {
  const MutexLock lock(compiler_.mutex_);
  std::shared_ptr<absl::Status> before;
  for (auto at = compiler_.running_.find(key); at != compiler_.running_.end(); at = compiler_.running_.find(key)) {
    before = at->second;
    compiler_.ended_.Wait(compiler_.mutex_);
  }
  if (before != nullptr && !before->ok()) {
    failure_ = *before;
    return;
  }
  own_ = std::make_shared<absl::Status>();
  compiler_.running_.emplace(key, own_);
}

absl::Status CudaCompiler::Turn::Fail(const absl::Status& status) {
  const MutexLock lock(compiler_.mutex_);
  *own_ = status;
  return status;
}

CudaCompiler::Turn::~Turn() {
  if (own_ == nullptr) return;
  {
    const MutexLock lock(compiler_.mutex_);
    compiler_.running_.erase(key_);
  }
  compiler_.ended_.NotifyAll();
}

std::string CompilerBeside(const std::string& folder) {
  const std::string launched = folder + "/bin/hotplate-nvrtc";
  return access(launched.c_str(), X_OK) == 0 ? launched : folder + "/hotplate-nvrtc";
}

}  // namespace hotplate
