#include "client/cli/jobs/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "client/cli/sweeps/sweep_text.h"
#include "client/cli/terminal/format.h"
#include "kernels/base/quantity.h"

namespace hotplate::cli {
namespace {

constexpr int kBarWidth = 20;
constexpr std::chrono::milliseconds kRedraw(50);
// A transfer that took this little leaves no line behind.
constexpr std::uint64_t kWorthALine = 4'000'000;
// A rate measured over less says little.
constexpr std::chrono::milliseconds kWorthARate(500);
constexpr std::chrono::milliseconds kWorthAByteRate(20);
// Longer estimates are of no use.
constexpr double kLongestEta = 365.0 * 24 * 3600;

// In the unit that needs no zeros: "3.2 %/s", "0.27 %/min", "4.2 %/h".
std::string Rate(double per_second) {
  const double percent = per_second * 100;
  const auto [value, unit] = percent >= 0.1        ? std::pair(percent, "s")
                             : percent * 60 >= 0.1 ? std::pair(percent * 60, "min")
                                                   : std::pair(percent * 3600, "h");
  char text[48];
  std::snprintf(text, sizeof text, value >= 10 ? "%.0f %%/%s" : "%.2g %%/%s", value, unit);
  return text;
}

std::string Eta(double seconds) {
  if (seconds > kLongestEta) return "";
  return "   ETA " + SecondsText(seconds);
}

}  // namespace

std::string Bar(double fraction, int width) {
  static const char* const kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(std::floor(std::clamp(fraction, 0.0, 1.0) * width * 8));
  std::string bar;
  for (int i = 0; i < eighths / 8; ++i) bar += "█";
  bar += kEighths[eighths % 8];
  const int drawn = eighths / 8 + (eighths % 8 != 0 ? 1 : 0);
  return bar + std::string(static_cast<std::size_t>(width - drawn), ' ');
}

void Progress::Draw(const std::string& line, bool last, bool now_please) {
  const Time now = clock_();
  if (!last && !now_please && drawn_ && now - drawn_at_ < kRedraw) return;
  drawn_at_ = now;
  console_.err << "\r\033[K" << line;
  if (last) console_.err << "\n";
  console_.err.flush();
  drawn_ = !last;
}

void Progress::Transfer(const char* what, std::uint64_t done, std::uint64_t total) {
  if (!shown_) return;
  const MutexLock lock(mutex_);
  const Time now = clock_();
  if (phase_ != what || done < first_bytes_) {
    phase_ = what;
    first_bytes_ = done;
    first_time_ = now;
  }
  const double seconds = std::chrono::duration<double>(now - first_time_).count();
  const double rate = now - first_time_ >= kWorthAByteRate ? static_cast<double>(done - first_bytes_) / seconds : 0;
  std::string line = phase_ + " " +
                     Bar(total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 1, kBarWidth) + " " +
                     BytesText(done);
  if (rate > 0) line += "   " + ByteRate(rate);
  if (rate > 0 && done < total && seconds > 0.5) line += Eta(static_cast<double>(total - done) / rate);
  Draw(line, done == total && total >= kWorthALine);
}

void Progress::Update(const v1::JobUpdate& update) {
  const MutexLock lock(mutex_);
  if (!update.job_id().empty()) job_id_ = update.job_id();
  std::string line;
  switch (update.kind_case()) {
    case v1::JobUpdate::kStateChange:
      if (!update.state_change().device().empty()) device_ = update.state_change().device();
      if (update.state_change().state() == v1::RUNNING) {
        phase_ = "running ";
        first_.reset();
        measured_from_.reset();
        line = "running  job " + job_id_ + " on " + device_;
      } else if (update.state_change().state() == v1::PENDING) {
        line = "waiting  job " + job_id_ + " in the queue";
      }
      break;
    case v1::JobUpdate::kProgress: {
      const double fraction = std::clamp(update.progress().fraction(), 0.0, 1.0);
      line = "running  " + Bar(fraction, kBarWidth) + " " +
             (update.progress().has_tasks() ? CountsText(update.progress().tasks()) : Percent(fraction)) +
             Pace(fraction, clock_());
      break;
    }
    case v1::JobUpdate::kNotice:
      if (shown_) Draw("! " + Printable(update.notice().text()), true);
      return;
    default:
      return;
  }
  if (shown_ && !line.empty()) Draw(line, false, update.has_state_change());
}

// Between two reports and not since the start: a watch may come hours after that, and the daemon's clock is another
// node's.
std::string Progress::Pace(double fraction, Time now) {
  if (!first_) first_ = fraction;
  if (!measured_from_ && fraction > *first_) measured_from_ = Report{fraction, now};
  if (!measured_from_ || now - measured_from_->time < kWorthARate || fraction <= measured_from_->fraction) return "";
  const double rate =
      (fraction - measured_from_->fraction) / std::chrono::duration<double>(now - measured_from_->time).count();
  return "   " + Rate(rate) + Eta((1 - fraction) / rate);
}

void Progress::Clear() {
  const MutexLock lock(mutex_);
  if (!drawn_) return;
  console_.err << "\r\033[K";
  console_.err.flush();
  drawn_ = false;
}

std::string Progress::job_id() const {
  const MutexLock lock(mutex_);
  return job_id_;
}

}  // namespace hotplate::cli
