#include "server/core/jobs/binding.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/array/quoted.h"
#include "kernels/base/quantity.h"
#include "kernels/base/status.h"
#include "server/core/jobs/spec_by_name.h"
#include "server/core/named_status.h"
#include "server/core/run/outside_work.h"

namespace hotplate::core {
namespace {

std::string Names(const std::vector<ArgumentSpec>& arguments) {
  std::string text;
  for (const ArgumentSpec& argument : arguments) absl::StrAppend(&text, text.empty() ? "" : ", ", argument.name);
  return text.empty() ? "none" : text;
}

// One that has an allowance goes before nobody: a token's part of the devices is what others leave to it.
absl::Status CheckMayGoFirst(const Principal& who, const JobRequest& request, const Allowance* allowance) {
  if (allowance == nullptr || request.priority <= 0) return absl::OkStatus();
  return Refused(absl::StatusCode::kPermissionDenied,
                 {{"priority", absl::StrCat("priority is ", request.priority, ", and token \"", who.token,
                                            "\" may have 0 at most")}});
}

void CheckPriority(const JobRequest& request, std::vector<FieldViolation>& violations) {
  if (std::abs(static_cast<long>(request.priority)) <= kMaxPriority) return;
  violations.push_back({"priority", absl::StrCat("priority ", request.priority, " is not between -", kMaxPriority,
                                                 " and ", kMaxPriority)});
}

}  // namespace

Binder::Binder(Catalogues catalogues, ArrayStore& arrays, const std::vector<std::unique_ptr<Device>>& devices,
               std::uint32_t workers, std::shared_ptr<const Allowances> allowances)
    : catalogues_(std::move(catalogues)),
      arrays_(arrays),
      devices_(devices),
      workers_(workers),
      allowances_(std::move(allowances)) {}

absl::StatusOr<BoundJob> Binder::Bind(const Principal& who, JobRequest& request, Data data,
                                      const std::vector<std::string>& lost) const {
  if (absl::Status status = CheckMayGoFirst(who, request, AllowanceOf(who).get()); !status.ok()) return status;
  // An expression's spec depends on its inputs.
  const bool is_expression = request.work == nullptr && request.kernel == expression::kKernel;
  absl::StatusOr<SharedSpec> spec = is_expression ? SharedSpec() : KnownSpec(who, request);
  if (!spec.ok()) return spec.status();

  std::vector<FieldViolation> violations;
  CheckPriority(request, violations);
  if (absl::Status status = ResolveInputs(who, request, data, violations); !status.ok()) return status;

  std::map<std::string, Signature> signatures;
  for (const JobInput& input : request.inputs) {
    if (!signatures.try_emplace(input.name, input.signature).second) {
      violations.push_back({"inputs." + input.name, absl::StrCat("input \"", input.name, "\" is given twice")});
    }
  }
  std::map<std::string, ParamValue> with_text;  // of an expression
  if (is_expression) {
    if (!violations.empty()) return Refused(absl::StatusCode::kInvalidArgument, violations);
    spec = ExpressionSpec(request, signatures);
    if (!spec.ok()) return spec.status();
    with_text = request.params;
    with_text.emplace(expression::kTextParam, request.expression);
  }
  absl::StatusOr<BoundCall> call =
      (*spec)->Bind(is_expression ? with_text : request.params, signatures, request.precision, request.deterministic);
  if (!call.ok()) {
    if (violations.empty()) return call.status();
    for (FieldViolation& one : Violations(call.status())) violations.push_back(std::move(one));
    return Refused(call.status().code(), violations);
  }

  BoundJob job;
  job.call = *std::move(call);
  if (request.work == nullptr && request.device != kAnyDevice) job.device = request.device;
  for (const ArgumentSpec& argument : (*spec)->inputs()) {
    BoundInput& bound = job.inputs.emplace_back();
    for (JobInput& input : request.inputs) {
      if (input.name != argument.name) continue;
      using Buffer = std::shared_ptr<const HostBuffer>;
      using File = std::shared_ptr<const NpyFile>;
      if (auto* buffer = std::get_if<Buffer>(&input.source)) bound.buffer = std::move(*buffer);
      if (auto* file = std::get_if<File>(&input.source)) bound.file = std::move(*file);
      if (auto* stored = std::get_if<StoredArray>(&input.source)) bound.stored = std::move(stored->path);
      bound.pending = std::holds_alternative<OutputOf>(input.source);
    }
  }
  if (absl::Status status = BindOutputs(who, request, job, violations); !status.ok()) return status;
  if (!violations.empty()) return Refused(absl::StatusCode::kInvalidArgument, violations);
  if (absl::Status status = PlaceWork(who, request, job); !status.ok()) return status;
  if (absl::Status status = PlanDevices(who, request, data, lost, job); !status.ok()) return status;
  if (absl::Status status = CheckWorkers(request, job); !status.ok()) return status;
  job.spec = *std::move(spec);
  return job;
}

absl::StatusOr<SharedSpec> Binder::KnownSpec(const Principal& who, const JobRequest& request) const {
  if (request.work != nullptr) return request.work->spec();
  if (!request.expression.empty()) {
    return InvalidField("expression", absl::StrCat("kernel is \"", request.kernel,
                                                   "\" and there is an expression; the kernel of one is \"",
                                                   expression::kKernel, "\""));
  }
  return catalogues_.For(who)->Find(request.kernel);
}

absl::StatusOr<SharedSpec> Binder::PrepareUnbound(const Principal& who, JobRequest& request) const {
  if (absl::Status status = CheckMayGoFirst(who, request, AllowanceOf(who).get()); !status.ok()) return status;
  std::vector<FieldViolation> violations;
  CheckPriority(request, violations);
  if (absl::Status status = ResolveInputs(who, request, Data::kRequired, violations); !status.ok()) return status;
  if (!violations.empty()) return Refused(absl::StatusCode::kInvalidArgument, violations);
  const auto is_asked_for = [&](const auto& device) { return device->info().id == request.device; };
  const bool any = request.device.empty() || request.device == kAnyDevice;
  if (!any && std::none_of(devices_.begin(), devices_.end(), is_asked_for))
    return NoSuchDevice(devices_, request.device);
  if (absl::Status status = CheckMayUse(devices_, who.token, AllowanceOf(who).get(), request.device); !status.ok()) {
    return status;
  }
  if (request.work == nullptr && request.kernel == expression::kKernel) return SpecByName(request.kernel);
  return KnownSpec(who, request);
}

absl::StatusOr<SharedSpec> Binder::ExpressionSpec(const JobRequest& request,
                                                  const std::map<std::string, Signature>& signatures) const {
  if (request.expression.empty()) return InvalidField("expression", "expression: there is no text");
  return expressions_.For(request.expression, signatures, request.params);
}

absl::Status Binder::PlaceWork(const Principal& who, JobRequest& request, BoundJob& job) {
  if (request.work == nullptr) return absl::OkStatus();
  std::vector<std::shared_ptr<const HostBuffer>> inputs;
  for (const BoundInput& input : job.inputs) inputs.push_back(input.buffer);
  absl::StatusOr<OutsideWork::Place> place = request.work->PlaceFor(who, inputs, request.device);
  if (!place.ok()) return place.status();
  request.device = std::move(place->device);
  job.turn = place->turn;
  job.workers = place->cpus;
  return absl::OkStatus();
}

// Afterwards every input has its signature, and those from arrays their buffer.
absl::Status Binder::ResolveInputs(const Principal& who, JobRequest& request, Data data,
                                   std::vector<FieldViolation>& violations) const {
  const JobInput* on_device = nullptr;  // the first that is on one
  std::string device;
  const auto note_device = [&](const JobInput& input, const std::string& its) {
    if (!its.empty() && on_device == nullptr) {
      on_device = &input;
      device = its;
    } else if (!its.empty() && its != device && request.device.empty() && request.work == nullptr) {
      violations.push_back(
          {"inputs." + input.name, absl::StrCat(input.name, " is on ", its, ", and ", on_device->name, " on ", device,
                                                ": bring both to one device, or ask for one")});
    }
  };
  for (JobInput& input : request.inputs) {
    const std::string field = "inputs." + input.name;
    if (const auto* id = std::get_if<std::string>(&input.source)) {
      absl::StatusOr<ArrayStore::Reader> reader = arrays_.Open(who, *id);
      if (!reader.ok()) return About(field, reader.status());
      input.signature = reader->array.signature;
      note_device(input, reader->array.device);
      input.source = std::move(reader->buffer);
      continue;
    }
    if (const auto* output = std::get_if<OutputOf>(&input.source)) {
      note_device(input, output->device);
      continue;
    }
    if (const auto* file = std::get_if<std::shared_ptr<const NpyFile>>(&input.source); file != nullptr && *file) {
      input.signature = (*file)->signature();
      continue;
    }
    if (std::holds_alternative<StoredArray>(input.source)) continue;
    const std::optional<std::size_t> bytes = ByteSize(input.signature);
    if (!bytes || *bytes > kMaxArrayBytes) {
      violations.push_back({field, absl::StrCat(input.name, ": an array of ", hotplate::ToString(input.signature),
                                                " cannot be: a size is negative or too large")});
      continue;
    }
    if (const auto* buffer = std::get_if<std::shared_ptr<const HostBuffer>>(&input.source);
        buffer != nullptr && *buffer) {
      if ((*buffer)->size() == *bytes) continue;
      violations.push_back({field, absl::StrCat(input.name, ": ", hotplate::ToString(input.signature), " takes ",
                                                *bytes, " bytes; ", (*buffer)->size(), " were given")});
    } else if (data == Data::kRequired) {
      violations.push_back({field, absl::StrCat(input.name,
                                                ": a signature alone is not enough to run a job; give the "
                                                "data, an array or a path")});
    }
  }
  // The processes of other work read arrays on the host, wherever they are.
  if (request.device.empty() && request.work == nullptr) request.device = device;
  return absl::OkStatus();
}

absl::Status Binder::BindOutputs(const Principal& who, const JobRequest& request, BoundJob& job,
                                 std::vector<FieldViolation>& violations) const {
  const KernelSpec& spec = *job.call.spec;
  const ArrayLimits& limits = arrays_.limits();
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < job.call.outputs.size(); ++i) {
    const std::optional<std::size_t> bytes = ByteSize(job.call.outputs[i]);
    const std::string& name = spec.outputs()[i].name;
    if (!bytes || *bytes > kMaxArrayBytes) {
      violations.push_back({"outputs." + name, absl::StrCat(name, ": an output of ",
                                                            hotplate::ToString(job.call.outputs[i]), " is too large")});
      return absl::OkStatus();
    }
    job.outputs.emplace_back().bytes = *bytes;
    total += *bytes;
    const bool array_too_large = limits.array_bytes != 0 && *bytes > limits.array_bytes;
    if (array_too_large || (limits.total_bytes != 0 && total > limits.total_bytes)) {
      return Refused(
          absl::StatusCode::kResourceExhausted,
          {{"outputs." + name,
            absl::StrCat(name, ": an output of ", hotplate::ToString(job.call.outputs[i]), " has ", *bytes, " bytes",
                         array_too_large ? absl::StrCat("; the daemon's limit max-array-bytes is ", limits.array_bytes)
                                         : absl::StrCat(", all outputs ", total, "; the daemon's limit array-bytes is ",
                                                        limits.total_bytes))}});
    }
  }
  std::vector<bool> seen(job.outputs.size());
  for (const JobOutput& output : request.outputs) {
    const std::string field = "outputs." + output.name;
    std::size_t at = 0;
    while (at < spec.outputs().size() && spec.outputs()[at].name != output.name) ++at;
    if (at == spec.outputs().size()) {
      violations.push_back(
          {field, absl::StrCat(spec.name(), " has no output \"", output.name, "\"; it has ", Names(spec.outputs()))});
      continue;
    }
    if (seen[at]) {
      violations.push_back({field, absl::StrCat("output \"", output.name, "\" is given twice")});
      continue;
    }
    seen[at] = true;
    job.outputs[at].file = output.file;
    job.outputs[at].for_jobs = output.for_jobs > 0;
    if (output.for_jobs > 0 && (output.keep || output.file != nullptr)) {
      violations.push_back({field, absl::StrCat(output.name, ": it is for other jobs alone (for_jobs is ",
                                                output.for_jobs, "), and so neither kept nor written to a file")});
      continue;
    }
    if (output.file != nullptr && output.keep) {
      violations.push_back({field, absl::StrCat(output.name, ": it is to be kept as an array and to be written to ",
                                                output.file->path(), ": it can be one of the two")});
      continue;
    }
    if (const auto taken = output.file != nullptr ? output.file->Taken() : std::nullopt) {
      return Refused(absl::StatusCode::kAlreadyExists,
                     {{field, absl::StrCat(output.name, ": ", output.file->path(), ": ", taken->message,
                                           "; --force (replace) puts the new one in its place")}});
    }
    if (!output.keep) {
      if (output.array_name.empty() && !output.lease) continue;
      violations.push_back({field, absl::StrCat(output.name, ": a name or a lease is for an output that is kept")});
      continue;
    }
    BoundOutput& bound = job.outputs[at];
    bound.keep = true;
    bound.lease = output.lease;
    if (output.lease) {
      if (absl::Status status = arrays_.ValidateLease(*output.lease); !status.ok()) return About(field, status);
    }
    if (!output.array_name.empty()) {
      absl::StatusOr<ArrayStore::NameHold> hold = arrays_.HoldName(who, output.array_name);
      if (!hold.ok()) return About(field, hold.status());
      bound.name = *std::move(hold);
    }
  }
  return absl::OkStatus();
}

