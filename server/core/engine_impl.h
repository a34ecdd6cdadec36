// The engine's inside. One mutex guards what is marked so and is held briefly: what is decided under it (whom to
// wake, what to tell, what to free) is done afterwards, by Perform. ArrayStore's lock may be taken under it, no other.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "server/core/jobs/binding.h"
#include "server/core/arrays/device_copies.h"
#include "server/core/run/device_history.h"
#include "server/core/engine.h"
#include "server/core/jobs/job.h"
#include "server/core/jobs/job_event.h"
#include "server/core/jobs/job_table.h"
#include "server/core/jobs/observers.h"
#include "server/core/schedule/queue.h"
#include "server/core/schedule/room.h"
#include "server/core/schedule/sessions.h"
#include "server/core/run/task_runner.h"

namespace hotplate::core {

class Engine::Impl {
 public:
  Impl(EngineOptions options, const Catalog& catalog, DeviceSet devices, ArrayStore& arrays, const Clock& clock);
  ~Impl();

  // Requests: engine_check.cpp and engine_requests.cpp.
  absl::StatusOr<CheckReport> Check(const Principal& who, JobRequest request);
  absl::StatusOr<JobId> Submit(const Principal& who, JobRequest request, std::shared_ptr<JobObserver> observer,
                               std::uint64_t tag);
  absl::StatusOr<JobSnapshot> Cancel(const Principal& who, const JobId& id);
  absl::StatusOr<JobSnapshot> Get(const Principal& who, const JobId& id) const;
  absl::StatusOr<JobSnapshot> Fetch(const Principal& who, const JobId& id);
  std::vector<JobSnapshot> List(const Principal& who, const JobFilter& filter) const;

  // Observers and sessions: engine_clients.cpp.
  absl::Status Watch(const Principal& who, const JobId& id, std::uint64_t from_sequence,
                     std::shared_ptr<JobObserver> observer, std::uint64_t tag);
  void Subscribe(std::shared_ptr<JobObserver> observer);
  void Unsubscribe(const std::shared_ptr<JobObserver>& observer, OnDisconnect policy);
  absl::Status TouchSession(const SessionId& session, int streams, SessionUse use);
  // Ends abandoned sessions until so many bytes are free; false, and none has ended, if that is not enough.
  bool Reclaim(std::uint64_t bytes);
  void EndSession(const SessionId& session);
  void Announce(const std::string& text, std::optional<double> seconds_left);

  // engine_drain.cpp
  void BeginDrain(nanoseconds timeout, const std::string& reason);
  bool AwaitDrained();
  bool DrainIfIdle(nanoseconds limit, const std::string& reason);
  void ShortenDrain(nanoseconds timeout);
  // An activity is known by the moment when it last moved.
  using Moment = std::atomic<std::int64_t>;
  void BeginActivity(Moment& moved);
  void EndActivity(Moment& moved);
  void NoteMove(Moment& moved) {
    const std::int64_t now = clock_.Now().time_since_epoch().count();
    moved.store(now, std::memory_order_relaxed);
    last_use_.store(now, std::memory_order_relaxed);
  }
  void NoteUse() { last_use_.store(clock_.Now().time_since_epoch().count(), std::memory_order_relaxed); }
  EngineStatus Status() const;
  std::uint64_t last_number() const { return numbers_.last_taken(); }
  // engine_telemetry.cpp
  DeviceMetrics SampleDevice(std::size_t index);

  const DeviceSet& device_set() const { return device_set_; }
  const Catalog& catalog() const { return catalog_; }
  ArrayStore& arrays() { return arrays_; }

 private:
  struct DeviceState;
  struct LaneState {
    DeviceState* device = nullptr;
    std::thread thread;
    std::condition_variable wake;
    std::atomic<bool> called{false};  // to look at the queue; set under the mutex

    // Of whoever has the lane: its own thread, or one that has borrowed it. Made and ended on its own thread.
    std::unique_ptr<Lane> lane;
    std::unique_ptr<TaskRunner> runner;

    // Guarded by the mutex. A lane is in one of four places: among the device's idle ones, called (its thread is about
    // to look at the queue), with its thread, or borrowed (its thread sleeps on).
    bool asleep = false;
    bool borrowed = false;
    Job* current = nullptr;  // the table keeps it alive
  };
  struct DeviceState {
    unsigned index = 0;
    Device* device = nullptr;
    std::vector<std::unique_ptr<LaneState>> lanes;

