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
  std::string kernel;  // empty for a job that the asker must not see
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

// Who has a part of a device's memory, and who waits for it before a new entry would. They are taken in the order in
// which they began and in that of the queue: which of two ends first, and what fair share will make of those that
// wait, nobody knows.
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

// What an entry takes of the device's memory, and keeps of it afterwards.
Occupant OccupantOf(const QueueEntry& entry, unsigned device, bool host_memory);
// Without a look at others; with When::kLater, LookAhead tells the rest. `abandoned` bytes count as free.
Outlook OutlookNow(const Room& room, const DeviceNeed& need, std::uint64_t abandoned);
void LookAhead(std::uint64_t bytes, DeviceLine line, Outlook& outlook);

}  // namespace hotplate::core
