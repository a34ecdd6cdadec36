// Pythons that have started and imported what scripts ask for, so that a script is forked from one and begins at once
// (python/hotplate_worker.py is their program). Each script has a process of its own and no state of another script.
//
// There is one for each environment: an interpreter, and the variables that it and its packages read as they start. The
// first script in an environment starts anew and has one prepared for the next; nobody ever waits for one. It is
// replaced when scripts have imported packages that it does not have, and when packages were installed or removed.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/descriptor.h"
#include "kernels/base/mutex.h"
#include "server/workers/program.h"
#include "server/workers/running_program.h"
#include "server/workers/supervisor.h"

namespace hotplate::server {

// What a warm Python is for, as text: equal texts, equal interpreters. Or why a script cannot have one.
struct WarmKey {
  std::string text;
  std::string why_not;
};
WarmKey WarmKeyOf(const Program& program);
// The variables by which environments differ, and PATH: the others of a user's are nobody's business.
std::vector<std::string> WhatMatters(const std::vector<std::string>& environment);

class WarmPythons {
 public:
  static constexpr std::size_t kMost = 8;  // environments; the one not used for longest goes
  static constexpr int kMostFailures = 3;  // starts in a row, before an environment is left alone
  static constexpr std::size_t kMostModules = 64;

  struct Files {
    std::string keeper;  // the program hotplate-keeper
    std::string worker;  // hotplate_worker.py
    std::string calls;   // hotplate_calls.py, beside it
  };
  // Those that are installed with this program. NOT_FOUND: one of them is missing.
  static absl::StatusOr<Files> FilesOfThisProgram();

  WarmPythons(Supervisor& supervisor, Files files);
  // Ends them with the scripts forked from them.
  ~WarmPythons();
  WarmPythons(const WarmPythons&) = delete;
  WarmPythons& operator=(const WarmPythons&) = delete;

  struct Started {
    RunningProgram running;
    std::string why_cold;  // empty: it was forked from a warm Python
  };
  // Forks the script if there is a warm Python for it, and else starts it anew. Returns, and refuses, as
  // Supervisor::Start. With a `third` descriptor it is a worker that runs functions. Thread-safe.
  absl::StatusOr<Started> Start(const Program& program, const std::function<bool()>& give_up,
                                Descriptor third = Descriptor());
  // The program of a worker that starts anew.
  const std::string& calls() const { return files_.calls; }

  // For people.
  enum class State { kStarting, kWarm, kEnded, kFailed };  // ended: until the next script
  struct Row {
    std::string interpreter, version;
    State state = State::kStarting;
    std::string why;  // it failed
    pid_t pid = 0;
    std::vector<std::pair<std::string, std::string>> modules;  // imported, each with its version
    std::map<std::string, std::string> left_out;               // a module, and why it is not kept imported
    std::uint64_t scripts = 0;                                 // forked so far
  };
  std::vector<Row> Rows() const;
  // An environment that has been warm, and how to make another such one.
  struct Known {
    std::string interpreter;
    std::vector<std::string> variables, modules;  // variables: NAME=value
    std::map<std::string, std::string> left_out;
  };
  // The one used last is the last.
  std::vector<Known> WhatIsKnown() const;
  // Has these prepared, as those of scripts that came in this order. Does not wait.
  void Prepare(const std::vector<Known>& known);
  // Ends those of all environments, as soon as no script of theirs runs, and forgets their failures and what they had
  // imported. Returns how many there were.
  std::size_t Restart();

 private:
  struct Zygote;
  struct Environment;

  absl::StatusOr<std::optional<RunningProgram>> Fork(const WarmKey& key, const Program& program,
                                                     const std::function<bool()>& give_up, const Descriptor& third,
                                                     std::string& why_cold);
  Environment& EnvironmentFor(const std::string& key, const Program& program) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Stale(const std::string& key, pid_t zygote);

  // The thread that starts, hears and ends them.
  void Serve();
  void Begin(const std::string& key);
  void Hear(const std::string& key, Zygote& zygote) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Obey(const std::string& message, Environment& environment, Zygote& zygote) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Ended(Environment& environment, const Zygote& zygote) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Retire(std::unique_ptr<Zygote>& zygote) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Wake() const;

  Supervisor& supervisor_;
  const Files files_;
  const Descriptor wake_;

  mutable Mutex mutex_;
  std::map<std::string, Environment> environments_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Zygote>> retired_ ABSL_GUARDED_BY(mutex_);  // scripts of theirs may run
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace hotplate::server
