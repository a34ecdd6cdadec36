#include "server/libraries.h"

#include <cblas.h>
#include <openblas_config.h>
#include <zlib.h>

#include <CLI/Version.hpp>
#include <sstream>
#include <string>

#include "server/journal/sqlite_version.h"

namespace hotplate::server {
namespace {

// The second word of "OpenBLAS 0.3.21 NO_AFFINITY …".
std::string OpenBlasNumber(const std::string& text) {
  std::istringstream words(text);
  std::string number;
  words >> number >> number;
  return number;
}

}  // namespace

std::vector<codec::LibraryVersion> Libraries() {
  const std::string cuda = HOTPLATE_CUDA_TOOLKITS;
  return codec::AllLibraries({
      {"SQLite", journal::SqliteVersion(), journal::SqliteHeaders()},
      {"SQLiteCpp", HOTPLATE_SQLITECPP_VERSION, ""},
      {"OpenBLAS", OpenBlasNumber(openblas_get_config()), OpenBlasNumber(OPENBLAS_VERSION)},
      {"zlib", zlibVersion(), ZLIB_VERSION},
      {"spdlog", HOTPLATE_SPDLOG_VERSION, ""},
      {"fmt", HOTPLATE_FMT_VERSION, ""},
      {"CLI11", CLI11_VERSION, ""},
      {"toml++", HOTPLATE_TOMLPLUSPLUS_VERSION, ""},
      {"CUDA", cuda.empty() ? "built without CUDA" : "plug-ins built with " + cuda, ""},
  });
}

}  // namespace hotplate::server
