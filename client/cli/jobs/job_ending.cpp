#include "client/cli/jobs/job_ending.h"

#include <algorithm>

#include "client/cli/ending.h"
#include "kernels/base/quantity.h"
#include "kernels/expression/names.h"

namespace hotplate::cli {
namespace {

absl::Status Appended(const absl::Status& status, const std::string& more) {
  return Worded(status, std::string(status.message()) + more);
}

// A sentence of the daemon's that speaks of inputs by the spec's names, with the files behind these.
std::string WithFiles(std::string message, const std::vector<InputArgument>& inputs) {
  for (const InputArgument& input : inputs) {
    if (input.kind != InputArgument::Kind::kFile && input.kind != InputArgument::Kind::kPath) continue;
    // Only if the daemon's sentence is about the input ("b is …", "b [3, 4]"), not about the expected shape.
    const std::size_t rule = message.find("; expected ");
    for (std::size_t at = message.find(input.name); at < rule; at = message.find(input.name, at + 1)) {
      const std::size_t end = at + input.name.size();
      const bool begins = at == 0 || message[at - 1] == ' ' || message[at - 1] == '\n';
      if (!begins || (message.compare(end, 4, " is ") != 0 && message.compare(end, 2, " [") != 0)) continue;
      message.insert(end, " (" + input.text + ")");
      break;
    }
  }
  return message;
}

}  // namespace

std::string WhereDescribed(const v1::KernelSpec& kernel) {
  return kernel.name() == expression::kKernel ? "hotplate help expressions" : "hotplate describe " + kernel.name();
}

absl::Status Settled(const absl::Status& status) {
  if (status.ok() || client::EndOf(status) || !absl::IsUnavailable(status)) return status;
  if (!client::ConnectionLost(status)) return WithExitCode(status, kExitTryLater);
  return WithNextStep(status, "what happened to it: hotplate logs");
}

absl::Status NamingFiles(const absl::Status& status, const std::vector<InputArgument>& inputs) {
  if (!absl::IsInvalidArgument(status)) return status;
  v1::JobError error;
  error.set_code(static_cast<int>(status.code()));
  error.set_message(WithFiles(std::string(status.message()), inputs));
  for (const v1::FieldViolation& violation : client::Violations(status)) {
    // Text that only a violation has is shown beside the message, and must not get lost.
    if (status.message().find(violation.description()) == absl::string_view::npos) return status;
    v1::FieldViolation& named = *error.add_violations();
    named.set_field(violation.field());
    named.set_description(WithFiles(violation.description(), inputs));
    if (error.message().find(named.description()) == std::string::npos)
      return absl::InvalidArgumentError(error.message());  // it would be told twice
  }
  return client::FromJobError(error);
}

absl::Status NotRun(const absl::Status& status, const v1::KernelSpec& kernel) {
  return Worded(status, kernel.name() + ": " + std::string(status.message()) + "\nthe job was not run");
}

absl::Status NotDelivered(const absl::Status& status, const JobPlan& plan, const std::string& job_id) {
  std::string place = "elsewhere.npy";
  const auto file = std::find_if(plan.outputs.begin(), plan.outputs.end(),
                                 [](const OutputArgument& one) { return one.IsFileHere(); });
  if (plan.kernel.outputs_size() > 1 && file != plan.outputs.end()) place = file->name + "=" + place;
  return WithNextStep(Appended(status, "\njob " + job_id + " COMPLETED, and the daemon still has its result"),
                      "fetch it soon: hotplate result " + job_id + " -o " + place);
}

absl::Status NotCompleted(const absl::Status& status, const JobPlan& plan, const JobOutputs& files,
                          nanoseconds waited) {
  const auto end = client::EndOf(status);
  const std::string not_written = files.NotWritten();
  if (end && end->state() == v1::CANCELLED && !absl::IsDeadlineExceeded(status))
    return WithExitCode(Appended(status, not_written), kExitCancelled);
  const auto& deadline = plan.options.deadline;
  if (absl::IsDeadlineExceeded(status) && !end && deadline && waited >= *deadline)
    // Whether a job that was asked to cancel did so is not known: the library does not wait for it.
    return WithExitCode(absl::DeadlineExceededError("gave up after " + DurationText(*deadline) +
                                                    " (--timeout): " + std::string(status.message()) + not_written),
                        kExitTimeout);
  // Data that its kernel could not work with: a singular matrix. That was run.
  if (absl::IsInvalidArgument(status) && end && end->state() == v1::FAILED)
    return WithExitCode(Appended(NamingFiles(status, plan.inputs), not_written), kExitFailed);
  if (absl::IsInvalidArgument(status))
    return WithNextStep(NamingFiles(status, plan.inputs), "nothing was run · " + WhereDescribed(plan.kernel));
  return Appended(Settled(status), not_written);
}

}  // namespace hotplate::cli
