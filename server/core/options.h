// A daemon's settings for its core.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "server/core/allowances.h"
#include "server/core/jobs/job_log.h"
#include "server/core/jobs/job_numbers.h"
#include "server/core/log_sink.h"
#include "server/core/run/reopening.h"
#include "server/core/types.h"

namespace hotplate::core {

struct EngineOptions {
  std::uint32_t queued_jobs = 10'000;
  // Outputs of a job that are together not larger, nor than retained_bytes, come back inline.
  std::uint64_t inline_bytes = 1 << 20;
  nanoseconds result_retention = std::chrono::hours(1);
  // Ended jobs, and inline results of them together, that are kept for that time. Nobody has fetched some of them: a
  // job that there would be no room to keep is refused. Those whose result was delivered give way, the oldest first;
  // tiny attached ones are counted apart (jobs/job_table.h).
  std::uint32_t retained_jobs = 10'000;
  std::uint64_t retained_bytes = std::uint64_t{256} << 20;
  std::uint32_t max_sessions = 1000;
  std::uint32_t max_streams = 1000;  // open ones, of all sessions together
  // A session without a stream, an active job or a sign of life for this long is ended.
  nanoseconds session_timeout = std::chrono::minutes(10);
  // How long an attached job outlives its stream; and how long the place and the memory of a session without a stream,
  // an active job or a call are not given to others that need them.
  nanoseconds disconnect_grace = std::chrono::seconds(10);
  // The end of the allocation, refreshed by the daemon; a time limit beyond it is refused, and so is one that reaches
  // into the last `end_margin` before it, in which the daemon ends and jobs are cancelled.
  std::function<std::optional<WallTime>()> allocation_end;
  nanoseconds end_margin{0};
  // Whether another daemon follows on this one, which durable jobs may be left to.
  std::function<bool()> has_successor;
  // An idle lane polls this long before it sleeps: saves the wake-up where cores are to spare, costs a core meanwhile.
  nanoseconds lane_spin{0};
  // On devices in the host's memory, processor threads for work that is not the catalogue's and says how many it needs
  // (OutsideWork::Place::cpus); 0: it takes their lanes.
  std::uint32_t workers = 0;
  // So many threads at a time may run tiny jobs inside Submit; 0: a quarter of the processor's, 1 to 8. Submit is
  // called by threads that have connections to serve: gRPC has one to every two processors, 2 to 16.
  std::uint32_t threads_in_submit = 0;
  // The pauses between tries to reopen a device that was lost.
  ReopenOptions reopen;
  // Where the numbers of jobs come from (jobs/job_numbers.h); by themselves they count from 1.
  NumberBlock first_numbers;
  JobNumbers::Claim claim_numbers;
  // Where the events of jobs are written down; without it they are in memory alone.
  std::shared_ptr<JobLog> job_log;
  // Bounds of tokens, which the array store has too; null: nobody has any.
  std::shared_ptr<const Allowances> allowances;
  // Called with no lock held, from any thread; messages below `log_level` are not even made.
  std::function<void(LogLevel, const std::string&)> log;
  LogLevel log_level = LogLevel::kInfo;
};

}  // namespace hotplate::core
