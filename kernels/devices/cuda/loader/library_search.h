// Where CUDA's own libraries are that a plug-in's kernels call. Hotplate ships none of them: they are in the site's
// CUDA module, in a toolkit, or in Python's packages.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace hotplate {

class LibrarySearch {
 public:
  // `environment` gives a variable's value, empty if it is not set. Folders of the system are looked for below `root`.
  LibrarySearch(std::function<std::string(const char* variable)> environment, std::string root)
      : environment_(std::move(environment)), root_(std::move(root)) {}

  // The first file of this name ("libcublasLt.so.13"), without opening it: that takes long and half a gigabyte. Only
  // the dynamic linker's own folders cannot be searched in another way; they come last. FAILED_PRECONDITION says where
  // it was looked for, and what to do.
  absl::StatusOr<std::string> Find(const std::string& name) const;

  struct Opened {
    void* handle = nullptr;  // the handle from dlopen
    std::string path;
  };
  // Opens the first that can be opened, for good. The dynamic linker finds what it needs of CUDA's libraries: NVIDIA
  // builds each with a RUNPATH that leads to the others of its toolkit, or of Python's packages beside it.
  // FAILED_PRECONDITION is Find's, or says why files that were there cannot be opened.
  absl::StatusOr<Opened> Open(const std::string& name) const;

  // In the order in which they are searched; only folders that are there. "" stands for the dynamic linker's own search
  // (its cache, the system's folders).
  std::vector<std::string> Folders() const;

 private:
  absl::Status NotFound(const std::string& name) const;

  const std::function<std::string(const char*)> environment_;
  const std::string root_;
};

}  // namespace hotplate
