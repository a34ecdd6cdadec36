// Where CUDA's own libraries are that a plug-in needs. Hotplate ships none of them: they are in the site's CUDA module,
// in a toolkit, or in Python's packages. They are opened before the plug-in, by path: the dynamic linker then takes
// what is open for what the plug-in needs.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "kernels/cuda/elf_file.h"

namespace hotplate {

class LibrarySearch {
 public:
  // `environment` gives a variable's value, empty if it is not set. Folders of the system are looked for below `root`.
  LibrarySearch(std::function<std::string(const char* variable)> environment, std::string root)
      : environment_(std::move(environment)), root_(std::move(root)) {}

  // Opens each of CUDA's libraries that this object needs, and what those need of CUDA's, for good. Tells `used` of
  // each: "libcublasLt.so.13 from /usr/local/cuda/lib64/libcublasLt.so.13". FAILED_PRECONDITION names the first that is
  // not there, and where it was looked for.
  absl::Status OpenNeeded(const ElfFile& object, const std::string& folder,
                          const std::function<void(const std::string&)>& used);

  // In the order in which they are searched; only folders that are there. "" stands for the dynamic linker's own search
  // (LD_LIBRARY_PATH, the system's folders).
  std::vector<std::string> Folders(const ElfFile& object, const std::string& folder) const;

 private:
  absl::Status Open(const std::string& name, const std::vector<std::string>& folders, int depth,
                    const std::function<void(const std::string&)>& used);
  void AddSitePackages(std::vector<std::string>& folders) const;

  const std::function<std::string(const char*)> environment_;
  const std::string root_;
  std::set<std::string> open_;  // names
};

}  // namespace hotplate
