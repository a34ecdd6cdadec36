// What the journal keeps. A job's request and its end are opaque bytes, made and read by the wire layer; beside them
// are the few columns that recovery, history and pruning need. The journal knows neither the core nor protobuf.
//
// A durable job: JobAccepted, JobStarted, [JobRequeued, JobStarted ...], [JobCancelRequested], JobEnded, [JobFetched],
//                JobReleased
// Any other job: AttachedJob, when it has ended.
// An array:      ArraySaved, again where its lease changes, ArrayGone
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kernels/array/shape.h"
#include "server/journal/sha256.h"

namespace hotplate::journal {

using WallTime = std::chrono::system_clock::time_point;
using std::chrono::nanoseconds;

// In the numbers of core::JobState and hotplate.v1.JobState.
enum class JobState { kPending = 1, kRunning, kCompleted, kFailed, kCancelled, kTimeout };
inline bool IsEnd(JobState state) { return state >= JobState::kCompleted; }

// Whether jobs of this kernel are programs of users: their request is another message, and they print. The SQL of
// prune.h names them, too.
inline bool IsProgram(std::string_view kernel) { return kernel == "exec" || kernel == "python"; }

enum class FileRole { kInput = 1, kResult = 2 };

// A file of a job in the spool.
struct SpooledFile {
  FileRole role = FileRole::kInput;
  std::string name;  // the spec's, of the input or the output
  std::string file;  // relative to the spool's root
  Sha256 sha256;     // of the whole file
  std::uint64_t bytes = 0;
  std::optional<Signature> signature;  // of a .npy file
  bool shared = false;                 // stored by content, for all jobs that have it
  bool synced = true;                  // false: a power cut may take it; its bytes are in the index as well
};

struct JobAccepted {
  std::uint64_t number = 0;
  WallTime time = {};  // sequence 1
  std::string owner = {}, session = {};
  std::string request_key = {};  // of its request id; empty without one
  Sha256 payload_hash = {};      // of the request's bytes, to recognise a repeated request
  std::string kernel = {}, label = {};
  int priority = 0;
  std::optional<nanoseconds> time_limit = {};
  bool may_rerun = true;  // it runs again where its daemon died while it ran
  std::string request = {};
  std::vector<SpooledFile> inputs = {};
};

struct JobStarted {
  std::uint64_t number = 0;
  std::uint64_t sequence = 0;
  WallTime time = {};
  std::string device = {};
};

// It ran when its daemon died, and waits again.
struct JobRequeued {
  std::uint64_t number = 0;
  std::uint64_t sequence = 0;
  WallTime time = {};
  std::string reason = {};
};

// Somebody was told that it is cancelled: it must not run again.
struct JobCancelRequested {
  std::uint64_t number = 0;
  WallTime time = {};
};

struct JobUse {
  nanoseconds device_time{};  // from its start on a device to its end
  nanoseconds gpu_time{};     // the same, if the device is a GPU
  std::optional<double> energy_joules = {};
};

struct JobEnded {
  std::uint64_t number = 0;
  std::uint64_t sequence = 0;
  WallTime time = {};
  JobState state = JobState::kCompleted;
  std::string end = {};      // error and receipt: kept as long as the history
  std::string outputs = {};  // small results, or what a program printed, inline: kept until the job is released
  std::vector<SpooledFile> results = {};
  JobUse use = {};
  bool forget_request = false;    // at once: it has what others must not see, and is of no more use
  std::string request_left = {};  // kept in its place; empty: nothing is
};

// Somebody has got its result, so that it may be deleted.
struct JobFetched {
  std::uint64_t number = 0;
  WallTime time = {};
};

// Its request, outputs and files go; what remains is history.
struct JobReleased {
  std::uint64_t number = 0;
  WallTime time = {};
};

// A whole job that does not outlive the daemon, once it has ended.
struct AttachedJob {
  std::uint64_t number = 0;
  std::string owner = {}, session = {}, kernel = {}, label = {}, device = {};
  JobState state = JobState::kCompleted;
  WallTime accepted = {}, ended = {};
  std::optional<WallTime> started = {};
  std::string end = {};
  JobUse use = {};
};

// A named array with a lease, in a file: the next daemon has it too.
struct ArraySaved {
  std::string file = {};  // its path
  std::string name = {}, owner = {};
  WallTime lease_end = {};
  std::uint64_t number = 0;  // in its id, which it has again; 0: unknown
};

// It was freed, or its lease is over. The file stays, unless it is a guest's.
struct ArrayGone {
  std::string file = {};
};

using Record = std::variant<JobAccepted, JobStarted, JobRequeued, JobCancelRequested, JobEnded, JobFetched, JobReleased,
                            AttachedJob, ArraySaved, ArrayGone>;

// One start of a daemon.
struct DaemonLife {
  std::string generation = {};  // of this start, unique
  std::string name = {};        // the daemon's, as users know it
  std::string node = {};
  std::string slurm_job = {};  // empty outside Slurm
};

}  // namespace hotplate::journal
