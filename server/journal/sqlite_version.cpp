#include "server/journal/sqlite_version.h"

#include <sqlite3.h>

namespace hotplate::journal {

std::string SqliteVersion() { return sqlite3_libversion(); }

std::string SqliteHeaders() { return SQLITE_VERSION; }

}  // namespace hotplate::journal
