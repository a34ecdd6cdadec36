// The daemon's configuration: flags, then the environment, then a TOML file, then the defaults here. Immutable once
// read.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"

namespace hotplate::server {

enum class DeviceChoice { kAuto, kCpu, kCuda };

// What clients may run besides the catalogue: nothing, expressions, or programs of their own too.
enum class UserCode { kNone, kExpressions, kAll };

// For saved_bytes: half of the free space and of the space of saved arrays.
inline constexpr std::uint64_t kHalfOfTheRoom = std::numeric_limits<std::uint64_t>::max();

// The first free port of the range; 0: any free port.
struct PortRange {
  std::uint16_t first = 0, last = 0;
  friend bool operator==(const PortRange&, const PortRange&) = default;
};

struct Config {
  std::string name;       // never empty once read
  std::string directory;  // HOTPLATE_DIR
  std::string listen;     // empty: the interface's
  std::string interface;  // listen on its address
  PortRange port;
  std::string unix_socket;  // instead of an address and a port
  bool insecure = false;    // no TLS; the token is still required

  DeviceChoice device = DeviceChoice::kAuto;
  std::vector<int> gpus;  // use only these CUDA devices, all of which must exist; empty: all that work
  bool require_cuda = false;
  int lanes = 2;
  int cpu_devices = 1;
  int threads = 0;  // of all CPU lanes together; 0: the limit by affinity and cgroup
  int workers = 0;  // calls of functions at a time on the CPU; 0: as many as threads

  UserCode user_code = UserCode::kAll;
  std::string python;                // the interpreter of the daemon's own environment; empty: it has none, or python3
  std::vector<std::string> modules;  // that are loaded for it
  std::string jit_cache;             // where packages of programs keep what they have compiled
  std::string cache;                 // the same of expressions
  std::uint64_t program_bytes = 0;   // memory of the processes of one program; 0: as much as jobs may use

  std::uint64_t array_bytes = 0;      // all arrays together; 0: three quarters of the memory that jobs may use
  std::uint64_t max_array_bytes = 0;  // one array; 0: array_bytes
  std::uint32_t queue = 10'000;
  std::uint64_t inline_bytes = std::uint64_t{1} << 20;
  std::uint64_t message_bytes = std::uint64_t{8} << 20;
  std::uint64_t inbox_bytes = 0;  // 0: an eighth of the memory that jobs may use, and not too little
  std::uint32_t max_streams = 256;
  std::uint32_t max_sessions = 256;
  std::uint32_t retained_jobs = 10'000;
  std::uint64_t retained_bytes = std::uint64_t{256} << 20;

  std::chrono::nanoseconds result_retention = std::chrono::hours(1);
  std::chrono::nanoseconds longest_lease = std::chrono::hours(24);
  std::chrono::nanoseconds session_timeout = std::chrono::minutes(10);
  std::chrono::nanoseconds disconnect_grace = std::chrono::seconds(10);
  std::chrono::nanoseconds drain_timeout = std::chrono::seconds(20);
  std::chrono::nanoseconds idle_timeout = std::chrono::minutes(15);  // 0: never
  std::chrono::nanoseconds keepalive = std::chrono::seconds(30);

  std::chrono::nanoseconds squeue_interval = std::chrono::minutes(1);  // 0: never

  std::string scratch;                                               // where arrays under a lease are saved at the end
  std::chrono::nanoseconds saved_age = std::chrono::hours(30 * 24);  // of files from older daemons there; 0: any
  std::uint64_t saved_bytes = kHalfOfTheRoom;                        // bound on older daemons' files; 0: any
  std::string journal = "on";                                        // folder of journals; "off": there is none
  std::vector<std::string> path_roots;                               // inputs by path must lie below one of these
  std::string audit_log = "on";                                      // its file; "off": there is none
  std::uint64_t audit_bytes = std::uint64_t{16} << 20;               // then the file is FILE.1, and a new one begins
  std::string log_file;                                              // empty: standard error
  std::string log_level = "info";
};

// Where settings come from, besides the command line; a seam for tests.
struct Surroundings {
  std::function<std::optional<std::string>(const std::string& variable)> environment;
  std::string home;
  std::string current_folder;
  std::string node;    // this machine's host name
  mode_t umask = 077;  // the owner's, before the daemon set its own

  static Surroundings OfThisProcess();
};

// The command line asked for an answer instead of a daemon: print the text and end with this status.
struct Answer {
  std::string text;
  int exit_status = 0;
};

// INVALID_ARGUMENT names the flag, variable or file:line, and the value that is wrong.
absl::StatusOr<std::variant<Config, Answer>> ReadConfig(const std::vector<std::string>& arguments,
                                                        const Surroundings& surroundings);

// A folder of its own, so that the cache can hold other things later.
inline std::string CubinFolder(const Config& config) { return config.cache + "/cubins"; }

inline constexpr char kNoJournal[] = "off";
inline constexpr char kNoAuditLog[] = "off";
// Where audit logs are, unless somebody says.
inline std::string AuditFolder(const Config& config) { return config.directory + "/audit"; }

// The effective configuration as a TOML file that ReadConfig accepts.
std::string ToToml(const Config& config);

}  // namespace hotplate::server
