#include "server/wire/job.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "absl/hash/hash.h"
#include "kernels/array/quoted.h"
#include "kernels/base/status.h"
#include "server/wire/job_ref.h"
#include "server/wire/path_input.h"
#include "server/wire/sweep.h"
#include "server/wire/values.h"

namespace hotplate::wire {
namespace {

constexpr std::size_t kLongestName = 128;
constexpr std::size_t kLongestChoice = 1024;
constexpr int kMostArguments = 64;
constexpr int kMostParams = 256;

// Gathers all errors, so that one answer names them all.
class Complaints {
 public:
  void Add(std::string field, std::string description) {
    violations_.push_back({std::move(field), std::move(description)});
  }
  void Add(const std::string& field, const absl::Status& status) {
    if (absl::IsResourceExhausted(status) && Violations(status).empty()) {
      busy_ = status;
      return;
    }
    if (code_ == absl::StatusCode::kInvalidArgument) code_ = status.code();
    std::vector<FieldViolation> carried = Violations(status);
    if (carried.empty()) carried.push_back({field, std::string(status.message())});
    for (FieldViolation& violation : carried) violations_.push_back(std::move(violation));
  }
  absl::Status status() const { return violations_.empty() ? busy_ : Refused(code_, violations_); }

 private:
  // The first code that is not plain INVALID_ARGUMENT, if there is one: a limit, a path outside the roots.
  absl::StatusCode code_ = absl::StatusCode::kInvalidArgument;
  std::vector<FieldViolation> violations_;
  absl::Status busy_;  // no fault of the request's, which may do later
};

bool CheckLength(const std::string& text, std::size_t longest, const std::string& field, Complaints& complaints) {
  if (text.size() <= longest) return true;
  complaints.Add(field, field + " is " + Quoted(text) + "; at most " + std::to_string(longest) + " bytes are possible");
  return false;
}

void ReadParams(const v1::JobSpec& spec, core::JobRequest& request, Complaints& complaints) {
  if (spec.params_size() > kMostParams) {
    complaints.Add("params", "there are " + std::to_string(spec.params_size()) + " parameters; at most " +
                                 std::to_string(kMostParams) + " are possible");
    return;
  }
  for (const auto& [name, value] : spec.params()) {
    if (!CheckLength(name, kLongestName, "params", complaints)) continue;
    std::optional<ParamValue> one = FromProto(value);
    if (!one) {
      complaints.Add("params." + name, "params." + name + " has no value");
      continue;
    }
    const auto* const text = std::get_if<std::string>(&*one);
    if (text != nullptr && !CheckLength(*text, kLongestChoice, "params." + name, complaints)) continue;
    request.params.emplace(name, *std::move(one));
  }
}

// Whether the bytes are as many as the signature takes is the core's to say.
absl::StatusOr<std::shared_ptr<const HostBuffer>> CopyInline(const std::string& data, core::ArrayStore& arrays) {
  absl::StatusOr<std::shared_ptr<HostBuffer>> buffer = arrays.AllocateBuffer(data.size());
  if (!buffer.ok()) return buffer.status();
  if (!data.empty()) std::memcpy((*buffer)->data(), data.data(), data.size());
  return std::shared_ptr<const HostBuffer>(*std::move(buffer));
}

absl::Status ReadSource(const v1::JobInput& from, const std::string& field, const JobBounds& bounds,
                        SignatureInputs signature_inputs, core::ArrayStore& arrays, core::JobInput& input) {
  switch (from.source_case()) {
    case v1::JobInput::kInline: {
      absl::StatusOr<Signature> signature = FromProto(from.inline_().signature(), field, bounds.max_array_bytes);
      if (!signature.ok()) return signature.status();
      absl::StatusOr<std::shared_ptr<const HostBuffer>> data = CopyInline(from.inline_().data(), arrays);
      if (!data.ok()) return data.status();
      input.signature = *std::move(signature);
      input.source = *std::move(data);
      return absl::OkStatus();
    }
    case v1::JobInput::kArrayId:
      if (from.array_id().empty() || from.array_id().size() > kLongestName) {
        return InvalidField(field, field + ": " + Quoted(from.array_id()) + " is not the id or name of an array");
      }
      input.source = from.array_id();
      return absl::OkStatus();
    case v1::JobInput::kPath: {
      absl::StatusOr<std::shared_ptr<const NpyFile>> file = OpenPathInput(from.path(), field, bounds);
      if (!file.ok()) return file.status();
      input.signature = (*file)->signature();
      const std::optional<std::size_t> bytes = ByteSize(input.signature);
      if (!bytes || *bytes > bounds.max_array_bytes) {
        return Refused(absl::StatusCode::kResourceExhausted,
                       {{field, field + ": " + Quoted(from.path()) + " holds " + ToString(input.signature) +
                                    "; the limit max-array-bytes is " + std::to_string(bounds.max_array_bytes)}});
      }
      input.source = *std::move(file);
      return absl::OkStatus();
    }
    case v1::JobInput::kSignature: {
      if (signature_inputs == SignatureInputs::kRefused) {
        return InvalidField(field, field + " is only a signature, without data; that is for Check");
      }
      absl::StatusOr<Signature> signature = FromProto(from.signature(), field, bounds.max_array_bytes);
      if (!signature.ok()) return signature.status();
      input.signature = *std::move(signature);
      return absl::OkStatus();
    }
    case v1::JobInput::kJobOutput: {
      absl::StatusOr<core::JobRef> job = FromProto(from.job_output().job(), field);
      if (!job.ok()) return job.status();
      const std::string& output = from.job_output().output();
      if (output.empty() || output.size() > kLongestName) {
        return InvalidField(field, field + ": " + Quoted(output) + " is not the name of an output");
      }
      input.source = core::OutputOf{*std::move(job), output};
      return absl::OkStatus();
    }
    case v1::JobInput::SOURCE_NOT_SET:
      break;
  }
  return InvalidField(field, field + " has no source: inline data, an array, a path or another job's output");
}

void ReadInputs(const v1::JobSpec& spec, const JobBounds& bounds, SignatureInputs signature_inputs,
                core::ArrayStore& arrays, core::JobRequest& request, Complaints& complaints) {
  if (spec.inputs_size() > kMostArguments) {
    complaints.Add("inputs", "there are " + std::to_string(spec.inputs_size()) + " inputs; at most " +
                                 std::to_string(kMostArguments) + " are possible");
    return;
  }
  request.inputs.reserve(static_cast<std::size_t>(spec.inputs_size()));
  for (int i = 0; i < spec.inputs_size(); ++i) {
    const v1::JobInput& from = spec.inputs(i);
    if (!CheckLength(from.name(), kLongestName, "inputs", complaints)) continue;
    const std::string field = "inputs." + from.name();
    core::JobInput input;
    input.name = from.name();
    if (absl::Status status = ReadSource(from, field, bounds, signature_inputs, arrays, input); !status.ok()) {
      complaints.Add(field, status);
      continue;
    }
    request.inputs.push_back(std::move(input));
  }
}

void ReadOutputs(const v1::JobSpec& spec, const JobBounds& bounds, core::JobRequest& request, Complaints& complaints) {
  if (spec.outputs_size() > kMostArguments) {
    complaints.Add("outputs", "there are " + std::to_string(spec.outputs_size()) + " outputs; at most " +
                                  std::to_string(kMostArguments) + " are possible");
    return;
  }
  for (int i = 0; i < spec.outputs_size(); ++i) {
    const v1::JobOutput& from = spec.outputs(i);
    if (!CheckLength(from.name(), kLongestName, "outputs", complaints)) continue;
    const std::string field = "outputs." + from.name();
    core::JobOutput output;
    output.name = from.name();
    output.keep = from.keep();
    output.for_jobs = from.for_jobs();
    if (CheckLength(from.array_name(), kLongestName, field, complaints)) output.array_name = from.array_name();
    if (from.has_lease()) {
      const absl::StatusOr<core::nanoseconds> lease = PositiveDuration(from.lease(), field + ".lease");
      if (lease.ok()) {
        output.lease = *lease;
      } else {
        complaints.Add(field, lease.status());
      }
    }
    if (from.replace() && from.path().empty()) complaints.Add(field, field + ".replace is for an output with a path");
    if (!from.path().empty()) {
      absl::StatusOr<std::shared_ptr<PlacedFile>> file = OpenPathOutput(from.path(), from.replace(), field, bounds);
      if (!file.ok()) {
        complaints.Add(field, file.status());
        continue;
      }
      output.file = *std::move(file);
    }
    request.outputs.push_back(std::move(output));
  }
}

void ReadScalars(const v1::JobSpec& spec, core::JobRequest& request, Complaints& complaints) {
  if (spec.kernel().empty()) complaints.Add("kernel", "kernel is empty; Catalogue.ListKernels lists them");
  if (CheckLength(spec.kernel(), kLongestName, "kernel", complaints)) request.kernel = spec.kernel();
  if (CheckLength(spec.device(), kLongestName, "device", complaints)) request.device = spec.device();
  if (v1::Precision_IsValid(spec.precision())) {
    request.precision = spec.precision();
  } else {
    complaints.Add("precision", "precision has the unknown number " + std::to_string(spec.precision()));
  }
  request.expression = spec.expression();
  request.deterministic = spec.deterministic();
  request.may_rerun = !spec.no_rerun();
  request.priority = spec.priority();
  if (!v1::DisconnectPolicy_IsValid(spec.disconnect_policy())) {
    complaints.Add("disconnect_policy",
                   "disconnect_policy has the unknown number " + std::to_string(spec.disconnect_policy()));
  }
  request.on_disconnect = static_cast<core::DisconnectPolicy>(spec.disconnect_policy());
  if (spec.has_time_limit()) {
    const absl::StatusOr<core::nanoseconds> limit = PositiveDuration(spec.time_limit(), "time_limit");
    if (limit.ok()) {
      request.time_limit = *limit;
    } else {
      complaints.Add("time_limit", limit.status());
    }
  }
  request.request_id = spec.request_id();
  request.forget_when_delivered = spec.forget_when_delivered();
  absl::StatusOr<std::vector<core::JobRef>> after = FromProto(spec.after());
  if (!after.ok()) complaints.Add("after", after.status());
  if (after.ok()) request.after = *std::move(after);
  const auto read_label = [&](const std::string& text, const std::string& field, std::string& into) {
    if (absl::Status status = CheckLabel(text, field); !status.ok()) return complaints.Add(field, status);
    into = text;
  };
  read_label(spec.label(), "label", request.label);
  read_label(spec.graph(), "graph", request.graph);
  read_label(spec.node(), "node", request.node);
  if (spec.has_sweep()) {
    absl::StatusOr<std::shared_ptr<const core::SweepPlan>> sweep = SweepOf(spec);
    if (!sweep.ok()) return complaints.Add("sweep", sweep.status());
    request.sweep = *std::move(sweep);
  }
}

// `size`: of spec.ByteSizeLong(), which has just been called.
void WriteCanonical(const v1::JobSpec& spec, char* bytes, std::size_t size) {
  google::protobuf::io::ArrayOutputStream stream(bytes, static_cast<int>(size));
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  spec.SerializeWithCachedSizes(&coded);
}

// Compared only within one process.
std::uint64_t HashOf(const v1::JobSpec& spec) {
  const std::size_t size = spec.ByteSizeLong();
  const auto bytes = std::make_unique_for_overwrite<char[]>(size);
  WriteCanonical(spec, bytes.get(), size);
  return absl::Hash<absl::string_view>()(absl::string_view(bytes.get(), size));
}

}  // namespace

std::uint64_t HashOf(const std::string& canonical) {
  return absl::Hash<absl::string_view>()(absl::string_view(canonical));
}

std::string CanonicalBytes(const v1::JobSpec& spec) {
  std::string bytes(spec.ByteSizeLong(), '\0');
  WriteCanonical(spec, bytes.data(), bytes.size());
  return bytes;
}

bool NeedsFiles(const v1::JobSpec& spec) {
  // Checking a million tasks takes seconds.
  if (spec.has_sweep()) return true;
  return std::any_of(spec.inputs().begin(), spec.inputs().end(),
                     [](const v1::JobInput& input) { return input.source_case() == v1::JobInput::kPath; }) ||
         std::any_of(spec.outputs().begin(), spec.outputs().end(),
                     [](const v1::JobOutput& output) { return !output.path().empty(); });
}

absl::StatusOr<core::JobRequest> FromProto(const v1::JobSpec& spec, const JobBounds& bounds,
                                           SignatureInputs signature_inputs, core::ArrayStore& arrays) {
  core::JobRequest request;
  Complaints complaints;
  ReadScalars(spec, request, complaints);
  ReadParams(spec, request, complaints);
  ReadInputs(spec, bounds, signature_inputs, arrays, request, complaints);
  ReadOutputs(spec, bounds, request, complaints);
  if (absl::Status status = complaints.status(); !status.ok()) return status;
  if (!request.request_id.empty()) request.payload_hash = HashOf(spec);
  return request;
}

}  // namespace hotplate::wire
