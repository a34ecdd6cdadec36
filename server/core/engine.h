// The engine: takes jobs, queues them, gives them to device lanes, and tells their story. The life of a job:
//   1. Submit binds the request to the kernel's spec, resolves its arrays, plans its memory and checks limits:
//      whatever is wrong is refused here, before anything is queued, with the field and the value.
//   2. The job is PENDING in the bounded queue: priority first, then fair share between sessions, then first come.
//   3. A lane of a device with room takes it (RUNNING), reads by-path inputs, runs the kernel, seals the receipt.
//      A job that is tiny by its kernel's own bound of the work, and finds the queue empty and a lane idle, runs on
//      that lane at once, by the thread that submits it.
//   4. Every state change is numbered and kept with the job; observers hear of them in order, with no lock held.
//      The end is told at once, on the thread that made it, and what has not been told before goes with it: so a
//      tiny job is one burst of calls, closed by OnFlush. PENDING and RUNNING of a job that takes longer come from
//      the ticker within a few hundredths of a second, and so does progress, which is not an event.
//   5. The end (COMPLETED, FAILED, CANCELLED, TIMEOUT) is the last update. The job stays in the table for the
//      retention time, so that a client that went away can fetch the result.
// Thread-safe. Nothing here waits for a device but the lanes' own threads and Drain; Submit may compute for some tens
// of microseconds, on few threads at a time, unless the request says that it shall not.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/core/arrays/arrays.h"
#include "server/core/jobs/job_numbers.h"
#include "server/core/types.h"

