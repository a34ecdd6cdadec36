#include "server/environments/environment_files.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/array/quoted.h"
#include "kernels/base/status.h"
#include "proto/codec/json_file.h"
#include "server/endpoint.h"
#include "server/environments/environment_changes.h"

namespace hotplate::server {

absl::Status CheckEnvironmentName(const std::string& name) {
  constexpr std::size_t kLongest = 64;
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  const bool fine =
      !name.empty() && name.size() <= kLongest && is_plain(name[0]) &&
      std::all_of(name.begin(), name.end(), [&](char c) { return is_plain(c) || c == '-' || c == '_' || c == '.'; });
  if (fine) return absl::OkStatus();
  return InvalidField("name", absl::StrCat("name is ", Quoted(name),
                                           "; an environment's name has 1 to 64 letters, digits, '-', '_' and '.', and "
                                           "begins with a letter or digit"));
}

absl::StatusOr<v1::EnvironmentFile> EnvironmentFiles::Read(const std::string& name) const {
  if (absl::Status status = CheckEnvironmentName(name); !status.ok()) return status;
  if (!Has(name)) return Missing(name);
  v1::EnvironmentFile file;
  if (absl::Status status = codec::ReadJsonFile(PathOf(name), file); !status.ok()) return status;
  file.mutable_environment()->set_name(name);
  return file;
}

std::vector<v1::PythonEnvironment> EnvironmentFiles::List() const {
  std::vector<v1::PythonEnvironment> environments;
  for (const std::string& name : Names()) {
    v1::PythonEnvironment& one = environments.emplace_back();
    const absl::StatusOr<v1::EnvironmentFile> file = Read(name);
    if (absl::IsNotFound(file.status())) {  // it was removed meanwhile
      environments.pop_back();
    } else if (file.ok()) {
      one = file->environment();
      for (std::string& variable : NamesIn(file->changes())) one.add_variables(std::move(variable));
    } else {
      one.set_name(name);
      one.add_notes(std::string(file.status().message()));
    }
  }
  return environments;
}

bool EnvironmentFiles::Has(const std::string& name) const { return access(PathOf(name).c_str(), F_OK) == 0; }

absl::Status EnvironmentFiles::Write(const v1::EnvironmentFile& file) const {
  if (absl::Status status = PrivateFolder(folder_); !status.ok()) return status;
  const std::string& name = file.environment().name();
  if (!Has(name) && Names().size() >= kMost) {
    return absl::ResourceExhaustedError(
        absl::StrCat("there are ", kMost, " environments already: remove one (hotplate env remove NAME)"));
  }
  const std::string text = codec::ToJson(file);
  if (text.size() >= codec::kLongestJsonFile) {
    return absl::ResourceExhaustedError(absl::StrCat("the modules of ", name, " change variables of ", text.size(),
                                                     " bytes together; at most ", codec::kLongestJsonFile,
                                                     " can be kept"));
  }
  return WriteWhole(PathOf(name), text);
}

absl::Status EnvironmentFiles::Remove(const std::string& name) const {
  if (absl::Status status = CheckEnvironmentName(name); !status.ok()) return status;
  if (unlink(PathOf(name).c_str()) == 0) return absl::OkStatus();
  return errno == ENOENT ? Missing(name) : SystemError("removing " + PathOf(name));
}

std::vector<std::string> EnvironmentFiles::Names() const {
  std::vector<std::string> names;
  std::error_code error;  // there is no folder before there is a name
  for (std::filesystem::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error)) {
    std::string name = at->path().stem().string();
    if (at->path().extension() == ".json" && CheckEnvironmentName(name).ok()) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

absl::Status EnvironmentFiles::Missing(const std::string& name) const {
  const std::vector<std::string> names = Names();
  return Refused(absl::StatusCode::kNotFound,
                 {{"python_environment",
                   absl::StrCat("there is no environment ", Quoted(name),
                                names.empty() ? ", nor any other" : "; there are: ", absl::StrJoin(names, ", "),
                                " (hotplate env add ", name, " --python PATH)")}});
}

}  // namespace hotplate::server
