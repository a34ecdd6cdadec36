#include "client/cli/partitions/sacct_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "kernels/base/slurm.h"

namespace hotplate::cli {
namespace {

// No row is longer; a line that is comes from something else.
constexpr std::size_t kLongestRow = 64 * 1024;
constexpr std::size_t kRowColumns = 13;
// More than any cluster has; larger numbers are errors. Sums, and products of two, stay far below 2^63.
constexpr std::int64_t kMostOfAnything = std::int64_t{1} << 30;
constexpr double kMostMemoryMib = 1e12;

std::vector<std::string_view> Split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<std::int64_t> Count(std::string_view text) {
  std::int64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  if (value < 0 || value > kMostOfAnything) return std::nullopt;
  return value;
}

// "5-9]", "1,3,7-9:2%4]": how many tasks of an array wait as one.
std::int64_t TasksOf(std::string_view list) {
  list = list.substr(0, list.find_first_of("%]"));
  std::int64_t tasks = 0;
  for (const std::string_view part : Split(list, ',')) {
    const std::size_t dash = part.find('-'), colon = part.find(':');
    const auto first = Count(part.substr(0, dash));
    if (dash == std::string_view::npos) {
      tasks += first ? 1 : 0;
      continue;
    }
    const auto last = Count(part.substr(dash + 1, colon == std::string_view::npos ? colon : colon - dash - 1));
    const auto step = colon == std::string_view::npos ? 1 : Count(part.substr(colon + 1)).value_or(1);
    if (first && last && *last >= *first) tasks += (*last - *first) / std::max<std::int64_t>(step, 1) + 1;
  }
  return std::clamp<std::int64_t>(tasks, 1, kMostOfAnything);
}

}  // namespace

std::optional<std::int64_t> ParseSlurmMinutes(std::string_view text) {
  if (text == "UNLIMITED") return kUnlimited;
  if (text == "Partition_Limit") return kPartitionLimit;
  std::int64_t days = 0;
  const std::size_t dash = text.find('-');
  if (dash != std::string_view::npos) {
    const auto count = Count(text.substr(0, dash));
    if (!count) return std::nullopt;
    days = *count;
    text.remove_prefix(dash + 1);
  }
  std::vector<std::int64_t> parts;
  for (const std::string_view part : Split(text, ':')) {
    const auto count = Count(part);
    if (!count) return std::nullopt;
    parts.push_back(*count);
  }
  if (parts.size() > 3) return std::nullopt;
  std::int64_t seconds = 0;
  if (dash != std::string_view::npos) {  // days-hours[:minutes[:seconds]]
    parts.resize(3);
    seconds = parts[0] * 3600 + parts[1] * 60 + parts[2];
  } else if (parts.size() == 1) {
    seconds = parts[0] * 60;
  } else {
    for (const std::int64_t part : parts) seconds = seconds * 60 + part;
  }
  return std::min(days * 24 * 60 + (seconds + 59) / 60, kMostOfAnything);
}

std::optional<std::int64_t> ParseMemory(std::string_view text, std::int64_t cpus, std::int64_t nodes) {
  double times = 1;
  if (text.ends_with('c')) times = static_cast<double>(std::max<std::int64_t>(cpus, 1));
  if (text.ends_with('n')) times = static_cast<double>(std::max<std::int64_t>(nodes, 1));
  if (text.ends_with('c') || text.ends_with('n')) text.remove_suffix(1);
  if (text.empty()) return std::nullopt;
  double unit = 1;  // MiB
  constexpr std::string_view kUnits = "KMGTPE";
  if (const std::size_t found = kUnits.find(text.back()); found != std::string_view::npos) {
    unit = std::pow(1024.0, static_cast<double>(found) - 1);
    text.remove_suffix(1);
  }
  double amount = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), amount, std::chars_format::fixed);
  if (text.empty() || parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  const double mib = amount * unit * times;
  if (!(mib > 0) || mib > kMostMemoryMib) return std::nullopt;
  return std::max<std::int64_t>(static_cast<std::int64_t>(mib), 1);
}

std::string_view TresOf(std::string_view tres, std::string_view key) {
  for (const std::string_view part : Split(tres, ','))
    if (part.size() > key.size() && part.starts_with(key) && part[key.size()] == '=')
      return part.substr(key.size() + 1);
  return {};
}

std::int64_t GpusOf(std::string_view tres) {
  if (const auto all = Count(TresOf(tres, "gres/gpu"))) return *all;
  std::int64_t gpus = 0;
  for (const std::string_view part : Split(tres, ','))
    if (part.starts_with("gres/gpu:"))
      gpus += Count(part.substr(std::min(part.rfind('='), part.size() - 1) + 1)).value_or(0);
  return std::min(gpus, kMostOfAnything);
}