namespace hotplate::core {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

struct EngineOptions {
  std::uint32_t queued_jobs = 10'000;
  // Outputs of a job that are together not larger, nor than retained_bytes, come back inline.
  std::uint64_t inline_bytes = 1 << 20;
  nanoseconds result_retention = std::chrono::hours(1);
  // Ended jobs, and inline results of them together, that are kept for that time. Nobody has fetched some of them: a
  // job that there would be no room to keep is refused. Those whose result was delivered give way, the oldest first;
  // tiny attached ones are counted apart (job_table.h).
  std::uint32_t retained_jobs = 10'000;
  std::uint64_t retained_bytes = std::uint64_t{256} << 20;
  std::uint32_t max_sessions = 1000;
  std::uint32_t max_streams = 1000;  // open ones, of all sessions together
  // A session without a stream, an active job or a sign of life for this long is ended.
  nanoseconds session_timeout = std::chrono::minutes(10);
  // How long an attached job outlives its stream; and how long the place and the memory of a session without a stream,
  // an active job or a call are not given to others that need them.
  nanoseconds disconnect_grace = std::chrono::seconds(10);
  // The end of the allocation, refreshed by the daemon; a time limit beyond it is refused, and so is one that reaches
  // into the last `end_margin` before it, in which the daemon ends and jobs are cancelled.
  std::function<std::optional<WallTime>()> allocation_end;
  nanoseconds end_margin{0};
  // An idle lane polls this long before it sleeps: saves the wake-up where cores are to spare, costs a core meanwhile.
  nanoseconds lane_spin{0};
  // So many threads at a time may run tiny jobs inside Submit; 0: a quarter of the processor's, 1 to 8. Submit is
  // called by threads that have connections to serve: most of them always can.
  std::uint32_t threads_in_submit = 0;
  // Where the numbers of jobs come from (job_numbers.h); by themselves they count from 1.
  NumberBlock first_numbers;
  JobNumbers::Claim claim_numbers;
  // Called with no lock held, from any thread; messages below `log_level` are not even made.
  std::function<void(LogLevel, const std::string&)> log;
  LogLevel log_level = LogLevel::kInfo;
};

// Told of one job's updates, or of many jobs'. Calls for one job come in order and one at a time, those for different
// jobs may come at once from several threads; never under a lock of the engine, so that they may call it. They run on
// lanes, the ticker and inside Submit, and must not wait.
class JobObserver {
 public:
  virtual ~JobObserver() = default;
  // `end` is set with the last event of the job.
  virtual void OnEvent(const JobId& id, std::uint64_t tag, const JobEvent& event,
                       const std::shared_ptr<const JobEnd>& end) = 0;
  // False: of a job that has ended by the time this is told anything more, only the end is wanted.
  virtual bool WantsStatesBeforeEnd() const { return true; }
  // May be dropped; at most 10 a second.
  virtual void OnProgress(const JobId& id, std::uint64_t tag, double fraction) = 0;
  // The daemon drains or the allocation ends soon.
  virtual void OnNotice(const std::string& text, std::optional<double> seconds_left) = 0;
  // Ends every burst of the calls above: an observer that collects them may send them now.
  virtual void OnFlush() {}
  // Something that it was told is still on its way to whom it concerns: a drain waits for it.
  virtual bool HasUnsent() { return false; }
};

struct CheckReport {
  BoundCall call;
  Cost cost;
  struct OtherJob {
    JobId id;
    std::string kernel;  // empty for a job that the asker must not see
  };
  // By memory alone; whether a lane is free, too, is another matter.
  struct Fit {
    enum class When { kNow, kLater, kNever };
    std::string device;
    When when = When::kNow;
    std::uint64_t bytes_needed = 0, bytes_free = 0, bytes_total = 0;
    // If later: the first job, in the order of the queue, after whose end it fits. None if no job's end makes room.
    std::optional<OtherJob> after = std::nullopt;
    // In that case, what all their ends leave in use, and how much of it is the store's arrays in the host's memory.
    std::uint64_t bytes_held = 0, bytes_of_arrays = 0;
  };
  std::vector<Fit> devices;
  std::string refusal;  // why none of them will ever do; empty otherwise
  // The host's memory for arrays and results, of which a job does not wait for its part: it fails if that is not free
  // when it begins. A limit of 0 is none.
  std::uint64_t array_bytes_needed = 0, array_bytes_free = 0, array_bytes_limit = 0;
};

struct EngineStatus {
  std::uint32_t pending = 0, running = 0;
  std::uint64_t ended = 0;
  std::uint64_t ran_in_submit = 0;  // jobs, by the thread that submitted them
  bool draining = false;
  nanoseconds idle{};  // since the last job or activity ended; 0 while one goes on
  struct DeviceStatus {
    std::string id;
    std::uint32_t running = 0;     // jobs
    std::uint32_t idle_lanes = 0;  // that wait for one
    double busy_fraction = 0;      // of its lanes, over the last second
    nanoseconds occupied{};        // how long at least one job ran there, all in all
    std::string lost;              // empty while healthy
  };
  std::vector<DeviceStatus> devices;
};

struct JobFilter {
  std::optional<SessionId> session = std::nullopt;
  bool active_only = false;
  bool unfetched_only = false;  // detached ones that ended and left outputs that nobody has fetched
  std::size_t limit = 100;
  std::string before_id = {};           // for the next page: only jobs older than this one
  std::vector<JobState> states = {};    // none: any
  std::string kernel = {}, label = {};  // empty: any
  std::optional<WallTime> submitted_since = std::nullopt;
};

class Engine {
  class Impl;

 public:
  // Returns when the lanes are open. Device ids must be unique, at most 64 devices.
  Engine(EngineOptions options, const Catalog& catalog, DeviceSet devices, ArrayStore& arrays, const Clock& clock);
  // Drains with a timeout of zero if nobody did, and waits for the lanes.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // The job's call, cost and where it fits; the same refusals as Submit. Inputs may be signatures alone.
  absl::StatusOr<CheckReport> Check(const Principal& who, const JobRequest& request);

  // Queues a job, and subscribes `observer` (may be null) before its first event; a tiny job may have ended, and its
  // observer been told so on this thread, when this returns. A request_id seen before returns the first job's id (the
  // observer is told its whole story); with another payload_hash: ALREADY_EXISTS. RESOURCE_EXHAUSTED if the queue is
  // full, or there is no room to keep a result that somebody may come back for.
  absl::StatusOr<JobId> Submit(const Principal& who, JobRequest request, std::shared_ptr<JobObserver> observer,
                               std::uint64_t tag);

