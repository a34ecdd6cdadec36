#include "client/lib/endpoint.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <optional>
#include <utility>

#include "google/protobuf/struct.pb.h"
#include "kernels/array/quoted.h"
#include "proto/codec/json_file.h"

namespace hotplate::client {
namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string Joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

bool IsNumericAddress(const std::string& address) {
  in_addr four;
  in6_addr six;
  return inet_pton(AF_INET, address.c_str(), &four) == 1 || inet_pton(AF_INET6, address.c_str(), &six) == 1;
}

absl::Status CheckEndpoints(const v1::EndpointRecord& record, const std::string& path) {
  if (record.endpoints().empty()) return DamagedRecord(path, "it has no endpoints");
  for (int i = 0; i < record.endpoints_size(); ++i) {
    const v1::Endpoint& endpoint = record.endpoints(i);
    const std::string field = "endpoints[" + std::to_string(i) + "]";
    if (endpoint.address().rfind("unix:", 0) == 0) {
      // sockaddr_un holds 108 bytes with the final zero.
      const std::size_t length = endpoint.address().size() - 5;
      if (length == 0 || length > 107) {
        return DamagedRecord(path, field + ".address \"" + endpoint.address() + "\" is not the path of a socket");
      }
      continue;
    }
    if (!IsNumericAddress(endpoint.address())) {
      return DamagedRecord(path, field + ".address \"" + endpoint.address() + "\" is not a numeric address");
    }
    if (endpoint.port() == 0 || endpoint.port() > 65535) {
      return DamagedRecord(path, field + ".port " + std::to_string(endpoint.port()) + " is not a port");
    }
  }
  return absl::OkStatus();
}

// The daemon refuses TLS handshakes without the client's certificate. Whether the PEM can be parsed shows when it is
// used.
absl::Status CheckCertificates(const v1::EndpointRecord& record, const std::string& path) {
  if (record.certificate_pem().empty()) return absl::OkStatus();
  for (const auto& [field, pem] : {std::pair("client_certificate_pem", &record.client_certificate_pem()),
                                   {"client_key_pem", &record.client_key_pem()}}) {
    if (pem->empty()) return DamagedRecord(path, std::string("it has a certificate_pem, but no ") + field);
  }
  return absl::OkStatus();
}

// A newer schema may have changed a field's type, so that the record does not parse as a whole. Its version still
// decides the message.
std::uint32_t SchemaVersionOf(const std::string& json) {
  google::protobuf::Struct any;
  if (!codec::FromJson(json, any)) return 0;
  const auto found = any.fields().find("schema_version");
  if (found == any.fields().end() || !found->second.has_number_value()) return 0;
  const double number = found->second.number_value();
  return number >= 1 && number <= 4e9 ? static_cast<std::uint32_t>(number) : 0;
}

absl::Status UnknownSchema(const std::string& path, std::uint32_t version) {
  return absl::FailedPreconditionError("record " + path + " has schema_version " + std::to_string(version) +
                                       ", and this client knows up to " + std::to_string(kRecordSchemaVersion) +
                                       ": use a client of the daemon's version");
}

std::string OnlyEnded(const std::string& directory, const std::vector<std::string>& names) {
  std::string clear;
  for (const std::string& name : names) clear += " · hotplate down " + name;
  return "no daemon is running: " + Joined(names) + " have ended and left their records in " + directory +
         "/servers; clear them:" + clear.substr(std::string(" ·").size()) + "; " + kHowToStart;
}

std::string SeveralRun(const std::string& ended, const std::vector<std::string>& living) {
  const std::string choose =
      Joined(living) + "; choose one: hotplate use " + living.front() + " (for one command: --server NAME)";
  if (ended.empty()) return "several daemons run, and none is the current one: " + choose;
  return "the current daemon, " + ended + ", has ended (clear it: hotplate down " + ended +
         "), and several others run: " + choose;
}

// `names`: the daemons that can be chosen.
std::string NoDaemonHere(const std::string& directory, const std::string& wanted,
                         const std::vector<std::string>& names) {
  std::string text = wanted.empty() ? "no daemon is running" : "no daemon \"" + wanted + "\" is running";
  text += " (no record in " + directory + "/servers)";
  if (!names.empty()) {
    return text + ". There are: " + Joined(names) + "; choose one: hotplate use " + names.front();
  }
  return text + "; " + kHowToStart;
}

}  // namespace

