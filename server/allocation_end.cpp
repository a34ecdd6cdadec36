#include "server/allocation_end.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "kernels/array/quoted.h"
#include "kernels/status.h"
#include "server/run_program.h"

namespace hotplate::server {
namespace {

constexpr std::chrono::nanoseconds kWarnings[] = {std::chrono::minutes(10), std::chrono::minutes(2)};
constexpr std::size_t kLongestAnswer = 1 << 20;  // of a job array: a line for each task
constexpr std::size_t kLongestQuote = 200;

// This process's environment for squeue: seconds since 1970, and nothing that turns it to another cluster or format.
std::vector<std::string> SqueueEnvironment() {
  std::vector<std::string> environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (text.starts_with("SQUEUE_") || text.starts_with("SLURM_CLUSTERS=") || text.starts_with("SLURM_TIME_FORMAT=")) {
      continue;
    }
    environment.emplace_back(text);
  }
  environment.emplace_back("SLURM_TIME_FORMAT=%s");
  environment.emplace_back("SQUEUE_LOCAL=1");  // not the siblings of a federation
  return environment;
}

std::string_view NextWord(std::string_view& text) {
  const std::size_t start = std::min(text.find_first_not_of(" \t"), text.size());
  const std::size_t end = std::min(text.find_first_of(" \t", start), text.size());
  const std::string_view word = text.substr(start, end - start);
  text.remove_prefix(end);
  return word;
}

std::optional<WallTime> Seconds(std::string_view text) {
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || seconds <= 0 || seconds >= std::int64_t{1} << 33) {
    return std::nullopt;
  }
  return WallTime(std::chrono::seconds(seconds));
}

std::string Start(const std::string& text) { return Quoted(text.substr(0, kLongestQuote)); }

std::string WithoutEnd(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

}  // namespace

AllocationEnd::AllocationEnd(Options options) : options_(std::move(options)), end_(0) {
  if (options_.known) end_ = std::chrono::nanoseconds(options_.known->time_since_epoch()).count();
}

std::optional<WallTime> AllocationEnd::Get() const {
  const std::int64_t end = end_.load(std::memory_order_relaxed);
  if (end == 0) return std::nullopt;
  return WallTime(std::chrono::duration_cast<WallTime::duration>(std::chrono::nanoseconds(end)));
}

void AllocationEnd::Start() {
  if (options_.interval.count() > 0 && !thread_.joinable()) thread_ = std::thread([this] { Run(); });
}

void AllocationEnd::Stop() {
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool AllocationEnd::Refresh() {
  if (!thread_.joinable()) return false;
  {
    const std::scoped_lock lock(mutex_);
    refresh_ = true;
  }
  wake_.notify_all();
  return true;
}

void AllocationEnd::Run() {
  bool told = false;
  std::unique_lock lock(mutex_);
  while (!stop_) {
    refresh_ = false;
    lock.unlock();
    const absl::StatusOr<WallTime> now = options_.ask([this] { return stop_.load(); });
    if (now.ok()) {
      const std::optional<WallTime> before = Get();
      end_ = std::chrono::nanoseconds(now->time_since_epoch()).count();
      if (before != *now) options_.changed(before, *now);
    } else if (!told && !stop_) {
      options_.failed(now.status());
    }
    told = !now.ok();
    ++answers_;
    lock.lock();
    wake_.wait_for(lock, options_.interval, [this] { return stop_ || refresh_; });
  }
}

absl::StatusOr<WallTime> AskSqueue(const std::string& job_id, const std::function<bool()>& give_up) {
  ProgramLimits limits;
  limits.output_bytes = kLongestAnswer;
  const absl::StatusOr<ProgramEnd> end =
      RunProgram({"squeue", "-h", "-j", job_id, "-o", "%A %e"}, SqueueEnvironment(), limits, give_up);
  if (!end.ok()) return end.status();
  if (end->exit_status != 0) {
    return absl::UnavailableError(ToAbsl("squeue ended with status " + std::to_string(end->exit_status) + " and said " +
                                         Start(WithoutEnd(end->errors))));
  }
  return ParseSqueue(end->output, job_id);
}

absl::StatusOr<WallTime> ParseSqueue(std::string_view output, const std::string& job_id) {
  for (std::string_view rest = output; !rest.empty();) {
    const std::size_t line_end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, line_end);
    rest.remove_prefix(std::min(line_end + 1, rest.size()));
    if (NextWord(line) != job_id) continue;
    if (const std::optional<WallTime> end = Seconds(NextWord(line))) return *end;
  }
  return absl::NotFoundError(
      ToAbsl("squeue gave no end of job " + job_id + "; it said " + Start(WithoutEnd(std::string(output)))));
}

bool EndWarnings::Due(std::chrono::nanoseconds left) {
  bool due = false;
  for (std::size_t i = 0; i < std::size(kWarnings); ++i) {
    const bool near = left <= kWarnings[i];
    due |= near && !said_[i];
    said_[i] = near;
  }
  return due;
}

std::string UtcText(WallTime time) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", absl::FromChrono(time), absl::UTCTimeZone());
}

}  // namespace hotplate::server
