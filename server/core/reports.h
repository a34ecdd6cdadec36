// The engine's answers about itself, and about a job that is not submitted yet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/core/schedule/forecast.h"
#include "server/core/schedule/scheduler.h"
#include "server/core/types.h"

namespace hotplate::core {

struct CheckReport {
  using Fit = Outlook;
  using OtherJob = SeenEntry;
  SharedSpec spec;  // of the call
  BoundCall call;
  Cost cost;
  std::vector<Fit> devices;
  std::string refusal;         // why none of them will ever do; empty otherwise
  std::optional<JobId> known;  // the job that has the request id; nothing else is then said
  // The host's memory for arrays and results, of which a job does not wait for its part: it fails if that is not free
  // when it begins. A limit of 0 is none.
  std::uint64_t array_bytes_needed = 0, array_bytes_free = 0, array_bytes_limit = 0;
};

struct EngineStatus {
  using DeviceStatus = core::DeviceStatus;
  std::uint32_t pending = 0, running = 0;
  std::uint64_t ended = 0;
  std::uint64_t ran_in_submit = 0;  // jobs, by the thread that submitted them
  bool draining = false;
  nanoseconds idle{};  // since the last job or activity ended; 0 while one goes on
  std::vector<DeviceStatus> devices;
};

}  // namespace hotplate::core
