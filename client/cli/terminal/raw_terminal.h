// This command's terminal while a program that runs elsewhere has one of its own: every key goes there as it is, Ctrl-C
// too, and that one echoes it.
#pragma once

#include <termios.h>

#include <optional>

namespace hotplate::cli {

class RawTerminal {
 public:
  RawTerminal() = default;
  ~RawTerminal() { End(); }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

  void Begin();
  void End();  // as it was before

 private:
  std::optional<termios> before_;
};

}  // namespace hotplate::cli
