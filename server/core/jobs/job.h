// A job as the engine keeps it, from its submission until it leaves the table.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/core/jobs/binding.h"
#include "server/core/schedule/queue.h"
#include "server/core/types.h"

namespace hotplate::core {

struct Session;
struct Subscription;

// Where an ended job is kept: JobTable.
enum class JobShelf : std::uint8_t { kNone, kPromised, kDelivered, kTiny };

struct Job : QueueEntry, std::enable_shared_from_this<Job> {
  // PENDING, RUNNING, the end: no job has more events.
  static constexpr unsigned kMaxEvents = 3;

  // Unchanged once queued; the lane that runs the job reads them without a lock.
  JobId id;  // the sequence in decimal
  Principal owner;
  std::shared_ptr<Session> session;
  BoundJob bound;           // when the job ends, all but its kernel and parameters goes, under the mutex
  std::string request_key;  // JobTable::RequestKey of its request id; empty without one
  std::uint64_t payload_hash = 0;
  std::string label;
  std::optional<nanoseconds> time_limit;
  DisconnectPolicy on_disconnect = DisconnectPolicy::kDefault;
  bool tiny = false;
  // Somebody may come back for it, so there has to be room to keep it, and its inline results of at most so many bytes.
  bool promised = false;
  std::uint64_t promised_bytes = 0;
  bool keeps_request = false;  // its request id is to be known for the whole retention time
  SteadyTime submit_time;

  // Guarded by the engine's mutex.
  JobState state = JobState::kPending;
  // Those below event_count never change again, so a copy of the count is enough to read them without the lock.
  std::array<JobEvent, kMaxEvents> events;
  unsigned event_count = 0;
  std::shared_ptr<const JobEnd> end;
  std::vector<std::shared_ptr<Subscription>> subscriptions;
  SteadyTime start_time, end_time;
  bool attached = false;
  bool fetched = false;  // its result, by JobTable::Fetched
  bool cancel_requested = false;
  bool time_limit_reached = false;
  bool device_shared = false;
  bool untold = false;  // is in the ticker's list of jobs whose observers may not know the latest
  std::string cancel_reason;
  std::optional<SteadyTime> grace_end;  // an attached job whose client went away
  double told_progress = 0;
  SteadyTime told_progress_time;
  std::uint64_t retained_bytes = 0;   // of inline results
  JobShelf shelf = JobShelf::kNone;   // the table's own
  std::uint64_t end_order = 0;        // of all jobs that ended
  std::vector<ArrayId> owned_arrays;  // outputs that go with the job

  TaskControl control;  // thread-safe
};

}  // namespace hotplate::core
