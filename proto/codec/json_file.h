// Messages that lie in HOTPLATE_DIR as JSON files: endpoint records, and blocks of job ids. Daemons and clients read
// them with the same code; whether a file may be trusted is for its reader to ask (client/lib/endpoint.h).
#pragma once

#include <google/protobuf/message.h>

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hotplate::codec {

// Such a file is a few KiB; anything longer is not one.
inline constexpr std::size_t kLongestJsonFile = 256 * 1024;

// JSON with the proto's field names, a line each.
std::string ToJson(const google::protobuf::Message& message);
// False: that is not such a message. Fields of a newer version are ignored.
bool FromJson(const std::string& json, google::protobuf::Message& message);

// All that an open file has. FAILED_PRECONDITION: it is longer than kLongestJsonFile. UNAVAILABLE: it cannot be read.
// Both begin with `name`.
absl::StatusOr<std::string> ReadOpenFile(int descriptor, const std::string& name);

// UNAVAILABLE: the file is not there or cannot be read. FAILED_PRECONDITION: it does not hold such a message. Never
// waits: what is not a regular file is not read.
absl::Status ReadJsonFile(const std::string& path, google::protobuf::Message& message);

}  // namespace hotplate::codec