absl::Status Binder::CheckRequestId(const JobRequest& request) {
  if (request.request_id.size() <= kMaxRequestIdBytes) return absl::OkStatus();
  return InvalidField("request_id", absl::StrCat("a request_id has at most ", kMaxRequestIdBytes,
                                                 " bytes; this one has ", request.request_id.size()));
}

absl::Status Binder::CheckTimeLimit(const JobRequest& request, std::optional<WallTime> allocation_end,
                                    nanoseconds end_margin, WallTime now) {
  if (!request.time_limit) return absl::OkStatus();
  if (*request.time_limit <= nanoseconds::zero()) {
    return InvalidField("time_limit", absl::StrCat("a time limit of ", ExactDuration(*request.time_limit),
                                                   " is not longer than nothing"));
  }
  if (!allocation_end) return absl::OkStatus();
  const nanoseconds left = *allocation_end - now;
  const nanoseconds usable = std::max(left - end_margin, nanoseconds::zero());
  if (*request.time_limit <= usable) return absl::OkStatus();
  const std::string end = UtcText(*allocation_end);
  return Refused(
      absl::StatusCode::kFailedPrecondition,
      {{"time_limit", left <= nanoseconds::zero()
                          ? absl::StrCat("a time limit of ", ExactDuration(*request.time_limit),
                                         " cannot be kept: the allocation ended at ", end)
                          : absl::StrCat("a time limit of ", ExactDuration(*request.time_limit), " is longer than the ",
                                         DurationText(usable), " that are left of the allocation, which ends at ", end,
                                         end_margin > nanoseconds::zero()
                                             ? absl::StrCat("; the daemon needs the last ", DurationText(end_margin))
                                             : "")}});
}

}  // namespace hotplate::core
