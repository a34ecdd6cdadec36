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
  // `plugins` is the folder of the plug-ins.
  LibrarySearch(std::function<std::string(const char* variable)> environment, std::string root, std::string plugins)
      : environment_(std::move(environment)), root_(std::move(root)), plugins_(std::move(plugins)) {}

  // The first file of this name ("libcublasLt.so.13") that is a library of this name, by what its headers say, without
  // opening it: that takes long and half a gigabyte. Only the dynamic linker's own folders can be searched in no other
  // way; they come last. FAILED_PRECONDITION says where it was looked for, what was found there, and what to do.
  absl::StatusOr<std::string> Find(const std::string& name) const;

  struct Opened {
    void* handle = nullptr;  // the handle from dlopen
    std::string path;
  };
  // Opens it, and before it what it needs of CUDA's libraries, for good. FAILED_PRECONDITION like Find.
  absl::StatusOr<Opened> Open(const std::string& name) const { return Open(name, Folders(), 0); }

  // In the order in which they are searched; only folders that are there. "" stands for the dynamic linker's own search
  // (its cache, the system's folders).
  std::vector<std::string> Folders() const;

 private:
  std::vector<std::string> FoldersFor(const std::string& user) const;
  absl::StatusOr<Opened> Open(const std::string& name, const std::vector<std::string>& folders, int depth) const;
  absl::Status Look(const std::string& name, const std::vector<std::string>& folders,
                    const std::function<absl::Status(const std::string& path)>& take) const;
  std::pair<std::string, std::string> PythonInPath() const;
  void AddSitePackages(std::vector<std::string>& folders) const;

  const std::function<std::string(const char*)> environment_;
  const std::string root_, plugins_;
};

}  // namespace hotplate
