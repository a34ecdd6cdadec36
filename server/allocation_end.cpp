#include "server/allocation_end.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "kernels/status.h"
#include "server/slurm_command.h"

namespace hotplate::server {
namespace {

constexpr std::chrono::nanoseconds kWarnings[] = {std::chrono::minutes(10), std::chrono::minutes(2)};

std::string_view NextWord(std::string_view& text) {
  const std::size_t start = std::min(text.find_first_not_of(" \t"), text.size());
  const std::size_t end = std::min(text.find_first_of(" \t", start), text.size());
  const std::string_view word = text.substr(start, end - start);
  text.remove_prefix(end);
  return word;
}

std::optional<core::WallTime> Seconds(std::string_view text) {
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || seconds <= 0 || seconds >= std::int64_t{1} << 33) {
    return std::nullopt;
  }
  return core::WallTime(std::chrono::seconds(seconds));
}

}  // namespace

AllocationEnd::AllocationEnd(Options options) : options_(std::move(options)), end_(0) {
  if (options_.known) end_ = std::chrono::nanoseconds(options_.known->time_since_epoch()).count();
}

std::optional<core::WallTime> AllocationEnd::Get() const {
  const std::int64_t end = end_.load(std::memory_order_relaxed);
  if (end == 0) return std::nullopt;
  return core::WallTime(std::chrono::duration_cast<core::WallTime::duration>(std::chrono::nanoseconds(end)));
}

void AllocationEnd::Start() {
  if (options_.interval.count() > 0 && !thread_.joinable()) thread_ = std::thread([this] { Run(); });
}

void AllocationEnd::Stop() {
  {
    MutexLock lock(mutex_);
    stop_.request_stop();
  }
  wake_.NotifyAll();
  if (thread_.joinable()) thread_.join();
}

bool AllocationEnd::Refresh() {
  if (!thread_.joinable()) return false;
  {
    MutexLock lock(mutex_);
    refresh_ = true;
  }
  wake_.NotifyAll();
  return true;
}

void AllocationEnd::Run() {
  bool told = false;
  MutexLock lock(mutex_);
  while (!stop_.stop_requested()) {
    refresh_ = false;
    lock.Unlock();
    const absl::StatusOr<core::WallTime> now = options_.ask(stop_.get_token());
    if (now.ok()) {
      const std::optional<core::WallTime> before = Get();
      end_ = std::chrono::nanoseconds(now->time_since_epoch()).count();
      if (before != *now) options_.changed(before, *now);
    } else if (!told && !stop_.stop_requested()) {
      options_.failed(now.status());
    }
    told = !now.ok();
    ++answers_;
    if (options_.then && !stop_.stop_requested()) options_.then(stop_.get_token());
    lock.Lock();
    const auto next = std::chrono::steady_clock::now() + options_.interval;
    while (!stop_.stop_requested() && !refresh_ && wake_.WaitUntil(mutex_, next)) {
    }
  }
}

absl::StatusOr<core::WallTime> AskSqueue(const std::string& job_id, const std::stop_token& stop) {
  const absl::StatusOr<std::string> answer = RunSlurm({"squeue", "-h", "-j", job_id, "-o", "%A %e"}, stop);
  return answer.ok() ? ParseSqueue(*answer, job_id) : answer.status();
}

absl::StatusOr<core::WallTime> ParseSqueue(std::string_view output, const std::string& job_id) {
  for (std::string_view rest = output; !rest.empty();) {
    const std::size_t line_end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, line_end);
    rest.remove_prefix(std::min(line_end + 1, rest.size()));
    if (NextWord(line) != job_id) continue;
    if (const std::optional<core::WallTime> end = Seconds(NextWord(line))) return *end;
  }
  return absl::NotFoundError(ToAbsl("squeue gave no end of job " + job_id + "; it said " + QuotedStart(output)));
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

}  // namespace hotplate::server
