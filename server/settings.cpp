#include "server/settings.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <sys/un.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>

#include "kernels/base/module_name.h"
#include "kernels/base/quantity.h"

namespace hotplate::server {
namespace {

using Complaint = std::optional<std::string>;

std::string UpperSnake(std::string text) {
  for (char& c : text) c = c == '-' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return text;
}

std::string LowerSnake(std::string text) {
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

Setting Row(std::string flag, std::string value, std::string help,
            std::function<Complaint(Config&, const std::string&)> apply, std::function<std::string(const Config&)> show,
            bool quoted = true) {
  Setting row;
  row.variable = "HOTPLATE_" + UpperSnake(flag);
  row.key = LowerSnake(flag);
  row.flag = std::move(flag);
  row.value = std::move(value);
  row.help = std::move(help);
  row.apply = std::move(apply);
  row.show = [show = std::move(show)](const Config& config) { return std::vector<std::string>{show(config)}; };
  row.quoted = quoted;
  return row;
}

template <typename T>
Setting Number(std::string flag, std::string help, T Config::*member, T least, T most) {
  return Row(
      std::move(flag), "N", std::move(help),
      [=](Config& config, const std::string& text) -> Complaint {
        T number{};
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (error != std::errc() || end != text.data() + text.size() || number < least || number > most) {
          return "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
        }
        config.*member = number;
        return std::nullopt;
      },
      [=](const Config& config) { return std::to_string(config.*member); }, false);
}

Setting Bytes(std::string flag, std::string help, std::uint64_t Config::*member, std::uint64_t least,
              std::uint64_t most) {
  return Row(
      std::move(flag), "SIZE", std::move(help),
      [=](Config& config, const std::string& text) -> Complaint {
        const std::optional<std::uint64_t> bytes = ParseBytes(text);
        if (!bytes || *bytes < least || *bytes > most) {
          return "a size from " + ExactBytes(least) + " to " + ExactBytes(most) + ", like 64MiB or 2GB";
        }
        config.*member = *bytes;
        return std::nullopt;
      },
      [=](const Config& config) { return ExactBytes(config.*member); });
}

Setting Duration(std::string flag, std::string help, std::chrono::nanoseconds Config::*member,
                 std::chrono::nanoseconds most, std::chrono::nanoseconds least = {}) {
  return Row(
      std::move(flag), "TIME", std::move(help),
      [=](Config& config, const std::string& text) -> Complaint {
        const std::optional<std::chrono::nanoseconds> duration = ParseDuration(text);
        if (!duration || *duration < least || *duration > most) {
          return "a duration " + (least.count() > 0 ? "from " + ExactDuration(least) + " to " : "up to ") +
                 ExactDuration(most) + " with its unit, like 500ms, 20s, 15m or 2h";
        }
        config.*member = *duration;
        return std::nullopt;
      },
      [=](const Config& config) { return ExactDuration(config.*member); });
}

Setting Switch(std::string flag, std::string help, bool Config::*member) {
  return Row(
      std::move(flag), "", std::move(help),
      [=](Config& config, const std::string& text) -> Complaint {
        if (text == "true" || text == "1") {
          config.*member = true;
        } else if (text == "false" || text == "0") {
          config.*member = false;
        } else {
          return "true or false";
        }
        return std::nullopt;
      },
      [=](const Config& config) { return config.*member ? "true" : "false"; }, false);
}

Setting Text(std::string flag, std::string value, std::string help, std::string Config::*member,
             const std::function<Complaint(const std::string&)>& check) {
  return Row(
      std::move(flag), std::move(value), std::move(help),
      [=](Config& config, const std::string& text) -> Complaint {
        if (Complaint complaint = check(text)) return complaint;
        config.*member = text;
        return std::nullopt;
      },
      [=](const Config& config) { return config.*member; });
}

Complaint CheckName(const std::string& text) {
  const bool fine = !text.empty() && text.size() <= 64 && text.front() != '.' &&
                    std::all_of(text.begin(), text.end(), [](unsigned char c) {
                      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                             c == '_' || c == '.';
                    });
  if (fine) return std::nullopt;
  return "1 to 64 letters, digits, '-', '_' or '.', not starting with '.'";
}

Complaint CheckAddress(const std::string& text) {
  unsigned char bytes[sizeof(in6_addr)];
  if (inet_pton(AF_INET, text.c_str(), bytes) == 1 || inet_pton(AF_INET6, text.c_str(), bytes) == 1)
    return std::nullopt;
  return "a numeric IPv4 or IPv6 address, like 127.0.0.1, 0.0.0.0 or ::1";
}

// Any name that the system may use: it is looked up when the daemon starts.
Complaint CheckInterface(const std::string& text) {
  if (!text.empty() && text.size() < IF_NAMESIZE && text.find('/') == std::string::npos) return std::nullopt;
  return "the name of a network interface, like eth0 or ib0";
}

Complaint CheckPath(const std::string& text) {
  if (!text.empty() && text.find('\0') == std::string::npos) return std::nullopt;
  return "a path";
}

Complaint CheckSocket(const std::string& text) {
  constexpr std::size_t kLongest = sizeof(sockaddr_un::sun_path) - 1;
  if (!text.empty() && text.size() <= kLongest) return std::nullopt;
  return "a path of at most " + std::to_string(kLongest) + " bytes";
}

Complaint CheckLevel(const std::string& text) {
  for (const char* level : {"trace", "debug", "info", "warning", "error", "critical", "off"}) {
    if (text == level) return std::nullopt;
  }
  return "trace, debug, info, warning, error, critical or off";
}

// "gpu7" is 7.
std::optional<int> GpuIndex(const std::string& text) {
  constexpr std::size_t kMostDigits = 4;
  if (!text.starts_with("gpu") || text.size() <= 3 || text.size() > 3 + kMostDigits) return std::nullopt;
  int index = 0;
  const auto [end, error] = std::from_chars(text.data() + 3, text.data() + text.size(), index);
  if (error != std::errc() || end != text.data() + text.size() || index < 0) return std::nullopt;
  return index;
}

// "gpu0,gpu2", with cpu among them or not.
Complaint ReadDevices(Config& config, const std::string& text) {
  bool cpu = false;
  std::vector<int> gpus;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string name = text.substr(begin, end - begin);
    begin = end + 1;
    if (name == "cpu" && !cpu) {
      cpu = true;
      continue;
    }
    const std::optional<int> index = GpuIndex(name);
    if (!index || std::find(gpus.begin(), gpus.end(), *index) != gpus.end()) {
      return "auto, cpu, cuda, or a list like gpu0,gpu2 or cpu,gpu0, each name once";
    }
    gpus.push_back(*index);
  }
  config.device = gpus.empty() ? DeviceChoice::kCpu : cpu ? DeviceChoice::kAuto : DeviceChoice::kCuda;
  config.gpus = std::move(gpus);
  return std::nullopt;
}

std::string ShowDevices(const Config& config) {
  if (config.device == DeviceChoice::kCpu) return "cpu";
  if (config.gpus.empty()) return config.device == DeviceChoice::kAuto ? "auto" : "cuda";
  std::string text = config.device == DeviceChoice::kAuto ? "cpu" : "";
  for (const int index : config.gpus) text += (text.empty() ? "gpu" : ",gpu") + std::to_string(index);
  return text;
}

Setting DeviceRow() {
  return Row(
      "device", "auto|cpu|cuda|gpuN,…", "the devices to use; auto: all that exist; gpu0,gpu2: exactly these",
      [](Config& config, const std::string& text) -> Complaint {
        if (text != "auto" && text != "cuda") return ReadDevices(config, text);
        config.device = text == "auto" ? DeviceChoice::kAuto : DeviceChoice::kCuda;
        config.gpus.clear();
        return std::nullopt;
      },
      ShowDevices);
}

// One of the two, each in place of the other where a weaker source has that.
Setting ListenRow() {
  return Row(
      "listen", "ADDRESS",
      "the numeric address to listen on (default: 127.0.0.1; in a Slurm allocation 0.0.0.0, which is every address of "
      "the node, IPv6 included)",
      [](Config& config, const std::string& text) -> Complaint {
        if (Complaint complaint = CheckAddress(text)) return complaint;
        config.listen = text;
        config.interface.clear();
        return std::nullopt;
      },
      [](const Config& config) { return config.listen; });
}

Setting InterfaceRow() {
  return Row(
      "interface", "NAME", "listen on this network interface's address and publish it",
      [](Config& config, const std::string& text) -> Complaint {
        if (Complaint complaint = CheckInterface(text)) return complaint;
        config.interface = text;
        config.listen.clear();
        return std::nullopt;
      },
      [](const Config& config) { return config.interface; });
}

std::optional<std::uint16_t> Port(const std::string& text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return port;
}

Setting PortRow() {
  return Row(
      "port", "N|N-M", "the port to listen on, or a range to take a free port from; 0: any free port",
      [](Config& config, const std::string& text) -> Complaint {
        const std::size_t dash = text.find('-');
        const std::optional<std::uint16_t> first = Port(text.substr(0, dash));
        const std::optional<std::uint16_t> last = dash == text.npos ? first : Port(text.substr(dash + 1));
        if (!first || !last || *last < *first || (*first == 0 && dash != text.npos)) {
          return "a whole number from 0 to 65535, or a range like 50000-50100";
        }
        config.port = {*first, *last};
        return std::nullopt;
      },
      [](const Config& config) {
        std::string text = std::to_string(config.port.first);
        if (config.port.last != config.port.first) text.append("-").append(std::to_string(config.port.last));
        return text;
      });
}

// In the order of UserCode.
constexpr std::string_view kUserCode[] = {"none", "expressions", "all"};

Setting UserCodeRow() {
  return Row(
      "user-code", "none|expressions|all",
      "what clients may run beside the catalogue: nothing, expressions, or also functions, scripts and programs of "
      "their "
      "own, with the rights of the daemon's owner",
      [](Config& config, const std::string& text) -> Complaint {
        const auto* const known = std::find(std::begin(kUserCode), std::end(kUserCode), text);
        if (known == std::end(kUserCode)) return "none, expressions or all";
        config.user_code = static_cast<UserCode>(known - std::begin(kUserCode));
        return std::nullopt;
      },
      [](const Config& config) { return std::string(kUserCode[static_cast<std::size_t>(config.user_code)]); });
}

Setting PathRoots() {
  Setting row = Row(
      "path-root", "DIR",
      "allow inputs and outputs by path below DIR; repeatable (default: home and the current folder)",
      [](Config& config, const std::string& text) -> Complaint {
        if (Complaint complaint = CheckPath(text)) return complaint;
        config.path_roots.push_back(text);
        return std::nullopt;
      },
      nullptr);
  row.repeatable = true;
  row.clear = [](Config& config) { config.path_roots.clear(); };
  row.show = [](const Config& config) { return config.path_roots; };
  return row;
}

Setting ModuleRow() {
  Setting row = Row(
      "module", "NAME", "load this module (module load, in a login shell) for the interpreter of --python; repeatable",
      [](Config& config, const std::string& text) -> Complaint {
        if (!IsModuleName(text)) return kModuleNameRule;
        config.modules.push_back(text);
        return std::nullopt;
      },
      nullptr);
  row.repeatable = true;
  row.clear = [](Config& config) { config.modules.clear(); };
  row.show = [](const Config& config) { return config.modules; };
  return row;
}

Setting SavedBytesRow() {
  return Row(
      "saved-bytes", "half|SIZE",
      "if saved arrays older than a day take more than this, delete the oldest; 0: never. half: half of their size "
      "plus "
      "the free space (disk and quota); the daemon then also saves at most half of the free space, smallest arrays "
      "first",
      [](Config& config, const std::string& text) -> Complaint {
        const std::optional<std::uint64_t> bytes = text == "half" ? kHalfOfTheRoom : ParseBytes(text);
        if (!bytes) return "half, or a size like 64GiB or 2TB";
        config.saved_bytes = *bytes;
        return std::nullopt;
      },
      [](const Config& config) {
        return config.saved_bytes == kHalfOfTheRoom ? "half" : ExactBytes(config.saved_bytes);
      });
}

std::vector<Setting> MakeSettings() {
  constexpr std::uint64_t kAny = std::numeric_limits<std::int64_t>::max();
  using std::chrono::hours;
  std::vector<Setting> rows = {
      Text("name", "NAME",
           "the daemon's name, by which clients choose it (default: local; in a Slurm allocation CLUSTER-JOBID)",
           &Config::name, CheckName),
      Text("directory", "DIR", "the folder of endpoint records", &Config::directory, CheckPath),
      ListenRow(),
      InterfaceRow(),
      PortRow(),
      Text("unix-socket", "PATH", "listen on this socket instead (mode 0600)", &Config::unix_socket, CheckSocket),
      Switch("insecure", "no TLS; needs --unix-socket, and the token is still required", &Config::insecure),
      DeviceRow(),
      Switch("require-cuda", "refuse to start without a usable CUDA device", &Config::require_cuda),
      Number<int>("lanes", "jobs that run at the same time on each device, beside the CPU's --workers", &Config::lanes,
                  1, 64),
      Number<int>("cpu-devices",
                  "show the CPU as this many devices, which share its threads, workers and memory: to try code for "
                  "several GPUs",
                  &Config::cpu_devices, 1, 16),
      Number<int>(
          "threads",
          "CPU threads for all lanes together, at most what affinity, cgroup and Slurm allow; 0: as many as allowed",
          &Config::threads, 0, 4096),
      Bytes("array-bytes", "memory for all arrays together; 0: three quarters of the memory that jobs may use",
            &Config::array_bytes, 0, kAny),
      Bytes("max-array-bytes", "size of the largest array; 0: as --array-bytes", &Config::max_array_bytes, 0, kAny),
      Number<std::uint32_t>("queue", "jobs that may wait in the queue", &Config::queue, 1, 1'000'000),
      Bytes("inline-bytes", "return outputs up to this size inside a message", &Config::inline_bytes, 0,
            std::uint64_t{64} << 20),
      Bytes("message-bytes", "size of the largest message that is accepted", &Config::message_bytes,
            std::uint64_t{5} << 20, std::uint64_t{1} << 30),
      Bytes("inbox-bytes",
            "memory for incoming messages, and the same again for requests in progress; when it is full, requests over "
            "64KiB are refused; 0: an eighth of the memory that jobs may use, at least 256MiB and four messages",
            &Config::inbox_bytes, 0, kAny),
      Number<std::uint32_t>(
          "max-streams",
          "streams that may be open at the same time; a Run stream without a job makes room for a new one",
          &Config::max_streams, 1, 100'000),
      Number<std::uint32_t>(
          "max-sessions",
          "sessions that may hold something at the same time; calls that look, free, cancel or stop need none",
          &Config::max_sessions, 1, 100'000),
      Duration("result-retention", "how long to keep the result of an ended job", &Config::result_retention,
               hours(8784)),
      Number<std::uint32_t>(
          "retained-jobs",
          "how many ended jobs to keep for that long. Jobs whose result was delivered make room for newer ones. If "
          "there "
          "is still no room, a job that somebody may come back for is refused. Tiny jobs of run are counted separately",
          &Config::retained_jobs, 1, 1'000'000),
      Bytes("retained-bytes", "memory for their results, except results that are arrays", &Config::retained_bytes, 0,
            kAny),
      Duration("longest-lease", "the longest lease of an array", &Config::longest_lease, hours(8784)),
      Duration("session-timeout",
               "end a session after this long without streams and calls; after --disconnect-grace if others need its "
               "place or memory",
               &Config::session_timeout, hours(8784)),
      Duration("disconnect-grace",
               "how long an attached job may outlive its connection, and a session whose place others need",
               &Config::disconnect_grace, hours(24)),
      Duration("drain-timeout", "how long jobs may run and results be fetched after a request to stop",
               &Config::drain_timeout, hours(24)),
      Duration("idle-timeout",
               "stop after this long without a job, an upload or a download; 0: never. Watching (hotplate top, watch, "
               "status), stored arrays and results that nobody has fetched do not count as use",
               &Config::idle_timeout, hours(8784)),
      Duration(
          "keepalive",
          "probe a connection that has been silent this long; close it with its streams if it does not answer within "
          "the same time (20s at most)",
          &Config::keepalive, hours(24), std::chrono::milliseconds(100)),
      Duration("squeue-interval",
               "how often to ask squeue when the allocation ends; 0: never, in which case the daemon relies on "
               "SLURM_JOB_END_TIME and assumes a KillWait of 30s",
               &Config::squeue_interval, hours(24)),
      UserCodeRow(),
      Number<int>("workers",
                  "calls of your functions that run at the same time on the CPU, of one thread each; 0: as many as "
                  "--threads. On a GPU each takes a lane",
                  &Config::workers, 0, 1024),
      Bytes("program-bytes",
            "memory for all processes of one program of yours, which is ended beyond it; 0: as much as jobs may use",
            &Config::program_bytes, 0, kAny),
      Text("python", "PATH",
           "the interpreter of scripts and functions that name none (default: each client's; with --module python3)",
           &Config::python, CheckPath),
      ModuleRow(),
      Text(
          "jit-cache", "DIR",
          "where CuPy, Numba, JAX and CUDA keep what they compile in programs of yours, unless their variables are set "
          "(default: $SCRATCH/hotplate/jit if shared, else /tmp/hotplate-UID/jit)",
          &Config::jit_cache, CheckPath),
      Text("cache", "DIR",
           "keep what is compiled for expressions in DIR/cubins (default: $SCRATCH/hotplate/cache if shared, else "
           "$XDG_CACHE_HOME/hotplate, else ~/.cache/hotplate)",
           &Config::cache, CheckPath),
      PathRoots(),
      Text("scratch", "DIR",
           "save leased arrays below DIR when the daemon ends, as DAEMON/NAME.npy (default: $SCRATCH/hotplate/saved if "
           "shared, else HOTPLATE_DIR/saved)",
           &Config::scratch, CheckPath),
      Duration("saved-age", "delete saved arrays older than this; 0: never", &Config::saved_age, hours(24 * 3650)),
      SavedBytesRow(),
      Text(
          "journal", "on|off|DIR",
          "write detached jobs down in DIR/DAEMON before they are acknowledged, so that they outlive the daemon; their "
          "inputs and results go below --scratch, as DAEMON.jobs. on: in HOTPLATE_DIR/journal. off: they end with the "
          "daemon",
          &Config::journal, CheckPath),
      Text("audit-log", "on|off|FILE",
           "write to FILE, as JSON lines, who did what by which token. on: HOTPLATE_DIR/audit/DAEMON.jsonl",
           &Config::audit_log, CheckPath),
      Bytes("audit-bytes", "size at which the file becomes FILE.1 (replacing the previous one) and a new one begins",
            &Config::audit_bytes, std::uint64_t{1} << 20, kAny),
      Text("log-file", "FILE", "log to this file instead of standard error", &Config::log_file, CheckPath),
      Text("log-level", "LEVEL", "what to log: trace, debug, info, warning, error, critical or off", &Config::log_level,
           CheckLevel),
  };
  for (Setting& row : rows) {
    if (row.flag == "directory") row.variable = "HOTPLATE_DIR";
    // HOTPLATE_PYTHON is for clients: one that starts a daemon means its own scripts by it.
    if (row.flag == "python" || row.flag == "module") row.variable = "HOTPLATE_DAEMON_" + UpperSnake(row.flag);
  }
  return rows;
}

}  // namespace

std::optional<std::string> DefaultOf(const Setting& setting) {
  if (setting.repeatable) return std::nullopt;
  std::string value = setting.show(Config())[0];
  if (value.empty()) return std::nullopt;
  return value;
}

const std::vector<Setting>& Settings() {
  static const std::vector<Setting> settings = MakeSettings();
  return settings;
}

}  // namespace hotplate::server
