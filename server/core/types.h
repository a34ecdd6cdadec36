// The core's vocabulary: ids, principals, what a job asks for and what it leaves. No protobuf, no gRPC.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "kernels/array/host_buffer.h"
#include "kernels/array/npy.h"
#include "kernels/array/placed_file.h"
#include "kernels/devices/device.h"
#include "kernels/spec/spec.h"

namespace hotplate::core {

class OutsideWork;
class SweepPlan;
class SweepRun;
struct SweepOutcome;

// A string that cannot be mistaken for another kind of id.
template <typename Tag>
class Id {
 public:
  Id() = default;
  explicit Id(std::string value) : value_(std::move(value)) {}
  const std::string& value() const { return value_; }
  bool empty() const { return value_.empty(); }
  friend bool operator==(const Id&, const Id&) = default;
  friend auto operator<=>(const Id&, const Id&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Id& id) {
    return H::combine(std::move(h), id.value_);
  }

 private:
  std::string value_;
};
using JobId = Id<struct JobTag>;
using ArrayId = Id<struct ArrayTag>;
using SessionId = Id<struct SessionTag>;

using SteadyTime = std::chrono::steady_clock::time_point;
using WallTime = std::chrono::system_clock::time_point;
using std::chrono::nanoseconds;

// Both clocks, so that tests can drive them.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual SteadyTime Now() const { return std::chrono::steady_clock::now(); }
  virtual WallTime WallNow() const { return std::chrono::system_clock::now(); }
};

enum class Scope { kObserve = 0, kSubmit, kCode, kAdmin };  // each includes those before it

// Sessions that own arrays without a lease, with the bytes that their end would free.
using ArrayHolders = std::map<SessionId, std::uint64_t>;

// Whether a call may leave something behind in its session. One that only looks, or tells the daemon what to end, is
// never refused because there are too many sessions.
enum class SessionUse { kLooks, kHolds };

// The caller. Jobs and named arrays are visible to all sessions of a token; what belongs to a session ends with it.
struct Principal {
  std::string token;  // the token's name, never its secret
  SessionId session;
  Scope scope = Scope::kObserve;
  std::uint64_t serial = 0;  // Allowance::serial of the token that the call had; 0: any of the name
};
// The daemon itself, which sees what all tokens have.
inline const Principal& Everybody() {
  static const Principal everybody{"", SessionId(), Scope::kAdmin};
  return everybody;
}

enum class JobState { kPending = 1, kRunning, kCompleted, kFailed, kCancelled, kTimeout };
inline bool IsEnd(JobState state) { return state >= JobState::kCompleted; }

// A .npy file that the daemon wrote itself, and opens when the job runs.
struct StoredArray {
  std::string path;
};

// One of the two.
struct JobRef {
  JobId id;
  std::string request_id = {};
};

// An output of another job, which may not have ended yet.
struct OutputOf {
  JobRef job;
  std::string output;
  // The rest is found out by Dependencies::LookUp: the signature is in JobInput, if it is known.
  std::string device = {};  // that the output will be kept on; empty: any
};

struct JobInput {
  std::string name;
  // For inline data and Check; filled by the engine for the others.
  Signature signature;
  // Nothing: by signature alone, for Check. A string: the id or name of an array. A file: by path, already opened
  // and bounded by whoever made the request.
  std::variant<std::monostate, std::shared_ptr<const HostBuffer>, std::string, std::shared_ptr<const NpyFile>,
               StoredArray, OutputOf>
      source;
};

struct JobOutput {
  std::string name;
  bool keep = false;
  std::string array_name;
  std::optional<nanoseconds> lease;  // none: the session's
  // Not with keep: it is written there, by the daemon. Its place has been looked at.
  std::shared_ptr<PlacedFile> file = {};
  // Not with keep or a file: so many other jobs take it, and nobody else. 0: it is not for them alone.
  std::uint32_t for_jobs = 0;
};

