// hotplated: reads its configuration and lives (daemon.h).
#include <google/protobuf/stubs/logging.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "kernels/base/standard_descriptors.h"
#include "kernels/spec/spec.h"
#include "server/config.h"
#include "server/control.h"
#include "server/daemon.h"
#include "server/workers/supervisor.h"

namespace {

using namespace hotplate::server;

[[gnu::section(".preinit_array"), gnu::used]] void (*const kBeforeStaticObjects)() = &hotplate::OpenStandardDescriptors;

// Before there are threads and secrets. Returns the umask with which this process was started.
mode_t SecureProcess() {
  const mode_t owners = umask(077);
  signal(SIGCHLD, SIG_DFL);   // a parent may have had it ignored: no program that is run would have an exit code
#ifndef HOTPLATE_SANITIZED    // the leak checker attaches to the process
  prctl(PR_SET_DUMPABLE, 0);  // no core files and no debugger: memory holds the token
#endif
  Control::BlockSignals();
  unsetenv("GRPC_TRACE");  // its traces show every header, the token among them
  return owners;
}

// Each connection takes a descriptor, and so does each input by path until its job ends: raise the limit, within
// reason. A stranger's silent connection also takes 24 KB until it is closed. Child programs inherit the limit, which
// does them no harm: closing every number below it is still quick, and select() only minds open descriptors over 1023.
void RaiseDescriptorLimit() {
  constexpr rlim_t kEnough = 16'384;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= std::min(limit.rlim_max, kEnough)) return;
  limit.rlim_cur = std::min(limit.rlim_max, kEnough);
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Turns off defaults of libraries that a daemon does not want.
void QuietLibraries() {
  // Debian's absl looks for lock cycles at every lock of gRPC: a few microseconds of each call.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  // A client that sends text that is not UTF-8 gets an error; a line on standard error for each is of no help.
  google::protobuf::SetLogHandler(nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  const mode_t owners_umask = SecureProcess();
  QuietLibraries();
  Surroundings surroundings = Surroundings::OfThisProcess();
  surroundings.umask = owners_umask;
  const auto config = ReadConfig(std::vector<std::string>(argv + 1, argv + argc), surroundings);
  if (!config.ok()) {
    std::fprintf(stderr, "hotplated: %s\n", std::string(config.status().message()).c_str());
    return kExitUsage;
  }
  if (const Answer* answer = std::get_if<Answer>(&*config)) {
    std::fputs(answer->text.c_str(), stdout);
    return answer->exit_status;
  }
  if (const absl::Status kernels = hotplate::TryBuiltinCatalog().status(); !kernels.ok()) {
    std::fprintf(stderr, "hotplated: %s\n", std::string(kernels.message()).c_str());
    return kExitCannotStart;
  }
  const Config& settings = std::get<Config>(*config);
  // While there is one thread and nothing to inherit.
  std::unique_ptr<Supervisor> supervisor;
  if (settings.user_code == UserCode::kAll) {
    absl::StatusOr<std::unique_ptr<Supervisor>> forked = Supervisor::Fork();
    if (!forked.ok()) {
      std::fprintf(stderr, "hotplated: %s\n", std::string(forked.status().message()).c_str());
      return kExitCannotStart;
    }
    supervisor = *std::move(forked);
  }
  RaiseDescriptorLimit();
  return RunDaemon(settings, surroundings, supervisor.get());
}
