// A worker: a Python in a process of its own that runs functions of a user's, one call at a time, and stays for the
// next one with what it has imported and compiled.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/devices/device.h"
#include "server/workers/call_message.h"
#include "server/workers/program_streams.h"
#include "server/workers/running_program.h"
#include "server/workers/warm_pythons.h"

namespace hotplate::server {

// Not thread-safe; destroying it ends the worker.
class CallWorker {
 public:
  // Between the interrupt of a call that is cancelled and the end of its worker.
  static constexpr std::chrono::milliseconds kGrace{200};
  static constexpr std::size_t kMostFunctions = 1000;  // that one worker keeps

  // `python`: its interpreter and environment. `id`: WorkerFacts::id. Refuses as WarmPythons::Start.
  static absl::StatusOr<std::unique_ptr<CallWorker>> Start(std::uint64_t id, WarmPythons& pythons, Program python,
                                                           const std::function<bool()>& give_up);

  // Returns its last answer; what it prints meanwhile goes to `output`. An error: the worker has ended, or is of no
  // more use; CANCELLED: since `control` asked for it.
  absl::StatusOr<CallReply> Call(const CallMessage& message, ProgramStreams& output, TaskControl& control);

  // It is to let go of these objects before its next call, and soon. Does not wait; false: it has yet to be told of
  // some, and is so by the next Call or Forget.
  bool Forget(const std::vector<std::uint64_t>& objects);

  // Whether it can have another call.
  bool usable() const { return usable_; }
  // It knows so many functions that another one had better take its place.
  bool full() const { return functions_.size() >= kMostFunctions; }
  // False: it has ended while it waited. What was printed meanwhile is thrown away: it is of no call.
  bool Refresh();
  // Of one that is not there any more, or is of no use.
  std::string WhyGone();
  bool Knows(const std::string& function_id) const { return functions_.contains(function_id); }
  void Learn(const std::string& function_id) { functions_.insert(function_id); }

  // Of its start, for the receipt of its first call.
  const std::string& why_cold() const { return why_cold_; }
  std::uint64_t id() const { return id_; }
  pid_t pid() const { return running_.pid; }

 private:
  CallWorker(std::uint64_t id, RunningProgram running, Descriptor calls, std::uint64_t memory_bytes,
             std::string why_cold)
      : id_(id),
        running_(std::move(running)),
        calls_(std::move(calls)),
        memory_bytes_(memory_bytes),
        why_cold_(std::move(why_cold)) {}

  // False: it has ended, or was asked to by `control`.
  bool Send(const CallMessage& message, TaskControl& control);
  absl::StatusOr<CallReply> Await(ProgramStreams& output, TaskControl& control);
  // Whether its interrupt has come, which would else hit the next call.
  bool AwaitInterrupted() const;
  absl::Status WhyItEnded(bool cancelled);
  // What is in its pipes now.
  void PassOn(ProgramStreams& output);

  const std::uint64_t id_;
  RunningProgram running_;
  Descriptor calls_;
  const std::uint64_t memory_bytes_;
  const std::string why_cold_;
  std::set<std::string> functions_;
  std::vector<std::uint64_t> to_forget_;
  bool usable_ = true;
};

}  // namespace hotplate::server