absl::StatusOr<std::string> HotplateDirectory(const std::string& override_directory) {
  if (!override_directory.empty()) return override_directory;
  if (std::string directory = Environment("HOTPLATE_DIR"); !directory.empty()) return directory;
  const std::string home = Environment("HOME");
  if (home.empty()) return absl::FailedPreconditionError("neither HOTPLATE_DIR nor HOME is set: set HOTPLATE_DIR");
  return home + "/.hotplate";
}

bool IsServerName(const std::string& name) {
  if (name.empty() || name.size() > 128 || name[0] == '.') return false;
  return std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  });
}

std::vector<std::string> ListRecords(const std::string& directory) {
  std::vector<std::string> names;
  DIR* folder = opendir((directory + "/servers").c_str());
  if (folder == nullptr) return names;
  while (const dirent* entry = readdir(folder)) {
    const std::string file = entry->d_name;
    if (file.size() <= 5 || file.compare(file.size() - 5, 5, ".json") != 0) continue;
    if (std::string name = file.substr(0, file.size() - 5); IsServerName(name)) names.push_back(std::move(name));
  }
  closedir(folder);
  std::sort(names.begin(), names.end());
  return names;
}

absl::StatusOr<FoundRecord> FindRecord(const std::string& server, const std::string& override_directory) {
  const std::string wanted = server.empty() ? Environment("HOTPLATE_SERVER") : server;
  if (wanted.find('/') != std::string::npos) return ReadRecord(wanted);

  const absl::StatusOr<std::string> directory = HotplateDirectory(override_directory);
  if (!directory.ok()) return directory.status();
  struct stat info;
  if (stat(directory->c_str(), &info) != 0) {
    return absl::UnavailableError("no daemon is running (no folder " + *directory + "); " + kHowToStart);
  }
  if (const absl::Status status = CheckDirectory(*directory); !status.ok()) return status;

  if (!wanted.empty()) {
    if (!IsServerName(wanted)) {
      return absl::InvalidArgumentError("\"" + wanted +
                                        "\" is not a daemon's name (letters, digits, '.', '_', '-'), nor a path");
    }
    const std::string path = *directory + "/servers/" + wanted + ".json";
    struct stat link;
    if (lstat(path.c_str(), &link) != 0)
      return absl::UnavailableError(NoDaemonHere(*directory, wanted, ListRecords(*directory)));
    return ReadRecord(path);
  }
  const std::string current = *directory + "/current";
  std::optional<absl::StatusOr<FoundRecord>> chosen;
  if (access(current.c_str(), F_OK) == 0) {
    chosen = ReadRecord(current);
    if (!chosen->ok() || !KnownEnded((*chosen)->record)) return *std::move(chosen);
  }
  const auto path_of = [&](const std::string& name) { return *directory + "/servers/" + name + ".json"; };
  const auto read = [&](const std::string& name) { return ReadRecord(path_of(name)); };
  std::vector<std::string> living, ended, out_of_reach;  // the last: links of `hotplate join` to records that are gone
  for (const std::string& name : ListRecords(*directory)) {
    if (access(path_of(name).c_str(), F_OK) != 0) {
      out_of_reach.push_back(name);
      continue;
    }
    const absl::StatusOr<FoundRecord> found = read(name);
    (found.ok() && KnownEnded(found->record) ? ended : living).push_back(name);
  }
  if (living.size() == 1) return read(living.front());
  if (living.empty()) {
    // Tell the user that the daemon has ended.
    if (chosen) return *std::move(chosen);
    if (ended.size() == 1) return read(ended.front());
    if (!ended.empty()) return absl::UnavailableError(OnlyEnded(*directory, ended));
    if (!out_of_reach.empty()) return read(out_of_reach.front());
    return absl::UnavailableError(NoDaemonHere(*directory, "", {}));
  }
  return absl::UnavailableError(SeveralRun(chosen ? (*chosen)->record.name() : "", living));
}

