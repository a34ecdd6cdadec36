// Named Python environments as files: HOTPLATE_DIR/environments/NAME.json, one each, for every daemon of the folder.
// They are read anew each time, since another daemon may have changed them. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hotplate/v1/environments.pb.h"

namespace hotplate::server {

// Of the daemon itself, which no file can have.
inline constexpr char kOwnEnvironment[] = "default";

// INVALID_ARGUMENT: not 1 to 64 letters, digits and - _ . that begin with a letter or digit.
absl::Status CheckEnvironmentName(const std::string& name);

class EnvironmentFiles {
 public:
  static constexpr std::size_t kMost = 256;

  // `directory`: HOTPLATE_DIR.
  explicit EnvironmentFiles(const std::string& directory) : folder_(directory + "/environments") {}

  // NOT_FOUND names those that there are.
  absl::StatusOr<v1::EnvironmentFile> Read(const std::string& name) const;
  // By name. A file that cannot be read is there with its name and a note alone.
  std::vector<v1::PythonEnvironment> List() const;
  bool Has(const std::string& name) const;
  absl::Status Write(const v1::EnvironmentFile& file) const;
  absl::Status Remove(const std::string& name) const;

 private:
  std::string PathOf(const std::string& name) const { return folder_ + "/" + name + ".json"; }
  std::vector<std::string> Names() const;
  absl::Status Missing(const std::string& name) const;

  const std::string folder_;
};

}  // namespace hotplate::server
