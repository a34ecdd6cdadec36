#include "client/cli/sweeps/failed_tasks.h"

#include <chrono>

#include "client/cli/ending.h"
#include "client/cli/jobs/job_selection.h"
#include "client/cli/terminal/format.h"
#include "client/lib/wire.h"
#include "server/journal/records.h"

namespace hotplate::cli {
namespace {

std::string Words(const v1::SweepOutcome& outcome) {
  return Join({outcome.swept().begin(), outcome.swept().end()}, ", ");
}

bool SameValues(const v1::Sweep& a, const v1::Sweep& b) {
  if (a.is_table() != b.is_table() || a.axes_size() != b.axes_size()) return false;
  for (int i = 0; i < a.axes_size(); ++i)
    if (a.axes(i).SerializeAsString() != b.axes(i).SerializeAsString()) return false;
  return true;
}

}  // namespace

absl::StatusOr<EarlierSweep> FindEarlier(client::Client& client, const std::string& word) {
  const auto id = SelectJob(client, word);
  if (!id.ok()) return id.status();
  const auto job = client.Job(*id);
  if (!job.ok()) return job.status();
  auto outcome = client.Sweep(*id);
  if (!outcome.ok()) return outcome.status();
  if (job->state() <= v1::RUNNING) {
    return WithNextStep(absl::FailedPreconditionError("--failed-of " + *id + ": the job goes on"),
                        "wait for it: hotplate wait " + *id);
  }
  if (outcome->incomplete().empty()) {
    return absl::InvalidArgumentError("--failed-of " + *id + ": all of its " +
                                      std::to_string(outcome->counts().total()) + " tasks completed");
  }
  return EarlierSweep{*id, *std::move(outcome)};
}

absl::Status KeepIncomplete(const EarlierSweep& earlier, v1::Sweep& sweep) {
  if (!SameValues(earlier.outcome.job().sweep(), sweep)) {
    return absl::InvalidArgumentError("--failed-of " + earlier.job_id + ": that sweep was over " +
                                      Words(earlier.outcome) + "; repeat its --each as it was");
  }
  *sweep.mutable_only() = earlier.outcome.incomplete();
  return absl::OkStatus();
}

absl::StatusOr<client::JobOptions> SameJob(const EarlierSweep& earlier) {
  const v1::JobSpec& spec = earlier.outcome.job();
  const std::string& kernel = spec.kernel();
  if (journal::IsProgram(kernel) || spec.inputs_size() > 0) {
    return absl::InvalidArgumentError("--failed-of " + earlier.job_id + ": repeat the words of job " + earlier.job_id +
                                      " (" + kernel + ") behind it, with its --each: the daemon has not kept " +
                                      (spec.inputs_size() > 0 ? "its inputs" : "the program's environment"));
  }
  client::JobOptions options;
  for (const auto& [name, value] : spec.params()) options.params[name] = client::FromWire(value);
  options.device = spec.device();
  options.precision = spec.precision();
  options.deterministic = spec.deterministic();
  options.priority = spec.priority();
  options.label = spec.label();
  options.expression = spec.expression();
  options.no_rerun = spec.no_rerun();
  if (spec.has_time_limit()) {
    options.time_limit =
        std::chrono::seconds(spec.time_limit().seconds()) + std::chrono::nanoseconds(spec.time_limit().nanos());
  }
  options.sweep = spec.sweep();
  *options.sweep->mutable_only() = earlier.outcome.incomplete();
  return options;
}

}  // namespace hotplate::cli