// How to treat an attached job whose client went away. In hotplate.v1.DisconnectPolicy's numbers.
enum class DisconnectPolicy {
  kDefault = 0,  // what Engine::Unsubscribe is told
  kCancel = 1,
  kDetach = 2,
};

inline constexpr int kMaxPriority = 100;  // and its negative
inline constexpr std::size_t kMaxRequestIdBytes = 64;
inline constexpr std::size_t kMaxLabelBytes = 64;
inline constexpr int kMaxAfter = 1024;

inline constexpr char kAnyDevice[] = "any";

struct JobRequest {
  std::string kernel;  // or, with work, the name that it goes by
  // No kernel, but this (run/outside_work.h). It has no parameters, and its outputs are its own to name.
  std::shared_ptr<OutsideWork> work = {};
  // Many tasks in place of one (sweeps/): each gives other values to some of the parameters, or is told other values by
  // `work`. The time limit is each task's.
  std::shared_ptr<const SweepPlan> sweep = {};
  std::string expression = {};  // the text of one; `kernel` is then "expression", and `params` are the text's numbers
  std::map<std::string, ParamValue> params;
  std::vector<JobInput> inputs;
  std::vector<JobOutput> outputs;
  // A device's id; empty: the daemon's GPUs, and where it has none the CPU; kAnyDevice: any that can run it.
  std::string device;
  int precision = HOTPLATE_PRECISION_DEFAULT;
  bool deterministic = false;
  int priority = 0;
  std::optional<nanoseconds> time_limit;
  std::string request_id;
  std::string label;  // the caller's, to find its jobs by
  std::string graph, node;
  std::vector<JobRef> after;  // have to COMPLETE first
  // The request_id guards the retries of one call: when its result was delivered, both may go for newer ones.
  bool forget_when_delivered = false;
  // Tells whether a request_id came back with the same payload; made by the wire layer.
  std::uint64_t payload_hash = 0;
  // Belongs to the client's stream or call: cancelled (after the grace) if that goes away.
  bool attached = false;
  bool durable = false;  // Engine::Accept sets it
  bool may_rerun = true;
  DisconnectPolicy on_disconnect = DisconnectPolicy::kDefault;
  // If the job is tiny: by the thread that submits it. No part of what is asked for.
  bool may_run_here = true;
};

// One output of a job that COMPLETED.
struct JobOutputValue {
  std::string name;
  Signature signature;
  // The data themselves (small), or the array that holds them, or the path of the file that they were written to.
  std::shared_ptr<const HostBuffer> data;
  ArrayId array;
  std::string path = {};
  bool stored = false;    // a daemon before this one wrote them down, and nobody has asked for them yet
  bool for_jobs = false;  // JobOutput::for_jobs
};

// In hotplate.v1.EnergyState's numbers.
enum class EnergyState { kMeasured = 1, kBelowResolution, kNotMeasurable, kOfWholeGpu };

// How the device was while a kernel ran. What could not be found out is absent.
struct DeviceConditions {
  EnergyState energy_state = EnergyState::kNotMeasurable;
  std::optional<double> energy_joules, mean_watts, max_watts, utilisation;
  std::optional<std::uint32_t> sm_clock_mhz;
  std::optional<bool> throttled, ecc_errors, xid_errors;
  std::vector<std::string> throttle_reasons;
  std::optional<std::uint32_t> other_processes;  // the most at one time
};

// The program of a job that has processes of its own, with the children that it waited for.
struct ProcessUse {
  std::optional<int> exit_code, signal;  // one of them, if they are known
  nanoseconds user{}, system{};
  std::uint64_t peak_bytes = 0;  // resident, of the largest of them
  nanoseconds start{};           // until it had begun
  // For a Python program: whether it was forked from a Python that was there, or else why it was started anew.
  std::optional<bool> warm;
  std::string why_cold;
  std::string python_environment;  // its name; or of a Python program without one, the interpreter's path
};

