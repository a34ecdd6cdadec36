#include "client/cli/allocation/waiting_line.h"

#include <cstddef>
#include <cstdio>
#include <iterator>

namespace hotplate::cli {

std::string ElapsedText(std::chrono::nanoseconds elapsed) {
  const long long seconds = std::chrono::duration_cast<std::chrono::seconds>(elapsed).count();
  char text[48];
  std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", seconds / 3600, seconds / 60 % 60, seconds % 60);
  return text;
}

void WaitingLine::Draw(bool waiting) {
  static const char* const kTurning[] = {"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"};
  std::string line = "  " + Printable(words_);
  if (waiting) {
    const auto elapsed = clock_() - begin_;
    const auto turn = static_cast<std::size_t>(elapsed / std::chrono::milliseconds(100)) % std::size(kTurning);
    line += "   " + std::string(kTurning[turn]) + " " + ElapsedText(elapsed);
  }
  // A line that wraps could not be redrawn.
  console_.err << "\r\033[K" << Clipped(line, {console_.width - 1, 1}) << (waiting ? "" : "\n") << std::flush;
  drawn_ = waiting;
}

void WaitingLine::Show(const std::string& phase, const std::string& detail, const std::string& words) {
  if (!wanted_) return;
  const bool another = phase != phase_;
  const bool news = another || detail != detail_;
  if (another) Keep();
  const bool changed = another || words != words_;
  phase_ = phase;
  detail_ = detail;
  words_ = words;
  if (console_.err_terminal) {
    if (changed) Draw(true);
  } else if (news && !detail.empty()) {
    console_.err << "  " << Printable(words) << "\n" << std::flush;
  }
}

void WaitingLine::Tick() {
  if (wanted_ && console_.err_terminal && !words_.empty()) Draw(true);
}

void WaitingLine::Say(const std::string& text) {
  if (!wanted_) return;
  if (drawn_) console_.err << "\r\033[K";
  drawn_ = false;
  console_.err << text << "\n" << std::flush;
}

void WaitingLine::Keep() {
  if (drawn_) Draw(false);
}

}  // namespace hotplate::cli
