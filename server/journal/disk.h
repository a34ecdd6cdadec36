// The disk as the journal's files outside SQLite use it. Virtual for the tests' sake alone: they fill it, break it, and
// take back what was not synced.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace hotplate::journal {

// Thread-safe. Every call may wait for the file system. New files have mode 0600, new folders 0700.
class Disk {
 public:
  using Bytes = std::span<const std::byte>;
  enum class Sync { kNow, kLater };

  virtual ~Disk() = default;

  // Writes a new file that consists of the pieces; ALREADY_EXISTS if the name is taken. Leaves no file where it fails.
  // With kNow the content, not the name, is on the disk afterwards: see SyncFolder.
  virtual absl::Status Write(const std::string& path, std::span<const Bytes> pieces, Sync sync);
  // Writes the first bytes of a file anew, in place, and syncs them; makes the file if it is not there.
  virtual absl::Status Overwrite(const std::string& path, Bytes bytes);
  // Copies a file to a new one, synced.
  virtual absl::Status Copy(const std::string& from, const std::string& to);
  virtual absl::Status Rename(const std::string& from, const std::string& to);
  // ALREADY_EXISTS if `to` is taken; UNIMPLEMENTED on a file system without hard links.
  virtual absl::Status Link(const std::string& from, const std::string& to);
  // OK if it is not there.
  virtual absl::Status Remove(const std::string& path);
  // OK if it is there.
  virtual absl::Status MakeFolder(const std::string& path);
  // An empty one; OK if it is not there.
  virtual absl::Status RemoveFolder(const std::string& path);
  // The names in it outlive a power cut from now on.
  virtual absl::Status SyncFolder(const std::string& path);

  // The names in a folder, without . and .., in no order; NOT_FOUND if it is not there.
  virtual absl::StatusOr<std::vector<std::string>> List(const std::string& folder) const;
  // At most `most` bytes of a file; NOT_FOUND if it is not there.
  virtual absl::StatusOr<std::string> Read(const std::string& path, std::size_t most) const;
  // Bytes that the user may still write there; nothing if unknown.
  virtual std::optional<std::uint64_t> FreeSpace(const std::string& folder) const;

  static Disk& Real();
};

inline Disk::Bytes BytesOf(const std::string& text) { return std::as_bytes(std::span(text)); }

// Puts a small file in place of an old one, whole or not at all; the draft is FILE.new. One writer at a time.
absl::Status ReplaceFile(Disk& disk, const std::string& path, const std::string& text);

// Makes a folder with those above it, so that their names outlive a power cut; OK if it is there.
absl::Status MakeLastingFolder(Disk& disk, const std::string& path);

// The status of a failed system call: RESOURCE_EXHAUSTED for a full disk or quota, FAILED_PRECONDITION for one that
// must not be written to, DATA_LOSS for a broken one, NOT_FOUND, ALREADY_EXISTS, else UNAVAILABLE.
absl::Status DiskError(const std::string& what, int error);

}  // namespace hotplate::journal
