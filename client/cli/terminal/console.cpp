#include "client/cli/terminal/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "kernels/array/quoted.h"

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
  console.width = SizeOfTerminal().columns;
  return console;
}

std::optional<std::string> Asked(const Console& console, const std::string& question) {
  constexpr std::size_t kLongest = 100;
  if (!console.err_terminal || isatty(STDIN_FILENO) != 1) return std::nullopt;
  console.err << question << " " << std::flush;
  // Byte by byte: text after the line belongs to the next reader.
  std::string line;
  for (char c = 0; read(STDIN_FILENO, &c, 1) == 1;) {
    if (c == '\n') return line;
    if (line.size() < kLongest) line += c;
  }
  return std::nullopt;
}

TerminalSize SizeOfTerminal() {
  winsize size{};
  for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO})
    if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0)
      return {size.ws_col, size.ws_row};
  return {};
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

namespace {

bool BeginsCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

// The end of our escape sequence that begins at `i`: ours end with a letter.
std::size_t EndOfEscape(const std::string& text, std::size_t i) {
  while (i < text.size() && text[i] != 'm') ++i;
  return std::min(i + 1, text.size());
}

}  // namespace

int DisplayWidth(const std::string& text) {
  int width = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '\033') {
      i = EndOfEscape(text, i);
    } else if (BeginsCharacter(text[i++])) {
      ++width;
    }
  }
  return width;
}

std::size_t WholeCharacters(const std::string& text) {
  std::size_t begin = text.size();
  while (begin > 0 && text.size() - begin < 4 && !BeginsCharacter(text[begin - 1])) --begin;
  if (begin == 0) return text.size();
  // Whether the last one has as many bytes as its first byte says.
  const auto first = static_cast<unsigned char>(text[--begin]);
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1;
  return bytes > text.size() - begin ? begin : text.size();
}

std::string Shortened(const std::string& text, int columns) {
  if (DisplayWidth(text) <= columns) return text;
  return Clipped(text, {std::max(columns - 1, 0), 1}) + "…";
}

namespace {

// Where the text after the last gap of two spaces or more begins, if that leaves it half of the line.
int ColumnOf(const std::string& line, int columns) {
  int column = 0, spaces = 2, found = -1, indent = -1;
  for (std::size_t i = 0; i < line.size() && column <= columns / 2;) {
    if (line[i] == '\033') {
      i = EndOfEscape(line, i);
      continue;
    }
    if (line[i] == ' ') {
      ++spaces;
    } else {
      if (indent < 0) indent = column;
      if (spaces >= 2) found = column;
      spaces = 0;
    }
    if (BeginsCharacter(line[i++])) ++column;
  }
  return found > indent ? found : std::max(indent, 0) + 2;
}

void AppendFitted(const std::string& line, int columns, std::string& text) {
  const std::string indent(static_cast<std::size_t>(ColumnOf(line, columns)), ' ');
  int column = 0;
  for (std::size_t begin = 0; begin < line.size();) {
    // The spaces before a word belong to it, unless it begins a line.
    std::size_t end = line.find_first_not_of(' ', begin);
    end = line.find(' ', end == std::string::npos ? line.size() : end);
    const std::string word = line.substr(begin, end == std::string::npos ? end : end - begin);
    const int width = DisplayWidth(word);
    if (column > 0 && column + width > columns) {
      const std::string bare = word.substr(std::min(word.find_first_not_of(' '), word.size()));
      text += "\n" + indent + bare;
      column = static_cast<int>(indent.size()) + DisplayWidth(bare);
    } else {
      text += word;
      column += width;
    }
    begin = end == std::string::npos ? line.size() : end;
  }
}

}  // namespace

std::string Fitted(const std::string& text, int columns) {
  if (columns <= 0) return text;
  std::string wrapped;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    if (DisplayWidth(line) <= columns)
      wrapped += line;
    else
      AppendFitted(line, columns, wrapped);
    if (end < text.size()) wrapped += "\n";
    begin = end + 1;
  }
  return wrapped;
}

std::string Clipped(const std::string& text, TerminalSize size) {
  std::string clipped;
  int column = 0, line = 0;
  for (std::size_t i = 0; i < text.size() && line < size.lines;) {
    if (text[i] == '\033') {
      const std::size_t end = EndOfEscape(text, i);
      clipped.append(text, i, end - i);
      i = end;
      continue;
    }
    const char c = text[i++];
    if (c == '\n') {
      ++line;
      column = 0;
      clipped += c;
    } else {
      if (BeginsCharacter(c)) ++column;
      if (column <= size.columns) clipped += c;
    }
  }
  return clipped;
}

std::string Printable(const std::string& text) { return Visible(text, '?', "\n\t"); }

}  // namespace hotplate::cli
