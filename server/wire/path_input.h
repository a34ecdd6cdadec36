// Inputs and outputs by path: the daemon reads and writes the files itself, below the folders it is allowed to use.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/array/npy.h"
#include "kernels/array/placed_file.h"

namespace hotplate::wire {

struct JobBounds;  // job.h

// Counts the files by path that are open: each keeps a descriptor until its job ends, and connections need some, too.
// Thread-safe.
class OpenInputs {
 public:
  explicit OpenInputs(std::size_t most) : most_(most) {}
  // Up to a quarter of the descriptors that this process may have.
  static std::shared_ptr<OpenInputs> AsManyAsMayBe();

  // Until the last copy is gone. Null: there are `most` already.
  static std::shared_ptr<const void> Count(const std::shared_ptr<OpenInputs>& inputs);
  std::size_t most() const { return most_; }

 private:
  const std::size_t most_;
  std::atomic<std::size_t> open_{0};
};

// Opens the .npy file at `path` if it is (links resolved) a regular file below one of the bounds' path_roots.
// INVALID_ARGUMENT, NOT_FOUND or PERMISSION_DENIED with a violation of `field`; RESOURCE_EXHAUSTED without one if too
// many are open: another attempt may succeed. May wait for the file system. A guest's path must be written with the
// root, and without "..", and links are followed below the root alone: of other places it is not told what is there.
absl::StatusOr<std::shared_ptr<const NpyFile>> OpenPathInput(const std::string& path, const std::string& field,
                                                             const JobBounds& bounds);

// The place of a .npy file at `path`, below one of the roots, as a PlacedFile; makes nothing. Errors as for
// OpenPathInput; a guest is always refused.
absl::StatusOr<std::shared_ptr<PlacedFile>> OpenPathOutput(const std::string& path, bool replace,
                                                           const std::string& field, const JobBounds& bounds);

}  // namespace hotplate::wire
