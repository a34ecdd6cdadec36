// A .npy file that a daemon writes where its user says. The path is walked from a trusted folder, one component at a
// time and without following links, so that nobody who can rename folders on the way can redirect it.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "kernels/array/npy.h"

namespace hotplate {

class PlacedFile {
 public:
  // `path` is absolute and lies below `root`. Refused: a name that does not end in .npy, a component that begins with a
  // dot, a link, and a folder that is missing or not writable. Makes nothing. Errors name the component and the root,
  // not the path. A new file has the permissions `mode`, whatever this process's umask; a replaced one's stay.
  static std::variant<PlacedFile, NpyError> Open(const std::string& root, const std::string& path, bool replace,
                                                 mode_t mode);

  PlacedFile(PlacedFile&& other) noexcept;
  PlacedFile& operator=(PlacedFile&& other) noexcept;
  ~PlacedFile();  // removes an uncommitted file

  const std::string& path() const { return path_; }
  // EEXIST if a file is there that must not be replaced. Commit would also say so; asking earlier saves the work.
  std::optional<NpyError> Taken() const;

  // Writes the whole file beside its place, and syncs it. Asks `stop` every 16 MiB at the latest; ECANCELED where it
  // says so.
  std::optional<NpyError> Write(const Signature& signature, std::span<const std::byte> elements,
                                const std::function<bool()>& stop);
  // Puts it in place: of two that write there at once without `replace` one has EEXIST.
  std::optional<NpyError> Commit();

 private:
  PlacedFile(int folder, std::string path, std::string name, bool replace, mode_t mode)
      : folder_(folder), path_(std::move(path)), name_(std::move(name)), replace_(replace), mode_(mode) {}

  int folder_;
  std::string path_, name_;
  bool replace_;
  mode_t mode_;
  std::string unfinished_;  // its name in the folder; empty: none
  int file_ = -1;           // that file, locked while it is open
};

}  // namespace hotplate
