// The .npy file format, versions 1 to 3 (NEP 1): little-endian, C or Fortran order, plain element types. Other files
// are refused with a sentence that says what they contain. Sizes are bounded before they are used. bfloat16, which
// NumPy itself lacks, is '<V2', as ml_dtypes (JAX) saves it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "kernels/array/shape.h"

namespace hotplate {

// A sentence for the user: names the offending thing and its value, not the file (the caller knows it).
struct NpyError {
  std::string message;
  // The file could not be opened or read (as opposed to: its content is not acceptable).
  int system_error = 0;
};

// "WHAT: No such file or directory" and the like, for an errno.
NpyError SystemError(std::string_view what, int error);

struct NpyHeader {
  Signature signature;
  bool fortran_order = false;
  // Bytes before the data.
  std::size_t data_offset = 0;
};

// Longest header accepted, in bytes. NumPy itself warns beyond 10 000.
inline constexpr std::size_t kMaxNpyHeaderBytes = 65'536;

// Parses the start of a file. `prefix` holds its first bytes: at least the whole header, or the whole file.
std::variant<NpyHeader, NpyError> ParseNpyHeader(std::span<const std::byte> prefix);

// A version 1.0 header (2.0 if that is too short), padded so that the data start on a multiple of 64 bytes.
std::string NpyHeaderFor(const Signature& signature);

// An open .npy file to read from. Checks the header, and that the file is at least as long as the header says; bytes
// after the array are ignored, as in NumPy. Regular files only; opening a pipe does not wait.
class NpyFile {
 public:
  static std::variant<NpyFile, NpyError> Open(const std::string& path);

  NpyFile(NpyFile&& other) noexcept;
  NpyFile& operator=(NpyFile&& other) noexcept;
  ~NpyFile();

  const Signature& signature() const { return header_.signature; }

  // Fills `destination` (exactly the array's bytes) with the elements in C order, by pread. Fortran order is
  // transposed on the way. Asks `stop` every 16 MiB at the latest; ECANCELED where it says so.
  std::optional<NpyError> Read(std::span<std::byte> destination, const std::function<bool()>& stop = nullptr) const;
  // The file's elements are not in C order.
  bool transposed() const;
  // Fills `destination` with the elements' bytes from byte `offset` on, in the order of the file.
  std::optional<NpyError> ReadStored(std::uint64_t offset, std::span<std::byte> destination) const;
  // An error if the file was written to since it was opened: the elements read may be a mixture.
  std::optional<NpyError> Unchanged() const;

 private:
  NpyFile(int descriptor, NpyHeader header) : descriptor_(descriptor), header_(std::move(header)) {}

  int descriptor_;
  NpyHeader header_;
  std::int64_t changed_ns_ = 0;  // when it was last written to, since 1970
};

// A file that replaces `path` when it is complete and leaves no trace otherwise: written beside it under another name,
// synced, then renamed. Write in order; Commit once. Symbolic links stay and their targets are replaced; in a folder
// like /tmp only if the link belongs to the user or to the folder's owner. A new file's permissions follow the umask; a
// replaced one's stay. Files that are not regular (/dev/null) or not writable are not replaced. The unfinished file is
// locked while its writer lives.
class AtomicFile {
 public:
  // Fails at once if the folder is not there or not writable, or `path` is a folder.
  static std::variant<AtomicFile, NpyError> Create(const std::string& path);

  // Removes unfinished files that killed writers of this user left in a folder: those of this machine at once, those of
  // others (where a node may still write) if they have not changed for a day.
  static void RemoveAbandoned(const std::string& folder);

  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) noexcept;
  ~AtomicFile();  // removes the unfinished file

  std::optional<NpyError> Write(std::span<const std::byte> bytes);
  // Waits until everything written so far is on the disk. Commit does that for all of it.
  std::optional<NpyError> Sync();
  std::optional<NpyError> Commit();
  // The final path, with links resolved, and its folder.
  const std::string& path() const { return path_; }
  std::string folder() const;
  // The unfinished file.
  const std::string& temporary() const { return temporary_; }

 private:
  AtomicFile(int descriptor, std::string path, std::string temporary)
      : descriptor_(descriptor), path_(std::move(path)), temporary_(std::move(temporary)) {}

  int descriptor_;
  std::string path_;
  std::string temporary_;
};

struct Unfinished {
  int descriptor = -1;  // the caller closes it; -1: no file could be made, and errno says why
  std::string path = {};
};
// Makes a hidden file beside `path`, to be renamed to it. The file is locked while its descriptor is open, so that
// AtomicFile::RemoveAbandoned leaves it alone. A relative `path` begins at `folder`, a descriptor or AT_FDCWD.
Unfinished MakeUnfinished(int folder, const std::string& path, mode_t mode);

}  // namespace hotplate
