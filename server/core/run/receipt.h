// The receipt of a job whose run is over.
#pragma once

#include "server/core/jobs/job.h"
#include "server/core/run/task_runner.h"
#include "server/core/types.h"

namespace hotplate::core {

// But for the device's conditions, and whether it was shared. `cold`: the first run of its kernel there.
JobReceipt MakeReceipt(const Job& job, const DeviceNeed& need, const DeviceInfo& device, const RunResult& result,
                       bool cold, SteadyTime start_time, SteadyTime end_time, WallTime now);

}  // namespace hotplate::core
