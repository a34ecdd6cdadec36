#include "server/journal/schema.h"

#include <array>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/journal/database.h"

namespace hotplate::journal {
namespace {

// Times are nanoseconds since 1970, states and roles the numbers of records.h. Columns that an update touches and those
// that are large are in different tables: SQLite writes a row as a whole.
constexpr char kVersion1[] = R"sql(
  CREATE TABLE facts(name TEXT PRIMARY KEY, value) WITHOUT ROWID;
  INSERT INTO facts VALUES('id', lower(hex(randomblob(8)))), ('last number', 0);

  CREATE TABLE daemons(
    epoch INTEGER PRIMARY KEY, generation TEXT NOT NULL, name TEXT NOT NULL, node TEXT NOT NULL,
    slurm_job TEXT NOT NULL, start_ns INTEGER NOT NULL, end_ns INTEGER, end_reason TEXT);

  CREATE TABLE jobs(
    number INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, state INTEGER NOT NULL, attached INTEGER NOT NULL,
    may_rerun INTEGER NOT NULL, owner TEXT NOT NULL, session TEXT NOT NULL, request_key TEXT NOT NULL,
    payload_hash BLOB NOT NULL, kernel TEXT NOT NULL, label TEXT NOT NULL, priority INTEGER NOT NULL,
    time_limit_ns INTEGER, accept_ns INTEGER NOT NULL, start_sequence INTEGER, start_ns INTEGER, device TEXT,
    end_sequence INTEGER, end_ns INTEGER, fetch_ns INTEGER, release_ns INTEGER, device_ns INTEGER,
    energy_joules REAL);
  CREATE INDEX jobs_unfinished ON jobs(number) WHERE state < 3;
  CREATE INDEX jobs_ended ON jobs(end_ns) WHERE end_ns IS NOT NULL;
  CREATE INDEX jobs_kept ON jobs(end_ns) WHERE end_ns IS NOT NULL AND release_ns IS NULL AND attached = 0;

  CREATE TABLE requests(number INTEGER PRIMARY KEY, request BLOB NOT NULL);
  CREATE TABLE ends(number INTEGER PRIMARY KEY, end BLOB NOT NULL, outputs BLOB);
  CREATE TABLE reruns(
    number INTEGER NOT NULL, start_sequence INTEGER NOT NULL, start_ns INTEGER NOT NULL, device TEXT NOT NULL,
    requeue_sequence INTEGER NOT NULL, requeue_ns INTEGER NOT NULL, reason TEXT NOT NULL,
    PRIMARY KEY(number, start_sequence)) WITHOUT ROWID;

  CREATE TABLE files(
    number INTEGER NOT NULL, role INTEGER NOT NULL, name TEXT NOT NULL, file TEXT NOT NULL, sha256 BLOB NOT NULL,
    bytes INTEGER NOT NULL, dtype TEXT, shape TEXT, shared INTEGER NOT NULL, synced INTEGER NOT NULL,
    PRIMARY KEY(number, role, name)) WITHOUT ROWID;
  CREATE INDEX files_shared ON files(sha256) WHERE shared = 1;

  CREATE TABLE sums(
    minute INTEGER NOT NULL, kernel TEXT NOT NULL, label TEXT NOT NULL, state INTEGER NOT NULL, jobs INTEGER NOT NULL,
    device_ns INTEGER NOT NULL, energy_joules REAL NOT NULL,
    PRIMARY KEY(minute, kernel, label, state)) WITHOUT ROWID;
)sql";

constexpr char kVersion2[] = R"sql(
  ALTER TABLE jobs ADD COLUMN cancel_ns INTEGER;
  CREATE TABLE arrays(
    file TEXT PRIMARY KEY, name TEXT NOT NULL, owner TEXT NOT NULL, lease_end_ns INTEGER NOT NULL) WITHOUT ROWID;
)sql";

constexpr char kVersion3[] = R"sql(
  ALTER TABLE daemons ADD COLUMN gpus INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE daemons ADD COLUMN seen_ns INTEGER;
  ALTER TABLE jobs ADD COLUMN gpu_ns INTEGER NOT NULL DEFAULT 0;
  UPDATE jobs SET gpu_ns=device_ns WHERE device_ns IS NOT NULL AND device LIKE 'gpu%';
  ALTER TABLE sums ADD COLUMN gpu_ns INTEGER NOT NULL DEFAULT 0;
)sql";

constexpr char kVersion4[] = R"sql(
  ALTER TABLE arrays ADD COLUMN number INTEGER NOT NULL DEFAULT 0;
)sql";

constexpr std::array<const char*, 4> kSteps = {kVersion1, kVersion2, kVersion3, kVersion4};

int Number(SQLite::Database& database, const char* query) { return database.execAndGet(query).getInt(); }

}  // namespace

SchemaSteps Steps() { return kSteps; }

absl::Status CheckOurs(SQLite::Database& database, SchemaSteps steps) {
  return Guarded(database, [&]() -> absl::Status {
    const int version = Number(database, "PRAGMA user_version");
    const int newest = static_cast<int>(steps.size());
    const bool empty = Number(database, "SELECT count(*) FROM sqlite_master") == 0;
    if (!empty && Number(database, "PRAGMA application_id") != kApplicationId) {
      return absl::FailedPreconditionError(
          absl::StrCat(database.getFilename(), " is a database, but not a journal of hotplated; it is left alone"));
    }
    if (version > newest) {
      return absl::FailedPreconditionError(absl::StrCat(database.getFilename(), " is a journal of version ", version,
                                                        ", by a newer hotplated; this one knows version ", newest,
                                                        " and leaves it alone"));
    }
    return absl::OkStatus();
  });
}

absl::Status Migrate(SQLite::Database& database, SchemaSteps steps) {
  return Guarded(database, [&]() -> absl::Status {
    const int version = Number(database, "PRAGMA user_version");
    if (version == static_cast<int>(steps.size())) return absl::OkStatus();
    database.exec("BEGIN IMMEDIATE");
    try {
      for (const char* const step : steps.subspan(static_cast<std::size_t>(version))) database.exec(step);
      database.exec(absl::StrCat("PRAGMA application_id=", kApplicationId, "; PRAGMA user_version=", steps.size()));
      database.exec("COMMIT");
    } catch (const SQLite::Exception&) {
      database.tryExec("ROLLBACK");
      throw;
    }
    return absl::OkStatus();
  });
}

}  // namespace hotplate::journal
