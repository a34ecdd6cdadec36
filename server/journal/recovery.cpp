#include "server/journal/recovery.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "kernels/base/status.h"

namespace hotplate::journal {
namespace {

// In the order of ReadJob.
constexpr char kJobColumns[] =
    "j.number, j.epoch, j.state, j.attached, j.may_rerun, j.owner, j.session, j.request_key, j.payload_hash, j.kernel,"
    " j.label, j.priority, j.time_limit_ns, j.accept_ns, j.start_sequence, j.start_ns, j.device, j.end_sequence,"
    " j.end_ns, j.fetch_ns, j.release_ns, j.device_ns, j.gpu_ns, j.energy_joules, j.cancel_ns";

// The largest that any job had: rows that were forgotten have left theirs in the facts.
constexpr char kLastNumber[] =
    "SELECT max((SELECT value FROM facts WHERE name='last number'), (SELECT coalesce(max(number), 0) FROM jobs))";

// The columns of the present row, one after the other.
class Row {
 public:
  explicit Row(const SQLite::Statement& statement, int first = 0) : statement_(statement), at_(first) {}

  std::int64_t Int() { return Next().getInt64(); }
  std::uint64_t Number() { return static_cast<std::uint64_t>(Int()); }
  std::string Bytes() {
    const SQLite::Column column = Next();
    const void* const bytes = column.getBlob();
    return {static_cast<const char*>(bytes), static_cast<std::size_t>(bytes == nullptr ? 0 : column.getBytes())};
  }
  WallTime Time() { return FromNs(Int()); }
  std::optional<std::int64_t> MaybeInt() {
    const SQLite::Column column = Next();
    return column.isNull() ? std::nullopt : std::optional(column.getInt64());
  }
  std::optional<WallTime> MaybeTime() {
    const std::optional<std::int64_t> ns = MaybeInt();
    return ns ? std::optional(FromNs(*ns)) : std::nullopt;
  }
  std::optional<double> MaybeReal() {
    const SQLite::Column column = Next();
    return column.isNull() ? std::nullopt : std::optional(column.getDouble());
  }
  Sha256 Digest() {
    const std::string bytes = Bytes();
    Sha256 sha;
    if (bytes.size() == sha.bytes.size())
      std::copy_n(std::as_bytes(std::span(bytes)).begin(), bytes.size(), sha.bytes.begin());
    return sha;
  }
  int at() const { return at_; }

 private:
  SQLite::Column Next() { return statement_.getColumn(at_++); }

