// The threads that take jobs from the scheduler, run them, and say how they ended. A lane's thread sleeps at the
// scheduler's door; a tiny job is run by the thread that submits it, on the lane of a seat that it borrowed: waking a
// thread for a few additions, and being woken by it, takes ten times as long as the additions.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "kernels/base/mutex.h"
#include "kernels/spec/spec.h"
#include "server/core/jobs/jobs.h"
#include "server/core/run/devices.h"
#include "server/core/run/task_runner.h"
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
    const Catalog& catalog;
    const Clock& clock;
    const LogSink& log;
  };
  // Returns when the lanes are open.
  Lanes(Parts parts, std::uint64_t inline_bytes);
  // Waits for what runs.
  ~Lanes();

  // Runs what has begun, on this thread, to its end.
  void Run(const Scheduler::Begun& begun);
  // The device takes no more jobs; those that wait for it alone fail.
  void Lose(std::size_t device, const std::string& why);

 private:
  struct Seat : Scheduler::Seat {
    std::thread thread;
    // Made and ended on its own thread; used by whoever has the seat.
    std::unique_ptr<Lane> lane;
    std::unique_ptr<TaskRunner> runner;
  };
  struct Opening {
    unsigned under_way = 0, open = 0;
  };

  void RunThread(Seat& seat);
  void Opened(Seat& seat, const absl::Status& status);
  void Finish(Seat& seat, Job& job, const Scheduler::Begun& begun, RunResult result);
  // What the run's result, and what happened to the job meanwhile, make of it. The outputs are placed.
  JobEnd EndOf(Job& job, const std::string& device, RunResult& result, std::vector<ArrayId>& owned);
  // Empty: nothing, the device was lost before.
  std::string MarkLost(unsigned device, const std::string& why, std::vector<QueueEntry*>& stranded);
  // Says which arrays had their only copy there.
  void LoseArrays(unsigned device, const std::string& reason);
  void FailStranded(unsigned device, const std::string& reason, const std::vector<QueueEntry*>& stranded);

  const Parts parts_;
  const std::uint64_t inline_bytes_;
  std::unordered_map<const KernelSpec*, std::string> spec_hashes_;
  std::vector<std::unique_ptr<Seat>> seats_;

  Mutex mutex_;
  CondVar opened_;
  std::vector<Opening> opening_ ABSL_GUARDED_BY(mutex_);  // by device
};

}  // namespace hotplate::core
