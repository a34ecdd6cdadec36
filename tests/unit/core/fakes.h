// A device whose kernels do what the test says, a clock that the test moves, and an observer that remembers.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/core/engine.h"

namespace hotplate::core::testing {

// Waits are bounded by this, generously: a test that meets it has failed.
inline constexpr std::chrono::seconds kPatience{60};

// True as soon as `condition` holds, false if it does not within kPatience.
bool Eventually(const std::function<bool()>& condition);

class FakeClock : public Clock {
 public:
  SteadyTime Now() const override { return SteadyTime(nanoseconds(now_.load())); }
  WallTime WallNow() const override {
    return WallTime(std::chrono::duration_cast<WallTime::duration>(nanoseconds(kEpoch + now_.load())));
  }
  void Advance(nanoseconds by) { now_.fetch_add(by.count()); }

 private:
  static constexpr std::int64_t kEpoch = 1'700'000'000'000'000'000;
  std::atomic<std::int64_t> now_{1'000'000'000};
};

// What happened, in the order in which it did.
class Lines {
 public:
  void Add(std::string line) {
    std::scoped_lock lock(mutex_);
    lines_.push_back(std::move(line));
  }
  // Those since the last call.
  std::vector<std::string> Take() {
    std::scoped_lock lock(mutex_);
    return std::exchange(lines_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

// A door that runs of a kernel wait at.
class Gate {
 public:
  void Open();
  void Enter();                                     // counts, then waits for the door
  bool AwaitEntered(int count);                     // false if it takes too long
  bool EnterUnlessCancelled(TaskControl& control);  // true if it was cancelled while it waited

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int entered_ = 0;
};

using KernelBody = std::function<Report(const Task&, TaskControl&)>;

// Copies input "x" to output "y", as the real ones would.
Report CopyBody(const Task& task, TaskControl& control);
Report EndsWith(const Outcome& outcome);

struct FakeDeviceOptions {
  std::string id = "cpu0";
  std::string backend = "cpu";
  std::string name = "fake";
  std::uint64_t memory_bytes = std::uint64_t{1} << 30;
  std::uint64_t scratch_bytes = 0;
  int lanes = 1;
  bool host_memory = true;
  bool any_thread = false;
  bool lanes_open = true;
  // None: it cannot be reopened.
  std::function<absl::Status()> reopen = nullptr;
};

class FakeDevice : public Device {
 public:
  // A kernel without a body is one that the device does not have.
  FakeDevice(FakeDeviceOptions options, std::map<std::string, KernelBody> bodies);

  const DeviceInfo& info() const override { return info_; }
  absl::StatusOr<MemoryPlan> Plan(const BoundCall& call) const override;
  absl::StatusOr<std::unique_ptr<Lane>> OpenLane() override;
  absl::Status Reopen() override;
  std::uint64_t FreeBytes() const override {
    ++times_asked;
    return free_bytes;
  }
  DeviceMetrics Sample() override;

  std::atomic<bool> lanes_open;
  std::atomic<int> lanes{0};         // open ones
  std::atomic<int> opened_lanes{0};  // all in all
  std::atomic<int> reopenings{0};    // that were tried
  std::atomic<std::uint64_t> free_bytes;
  mutable std::atomic<int> times_asked{0};  // for free_bytes

 private:
  const FakeDeviceOptions options_;
  DeviceInfo info_;
  const std::map<std::string, KernelBody> bodies_;
};

// "copy", "other" (uninterruptible) and "loop" (chunked): y = x, of float32 [n]; an int parameter "seed".
// "two": y and z = x. "sum": y of x and z. "measure": y = x, and never the same bits.
// "silent", "no_work", "less_work", "nan_work", "all_work": as "copy", but without a cost model and a bound of the
// work, and with a bound of 0, -1, NaN and infinity.
const Catalog& FakeCatalog();

class Recorder : public JobObserver {
 public:
  struct Seen {
    JobId id;
    std::uint64_t tag = 0;
    StateChange event;
    std::shared_ptr<const JobEnd> end;
  };

  void OnChange(const JobId& id, std::uint64_t tag, const StateChange& event,
                const std::shared_ptr<const JobEnd>& end) override;
  void OnProgress(const JobId& id, std::uint64_t tag, const JobProgress& progress) override;
  void OnNotice(const std::string& text, std::optional<double> seconds_left) override;
  void OnFlush() override;

  // The end of the job with this tag; null if it takes too long.
  std::shared_ptr<const JobEnd> AwaitEnd(std::uint64_t tag);
  // True once an event with this state came for the tag.
  bool AwaitState(std::uint64_t tag, JobState state);
  bool AwaitEnds(std::size_t count);

  std::vector<Seen> events(std::uint64_t tag) const;
  std::vector<JobState> states(std::uint64_t tag) const;
  std::vector<double> progress() const;
  std::vector<std::string> notices() const;
  std::size_t ends() const;
  // What was done wrong to this observer: calls for one job at the same time, gaps, calls after an end.
  std::vector<std::string> complaints() const;

  // Called in OnChange, after it was recorded; set before the first event.
  std::function<void(const Seen&)> on_event;

 private:
  struct InCall;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Seen> seen_;
  std::vector<double> progress_;
  std::vector<std::string> notices_;
  std::map<std::pair<std::string, std::uint64_t>, std::uint64_t> last_sequence_;
  std::map<std::pair<std::string, std::uint64_t>, bool> ended_;
  std::map<std::pair<std::string, std::uint64_t>, int> in_call_;
  std::size_t ends_ = 0;
  std::vector<std::string> complaints_;
};

std::shared_ptr<const HostBuffer> Floats(const std::vector<float>& values);
std::vector<float> ToFloats(const HostBuffer& buffer);

// A request for `kernel` on these numbers.
JobRequest Request(const std::string& kernel, const std::vector<float>& x = {1, 2, 3});

inline const Principal kAlice{"alice", SessionId("session-a"), Scope::kSubmit};
inline const Principal kAlice2{"alice", SessionId("session-a2"), Scope::kSubmit};
inline const Principal kBob{"bob", SessionId("session-b"), Scope::kSubmit};
inline const Principal kRoot{"root", SessionId("session-r"), Scope::kAdmin};

}  // namespace hotplate::core::testing
