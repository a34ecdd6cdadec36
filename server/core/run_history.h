// The run times of jobs that have COMPLETED, under this daemon or one before it, for forecasts. Gives each job the kind
// by which its time is looked up.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "server/core/jobs/job.h"
#include "server/core/schedule/run_times.h"
#include "server/core/schedule/start_bias.h"
#include "server/core/types.h"

namespace hotplate::core {

// A run under a daemon before this one, as it was written down.
struct PastRun {
  std::string kernel;
  std::string variant;      // of a kernel: the type of its first output; of a program or a function: its label
  std::string device_name;  // the maker's
  Cost cost;
  nanoseconds time{};  // on the device
  bool cold = false;
};

// Thread-safe.
class RunHistory {
 public:
  // `devices`: their names, by their place in the DeviceSet.
  explicit RunHistory(std::vector<std::string> devices) : devices_(std::move(devices)) {}

  // The kind of a bound job, on the first of the devices that it may run on; none for one that is not bound yet. A
  // program is of the kind of those with its command line, or else with its label, a function of its name's or label's.
  RunTimes::Kind KindOf(const BoundJob& job, const OutsideWork* work, const std::string& label);
  // It has COMPLETED on this device.
  void Learn(const Job& job, unsigned device, const JobReceipt& receipt);
  void Learn(const PastRun& run);
  // It begins to run, after so long a wait.
  void NoteStart(const Job& job, nanoseconds wait);
  const RunTimes& times() const { return times_; }
  const StartBias& bias() const { return bias_; }

 private:
  RunTimes::Kind KindAs(const std::string& variant, const BoundCall& call, unsigned device);

  const std::vector<std::string> devices_;
  RunTimes times_;
  StartBias bias_;
};

}  // namespace hotplate::core