    // Guarded by the mutex.
    unsigned lanes_opening = 0, lanes_open = 0;
    std::vector<LaneState*> idle;  // the last to become so is the first to be called: its caches are warm
    std::uint32_t running = 0;
    Room room;  // extra_bytes of what runs are reserved in it
    std::string lost;
    std::unordered_map<const KernelSpec*, bool> warm;  // kernels that began here; true: and one run COMPLETED
    nanoseconds busy{};                                // of all lanes, runs that are over
    std::deque<std::pair<SteadyTime, nanoseconds>> busy_history;
    nanoseconds occupied{};     // by at least one job, but for the time since...
    SteadyTime occupied_since;  // ... this, while there is one
  };

  // Side effects that wait for the end of the lock.
  struct Aftermath {
    absl::InlinedVector<LaneState*, 2> wake;
    absl::InlinedVector<std::shared_ptr<Job>, 2> tell;
    absl::InlinedVector<std::shared_ptr<Job>, 2> evicted;
    absl::InlinedVector<BoundJob, 1> bound;           // buffers are freed and names given back without the lock
    std::vector<std::shared_ptr<const void>> arrays;  // of sessions that ended
    std::vector<std::pair<LogLevel, std::string>> log;
  };
  void Perform(Aftermath& after);
  void Log(Aftermath& after, LogLevel level, std::string text) const;
  bool Logs(LogLevel level) const { return options_.log != nullptr && level >= options_.log_level; }

  // With the mutex held: engine_jobs.cpp.
  void AddEvent(Job& job, JobTransition transition, const std::string& device);
  void Expect(Job& job);  // the ticker will tell its observers what they do not know by then
  void End(Job& job, JobTransition transition, absl::Status error, std::vector<JobOutputValue> outputs,
           std::optional<JobReceipt> receipt, Aftermath& after);
  void RequestCancel(Job& job, const std::string& reason, Aftermath& after);
  JobSnapshot SnapshotOf(const Job& job) const;  // but for the queue position
  std::vector<Job*> ActiveJobs() const;
  void CancelAttached(Job& job, OnDisconnect policy, Aftermath& after);
  // One idle lane of these devices, if any, is to look at the queue.
  void CallLanes(std::uint64_t devices, Aftermath& after);
  void CallLane(DeviceState& device, Aftermath& after);
  absl::Status Enqueue(Job& job, Aftermath& after);
  absl::Status DrainingError() const;
  absl::Status NoJob(const JobId& id) const;

  // engine_check.cpp. Without the mutex but for FitNow: the queue may be long, so it is copied once for all devices.
  std::vector<CheckReport::Fit> FitsOf(const std::vector<DeviceNeed>& needs, const Principal& who, int priority) const;
  // `abandoned` bytes of the host's memory are free as soon as they are needed.
  static CheckReport::Fit FitNow(const DeviceState& device, const DeviceNeed& need, std::uint64_t abandoned);
  struct Turn {
    JobId id;
    const KernelSpec* kernel;  // null where who asks must not see the job
    Occupant occupant;
    SteadyTime since;  // if it runs
    JobQueue::Position position;
  };
  // Who has a part of a device's memory, and who waits for it before a new job would. They are taken in the order in
  // which they began and in that of the queue: which of two ends first, and what fair share will make of those that
  // wait, nobody knows.
  struct Turns {
    Room room;
    bool host_memory = false;
    std::vector<Turn> running, waiting;
  };
  void Forecast(std::uint64_t bytes, Turns turns, CheckReport::Fit& fit) const;

  // With the mutex held: engine_clients.cpp. A new session takes the place of another where there are too many.
  absl::StatusOr<std::shared_ptr<Session>> Touch(const SessionId& session, int streams, SessionUse use,
                                                 Aftermath& after);
  // Cleans up after a session that left the table because others need what it had.
  void FreeArraysOf(const SessionId& session, std::string_view needed, Aftermath& after);
  // That abandoned sessions, and uploads that nobody goes on with, hold.
  std::uint64_t AbandonedBytes(const ArrayHolders& holders, SteadyTime now) const;
  // That jobs of the queue wait for on devices where nothing runs that would free any.
  std::uint64_t BytesWantedByQueue() const;

  // With the mutex held: engine_drain.cpp.
  void RefuseJobs(const std::string& reason);
  // Nothing of the engine's own goes on; so it stays while it takes no new jobs, but for what clients begin.
  bool IsQuiet() const;
  bool ActivityGoesOn(SteadyTime now) const;
  nanoseconds IdleFor(SteadyTime now) const;
  SteadyTime last_use() const { return SteadyTime(nanoseconds(last_use_.load(std::memory_order_relaxed))); }
  SteadyTime last_sign() const { return std::max(idle_since_, last_use()); }

