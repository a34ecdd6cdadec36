#include "client/cli/allocation/records.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>

#include "client/cli/allocation/private_folder.h"
#include "client/cli/arguments.h"
#include "client/lib/endpoint.h"

namespace hotplate::cli {

namespace fs = std::filesystem;

namespace {

std::string CurrentLink(const Settings& settings) { return settings.directory + "/current"; }

std::string CurrentTarget(const std::string& name) { return "servers/" + name + ".json"; }

// Replaces a link that is there, so that there is one at any time.
absl::Status MakeLink(const std::string& link, const std::string& target) {
  std::error_code error;
  const std::string temporary = link + "." + std::to_string(getpid());
  fs::remove(temporary, error);
  fs::create_symlink(target, temporary, error);
  if (!error) fs::rename(temporary, link, error);
  if (error) return absl::PermissionDeniedError(link + ": " + error.message());
  return absl::OkStatus();
}

absl::Status RemoveFile(const Settings& settings, const std::string& name) {
  std::error_code error;
  if (fs::read_symlink(CurrentLink(settings), error).string() == CurrentTarget(name))
    fs::remove(CurrentLink(settings), error);
  const std::string path = RecordPath(settings, name);
  if (fs::remove(path, error); error) return absl::PermissionDeniedError(path + ": " + error.message());
  return absl::OkStatus();
}

absl::Status NoSuchDaemon(const Settings& settings, const std::string& name) {
  const std::vector<std::string> names = ServerNames(settings);
  return absl::NotFoundError("no daemon \"" + name + "\" in " + settings.directory + "/servers" +
                             (names.empty() ? "; none is there at all" : ". There are: " + Join(names, ", ")));
}

}  // namespace

std::string RecordPath(const Settings& settings, const std::string& name) {
  return name.find('/') != std::string::npos ? name : settings.directory + "/servers/" + name + ".json";
}

std::string LogPath(const Settings& settings, const std::string& name) {
  return settings.directory + "/logs/" + name + ".log";
}

std::optional<std::string> ServerName(const Settings& settings) {
  if (!settings.server.empty())
    return settings.server.find('/') != std::string::npos ? fs::path(settings.server).stem().string() : settings.server;
  std::error_code error;
  const fs::path target = fs::read_symlink(settings.directory + "/current", error);
  if (error) return std::nullopt;
  return target.stem().string();
}

std::vector<std::string> ServerNames(const Settings& settings) { return client::ListRecords(settings.directory); }

std::optional<v1::EndpointRecord> RecordOf(const Settings& settings, const std::string& name) {
  const auto found = client::ReadRecord(RecordPath(settings, name));
  if (!found.ok()) return std::nullopt;
  return found->record;
}

std::optional<v1::EndpointRecord> ChosenRecord(const Settings& settings) {
  const auto found = client::FindRecord(settings.server, settings.directory);
  if (!found.ok()) return std::nullopt;
  return found->record;
}

absl::Status SetCurrent(const Settings& settings, const std::string& name) {
  if (const absl::Status status = client::CheckDirectory(settings.directory); !status.ok()) return status;
  std::error_code error;
  if (!client::IsServerName(name) || !fs::exists(fs::symlink_status(RecordPath(settings, name), error)))
    return NoSuchDaemon(settings, name);
  return MakeLink(CurrentLink(settings), CurrentTarget(name));
}

absl::StatusOr<std::string> LinkRecord(const Settings& settings, const std::string& name, const std::string& record) {
  if (const absl::Status status = MakePrivateFolder(settings.directory + "/servers"); !status.ok()) return status;
  if (const absl::Status status = client::CheckDirectory(settings.directory); !status.ok()) return status;
  const std::string link = RecordPath(settings, name);
  std::error_code error;
  const fs::file_status there = fs::symlink_status(link, error);
  if (fs::exists(there) && fs::equivalent(link, record, error)) return "";
  if (fs::exists(there) && !fs::is_symlink(there)) {
    return absl::AlreadyExistsError("there is a daemon " + name + " already, with its own record " + link);
  }
  const std::string before = fs::is_symlink(there) ? fs::read_symlink(link, error).string() : "";
  if (const absl::Status status = MakeLink(link, record); !status.ok()) return status;
  return before;
}

absl::Status UnlinkRecord(const Settings& settings, const std::string& name) {
  if (const absl::Status status = client::CheckDirectory(settings.directory); !status.ok()) return status;
  std::error_code error;
  const fs::file_status there = fs::symlink_status(RecordPath(settings, name), error);
  if (!client::IsServerName(name) || !fs::exists(there)) return NoSuchDaemon(settings, name);
  if (!fs::is_symlink(there)) {
    return absl::InvalidArgumentError(RecordPath(settings, name) +
                                      " is a daemon's own record, and no link that hotplate "
                                      "join has made");
  }
  return RemoveFile(settings, name);
}

bool LeadsNowhere(const Settings& settings, const std::string& name) {
  std::error_code error;
  const std::string path = RecordPath(settings, name);
  return fs::is_symlink(path, error) && !fs::exists(path, error);
}

absl::Status RemoveRecord(const Settings& settings, const std::string& name, const std::string& generation) {
  if (const auto record = RecordOf(settings, name); !record || record->generation() != generation)
    return absl::OkStatus();
  return RemoveFile(settings, name);
}

Presence PresenceByRecord(const std::string& record_path, const std::string& generation) {
  struct stat info;
  if (stat(record_path.c_str(), &info) != 0) return errno == ENOENT ? Presence::kGone : Presence::kUnknown;
  const auto found = client::ReadRecord(record_path);
  return found.ok() && found->record.generation() != generation ? Presence::kGone : Presence::kUnknown;
}

std::string HostName() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "";
  return name.data();
}

}  // namespace hotplate::cli
