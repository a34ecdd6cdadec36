// The lines of an audit log, each as its fields.
#pragma once

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace hotplate::server {

using AuditLine = std::map<std::string, std::string>;  // numbers as whole ones

inline std::vector<AuditLine> AuditLines(const std::string& text) {
  std::vector<AuditLine> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    google::protobuf::Struct json;
    EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(line, &json).ok()) << line;
    AuditLine fields;
    for (const auto& [name, value] : json.fields()) {
      const bool number = value.kind_case() == google::protobuf::Value::kNumberValue;
      fields[name] = number ? std::to_string(static_cast<long long>(value.number_value())) : value.string_value();
    }
    lines.push_back(std::move(fields));
  }
  return lines;
}

inline std::vector<AuditLine> LinesWith(const std::vector<AuditLine>& lines, const std::string& field,
                                        const std::string& value) {
  std::vector<AuditLine> found;
  for (const AuditLine& line : lines) {
    const auto at = line.find(field);
    if (at != line.end() && at->second == value) found.push_back(line);
  }
  return found;
}

}  // namespace hotplate::server
