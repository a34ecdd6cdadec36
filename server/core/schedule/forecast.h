// After whom a device will have room for an entry that does not fit now. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "server/core/schedule/queue.h"
#include "server/core/schedule/room.h"
#include "server/core/types.h"

namespace hotplate::core {

// An entry as whoever asks may see it.
struct SeenEntry {
  JobId id;
  std::string kernel;   // empty for a job that the asker must not see
  double progress = 0;  // 0 to 1, of one that runs, as far as it tells
};
using DescribeEntry = std::function<SeenEntry(const QueueEntry&)>;

// By memory alone; whether a lane is free, too, is another matter.
struct Outlook {
  enum class When { kNow, kLater, kNever };
  std::string device;
  bool host_memory = false;
  When when = When::kNow;
  std::uint64_t bytes_needed = 0, bytes_free = 0, bytes_total = 0;
  // If later: the first job, in the order of the queue, after whose end it fits. None if no job's end makes room.
  std::optional<SeenEntry> after = std::nullopt;
  // In that case, what all their ends leave in use, and how much of it is arrays in the host's memory: the caller's.
  std::uint64_t bytes_held = 0, bytes_of_arrays = 0;
};

// Entries that occupy a device's memory, and entries that wait for it ahead of a new one. The first are assumed to end
// in the order in which they began, and the others to run in the queue's order: nobody knows which of two ends first,
// nor how fair share will reorder the queue.
struct DeviceLine {
  struct Turn {
    SeenEntry who;
    Occupant occupant;
    SteadyTime since;  // if it runs
    JobQueue::Position position;
  };
  Room room;
  std::vector<Turn> running, waiting;
};

// The device memory that an entry takes while it runs, and keeps afterwards.
Occupant OccupantOf(const QueueEntry& entry, unsigned device, bool host_memory);
// Without a look at others; with When::kLater, LookAhead tells the rest. `abandoned` bytes count as free.
Outlook OutlookNow(const Room& room, const DeviceNeed& need, std::uint64_t abandoned);
void LookAhead(std::uint64_t bytes, DeviceLine line, Outlook& outlook);

}  // namespace hotplate::core
