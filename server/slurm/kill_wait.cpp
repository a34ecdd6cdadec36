#include "server/slurm/kill_wait.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "kernels/base/status.h"
#include "server/slurm/slurm_command.h"

namespace hotplate::server {
namespace {

constexpr std::int64_t kMostSeconds = 65533;  // Slurm's own bound

std::string_view Trimmed(std::string_view text) {
  const std::size_t first = std::min(text.find_first_not_of(" \t"), text.size());
  text.remove_prefix(first);
  return text.substr(0, text.find_last_not_of(" \t\r") + 1);
}

// "30 sec"
std::optional<std::int64_t> WholeSeconds(std::string_view text) {
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const std::string_view unit = Trimmed({end, static_cast<std::size_t>(text.data() + text.size() - end)});
  if (error != std::errc() || unit != "sec" || count < 0 || count > kMostSeconds) return std::nullopt;
  return count;
}

}  // namespace

absl::StatusOr<core::nanoseconds> AskKillWait(const std::stop_token& stop) {
  const absl::StatusOr<std::string> config = RunSlurm({"scontrol", "show", "config"}, stop);
  return config.ok() ? ParseKillWait(*config) : config.status();
}

bool KillWaitTries::Due(core::SteadyTime now) {
  if (left_ == 0 || now < next_) return false;
  next_ = now + pause_;
  pause_ *= 4;
  --left_;
  return true;
}

absl::StatusOr<core::nanoseconds> ParseKillWait(std::string_view config) {
  while (!config.empty()) {
    const std::size_t line_end = std::min(config.find('\n'), config.size());
    const std::string_view line = config.substr(0, line_end);
    config.remove_prefix(std::min(line_end + 1, config.size()));
    const std::size_t equals = line.find('=');
    if (equals == line.npos || Trimmed(line.substr(0, equals)) != "KillWait") continue;
    if (const auto seconds = WholeSeconds(Trimmed(line.substr(equals + 1)))) return std::chrono::seconds(*seconds);
    return absl::NotFoundError(ToAbsl("scontrol gave no KillWait in seconds, but " + QuotedStart(line)));
  }
  return absl::NotFoundError("scontrol show config gave no KillWait");
}

core::nanoseconds LastMoments::all() const { return jobs + after + goodbye + resort + last; }

LastMoments Divide(core::nanoseconds kill_wait) {
  constexpr core::nanoseconds kShortest = std::chrono::seconds(1);
  constexpr core::nanoseconds kLongestPart = std::chrono::seconds(2);
  constexpr core::nanoseconds kLongestGoodbye = std::chrono::milliseconds(500);
  kill_wait = std::max(kill_wait, kShortest);
  LastMoments moments;
  moments.after = std::min(kill_wait / 12, kLongestPart);
  moments.goodbye = std::min(kill_wait / 24, kLongestGoodbye);
  moments.resort = std::min(kill_wait / 10, kLongestPart);
  moments.last = std::min(kill_wait / 12, kLongestPart);
  moments.jobs = kill_wait * 5 / 6 - moments.all();
  return moments;
}

}  // namespace hotplate::server
