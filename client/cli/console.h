// Where a command's words go: two streams, and what is known about the terminal behind each.
#pragma once

#include <ostream>
#include <string>

namespace hotplate::cli {

struct Console {
  std::ostream& out;
  std::ostream& err;
  bool out_terminal = false;
  bool err_terminal = false;
  // Colours: only on a terminal, and never when NO_COLOR is set (to anything but the empty text).
  bool out_colour = false;
  bool err_colour = false;
  int width = 80;  // columns of the terminal
};

// The process's own streams.
Console StandardConsole();

enum class Tone { kGood, kBad, kBold, kDim };
std::string Paint(bool colour, Tone tone, const std::string& text);

// Columns that `text` takes on a terminal: code points, without escape sequences.
int DisplayWidth(const std::string& text);

// `text` without what a terminal would obey: control characters and escapes become "?". For words from outside.
std::string Printable(const std::string& text);

}  // namespace hotplate::cli