// Made by the engine when the job ends; durations are of the monotonic clock.
struct JobReceipt {
  WallTime seal_time;
  nanoseconds queue{}, total{};
  std::optional<nanoseconds> queue_forecast;  // as it was foretold when the job was queued
  std::optional<nanoseconds> load, host_to_device, compile, kernel, device_to_host, store;
  std::optional<bool> compile_cache_hit;
  bool cold = false;
  std::string device;  // the rest of the device's columns come from its DeviceInfo
  int threads = 0;
  Cost cost;
  std::uint64_t peak_bytes = 0;
  bool device_shared = false;  // another job ran on the device at the same time
  DeviceConditions conditions;
  int precision = HOTPLATE_PRECISION_DEFAULT;
  bool deterministic = false;         // was asked for
  std::optional<std::uint64_t> seed;  // of a kernel that has a parameter of this name
  std::string warning;                // of the kernel, to who asked for the job; or empty
  std::optional<ProcessUse> process;  // of work in processes of its own
};

// The numbered and kept part of a job's story: the last one is the end.
struct StateChange {
  std::uint64_t sequence = 0;  // from 1
  JobState state = JobState::kPending;
  WallTime time;
  std::string device;
};

// The tasks of a sweep.
struct TaskCounts {
  std::uint64_t total = 0, completed = 0, failed = 0, running = 0;
  friend bool operator==(const TaskCounts&, const TaskCounts&) = default;
};

// How far a job that runs is.
struct JobProgress {
  double fraction = 0;
  std::optional<TaskCounts> tasks = {};  // of a sweep
};

struct JobEnd {
  JobState state = JobState::kCompleted;
  absl::Status error;  // OK if COMPLETED
  std::vector<JobOutputValue> outputs;
  std::optional<JobReceipt> receipt;  // none for a job that never began
  // The outputs went to the stream that the job was attached to, and were not kept.
  bool outputs_dropped = false;
  std::shared_ptr<const SweepOutcome> sweep = {};  // of a sweep
  // The receipt as a daemon before this one wrote it down, in place of `receipt`. Opaque to the core.
  std::string written_receipt = {};
};

// A copy of a job's state for those who ask.
struct JobSnapshot {
  JobId id;
  std::string kernel;
  std::string label;
  std::vector<ParamValue> params;  // in the spec's order
  std::vector<std::string> param_names;
  JobState state = JobState::kPending;
  std::string device;
  Principal owner;
  WallTime submit_time;
  std::optional<WallTime> start_time, end_time;
  double progress = 0;
  int priority = 0;
  int queue_position = 0;                     // jobs before it, while pending
  std::optional<nanoseconds> start_forecast;  // its wait, as it was foretold when it was queued
  bool detached = false;
  bool durable = false;  // it outlives the daemon
  bool cancel_requested = false;
  std::string graph, node;
  std::vector<JobId> depends_on, waits_for;  // the latter: those of the former that have not ended
  std::vector<StateChange> changes;
  std::shared_ptr<const JobEnd> end;           // null while it goes on
  std::shared_ptr<OutsideWork> work;           // null: a kernel's job
  std::shared_ptr<const SweepRun> sweep = {};  // of a sweep of this daemon's; one of another has its outcome in `end`
};

enum class ArrayState { kWriting, kReady };

struct ArraySnapshot {
  ArrayId id;
  std::string name;
  Signature signature;
  ArrayState state = ArrayState::kWriting;
  std::uint64_t bytes = 0, bytes_written = 0;
  std::string location = "host";  // or the id of the device that alone has the bytes; empty: they are lost
  std::string lost;               // why; empty: they are there
  WallTime create_time;
  std::optional<WallTime> lease_end;  // none: the session's
  Principal owner;
  std::string device;  // that jobs with it run on, if they do not ask for another; empty: any

  // For messages: its name, or its id.
  const std::string& label() const { return name.empty() ? id.value() : name; }
};

}  // namespace hotplate::core