std::optional<SacctRow> ParseSacctRow(std::string_view line) {
  const std::vector<std::string_view> fields = Split(line, '|');
  if (fields.size() != kRowColumns) return std::nullopt;
  const auto time = [&fields](std::size_t column) { return ParseSlurmTime(std::string(fields[column])); };
  SacctRow row;
  row.job = fields[0];
  row.start.partition = fields[1];
  if (row.job.empty() || row.start.partition.empty()) return std::nullopt;
  const std::size_t list = row.job.find("_[");
  if (list != std::string::npos) row.tasks = TasksOf(std::string_view(row.job).substr(list + 2));

  const bool pending = fields[2].starts_with("PENDING");
  const auto start = time(5);
  if (pending) {
    row.kind = start || !time(4) ? SacctRow::Kind::kNotQueued : SacctRow::Kind::kWaiting;
    return row;
  }
  // A job that was cancelled while it waited has no start or, in some versions, its end for one; no nodes in any.
  const bool never = !start || (fields[9].empty() && fields[5] == fields[6]);
  if (never && fields[2].starts_with("REQUEUED")) {
    // Put back in the second of its start, which Slurm then forgets: it waits on, as another row tells.
    row.kind = SacctRow::Kind::kNotQueued;
    return row;
  }
  if (never) {
    const auto end = time(6);
    if (!end) return std::nullopt;
    row.start.start = *end;
    row.start.wait = kNeverStarted;
    return row;
  }
  const auto eligible = time(4), submit = time(3);
  const auto minutes = ParseSlurmMinutes(fields[7]);
  auto cpus = Count(TresOf(fields[12], "cpu"));
  if (!cpus) cpus = Count(fields[8]);
  if (!minutes || !cpus || (!eligible && !submit)) return std::nullopt;
  const std::int64_t nodes = Count(TresOf(fields[12], "node")).value_or(Count(fields[10]).value_or(1));
  auto memory = ParseMemory(TresOf(fields[12], "mem"), *cpus, nodes);
  if (!memory) memory = ParseMemory(fields[11], *cpus, nodes);
  row.start.start = *start;
  row.start.wait = std::max<EpochSeconds>(0, *start - eligible.value_or(submit.value_or(*start)));
  row.start.cpus = *cpus;
  row.start.minutes = *minutes;
  row.start.memory_mib = memory.value_or(kUnknownMemory);
  row.start.gpus = GpusOf(fields[12]);
  return row;
}

bool SacctReader::Take(std::string_view block) {
  while (!block.empty()) {
    const std::size_t end = block.find('\n');
    const std::string_view part = block.substr(0, end);
    if (line_.size() + part.size() > kLongestRow) {
      too_long_ = true;
      line_.clear();
    }
    if (!too_long_) line_ += part;
    if (end == std::string_view::npos) return true;
    if (rows_ == most_rows_) return false;
    ++rows_;
    if (too_long_)
      ++jobs_.unreadable;
    else
      Line(line_);
    line_.clear();
    too_long_ = false;
    block.remove_prefix(end + 1);
  }
  return true;
}

SliceJobs SacctReader::Jobs() && {
  if (!line_.empty()) Line(line_);
  return std::move(jobs_);
}

void SacctReader::Line(std::string_view line) {
  if (line.empty()) return;
  std::optional<SacctRow> row = ParseSacctRow(line);
  if (!row) {
    ++jobs_.unreadable;
    return;
  }
  switch (row->kind) {
    case SacctRow::Kind::kWaiting:
      // The first to start of several takes it: until then it waits in all of them.
      for (const std::string_view partition : Split(row->start.partition, ','))
        jobs_.waiting[std::string(partition)] += row->tasks;
      break;
    case SacctRow::Kind::kPast:
      if (row->start.start >= from_ && row->start.start < to_) Past(*std::move(row));
      break;
    case SacctRow::Kind::kNotQueued:
      break;
  }
}

void SacctReader::Past(SacctRow row) {
  const std::string at = "@" + std::to_string(row.start.start);
  if (!seen_.insert(row.job + at).second) return;
  const std::size_t plus = row.job.find('+');
  if (plus != std::string::npos && row.start.wait != kNeverStarted) {
    const auto [found, first] =
        heterogeneous_.emplace(row.job.substr(0, plus) + " " + row.start.partition + at, jobs_.starts.size());
    if (!first) {
      JobStart& job = jobs_.starts[found->second];
      job.cpus += row.start.cpus;
      job.gpus += row.start.gpus;
      job.memory_mib = job.memory_mib == kUnknownMemory || row.start.memory_mib == kUnknownMemory
                           ? kUnknownMemory
                           : job.memory_mib + row.start.memory_mib;
      // The first component may have become eligible last. The queue's part is the time that all of them waited.
      job.wait = std::min(job.wait, row.start.wait);
      return;
    }
  }
  jobs_.starts.push_back(std::move(row.start));
}

}  // namespace hotplate::cli
