// hotplate submit: queue a job and leave.
#include "client/cli/commands.h"
#include "client/cli/interrupt.h"
#include "client/cli/jobs/job_call.h"
#include "client/cli/jobs/job_ending.h"
#include "client/cli/jobs/job_text.h"
#include "client/cli/jobs/progress.h"
#include "client/cli/programs/program_call.h"
#include "client/cli/terminal/json.h"

namespace hotplate::cli {
namespace {

// "submit eval TEXT …" queues an expression, unless a kernel has that name one day.
absl::StatusOr<PreparedJob> Prepare(const Invocation& call) {
  const std::size_t first = FirstWord(AllOptions(call.command), call.words);
  if (first == call.words.size() || call.words[first] != "eval") return PrepareJob(call, JobOptionsOfSubmit());
  std::vector<std::string> words = call.words;
  words.erase(words.begin() + static_cast<std::ptrdiff_t>(first));
  return PrepareExpression(call, JobOptionsOfSubmit(), words);
}

absl::Status Submit(const Invocation& call) {
  if (call.program != nullptr) {
    const auto program = ProgramFor(call, *call.program);
    return program.ok() ? SubmitDetached(call, *program) : program.status();
  }
  client::Cancellation cancellation;
  InterruptWatch interrupt([&] { cancellation.Cancel(); });
  auto job = Prepare(call);
  if (!job.ok()) return job.status();
  interrupt.Begin();
  for (const OutputArgument& output : job->plan.outputs)
    if (output.IsFileHere())
      return UsageError("-o " + output.text +
                        ": submit does not wait for a result. Fetch it later (hotplate result JOB -o " + output.text +
                        "), keep it with -o array:NAME, or have the daemon write it: -o path:" + output.text);
  if (job->plan.dry_run) return DryRun(call, *job);
  if (const absl::Status status = job->inputs.Load(); !status.ok()) return status;

  Progress progress(call.console, call.output.talkative());
  job->plan.options.on_upload = [&](std::uint64_t done, std::uint64_t total) { progress.Upload(done, total); };
  const auto id = job->client.Submit(job->plan.kernel.name(), job->inputs.Inputs(), job->plan.options, &cancellation);
  progress.Clear();
  if (!id.ok()) {
    if (interrupt.interrupted()) return Interrupted(std::string(id.status().message()));
    if (absl::IsInvalidArgument(id.status()))
      return WithNextStep(NamingFiles(id.status(), job->plan.inputs),
                          "nothing was queued · " + WhereDescribed(job->plan.kernel));
    return Settled(id.status());
  }
  // A request id may have led to a job of before.
  std::string state = "queued";
  if (!job->plan.options.request_id.empty())
    if (const auto known = job->client.Job(*id); known.ok() && known->state() != v1::PENDING)
      state = "of request id " + job->plan.options.request_id + " is " + StateName(known->state());
  call.output.Answer(
      [&] {
        return Done(call.console, "job " + *id + " " + state) + "\n  hotplate watch " + *id + " · hotplate result " +
               *id + " · hotplate cancel " + *id;
      },
      [&] { return JsonObject().Text("jobId", *id).Text("kernel", job->plan.kernel.name()).Json(); }, *id);
  return absl::OkStatus();
}

}  // namespace

Command SubmitCommand() {
  return {
      .name = "submit",
      .group = Group::kJobs,
      .summary = "queue a job and return at once with its id",
      .details =
          "Takes inputs and parameters as run does. The daemon keeps the result: hotplate result JOB -o FILE.\n"
          "submit eval EXPRESSION queues an expression, with what eval takes. submit python SCRIPT and submit exec\n"
          "PROGRAM queue programs of yours: hotplate logs JOB shows what they print.",
      .example = "hotplate submit integrate2d --n 20480 --json | jq -r .jobId",
      .positionals = JobPositionals(),
      .options = JobOptionsOfSubmit(),
      .takes_kernel_parameters = true,
      .run = Submit};
}

}  // namespace hotplate::cli
