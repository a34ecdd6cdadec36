// hotplate_export_catalog FOLDER: writes the built-in catalogue as hotplate.v1.CatalogueFile, catalogue.pb and
// catalogue.json, so that clients can show kernels, help and completion without a daemon.
#include <google/protobuf/util/json_util.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "server/version.h"
#include "server/wire/catalogue.h"

namespace {

bool Write(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << bytes;
  file.close();
  if (file.good()) return true;
  std::fprintf(stderr, "hotplate_export_catalog: cannot write %s\n", path.c_str());
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: hotplate_export_catalog FOLDER\n");
    return 2;
  }
  const hotplate::v1::CatalogueFile file =
      hotplate::wire::ToCatalogueFile(hotplate::BuiltinCatalog(), hotplate::server::kVersion);
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.always_print_primitive_fields = true;
  std::string json;
  if (!google::protobuf::util::MessageToJsonString(file, &json, options).ok()) return 1;
  const std::string folder = argv[1];
  return Write(folder + "/catalogue.pb", file.SerializeAsString()) && Write(folder + "/catalogue.json", json) ? 0 : 1;
}
