// Compiles CUDA C++ for a device, by the program hotplate-nvrtc (hotplate_nvrtc.cpp), or finds what was compiled
// before:
//   1. The key is the SHA-256 of the text, the options, the architecture, and the library's file (path, size, time).
//   2. Code by that key comes from memory or the folder (cubin_cache.h). Two lanes that want the same code wait for one
//      compiler.
//   3. Otherwise the program runs with a limit on its time and memory, and is killed when it takes more.
// It makes code for the very device, not PTX: a library newer than the driver makes PTX that the driver refuses.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "kernels/base/mutex.h"
#include "kernels/devices/cuda/compiler/cubin_cache.h"

namespace hotplate {

struct CompilerOptions {
  std::string program;  // the path of hotplate-nvrtc
  std::string folder;   // for what was compiled; empty: none
  std::chrono::milliseconds timeout = std::chrono::seconds(60);
  std::uint64_t memory_bytes = std::uint64_t{3} << 30;
};

struct CompiledCode {
  SharedCubin cubin;
  bool was_there = false;  // compiled before
};

class CudaCompiler {
 public:
  explicit CudaCompiler(const CompilerOptions& options) : options_(options), cache_(options.folder) {}

  // For compute capability `compute` (90 for 9.0), with the NVRTC library at `library`. FAILED_PRECONDITION: the
  // program or the library cannot be used. DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED: it took too long, or too much memory.
  // INTERNAL: the text does not compile; the message has the compiler's first words. Any thread; waits.
  absl::StatusOr<CompiledCode> Compile(const std::string& source, int compute, const std::string& library);

  CubinCache& cache() { return cache_; }

 private:
  // The turn to compile what has this key. Where another lane has it, waits for that one's end.
  class Turn {
   public:
    Turn(CudaCompiler& compiler, const std::string& key);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    // The other lane's error, after which nothing is tried again.
    const absl::Status& failure() const { return failure_; }
    absl::Status Fail(const absl::Status& status);

   private:
    CudaCompiler& compiler_;
    const std::string& key_;
    std::shared_ptr<absl::Status> own_;  // null: there was a failure
    absl::Status failure_;
  };

  absl::StatusOr<SharedCubin> RunCompiler(const std::string& source, const std::string& architecture,
                                          const std::string& library) const;

  const CompilerOptions options_;
  CubinCache cache_;
  Mutex mutex_;
  CondVar ended_;
  std::map<std::string, std::shared_ptr<absl::Status>> running_ ABSL_GUARDED_BY(mutex_);  // by their keys
};

// The program beside the daemon: in a bundle, where a launcher starts it with the bundle's libraries, in "bin".
std::string CompilerBeside(const std::string& folder);

}  // namespace hotplate
