#include "client/cli/allocation/cluster_up.h"

#include <algorithm>
#include <cctype>
#include <sstream>

#include "client/cli/allocation/absence.h"
#include "client/cli/allocation/cuda_libraries.h"
#include "client/cli/allocation/daemon_start.h"
#include "client/cli/allocation/follow_on.h"
#include "client/cli/allocation/local_daemon.h"
#include "client/cli/allocation/private_folder.h"
#include "client/cli/allocation/records.h"
#include "client/cli/allocation/text.h"
#include "client/cli/allocation/up_wait.h"
#include "client/cli/scheduler/slurm.h"
#include "client/cli/terminal/json.h"
#include "kernels/array/quoted.h"

namespace hotplate::cli {
namespace {

constexpr int kMostGpus = 4096;

// The options of `up` that describe the allocation, as opposed to the wait; `up --again` repeats these. Account and
// name are not among them: they may come from the environment or the config file, where they may have changed.
constexpr const char* kRequestOptions[] = {"gpus", "gpu-type", "time",         "partition",
                                           "cpus", "memory",   "idle-timeout", "follow-on"};

std::vector<std::string> RequestWords(const Arguments& arguments, const Site& site, const AllocationRequest& request) {
  std::vector<std::string> words = {"--site", site.name};
  for (const char* option : kRequestOptions)
    if (const auto value = arguments.Text(option)) words.push_back("--" + std::string(option) + "=" + *value);
  if (!request.account.empty()) words.push_back("--account=" + request.account);
  if (!request.name.empty()) words.push_back("--name=" + request.name);
  if (arguments.Flag("exclusive")) words.push_back("--exclusive");
  for (const std::string& directive : arguments.All("directive")) words.push_back("--directive=" + directive);
  const auto python = PythonOptions(arguments);
  if (python.ok()) words.insert(words.end(), python->begin(), python->end());
  if (!arguments.rest().empty()) words.push_back("--");
  words.insert(words.end(), arguments.rest().begin(), arguments.rest().end());
  return words;
}

// The options of this call that its job was not requested with, though it is there already.
std::vector<std::string> UnusedWords(const Arguments& arguments, const AllocationNote& note) {
  const auto old_rest = std::find(note.request.begin(), note.request.end(), "--");
  std::vector<std::string> unused;
  const auto add = [&](const std::string& word) {
    if (std::find(note.request.begin(), old_rest, word) == old_rest) unused.push_back(word);
  };
  if (const auto site = arguments.Text("site"); site && *site != note.site) unused.push_back("--site=" + *site);
  if (const auto account = arguments.Text("account")) add("--account=" + *account);
  for (const char* option : kRequestOptions)
    if (const auto value = arguments.Text(option)) add("--" + std::string(option) + "=" + *value);
  if (arguments.Flag("exclusive")) add("--exclusive");
  for (const std::string& directive : arguments.All("directive")) add("--directive=" + directive);
  if (const auto python = PythonOptions(arguments); python.ok()) std::for_each(python->begin(), python->end(), add);
  const std::vector<std::string>& rest = arguments.rest();
  const auto old_options = old_rest == note.request.end() ? old_rest : old_rest + 1;
  if (!std::equal(rest.begin(), rest.end(), old_options, note.request.end()))
    unused.insert(unused.end(), rest.begin(), rest.end());
  return unused;
}

// The last request, from its note, with the new options added. Of an option given twice the last one counts. `name`:
// the name whose note was looked for; empty: the last note.
absl::StatusOr<Arguments> Again(const Invocation& call, const std::string& name,
                                const std::optional<AllocationNote>& last) {
  if (!last)
    return UsageError("--again: no allocation " + (name.empty() ? "" : Quoted(name) + " ") + "of before is known in " +
                      call.settings.directory + "/allocations");
  if (last->attached)
    return UsageError("--again: " + Quoted(last->name) +
                      " was not an allocation of hotplate up; for a daemon in that job: " + "hotplate up --attach " +
                      last->job.id);
  std::vector<std::string> words = last->request;
  const auto old_rest = std::find(words.begin(), words.end(), "--");
  const auto new_rest = std::find(call.words.begin(), call.words.end(), "--");
  words.insert(old_rest, call.words.begin(), new_rest);
  if (new_rest != call.words.end()) {
    words.erase(std::find(words.begin(), words.end(), "--"), words.end());
    words.insert(words.end(), new_rest, call.words.end());
  }
  return ParseArguments(AllOptions(call.command), words, /*keep_rest=*/true);
}

absl::StatusOr<Site> WantedSite(const Invocation& call, const Arguments& arguments) {
  const std::string name = arguments.Text("site").value_or(call.settings.site);
  if (!name.empty()) return FindSite(name, call.environment);
  if (FindProgram("sbatch", call.environment)) return FindSite("generic-slurm", call.environment);
  return UsageError(
      "there is no sbatch in PATH here. --local starts a daemon on this machine (in an allocation, on its node), "
      "--site NAME in a batch job. Sites: hotplate sites");
}

// sbatch takes some of its directives from variables, which would count more than the script.
void TellOfVariables(const Invocation& call, const Site& site, const std::string& account, const std::string& script) {
  if (site.scheduler != SchedulerKind::kSlurm) return;
  for (const std::string& name : slurm::VariablesAgainst(script)) {
    const auto value = call.environment(name);
    if (value && !(name == "SBATCH_ACCOUNT" && *value == account))
      call.console.err << "! " << name << "=" << Printable(*value) << " is ignored: the script decides\n";
  }
}

// The account that is used outside of Hotplate too, where the user said none and the site wants one.
void TakeSlurmsAccount(const Invocation& call, const Site& site, AllocationRequest& request) {
  if (!request.account.empty() || !site.account.fallback.empty() || site.scheduler != SchedulerKind::kSlurm) return;
  request.account = call.environment("SBATCH_ACCOUNT").value_or("");
  if (!request.account.empty())
    call.console.err << "! --account " << Printable(request.account) << ", as SBATCH_ACCOUNT says" << std::endl;
}

absl::StatusOr<AllocationRequest> Request(const Invocation& call, const Arguments& arguments) {
  AllocationRequest request;
  request.account = arguments.Text("account").value_or(call.settings.account);
  request.gpu_type = arguments.Text("gpu-type").value_or("");
  request.partition = arguments.Text("partition").value_or("");
  request.time = arguments.Text("time").value_or("");
  request.memory = arguments.Text("memory").value_or("");
  request.exclusive = arguments.Flag("exclusive");
  request.directives = arguments.All("directive");
  request.name = arguments.Text("name").value_or(call.environment("HOTPLATE_NAME").value_or(""));
  const auto gpus = arguments.Integer("gpus", 0, kMostGpus);  // none: where a site's profile has such nodes
  if (!gpus.ok()) return gpus.status();
  if (*gpus) request.gpus = static_cast<int>(**gpus);
  const auto cpus = arguments.Integer("cpus", 1, 1'000'000);
  if (!cpus.ok()) return cpus.status();
  if (*cpus) request.cpus = static_cast<int>(**cpus);
  return request;
}

absl::StatusOr<Launch> LaunchOf(const Invocation& call, const Arguments& arguments, const Site& site) {
  if (const absl::Status status = CheckDaemonOptions(arguments.rest()); !status.ok()) return status;
  const auto idle = arguments.Duration("idle-timeout");
  if (!idle.ok()) return idle.status();
  const auto python = PythonOptions(arguments);
  if (!python.ok()) return python.status();
  const auto follow_on = FollowOnOption(arguments);
  if (!follow_on.ok()) return follow_on.status();
  const auto program = FindDaemonProgram(call.environment);
  if (!program.ok()) return program.status();
  Launch launch{.program = *program,
                .directory = call.settings.directory,
                .home = call.environment("HOME").value_or(""),
                .output = OutputFile(site, call.settings.directory, std::nullopt),
                .options = {}};
  if (*idle) launch.options = {"--idle-timeout", *arguments.Text("idle-timeout")};
  launch.options.insert(launch.options.end(), python->begin(), python->end());
  // The job may not get this environment, and its script should show the choice.
  if (const auto device = call.environment("HOTPLATE_DEVICE"); device && !IsGiven(arguments.rest(), "--device")) {
    call.console.err << "! --device " << Printable(*device) << ": HOTPLATE_DEVICE says so\n";
    launch.options.insert(launch.options.end(), {"--device", *device});
  }
  // The jobs that follow on take jobs and arrays over from the journal.
  if (*follow_on > 0 && !IsGiven(arguments.rest(), "--journal")) {
    launch.options.insert(launch.options.end(), {"--journal", "on"});
  }
  launch.options.insert(launch.options.end(), arguments.rest().begin(), arguments.rest().end());
  return launch;
}

absl::Status Detached(const Invocation& call, const AllocationNote& note, Scheduler& scheduler) {
  const auto status = scheduler.State(note.job);
  const std::string state = status.ok() && !status->state.empty() ? status->state : "PENDING";
  call.output.Answer(
      [&] {
        return Done(call.console, "submitted  " + note.name + "   " +
                                      (status.ok() ? StateText(note.job, *status) : "job " + note.job.id)) +
               "\n  from here:  hotplate status --server " + note.name + " · wait for it: hotplate up --name " +
               note.name + " · give it up: hotplate down " + note.name;
      },
      [&] { return AllocationJson(note, state).Json(); }, note.job.id);
  return absl::OkStatus();
}

// The allocation of the name that is asked for, or with --again the last one.
std::optional<AllocationNote> Earlier(const Invocation& call, const std::string& name) {
  if (!name.empty()) return ReadNote(call.settings.directory, name);
  if (!call.arguments.Flag("again")) return std::nullopt;
  for (const AllocationNote& note : ReadNotes(call.settings.directory))
    if (!note.attached) return note;
  return std::nullopt;
}

// One that waits or runs is as good as a new one. Nothing: it is over.
std::optional<absl::Status> WaitOn(const Invocation& call, const AllocationNote& note) {
  const auto on_interrupt = OnInterruptOption(call);
  if (!on_interrupt.ok()) return on_interrupt.status();
  const auto timeout = call.arguments.Duration("timeout");
  if (!timeout.ok()) return timeout.status();
  UpInterrupts interrupts;
  const auto scheduler = SchedulerFor(note.scheduler, note.job.cluster, call.environment, interrupts.token());
  const auto status = scheduler->State(note.job);
  if (interrupts.interrupted()) return Interrupted("job " + note.job.id + " (" + note.name + ") stays as it is");
  if (!status.ok()) return status.status();
  const bool ends = status->phase == JobStatus::Phase::kEnding;
  if (status->over()) NoteTheEnd(call.settings.directory, note, *status);
  if (ends || status->over()) {
    const auto next = NextOf(call.settings.directory, note);
    return next ? WaitOn(call, *next) : std::nullopt;  // else there is nothing to wait for
  }
  if (AttachedDaemonHasEnded(call.settings.directory, note, *status)) return AttachedDaemonEnded(call, note, *status);
  if (const std::vector<std::string> unused = UnusedWords(call.arguments, note); !unused.empty())
    Remark(call.console, note.name + " is job " + note.job.id + " already, so that " + Join(unused, " ") +
                             (unused.size() > 1 ? " were" : " was") + " not used; for a new job with " +
                             (unused.size() > 1 ? "them" : "it") + ": hotplate down " + note.name +
                             ", then this command again");
  if (call.arguments.Flag("detach")) return Detached(call, note, *scheduler);
  WaitingLine line(call.console, call.output.talkative());
  return UpWait{.call = call,
                .scheduler = *scheduler,
                .note = note,
                .interrupts = interrupts,
                .line = line,
                .on_interrupt = *on_interrupt,
                .timeout = *timeout,
                .submitted = false}
      .Run();
}

// Reports allocations of this scheduler that already wait or run, as a reminder. Another one is submitted anyway.
void TellOfOthers(const Invocation& call, SchedulerKind kind, Scheduler& scheduler) {
  constexpr int kMost = 3;
  int told = 0;
  for (const AllocationNote& note : ReadNotes(call.settings.directory)) {
    if (note.over() || note.attached || note.scheduler != kind) continue;
    if (++told > kMost) return;
    const auto status = scheduler.State(note.job);
    if (!status.ok()) return;
    if (status->over())
      NoteTheEnd(call.settings.directory, note, *status);
    else if (status->phase != JobStatus::Phase::kEnding)
      call.console.err << "! " << note.name << " (job " << note.job.id << ", " << Printable(status->state)
                       << ") is already yours: hotplate up --name " << note.name << " waits for it" << std::endl;
  }
}

// A part of a name as the daemon writes it: characters that a name may not have become '-'.
std::string NamePart(std::string text) {
  for (char& c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '-') c = '-';
  return text;
}

class ClusterStart {
 public:
  ClusterStart(const Invocation& call, const Arguments& arguments, Site site)
      : call_(call), arguments_(arguments), site_(std::move(site)) {}