absl::StatusOr<v1::EndpointRecord> ParseRecord(const std::string& json, const std::string& path) {
  v1::EndpointRecord record;
  const bool parsed = codec::FromJson(json, record);
  const std::uint32_t version = parsed ? record.schema_version() : SchemaVersionOf(json);
  if (version > kRecordSchemaVersion) return UnknownSchema(path, version);
  // Not the parser's own words: they quote the text, and with it the token.
  if (!parsed) return DamagedRecord(path, "it is damaged, or not an endpoint record at all");
  if (version == 0) return DamagedRecord(path, "it has no schema_version");
  if (record.name().empty()) return DamagedRecord(path, "it has no name");
  const std::string& token = record.token();
  if (token.size() != 64 || token.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos) {
    // The token itself is a secret, even a wrong one.
    return DamagedRecord(
        path, "its token is not 64 hexadecimal digits (it has " + std::to_string(token.size()) + " characters)");
  }
  if (const absl::Status status = CheckCertificates(record, path); !status.ok()) return status;
  if (const absl::Status status = CheckEndpoints(record, path); !status.ok()) return status;
  return record;
}

absl::StatusOr<v1::Endpoint> ParseEndpoint(const std::string& text) {
  const auto wrong = [&text](const std::string& why) {
    return absl::InvalidArgumentError(
        "endpoint " + Quoted(text) + ": " + why +
        "; expected ADDRESS:PORT with a numeric address ([…] around IPv6), or localhost:PORT");
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return wrong("it has no port");
  std::string address = text.substr(0, colon);
  const std::string port = text.substr(colon + 1);
  if (address.size() > 2 && address.front() == '[' && address.back() == ']') {
    address = address.substr(1, address.size() - 2);
    if (address.find(':') == std::string::npos) return wrong("what is in [] is not an IPv6 address");
  } else if (address.find(':') != std::string::npos) {
    return wrong("an IPv6 address stands in []");
  }
  if (address == "localhost") address = "127.0.0.1";
  if (!IsNumericAddress(address)) return wrong(Quoted(address) + " is not a numeric address");
  unsigned number = 0;
  const auto parsed = std::from_chars(port.data(), port.data() + port.size(), number);
  if (parsed.ec != std::errc() || parsed.ptr != port.data() + port.size() || number == 0 || number > 65535)
    return wrong(Quoted(port) + " is not a port (1 to 65535)");
  v1::Endpoint endpoint;
  endpoint.set_address(address);
  endpoint.set_port(number);
  return endpoint;
}

absl::Status UseEndpoint(const std::string& text, FoundRecord& found) {
  absl::StatusOr<v1::Endpoint> endpoint = ParseEndpoint(text);
  if (!endpoint.ok()) return endpoint.status();
  if (found.record.certificate_pem().empty()) {
    return absl::UnauthenticatedError("the record " + found.path + " has no certificate, so that whoever listens at " +
                                      text + " cannot be told from daemon \"" + found.record.name() +
                                      "\": nothing was sent to it. Start the daemon without --insecure");
  }
  endpoint->set_node(found.record.endpoints(0).node());
  found.record.clear_endpoints();
  *found.record.add_endpoints() = *std::move(endpoint);
  found.endpoint_given = true;
  return absl::OkStatus();
}

absl::Status DamagedRecord(const std::string& path, const std::string& why) {
  return absl::FailedPreconditionError("record " + path + ": " + why +
                                       ". Restart its daemon, or choose another with HOTPLATE_SERVER");
}

bool ProcessExists(int pid) {
  if (pid <= 0 || (kill(pid, 0) != 0 && errno == ESRCH)) return false;
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(stat, line)) return kill(pid, 0) == 0 || errno != ESRCH;
  const std::size_t name_end = line.rfind(')');  // the state is the field behind the name, which may hold anything
  return name_end == std::string::npos || name_end + 2 >= line.size() ||
         (line[name_end + 2] != 'Z' && line[name_end + 2] != 'X');
}

