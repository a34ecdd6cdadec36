#include "kernels/devices/cuda/loader/needed_libraries.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace hotplate {

NeededLibraries::NeededLibraries(const std::map<std::string, std::string>& libraries, LibrarySearch search,
                                 std::function<void(const std::string&)> log,
                                 const std::map<std::string, std::string>& compilers)
    : search_(std::move(search)), log_(std::move(log)) {
  Add(libraries, false);
  Add(compilers, true);
  for (const std::unique_ptr<Library>& library : libraries_) {
    const absl::StatusOr<std::string> path = search_.Find(library->name);
    if (path.ok()) {
      library->found = *path;
      found_.push_back(absl::StrCat(library->name, " for ", library->kernels, " from ", *path));
      continue;
    }
    library->state = path.status();
    missing_.push_back(absl::StrCat("no CUDA device runs ", library->kernels, ": ", path.status().message()));
  }
}

void NeededLibraries::Add(const std::map<std::string, std::string>& libraries, bool compiles) {
  std::map<std::string, Library*> by_name;
  for (const auto& [kernel, name] : libraries) {
    Library*& library = by_name[name];
    if (library == nullptr) {
      library = libraries_.emplace_back(std::make_unique<Library>()).get();
      library->name = name;
      library->compiles = compiles;
    }
    absl::StrAppend(&library->kernels, library->kernels.empty() ? "" : ", ", kernel);
    by_kernel_.emplace(kernel, library);
  }
}

NeededLibraries::Library* NeededLibraries::Of(const std::string& kernel) const {
  const auto found = by_kernel_.find(kernel);
  return found == by_kernel_.end() ? nullptr : found->second;
}

absl::Status NeededLibraries::Check(const std::string& kernel) const {
  Library* const library = Of(kernel);
  if (library == nullptr) return absl::OkStatus();
  const MutexLock lock(library->mutex);
  return library->state;
}

absl::StatusOr<void*> NeededLibraries::Open(const std::string& kernel) {
  Library* const library = Of(kernel);
  if (library == nullptr) return nullptr;
  const MutexLock lock(library->opening);
  if (absl::Status state = Check(kernel); !state.ok()) return state;
  if (library->compiles) return nullptr;
  if (library->handle == nullptr) {
    const absl::StatusOr<LibrarySearch::Opened> opened = search_.Open(library->name);
    if (!opened.ok()) {
      SetState(*library, opened.status());
      return opened.status();
    }
    library->handle = opened->handle;
    library->path = opened->path;
  }
  return library->handle;
}

absl::Status NeededLibraries::Refuse(const std::string& kernel, const std::string& why) {
  Library* const library = Of(kernel);
  if (library == nullptr) return absl::FailedPreconditionError(why);
  const MutexLock lock(library->opening);
  absl::Status state = absl::FailedPreconditionError(absl::StrCat(
      "CUDA's ", library->name, " (", library->path, ") cannot be used: ", why,
      "; load another CUDA module, or name another folder in HOTPLATE_CUDA_LIBRARY_PATH, and restart hotplated"));
  SetState(*library, state);
  return state;
}

absl::StatusOr<std::string> NeededLibraries::CompilerPath(const std::string& name) const {
  for (const std::unique_ptr<Library>& library : libraries_) {
    if (!library->compiles || library->name != name) continue;
    const MutexLock lock(library->mutex);
    if (!library->state.ok()) return library->state;
    return library->found;
  }
  return absl::FailedPreconditionError(absl::StrCat("no kernel is compiled by ", name));
}

void NeededLibraries::RefuseCompilers(const absl::Status& why) {
  for (const std::unique_ptr<Library>& library : libraries_) {
    if (library->compiles) SetState(*library, why);
  }
}

void NeededLibraries::SetState(Library& library, const absl::Status& state) {
  {
    const MutexLock lock(library.mutex);
    if (!library.state.ok()) return;
    library.state = state;
  }
  if (log_) log_(absl::StrCat("no CUDA device runs ", library.kernels, ": ", std::string(state.message())));
}

}  // namespace hotplate
