#include "client/cli/libraries.h"

#include <png.h>
#include <zlib.h>

#include <CLI/Version.hpp>

#include "server/journal/sqlite_version.h"

namespace hotplate::cli {

std::vector<codec::LibraryVersion> Libraries() {
  return codec::AllLibraries({
      {"SQLite", journal::SqliteVersion(), journal::SqliteHeaders()},
      {"SQLiteCpp", HOTPLATE_SQLITECPP_VERSION, ""},
      {"libpng", png_get_libpng_ver(nullptr), PNG_LIBPNG_VER_STRING},
      {"zlib", zlibVersion(), ZLIB_VERSION},
      {"CLI11", CLI11_VERSION, ""},
      {"toml++", HOTPLATE_TOMLPLUSPLUS_VERSION, ""},
      {"JSON for Modern C++", HOTPLATE_NLOHMANN_JSON_VERSION, ""},
  });
}

}  // namespace hotplate::cli
