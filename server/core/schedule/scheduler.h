// Decides what runs next, and where. It knows what waits (the queue), how much memory each device has left (its room),
// and which seats, of lanes and of workers, have nothing to do; it runs nothing and knows no jobs, only entries with
// needs. The life of an entry:
//   1. Admit keeps a place in the queue for it, or says why not; Withdraw gives the place back.
//   2. Push queues it and calls an idle seat of its kind; or hands it to the caller with a lane's seat, if it may run
//   at
//      once. One whose turn another has waits aside until that one is over.
//   3. Take, which a seat's thread waits in, returns it when the device has room: it runs from now on.
//   4. Finished gives its room back.
// Remove takes an entry out before step 3, from wherever it is: exactly one of Take and Remove gets it.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "kernels/base/mutex.h"
#include "server/core/schedule/forecast.h"
#include "server/core/schedule/queue.h"
#include "server/core/schedule/room.h"
#include "server/core/schedule/side_by_side.h"
#include "server/core/schedule/standing.h"
#include "server/core/schedule/turns.h"
#include "server/core/types.h"

namespace hotplate::core {

struct SchedulerOptions {
  std::size_t queue_capacity = 10'000;
  // An idle lane polls this long before it sleeps.
  nanoseconds spin{0};
  // So many borrowed seats at a time.
  std::uint32_t most_borrowed = 1;
};

// A device as the scheduler sees it; in the order of the DeviceSet, and in that of the bits of QueueEntry::devices.
struct ScheduledDevice {
  std::string id;
  bool host_memory = true;
  bool any_thread = false;  // DeviceInfo::any_thread: its seats can be borrowed
  // Places for workers, which entries take that ask for some (QueueEntry::workers): beside the lanes, which these leave
  // to the others. 0: no entry asks for any.
  std::uint32_t workers = 0;
  Room room;
};

// How the scheduler's devices are.
struct DeviceStatus {
  std::string id;
  std::uint32_t running = 0;       // jobs
  std::uint32_t idle_lanes = 0;    // that wait for one
  std::uint32_t idle_workers = 0;  // workers' seats, likewise
  double busy_fraction = 0;        // of its lanes, over the last second
  nanoseconds occupied{};          // how long at least one job ran there, all in all
  std::string lost;                // empty while healthy
};

// Thread-safe. Calls nothing outside this folder under its lock but the functions that it is given.
class Scheduler {
  struct DeviceState;

 public:
  static constexpr std::size_t kMostWarm = 4096;

  // The place here of a lane, or of a worker's thread, which whoever runs it keeps alive. Its members are the
  // scheduler's.
  class Seat {
   public:
    virtual ~Seat() = default;
    unsigned device() const;

   private:
    friend class Scheduler;
    DeviceState* device_ = nullptr;
    bool for_worker_ = false;
    CondVar wake_;
    std::atomic<bool> called_{false};  // to look at the queue
    // Guarded by the scheduler's lock. A seat is in one of four places: among the device's idle ones, called (its
    // thread is about to look at the queue), with its thread, or borrowed (its thread sleeps on).
    bool asleep_ = false;
    bool borrowed_ = false;
    QueueEntry* current_ = nullptr;
    SteadyTime since_;
    bool shared_ = false;  // another entry ran on the device at the same time
    // Its time tells how its kind does beside itself: its kernel was warm, and nothing of other kinds ran here.
    bool tells_ = false;
    double crowd_since_ = 0;  // DeviceState::crowd when it began
  };

  struct Begun {
    QueueEntry* entry = nullptr;
    Seat* seat = nullptr;
    SteadyTime time;
    bool cold = false;  // the first run of its kernel on this device
  };

  Scheduler(SchedulerOptions options, const Clock& clock, std::vector<ScheduledDevice> devices);

  // Once for each lane, and for each of the device's places for workers, before its thread calls Take.
  void AddSeat(unsigned device, Seat& seat, bool for_worker = false);

  // RESOURCE_EXHAUSTED if the queue is full, where its limit counts; FAILED_PRECONDITION if every device that it may
  // run on is lost (others are taken out of its set).
  enum class Limit { kCounts, kPassed };
  absl::Status Admit(QueueEntry& entry, Limit limit = Limit::kCounts);
  void Withdraw(QueueEntry& entry);
  // With `may_run_here` and a warm kernel, nothing before it in the queue, a seat idle and a borrowed one to spare: the
  // entry has begun, and the caller runs it on the seat's lane. Else no entry is returned.
  Begun Push(QueueEntry& entry, bool may_run_here);
  // False if it is neither waiting nor admitted any more.
  bool Remove(QueueEntry& entry);

  // Waits for an entry; none once the scheduler stops or the device is lost.
  Begun Take(Seat& seat);
  // The run that began on this seat is over. `completed`: the kernel is warm now. True if others ran on the device
  // meanwhile.
  bool Finished(Seat& seat, bool completed);

  // Work that runs takes a turn that nobody has (false: somebody has it), and gives it to the next.
  bool ClaimTurn(std::uint64_t turn);
  void LeaveTurn(std::uint64_t turn);

