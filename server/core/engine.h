// The engine composes the core's four parts, each of which owns its state and its lock:
//   jobs/      what jobs there are and what became of them. Every change is an event (jobs/job_event.h), applied by one
//              pure function, written to the log, then told to observers.
//   schedule/  what waits, for whom and for how much memory: the queue with its fair share, the room of each device,
//              the sessions, and use that is no job.
//   run/       what runs: devices, lanes and their threads, receipts, what happens by time, the drain.
//   arrays/    the arrays that the daemon holds, and their copies on devices.
// sweeps/ has the tasks of jobs that have many, each of which goes through schedule/ and run/ like a job. held_jobs.h
// has those that wait for other jobs, from their check to the queue. No part calls another one under its lock, but
// sessions the arrays, and what jobs wait for (jobs/dependencies.h) jobs and arrays. A job is therefore owned by one of
// them at a time: the scheduler's Take and Remove decide who gets it, and only that one may end it.
//
// The life of a job:
//   1. Submit binds the request to the kernel's spec, resolves its arrays, plans its memory and checks limits:
//      whatever is wrong is refused here, before anything is queued, with the field and the value.
//   2. The job gets a place in the queue (Scheduler::Admit), becomes PENDING (Jobs::Insert) and is queued
//      (Scheduler::Push): priority first, then fair share between tokens and their sessions, then first come.
//   3. A lane of a device with room, or for a function a worker's place, takes it (RUNNING), reads by-path inputs, runs
//      the kernel, seals the receipt. A job that is tiny by its kernel's own bound of the work, and finds no other in
//      the queue and a lane idle, runs on that lane at once, by the thread that submits it.
//   4. Every state change is numbered and kept with the job; observers hear of them in order, with no lock held. The
//      end is told at once, on the thread that made it, and what has not been told before goes with it: so a tiny job
//      is one burst of calls, closed by OnFlush. PENDING and RUNNING of a job that takes longer come from the ticker
//      within a few hundredths of a second, and so does progress.
//   5. The end (COMPLETED, FAILED, CANCELLED, TIMEOUT) is the last update. The job stays in the table for the
//      retention time, so that a client that went away can fetch the result.
// Thread-safe. Nothing here waits for a device but the lanes' own threads and the drain; Submit may compute for some
// tens of microseconds, on few threads at a time, unless the request says that it shall not.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/core/admission.h"
#include "server/core/arrays/arrays.h"
#include "server/core/held_jobs.h"
#include "server/core/jobs/binding.h"
#include "server/core/jobs/catalogues.h"
#include "server/core/jobs/jobs.h"
#include "server/core/jobs/restored_job.h"
#include "server/core/options.h"
#include "server/core/reports.h"
#include "server/core/run/devices.h"
#include "server/core/run/drain.h"
#include "server/core/run/lanes.h"
#include "server/core/run/ticker.h"
#include "server/core/run_history.h"
#include "server/core/schedule/activities.h"
#include "server/core/schedule/scheduler.h"
#include "server/core/schedule/sessions.h"
#include "server/core/sweeps/sweeps.h"
#include "server/core/why.h"

namespace hotplate::core {

class Engine {
 public:
  using OnDisconnect = core::OnDisconnect;
  using Activity = Activities::Activity;
  static constexpr nanoseconds kStalled = Activities::kStalled;
  static constexpr nanoseconds kLinger = core::Drain::kLinger;
  static constexpr nanoseconds kFetchWithin = core::Drain::kFetchWithin;

  // Returns when the lanes are open. Device ids must be unique, and no more than CheckNumber takes.
  Engine(EngineOptions options, Catalogues catalogues, DeviceSet devices, ArrayStore& arrays, const Clock& clock);
  // Drains with a timeout of zero if nobody did, and waits for the lanes.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // The job's call, cost and where it fits; the same refusals as Submit. Inputs may be signatures alone.
  absl::StatusOr<CheckReport> Check(const Principal& who, JobRequest request);
  // Queues a job, and subscribes `observer` (may be null) before its first change; a tiny job may have ended, and its
  // observer been told so on this thread, when this returns. A request_id seen before returns the first job's id (the
  // observer is told its whole story); with another payload_hash: ALREADY_EXISTS. RESOURCE_EXHAUSTED if the queue is
  // full, there is no room to keep a result that somebody may come back for, or the token has as many jobs, or bytes of
  // arrays, as it may.
  absl::StatusOr<JobId> Submit(const Principal& who, JobRequest request, std::shared_ptr<JobObserver> observer,
                               std::uint64_t tag);

