// The file that has a guest's endpoint record. The owner says where it is, and who may read it: by its mode, its group,
// or an access control list (setfacl).
#pragma once

#include <string>

#include "absl/status/status.h"
#include "hotplate/v1/endpoint.pb.h"

namespace hotplate::server {

// Writes the record all or nothing, with mode 0600, or with the group, the mode and the access control list of the file
// that it replaces, which may be empty or a record of the same guest. INVALID_ARGUMENT says what else is there, or why
// it cannot be written.
absl::Status WriteGuestFile(const std::string& path, const v1::EndpointRecord& record);

// Removes the file if it is a record of this guest of this daemon's name.
void RemoveGuestFile(const std::string& path, const std::string& guest, const std::string& daemon);

}  // namespace hotplate::server
