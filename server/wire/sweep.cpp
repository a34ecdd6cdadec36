#include "server/wire/sweep.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "kernels/array/quoted.h"
#include "kernels/base/status.h"
#include "server/core/sweeps/sweep_run.h"
#include "server/wire/catalogue.h"
#include "server/wire/job.h"
#include "server/wire/status.h"
#include "server/wire/values.h"

namespace hotplate::wire {
namespace {

constexpr std::size_t kLongestAxisName = 128;
constexpr std::size_t kLongestValue = 64 << 10;  // a line of a file

absl::StatusOr<std::variant<std::int64_t, double>> NumberOf(const v1::ParamValue& value, const std::string& what) {
  if (value.has_int_value()) return value.int_value();
  if (value.has_float_value()) return value.float_value();
  return InvalidField("sweep", absl::StrCat(what, " is no number: ", value.ShortDebugString()));
}

absl::StatusOr<core::SweepAxis> AxisFrom(const v1::SweepAxis& axis) {
  core::SweepAxis made;
  if (axis.name().empty() || axis.name().size() > kLongestAxisName) {
    return InvalidField("sweep", absl::StrCat(Quoted(axis.name()), " is no parameter's name"));
  }
  made.name = axis.name();
  if (axis.has_range()) {
    auto first = NumberOf(axis.range().first(), axis.name() + ": the first value of its range");
    if (!first.ok()) return first.status();
    auto step = NumberOf(axis.range().step(), axis.name() + ": the step of its range");
    if (!step.ok()) return step.status();
    made.values = core::SweepRange{*first, *step, axis.range().count()};
    return made;
  }
  std::vector<ParamValue> values;
  values.reserve(static_cast<std::size_t>(axis.list().values_size()));
  for (const v1::ParamValue& value : axis.list().values()) {
    std::optional<ParamValue> one = FromProto(value);
    if (!one) {
      return InvalidField("sweep", absl::StrCat(axis.name(), ": value ", values.size(), " is missing"));
    }
    if (const auto* const text = std::get_if<std::string>(&*one); text != nullptr && text->size() > kLongestValue) {
      return InvalidField("sweep", absl::StrCat(axis.name(), ": value ", values.size(), " has ", text->size(),
                                                " bytes; at most ", kLongestValue, " are possible"));
    }
    values.push_back(*std::move(one));
  }
  made.values = std::move(values);
  return made;
}

// Each is HOTPLATE_<NAME> in a program's environment, where it must not stand for what Hotplate says there.
absl::Status CheckVariables(const v1::Sweep& sweep) {
  static const std::set<std::string>* const kReserved = new std::set<std::string>{"ACCOUNT",
                                                                                  "CONFIG",
                                                                                  "CUDA_DRIVER_LIBRARY",
                                                                                  "CUDA_LIBRARY_PATH",
                                                                                  "DEVICE",
                                                                                  "DIR",
                                                                                  "ENDPOINT",
                                                                                  "MAX_STREAMS",
                                                                                  "NAME",
                                                                                  "NVML_LIBRARY",
                                                                                  "OUTPUT",
                                                                                  "PYTHON",
                                                                                  "SERVER",
                                                                                  "SITE",
                                                                                  "SITES",
                                                                                  "TASK"};
  std::map<std::string, std::string> taken;  // the axis, by the variable
  for (const v1::SweepAxis& axis : sweep.axes()) {
    const std::string& name = axis.name();
    const bool is_name =
        !name.empty() && !absl::ascii_isdigit(static_cast<unsigned char>(name[0])) &&
        std::all_of(name.begin(), name.end(), [](unsigned char c) { return absl::ascii_isalnum(c) || c == '_'; });
    if (!is_name) {
      return InvalidField("sweep",
                          absl::StrCat(Quoted(name), " is no name for a variable: letters, digits and _ make one"));
    }
    const std::string variable = absl::AsciiStrToUpper(name);
    if (kReserved->contains(variable) || variable.starts_with("DAEMON_")) {
      return InvalidField("sweep", absl::StrCat(Quoted(name), " cannot be swept over: the variable HOTPLATE_", variable,
                                                " is Hotplate's own; take another name"));
    }
    if (const auto [other, is_new] = taken.emplace(variable, name); !is_new) {
      return InvalidField("sweep", absl::StrCat(Quoted(name), " and ", Quoted(other->second),
                                                " would be one variable, HOTPLATE_", variable, "; take another name"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const core::SweepPlan>> PlanOf(const v1::Sweep& sweep, std::string spec) {
  core::SweepPlan::Parts parts;
  for (const v1::SweepAxis& axis : sweep.axes()) {
    absl::StatusOr<core::SweepAxis> made = AxisFrom(axis);
    if (!made.ok()) return made.status();
    parts.axes.push_back(*std::move(made));
  }
  parts.is_table = sweep.is_table();
  for (const v1::TaskRange& range : sweep.only()) parts.only.push_back({range.first(), range.count()});
  if (sweep.has_most_failed()) parts.most_failed = sweep.most_failed();
  parts.retries = sweep.retries();
  parts.spec = std::move(spec);
  return core::SweepPlan::Make(std::move(parts));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const core::SweepPlan>> SweepOf(const v1::JobSpec& spec) {
  if (spec.has_function()) {
    return InvalidField("sweep", "a call of a function has no parameters to sweep over; in Python call it many times");
  }
  if (!spec.graph().empty()) {
    return InvalidField("sweep", absl::StrCat("graph is ", Quoted(spec.graph()), ": a sweep cannot be a part of one"));
  }
  for (const v1::SweepAxis& axis : spec.sweep().axes()) {
    if (!spec.params().contains(axis.name())) continue;
    const std::string field = "params." + axis.name();
    return InvalidField(
        field,
        absl::StrCat(axis.name(), " is ", hotplate::ToString(FromProto(spec.params().at(axis.name())).value_or(false)),
                     " by itself, and swept over as well: give it once"));
  }
  v1::JobSpec kept = spec;
  kept.clear_request_id();
  kept.clear_outputs();
  for (v1::JobInput& input : *kept.mutable_inputs()) input.clear_source();
  return PlanOf(spec.sweep(), CanonicalBytes(kept));
}

absl::StatusOr<std::shared_ptr<const core::SweepPlan>> SweepOf(const v1::Program& program) {
  if (!program.graph().empty()) {
    return InvalidField("sweep",
                        absl::StrCat("graph is ", Quoted(program.graph()), ": a sweep cannot be a part of one"));
  }
  if (absl::Status status = CheckVariables(program.sweep()); !status.ok()) return status;
  // The rest has what others must not see.
  v1::JobSpec kept;
  kept.set_kernel(program.kind());
  kept.set_label(program.label());
  *kept.mutable_sweep() = program.sweep();
  return PlanOf(program.sweep(), CanonicalBytes(kept));
}

void ToProto(const core::TaskCounts& counts, v1::TaskCounts& out) {
  out.set_total(counts.total);
  out.set_completed(counts.completed);
  out.set_failed(counts.failed);
  out.set_running(counts.running);
}

void ToProto(const core::TaskFailure& failure, v1::TaskFailure& out) {
  out.set_task(failure.task);
  out.set_timed_out(failure.timed_out);
  for (const auto& [name, value] : failure.values) (*out.mutable_values())[name] = ToProto(value);
  *out.mutable_error() = ToJobError(failure.error);
}

void ToProto(const core::SweepOutcome& outcome, v1::SweepOutcome& out) {
  ToProto(outcome.counts, *out.mutable_counts());
  for (const core::TaskFailure& failure : outcome.failures) ToProto(failure, *out.add_failures());
  for (const core::TaskRange& range : outcome.incomplete) {
    v1::TaskRange& one = *out.add_incomplete();
    one.set_first(range.first);
    one.set_count(range.count);
  }
  out.mutable_job()->ParseFromString(outcome.spec);
  for (const std::string& text : outcome.swept) out.add_swept(text);
}

core::SweepOutcome FromProto(const v1::SweepOutcome& outcome) {
  core::SweepOutcome made;
  const v1::TaskCounts& counts = outcome.counts();
  made.counts = {counts.total(), counts.completed(), counts.failed(), counts.running()};
  for (const v1::TaskFailure& failure : outcome.failures()) {
    core::TaskFailure& one = made.failures.emplace_back();
    one.task = failure.task();
    one.timed_out = failure.timed_out();
    for (const auto& [name, value] : failure.values()) {
      one.values.emplace_back(name, FromProto(value).value_or(std::int64_t{0}));
    }
    std::sort(one.values.begin(), one.values.end());
    one.error = FromProto(failure.error());
  }
  for (const v1::TaskRange& range : outcome.incomplete()) made.incomplete.push_back({range.first(), range.count()});
  made.spec = CanonicalBytes(outcome.job());
  made.swept = {outcome.swept().begin(), outcome.swept().end()};
  return made;
}

bool IsSweep(const core::JobSnapshot& job) {
  return job.sweep != nullptr || (job.end != nullptr && job.end->sweep != nullptr);
}

void FillSweep(const core::JobSnapshot& job, v1::Job& out) {
  const bool ended = job.end != nullptr && job.end->sweep != nullptr;
  if (!ended && job.sweep == nullptr) return;
  const core::SweepOutcome at_a_glance = ended ? core::SweepOutcome() : job.sweep->Glance();
  const core::SweepOutcome& outcome = ended ? *job.end->sweep : at_a_glance;
  ToProto(outcome.counts, *out.mutable_tasks());
  for (const core::TaskFailure& failure : outcome.failures) ToProto(failure, *out.add_task_failures());
  for (const std::string& text : outcome.swept) {
    out.add_swept(text);
    out.mutable_params()->erase(text.substr(0, text.find('=')));
  }
}

void FillSweep(const core::JobSnapshot& job, v1::SweepOutcome& out) {
  if (job.end != nullptr && job.end->sweep != nullptr) return ToProto(*job.end->sweep, out);
  if (job.sweep != nullptr) ToProto(job.sweep->Outcome(), out);
}

}  // namespace hotplate::wire