  // A durable job in two steps. Accept does all that Submit does, but that nobody sees the job, and nothing runs it,
  // until Acknowledge; the caller writes it down in between, or withdraws it.
  struct Accepted {
    JobId id;
    std::shared_ptr<Job> job;  // null: the request id was seen before, and this is its job's id
  };
  absl::StatusOr<Accepted> Accept(const Principal& who, JobRequest request);
  void Acknowledge(Job& job);
  void Withdraw(Job& job);

  // The job is in the table as it was, and queued, whatever the limit, if it has not ended. If it can never run, it
  // fails, with the reason, or is cancelled, if that is its refusal. An error: it cannot run now, on this daemon, and
  // is not there.
  absl::Status Restore(RestoredJob restored);
  // Adds the outputs of a restored job, which were read from files. False if the job has left the table.
  bool Load(Job& job, std::shared_ptr<const JobEnd> end, std::vector<ArrayId> owned_arrays) {
    return jobs_.Load(job, std::move(end), std::move(owned_arrays));
  }
  absl::StatusOr<std::shared_ptr<Job>> Find(const Principal& who, const JobId& id) const { return jobs_.Find(who, id); }

  // Tells `observer` every change from `from_sequence` on, those that have been at once, on this thread.
  absl::Status Watch(const Principal& who, const JobId& id, std::uint64_t from_sequence,
                     std::shared_ptr<JobObserver> observer, std::uint64_t tag) {
    return jobs_.Watch(who, id, from_sequence, std::move(observer), tag);
  }
  // Lets `observer` hear of notices before (and after) it has jobs, until Unsubscribe.
  void Subscribe(std::shared_ptr<JobObserver> observer) { jobs_.Subscribe(std::move(observer)); }
  // No more calls to this observer begin after it returns, and none is under way but those that call this: so hold no
  // lock that its calls take. The jobs that were submitted with it, attached and not yet ended, are cancelled after the
  // grace or now, or go on detached; a job's own DisconnectPolicy comes first.
  void Unsubscribe(const std::shared_ptr<JobObserver>& observer, OnDisconnect policy);

  // Acknowledges at once. NOT_FOUND for a job that is not there; ended jobs are left as they are.
  absl::StatusOr<JobSnapshot> Cancel(const Principal& who, const JobId& id);
  // Cancels the jobs of a token that have not ended, and returns how many; those that were being cancelled do not
  // count. `reason` follows on a job's id: "was cancelled: ...". New ones are not refused: Allowance::is_over does
  // that.
  std::uint32_t CancelJobsOf(const std::string& token, const std::string& reason);
  absl::StatusOr<JobSnapshot> Get(const Principal& who, const JobId& id) const;
  absl::StatusOr<WhyReport> Why(const Principal& who, const JobId& id) const;
  // The same as Get, for its result: that of a job that has ended counts as fetched, and need not be kept for anybody
  // else.
  absl::StatusOr<JobSnapshot> Fetch(const Principal& who, const JobId& id);
  std::vector<JobSnapshot> List(const Principal& who, const JobFilter& filter) const;  // newest first

  // Marks the session as alive now; `streams` +1 / -1 while it holds a stream. Too many: RESOURCE_EXHAUSTED.
  absl::Status TouchSession(const SessionId& session, int streams, SessionUse use = SessionUse::kHolds) {
    return sessions_.Touch(session, streams, use);
  }
  void EndSessionsOfGuest(const std::string& guest) {
    for (const SessionId& session : sessions_.AllOfGuest(guest)) EndSession(session);
  }
  // Frees its arrays, cancels its attached jobs. Idle sessions without a stream end like this by themselves.
  void EndSession(const SessionId& session);

  Activity BeginActivity() { return Activity(activities_); }
  void NoteUse() { activities_.NoteUse(); }

  // No new jobs from now on (UNAVAILABLE, says so), and the time that AwaitDrained (Drain::Await) has for what goes on.
  // A lane in an uninterruptible call is not waited for there, but the destructor does: who cannot, leaves by
  // std::_Exit while Status() still has running jobs. Not to be called by an observer.
  void BeginDrain(nanoseconds timeout, const std::string& reason) { drain_.Begin(timeout, reason); }
  bool AwaitDrained() { return drain_.Await(); }
  bool Drain(nanoseconds timeout, const std::string& reason) {
    BeginDrain(timeout, reason);
    return AwaitDrained();
  }
  void ShortenDrain(nanoseconds timeout) { drain_.Shorten(timeout); }
  // Takes no new jobs from now on if there was no use for `limit`; false, and nothing has changed, if there was. No job
  // that was accepted is lost between the question and its consequence.
  bool DrainIfIdle(nanoseconds limit, const std::string& reason);
  // Tells every observer.
  void Announce(const std::string& text, std::optional<double> seconds_left) { jobs_.Announce(text, seconds_left); }

