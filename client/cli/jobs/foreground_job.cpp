#include "client/cli/jobs/foreground_job.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "client/cli/interrupt.h"
#include "client/cli/jobs/job_text.h"
#include "client/cli/jobs/progress.h"
#include "client/cli/jobs/receipt.h"
#include "kernels/base/quantity.h"

namespace hotplate::cli {
namespace {

using Steady = std::chrono::steady_clock;

absl::Status Appended(const absl::Status& status, const std::string& more) {
  return Worded(status, std::string(status.message()) + more);
}

absl::Status NotRun(const absl::Status& status, const v1::KernelSpec& kernel) {
  return Worded(status, kernel.name() + ": " + std::string(status.message()) + "\nthe job was not run");
}

// Refuses impossible pictures before the job runs. Only the daemon knows the shapes of the outputs.
absl::Status CheckPictures(PreparedJob& job, const JobOutputs& files) {
  if (!files.HasPicture()) return absl::OkStatus();
  const auto check = job.client.Check(job.plan.kernel.name(), job.inputs.Inputs(), job.plan.options);
  if (!check.ok()) return check.status();
  std::vector<std::pair<std::string, hotplate::Signature>> outputs;
  for (const v1::NamedSignature& output : check->outputs())
    if (const auto signature = FromWire(output.signature())) outputs.emplace_back(output.name(), *signature);
  const absl::Status pictures = files.CheckPictures(outputs);
  return pictures.ok() ? pictures : NotRun(pictures, job.plan.kernel);
}

// The job has done its part; its files could not be written.
absl::Status NotDelivered(const absl::Status& status, const JobPlan& plan, const std::string& job_id) {
  std::string place = "elsewhere.npy";
  const auto file = std::find_if(plan.outputs.begin(), plan.outputs.end(),
                                 [](const OutputArgument& one) { return one.IsFileHere(); });
  if (plan.kernel.outputs_size() > 1 && file != plan.outputs.end()) place = file->name + "=" + place;
  return WithNextStep(Appended(status, "\njob " + job_id + " COMPLETED, and the daemon still has its result"),
                      "fetch it soon: hotplate result " + job_id + " -o " + place);
}

std::string JobName(const std::string& id) { return id.empty() ? "the job" : "job " + id; }

// The end of a job that did not complete: for scripts on standard output, and for people its receipt.
void ReportEnd(const Invocation& call, const std::string& job_id, const v1::JobEnd& end) {
  call.output.Answer([] { return std::string(); }, [&] { return EndJson(job_id, end); }, "");
  if (call.output.talkative() && end.result().has_receipt() && end.state() != v1::CANCELLED)
    WriteReceipt(call.console, end.result().receipt(), end.state());
}

absl::Status RunJob(const Invocation& call, absl::FunctionRef<absl::StatusOr<PreparedJob>()> prepare, bool& answered) {
  client::Cancellation cancellation;
  std::atomic<Steady::rep> interrupted_at{0};
  InterruptWatch interrupt([&] {
    interrupted_at = Steady::now().time_since_epoch().count();
    cancellation.Cancel();
  });

  auto job = prepare();
  if (!job.ok()) return job.status();
  interrupt.Begin();
  auto files = JobOutputs::Open(job->plan.outputs);
  if (!files.ok()) return NotRun(files.status(), job->plan.kernel);
  if (const absl::Status status = CheckAnswer(call, *files); !status.ok()) return status;
  if (const absl::Status status = CheckPictures(*job, *files); !status.ok())
    return NamingFiles(Settled(status), job->plan.inputs);
  if (job->plan.dry_run) return DryRun(call, *job);
  if (const absl::Status status = job->inputs.Load(); !status.ok()) return status;
  if (interrupt.interrupted()) return Interrupted("no job was submitted" + files->NotWritten());

  Progress progress(call.console, call.output.talkative());
  client::JobOptions& options = job->plan.options;
  options.on_update = [&progress](const v1::JobUpdate& update) { progress.Update(update); };
  options.on_upload = [&](std::uint64_t done, std::uint64_t total) { progress.Upload(done, total); };
  options.on_download = [&](std::uint64_t done, std::uint64_t total) { progress.Download(done, total); };
  options.take_output = [&](const std::string& output, const Signature& signature, std::uint64_t offset,
                            std::span<const std::byte> piece) { return files->Take(output, signature, offset, piece); };
  // The daemon keeps its copy until the files are in place; under a request id also for the same call again.
  options.leave_result = true;
  const Steady::time_point begin = Steady::now();
  auto result = job->client.Run(job->plan.kernel.name(), job->inputs.Inputs(), options, &cancellation);
  progress.Clear();
  if (result.ok()) {
    const absl::Status delivered = Deliver(call, job->plan.kernel, job->plan.outputs, *files, *result);
    if (!delivered.ok()) return NotDelivered(delivered, job->plan, result->job_id);
    if (options.request_id.empty()) job->client.Release(*result);
    return absl::OkStatus();
  }

  const absl::Status& status = result.status();
  const std::string job_id = client::JobIdOf(status);
  if (!files->take_error().ok()) return NotDelivered(files->take_error(), job->plan, job_id);
  const auto end = client::EndOf(status);
  answered = end.has_value();
  if (end) ReportEnd(call, job_id, *end);
  if (interrupt.interrupted()) {
    const auto after = Steady::now().time_since_epoch() - Steady::duration(interrupted_at.load());
    const v1::KernelSpec& kernel = job->plan.kernel;
    const std::string bound = kernel.cancel_class() == v1::CANCEL_CLASS_CHUNKED
                                  ? " (bound for this kernel: " + std::to_string(kernel.cancel_bound_ms()) + " ms)"
                                  : "";
    // Only a cancel confirmed by the daemon is stated as a fact.
    const bool cancelled = end && end->state() == v1::CANCELLED;
    if (!cancelled) return Interrupted(std::string(status.message()) + files->NotWritten());
    return WithExitCode(
        absl::CancelledError(JobName(job_id) + " cancelled after " + DurationText(after) + bound + files->NotWritten()),
        kExitInterrupted);
  }
  if (end && end->state() == v1::CANCELLED && !absl::IsDeadlineExceeded(status))
    return WithExitCode(Appended(status, files->NotWritten()), kExitCancelled);
  if (absl::IsDeadlineExceeded(status) && !end && options.deadline && Steady::now() - begin >= *options.deadline)
    // Whether a job that was asked to cancel did so is not known: the library does not wait for it.
    return WithExitCode(
        absl::DeadlineExceededError("gave up after " + DurationText(*options.deadline) +
                                    " (--timeout): " + std::string(status.message()) + files->NotWritten()),
        kExitTimeout);
  // Data that its kernel could not work with: a singular matrix. That was run.
  if (absl::IsInvalidArgument(status) && end && end->state() == v1::FAILED)
    return WithExitCode(Appended(NamingFiles(status, job->plan.inputs), files->NotWritten()), kExitFailed);
  if (absl::IsInvalidArgument(status))
    return WithNextStep(NamingFiles(status, job->plan.inputs), "nothing was run · " + WhereDescribed(job->plan.kernel));
  return Appended(Settled(status), files->NotWritten());
}

}  // namespace

absl::Status RunInForeground(const Invocation& call, absl::FunctionRef<absl::StatusOr<PreparedJob>()> prepare) {
  bool answered = false;  // the job's end has been reported
  const absl::Status status = RunJob(call, prepare, answered);
  return answered ? Answered(status) : status;
}

}  // namespace hotplate::cli
