// The daemon's assembly, as far as programs and functions of its owner need it.
#include <utility>

#include "kernels/base/run_program.h"
#include "kernels/base/status.h"
#include "server/assembly.h"
#include "server/net/addresses.h"
#include "server/warm_file.h"

namespace hotplate::server {

// Wrong values of --python and --module are refused now, not at the first script after an hour in the queue.
absl::Status Assembly::OpenEnvironments() {
  if (supervisor_ == nullptr) return absl::OkStatus();
  environments_ = std::make_unique<NamedEnvironments>(*supervisor_, config_.directory, OwnVariables(), NodeName());
  if (config_.python.empty() && config_.modules.empty()) return absl::OkStatus();
  const absl::Status status = environments_->SetOwn(config_.python, config_.modules);
  if (!status.ok()) {
    return absl::Status(status.code(), ToAbsl("the environment of --python and --module cannot be had: " +
                                              std::string(status.message())));
  }
  const v1::PythonEnvironment own = environments_->List().front();
  log_->info("scripts and functions that name no environment: {}, Python {}", own.python(), own.python_version());
  for (const std::string& note : own.notes()) log_->warn("{}: {}", own.python(), note);
  return absl::OkStatus();
}

JitCaches Assembly::OpenJitCaches() const {
  if (supervisor_ == nullptr) return {};
  if (const absl::Status made = JitCaches::MakeFolder(config_.jit_cache); !made.ok()) {
    log_->warn("packages keep what they compile where they do by default: {} (--jit-cache names another place)",
               std::string(made.message()));
    return {};
  }
  return JitCaches(config_.jit_cache, OwnVariables());
}

void Assembly::LeaveWarmPythons() {
  if (pythons_ == nullptr) return;
  if (const absl::Status left = LeaveWarm(config_.directory, config_.name, *pythons_); !left.ok())
    log_->warn("the next daemon starts without warm Pythons: {}", std::string(left.message()));
}

void Assembly::OpenPythons() {
  if (supervisor_ == nullptr) {
    TakeOverWarm(config_.directory, config_.name, nullptr);
    return;
  }
  const absl::StatusOr<WarmPythons::Files> files = WarmPythons::FilesOfThisProgram();
  if (files.ok()) {
    pythons_ = std::make_unique<WarmPythons>(*supervisor_, *files);
    if (const std::size_t count = TakeOverWarm(config_.directory, config_.name, pythons_.get()); count > 0) {
      log_->info("{} Python environments of the daemon before are being prepared", count);
    }
  } else {
    log_->warn("each Python script starts anew, since no Python can be kept warm: {}",
               std::string(files.status().message()));
  }
}

}  // namespace hotplate::server
