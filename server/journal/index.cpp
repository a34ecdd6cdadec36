#include "server/journal/index.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/base/status.h"
#include "server/journal/schema.h"

namespace hotplate::journal {
namespace {

// SQLite's own bound on a value is 1e9 bytes. Larger payloads belong into the spool.
constexpr std::size_t kMostBytes = std::size_t{512} << 20;

std::int64_t Signed(std::uint64_t number) { return static_cast<std::int64_t>(number); }

// One execution of a prepared statement, its values in order. They are not copied: they must outlive Run.
class Call {
 public:
  explicit Call(SQLite::Statement& statement) : statement_(statement) { statement_.tryReset(); }
  ~Call() { statement_.tryReset(); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  Call& Int(std::int64_t value) {
    statement_.bind(++at_, value);
    return *this;
  }
  Call& Int(std::uint64_t value) { return Int(Signed(value)); }
  Call& Int(int value) { return Int(std::int64_t{value}); }
  Call& Int(JobState value) { return Int(static_cast<int>(value)); }
  Call& Int(WallTime value) { return Int(ToNs(value)); }
  Call& Int(nanoseconds value) { return Int(std::int64_t{value.count()}); }
  template <typename T>
  Call& MaybeInt(const std::optional<T>& value) {
    return value ? Int(*value) : Null();
  }
  Call& MaybeReal(const std::optional<double>& value) {
    if (!value) return Null();
    statement_.bind(++at_, *value);
    return *this;
  }
  Call& Text(const std::string& value) {
    statement_.bindNoCopy(++at_, value);
    return *this;
  }
  Call& Blob(const void* bytes, std::size_t size) {
    // SQLite takes a blob without an address for NULL.
    statement_.bindNoCopy(++at_, bytes == nullptr ? "" : bytes, static_cast<int>(size));
    return *this;
  }
  Call& Blob(const std::string& bytes) { return Blob(bytes.data(), bytes.size()); }
  Call& Blob(const Sha256& sha) { return Blob(sha.bytes.data(), sha.bytes.size()); }
  Call& Null() {
    statement_.bind(++at_);
    return *this;
  }

  // The number of rows changed.
  int Run() { return statement_.exec(); }
  bool Step() { return statement_.executeStep(); }

 private:
  SQLite::Statement& statement_;
  int at_ = 0;
};

}  // namespace

struct Index::Statements {
  explicit Statements(SQLite::Database& db)
      : begin(db, "BEGIN IMMEDIATE"),
        commit(db, "COMMIT"),
        rollback(db, "ROLLBACK"),
        accept(db,
               "INSERT INTO jobs(number, epoch, state, attached, may_rerun, owner, session, request_key, payload_hash,"
               " kernel, label, priority, time_limit_ns, accept_ns) VALUES(?,?,1,0,?,?,?,?,?,?,?,?,?,?)"),
        request(db, "INSERT INTO requests VALUES(?,?)"),
        start(db, "UPDATE jobs SET state=2, start_sequence=?, start_ns=?, device=? WHERE number=? AND state=1"),
        rerun(db,
              "INSERT INTO reruns SELECT number, start_sequence, start_ns, device, ?, ?, ? FROM jobs"
              " WHERE number=? AND state=2"),
        requeue(db,
                "UPDATE jobs SET state=1, start_sequence=NULL, start_ns=NULL, device=NULL WHERE number=? AND state=2"),
        cancel(db, "UPDATE jobs SET cancel_ns=coalesce(cancel_ns, ?) WHERE number=?"),
        end(db,
            "UPDATE jobs SET state=?, end_sequence=?, end_ns=?, device_ns=?, gpu_ns=?, energy_joules=?"
            " WHERE number=? AND state<3"),
        end_bytes(db, "INSERT INTO ends VALUES(?,?,?)"),
        fetch(db, "UPDATE jobs SET fetch_ns=coalesce(fetch_ns, ?) WHERE number=? AND state>2"),
        release_job(db, "UPDATE jobs SET release_ns=? WHERE number=? AND state>2 AND release_ns IS NULL"),
        drop_request(db, "DELETE FROM requests WHERE number=?"),
        replace_request(db, "UPDATE requests SET request=? WHERE number=?"),
        drop_outputs(db, "UPDATE ends SET outputs=NULL WHERE number=? AND outputs IS NOT NULL"),
        drop_files(db, "DELETE FROM files WHERE number=?"),
        attached(db,
                 "INSERT INTO jobs(number, epoch, state, attached, may_rerun, owner, session, request_key,"
                 " payload_hash, kernel, label, priority, accept_ns, start_ns, device, end_ns, release_ns, device_ns,"
                 " gpu_ns, energy_joules) VALUES(?,?,?,1,0,?,?,'',x'',?,?,0,?,?,?,?,?,?,?,?)"),
        array(db, "INSERT OR REPLACE INTO arrays VALUES(?,?,?,?,?)"),
        array_gone(db, "DELETE FROM arrays WHERE file=?"),
        file(db, "INSERT INTO files VALUES(?,?,?,?,?,?,?,?,?,?)"),
        sum(db,
            "INSERT INTO sums(minute, kernel, label, state, jobs, device_ns, gpu_ns, energy_joules)"
            " VALUES(?,?,?,?,?,?,?,?) ON CONFLICT DO UPDATE SET jobs=jobs+excluded.jobs,"
            " device_ns=device_ns+excluded.device_ns, gpu_ns=gpu_ns+excluded.gpu_ns,"
            " energy_joules=energy_joules+excluded.energy_joules"),
        touch(db, "UPDATE facts SET value=value WHERE name='last number'"),
        state(db, "SELECT state FROM jobs WHERE number=?"),
        begin_daemon(db,
                     "INSERT OR REPLACE INTO daemons(epoch, generation, name, node, slurm_job, start_ns)"
                     " VALUES(?,?,?,?,?,?)"),
        end_daemon(db, "UPDATE daemons SET end_ns=?, end_reason=? WHERE epoch=?"),
        gpus(db, "UPDATE daemons SET gpus=? WHERE epoch=?"),
        last_seen(db, "UPDATE daemons SET seen_ns=? WHERE epoch=? AND end_ns IS NULL") {}

