// The Python environments that users name, and the daemon's own: which interpreter, and what its modules change. All of
// it waits for files and programs on the calling thread, which is one of ServiceContext's threads for this.
// Thread-safe.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/mutex.h"
#include "server/environments/environment_files.h"
#include "server/environments/python_facts.h"

namespace hotplate::server {

class NamedEnvironments {
 public:
  // For `module load`, and for an interpreter's answer: a file server may be slow.
  static constexpr std::chrono::minutes kPatience{2};

  using GiveUp = std::function<bool()>;

  // `own`: the daemon's variables; `node`: its host name, for messages.
  NamedEnvironments(Supervisor& supervisor, const std::string& directory, const std::vector<std::string>& own,
                    std::string node);

  // Loads the modules, asks the interpreter, and keeps both. ALREADY_EXISTS; NOT_FOUND: there is no such interpreter;
  // else as LoadModules and AskPython.
  absl::StatusOr<v1::AddEnvironmentResponse> Add(const v1::AddEnvironmentRequest& request, const GiveUp& give_up);
  absl::Status Remove(const std::string& name) const { return files_.Remove(name); }
  // The daemon's own first.
  std::vector<v1::PythonEnvironment> List() const;

  // The daemon's own environment, before there are calls. Refuses as Add.
  absl::Status SetOwn(const std::string& python, const std::vector<std::string>& modules);

  // Makes the named environment's changes to the program's variables, as if it had been activated; without a name the
  // daemon's own, where `or_own` says so and it has one. Returns its interpreter; empty: there was none to be used.
  // NOT_FOUND: there is none of this name.
  absl::StatusOr<std::string> PutInto(Program& program, const std::string& name, bool or_own) const;

  // What the program's interpreter is with the program's variables. It is asked once for equal ones, and again when it
  // or its packages have changed.
  absl::StatusOr<PythonFacts> FactsOf(const Program& program, const GiveUp& give_up);

 private:
  struct Asked {
    PythonFacts facts;
    std::string marks;  // of the interpreter and its folders then
  };
  static constexpr std::size_t kMostAsked = 64;

  absl::StatusOr<v1::EnvironmentFile> Made(const std::string& name, const std::string& python,
                                           const std::vector<std::string>& modules, const GiveUp& give_up) const;
  absl::StatusOr<std::string> FindInterpreter(const std::string& python, const VariableMap& variables) const;
  ProgramToEnd Runner(const GiveUp& give_up) const;

  Supervisor& supervisor_;
  const EnvironmentFiles files_;
  const VariableMap own_variables_;
  const std::string node_;
  std::optional<v1::EnvironmentFile> own_;  // never changes once there are calls

  // Under its name, unless that is taken and not to be replaced. Returns whether it was.
  absl::StatusOr<bool> Keep(const v1::EnvironmentFile& file, bool replace) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(writing_);

  Mutex writing_;  // of files
  Mutex mutex_;
  std::map<std::string, Asked> asked_ ABSL_GUARDED_BY(mutex_);  // by the program's variables that matter
};

}  // namespace hotplate::server