  absl::Status Run() {
    auto request = Request(call_, arguments_);
    if (!request.ok()) return request.status();
    TakeSlurmsAccount(call_, site_, *request);
    const auto plan = CheckRequest(site_, *request);
    if (!plan.ok()) return plan.status();
    const auto launch = LaunchOf(call_, arguments_, site_);
    if (!launch.ok()) return launch.status();
    const auto script = RenderScript(site_, *plan, *launch);
    if (!script.ok()) return script.status();
    const auto on_interrupt = OnInterruptOption(call_);
    if (!on_interrupt.ok()) return on_interrupt.status();
    const auto timeout = arguments_.Duration("timeout");
    if (!timeout.ok()) return timeout.status();
    const auto follow_on = FollowOnOption(arguments_);
    if (!follow_on.ok()) return follow_on.status();

    for (const std::string& warning : plan->warnings) call_.console.err << "! " << Printable(warning) << "\n";
    if (plan->request.gpus > 0 && !ChoseCpu(launch->options)) {
      if (const std::string lack = CudaLibrariesText(site_, launch->program, call_.environment); !lack.empty())
        call_.console.err << "! " << Printable(lack) << "\n";
    }
    TellOfVariables(call_, site_, plan->request.account, *script);
    call_.console.err.flush();
    if (call_.arguments.Flag("dry-run")) {
      call_.output.Answer([&] { return *script; },
                          [&] { return JsonObject().Text("site", site_.name).Text("script", *script).Json(); },
                          *script);
      return absl::OkStatus();
    }

    if (!request->name.empty())  // a daemon that was started in another way would be pushed aside
      if (const auto info = AskDaemon(call_.settings, request->name); info.ok())
        return absl::AlreadyExistsError("a daemon named " + request->name + " runs on " + info->node() +
                                        " already; use it (hotplate use " + request->name +
                                        "), end it (hotplate down " + request->name + "), or give another --name");
    UpInterrupts interrupts;
    WaitingLine line(call_.console, call_.output.talkative());
    const auto scheduler = SchedulerFor(site_.scheduler, site_.cluster, call_.environment, interrupts.token());
    if (const absl::Status status = CheckFollowOn(site_, *request, *follow_on, *scheduler); !status.ok()) return status;
    if (request->name.empty()) TellOfOthers(call_, site_.scheduler, *scheduler);
    auto note = Submit(*request, *script, *scheduler, line, interrupts);
    if (!note.ok()) return note.status();
    if (*follow_on > 0) {
      interrupts.Hold([&] { call_.console.err << "\n! the jobs that follow on are submitted: a moment" << std::endl; });
      const absl::Status followed =
          SubmitFollowOn(call_.settings.directory, site_, *plan, *launch, *follow_on, *scheduler, *note);
      interrupts.Release();
      if (!followed.ok()) return followed;
    }
    if (call_.arguments.Flag("detach") && !interrupts.interrupted()) return Detached(call_, *note, *scheduler);
    return UpWait{.call = call_,
                  .scheduler = *scheduler,
                  .note = *note,
                  .interrupts = interrupts,
                  .line = line,
                  .on_interrupt = *on_interrupt,
                  .timeout = *timeout}
        .Run();
  }

