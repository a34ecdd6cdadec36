// A wait shown on standard error: on a terminal one line, redrawn with the elapsed time; in a pipe one line for each
// change. The last words of a phase stay.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "client/cli/terminal/console.h"

namespace hotplate::cli {

class WaitingLine {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `clock` is a seam for tests.
  WaitingLine(Console& console, bool wanted, std::function<Time()> clock = std::chrono::steady_clock::now)
      : console_(console), wanted_(wanted), clock_(std::move(clock)), begin_(clock_()) {}
  ~WaitingLine() { Keep(); }
  WaitingLine(const WaitingLine&) = delete;
  WaitingLine& operator=(const WaitingLine&) = delete;

  // On a terminal another `phase` begins another line, and the same phase with other words is redrawn. In a pipe only
  // another `detail` gives a line, and nothing is written without a detail.
  void Show(const std::string& phase, const std::string& detail, const std::string& words);
  // Redraws the elapsed time. Call it some ten times a second.
  void Tick();
  // Writes a line of its own above.
  void Say(const std::string& text);
  // Leaves the shown line as it is. Later text begins on a new line.
  void Keep();

 private:
  void Draw(bool waiting);

  Console& console_;
  const bool wanted_;
  const std::function<Time()> clock_;
  const Time begin_;
  std::string phase_, detail_, words_;
  bool drawn_ = false;
};

// "0:00:12"
std::string ElapsedText(std::chrono::nanoseconds elapsed);

}  // namespace hotplate::cli
