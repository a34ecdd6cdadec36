// The endpoint record: its place, its permissions, its content. The record holds the token and a key, so a record that
// others could read or change is refused before its content is used. A guest's record belongs to the daemon's owner and
// is read through a link in the guest's own folder: it has rules of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hotplate/v1/endpoint.pb.h"

namespace hotplate::client {

// The newest schema that this reader knows.
inline constexpr std::uint32_t kRecordSchemaVersion = 1;

// Ends messages about a daemon that is not there.
inline constexpr char kHowToStart[] = "start one: hotplate up (on this machine: hotplate up --local)";

struct FoundRecord {
  v1::EndpointRecord record;
  std::string path;  // path of the record itself, not of a link to it
  // The address was given by the user instead of the record, most likely the near end of a port forward.
  bool endpoint_given = false;
};

// `override_directory`, else HOTPLATE_DIR, else ~/.hotplate. FAILED_PRECONDITION: there is no home either.
absl::StatusOr<std::string> HotplateDirectory(const std::string& override_directory = "");

// PERMISSION_DENIED: the Hotplate directory or its `servers` belongs to another user, or others may write to it and so
// could replace a record. OK if they do not exist.
absl::Status CheckDirectory(const std::string& directory);

// The record of `server` (a daemon's name, or a path with a slash in it), else of HOTPLATE_SERVER, else of `current`,
// else the only one. Without a name, a daemon known to have ended is not chosen while another one lives, nor one of
// several that ended and are not current. UNAVAILABLE: there is none; the message says how to start a daemon. Otherwise
// as ReadRecord.
absl::StatusOr<FoundRecord> FindRecord(const std::string& server = "", const std::string& override_directory = "");

// PERMISSION_DENIED: others can read or write the record or its folder, or it belongs to another user; the message has
// the chmod command. A guest's record may belong to anybody, and its group bits may let somebody read it, since the
// mask of an access control list shows there; but nobody else may change it, or put another in its place by a folder or
// a link on the way (kernels/array/replaceable.h).
// FAILED_PRECONDITION: the content is not a record of a known schema. UNAVAILABLE: it is not there.
absl::StatusOr<FoundRecord> ReadRecord(const std::string& path);

// A name that can be a file's: letters, digits, '.', '_', '-', not starting with a dot, at most 128 long.
bool IsServerName(const std::string& name);

// The names of the records in the folder, sorted.
std::vector<std::string> ListRecords(const std::string& directory);

// Parses and checks a record: schema, token, certificates, addresses. `path` is for the message.
absl::StatusOr<v1::EndpointRecord> ParseRecord(const std::string& json, const std::string& path);

// "127.0.0.1:5000", "[::1]:5000", "localhost:5000" (taken as 127.0.0.1: no name is looked up). INVALID_ARGUMENT says
// what is wrong.
absl::StatusOr<v1::Endpoint> ParseEndpoint(const std::string& text);

// Puts `endpoint` in place of the record's addresses. UNAUTHENTICATED: the record has no certificate, so that any
// listener there could pass for the daemon and would get the token.
absl::Status UseEndpoint(const std::string& endpoint, FoundRecord& found);

// FAILED_PRECONDITION: the record cannot be used; the message gives the reason and the remedy.
absl::Status DamagedRecord(const std::string& path, const std::string& why);

// False also for a zombie. True if unknown.
bool ProcessExists(int pid);

// The number of this process's PID namespace, as in records; 0 if /proc does not tell.
std::uint64_t PidNamespace();

// True if the record's process is known to be gone: it ran on this host and does not exist any more, or its number now
// belongs to another user's process. False if unknown.
bool KnownDead(const v1::EndpointRecord& record);

// The same, but also true if the record's allocation ended long ago.
bool KnownEnded(const v1::EndpointRecord& record);

// True if the record was removed or replaced by another start of the daemon. False if unknown.
bool IsWithdrawn(const FoundRecord& found);

// UNAVAILABLE: nobody answers at the record's addresses. The message has the likely reason (`reason` is the transport's
// text) and the command that starts a daemon.
absl::Status NobodyAnswers(const FoundRecord& found, const std::string& reason);

// An error message of these functions without that command, for callers that know that a daemon exists.
std::string WithoutHowToStart(const std::string& message);

}  // namespace hotplate::client
