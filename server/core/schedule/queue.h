// The order of waiting jobs: higher priority first, then the token with the fewest running and then the fewest served
// jobs, then likewise the share of it (a session), then first come. A pure data structure: no threads, no clock; its
// owner guards it.
//
// Entries of one share with the same set of devices and the same home, and of those for lanes or those for workers,
// stand in one line and do not overtake each other, unless one waits for others of its kind. The head of a line may
// find no room on a device; jobs of other lines may then pass it, but not for ever: see Pop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "kernels/spec/spec.h"
#include "server/core/schedule/ranks.h"
#include "server/core/schedule/room.h"
#include "server/core/schedule/run_times.h"

namespace hotplate::core {

// Embedded in queued objects. The queue owns nothing; an entry must leave it before it goes.
struct QueueEntry {
  // Set before Push, unchanged while queued.
  int priority = 0;
  std::uint64_t sequence = 0;               // rises with every entry: first come
  std::uint64_t token = 0;                  // whom it is counted against, as a number
  std::uint64_t share = 0;                  // and which part of that one
  std::uint64_t devices = 0;                // bit i: may run on device i; at least one
  std::uint64_t home = 0;                   // one of these bits: the device that has the inputs; 0: none
  std::uint64_t turn = 0;                   // schedule/turns.h; 0: none
  std::uint32_t workers = 0;                // of a device's places for workers; 0: a lane
  RunTimes::Kind kind = RunTimes::kNoKind;  // whose run times foretell its own
  bool comparable = false;                  // runs of its kind are alike; not so of programs that share a label
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
  bool lacked_room = false;  // it was its turn, and there was none

  // The queue's own.
  QueueEntry* previous = nullptr;
  QueueEntry* next = nullptr;
  std::size_t rank = 0;  // its place in the line's Ranks
  std::uint32_t overtaken = 0;
  bool queued = false;
};

// Entries that fair share will probably let run before another one, if nobody else comes.
struct EntriesAhead {
  std::size_t of_higher_priority = 0, of_own_share = 0, of_others = 0;  // the latter two: of its own priority
  std::size_t all() const { return of_higher_priority + of_own_share + of_others; }
};

// Numbers of entries by their kind. Of kinds beyond the first few those numbers are one.
class KindCounts {
 public:
  static constexpr std::size_t kMostKinds = 32;

  void Add(RunTimes::Kind kind);
  void Take(RunTimes::Kind kind);
  const std::vector<std::pair<RunTimes::Kind, std::uint32_t>>& by_kind() const { return by_kind_; }
  std::uint32_t others() const { return others_; }

 private:
  std::vector<std::pair<RunTimes::Kind, std::uint32_t>> by_kind_;
  std::uint32_t others_ = 0;
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

  // Whether an entry may run now. Entries behind one that waits for its kind may pass it, the first few of its own line
  // too: no room is made by keeping the device from them.
  enum class Fit { kYes, kNo, kWaitsForItsKind };
  static constexpr int kMostLookedBehind = 32;
  // Takes out what `device` should run next, in a lane or in a worker's place, and counts it as running for its share;
  // null if nothing is there for it. With `hold` (others run on the device and will make room) an entry that was
  // overtaken kMaxOvertaken times is waited for: null, although something else would fit.
  QueueEntry* Pop(unsigned device, bool for_worker, bool hold, absl::FunctionRef<Fit(QueueEntry&)> fits);
  // The run of an entry that was popped is over.
  void Finished(const QueueEntry& entry);

  // By priority and arrival alone.
  struct Position {
    int priority;
    std::uint64_t sequence;
    friend bool operator<(const Position& a, const Position& b) {
      return a.priority != b.priority ? a.priority > b.priority : a.sequence < b.sequence;
    }
  };
  // The entry must be queued. These look at lines, not at all entries. They count entries that may run on one of its
  // devices, in lanes or in workers' places as it does.
  EntriesAhead Ahead(const QueueEntry& entry) const;
  // The first of those ahead, in their order; `limit` at most.
  std::vector<const QueueEntry*> FirstAhead(const QueueEntry& entry, std::size_t limit) const;
  // Calls `visit` with numbers that add up to those ahead, about, by their kinds.
  void KindsAhead(const QueueEntry& entry, absl::FunctionRef<void(RunTimes::Kind, double number)> visit) const;
  void ForEach(absl::FunctionRef<void(QueueEntry&)> visit) const;  // which must not change the queue

 private:
  struct Account {
    std::uint32_t waiting = 0, running = 0;
    // Jobs popped, on a scale common to all: one that comes back after a pause starts where the others are.
    std::uint64_t served = 0;
  };
  struct TokenAccount : Account {
    std::uint64_t share_served_now = 0;  // of its share popped last
  };
  struct Share : Account {
    TokenAccount* token = nullptr;
  };
  using ShareId = std::pair<std::uint64_t, std::uint64_t>;  // token, share
  struct Line {
    ShareId share_id;
    std::uint64_t devices, home;
    bool for_worker;
    Share* share;
    QueueEntry* first;
    QueueEntry* last;
    bool passed = false;  // in the Pop under way
    Ranks ranks = {};
    KindCounts kinds = {};

    // Whether its entries may come before this one, if their order says so.
    bool Meets(const QueueEntry& entry) const {
      return for_worker == entry.for_worker() && (devices & entry.devices) != 0;
    }
    bool Holds(const QueueEntry& entry) const {
      return share_id == IdOf(entry) && devices == entry.devices && home == entry.home &&
             for_worker == entry.for_worker();
    }
  };
  struct Level {
    std::vector<Line> lines;  // none is empty
  };

  static ShareId IdOf(const QueueEntry& entry) { return {entry.token, entry.share}; }
  // The first of the line that may run, null if none is found. One before it that has no room is added to `passed`;
  // `held`: it has been passed too often.
  static QueueEntry* FirstThatFits(const Line& line, bool hold, absl::FunctionRef<Fit(QueueEntry&)> fits,
                                   std::vector<QueueEntry*>& passed, bool& held);
  void Unlink(Level& level, std::size_t line, QueueEntry& entry);
  Share& ShareOf(const QueueEntry& entry);  // makes it if need be
  void ForgetIfIdle(const QueueEntry& entry);
  static bool Before(const Line& a, const Line& b);
  // How many of the line came before the entry, which may stand in another.
  static std::size_t EarlierIn(const Line& line, const QueueEntry& entry);
  // Calls `visit` with each line of the entry's own priority that it meets, and how many of it are ahead.
  void EachLineBeside(const QueueEntry& entry, absl::FunctionRef<void(const Line&, std::size_t ahead)> visit) const;

  std::size_t capacity_;
  std::size_t size_ = 0, for_workers_ = 0, with_home_ = 0;
  std::uint64_t served_now_ = 0;  // of the token popped last
  // Never shrinks: priorities are bounded by whoever pushes.
  std::map<int, Level, std::greater<>> levels_;
  std::map<ShareId, Share> shares_;
  std::map<std::uint64_t, TokenAccount> tokens_;
};

}  // namespace hotplate::core