  // Without the mutex.
  bool OwesClients();  // what a quiet engine has for them is still here, and they come for it
  std::vector<std::string> LostDevices() const;
  absl::Status CheckTime(const JobRequest& request) const;
  // Null where nothing was asked for by that key.
  std::shared_ptr<Job> FindRequest(const std::string& request_key);
  absl::StatusOr<JobId> KnownRequest(const std::shared_ptr<Job>& job, const JobRequest& request,
                                     std::shared_ptr<JobObserver> observer, std::uint64_t tag);
  // Tells observers what they do not know yet; what only the job's own stream wanted is not kept after that.
  void Tell(Job& job);
  void ReleaseInlineData(Job& job);
  // The most that its results may have inline.
  std::uint64_t MostInlineBytes(const BoundJob& job) const;

  // Lanes: engine_lanes.cpp. On the lane's thread, without the mutex unless it says so.
  void OpenLanes();
  void RunLane(LaneState& lane);
  std::shared_ptr<Job> TakeJob(LaneState& lane, bool& cold);
  static bool Fits(const DeviceState& device, const Job& job);  // mutex held
  bool Start(LaneState& lane, Job& job);                        // mutex held; true if the kernel is cold
  void RunJob(LaneState& lane, Job& job, bool cold);
  void Finish(LaneState& lane, Job& job, const DeviceNeed& need, bool cold, RunResult result);
  absl::Status PlaceOutputs(Job& job, std::vector<JobOutputValue>& outputs);       // mutex held
  void LoseDevice(DeviceState& device, const std::string& why, Aftermath& after);  // mutex held

  // Tiny jobs on the thread that submits them: engine_inline.cpp.
  static bool IsTiny(const Job& job);
  static std::uint32_t ThreadsHere(const EngineOptions& options);
  // This thread is inside RunHere: an observer submits a job.
  static bool IsRunningHere();
  // With the mutex held: an idle lane that this thread may run the job on now; the job, which was queued, is then
  // RUNNING, and RunHere has to follow. Null if there is none, others wait, or enough threads are at it.
  LaneState* BorrowLane(Job& job);
  // Without the mutex: runs the job, gives the lane back and tells the observers.
  void RunHere(LaneState& lane, Job& job);
  DeviceState* LeastBusy(std::uint64_t devices) const;  // of those with an idle lane; mutex held

  // engine_telemetry.cpp
  DeviceConditions ConditionsOf(const DeviceState& device, const RunResult& result, SteadyTime start, SteadyTime end);

  // engine_ticker.cpp
  void RunTicker();
  void Tick(SteadyTime now, Aftermath& after, std::vector<std::pair<std::shared_ptr<Job>, double>>& progress);
  void SampleDevices(SteadyTime now, bool record_busy);
  void Expire();
  // Arrays whose lease is over, and those whose upload nobody goes on with for longer than this.
  void FreeExpired(nanoseconds upload_grace, Aftermath& after);
  static std::string ShownPart(const SessionId& session);                  // for the log
  nanoseconds BusyUntil(const DeviceState& device, SteadyTime now) const;  // mutex held

  const EngineOptions options_;
  const Catalog& catalog_;
  const DeviceSet device_set_;
  const std::shared_ptr<DeviceCopies> copies_ = DeviceCopies::Of(device_set_.devices);  // null if there can be none
  ArrayStore& arrays_;
  const Clock& clock_;
  const Binder binder_;
  const std::uint32_t most_threads_here_;
  JobNumbers numbers_;  // has a lock of its own
  std::unordered_map<const KernelSpec*, std::string> spec_hashes_;
  std::vector<std::unique_ptr<DeviceState>> devices_;  // in the set's order
  DeviceHistory history_{device_set_.devices.size()};

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  JobTable table_;
  JobQueue queue_;
  SessionTable sessions_;
  std::condition_variable lanes_opened_, quiet_, ticker_wake_;
  Observers observers_;
  std::vector<std::shared_ptr<Job>> untold_;
  std::vector<std::shared_ptr<Job>> in_grace_;
  std::uint32_t running_ = 0;
  std::uint64_t ran_here_ = 0;  // jobs, on borrowed lanes
  SteadyTime idle_since_;       // the end of the last job
  absl::flat_hash_set<const Moment*> activities_;
  std::string drain_reason_;
  std::chrono::steady_clock::time_point drain_end_;  // of the drain that has begun
  bool stopping_ = false;

  std::atomic<bool> draining_{false};           // set under mutex_
  std::atomic<std::uint32_t> threads_here_{0};  // inside RunHere or about to be; raised under mutex_
  std::atomic<bool> any_lost_{false};           // set under mutex_
  Moment last_use_;                             // when any activity last began, moved or ended, by clock_
  std::thread ticker_;
};

}  // namespace hotplate::core
