// CUDA's libraries called by a plug-in's kernels (plugin_abi.h: hotplate_cuda_kernel.library), and those that compile
// for them (hotplate_cuda_kernel.compiler), which are opened by other processes only. They are searched when
// the plug-in is opened; each is opened when the first kernel that calls it runs: cuBLASLt alone takes some 60 ms and
// 200 MiB. A kernel whose library is missing or unusable is not available; the others are.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/mutex.h"
#include "kernels/devices/cuda/loader/library_search.h"

namespace hotplate {

class NeededLibraries {
 public:
  // `libraries`: kernel -> the library that it calls; `compilers`: -> the one that compiles for it. `log` is called
  // once for a library that proves unusable when it is opened; may be empty.
  NeededLibraries(const std::map<std::string, std::string>& libraries, LibrarySearch search,
                  std::function<void(const std::string&)> log,
                  const std::map<std::string, std::string>& compilers = {});

  // The results of the search, one sentence each: libraries with their paths, and missing ones with their kernels.
  const std::vector<std::string>& found() const { return found_; }
  const std::vector<std::string>& missing() const { return missing_; }

  // OK, or FAILED_PRECONDITION: why the kernel's library is not available, as far as is known yet. Any thread; does not
  // wait.
  absl::Status Check(const std::string& kernel) const;
  // For table().use_library: the dlopen handle of the kernel's library, opened now unless another kernel did so before;
  // null if the kernel needs none, or one that only compiles for it. Any thread; waits for another that is opening it.
  absl::StatusOr<void*> Open(const std::string& kernel);
  // Marks the kernel's library as unusable, as use_library said: Check and Open say so from now on. Returns that
  // sentence.
  absl::Status Refuse(const std::string& kernel, const std::string& why);
  // The path of a library that compiles: "libnvrtc.so.13".
  absl::StatusOr<std::string> CompilerPath(const std::string& name) const;
  // What compiles cannot be used: Check says so from now on, of all kernels that need it.
  void RefuseCompilers(const absl::Status& why);

 private:
  struct Library {
    std::string name, kernels;  // "matmul, svd"
    bool compiles = false;
    std::string found;  // the search's path
    Mutex opening;      // locked before `mutex`
    void* handle ABSL_GUARDED_BY(opening) = nullptr;
    std::string path ABSL_GUARDED_BY(opening);
    Mutex mutex;  // never held for long
    absl::Status state ABSL_GUARDED_BY(mutex);
  };
  void Add(const std::map<std::string, std::string>& libraries, bool compiles);
  Library* Of(const std::string& kernel) const;
  void SetState(Library& library, const absl::Status& state);

  const LibrarySearch search_;
  const std::function<void(const std::string&)> log_;
  std::vector<std::unique_ptr<Library>> libraries_;
  std::map<std::string, Library*> by_kernel_;
  std::vector<std::string> found_, missing_;
};

}  // namespace hotplate
