// The order of waiting jobs: higher priority first, then the share (a session) with the fewest running and then the
// fewest served jobs, then first come. A pure data structure: no threads, no clock; its owner guards it.
//
// Entries of one share with the same set of devices and the same home, and of those for lanes or those for workers,
// stand in one line and never overtake each other. The head of a line may find no room on a device; jobs of other lines
// may then pass it, but not for ever: see Pop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "kernels/spec/spec.h"
#include "server/core/schedule/room.h"

namespace hotplate::core {

// Embedded in queued objects. The queue owns nothing; an entry must leave it before it goes.
struct QueueEntry {
  // Set before Push, unchanged while queued.
  int priority = 0;
  std::uint64_t sequence = 0;  // rises with every entry: first come
  std::uint64_t share = 0;     // whom it is counted against
  std::uint64_t devices = 0;   // bit i: may run on device i; at least one
  std::uint64_t home = 0;      // one of these bits: the device that has the inputs; 0: none in particular
  std::uint64_t turn = 0;      // schedule/turns.h; 0: none
  std::uint32_t workers = 0;   // of a device's places for workers; 0: a lane
  bool for_worker() const { return workers > 0; }

  // For the scheduler, unchanged until the entry has run; the kernel for good.
  SharedSpec kernel;
  absl::Span<const DeviceNeed> needs;  // of the devices that it may run on
  std::uint64_t kept_bytes = 0;        // of the host's memory, by its outputs, when it has run
  const DeviceNeed* NeedOf(unsigned device) const {
    for (const DeviceNeed& need : needs) {
      if (need.device == device) return &need;
    }
    return nullptr;
  }
  // The scheduler's own: nowhere here, about to be queued, waiting for its turn, queued.
  enum class Place : std::uint8_t { kOut, kAdmitted, kAside, kQueued };
  Place place = Place::kOut;

  // The queue's own.
  QueueEntry* previous = nullptr;
  QueueEntry* next = nullptr;
  std::uint32_t overtaken = 0;
  bool queued = false;
};

class JobQueue {
 public:
  // So often an entry that finds no room may be passed by others on the device that has none.
  static constexpr std::uint32_t kMaxOvertaken = 64;

  explicit JobQueue(std::size_t capacity) : capacity_(capacity) {}

  std::size_t size() const { return size_; }
  // Entries for workers, or for lanes.
  std::size_t size(bool for_worker) const { return for_worker ? for_workers_ : size_ - for_workers_; }
  std::size_t with_home() const { return with_home_; }
  std::size_t capacity() const { return capacity_; }
  bool full() const { return size_ >= capacity_; }

  // Not when full, and not twice.
  void Push(QueueEntry& entry);
  // Takes out an entry that is queued, from wherever it stands.
  void Remove(QueueEntry& entry);

  // Takes out what `device` should run next, in a lane or in a worker's place, and counts it as running for its share;
  // null if nothing is there for it. `fits` tells whether there is room for an entry. With `hold` (others run on the
  // device and will make room) an entry that was overtaken kMaxOvertaken times is waited for: null, although something
  // smaller would fit.
  QueueEntry* Pop(unsigned device, bool for_worker, bool hold, absl::FunctionRef<bool(const QueueEntry&)> fits);
  // The run of an entry that was popped is over.
  void Finished(std::uint64_t share);

  // Where entries stand by priority and arrival alone; what fair share makes of it is known only as devices ask.
  struct Position {
    int priority;
    std::uint64_t sequence;
    friend bool operator<(const Position& a, const Position& b) {
      return a.priority != b.priority ? a.priority > b.priority : a.sequence < b.sequence;
    }
  };
  std::size_t Ahead(const QueueEntry& entry) const;                // of those for workers, or for lanes
  std::vector<Position> Positions() const;                         // unordered
  void ForEach(absl::FunctionRef<void(QueueEntry&)> visit) const;  // which must not change the queue

 private:
  struct Share {
    std::uint32_t waiting = 0, running = 0;
    // Jobs popped, on a scale common to all: one that comes back after a pause starts where the others are.
    std::uint64_t served = 0;
  };
  struct Line {
    std::uint64_t share_id, devices, home;
    bool for_worker;
    Share* share;
    QueueEntry* first;
    QueueEntry* last;
    bool passed = false;  // in the Pop under way
  };
  struct Level {
    std::vector<Line> lines;  // none is empty
  };

  static bool IsIn(const Line& line, const QueueEntry& entry);
  void Unlink(Level& level, std::size_t line, QueueEntry& entry);
  void ForgetIfIdle(std::uint64_t share_id);
  static bool Before(const Line& a, const Line& b);

  std::size_t capacity_;
  std::size_t size_ = 0, for_workers_ = 0, with_home_ = 0;
  std::uint64_t served_now_ = 0;  // of the share popped last
  // Never shrinks: priorities are bounded by whoever pushes.
  std::map<int, Level, std::greater<>> levels_;
  std::unordered_map<std::uint64_t, Share> shares_;
};

}  // namespace hotplate::core