  const SQLite::Statement& statement_;
  int at_;
};

KeptJob ReadJob(Row& row) {
  KeptJob job;
  JobAccepted& accepted = job.accepted;
  accepted.number = row.Number();
  job.epoch = row.Number();
  job.state = static_cast<JobState>(row.Int());
  job.attached = row.Int() != 0;
  accepted.may_rerun = row.Int() != 0;
  accepted.owner = row.Bytes();
  accepted.session = row.Bytes();
  accepted.request_key = row.Bytes();
  accepted.payload_hash = row.Digest();
  accepted.kernel = row.Bytes();
  accepted.label = row.Bytes();
  accepted.priority = static_cast<int>(row.Int());
  if (const std::optional<std::int64_t> limit = row.MaybeInt()) accepted.time_limit = nanoseconds(*limit);
  accepted.time = row.Time();
  job.changes.push_back({.sequence = 1, .state = JobState::kPending, .time = accepted.time});
  const std::optional<std::int64_t> start_sequence = row.MaybeInt();
  job.start_time = row.MaybeTime();
  job.device = row.Bytes();
  if (start_sequence && job.start_time) {
    job.changes.push_back(
        {static_cast<std::uint64_t>(*start_sequence), JobState::kRunning, *job.start_time, job.device});
  }
  const std::optional<std::int64_t> end_sequence = row.MaybeInt();
  job.end_time = row.MaybeTime();
  if (end_sequence && job.end_time) {
    job.changes.push_back({static_cast<std::uint64_t>(*end_sequence), job.state, *job.end_time, job.device});
  }
  job.fetch_time = row.MaybeTime();
  job.release_time = row.MaybeTime();
  job.use.device_time = nanoseconds(row.MaybeInt().value_or(0));
  job.use.gpu_time = nanoseconds(row.Int());
  job.use.energy_joules = row.MaybeReal();
  job.cancel_time = row.MaybeTime();
  return job;
}

SpooledFile ReadFile(Row& row) {
  SpooledFile file;
  file.role = static_cast<FileRole>(row.Int());
  file.name = row.Bytes();
  file.file = row.Bytes();
  file.sha256 = row.Digest();
  file.bytes = row.Number();
  const std::string dtype = row.Bytes(), shape = row.Bytes();
  if (const std::optional<DType> known = ParseDType(dtype)) {
    Signature signature{.dtype = *known, .shape = {}};
    std::int64_t size = 0;
    for (const absl::string_view one : absl::StrSplit(shape, ',', absl::SkipEmpty())) {
      if (absl::SimpleAtoi(one, &size)) signature.shape.push_back(size);
    }
    file.signature = std::move(signature);
  }
  file.shared = row.Int() != 0;
  file.synced = row.Int() != 0;
  return file;
}

// Adds what other tables have of these jobs. `which`: the condition on jobs j that chose them.
void AddFilesAndReruns(SQLite::Database& database, const std::string& which,
                       const absl::flat_hash_map<std::uint64_t, KeptJob*>& jobs) {
  SQLite::Statement files(database,
                          "SELECT f.number, f.role, f.name, f.file, f.sha256, f.bytes, f.dtype, f.shape, f.shared,"
                          " f.synced FROM jobs j JOIN files f ON f.number=j.number WHERE " +
                              which);
  while (files.executeStep()) {
    Row row(files);
    const auto job = jobs.find(row.Number());
    if (job == jobs.end()) continue;
    SpooledFile file = ReadFile(row);
    std::vector<SpooledFile>& of_role =
        file.role == FileRole::kInput ? job->second->accepted.inputs : job->second->results;
    of_role.push_back(std::move(file));
  }
  SQLite::Statement reruns(database,
                           "SELECT r.number, r.start_sequence, r.start_ns, r.device, r.requeue_sequence, r.requeue_ns"
                           " FROM jobs j JOIN reruns r ON r.number=j.number WHERE " +
                               which);
  while (reruns.executeStep()) {
    Row row(reruns);
    const auto job = jobs.find(row.Number());
    if (job == jobs.end()) continue;
    std::vector<Change>& changes = job->second->changes;
    Change start{.sequence = row.Number(), .state = JobState::kRunning, .time = row.Time()};
    start.device = row.Bytes();
    changes.push_back(std::move(start));
    const std::uint64_t sequence = row.Number();
    changes.push_back({.sequence = sequence, .state = JobState::kPending, .time = row.Time()});
  }
  for (const auto& [number, job] : jobs) {
    std::sort(job->changes.begin(), job->changes.end(),
              [](const Change& a, const Change& b) { return a.sequence < b.sequence; });
  }
}

absl::flat_hash_map<std::uint64_t, KeptJob*> ByNumber(std::vector<KeptJob>& jobs) {
  absl::flat_hash_map<std::uint64_t, KeptJob*> by_number;
  by_number.reserve(jobs.size());
  for (KeptJob& job : jobs) by_number.emplace(job.accepted.number, &job);
  return by_number;
}

std::vector<KeptJob> Unfinished(SQLite::Database& database) {
  std::vector<KeptJob> jobs;
  SQLite::Statement query(database, absl::StrCat("SELECT ", kJobColumns,
                                                 ", r.request FROM jobs j LEFT JOIN requests r ON r.number=j.number"
                                                 " WHERE j.state<3 ORDER BY j.number"));
  while (query.executeStep()) {
    Row row(query);
    jobs.push_back(ReadJob(row));
    jobs.back().accepted.request = row.Bytes();
  }
  AddFilesAndReruns(database, "j.state<3", ByNumber(jobs));
  return jobs;
}

constexpr char kKept[] = "j.end_ns IS NOT NULL AND j.release_ns IS NULL AND j.attached=0";

std::vector<KeptJob> Ended(SQLite::Database& database, const RecoveryBounds& bounds) {
  std::vector<KeptJob> jobs;
  SQLite::Statement query(
      database, absl::StrCat("SELECT ", kJobColumns,
                             ", r.request, e.end, e.outputs FROM jobs j LEFT JOIN requests r ON"
                             " r.number=j.number LEFT JOIN ends e ON e.number=j.number WHERE ",
                             kKept, " AND (j.end_ns>=? OR j.fetch_ns IS NULL) ORDER BY j.end_ns DESC LIMIT ?"));
  query.bind(1, ToNs(bounds.ended_since));
  query.bind(2, static_cast<std::int64_t>(bounds.most_ended));
  while (query.executeStep()) {
    Row row(query);
    jobs.push_back(ReadJob(row));
    jobs.back().accepted.request = row.Bytes();
    jobs.back().end = row.Bytes();
    jobs.back().outputs = row.Bytes();
  }
  std::reverse(jobs.begin(), jobs.end());
  AddFilesAndReruns(database, kKept, ByNumber(jobs));
  return jobs;
}

std::vector<ArraySaved> ReadArrays(SQLite::Database& database) {
  std::vector<ArraySaved> arrays;
  SQLite::Statement query(database, "SELECT file, name, owner, lease_end_ns, number FROM arrays ORDER BY file");
  while (query.executeStep()) {
    Row row(query);
    ArraySaved& array = arrays.emplace_back();
    array.file = row.Bytes();
    array.name = row.Bytes();
    array.owner = row.Bytes();
    array.lease_end = row.Time();
    array.number = row.Number();
  }
  return arrays;
}

std::vector<KeptDaemon> ReadDaemons(SQLite::Database& database) {
  std::vector<KeptDaemon> daemons;
  SQLite::Statement query(database,
                          "SELECT epoch, generation, name, node, slurm_job, start_ns, end_ns, end_reason, seen_ns, gpus"
                          " FROM daemons ORDER BY epoch");
  while (query.executeStep()) {
    Row row(query);
    KeptDaemon daemon;
    daemon.epoch = row.Number();
    daemon.life.generation = row.Bytes();
    daemon.life.name = row.Bytes();
    daemon.life.node = row.Bytes();
    daemon.life.slurm_job = row.Bytes();
    daemon.start = row.Time();
    daemon.end = row.MaybeTime();
    daemon.end_reason = row.Bytes();
    daemon.seen = row.MaybeTime();
    daemon.gpus = static_cast<int>(row.Int());
    daemons.push_back(std::move(daemon));
  }
  return daemons;
}

}  // namespace

absl::StatusOr<Recovered> Recover(Index& index, const RecoveryBounds& bounds) {
  Recovered recovered;
  SQLite::Database& database = index.database();
  absl::Status read = Guarded(database, [&]() -> absl::Status {
    recovered.last_number = static_cast<std::uint64_t>(database.execAndGet(kLastNumber).getInt64());
    recovered.unfinished = Unfinished(database);
    recovered.ended = Ended(database, bounds);
    recovered.arrays = ReadArrays(database);
    recovered.daemons = ReadDaemons(database);
    return absl::OkStatus();
  });
  if (!read.ok()) return read;
  return recovered;
}

absl::StatusOr<std::vector<KeptJob>> EndedJobs(Index& index, const JobQuery& query) {
  std::vector<KeptJob> jobs;
  SQLite::Database& database = index.database();
  absl::Status read = Guarded(database, [&]() -> absl::Status {
    SQLite::Statement statement(
        database,
        absl::StrCat("SELECT ", kJobColumns, ", e.end", query.requests ? ", r.request" : "",
                     " FROM jobs j LEFT JOIN ends e ON e.number=j.number",
                     query.requests ? " LEFT JOIN requests r ON r.number=j.number" : "",
                     " WHERE j.end_ns IS NOT NULL"
                     " AND (j.end_ns, j.number)<(?, ?) AND j.end_ns>=? AND (?='' OR j.kernel=?) AND (?='' OR j.label=?)"
                     " AND (1<<j.state)&?"
                     " ORDER BY j.end_ns DESC, j.number DESC LIMIT ?"));
    constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();
    statement.bind(1, query.before ? ToNs(query.before->end) : kAny);
    statement.bind(2, query.before ? static_cast<std::int64_t>(query.before->number) : kAny);
    statement.bind(3, query.ended_since ? ToNs(*query.ended_since) : std::numeric_limits<std::int64_t>::min());
    for (const int at : {4, 5}) statement.bind(at, query.kernel);
    for (const int at : {6, 7}) statement.bind(at, query.label);
    std::int64_t states = query.states.empty() ? -1 : 0;
    for (const JobState state : query.states) states |= std::int64_t{1} << static_cast<int>(state);
    statement.bind(8, states);
    statement.bind(9, static_cast<std::int64_t>(query.limit));
    while (statement.executeStep()) {
      Row row(statement);
      jobs.push_back(ReadJob(row));
      jobs.back().end = row.Bytes();
      if (query.requests) jobs.back().accepted.request = row.Bytes();
    }
    if (jobs.empty()) return absl::OkStatus();
    AddFilesAndReruns(
        database, absl::StrCat("j.end_ns BETWEEN ", ToNs(*jobs.back().end_time), " AND ", ToNs(*jobs.front().end_time)),
        ByNumber(jobs));
    return absl::OkStatus();
  });
  if (!read.ok()) return read;
  return jobs;
}

absl::StatusOr<KeptJob> FindJob(Index& index, std::uint64_t number) {
  std::vector<KeptJob> jobs;
  SQLite::Database& database = index.database();
  absl::Status read = Guarded(database, [&]() -> absl::Status {
    SQLite::Statement query(database, absl::StrCat("SELECT ", kJobColumns,
                                                   ", r.request, e.end, e.outputs FROM jobs j LEFT JOIN requests"
                                                   " r ON r.number=j.number LEFT JOIN ends e ON e.number=j.number"
                                                   " WHERE j.number=?"));
    query.bind(1, static_cast<std::int64_t>(number));
    if (!query.executeStep()) return absl::NotFoundError(absl::StrCat("there is no job ", number));
    Row row(query);
    jobs.push_back(ReadJob(row));
    jobs.back().accepted.request = row.Bytes();
    jobs.back().end = row.Bytes();
    jobs.back().outputs = row.Bytes();
    AddFilesAndReruns(database, absl::StrCat("j.number=", number), ByNumber(jobs));
    return absl::OkStatus();
  });
  if (!read.ok()) return read;
  return std::move(jobs.front());
}

absl::StatusOr<std::vector<std::uint64_t>> NumbersBetween(Index& index, std::uint64_t first, std::uint64_t last,
                                                          std::size_t limit) {
  std::vector<std::uint64_t> numbers;
  absl::Status read = Guarded(index.database(), [&]() -> absl::Status {
    SQLite::Statement query(index.database(),
                            "SELECT number FROM jobs WHERE number BETWEEN ? AND ? ORDER BY number DESC LIMIT ?");
    constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
    query.bind(1, static_cast<std::int64_t>(std::min(first, kMost)));
    query.bind(2, static_cast<std::int64_t>(std::min(last, kMost)));
    query.bind(3, static_cast<std::int64_t>(limit));
    while (query.executeStep()) numbers.push_back(static_cast<std::uint64_t>(query.getColumn(0).getInt64()));
    return absl::OkStatus();
  });
  if (!read.ok()) return read;
  std::reverse(numbers.begin(), numbers.end());
  return numbers;
}

absl::StatusOr<std::vector<KeptDaemon>> Daemons(Index& index) {
  std::vector<KeptDaemon> daemons;
  absl::Status read = Guarded(index.database(), [&]() -> absl::Status {
    daemons = ReadDaemons(index.database());
    return absl::OkStatus();
  });
  if (!read.ok()) return read;
  return daemons;
}

absl::StatusOr<Sums> SumsSince(Index& index, std::optional<WallTime> since) {
  Sums sums;
  absl::Status read = Guarded(index.database(), [&]() -> absl::Status {
    SQLite::Statement query(index.database(),
                            "SELECT minute, kernel, label, state, jobs, device_ns, gpu_ns, energy_joules FROM sums"
                            " WHERE minute>=?");
    constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::min();
    query.bind(1, since ? std::chrono::floor<std::chrono::minutes>(*since).time_since_epoch().count() : kAll);
    while (query.executeStep()) {
      Row row(query);
      SumKey key;
      key.minute = row.Int();
      key.kernel = row.Bytes();
      key.label = row.Bytes();
      key.state = static_cast<JobState>(row.Int());
      Sum& sum = sums[std::move(key)];
      sum.jobs = row.Number();
      sum.device_time = nanoseconds(row.Int());
      sum.gpu_time = nanoseconds(row.Int());
      sum.energy_joules = row.MaybeReal().value_or(0);
    }
    return absl::OkStatus();
  });
  if (!read.ok()) return read;
  return sums;
}

}  // namespace hotplate::journal