  // Tells `observer` every event from `from_sequence` on, those that have been at once, on this thread.
  absl::Status Watch(const Principal& who, const JobId& id, std::uint64_t from_sequence,
                     std::shared_ptr<JobObserver> observer, std::uint64_t tag);
  // Lets `observer` hear of notices before (and after) it has jobs, until Unsubscribe.
  void Subscribe(std::shared_ptr<JobObserver> observer);
  // No more calls to this observer begin after it returns, and none is under way but those that call this: so hold no
  // lock that its calls take. The jobs
  // that were submitted with it, attached and not yet ended, are cancelled after the grace or now, or go on detached;
  // a job's own DisconnectPolicy comes first.
  enum class OnDisconnect { kCancelAfterGrace, kCancelNow, kDetach };
  void Unsubscribe(const std::shared_ptr<JobObserver>& observer, OnDisconnect policy);

  // Acknowledges at once. NOT_FOUND for a job that is not there; ended jobs are left as they are.
  absl::StatusOr<JobSnapshot> Cancel(const Principal& who, const JobId& id);
  absl::StatusOr<JobSnapshot> Get(const Principal& who, const JobId& id) const;
  // The same, for its result: that of a job that has ended counts as fetched, and need not be kept for anybody else.
  absl::StatusOr<JobSnapshot> Fetch(const Principal& who, const JobId& id);
  std::vector<JobSnapshot> List(const Principal& who, const JobFilter& filter) const;  // newest first

  // Marks the session as alive now; `streams` +1 / -1 while it holds a stream. Too many: RESOURCE_EXHAUSTED.
  absl::Status TouchSession(const SessionId& session, int streams, SessionUse use = SessionUse::kHolds);
  // Frees its arrays, cancels its attached jobs. Idle sessions without a stream end like this by themselves.
  void EndSession(const SessionId& session);

  // Something that is no job and yet use: an upload, a download, inputs by path that wait to be opened. While one
  // lives the engine is not idle and Drain waits for it, but for one that has stalled: it has not Moved for kStalled.
  // Must not outlive the engine.
  class Activity {
   public:
    Activity(Activity&& other) noexcept;
    Activity& operator=(Activity&&) = delete;
    ~Activity();
    void Moved() const;

   private:
    friend class Engine;
    explicit Activity(Impl* engine);
    Impl* engine_;
    std::unique_ptr<std::atomic<std::int64_t>> moved_;  // when, by the engine's clock
  };
  static constexpr nanoseconds kStalled = std::chrono::minutes(1);
  Activity BeginActivity();
  // A moment of use, without a duration.
  void NoteUse();

  // No new jobs from now on (UNAVAILABLE, says so), and the time that AwaitDrained has for what goes on.
  void BeginDrain(nanoseconds timeout, const std::string& reason);
  // Returns when no job runs or waits, no activity goes on and clients have what is theirs, or all jobs have been
  // cancelled after the timeout. Clients have it when no observer has anything unsent, the last use is kLinger ago
  // (between two calls of one client nothing else says that there is one), and the large outputs of attached jobs
  // were read or freed; those that nobody comes for are given up when nothing has moved for kFetchWithin. True if every
  // job ended by itself. A lane in an uninterruptible call is not waited for (but the destructor does wait for it: who
  // cannot, leaves by std::_Exit while Status() still has running jobs). Not to be called by an observer.
  bool AwaitDrained();
  static constexpr nanoseconds kLinger = std::chrono::seconds(1);
  static constexpr nanoseconds kFetchWithin = std::chrono::seconds(10);
  bool Drain(nanoseconds timeout, const std::string& reason) {
    BeginDrain(timeout, reason);
    return AwaitDrained();
  }
  // Takes no new jobs from now on if there was no use for `limit`; false, and nothing has changed, if there was. No job
  // that was accepted is lost between the question and its consequence.
  bool DrainIfIdle(nanoseconds limit, const std::string& reason);
  // The drain that has begun ends after `timeout` from now at the latest. Never lengthens it.
  void ShortenDrain(nanoseconds timeout);
  // Tells every observer.
  void Announce(const std::string& text, std::optional<double> seconds_left);

  EngineStatus Status() const;
  // The newest job's, 0 if there was none. Waits for no job and no device.
  std::uint64_t last_number() const;
  // Asks the device how it is, which may take milliseconds, and remembers it for the receipts of jobs that run about
  // now. A device that says that it is lost is lost from then on. For the sampler.
  DeviceMetrics SampleDevice(std::size_t index);
  const std::vector<std::unique_ptr<Device>>& devices() const;
  const std::vector<std::string>& device_notes() const;
  const Catalog& catalog() const;
  ArrayStore& arrays();

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace hotplate::core
