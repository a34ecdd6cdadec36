// What is waited for, on standard error: on a terminal one line that is redrawn with the time that has passed, in a
// pipe a line for each change. What a phase ended with stays.
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

  // On a terminal another `phase` begins another line; the same one with other words is redrawn. In a pipe another
  // `detail` is worth a line, but no other change of words, and nothing without a detail.
  void Show(const std::string& phase, const std::string& detail, const std::string& words);
  // The time has passed: to be called some ten times a second.
  void Tick();
  // A line of its own, above.
  void Say(const std::string& text);
  // What is shown stays; what is written next begins a new line.
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
