// The threads that take jobs from the scheduler, run them, and say how they ended: one for each lane, and one for each
// place of a worker, which runs work of outside alone and has no lane. A lane's thread sleeps at the
// scheduler's door; a tiny job is run by the thread that submits it, on the lane of a seat that it borrowed: waking a
// thread for a few additions, and being woken by it, takes ten times as long as the additions.
//
// The lanes of a device open in rounds: at the start, and each time that the lost device was reopened. Each thread of
// the device opens its lane and says whether that worked; the last one to say so settles what becomes of the device.
// When the device is lost, the threads close their lanes and wait for the next round. The first lane's thread makes it:
// with pauses, it asks the device to reopen. So no device waits for another one's driver.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "kernels/base/mutex.h"
#include "server/core/jobs/jobs.h"
#include "server/core/run/devices.h"
#include "server/core/run/reopening.h"
#include "server/core/run/task_runner.h"
#include "server/core/run_history.h"
#include "server/core/schedule/scheduler.h"
#include "server/core/schedule/sessions.h"

namespace hotplate::core {

class Lanes {
 public:
  struct Parts {
    Devices& devices;
    Scheduler& scheduler;
    Jobs& jobs;
    const Sessions& sessions;
    ArrayStore& arrays;
    RunHistory& history;
    const Clock& clock;
    const LogSink& log;
  };
  // Returns when the lanes are open.
  Lanes(Parts parts, std::uint64_t inline_bytes, ReopenOptions reopen);
  // Waits for what runs, and for a device that is being reopened.
  ~Lanes();

  // Runs what has begun, on this thread, to its end.
  void Run(const Scheduler::Begun& begun);
  // The device takes no more jobs until it is reopened; those that wait for it alone fail.
  void Lose(std::size_t device, const std::string& why);

 private:
  struct Seat : Scheduler::Seat {
    bool first = false;  // of its device
    bool for_worker = false;
    std::thread thread;
    // Made and ended on its own thread; used by whoever has the seat. A worker's has no lane.
    std::unique_ptr<Lane> lane;
    std::unique_ptr<TaskRunner> runner;
  };
  struct DeviceLanes {
    unsigned round = 1, settled = 0;  // the newest, and the last one that is settled
    unsigned opening = 0;             // threads that have yet to say whether their lane opened
    unsigned open = 0;                // lanes
    unsigned tries = 0;               // to reopen the device, since it last worked for long
    std::optional<std::chrono::steady_clock::time_point> ready_since;  // by the real clock, as the pauses
  };

  void RunThread(Seat& seat);
  // True if the seat has its lane, and the round is settled or the lanes stop.
  bool OpenLane(Seat& seat, unsigned round);
  void CloseLane(Seat& seat);
  // The lanes have opened, but for those that did not; the last of them said `status`.
  void Settle(unsigned device, unsigned round, const absl::Status& status);
  // Waits for the round after this one, or makes it. 0: the lanes stop.
  unsigned NextRound(const Seat& seat, unsigned round);
  unsigned Reopen(unsigned device);
  void TellStillLost(unsigned device, const std::string& why, bool hopeless);
  void Finish(Seat& seat, Job& job, const Scheduler::Begun& begun, RunResult result);
  // Decides the job's end from the run's result and the events during the run. Places the outputs.
  JobEnd EndOf(Job& job, const std::string& device, RunResult& result, std::vector<ArrayId>& owned);
  // Empty: nothing, the device was lost before.
  std::string MarkLost(unsigned device, const std::string& why, std::vector<QueueEntry*>& stranded);
  // The lost device's lanes are closed: jobs that still ran on it may have left outputs there.
  void LoseRest(unsigned device);
  // Says which arrays had their only copy there.
  void NameLost(const std::string& device, const std::vector<ArraySnapshot>& gone);
  void FailStranded(unsigned device, const std::string& reason, const std::vector<QueueEntry*>& stranded);

  const Parts parts_;
  const std::uint64_t inline_bytes_;
  const ReopenOptions reopen_;
  std::vector<std::unique_ptr<Seat>> seats_;

  Mutex mutex_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<DeviceLanes> lanes_ ABSL_GUARDED_BY(mutex_);  // by device
};

}  // namespace hotplate::core
