#include "client/lib/wire.h"

#include <sys/random.h>

#include <cstdlib>
#include <filesystem>

#include "kernels/array/quoted.h"

namespace hotplate::client {
namespace {

constexpr char kDigits[] = "0123456789abcdef";

// The daemon's current folder is not ours.
std::string Absolute(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.lexically_normal().string();
}

}  // namespace

void ToWire(const ParamValue& value, v1::ParamValue& to) {
  struct Setter {
    v1::ParamValue& to;
    void operator()(std::int64_t number) const { to.set_int_value(number); }
    void operator()(double number) const { to.set_float_value(number); }
    void operator()(bool flag) const { to.set_bool_value(flag); }
    void operator()(const std::string& text) const { to.set_string_value(text); }
  };
  std::visit(Setter{to}, value);
}

ParamValue FromWire(const v1::ParamValue& value) {
  if (value.has_int_value()) return value.int_value();
  if (value.has_bool_value()) return value.bool_value();
  if (value.has_string_value()) return value.string_value();
  return value.float_value();
}

void ToWire(const Signature& signature, v1::Signature& to) {
  to.set_dtype(static_cast<v1::DType>(signature.dtype));
  to.mutable_shape()->Assign(signature.shape.begin(), signature.shape.end());
}

void ToWire(nanoseconds duration, google::protobuf::Duration& to) {
  to.set_seconds(duration.count() / 1'000'000'000);
  to.set_nanos(static_cast<std::int32_t>(duration.count() % 1'000'000'000));
}

absl::StatusOr<Signature> FromWire(const v1::Signature& signature) {
  const std::optional<DType> dtype = DTypeFromNumber(static_cast<int>(signature.dtype()));
  if (!dtype) {
    return absl::InternalError("the daemon sent an array of dtype number " +
                               std::to_string(static_cast<int>(signature.dtype())) +
                               ", which this client does not know: use a client of the daemon's version");
  }
  Signature converted{*dtype, Shape(signature.shape().begin(), signature.shape().end())};
  if (!ByteSize(converted)) {
    return absl::InternalError("the daemon sent an array of shape " + ToString(converted.shape) +
                               ", which has no size in bytes");
  }
  return converted;
}

std::string Hex(std::span<const unsigned char> bytes) {
  std::string text;
  for (const unsigned char byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string RandomHex(std::size_t bytes) {
  unsigned char random[32];
  // Up to 256 bytes are never cut short once the generator is seeded, long before any user's process.
  if (bytes > sizeof random || getrandom(random, bytes, 0) != static_cast<ssize_t>(bytes)) std::abort();
  return Hex({random, bytes});
}

bool HaveUploads(const std::map<std::string, Input>& inputs) {
  std::size_t held = 0;
  for (const auto& [name, input] : inputs) {
    if (std::holds_alternative<ArraySource>(input)) return true;
    if (const auto* view = std::get_if<ArrayView>(&input)) held += view->bytes.size();
  }
  return held > kInlineInputBytes;
}

const Signature* SignatureHere(const Input& input) {
  if (const auto* view = std::get_if<ArrayView>(&input)) return &view->signature;
  if (const auto* source = std::get_if<ArraySource>(&input)) return &source->signature;
  return nullptr;
}

absl::Status CheckSignature(const std::string& name, const Signature& signature) {
  const int dtype = static_cast<int>(signature.dtype);
  const auto refused = [&name](const std::string& why) { return absl::InvalidArgumentError(name + ": " + why); };
  if (!DTypeFromNumber(dtype)) return refused("dtype number " + std::to_string(dtype) + " is none");
  if (const std::size_t rank = signature.shape.size(); rank > kMaxRank) {
    return refused("the array has " + std::to_string(rank) + " axes; there may be at most " + std::to_string(kMaxRank));
  }
  if (!ByteSize(signature)) return refused(ToString(signature.shape) + " is not a shape that an array can have");
  return absl::OkStatus();
}

absl::Status CheckView(const std::string& name, const ArrayView& view) {
  if (absl::Status status = CheckSignature(name, view.signature); !status.ok()) return status;
  const std::size_t bytes = *ByteSize(view.signature);
  if (bytes == view.bytes.size()) return absl::OkStatus();
  return absl::InvalidArgumentError(name + ": " + std::to_string(view.bytes.size()) + " bytes were given for " +
                                    ToString(view.signature) + ", which has " + std::to_string(bytes));
}

absl::Status CheckText(std::string_view what, std::string_view text) {
  if (IsUtf8(text)) return absl::OkStatus();
  return absl::InvalidArgumentError(std::string(what) + " is " + Quoted(text) +
                                    ", which is not UTF-8: the protocol has no other text");
}

absl::Status CheckCall(const std::string& kernel, const std::map<std::string, Input>& inputs,
                       const JobOptions& options) {
  absl::Status status = CheckText("the kernel's name", kernel);
  const auto text = [&status](std::string_view what, std::string_view value) {
    if (status.ok()) status = CheckText(what, value);
  };
  for (const auto& [name, input] : inputs) {
    text("an input's name", name);
    if (const auto* array = std::get_if<ArrayRef>(&input)) text("input " + name, array->id_or_name);
    if (const auto* path = std::get_if<PathRef>(&input)) text("the path of input " + name, Absolute(path->path));
    if (const auto* output = std::get_if<OutputRef>(&input)) {
      text("the job of input " + name, output->job_id);
      text("the output that is input " + name, output->output);
    }
    const auto* view = std::get_if<ArrayView>(&input);
    if (view != nullptr && status.ok()) status = CheckView("input " + name, *view);
    const auto* source = std::get_if<ArraySource>(&input);
    if (source != nullptr && status.ok()) status = CheckSignature("input " + name, source->signature);
  }
  for (const auto& [name, value] : options.params) {
    text("a parameter's name", name);
    if (const auto* word = std::get_if<std::string>(&value)) text("parameter " + name, *word);
  }
  for (const auto& [name, keep] : options.keep) {
    text("an output's name", name);
    text("the array's name for output " + name, keep.array_name);
  }
  const auto only = [&](const std::string& name, bool other, const std::string& what) {
    if (status.ok() && other)
      status = absl::InvalidArgumentError("output " + name + " is to be " + what + ": it can be one of the two");
  };
  for (const auto& [name, jobs] : options.for_jobs) {
    text("an output's name", name);
    only(name, options.keep.count(name) > 0 || options.place.count(name) > 0,
         "kept or written, and for other jobs alone");
  }
  for (const std::string& id : options.after) text("a job's id", id);
  for (const std::string& id : options.after_requests) text("a request id", id);
  text("the graph", options.graph);
  text("the node", options.node);
  for (const auto& [name, place] : options.place) {
    text("an output's name", name);
    text("the path of output " + name, Absolute(place.path));
    only(name, options.keep.count(name) > 0, "kept on the daemon and to be written to " + place.path);
    only(name, options.destinations.count(name) > 0, "written to " + place.path + " and has a destination here");
  }
  for (const auto& [name, destination] : options.destinations) {
    text("an output's name", name);
    only(name, options.keep.count(name) > 0, "kept on the daemon and has a destination here");
  }
  text("the device", options.device);
  text("the request id", options.request_id);
  return status;
}

std::string RequestIds::Next() {
  std::string id = prefix_;
  const std::uint64_t number = next_.fetch_add(1, std::memory_order_relaxed);
  for (int shift = 60; shift >= 0; shift -= 4) id += kDigits[number >> shift & 15];
  return id;
}

v1::JobSpec SpecFor(const std::string& kernel, const JobOptions& options, RequestIds& request_ids) {
  v1::JobSpec spec;
  spec.set_kernel(kernel);
  for (const auto& [name, value] : options.params) ToWire(value, (*spec.mutable_params())[name]);
  for (const auto& [name, keep] : options.keep) {
    v1::JobOutput& output = *spec.add_outputs();
    output.set_name(name);
    output.set_keep(true);
    output.set_array_name(keep.array_name);
    if (keep.lease) ToWire(*keep.lease, *output.mutable_lease());
  }
  for (const auto& [name, jobs] : options.for_jobs) {
    v1::JobOutput& output = *spec.add_outputs();
    output.set_name(name);
    output.set_for_jobs(jobs);
  }
  for (const std::string& id : options.after) spec.add_after()->set_job_id(id);
  for (const std::string& id : options.after_requests) spec.add_after()->set_request_id(id);
  for (const auto& [name, place] : options.place) {
    v1::JobOutput& output = *spec.add_outputs();
    output.set_name(name);
    output.set_path(Absolute(place.path));
    output.set_replace(place.replace);
  }
  spec.set_device(options.device);
  spec.set_precision(options.precision);
  spec.set_deterministic(options.deterministic);
  spec.set_no_rerun(options.no_rerun);
  spec.set_priority(options.priority);
  spec.set_label(options.label);
  spec.set_graph(options.graph);
  spec.set_node(options.node);
  if (options.function) *spec.mutable_function() = *options.function;
  spec.set_expression(options.expression);
  if (options.sweep) *spec.mutable_sweep() = *options.sweep;
  if (options.time_limit) ToWire(*options.time_limit, *spec.mutable_time_limit());
  spec.set_request_id(options.request_id.empty() ? request_ids.Next() : options.request_id);
  spec.set_forget_when_delivered(options.request_id.empty());  // only this call knows it
  // By default the daemon cancels the job after its grace period, within which a client can reconnect.
  if (options.detach_on_disconnect) spec.set_disconnect_policy(v1::DISCONNECT_POLICY_DETACH);
  return spec;
}

void AddInput(const std::string& name, const Input& input, ViewsAs views, v1::JobSpec& spec) {
  v1::JobInput& to = *spec.add_inputs();
  to.set_name(name);
  const Signature* here = SignatureHere(input);
  if (here != nullptr && views == ViewsAs::kSignature) {
    ToWire(*here, *to.mutable_signature());
  } else if (const auto* view = std::get_if<ArrayView>(&input)) {
    ToWire(view->signature, *to.mutable_inline_()->mutable_signature());
    to.mutable_inline_()->set_data(view->bytes.data(), view->bytes.size());
  } else if (const auto* array = std::get_if<ArrayRef>(&input)) {
    to.set_array_id(array->id_or_name);
  } else if (const auto* output = std::get_if<OutputRef>(&input)) {
    v1::JobRef& job = *to.mutable_job_output()->mutable_job();
    if (output->request_id.empty()) {
      job.set_job_id(output->job_id);
    } else {
      job.set_request_id(output->request_id);
    }
    to.mutable_job_output()->set_output(output->output);
  } else {
    to.set_path(Absolute(std::get<PathRef>(input).path));
  }
}

void AddInputs(const std::map<std::string, Input>& inputs, ViewsAs views, v1::JobSpec& spec) {
  for (const auto& [name, input] : inputs) AddInput(name, input, views, spec);
}

}  // namespace hotplate::client
