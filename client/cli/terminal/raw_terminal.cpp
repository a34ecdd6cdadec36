#include "client/cli/terminal/raw_terminal.h"

#include <unistd.h>

namespace hotplate::cli {

void RawTerminal::Begin() {
  termios now{};
  if (before_ || tcgetattr(STDIN_FILENO, &now) != 0) return;
  before_ = now;
  cfmakeraw(&now);
  tcsetattr(STDIN_FILENO, TCSANOW, &now);  // not what was typed ahead: it is for the program
}

void RawTerminal::End() {
  if (before_) tcsetattr(STDIN_FILENO, TCSADRAIN, &*before_);
  before_.reset();
}

}  // namespace hotplate::cli
