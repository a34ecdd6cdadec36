#include "server/slurm/kill_wait.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "kernels/array/quoted.h"
#include "kernels/base/status.h"
#include "server/slurm/own_cluster.h"

namespace hotplate::server {
namespace {

constexpr std::int64_t kMostSeconds = 65533;  // Slurm's own bound

// "30 sec"
std::optional<std::int64_t> WholeSeconds(std::string_view text) {
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (error != std::errc() || unit != " sec" || count < 0 || count > kMostSeconds) return std::nullopt;
  return count;
}

}  // namespace

absl::StatusOr<core::nanoseconds> AskKillWait(const std::stop_token& stop) {
  const absl::StatusOr<SlurmConfig> config = OwnCluster(stop).Config();
  return config.ok() ? KillWaitOf(*config) : config.status();
}

bool KillWaitTries::Due(core::SteadyTime now) {
  if (left_ == 0 || now < next_) return false;
  next_ = now + pause_;
  pause_ *= 4;
  --left_;
  return true;
}

absl::StatusOr<core::nanoseconds> KillWaitOf(const SlurmConfig& config) {
  const auto row = config.find("KillWait");
  if (row == config.end()) return absl::NotFoundError("scontrol show config gave no KillWait");
  if (const auto seconds = WholeSeconds(row->second)) return std::chrono::seconds(*seconds);
  return absl::NotFoundError(ToAbsl("scontrol gave no KillWait in seconds, but " + Quoted(row->second)));
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