  // The device takes no more entries. Returns those that cannot run anywhere else: they have left the queue. Nothing if
  // it was lost before.
  std::optional<std::vector<QueueEntry*>> Lose(unsigned device, const std::string& why);
  // Why a lost device was not reopened, told with the reason of its loss. False if that is no news.
  bool StillLost(unsigned device, const std::string& why);
  // The lost device takes entries again, those that come from now on and those that wait for any of several devices.
  // Its kernels are cold. No thread of its lanes' seats may be in Take.
  void Regain(unsigned device, std::uint64_t free_bytes);
  // By device, empty while it is healthy; nothing at all if all are.
  std::vector<std::string> LostDevices() const;
  // Notes the devices' free memory; with `record_busy` also how busy they were. Tries entries again that had no room.
  void Sample(const std::vector<std::uint64_t>& free_bytes, bool record_busy);
  // No more entries are taken; every thread leaves Take.
  void Stop();

  std::uint64_t all_devices() const;  // as QueueEntry::devices
  std::size_t waiting() const;
  std::uint32_t running() const;
  std::uint64_t ran_borrowed() const;
  std::vector<DeviceStatus> devices() const;
  std::size_t Ahead(const QueueEntry& entry) const;  // 0 if it does not wait
  // With the first `limit` entries ahead of it, and those that run on its devices.
  Standing StandingOf(const QueueEntry& entry, std::size_t limit, const DescribeEntry& describe) const;
  // The entries that run, with the time when they began.
  void ForEachRunning(absl::FunctionRef<void(QueueEntry&, SteadyTime since)> visit) const;
  // Bytes that entries wait for on devices in host memory where nothing runs that would free any: the least.
  std::uint64_t HostBytesWanted() const;
  // Where a new entry of this priority would find room, and after whom. `abandoned` bytes of the host's memory are free
  // as soon as they are needed.
  std::vector<Outlook> OutlookFor(absl::Span<const DeviceNeed> needs, int priority, std::uint64_t abandoned,
                                  const DescribeEntry& describe) const;

 private:
  struct DeviceState : ScheduledDevice {
    unsigned index = 0;
    std::vector<Seat*> seats;
    std::size_t lanes = 0;  // of the seats
    // Lanes, and workers' seats. The last to become so is the first to be called: its caches are warm.
    std::vector<Seat*> idle, idle_workers;
    std::uint32_t running = 0;
    std::uint32_t workers_taken = 0, running_workers = 0;

    std::vector<Seat*>& IdleFor(bool for_worker) { return for_worker ? idle_workers : idle; }
    std::string lost, still_lost;  // why; and why it was not reopened
    // Kernels that began here, by KernelSpec::number; true: and one run COMPLETED. At most kMostWarm, since specs come
    // and go: when there are more, all are cold once more.
    std::unordered_map<std::uint64_t, bool> warm;
    nanoseconds busy{};  // of all lanes, runs that are over; a worker's count by its share of the device
    std::deque<std::pair<SteadyTime, nanoseconds>> busy_history;
    nanoseconds occupied{};     // by at least one job, but for the time since...
    SteadyTime occupied_since;  // ... this, while there is one
    // Nanoseconds of all jobs that ran here, together, up to crowd_at.
    double crowd = 0;
    SteadyTime crowd_at;
    SideBySide side_by_side;
  };

  static bool Fits(const DeviceState& device, const QueueEntry& entry);
  // Another device has its inputs, and can begin it now. It is not left there for ever: others may begin it after they
  // have passed it a few times.
  bool IsLeftToHome(const DeviceState& device, const QueueEntry& entry) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Null: it has none, or that one is lost.
  DeviceState* HomeOf(const QueueEntry& entry) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // As many of its kind run there as the measurements allow.
  static bool IsCrowded(const DeviceState& device, const QueueEntry& entry);
  static void CountCrowd(DeviceState& device, SteadyTime now);
  // For SideBySide, as the run ends.
  static void NoteBesideItsKind(const Seat& seat, SteadyTime now, bool completed);
  // Whether something of this kind runs there, which makes room.
  static bool HoldsFor(const DeviceState& device, bool for_worker);
  std::vector<Standing::Device> DevicesFor(bool for_worker) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Adds the limit of each kind that the standing names.
  void AddMostOfKinds(Standing& standing) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static Standing::Waiting WaitingAs(const QueueEntry& entry, const DescribeEntry& describe);
  static std::string WhyLost(const DeviceState& device);  // empty if it is not
  Begun Begin(Seat& seat, QueueEntry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Seat* BorrowedFor(const QueueEntry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // One idle seat of the device, if any, is to look at the queue. Returned if it sleeps: wake it, best without the
  // lock.
  Seat* Call(DeviceState& device, bool for_worker) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CallAndWake(DeviceState& device, bool for_worker) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The least busy device that has an idle seat for it.
  DeviceState* LeastBusy(const QueueEntry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whoever has the turn is done: the next one is queued and returned.
  QueueEntry* PassOn(std::uint64_t turn) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Seat* CallFor(const QueueEntry* entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);  // as Call; null: for nobody
  std::size_t Waiting() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return queue_.size() + turns_.waiting(); }
  nanoseconds BusyUntil(const DeviceState& device, SteadyTime now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // How long the seat has run, as it counts in DeviceState::busy.
  static nanoseconds BusyTime(const Seat& seat, SteadyTime now);

  const SchedulerOptions options_;
  const Clock& clock_;

  mutable Mutex mutex_;
  JobQueue queue_ ABSL_GUARDED_BY(mutex_);
  Turns turns_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<DeviceState>> devices_ ABSL_GUARDED_BY(mutex_);
  std::size_t admitted_ ABSL_GUARDED_BY(mutex_) = 0;  // entries that have a place in the queue and are not there yet
  std::uint32_t running_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint32_t borrowed_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t ran_borrowed_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::atomic<bool> any_lost_{false};  // changed under mutex_
};

}  // namespace hotplate::core
