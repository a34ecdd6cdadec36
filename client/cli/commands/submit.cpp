// hotplate submit: queue a job and leave.
#include "client/cli/commands.h"
#include "client/cli/interrupt.h"
#include "client/cli/jobs/job_call.h"
#include "client/cli/jobs/job_ending.h"
#include "client/cli/jobs/job_text.h"
#include "client/cli/jobs/progress.h"
#include "client/cli/programs/program_call.h"
#include "client/cli/sweeps/failed_tasks.h"
#include "client/cli/sweeps/sweep_words.h"
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

std::string TasksText(const std::optional<v1::Sweep>& sweep) {
  return sweep ? "   " + std::to_string(TasksOf(*sweep)) + " tasks" : "";
}

void AnswerQueued(const Invocation& call, const std::string& id, const std::string& kernel, const std::string& state,
                  const std::optional<v1::Sweep>& sweep) {
  call.output.Answer(
      [&] {
        return Done(call.console, "job " + id + " " + state + TasksText(sweep)) + "\n  hotplate watch " + id +
               " · hotplate result " + id + " · hotplate cancel " + id;
      },
      [&] {
        JsonObject json;
        json.Text("jobId", id).Text("kernel", kernel);
        if (sweep) json.Count("tasks", static_cast<std::int64_t>(TasksOf(*sweep)));
        return json.Json();
      },
      id);
}

// The tasks that did not complete, of a job whose words need not be repeated.
absl::Status SubmitFailedOf(const Invocation& call, const Arguments& arguments) {
  auto client = call.Connect();
  if (!client.ok()) return client.status();
  const auto earlier = FindEarlier(*client, *arguments.Text("failed-of"));
  if (!earlier.ok()) return earlier.status();
  auto options = SameJob(*earlier);
  if (!options.ok()) return options.status();
  for (const OptionSpec& option : JobOptionsOfSubmit()) {
    const std::string name = option.LongName();
    if (name == "failed-of" || (!arguments.Text(name) && !arguments.Flag(name))) continue;
    return UsageError("--" + name + ": the job is as it was; with other options, repeat its words behind --failed-of " +
                      earlier->job_id);
  }
  const auto id = client->Submit(earlier->outcome.job().kernel(), {}, *options);
  if (!id.ok()) return Settled(id.status());
  AnswerQueued(call, *id, earlier->outcome.job().kernel(), "queued", options->sweep);
  return absl::OkStatus();
}

absl::Status Submit(const Invocation& call) {
  if (call.program != nullptr) {
    const auto program = ProgramFor(call, *call.program);
    return program.ok() ? SubmitDetached(call, *program) : program.status();
  }
  client::Cancellation cancellation;
  InterruptWatch interrupt([&] { cancellation.Cancel(); });
  const std::vector<OptionSpec> options = AllOptions(call.command);
  if (FirstWord(options, call.words) == call.words.size()) {
    if (const auto arguments = ParseArguments(options, call.words); arguments.ok() && arguments->Text("failed-of"))
      return SubmitFailedOf(call, *arguments);
  }
  auto job = Prepare(call);
  if (!job.ok()) return job.status();
  interrupt.Begin();
  if (!job->plan.failed_of.empty()) {
    const auto earlier = FindEarlier(job->client, job->plan.failed_of);
    if (!earlier.ok()) return earlier.status();
    if (const absl::Status kept = KeepIncomplete(*earlier, *job->plan.options.sweep); !kept.ok()) return kept;
  }
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
  AnswerQueued(call, *id, job->plan.kernel.name(), state, job->plan.options.sweep);
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
          "PROGRAM queue programs of yours: hotplate logs JOB shows what they print.\n"
          "--each makes many tasks of one job (hotplate help sweeps): submit integrate2d --each n=1..1000, or\n"
          "submit --each n=1..10 python SCRIPT, which runs it with HOTPLATE_TASK and HOTPLATE_N in its environment.",
      .example = "hotplate submit integrate2d --n 20480 --json | jq -r .jobId",
      .positionals = JobPositionals(),
      .options = JobOptionsOfSubmit(),
      .takes_kernel_parameters = true,
      .run = Submit};
}

}  // namespace hotplate::cli
