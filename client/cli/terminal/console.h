// Where a command writes: two streams, and the properties of the terminal behind each.
#pragma once

#include <optional>
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
  int width = 80;     // columns of the terminal
  bool json = false;  // answers are JSON, and so are errors
};

// The process's own streams.
Console StandardConsole();

// The answer to `question` from the terminal; nothing if there is no terminal or no answer.
std::optional<std::string> Asked(const Console& console, const std::string& question);

struct TerminalSize {
  int columns = 80;
  int lines = 24;
};
// The size of the terminal of standard output, or else of standard error. It changes when a window is resized.
TerminalSize SizeOfTerminal();

enum class Tone { kGood, kBad, kBold, kDim };
std::string Paint(bool colour, Tone tone, const std::string& text);

// For tables on standard output: the terminal's columns; 0 without a terminal.
inline int WidthOf(const Console& console) { return console.out_terminal ? console.width : 0; }

// The same for standard error.
inline int ErrorWidthOf(const Console& console) { return console.err_terminal ? console.width : 0; }

// The bytes of `text` without a character at its end of which a part is still to come.
std::size_t WholeCharacters(const std::string& text);
// Columns that `text` takes on a terminal: code points, without escape sequences.
int DisplayWidth(const std::string& text);

// `text`, or as much of it as fits before a "…". Escape sequences stay.
std::string Shortened(const std::string& text, int columns);

// `text` with its lines broken at spaces to at most `columns`; 0: as it is. What goes on stands below the last column
// of its line, as two spaces or more tell it, or else two spaces further in. A word that is longer stays whole.
std::string Fitted(const std::string& text, int columns);

// As much of `text` as fits: lines cut to `columns`, and no more than `lines` of them. Escape sequences stay.
std::string Clipped(const std::string& text, TerminalSize size);

// `text` without control characters: these, and bytes that are not UTF-8, become "?"; line ends and tabs stay. For text
// from outside.
std::string Printable(const std::string& text);

}  // namespace hotplate::cli