std::uint64_t PidNamespace() {
  struct stat facts {};
  return stat("/proc/self/ns/pid", &facts) == 0 ? facts.st_ino : 0;
}

bool KnownDead(const v1::EndpointRecord& record) {
  if (record.pid() == 0 || record.endpoints().empty()) return false;
  char host[HOST_NAME_MAX + 1] = {};
  if (gethostname(host, sizeof host - 1) != 0 || record.endpoints(0).node() != host) return false;
  // A container's numbers are its own.
  if (record.pid_namespace() != 0 && record.pid_namespace() != PidNamespace()) return false;
  const int pid = static_cast<int>(record.pid());
  // An owner's record is the user's, and so was its process. A guest's is of a daemon of somebody else.
  const bool anothers = record.guest().empty() && kill(pid, 0) != 0 && errno == EPERM;
  return anothers || !ProcessExists(pid);
}

// Seconds by which the clocks of two nodes may differ.
constexpr std::int64_t kClocksDiffer = 600;

bool KnownEnded(const v1::EndpointRecord& record) {
  return KnownDead(record) || (record.has_allocation_end_time() &&
                               std::time(nullptr) - record.allocation_end_time().seconds() > kClocksDiffer);
}

bool IsWithdrawn(const FoundRecord& found) {
  if (access(found.path.c_str(), F_OK) != 0) return errno == ENOENT;
  const absl::StatusOr<FoundRecord> now = ReadRecord(found.path);
  return now.ok() && now->record.generation() != found.record.generation();
}

absl::Status NobodyAnswers(const FoundRecord& found, const std::string& reason) {
  const v1::EndpointRecord& record = found.record;
  const v1::Endpoint& endpoint = record.endpoints(0);
  std::string where = endpoint.address();
  if (endpoint.port() != 0) where += " port " + std::to_string(endpoint.port());
  std::string text = "daemon \"" + record.name() + "\" (pid " + std::to_string(record.pid());
  if (!endpoint.node().empty()) text += " on " + endpoint.node();
  text += ", " + where + ") does not answer";
  const std::int64_t overdue = std::time(nullptr) - record.allocation_end_time().seconds();
  // In this order: a daemon that ends in order withdraws its record first.
  const bool dead = KnownDead(record), withdrawn = IsWithdrawn(found);
  if (record.has_allocation_end_time() && overdue > 0) {
    text += ": its allocation has ended";
    if (overdue < kClocksDiffer) text += ", if the clocks of its node and of this one agree";
  } else if (withdrawn) {
    text += ": it has ended";
  } else if (dead) {
    text += ": that process is gone and left its record " + found.path + " behind";
  } else if (!reason.empty()) {
    text += ": " + reason;
  }
  if (found.endpoint_given && !withdrawn) {
    return absl::UnavailableError(text + "; that address was given with --endpoint (or HOTPLATE_ENDPOINT): is the " +
                                  "forward to the daemon up? hotplate status --forward prints its command");
  }
  if (!record.guest().empty()) {
    return absl::UnavailableError(text + "; you are its guest " + Quoted(record.guest()) +
                                  ": only its owner can start it again");
  }
  return absl::UnavailableError(text + "; " + kHowToStart);
}

std::string WithoutHowToStart(const std::string& message) {
  return message.substr(0, message.find(std::string("; ") + kHowToStart));
}

}  // namespace hotplate::client
