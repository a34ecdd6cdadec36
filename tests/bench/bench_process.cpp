// bench_process BIN_DIR WORK_DIR PEER_RECORD ROWS: what a user's shell sees. How long commands take from process start
// to exit, how long daemons take to be ready, what they keep in memory, how fast they leave; beside a bare gRPC client
// and server that are started in turns with ours. A daemon must be serving in $HOTPLATE_DIR, and the bare server at
// PEER_RECORD; WORK_DIR holds tiny.npy.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "client/lib/endpoint.h"
#include "tests/bench/paired.h"

extern char** environ;

namespace hotplate::bench {
namespace {

using std::chrono::steady_clock;
using Command = std::vector<std::string>;

constexpr int kCommandRounds = 15;
constexpr int kCommandsPerRound = 5;
constexpr int kStartRounds = 9;
constexpr int kPluginRounds = 75;  // the difference is less than what one start differs from the next
constexpr auto kPatience = std::chrono::seconds(30);

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "bench_process: %s\n", what.c_str());
  std::exit(1);
}

double MillisecondsSince(steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(steady_clock::now() - start).count();
}

// Standard output goes to /dev/null: a terminal or a pipe would be measured too.
pid_t Start(const Command& command) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) Fail("cannot start " + command[0]);
  return pid;
}

void WaitFor(pid_t pid, const Command& command) {
  int status = 0;
  if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    Fail(command[0] + (command.size() > 1 ? " " + command[1] : "") + " ended badly");
  }
}

double MillisecondsToExit(const Command& command) {
  std::vector<double> times;
  for (int i = 0; i < kCommandsPerRound; ++i) {
    const auto start = steady_clock::now();
    WaitFor(Start(command), command);
    times.push_back(MillisecondsSince(start));
  }
  return Median(times);
}

// A server that says that it is ready by writing a file. Ended in the destructor.
class Server {
 public:
  Server(Command command, std::string ready_file) : command_(std::move(command)), ready_file_(std::move(ready_file)) {
    std::remove(ready_file_.c_str());
    const auto start = steady_clock::now();
    pid_ = Start(command_);
    struct stat info;
    while (stat(ready_file_.c_str(), &info) != 0) {
      if (steady_clock::now() - start > kPatience || waitpid(pid_, nullptr, WNOHANG) != 0) {
        kill(pid_, SIGKILL);
        Fail(command_[0] + " did not get ready");
      }
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    milliseconds_to_ready_ = MillisecondsSince(start);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() {
    if (pid_ > 0) Stop();
  }

  double milliseconds_to_ready() const { return milliseconds_to_ready_; }

  double IdleMebibytes() const {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // until the threads of its start are done
    std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
    std::string word;
    while (status >> word) {
      double kibibytes = 0;
      if (word == "VmRSS:" && status >> kibibytes) return kibibytes / 1024;
    }
    Fail("no VmRSS of " + command_[0]);
  }

  // Milliseconds from SIGTERM to the end of the process.
  double Stop() {
    const auto start = steady_clock::now();
    kill(pid_, SIGTERM);
    WaitFor(pid_, command_);
    pid_ = 0;
    return MillisecondsSince(start);
  }

 private:
  Command command_;
  std::string ready_file_;
  pid_t pid_ = 0;
  double milliseconds_to_ready_ = 0;
};

std::optional<std::filesystem::path> APlugin(const std::string& bin) {
  for (const auto& entry : std::filesystem::directory_iterator(bin)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("libhotplate_cuda") && name.ends_with(".so")) return entry.path();
  }
  return std::nullopt;
}

// Starts of a daemon that looks for CUDA devices, from a folder of its own with a plug-in or without. It finds no
// driver, also on a machine that has one: the library is looked for under a name that nobody has.
class Starts {
 public:
  Starts(const std::string& bin, const std::string& folder, const std::optional<std::filesystem::path>& plugin)
      : folder_(folder) {
    std::filesystem::create_directories(folder);
    std::filesystem::copy_file(bin + "/hotplated", folder + "/hotplated");
    if (plugin) std::filesystem::copy_file(*plugin, folder / plugin->filename());
  }

  double Milliseconds() const {
    setenv("HOTPLATE_CUDA_DRIVER_LIBRARY", "libcuda_that_is_not_there.so.1", 1);
    return Server({folder_ + "/hotplated", "--name", "bench-start", "--directory", folder_ + "/starts", "--log-file",
                   folder_ + "/log"},
                  folder_ + "/starts/servers/bench-start.json")
        .milliseconds_to_ready();
  }

 private:
  std::string folder_;
};

// What a command does before it connects: `current` is resolved, and the record checked and read, in a folder with the
// records of many other daemons.
class Discovery {
 public:
  static constexpr int kRecords = 500;