  // Run times of jobs under daemons before this one, for forecasts.
  void Learn(const PastRun& run) { history_.Learn(run); }
  // Whether jobs are left for the daemon that follows.
  bool LeavesJobs() const { return admission_.left() > 0; }

  // How many jobs of a token have not ended; a sweep is one.
  std::uint32_t ActiveJobsOf(const std::string& token) const { return jobs_.ActiveOf(token); }
  // Null: the token has no bounds.
  std::shared_ptr<const Allowance> AllowanceOf(const std::string& token) const;

  EngineStatus Status() const;
  // The newest job's, 0 if there was none. Waits for no job and no device.
  std::uint64_t last_number() const { return jobs_.last_number(); }
  // Asks the device how it is, which may take milliseconds, and remembers it for the receipts of jobs that run about
  // now. A device that says that it is lost is lost from then on, until it is reopened. For the sampler.
  DeviceMetrics SampleDevice(std::size_t index);
  const std::vector<std::unique_ptr<Device>>& devices() const { return devices_.set().devices; }
  // INVALID_ARGUMENT, with those that there are, if this is the id of none; empty is any. PERMISSION_DENIED, with those
  // that it may use, for a token that may not use this one.
  absl::Status CheckDevice(const Principal& who, const std::string& id) const;
  // Places for workers that it has beside its lanes (EngineOptions::workers).
  std::uint32_t WorkersOf(std::size_t device) const { return devices_.WorkersOf(device); }
  const std::vector<std::string>& device_notes() const { return devices_.set().notes; }
  // The kernels that `who` may run.
  std::shared_ptr<const Catalog> CatalogFor(const Principal& who) const { return binder_.catalogues().For(who); }
  ArrayStore& arrays() { return arrays_; }

 private:
  absl::Status CheckTime(const JobRequest& request) const;
  // ArrayStore::CheckQuota for the arrays that its outputs become.
  absl::Status CheckQuota(const Principal& who, const BoundJob& job, ArrayStore::Beside beside) const;
  // A new job, PENDING, with its place in the queue; or the one that has its request id.
  struct Entered {
    std::shared_ptr<Job> job;
    bool is_new = false;
    bool held = false;  // it waits for other jobs, whose ends queue it
  };
  absl::StatusOr<Entered> Enter(const Principal& who, JobRequest& request, std::shared_ptr<JobObserver> observer,
                                std::uint64_t tag);
  // A job that was accepted, and does not wait for others: it is queued from now on, or left for the next daemon.
  void Queue(Job& job);
  // Queues jobs that were left for the next daemon, and need not be any more.
  void QueueLeft();
  // Keeps the forecast of a queued job's start, for its receipt.
  void Foretell(Job& job);
  // A sweep is bound as its first task; this makes it the whole. Null for other jobs.
  absl::StatusOr<std::shared_ptr<SweepRun>> PrepareSweep(const Principal& who, const JobRequest& request,
                                                         HeldJobs::Prepared& prepared) const;
  // Its place in the queue and in its session.
  absl::Status Place(Job& job, Scheduler::Limit limit);
  // False: it has ended, or was asked before.
  bool CancelJob(Job& job, const std::string& reason);
  // Out of the queue, or from those that are left for the next daemon. False: it runs, or is on its way.
  bool TakeOut(Job& job);
  void EndCancelled(Job& job, const std::string& reason);
  // For a job that has just come into one of these places: a cancel before found it nowhere.
  void EndIfCancelled(Job& job);
  // The daemon ends: cancels the job, or leaves a durable one to the next daemon.
  void CutOff(Job& job, const std::string& reason);
  nanoseconds Idle() const;

  const EngineOptions options_;
  const LogSink log_;
  ArrayStore& arrays_;
  const Clock& clock_;
  // Each uses those before it.
  Devices devices_;
  const Binder binder_;
  Sessions sessions_;
  Jobs jobs_;
  Activities activities_;
  Scheduler scheduler_;
  RunHistory history_;
  Admission admission_;
  HeldJobs held_;
  const Whys whys_;
  Sweeps sweeps_;
  core::Drain drain_;
  std::unique_ptr<Lanes> lanes_;
  std::unique_ptr<Ticker> ticker_;
};

}  // namespace hotplate::core