  SQLite::Statement begin, commit, rollback, accept, request, start, rerun, requeue, cancel, end, end_bytes, fetch,
      release_job, drop_request, replace_request, drop_outputs, drop_files, attached, array, array_gone, file, sum,
      touch, state, begin_daemon, end_daemon, gpus, last_seen;
};

Index::Index(std::unique_ptr<SQLite::Database> database, std::uint64_t epoch)
    : database_(std::move(database)), epoch_(epoch) {}

Index::~Index() = default;

absl::StatusOr<std::unique_ptr<Index>> Index::Open(const DatabaseOptions& options, std::uint64_t epoch) {
  absl::StatusOr<std::unique_ptr<SQLite::Database>> opened = OpenDatabase(options);
  if (!opened.ok()) return opened.status();
  SQLite::Database& database = **opened;
  if (absl::Status ours = CheckOurs(database); !ours.ok()) return ours;
  absl::Status ready = Guarded(database, [&]() -> absl::Status {
    // Counts for a new file only: pages that become free are used again.
    database.exec("PRAGMA auto_vacuum=NONE");
    // Deleted rows may hold secrets: a program's environment.
    database.exec("PRAGMA secure_delete=ON");
    const std::string mode = database.execAndGet("PRAGMA journal_mode=WAL").getString();
    if (mode == "wal") return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("the journal ", options.path, " cannot have a write-ahead log there: its mode stays ", mode));
  });
  if (ready.ok()) ready = Migrate(database);
  if (!ready.ok()) return ready;
  std::unique_ptr<Index> index(new Index(*std::move(opened), epoch));
  ready = Guarded(database, [&]() -> absl::Status {
    index->statements_ = std::make_unique<Statements>(database);
    // A group is some five pages: with SQLite's 1000 one of each two hundred would wait for a checkpoint.
    database.exec("PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=2000");
    return absl::OkStatus();
  });
  if (!ready.ok()) return ready;
  return index;
}

absl::Status Index::SetSync(Sync sync) {
  if (sync == sync_) return absl::OkStatus();
  database_->exec(sync == Sync::kNow ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL");
  sync_ = sync;
  return absl::OkStatus();
}

absl::Status Index::Begin(Sync sync) {
  return Guarded(*database_, [&]() -> absl::Status {
    if (absl::Status set = SetSync(sync); !set.ok()) return set;
    Call(statements_->begin).Run();
    return absl::OkStatus();
  });
}

absl::Status Index::Commit() {
  return Guarded(*database_, [&]() -> absl::Status {
    Call(statements_->commit).Run();
    return absl::OkStatus();
  });
}

void Index::Rollback() {
  // Some errors have rolled back already.
  Guarded(*database_, [&]() -> absl::Status {
    Call(statements_->rollback).Run();
    return absl::OkStatus();
  }).IgnoreError();
}

bool Index::IsOfRecord(const absl::Status& error) {
  return absl::IsAlreadyExists(error) || absl::IsNotFound(error) || absl::IsInvalidArgument(error);
}

absl::Status Index::Apply(const Record& record) {
  return Guarded(*database_,
                 [&]() -> absl::Status { return std::visit([this](const auto& job) { return Write(job); }, record); });
}

absl::Status Index::Write(const JobAccepted& job) {
  if (job.request.size() > kMostBytes) {
    return absl::InvalidArgumentError(absl::StrCat("the request of job ", job.number, " has ", job.request.size(),
                                                   " bytes; the journal takes ", kMostBytes));
  }
  Call(statements_->accept)
      .Int(job.number)
      .Int(epoch_)
      .Int(job.may_rerun ? 1 : 0)
      .Text(job.owner)
      .Text(job.session)
      .Text(job.request_key)
      .Blob(job.payload_hash)
      .Text(job.kernel)
      .Text(job.label)
      .Int(job.priority)
      .MaybeInt(job.time_limit)
      .Int(job.time)
      .Run();
  Call(statements_->request).Int(job.number).Blob(job.request).Run();
  WriteFiles(job.number, job.inputs);
  return absl::OkStatus();
}

void Index::WriteFiles(std::uint64_t number, const std::vector<SpooledFile>& files) {
  for (const SpooledFile& file : files) {
    std::string dtype, shape;
    Call call(statements_->file);
    call.Int(number).Int(static_cast<int>(file.role)).Text(file.name).Text(file.file).Blob(file.sha256).Int(file.bytes);
    if (file.signature) {
      dtype = std::string(Name(file.signature->dtype));
      shape = absl::StrJoin(file.signature->shape, ",");
      call.Text(dtype).Text(shape);
    } else {
      call.Null().Null();
    }
    call.Int(file.shared ? 1 : 0).Int(file.synced ? 1 : 0).Run();
  }
}

void Index::WriteEnd(std::uint64_t number, const std::string& end, const std::string* outputs) {
  Call call(statements_->end_bytes);
  call.Int(number).Blob(end);
  if (outputs != nullptr && !outputs->empty()) {
    call.Blob(*outputs);
  } else {
    call.Null();
  }
  call.Run();
}

absl::Status Index::Unchanged(std::uint64_t number, std::string_view record) {
  Call call(statements_->state);
  if (!call.Int(number).Step()) return absl::NotFoundError(absl::StrCat("the journal has no job ", number));
  return absl::InvalidArgumentError(absl::StrCat("job ", number, " cannot be ", ToAbsl(record), " in state ",
                                                 statements_->state.getColumn(0).getInt()));
}

absl::Status Index::Write(const JobStarted& job) {
  const int changed = Call(statements_->start).Int(job.sequence).Int(job.time).Text(job.device).Int(job.number).Run();
  return changed > 0 ? absl::OkStatus() : Unchanged(job.number, "started");
}

absl::Status Index::Write(const JobRequeued& job) {
  Call(statements_->rerun).Int(job.sequence).Int(job.time).Text(job.reason).Int(job.number).Run();
  const int changed = Call(statements_->requeue).Int(job.number).Run();
  return changed > 0 ? absl::OkStatus() : Unchanged(job.number, "requeued");
}

absl::Status Index::Write(const JobCancelRequested& job) {
  const int changed = Call(statements_->cancel).Int(job.time).Int(job.number).Run();
  return changed > 0 ? absl::OkStatus() : Unchanged(job.number, "cancelled");
}

absl::Status Index::Write(const JobEnded& job) {
  if (!IsEnd(job.state)) return absl::InvalidArgumentError(absl::StrCat("job ", job.number, " ends in no end"));
  if (job.end.size() > kMostBytes || job.outputs.size() > kMostBytes) {
    return absl::InvalidArgumentError(absl::StrCat("the end of job ", job.number, " is larger than the journal takes"));
  }
  const int changed = Call(statements_->end)
                          .Int(job.state)
                          .Int(job.sequence)
                          .Int(job.time)
                          .Int(job.use.device_time)
                          .Int(job.use.gpu_time)
                          .MaybeReal(job.use.energy_joules)
                          .Int(job.number)
                          .Run();
  if (changed == 0) return Unchanged(job.number, "ended");
  WriteEnd(job.number, job.end, &job.outputs);
  if (!job.request_left.empty()) {
    Call(statements_->replace_request).Blob(job.request_left).Int(job.number).Run();
  } else if (job.forget_request) {
    Call(statements_->drop_request).Int(job.number).Run();
  }
  WriteFiles(job.number, job.results);
  return absl::OkStatus();
}

absl::Status Index::Write(const JobFetched& job) {
  const int changed = Call(statements_->fetch).Int(job.time).Int(job.number).Run();
  return changed > 0 ? absl::OkStatus() : Unchanged(job.number, "fetched");
}

absl::Status Index::Write(const JobReleased& job) {
  const int changed = Call(statements_->release_job).Int(job.time).Int(job.number).Run();
  if (changed == 0) return Unchanged(job.number, "released");
  for (SQLite::Statement* const drop :
       {&statements_->drop_request, &statements_->drop_outputs, &statements_->drop_files}) {
    Call(*drop).Int(job.number).Run();
  }
  return absl::OkStatus();
}

absl::Status Index::Write(const AttachedJob& job) {
  Call(statements_->attached)
      .Int(job.number)
      .Int(epoch_)
      .Int(job.state)
      .Text(job.owner)
      .Text(job.session)
      .Text(job.kernel)
      .Text(job.label)
      .Int(job.accepted)
      .MaybeInt(job.started)
      .Text(job.device)
      .Int(job.ended)
      .Int(job.ended)
      .Int(job.use.device_time)
      .Int(job.use.gpu_time)
      .MaybeReal(job.use.energy_joules)
      .Run();
  if (!job.end.empty()) WriteEnd(job.number, job.end, nullptr);
  return absl::OkStatus();
}

absl::Status Index::Write(const ArraySaved& array) {
  Call(statements_->array)
      .Text(array.file)
      .Text(array.name)
      .Text(array.owner)
      .Int(array.lease_end)
      .Int(array.number)
      .Run();
  return absl::OkStatus();
}

absl::Status Index::Write(const ArrayGone& array) {
  Call(statements_->array_gone).Text(array.file).Run();
  return absl::OkStatus();
}

absl::Status Index::Add(const Sums& sums) {
  return Guarded(*database_, [&]() -> absl::Status {
    for (const auto& [key, sum] : sums) {
      Call call(statements_->sum);
      call.Int(key.minute).Text(key.kernel).Text(key.label).Int(key.state).Int(sum.jobs).Int(sum.device_time);
      call.Int(sum.gpu_time).MaybeReal(sum.energy_joules).Run();
    }
    return absl::OkStatus();
  });
}

absl::Status Index::Touch() {
  return Guarded(*database_, [&]() -> absl::Status {
    Call(statements_->touch).Run();
    return absl::OkStatus();
  });
}

absl::Status Index::Checkpoint() {
  return Guarded(*database_, [&]() -> absl::Status {
    if (absl::Status set = SetSync(Sync::kNow); !set.ok()) return set;
    SQLite::Statement checkpoint(*database_, "PRAGMA wal_checkpoint(TRUNCATE)");
    if (checkpoint.executeStep() && checkpoint.getColumn(0).getInt() == 0) return absl::OkStatus();
    return absl::UnavailableError(absl::StrCat("the log of the journal ", database_->getFilename(), " is in use"));
  });
}

absl::Status Index::BeginDaemon(const DaemonLife& life, WallTime now) {
  return Guarded(*database_, [&]() -> absl::Status {
    if (absl::Status set = SetSync(Sync::kNow); !set.ok()) return set;
    Call call(statements_->begin_daemon);
    call.Int(epoch_).Text(life.generation).Text(life.name).Text(life.node).Text(life.slurm_job).Int(now).Run();
    return absl::OkStatus();
  });
}

absl::Status Index::EndDaemon(WallTime now, const std::string& reason) {
  return Guarded(*database_, [&]() -> absl::Status {
    if (absl::Status set = SetSync(Sync::kNow); !set.ok()) return set;
    Call(statements_->end_daemon).Int(now).Text(reason).Int(epoch_).Run();
    return absl::OkStatus();
  });
}

absl::Status Index::SetGpus(int gpus) {
  return Guarded(*database_, [&]() -> absl::Status {
    Call(statements_->gpus).Int(gpus).Int(epoch_).Run();
    return absl::OkStatus();
  });
}

absl::Status Index::SetAge(nanoseconds age) {
  return Guarded(*database_, [&]() -> absl::Status {
    database_->exec(absl::StrCat("INSERT OR REPLACE INTO facts VALUES('result age', ", age.count(), ")"));
    return absl::OkStatus();
  });
}

absl::Status Index::NoteLastSeen(std::uint64_t epoch, WallTime seen) {
  return Guarded(*database_, [&]() -> absl::Status {
    Call(statements_->last_seen).Int(seen).Int(epoch).Run();
    return absl::OkStatus();
  });
}

absl::StatusOr<std::string> Index::Id() {
  std::string id;
  absl::Status read = Guarded(*database_, [&]() -> absl::Status {
    id = database_->execAndGet("SELECT value FROM facts WHERE name='id'").getString();
    return absl::OkStatus();
  });
  if (!read.ok()) return read;
  return id;
}

}  // namespace hotplate::journal