 private:
  absl::StatusOr<AllocationNote> Submit(const AllocationRequest& request, const std::string& script,
                                        Scheduler& scheduler, WaitingLine& line, UpInterrupts& interrupts) const {
    // Slurm opens the output file on the node before anything runs there, and makes no folder for it.
    if (const absl::Status made = MakePrivateFolder(call_.settings.directory + "/logs"); !made.ok()) return made;
    if (const absl::Status status = PrepareNotes(call_.settings.directory); !status.ok()) return status;
    const std::string cluster = scheduler.ClusterName();
    const std::string by = scheduler.CheckedBy();
    line.Show("checking", "", "asking " + scheduler.Name() + " …");
    const absl::Status checked = scheduler.Check(script);
    if (interrupts.interrupted()) return Interrupted("nothing was submitted");
    if (absl::IsAborted(checked)) {
      line.Say("! " + by + ": " + Printable(std::string(checked.message())) +
               "\n  nodes may be down or reserved for now; it is submitted anyway, and may wait or be refused");
    } else if (!checked.ok()) {
      return absl::IsFailedPrecondition(checked) ? checked : WithNextStep(checked, "nothing was submitted");
    }
    line.Say(Paint(call_.console.err_colour, Tone::kGood, "✓") + " request checked against site profile " + site_.name +
             (by.empty() || !checked.ok() ? "" : " and by " + by));
    // A submitted job is noted in any case, whatever the user types meanwhile.
    interrupts.Hold(
        [&] { call_.console.err << "\n! " << scheduler.Name() << " takes the job: a moment" << std::endl; });
    auto note = SubmitAndNote(request, script, cluster, scheduler);
    interrupts.Release();
    return note;
  }