  explicit Discovery(const std::string& folder) : folder_(folder) {
    namespace fs = std::filesystem;
    const auto found = client::FindRecord();
    if (!found.ok()) Fail(std::string(found.status().message()));
    fs::create_directories(folder + "/servers");
    for (const std::string& path : {folder, folder + "/servers"}) fs::permissions(path, fs::perms::owner_all);
    for (int i = 0; i < kRecords; ++i)
      fs::copy_file(found->path, folder + "/servers/lab-" + std::to_string(i) + ".json");
    fs::create_symlink("servers/lab-" + std::to_string(kRecords / 2) + ".json", folder + "/current");
  }

  double Milliseconds() const {
    const char* variable = std::getenv("HOTPLATE_SERVER");
    const std::string server = variable == nullptr ? "" : variable;
    unsetenv("HOTPLATE_SERVER");  // or `current` would not be asked
    std::vector<double> times;
    for (int i = 0; i < kCommandsPerRound; ++i) {
      const auto start = steady_clock::now();
      const auto found = client::FindRecord("", folder_);
      times.push_back(MillisecondsSince(start));
      if (!found.ok()) Fail(std::string(found.status().message()));
    }
    setenv("HOTPLATE_SERVER", server.c_str(), 1);
    return Median(times);
  }

 private:
  std::string folder_;
};

std::vector<Row> Measure(const std::string& bin, const std::string& work, const std::string& peer_record) {
  const Command version = {bin + "/hotplate", "--version"};
  const Command bare_version = {bin + "/bench_peer_client", "--version"};
  const Command one_shot = {bin + "/hotplate",  "run", "vector_add",           work + "/tiny.npy",
                            work + "/tiny.npy", "-o",  work + "/tiny_sum.npy", "--quiet"};
  const Command bare_one_shot = {bin + "/bench_peer_client", peer_record};
  const auto daemon = [&] {
    return Server({bin + "/hotplated", "--name", "bench-start", "--device", "cpu", "--directory", work + "/starts",
                   "--log-file", work + "/bench-start.log"},
                  work + "/starts/servers/bench-start.json");
  };
  const auto bare = [&] { return Server({bin + "/bench_peer_server", work + "/bare-start"}, work + "/bare-start"); };

  std::vector<Row> rows;
  rows.push_back(Compare(
      "hotplate --version, start to exit", "ms", kCommandRounds, [&] { return MillisecondsToExit(version); },
      "bare static client", [&] { return MillisecondsToExit(bare_version); }, ItselfAtMost(3)));
  rows.push_back(Compare(
      "hotplate run of a tiny job, start to exit", "ms", kCommandRounds, [&] { return MillisecondsToExit(one_shot); },
      "bare client, one unary call", [&] { return MillisecondsToExit(bare_one_shot); }, ItselfAtMost(25)));
  const Discovery discovery(work + "/many-records");
  rows.push_back(Compare(
      "of that, finding the daemon: `current` among 500 records", "ms", kCommandRounds,
      [&] { return discovery.Milliseconds(); }, "a whole hotplate run", [&] { return MillisecondsToExit(one_shot); },
      ItselfAtMost(5)));
  rows.push_back(Compare(
      "daemon start to endpoint published", "ms", kStartRounds, [&] { return daemon().milliseconds_to_ready(); },
      "bare server with its key", [&] { return bare().milliseconds_to_ready(); }, AtMost(3)));
  if (const auto plugin = APlugin(bin)) {
    const Starts with(bin, work + "/with-plug-in", *plugin), without(bin, work + "/without-plug-in", {});
    rows.push_back(Compare(
        "daemon start with the CUDA plug-in beside it and no driver", "ms", kPluginRounds,
        [&] { return with.Milliseconds(); }, "without the plug-in", [&] { return without.Milliseconds(); },
        AbovePeerAtMost(2)));
  } else {
    std::printf("  no CUDA plug-in in %s: what it costs at a start is not measured\n", bin.c_str());
  }
  rows.push_back(Compare(
      "daemon, idle resident memory", "MiB", 3, [&] { return daemon().IdleMebibytes(); }, "bare server",
      [&] { return bare().IdleMebibytes(); }, AtMost(2)));
  rows.push_back(Compare(
      "idle daemon, TERM to exit", "ms", 5, [&] { return daemon().Stop(); }, "bare server",
      [&] { return bare().Stop(); }, ItselfAtMost(1000)));
  return rows;
}

}  // namespace
}  // namespace hotplate::bench

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: bench_process BIN_DIR WORK_DIR PEER_RECORD ROWS\n");
    return 2;
  }
  return hotplate::bench::WriteRows(argv[4], hotplate::bench::Measure(argv[1], argv[2], argv[3])) ? 0 : 1;
}
