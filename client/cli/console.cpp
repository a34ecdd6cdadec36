#include "client/cli/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

namespace hotplate::cli {

Console StandardConsole() {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  const bool colour = !(no_colour && *no_colour) && !(terminal && std::string(terminal) == "dumb");
  Console console{std::cout, std::cerr};
  console.out_terminal = isatty(STDOUT_FILENO) == 1;
  console.err_terminal = isatty(STDERR_FILENO) == 1;
  console.out_colour = colour && console.out_terminal;
  console.err_colour = colour && console.err_terminal;
  winsize size{};
  for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO})
    if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
      console.width = size.ws_col;
      break;
    }
  return console;
}

std::string Paint(bool colour, Tone tone, const std::string& text) {
  if (!colour || text.empty()) return text;
  const char* code = "0";
  switch (tone) {
    case Tone::kGood:
      code = "32";
      break;
    case Tone::kBad:
      code = "31";
      break;
    case Tone::kBold:
      code = "1";
      break;
    case Tone::kDim:
      code = "2";
      break;
  }
  return std::string("\033[") + code + "m" + text + "\033[0m";
}

int DisplayWidth(const std::string& text) {
  int width = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\033') {  // an escape sequence of ours: up to its final letter
      while (i < text.size() && text[i] != 'm') ++i;
      continue;
    }
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) ++width;  // not a continuation byte
  }
  return width;
}

std::string Printable(const std::string& text) {
  std::string clean = text;
  for (char& c : clean)
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7f) c = '?';
  return clean;
}

}  // namespace hotplate::cli
