// SQLite as the journal uses it: one connection that has the file for itself, in WAL mode without shared memory, and
// statuses instead of exceptions.
#pragma once

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace hotplate::journal {

struct DatabaseOptions {
  std::string path;
  std::string vfs = {};   // SQLite's name of one; empty: the system's
  bool has_locks = true;  // false: on a file system without locks
};

// Opens or makes the file. Nothing in it is changed before CheckOurs and Migrate (schema.h) have seen it.
absl::StatusOr<std::unique_ptr<SQLite::Database>> OpenDatabase(const DatabaseOptions& options);

// RESOURCE_EXHAUSTED: the disk or a quota is full. FAILED_PRECONDITION: it must not be written to, or somebody else has
// it. DATA_LOSS: it is damaged. ALREADY_EXISTS: a row of that key is there. UNAVAILABLE: the disk fails.
absl::Status StatusOf(const SQLite::Exception& error, const std::string& path, int system_error = 0);

// Runs `work`, which returns an absl::Status, with what SQLite throws turned into one.
template <typename Work>
absl::Status Guarded(const SQLite::Database& database, const Work& work);

// The errno of the last failed call of a connection.
int SystemErrorOf(const SQLite::Database& database);

template <typename Work>
absl::Status Guarded(const SQLite::Database& database, const Work& work) {
  try {
    return work();
  } catch (const SQLite::Exception& error) {
    return StatusOf(error, database.getFilename(), SystemErrorOf(database));
  }
}

}  // namespace hotplate::journal
