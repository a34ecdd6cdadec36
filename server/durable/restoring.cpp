// What the journal has of jobs that daemons before this one took, as the engine takes it back.
#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status.h"
#include "server/core/jobs/job_refs.h"
#include "server/core/sweeps/sweep_run.h"
#include "server/durable/durable_jobs.h"
#include "server/durable/job_messages.h"
#include "server/durable/past_runs.h"
#include "server/wire/job_ref.h"
#include "server/wire/program.h"

namespace hotplate::server {
namespace {

using core::LogLevel;

// Files of results are written side by side: each waits for the disk.
constexpr std::size_t kWriters = 4;
// A kernel that takes its daemon along is not to do so for ever. Of a sweep these count since a task last ended.
constexpr std::ptrdiff_t kMostRuns = 5;
// So many tell how long jobs run, and take some ten milliseconds to read.
constexpr std::size_t kPastRuns = 1000;

journal::WallTime Ago(std::chrono::nanoseconds time) {
  return journal::WallTime::clock::now() - std::chrono::duration_cast<journal::WallTime::duration>(time);
}

bool DependsOnOthers(const journal::KeptJob& kept) {
  if (journal::IsProgram(kept.accepted.kernel)) {
    v1::Program program;
    return program.ParseFromString(kept.accepted.request) && !program.after().empty();
  }
  v1::JobSpec spec;
  return spec.ParseFromString(kept.accepted.request) && wire::DependsOnOthers(spec);
}

bool IsSweep(const journal::KeptJob& kept) {
  if (journal::IsProgram(kept.accepted.kernel)) {
    v1::Program program;
    return program.ParseFromString(kept.accepted.request) && program.has_sweep();
  }
  v1::JobSpec spec;
  return spec.ParseFromString(kept.accepted.request) && spec.has_sweep();
}

std::ptrdiff_t RunsOf(const core::RestoredJob& job) {
  return std::count_if(job.changes.begin(), job.changes.end(),
                       [](const auto& change) { return change.state == core::JobState::kRunning; });
}

absl::Status TooManyRuns(std::ptrdiff_t runs) {
  return absl::AbortedError(absl::StrCat(
      "it has run ", runs, " times, and its daemon ended each time before it did: it may be what ended them"));
}

}  // namespace

void DurableJobs::Restore(core::Engine& engine, const wire::ReceiptFacts& facts, const Parse& parse) {
  engine_ = &engine;
  facts_ = facts;
  ends_ = std::make_unique<FileThread>(kWriters);
  telling_ = std::make_unique<FileThread>();
  if (journal_ == nullptr) return;
  stored_ = std::make_unique<StoredResults>(engine, *spool_);
  tasks_ = std::make_unique<DurableTasks>(*spool_, options_.log);
  NoteFacts();
  LearnFromPast();
  journal::Recovered recovered = std::exchange(recovered_, {});
  arrays_ = std::make_unique<DurableArrays>(engine.arrays(), *journal_, options_.log);
  arrays_->Restore(recovered.arrays);
  // The memory is for the newest. The oldest come first: they are also the first that make room for new ones.
  std::uint64_t bytes_left = options_.retained_bytes;
  std::set<std::uint64_t> in_memory;
  for (auto kept = recovered.ended.rbegin(); kept != recovered.ended.rend(); ++kept) {
    if (kept->outputs.size() > bytes_left) continue;
    bytes_left -= kept->outputs.size();
    in_memory.insert(kept->accepted.number);
  }
  for (const journal::KeptJob& kept : recovered.ended) RestoreEnded(kept, in_memory.contains(kept.accepted.number));
  // Lanes take the first that comes.
  // A job that depends on others comes after them: it can only name one that was there before.
  const auto dependent = std::stable_partition(recovered.unfinished.begin(), recovered.unfinished.end(),
                                               [](const auto& kept) { return !DependsOnOthers(kept); });
  std::stable_sort(recovered.unfinished.begin(), dependent,
                   [](const auto& a, const auto& b) { return a.accepted.priority > b.accepted.priority; });
  for (const journal::KeptJob& kept : recovered.unfinished) RestoreUnfinished(kept, parse);
  for (const journal::KeptJob& kept : recovered.ended) FreeForJobs(core::JobId(absl::StrCat(kept.accepted.number)));
  std::size_t away = 0;
  {
    MutexLock lock(mutex_);
    away = away_.size();
  }
  if (!recovered.ended.empty() || !recovered.unfinished.empty()) {
    Say(LogLevel::kInfo, absl::StrCat("from the journal: ", recovered.unfinished.size() - away,
                                      " jobs that go on, and the ends of ", recovered.ended.size()));
  }
  pruning_ = std::jthread([this](const std::stop_token& stop) { PruneNowAndThen(stop); });
}

// Jobs that wait from before are foretold at once, too.
void DurableJobs::LearnFromPast() {
  std::vector<core::PastRun> runs;
  const absl::Status read = journal_->With([&](journal::Index& index) {
    runs = PastRunsIn(index, kPastRuns);
    return absl::OkStatus();
  });
  if (!read.ok()) Say(LogLevel::kInfo, absl::StrCat("forecasts begin without a past: ", read.message()));
  for (const core::PastRun& run : runs) engine_->Learn(run);
}

// The history tells how long GPUs were idle, and other daemons prune this journal one day.
void DurableJobs::NoteFacts() {
  const auto gpus = std::count_if(facts_.devices.begin(), facts_.devices.end(),
                                  [](const auto& device) { return device.second.backend != "cpu"; });
  const absl::Status noted = journal_->With([&](journal::Index& index) {
    absl::Status gpus_noted = index.SetGpus(static_cast<int>(gpus));
    return gpus_noted.ok() ? index.SetAge(options_.age) : gpus_noted;
  });
  if (!noted.ok()) {
    Say(LogLevel::kWarning,
        absl::StrCat("the journal does not tell of this daemon's GPUs and of its --saved-age: ", noted.message()));
  }
}

void DurableJobs::RestoreEnded(const journal::KeptJob& kept, bool in_memory) {
  core::RestoredJob job = RestoredFrom(kept);
  // The journal has no changes of an attached one, only when it ended, and how.
  if (const auto end = static_cast<core::JobState>(kept.state);
      job.changes.empty() || job.changes.back().state != end) {
    if (job.changes.empty()) job.changes.push_back({1, core::JobState::kPending, kept.accepted.time, ""});
    if (job.changes.back().state == core::JobState::kPending && end != core::JobState::kCancelled) {
      job.changes.push_back({job.changes.size() + 1, core::JobState::kRunning, *kept.end_time, ""});
    }
    job.changes.push_back({job.changes.size() + 1, end, *kept.end_time, ""});
  }
  // A request id is known for the retention time, and an old one means a new job.
  if (*kept.end_time < Ago(options_.retention)) job.request_key.clear();
  absl::StatusOr<core::JobEnd> end = EndFrom(kept, in_memory ? &engine_->arrays() : nullptr);
  if (end.ok() && journal::IsProgram(kept.accepted.kernel)) {
    absl::StatusOr<ProgramStreams::Everything> printed = in_memory ? PrintedFrom(kept) : ProgramStreams::Everything();
    if (!printed.ok()) end = printed.status();
    if (printed.ok()) job.request.work = PastProgramOf(kept, *std::move(printed));
    // It comes when somebody wants to read it.
    MutexLock lock(mutex_);
    if (!in_memory) unloaded_.insert(job.number);
  }
  if (!end.ok()) return Say(LogLevel::kError, std::string(end.status().message()));
  const bool stored =
      std::any_of(end->outputs.begin(), end->outputs.end(), [](const auto& output) { return output.stored; });
  if (stored) stored_->Add(job.number, kept.results);
  job.end = std::make_shared<const core::JobEnd>(*std::move(end));
  engine_->Restore(std::move(job)).IgnoreError();  // refused is only what has yet to run
}

void DurableJobs::RestoreUnfinished(const journal::KeptJob& kept, const Parse& parse) {
  core::RestoredJob job = RestoredFrom(kept);
  const bool ran_last = job.changes.back().state == core::JobState::kRunning;
  const std::ptrdiff_t runs = RunsOf(job);
  if (kept.cancel_time) {
    job.refusal = absl::CancelledError(absl::StrCat("job ", job.number, " was cancelled on request, before it ended"));
  } else if (ran_last && !kept.accepted.may_rerun) {
    job.refusal = absl::AbortedError("it ran when its daemon ended, and is not to run again (--no-rerun)");
  } else if (runs >= kMostRuns && !IsSweep(kept)) {
    job.refusal = TooManyRuns(runs);
  } else {
    if (ran_last) {
      journal::JobRequeued again{.number = job.number,
                                 .sequence = job.changes.size() + 1,
                                 .time = journal::WallTime::clock::now(),
                                 .reason = "its daemon ended"};
      job.changes.push_back({again.sequence, core::JobState::kPending, again.time, ""});
      journal_->Append(std::move(again), journal::Durability::kBehind);
    }
    absl::StatusOr<core::JobRequest> request = RequestOf(kept, job.owner, /*ran=*/runs > 0, parse);
    if (request.ok()) {
      request->payload_hash = job.request.payload_hash;
      job.request = *std::move(request);
      if (job.request.sweep != nullptr) {
        job.restore_tasks = [this, number = job.number, runs](core::SweepRun& sweep) {
          return RestoreTasks(number, runs, sweep);
        };
      }
      needed_.Add(job.number, NeedsOf(job.request));
      job.refusal = RecallOthers(job.owner, job.request);
    } else {
      job.refusal = request.status();
    }
  }
  // One that cannot run is still a program, which has printed nothing.
  if (journal::IsProgram(kept.accepted.kernel) && job.request.work == nullptr)
    job.request.work = PastProgramOf(kept, {});
  const std::uint64_t number = job.number;
  Away away{.owner = job.owner.token, .request_key = job.request_key, .why = "", .ending = false};
  const std::string others = job.refusal.ok() ? WhyOthersAreAway(job.request) : "";
  const absl::Status later = others.empty() ? engine_->Restore(std::move(job))
                                            : absl::FailedPreconditionError("it depends on another one: " + others);
  if (!later.ok()) {
    away.why =
        absl::StrCat("job ", number, " waits in the journal for the next daemon of this name: ", later.message());
    Say(LogLevel::kWarning, away.why);
    MutexLock lock(mutex_);
    away_[number] = std::move(away);
  }
}

absl::Status DurableJobs::RestoreTasks(std::uint64_t number, std::ptrdiff_t runs, core::SweepRun& sweep) {
  const absl::StatusOr<std::optional<std::uint64_t>> since_last_task = tasks_->Restore(
      number, [&](const core::TaskRow& row, std::span<const std::byte> bytes) { return sweep.Restore(row, bytes); });
  if (!since_last_task.ok()) return since_last_task.status();
  if (*since_last_task) runs = static_cast<std::ptrdiff_t>(**since_last_task);
  return runs >= kMostRuns ? TooManyRuns(runs) : absl::OkStatus();
}

absl::Status DurableJobs::RecallOthers(const core::Principal& who, const core::JobRequest& request) {
  for (const core::NamedRef& ref : core::RefsOf(request)) {
    const core::JobId& id = ref.job->id;
    absl::Status recalled;
    if (ref.output.empty()) {
      recalled = RecallState(who, id);
    } else if (MustRecall(who, id, /*result=*/true)) {
      recalled = Recall(who, id, /*result=*/true);
    }
    if (!recalled.ok()) return recalled;
  }
  return absl::OkStatus();
}

absl::Status DurableJobs::RecallState(const core::Principal& who, const core::JobId& id) {
  if (!MustRecall(who, id, /*result=*/false)) return absl::OkStatus();
  absl::StatusOr<journal::KeptJob> kept = Find(core::JobTable::NumberOf(id.value()));
  if (absl::IsNotFound(kept.status())) return absl::OkStatus();
  if (!kept.ok()) return kept.status();
  const bool visible = who.scope == core::Scope::kAdmin || who.token == kept->accepted.owner;
  kept->accepted.request_key.clear();  // which a newer job may have
  if (visible && journal::IsEnd(kept->state)) RestoreEnded(*kept, /*in_memory=*/false);
  return absl::OkStatus();
}

bool DurableJobs::CanOutlive(const core::Principal& who, const core::JobRequest& request) const {
  if (request.work != nullptr) return false;
  const std::vector<core::NamedRef> refs = core::RefsOf(request);
  return std::none_of(refs.begin(), refs.end(), [&](const core::NamedRef& ref) {
    if (ref.output.empty()) return false;
    const absl::StatusOr<std::shared_ptr<core::Job>> job = engine_->Find(who, ref.job->id);
    return job.ok() && !(*job)->durable && !(*job)->submitted_attached;
  });
}

absl::Status DurableJobs::CheckInputsOutlive(const core::Principal& who, const core::JobRequest& request) const {
  for (const core::NamedRef& ref : core::RefsOf(request)) {
    if (ref.output.empty()) continue;
    const absl::StatusOr<std::shared_ptr<core::Job>> job = engine_->Find(who, ref.job->id);
    if (!job.ok() || (*job)->durable) continue;  // the engine says what is wrong with one that is not there
    return InvalidField(ref.field,
                        absl::StrCat(ref.field, ": job ", ref.job->id.value(),
                                     " is attached, so what it makes is lost when the daemon ends, but this job must "
                                     "outlive the daemon: submit that one too, or run this one"));
  }
  return absl::OkStatus();
}

std::string DurableJobs::WhyOthersAreAway(const core::JobRequest& request) const {
  for (const core::NamedRef& ref : core::RefsOf(request)) {
    if (std::string why = WhyAway(ref.job->id.value()); !why.empty()) return why;
  }
  return "";
}

// All that are to take them have them by now.
void DurableJobs::FreeForJobs(const core::JobId& id) {
  const absl::StatusOr<core::JobSnapshot> job = engine_->Get(core::Everybody(), id);
  if (!job.ok() || job->end == nullptr) return;
  for (const core::JobOutputValue& output : job->end->outputs) {
    if (output.for_jobs) engine_->arrays().Free(core::Everybody(), output.array.value()).IgnoreError();
  }
}

absl::Status DurableJobs::CancelAway(std::uint64_t number) {
  {
    MutexLock lock(mutex_);
    const auto at = away_.find(number);
    if (at == away_.end()) return absl::OkStatus();  // somebody was faster
    if (std::exchange(at->second.ending, true)) {
      return absl::UnavailableError(absl::StrCat("job ", number, " is being cancelled; try again"));
    }
  }
  absl::StatusOr<journal::KeptJob> kept = Find(number);
  if (kept.ok()) {
    kept->cancel_time = journal::WallTime::clock::now();
    RestoreUnfinished(*kept, Parse());
  }
  MutexLock lock(mutex_);
  if (kept.ok()) {
    away_.erase(number);
  } else {
    away_[number].ending = false;
  }
  return kept.status();
}

absl::StatusOr<core::JobRequest> DurableJobs::RequestOf(const journal::KeptJob& kept, const core::Principal& owner,
                                                        bool ran, const Parse& parse) const {
  const absl::Status damaged = absl::DataLossError("its request is no message of one");
  if (journal::IsProgram(kept.accepted.kernel)) {
    v1::Program program;
    return program.ParseFromString(kept.accepted.request) ? parse.program(program) : damaged;
  }
  v1::JobSpec spec;
  if (!spec.ParseFromString(kept.accepted.request)) return damaged;
  if (ran) {
    // The files that it wrote before are its own.
    for (v1::JobOutput& output : *spec.mutable_outputs()) output.set_replace(!output.path().empty());
  }
  absl::StatusOr<core::JobRequest> request = parse.job(owner, spec);
  if (!request.ok()) return request;
  for (core::JobInput& input : request->inputs) {
    for (const journal::SpooledFile& file : kept.accepted.inputs) {
      if (file.name != input.name || !file.signature) continue;
      // Opened when it runs: ten thousand that wait would take all descriptors.
      input.signature = *file.signature;
      input.source = core::StoredArray{spool_->PathOf(file)};
    }
  }
  return request;
}

absl::StatusOr<journal::KeptJob> DurableJobs::Find(std::uint64_t number) const {
  absl::StatusOr<journal::KeptJob> kept;
  const absl::Status read = journal_->With([&](journal::Index& index) {
    kept = journal::FindJob(index, number);
    return kept.status();
  });
  if (!read.ok()) return read;
  return kept;
}

bool DurableJobs::MustRecall(const core::Principal& who, const core::JobId& id, bool result) const {
  if (journal_ == nullptr || core::JobTable::NumberOf(id.value()) == 0) return false;
  return !engine_->Find(who, id).ok() || (result && (stored_->Has(id) || IsUnloaded(id)));
}

absl::Status DurableJobs::Recall(const core::Principal& who, const core::JobId& id, bool result) {
  if (!engine_->Find(who, id).ok()) {
    absl::StatusOr<journal::KeptJob> kept = Find(core::JobTable::NumberOf(id.value()));
    if (absl::IsNotFound(kept.status())) return absl::OkStatus();
    if (!kept.ok()) return kept.status();
    const bool visible = who.scope == core::Scope::kAdmin || who.token == kept->accepted.owner;
    if (!visible || kept->attached || kept->release_time || !journal::IsEnd(kept->state)) return absl::OkStatus();
    kept->fetch_time.reset();            // it stays for whoever asks now
    kept->accepted.request_key.clear();  // which a newer job may have
    RestoreEnded(*kept, /*in_memory=*/kept->outputs.size() <= options_.retained_bytes);
  }
  if (!result) return absl::OkStatus();
  return IsUnloaded(id) ? LoadPrinted(who, id) : stored_->Load(who, id);
}

absl::StatusOr<ProgramStreams::Everything> DurableJobs::PrintedBy(const core::JobId& id, std::uint64_t task) const {
  if (tasks_ == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("there is no journal with what task ", task, " of job ", id.value(), " printed"));
  }
  journal::KeptJob kept;
  kept.accepted.number = core::JobTable::NumberOf(id.value());
  absl::StatusOr<std::string> printed = tasks_->PrintedBy(kept.accepted.number, task);
  if (!printed.ok()) return printed.status();
  kept.outputs = *std::move(printed);
  return PrintedFrom(kept);
}

bool DurableJobs::IsUnloaded(const core::JobId& id) const {
  MutexLock lock(mutex_);
  return unloaded_.contains(core::JobTable::NumberOf(id.value()));
}

absl::Status DurableJobs::LoadPrinted(const core::Principal& who, const core::JobId& id) {
  const absl::StatusOr<core::JobSnapshot> job = engine_->Get(who, id);
  if (!job.ok()) return job.status();
  const std::uint64_t number = core::JobTable::NumberOf(id.value());
  const absl::StatusOr<journal::KeptJob> kept = Find(number);
  if (!kept.ok()) return kept.status();
  absl::StatusOr<ProgramStreams::Everything> printed = PrintedFrom(*kept);
  if (!printed.ok()) return printed.status();
  if (const auto* const program = dynamic_cast<const PrintingWork*>(job->work.get()); program != nullptr) {
    program->streams()->Load(*std::move(printed));
  }
  MutexLock lock(mutex_);
  unloaded_.erase(number);
  return absl::OkStatus();
}

std::string DurableJobs::WhyAway(const std::string& id) const {
  MutexLock lock(mutex_);
  const auto at = away_.find(core::JobTable::NumberOf(id));
  return at == away_.end() ? "" : at->second.why;
}

}  // namespace hotplate::server
