#include "proto/codec/json_file.h"

#include <fcntl.h>
#include <google/protobuf/util/json_util.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace hotplate::codec {

std::string ToJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.add_whitespace = true;
  std::string json;
  (void)google::protobuf::util::MessageToJsonString(message, &json, options);  // fails for an Any alone
  return json;
}

bool FromJson(const std::string& json, google::protobuf::Message& message) {
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  return google::protobuf::util::JsonStringToMessage(json, &message, options).ok();
}

absl::StatusOr<std::string> ReadOpenFile(int descriptor, const std::string& name) {
  std::string content;
  char block[16 * 1024];
  while (true) {
    const ssize_t got = read(descriptor, block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::UnavailableError(name + ": " + std::strerror(errno));
    if (got == 0) return content;
    content.append(block, static_cast<std::size_t>(got));
    if (content.size() > kLongestJsonFile) {
      return absl::FailedPreconditionError(name + " is longer than " + std::to_string(kLongestJsonFile) + " bytes");
    }
  }
}

absl::Status ReadJsonFile(const std::string& path, google::protobuf::Message& message) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return absl::UnavailableError(path + ": " + std::strerror(errno));
  struct stat facts {};
  const bool regular = fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode);
  const absl::StatusOr<std::string> json =
      regular ? ReadOpenFile(descriptor, path)
              : absl::StatusOr<std::string>(absl::FailedPreconditionError(path + " is not a regular file"));
  close(descriptor);
  if (!json.ok()) return json.status();
  if (FromJson(*json, message)) return absl::OkStatus();
  return absl::FailedPreconditionError(path + " is not a " + message.GetTypeName());
}

}  // namespace hotplate::codec
