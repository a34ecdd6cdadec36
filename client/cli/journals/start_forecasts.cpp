#include "client/cli/journals/start_forecasts.h"

#include <algorithm>

#include "hotplate/v1/jobs.pb.h"

namespace hotplate::cli {
namespace {

constexpr std::chrono::nanoseconds kNoWait = std::chrono::milliseconds(10);

}  // namespace

bool ForetoldWait::IsWithinTwice() const {
  const auto [least, most] = std::minmax(std::max(foretold, kNoWait), std::max(real, kNoWait));
  return most <= 2 * least;
}

std::optional<ForetoldWait> ForetoldWaitOf(const PastJob& job) {
  v1::JobEnd end;
  if (job.end.empty() || !end.ParseFromString(job.end)) return std::nullopt;
  const v1::Receipt& receipt = end.result().receipt();
  if (!receipt.has_queue_forecast_ns()) return std::nullopt;
  return ForetoldWait{std::chrono::nanoseconds(receipt.queue_forecast_ns()),
                      std::chrono::nanoseconds(receipt.queue_ns())};
}

void StartForecasts::Add(const PastJob& job) {
  const std::optional<ForetoldWait> wait = ForetoldWaitOf(job);
  if (!wait) return;
  ++all_;
  if (wait->IsWithinTwice()) ++good_;
}

std::string StartForecasts::Text() const {
  if (all_ == 0) return "";
  return "start forecasts: " + Percent(static_cast<double>(good_) / static_cast<double>(all_)) + " of " +
         std::to_string(all_) + " within a factor of 2";
}

}  // namespace hotplate::cli
