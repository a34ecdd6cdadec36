#include "server/core/engine.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "kernels/base/status.h"
#include "server/core/jobs/make_job.h"
#include "server/core/run/outputs.h"

namespace hotplate::core {
namespace {

// This thread runs a job inside Submit. An observer that is told of its end may submit another one, which then is the
// lanes' business: else it would go on inside itself for as long as it likes.
thread_local bool running_here = false;

// A result that could never be kept becomes an array.
EngineOptions Consistent(EngineOptions options) {
  options.inline_bytes = std::min(options.inline_bytes, options.retained_bytes);
  if (options.threads_in_submit == 0) {
    options.threads_in_submit = std::clamp(std::thread::hardware_concurrency() / 4, 1U, 8U);
  }
  return options;
}

// A sweep is bound as its first task.
void GiveFirstValues(JobRequest& request) {
  if (request.sweep == nullptr || request.work != nullptr) return;
  for (auto& [name, value] : request.sweep->ValuesOf(request.sweep->TaskOf(0))) request.params[name] = value;
}

JobsOptions ForJobs(const EngineOptions& options) {
  return {.retention = {options.result_retention, options.retained_jobs, options.retained_bytes},
          .disconnect_grace = options.disconnect_grace,
          .first_numbers = options.first_numbers,
          .claim_numbers = options.claim_numbers,
          .log = options.job_log,
          .allowances = options.allowances};
}

std::vector<std::string> NamesOf(const DeviceSet& set) {
  std::vector<std::string> names;
  for (const std::unique_ptr<Device>& device : set.devices) names.push_back(device->info().name);
  return names;
}

}  // namespace

Engine::Engine(EngineOptions options, Catalogues catalogues, DeviceSet devices, ArrayStore& arrays, const Clock& clock)
    : options_(Consistent(std::move(options))),
      log_{options_.log, options_.log_level},
      arrays_(arrays),
      clock_(clock),
      devices_(std::move(devices), arrays, clock, options_.workers),
      binder_(std::move(catalogues), arrays, devices_.set().devices, options_.workers, options_.allowances),
      sessions_({options_.max_sessions, options_.max_streams, options_.session_timeout, options_.disconnect_grace},
                arrays, clock, log_),
      jobs_(ForJobs(options_), sessions_, arrays, clock, log_),
      activities_(clock, clock.Now() - kLinger),
      scheduler_({options_.queued_jobs, options_.lane_spin, options_.threads_in_submit}, clock,
                 devices_.ForScheduler()),
      history_(NamesOf(devices_.set())),
      admission_(
          {history_.times(), scheduler_, clock, options_.allocation_end, options_.end_margin, options_.has_successor}),
      held_({jobs_, scheduler_, binder_, arrays_, history_, clock, options_.job_log.get(),
             [this](Job& job) { Queue(job); }}),
      whys_({jobs_, scheduler_, history_.times(), history_.bias(), admission_, clock}),
      sweeps_({jobs_, scheduler_, binder_, arrays_, sessions_, clock_, history_, options_.job_log.get(),
               options_.inline_bytes, devices_.LaneCount()}),
      drain_(
          {jobs_, activities_, arrays, clock, [this](Job& job, const std::string& why) { CutOff(job, why); }, log_}) {
  arrays_.SetReclaim([this](std::uint64_t bytes) { return sessions_.Reclaim(bytes); });
  jobs_.SetFollower([this](Job& ended) { held_.Follow(ended); });
  lanes_ =
      std::make_unique<Lanes>(Lanes::Parts{devices_, scheduler_, jobs_, sessions_, arrays_, history_, clock_, log_},
                              options_.inline_bytes, options_.reopen);
  ticker_ = std::make_unique<Ticker>(Ticker::Parts{jobs_, scheduler_, sessions_, devices_, sweeps_,
                                                   [this](Job& job, const std::string& why) { CancelJob(job, why); },
                                                   [this] { QueueLeft(); }, options_.disconnect_grace});
}

Engine::~Engine() {
  if (!jobs_.draining()) Drain(nanoseconds::zero(), "the daemon stops");
  for (const std::shared_ptr<Job>& job : jobs_.Active()) CutOff(*job, "was cancelled: the daemon stops");
  ticker_.reset();
  lanes_.reset();
  if (options_.job_log != nullptr) options_.job_log->Stop();
  arrays_.SetReclaim(nullptr);
  devices_.Close();
}

absl::Status Engine::CheckTime(const JobRequest& request) const {
  if (!request.time_limit) return absl::OkStatus();
  const std::optional<WallTime> end = options_.allocation_end ? options_.allocation_end() : std::nullopt;
  return Binder::CheckTimeLimit(request, end, options_.end_margin, clock_.WallNow());
}

absl::Status Engine::CheckQuota(const Principal& who, const BoundJob& job, ArrayStore::Beside beside) const {
  const std::uint64_t bytes = ArrayBytesOf(job, options_.inline_bytes);
  return bytes == 0 ? absl::OkStatus() : arrays_.CheckQuota(who, bytes, beside);
}

absl::StatusOr<CheckReport> Engine::Check(const Principal& who, JobRequest request) {
  if (absl::Status status = Binder::CheckRequestId(request); !status.ok()) return status;
  // A repeated call gets its job, whatever would now be said of a new one. Whether it is the same is told by Submit,
  // which has all of it.
  if (const std::shared_ptr<Job> known = jobs_.FindRequest(JobTable::RequestKey(who.token, request.request_id))) {
    CheckReport report;
    report.known = known->id;
    return report;
  }
  if (absl::Status status = held_.FillIn(who, request); !status.ok()) return status;
  GiveFirstValues(request);
  absl::StatusOr<BoundJob> job = binder_.Bind(who, request, Binder::Data::kSignaturesSuffice, scheduler_.LostDevices());
  if (!job.ok()) return job.status();
  if (request.sweep != nullptr) {
    const auto sweep = sweeps_.Prepare(who, request, *job, SweepRun::Memory::kLeave);
    if (!sweep.ok()) return sweep.status();
  }
  if (absl::Status status = CheckQuota(who, *job, ArrayStore::Beside::kNothing); !status.ok()) return status;
  if (absl::Status status = CheckTime(request); !status.ok()) return status;
  const RunTimes::Kind kind = history_.KindOf(*job, request.work.get(), request.label);
  if (absl::Status status = admission_.Check({*job->spec, kind, request.work != nullptr, request.time_limit},
                                             /*durable=*/true);
      !status.ok()) {
    return status;
  }
  // The queue decides by the same free memory that is reported here.
  scheduler_.Sample(devices_.FreeBytes(), /*record_busy=*/false);
  const std::uint64_t abandoned = sessions_.AbandonedBytes(), held = arrays_.bytes_held();
  CheckReport report;
  if (request.sweep == nullptr) report.cost = job->call.spec->CostOf(job->call);
  report.devices = scheduler_.OutlookFor(job->needs, request.priority, abandoned, [&](const QueueEntry& entry) {
    const Job& other = static_cast<const Job&>(entry);
    const bool visible = who.scope == Scope::kAdmin || other.owner.token == who.token;
    return SeenEntry{other.id, visible ? other.kernel->name() : std::string()};
  });
  for (CheckReport::Fit& fit : report.devices) {
    if (fit.host_memory) fit.bytes_of_arrays = std::min(fit.bytes_held, arrays_.bytes_stored());
  }
  report.refusal = std::move(job->refusal);
  for (std::size_t i = 0; i < job->inputs.size(); ++i) {
    if (job->inputs[i].is_elsewhere()) report.array_bytes_needed += ByteSize(job->call.inputs[i]).value_or(0);
  }
  for (const BoundOutput& output : job->outputs) report.array_bytes_needed += output.bytes;
  report.array_bytes_limit = arrays_.limits().total_bytes;
  report.array_bytes_free =
      report.array_bytes_limit - std::min(report.array_bytes_limit, held - std::min(held, abandoned));
  report.spec = std::move(job->spec);
  report.call = std::move(job->call);
  return report;
}

absl::Status Engine::Place(Job& job, Scheduler::Limit limit) {
  if (job.devices == 0) job.devices = scheduler_.all_devices();  // of one that is bound later
  if (absl::Status status = scheduler_.Admit(job, limit); !status.ok()) return status;
  absl::StatusOr<std::shared_ptr<Session>> session = sessions_.BeginJob(job.owner.session);
  if (!session.ok()) {
    scheduler_.Withdraw(job);
    return session.status();
  }
  job.session = *std::move(session);
  job.token = std::hash<std::string>()(job.owner.token);
  job.share = job.session->share;
  return absl::OkStatus();
}

absl::StatusOr<Engine::Entered> Engine::Enter(const Principal& who, JobRequest& request,
                                              std::shared_ptr<JobObserver> observer, std::uint64_t tag) {
  if (absl::Status status = Binder::CheckRequestId(request); !status.ok()) return status;
  const std::string key = JobTable::RequestKey(who.token, request.request_id);
  // A retry must get its job even where a new one would be refused.
  const auto rejoin = [&](const std::shared_ptr<Job>& known) -> absl::StatusOr<Entered> {
    const absl::StatusOr<JobId> id = jobs_.Rejoin(*known, request, std::move(observer), tag);
    if (!id.ok()) return id.status();
    return Entered{known, false};
  };
  if (const std::shared_ptr<Job> known = jobs_.FindRequest(key)) return rejoin(known);
  if (jobs_.draining()) return jobs_.DrainingError();
  // Insert says so too, but a sweep has read its files and taken its memory by then.
  if (absl::Status status = jobs_.CheckAllowance(who); !status.ok()) return status;
  GiveFirstValues(request);
  absl::StatusOr<HeldJobs::Prepared> prepared = held_.Prepare(who, request);
  if (!prepared.ok()) return prepared.status();
  if (absl::Status status = CheckTime(request); !status.ok()) return status;
  absl::StatusOr<std::shared_ptr<SweepRun>> sweep = PrepareSweep(who, request, *prepared);
  if (!sweep.ok()) return sweep.status();
  // The arrays of a sweep have their memory from now on, those of other jobs when they run.
  const auto beside = *sweep != nullptr ? ArrayStore::Beside::kArrays : ArrayStore::Beside::kNothing;
  if (absl::Status status = CheckQuota(who, prepared->bound, beside); !status.ok()) return status;
  if (absl::Status status = jobs_.AwaitNumber(); !status.ok()) return status;

  const std::shared_ptr<Job> job = MakeJob(who, request, std::move(prepared->bound), key, options_.inline_bytes);
  if (*sweep != nullptr) (*sweep)->RunFor(*job);
  job->depends_on = std::move(prepared->lookup.jobs);
  if (job->tiny) {
    job->kind = RunTimes::kMoment;
  } else {
    job->kind = history_.KindOf(job->bound, job->work.get(), job->label);
    if (absl::Status status =
            admission_.Check({job->spec(), job->kind, job->work != nullptr, request.time_limit}, job->durable);
        !status.ok()) {
      return status;
    }
  }
  if (absl::Status status = Place(*job, Scheduler::Limit::kCounts); !status.ok()) return status;
  const absl::StatusOr<std::shared_ptr<Job>> inserted = jobs_.Insert(job, observer, tag);
  if (!inserted.ok() || *inserted != job) {
    scheduler_.Withdraw(*job);
    sessions_.EndJob(*job->session, clock_.Now());
    if (!inserted.ok()) return inserted.status();
    return rejoin(*inserted);
  }
  return Entered{job, true, held_.Accept(job, *prepared, /*acknowledged=*/!request.durable)};
}

absl::StatusOr<JobId> Engine::Submit(const Principal& who, JobRequest request, std::shared_ptr<JobObserver> observer,
                                     std::uint64_t tag) {
  const absl::StatusOr<Entered> entered = Enter(who, request, std::move(observer), tag);
  if (!entered.ok()) return entered.status();
  Job& job = *entered->job;
  if (!entered->is_new || entered->held) return job.id;
  if (job.sweep != nullptr) {
    sweeps_.Begin(job);
    return job.id;
  }
  const Scheduler::Begun begun = scheduler_.Push(job, request.may_run_here && job.tiny && !running_here);
  if (begun.entry != nullptr) {
    running_here = true;
    lanes_->Run(begun);
    running_here = false;
  } else {
    Foretell(job);
  }
  return job.id;
}

void Engine::Foretell(Job& job) {
  if (job.tiny) return;
  const std::optional<nanoseconds> starts_in = whys_.StartOf(job);
  if (!starts_in) return;
  const nanoseconds so_far = clock_.Now() - job.submit_time;
  job.plain_forecast.store((so_far + *starts_in).count());
  job.start_forecast.store((so_far + history_.bias().Corrected(*starts_in)).count());
}

void Engine::Queue(Job& job) {
  if (job.sweep != nullptr) return sweeps_.Begin(job);
  if (!admission_.Leave(job)) {
    scheduler_.Push(job, /*may_run_here=*/false);
    Foretell(job);
  }
  EndIfCancelled(job);
}

void Engine::QueueLeft() {
  if (jobs_.draining()) return;
  for (const std::shared_ptr<Job>& job : admission_.TakeBack()) {
    if (!scheduler_.Admit(*job, Scheduler::Limit::kPassed).ok()) {  // its devices are lost
      admission_.Keep(job);
      EndIfCancelled(*job);
      continue;
    }
    Queue(*job);
  }
}

absl::StatusOr<Engine::Accepted> Engine::Accept(const Principal& who, JobRequest request) {
  request.durable = true;
  absl::StatusOr<Entered> entered = Enter(who, request, nullptr, 0);
  if (!entered.ok()) return entered.status();
  const JobId id = entered->job->id;
  return Accepted{id, entered->is_new ? std::move(entered->job) : nullptr};
}

void Engine::Acknowledge(Job& job) {
  const std::string late_cancel = jobs_.Acknowledge(job);
  if (!late_cancel.empty()) CancelJob(job, late_cancel);
  if (!held_.Acknowledge(job) && late_cancel.empty()) Queue(job);
}

absl::StatusOr<std::shared_ptr<SweepRun>> Engine::PrepareSweep(const Principal& who, const JobRequest& request,
                                                               HeldJobs::Prepared& prepared) const {
  if (request.sweep == nullptr) return nullptr;
  if (prepared.held) {
    return InvalidField("sweep", absl::StrCat("a sweep takes what is there: job ", prepared.lookup.jobs.front().value(),
                                              ", for which it would wait, has not ended (hotplate wait ",
                                              prepared.lookup.jobs.front().value(), ")"));
  }
  return sweeps_.Prepare(who, request, prepared.bound, SweepRun::Memory::kTake);
}

void Engine::Withdraw(Job& job) {
  held_.Withdraw(job);
  scheduler_.Withdraw(job);
  jobs_.Withdraw(job);
}

absl::Status Engine::Restore(RestoredJob restored) {
  JobRequest& request = restored.request;
  request.durable = true;
  absl::Status refusal = restored.refusal;
  if (const auto allowance = AllowanceOf(restored.owner.token); allowance != nullptr && allowance->is_over()) {
    refusal = absl::CancelledError("was cancelled: its token was revoked or has expired");
  }
  HeldJobs::Prepared prepared;
  std::shared_ptr<SweepRun> sweep;
  if (restored.end == nullptr && refusal.ok()) {
    GiveFirstValues(request);
    absl::StatusOr<HeldJobs::Prepared> made = held_.Prepare(restored.owner, request, /*restored=*/true);
    if (made.ok()) prepared = *std::move(made);
    refusal = made.status();
    if (refusal.ok()) {
      absl::StatusOr<std::shared_ptr<SweepRun>> made_sweep = PrepareSweep(restored.owner, request, prepared);
      if (made_sweep.ok()) sweep = *std::move(made_sweep);
      refusal = made_sweep.status();
    }
    if (sweep != nullptr && restored.restore_tasks) refusal = restored.restore_tasks(*sweep);
  }
  const std::shared_ptr<Job> job = MakeRestored(restored, std::move(prepared.bound), options_.inline_bytes);
  if (restored.end == nullptr) {
    job->depends_on = std::move(prepared.lookup.jobs);
    job->kind = history_.KindOf(job->bound, job->work.get(), job->label);
  }
  if (refusal.ok() && sweep != nullptr) sweep->RunFor(*job);
  if (restored.end == nullptr && refusal.ok()) refusal = Place(*job, Scheduler::Limit::kPassed);
  // Another daemon may have room for it, or be set up for it.
  const bool may_pass = absl::IsResourceExhausted(refusal) || absl::IsUnavailable(refusal) ||
                        absl::IsFailedPrecondition(refusal) || absl::IsPermissionDenied(refusal);
  if (restored.end == nullptr && may_pass) return refusal;
  jobs_.Restore(job, restored.number, EventsOf(restored, clock_));
  if (restored.end != nullptr) return absl::OkStatus();
  if (refusal.ok()) {
    if (options_.job_log != nullptr) options_.job_log->Reserve(*job).IgnoreError();  // it was accepted
    if (!held_.Accept(job, prepared, /*acknowledged=*/true)) Queue(*job);
    return absl::OkStatus();
  }
  const bool cancelled = absl::IsCancelled(refusal);
  if (!cancelled) {
    refusal = absl::Status(refusal.code(), absl::StrCat("a daemon before this one accepted job ", job->id.value(),
                                                        ", which cannot run here: ", refusal.message()));
  }
  jobs_.End(*job, {.state = cancelled ? JobState::kCancelled : JobState::kFailed,
                   .error = std::move(refusal),
                   .outputs = {},
                   .receipt = std::nullopt});
  return absl::OkStatus();
}

absl::StatusOr<JobSnapshot> Engine::Fetch(const Principal& who, const JobId& id) {
  const absl::StatusOr<std::shared_ptr<Job>> job = jobs_.Find(who, id);
  if (!job.ok()) return job.status();
  return jobs_.Fetch(**job);
}

bool Engine::DrainIfIdle(nanoseconds limit, const std::string& reason) {
  if (Idle() < limit) return false;
  return jobs_.RefuseIfIdleSince(clock_.Now() - limit, reason);
}

}  // namespace hotplate::core
