// The endpoint record: where it is, who may have written it, what it says. The record holds the token and a key, so
// that one which somebody else could read or change is refused before its content is used.
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

struct FoundRecord {
  v1::EndpointRecord record;
  std::string path;  // of the record itself, not of a link to it
  // The address is not the record's own: one that the user gave, most likely the near end of a port forward.
  bool endpoint_given = false;
};

// `override_directory`, else HOTPLATE_DIR, else ~/.hotplate. FAILED_PRECONDITION where there is no home either.
absl::StatusOr<std::string> HotplateDirectory(const std::string& override_directory = "");

// PERMISSION_DENIED where others may write to the Hotplate directory, and so could put another `servers` in place, or
// where it is another user's; OK where there is none.
absl::Status CheckDirectory(const std::string& directory);

// The record of `server` (a daemon's name, or a path with a slash in it), else of HOTPLATE_SERVER, else of `current`,
// else the only one that is there. A daemon that is known to have ended is not chosen so while another lives.
// UNAVAILABLE: there is none, and how to start a daemon. Else as ReadRecord.
absl::StatusOr<FoundRecord> FindRecord(const std::string& server = "", const std::string& override_directory = "");

// PERMISSION_DENIED: others can read or write the record or its folder, or it belongs to another user (the message
// has the chmod that mends it). FAILED_PRECONDITION: the content is not a record of a known schema.
absl::StatusOr<FoundRecord> ReadRecord(const std::string& path);

// A name that can be a file's: letters, digits, '.', '_', '-', not starting with a dot, at most 128 long.
bool IsServerName(const std::string& name);

// The names of the records in the folder, sorted; empty where there are none.
std::vector<std::string> ListRecords(const std::string& directory);

// The content of a record, checked: schema, token, that no certificate is missing, addresses. `path` is for the
// message.
absl::StatusOr<v1::EndpointRecord> ParseRecord(const std::string& json, const std::string& path);

// "127.0.0.1:5000", "[::1]:5000", "localhost:5000" (which is 127.0.0.1: no name is looked up). INVALID_ARGUMENT names
// what is wrong with anything else.
absl::StatusOr<v1::Endpoint> ParseEndpoint(const std::string& text);

// The record with `endpoint` in place of its addresses. UNAUTHENTICATED where it has no certificate: whoever listens
// there could not be told from the daemon, and would get the token.
absl::Status UseEndpoint(const std::string& endpoint, FoundRecord& found);

// FAILED_PRECONDITION: a record that cannot be used as it is; why, and what to do.
absl::Status DamagedRecord(const std::string& path, const std::string& why);

// False also for a zombie: it has ended, and waits for its parent to notice. True where nothing can be said.
bool ProcessExists(int pid);

// The number of this process's PID namespace, as records have the daemon's; 0 where /proc does not tell.
std::uint64_t PidNamespace();

// True where the record's process is known to be gone: it ran on this host and has no process any more, or its number
// is that of another user's. False where nothing can be said.
bool KnownDead(const v1::EndpointRecord& record);

// The same, also where the record's allocation ended long ago.
bool KnownEnded(const v1::EndpointRecord& record);

// True where the record is gone from its place, or another start of the daemon has put its own there. False where
// nothing can be said.
bool IsWithdrawn(const FoundRecord& found);

// UNAVAILABLE: nobody answers at the record's addresses; why that may be (`reason` is the transport's word), and the
// command that starts a daemon.
absl::Status NobodyAnswers(const FoundRecord& found, const std::string& reason);

// The words of an error of these functions without that command, for who knows that there is a daemon.
std::string WithoutHowToStart(const std::string& message);

}  // namespace hotplate::client
