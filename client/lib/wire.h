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
void ToWire(const ParamValue& value, v1::ParamValue& to);
ParamValue FromWire(const v1::ParamValue& value);

// INTERNAL where the daemon names a dtype or a shape that this client does not know or that overflows.
absl::StatusOr<Signature> FromWire(const v1::Signature& signature);

// Two hexadecimal digits a byte.
std::string Hex(std::span<const unsigned char> bytes);

// Random bytes in hexadecimal, from the kernel's generator.
std::string RandomHex(std::size_t bytes);

// The inputs are too large to ride in the request: a call begins with uploads.
bool HaveUploads(const std::map<std::string, Input>& inputs);

// The signature of an input whose bytes are here; null for other inputs.
const Signature* SignatureHere(const Input& input);

// INVALID_ARGUMENT for an array with an impossible dtype or shape, or with bytes that do not match them. The message
// begins with `name` and says what is wrong.
absl::Status CheckView(const std::string& name, const ArrayView& view);
absl::Status CheckSignature(const std::string& name, const Signature& signature);
// INVALID_ARGUMENT: the text is not UTF-8, on which gRPC would drop the connection.
absl::Status CheckText(std::string_view what, std::string_view text);
// All of these checks for a whole job.
absl::Status CheckCall(const std::string& kernel, const std::map<std::string, Input>& inputs,
                       const JobOptions& options);

// Unique request ids: one random number and a count. Asking the system for random bytes for every job would cost as
// much as building the rest of it. Thread-safe.
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

// Adds the inputs. The caller's arrays go inline, or by signature alone; sources never go inline.
void AddInputs(const std::map<std::string, Input>& inputs, ViewsAs views, v1::JobSpec& spec);
void AddInput(const std::string& name, const Input& input, ViewsAs views, v1::JobSpec& spec);

}  // namespace hotplate::client
