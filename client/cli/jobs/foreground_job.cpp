#include "client/cli/jobs/foreground_job.h"

#include <atomic>
#include <chrono>

#include "client/cli/interrupt.h"
#include "client/cli/jobs/job_ending.h"
#include "client/cli/jobs/job_text.h"
#include "client/cli/jobs/progress.h"
#include "client/cli/jobs/receipt.h"
#include "kernels/base/quantity.h"

namespace hotplate::cli {
namespace {

using Steady = std::chrono::steady_clock;

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
  return NotCompleted(status, job->plan, *files, Steady::now() - begin);
}

}  // namespace

absl::Status RunInForeground(const Invocation& call, absl::FunctionRef<absl::StatusOr<PreparedJob>()> prepare) {
  bool answered = false;  // the job's end has been reported
  const absl::Status status = RunJob(call, prepare, answered);
  return answered ? Answered(status) : status;
}

}  // namespace hotplate::cli
