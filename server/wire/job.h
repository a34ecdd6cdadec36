// A job spec from the wire as a request to the engine. What is checked here is the form, all violations at once: what a
// message can hold and a request cannot (an unknown number, a value without a kind, a text or a list without a bound, a
// path outside the roots). What a request may ask for is checked by the core's Binder, and nowhere else.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hotplate/v1/jobs.pb.h"
#include "server/core/arrays/arrays.h"
#include "server/wire/path_input.h"

namespace hotplate::wire {

struct JobBounds {
  std::uint64_t max_array_bytes = 0;
  // Canonical folders; inputs and outputs by path must lie below one of them.
  std::vector<std::string> path_roots;
  // The same as configured: an output's path may also begin with one of these.
  std::vector<std::string> named_roots;
  mode_t output_mode = 0600;  // permissions of new files by path
  std::shared_ptr<OpenInputs> open_inputs = OpenInputs::AsManyAsMayBe();
  // The token of a guest, whose jobs write no files, and learn of none outside path_roots. Empty: no guest.
  std::string guest = {};
};

enum class SignatureInputs { kRefused, kAllowed };  // allowed for Check only

// Copies inline data into memory that `arrays` counts; opens files of inputs by path (see NeedsFiles).
absl::StatusOr<core::JobRequest> FromProto(const v1::JobSpec& spec, const JobBounds& bounds,
                                           SignatureInputs signature_inputs, core::ArrayStore& arrays);

// The same bytes for the same content, in any order of its maps.
std::string CanonicalBytes(const v1::JobSpec& spec);
// Of these bytes: JobRequest::payload_hash. Compared only within one process.
std::uint64_t HashOf(const std::string& canonical);

// Whether FromProto will touch the file system, or the core will check many tasks: both may take a while.
bool NeedsFiles(const v1::JobSpec& spec);

// The existing folders among `roots`, with links resolved. `missing` gets the others.
std::vector<std::string> CanonicalRoots(const std::vector<std::string>& roots,
                                        std::vector<std::string>* missing = nullptr);

}  // namespace hotplate::wire
