#include "server/journal/database.h"

#include <sqlite3.h>

#include <cerrno>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace hotplate::journal {
namespace {

constexpr char kWithoutLocks[] = "unix-none";

std::unique_ptr<SQLite::Database> Open(const DatabaseOptions& options, const std::string& vfs) {
  auto database = std::make_unique<SQLite::Database>(
      options.path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE | SQLite::OPEN_NOMUTEX, 0, vfs);
  // Before the first look into the file: only a connection that has it for itself does without shared memory, which
  // network file systems do not have.
  database->exec("PRAGMA locking_mode=EXCLUSIVE; PRAGMA mmap_size=0; PRAGMA temp_store=MEMORY;");
  // Takes the lock.
  database->exec("BEGIN EXCLUSIVE; COMMIT;");
  // A writer that lost the journal must not write to it when it closes it.
  sqlite3_db_config(database->getHandle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  return database;
}

}  // namespace

int SystemErrorOf(const SQLite::Database& database) { return sqlite3_system_errno(database.getHandle()); }

absl::Status StatusOf(const SQLite::Exception& error, const std::string& path, int system_error) {
  std::string text = absl::StrCat("the journal ", path, ": ", error.what());
  const int extended = error.getExtendedErrorCode();
  const bool io = (extended & 0xFF) == SQLITE_IOERR;
  if (io && system_error != 0) absl::StrAppend(&text, ": ", std::generic_category().message(system_error));
  if (io && (system_error == ENOSPC || system_error == EDQUOT)) return absl::ResourceExhaustedError(text);
  if (io && system_error == EROFS) return absl::FailedPreconditionError(text);
  switch (extended & 0xFF) {
    case SQLITE_FULL:
    case SQLITE_NOMEM:
    case SQLITE_TOOBIG:
      return absl::ResourceExhaustedError(text);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
    case SQLITE_AUTH:
      return absl::FailedPreconditionError(text);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::FailedPreconditionError(text + "; another process has it open");
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return absl::DataLossError(text);
    case SQLITE_CONSTRAINT:
      return absl::AlreadyExistsError(text);
    case SQLITE_IOERR:
      return absl::UnavailableError(text);
    default:
      return absl::InternalError(text);
  }
}

absl::StatusOr<std::unique_ptr<SQLite::Database>> OpenDatabase(const DatabaseOptions& options) {
  try {
    if (options.has_locks) {
      try {
        return Open(options, options.vfs);
      } catch (const SQLite::Exception& error) {
        // The file system has locks on whole files, and none on parts of them. The fence keeps others away.
        const int code = error.getExtendedErrorCode();
        if (code != SQLITE_IOERR_LOCK && code != SQLITE_IOERR_RDLOCK && code != SQLITE_IOERR_CHECKRESERVEDLOCK) throw;
      }
    }
    return Open(options, options.vfs.empty() ? kWithoutLocks : options.vfs);
  } catch (const SQLite::Exception& error) {
    return StatusOf(error, options.path);
  }
}

}  // namespace hotplate::journal
