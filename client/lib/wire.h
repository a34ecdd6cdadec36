// Between the library's plain types and the protocol's messages.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "client/lib/client.h"
#include "google/protobuf/duration.pb.h"

namespace hotplate::client {

void ToWire(const Signature& signature, v1::Signature& to);
void ToWire(nanoseconds duration, google::protobuf::Duration& to);

// INTERNAL where the daemon names a dtype or a shape that this client does not know or that overflows.
absl::StatusOr<Signature> FromWire(const v1::Signature& signature);

// Two hexadecimal digits a byte.
std::string Hex(std::span<const unsigned char> bytes);

// So many random bytes in hexadecimal, from the kernel's generator.
std::string RandomHex(std::size_t bytes);

// The inputs are too large to ride in the request: a call begins with uploads.
bool HaveUploads(const std::map<std::string, Input>& inputs);

// Of an input whose bytes are here; nothing of others.
const Signature* SignatureHere(const Input& input);

// INVALID_ARGUMENT, and what is wrong with it: an array with a dtype or a shape that none can have, or whose bytes are
// not what they say. `name` begins the message.
absl::Status CheckView(const std::string& name, const ArrayView& view);
absl::Status CheckSignature(const std::string& name, const Signature& signature);
// INVALID_ARGUMENT: text that is not UTF-8. gRPC drops a connection on which such text comes.
absl::Status CheckText(std::string_view what, std::string_view text);
// Both, for all of a job.
absl::Status CheckCall(const std::string& kernel, const std::map<std::string, Input>& inputs,
                       const JobOptions& options);

// Request ids that nobody else makes: one random number and a count. Asking the system for randomness for every job
// would cost as much as building the rest of it. Thread-safe.
class RequestIds {
 public:
  std::string Next();

 private:
  const std::string prefix_ = RandomHex(8);
  std::atomic<std::uint64_t> next_{0};
};

// Everything of a job but its inputs.
v1::JobSpec SpecFor(const std::string& kernel, const JobOptions& options, RequestIds& request_ids);

enum class ViewsAs { kInline, kSignature };

// Adds the inputs; arrays of the caller's inline, but for sources, or by signature alone.
void AddInputs(const std::map<std::string, Input>& inputs, ViewsAs views, v1::JobSpec& spec);
void AddInput(const std::string& name, const Input& input, ViewsAs views, v1::JobSpec& spec);

}  // namespace hotplate::client
