#include "server/journal/manifest.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/journal/json.h"

namespace hotplate::journal {

std::string FileJson(const SpooledFile& file, const std::string& path) {
  JsonObject json;
  json.Text("name", file.name).Text("file", path).Number("bytes", file.bytes).Text("sha256", file.sha256.Hex());
  if (file.signature) {
    json.Text("dtype", Name(file.signature->dtype));
    json.Raw("shape", absl::StrCat("[", absl::StrJoin(file.signature->shape, ","), "]"));
  }
  return json.Str();
}

std::string ManifestOf(std::uint64_t number, std::span<const SpooledFile> files) {
  std::string text = absl::StrCat("{\"job\":\"", number, "\",\"files\":[");
  const char* between = "\n";
  for (const SpooledFile& file : files) {
    const std::string prefix = absl::StrCat("jobs/", number, "/");
    const std::string path = file.file.starts_with(prefix) ? file.file.substr(prefix.size()) : "../../" + file.file;
    absl::StrAppend(&text, between, FileJson(file, path));
    between = ",\n";
  }
  return text + "]}\n";
}

}  // namespace hotplate::journal