  absl::StatusOr<AllocationNote> SubmitAndNote(const AllocationRequest& request, const std::string& script,
                                               const std::string& cluster, Scheduler& scheduler) const {
    auto job = scheduler.Submit(script);
    if (!job.ok()) return job.status();
    std::istringstream remarks(job->remarks);
    for (std::string remark; std::getline(remarks, remark);)
      if (!remark.empty()) call_.console.err << "! " << Printable(remark) << std::endl;
    job->home = job->cluster.empty() ? cluster : job->cluster;
    job->user = UserNumber();
    AllocationNote note{.name = request.name,
                        .site = site_.name,
                        .scheduler = site_.scheduler,
                        .job = *job,
                        .output_file = OutputFile(site_, call_.settings.directory, job->id),
                        .request = RequestWords(arguments_, site_, request),
                        .gpus = request.gpus,
                        .submit_time = static_cast<EpochSeconds>(Now().seconds())};
    if (note.name.empty()) note.name = DaemonName(*job);
    if (const absl::Status status = WriteNote(call_.settings.directory, note); !status.ok())
      call_.console.err << "! job " << job->id << " is submitted, but " << std::string(status.message()) << std::endl;
    return note;
  }

  // As the daemon will call itself.
  std::string DaemonName(const SchedulerJob& job) const {
    if (site_.scheduler == SchedulerKind::kLsf) return site_.name + "-" + job.id;
    return (job.home.empty() ? "slurm" : NamePart(job.home)) + "-" + job.id;
  }

  const Invocation& call_;
  const Arguments& arguments_;  // merged with those of --again
  const Site site_;
};

}  // namespace

absl::Status ClusterUp(const Invocation& call) {
  const auto name = WantedName(call);
  if (!name.ok()) return name.status();
  const std::optional<AllocationNote> earlier = Earlier(call, *name);
  if (!call.arguments.Flag("dry-run") && earlier && !earlier->over())
    if (const auto ended = WaitOn(call, *earlier)) return *ended;
  absl::StatusOr<Arguments> arguments = call.arguments;
  if (call.arguments.Flag("again")) arguments = Again(call, *name, earlier);
  if (!arguments.ok()) return arguments.status();
  auto site = WantedSite(call, *arguments);
  if (!site.ok()) return site.status();
  return ClusterStart(call, *arguments, *std::move(site)).Run();
}

}  // namespace hotplate::cli
