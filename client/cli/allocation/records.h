// The records below HOTPLATE_DIR, read for questions about names, logs and process ids. Connecting, with its checks, is
// the client library's work.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/settings.h"
#include "client/lib/endpoint.h"
#include "hotplate/v1/endpoint.pb.h"

namespace hotplate::cli {

std::string RecordPath(const Settings& settings, const std::string& name);
std::string LogPath(const Settings& settings, const std::string& name);

// The name that the settings lead to: the one asked for, else the one that `current` points at; nothing if there is
// neither.
std::optional<std::string> ServerName(const Settings& settings);

// All names that have a record, sorted.
std::vector<std::string> ServerNames(const Settings& settings);

// Nothing if there is no record, it is unsafe, or it cannot be parsed: connecting says which.
std::optional<v1::EndpointRecord> RecordOf(const Settings& settings, const std::string& name);

// The record that commands connect by, as client::FindRecord chooses it; nothing as with RecordOf, or if there are
// several and none is chosen. Without a name, it may be another than that of ServerName: a living daemon's instead of
// the current one's, or the only one.
std::optional<v1::EndpointRecord> ChosenRecord(const Settings& settings);

// Makes `current` point at this record. NOT_FOUND names the existing records. PERMISSION_DENIED: others could have put
// the record there.
absl::Status SetCurrent(const Settings& settings, const std::string& name);

// Makes servers/NAME.json a link to a guest's record, an absolute path; the folders are made as needed. Returns where
// the link led before, if to another file: empty if it is new. ALREADY_EXISTS: the name is another record's that is no
// link.
absl::StatusOr<std::string> LinkRecord(const Settings& settings, const std::string& name, const std::string& record);

// Removes such a link, and `current` with it if that points there. NOT_FOUND: there is none. INVALID_ARGUMENT: it is no
// link, but a daemon's own record.
absl::Status UnlinkRecord(const Settings& settings, const std::string& name);

// True for such a link whose record is not there, or cannot be reached.
bool LeadsNowhere(const Settings& settings, const std::string& name);

// Removes the record of `name` if it is still of this generation, and `current` with it if that points there.
absl::Status RemoveRecord(const Settings& settings, const std::string& name, const std::string& generation);

using client::ProcessExists;

// Whether a daemon that does not answer is there, judged by its record alone: gone once the record is removed or
// replaced by a successor's; else unknown.
enum class Presence { kThere, kGone, kUnknown };
Presence PresenceByRecord(const std::string& record_path, const std::string& generation);

// This host's name, to tell whether a record's process could be seen from here.
std::string HostName();

}  // namespace hotplate::cli
