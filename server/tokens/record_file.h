// The file that has a guest's endpoint record. The owner says where it is, and who may read it: by its mode, its group,
// or an access control list (setfacl).
#pragma once

#include <string>

#include "absl/status/status.h"
#include "hotplate/v1/endpoint.pb.h"

namespace hotplate::server {

// Whether the record of this guest may be written to `path`: its folder is there, and the file is not, or is empty, or
// is a record of the same guest. INVALID_ARGUMENT and FAILED_PRECONDITION say what is there.
absl::Status CheckGuestFile(const std::string& path, const std::string& guest);

// Writes the record all or nothing, with mode 0600, or with the group, the mode and the access control list of the file
// that it replaces. Errors as above, and the system's.
absl::Status WriteGuestFile(const std::string& path, const v1::EndpointRecord& record);

// Removes the file if it is a record of this guest of this daemon's name.
void RemoveGuestFile(const std::string& path, const std::string& guest, const std::string& daemon);

}  // namespace hotplate::server
