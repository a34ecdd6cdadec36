// Shows where in a text an error is.
#include <algorithm>
#include <string>

#include "kernels/array/quoted.h"
#include "kernels/expression/check.h"

namespace hotplate::expression {
namespace {

constexpr std::size_t kWidest = 100;  // characters of a line that are shown
constexpr std::size_t kBefore = 60;   // of them before the place, in a line that is longer

bool Continues(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

std::size_t Characters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return !Continues(c); }));
}

// From `at` on, so many characters, as bytes.
std::size_t After(std::string_view line, std::size_t at, std::size_t characters) {
  while (at < line.size() && (characters > 0 || Continues(line[at]))) {
    if (!Continues(line[at])) --characters;
    ++at;
    while (at < line.size() && Continues(line[at])) ++at;
  }
  return at;
}

}  // namespace

std::string WithCaret(const Error& error, std::string_view text) {
  const std::size_t offset = std::min(error.offset, text.size());
  const std::size_t before = text.substr(0, offset).rfind('\n');
  const std::size_t first = before == text.npos ? 0 : before + 1;
  const std::size_t last = std::min(text.find('\n', offset), text.size());
  const std::string_view line = text.substr(first, last - first);
  const std::size_t place = offset - first;

  std::size_t begin = 0;
  if (place > kBefore && Characters(line) > kWidest) {
    begin = place - kBefore;
    while (begin < place && Continues(line[begin])) ++begin;
  }
  const std::size_t end = After(line, begin, kWidest);
  std::string shown = (begin > 0 ? "..." : "") + std::string(line.substr(begin, end - begin));
  if (end < line.size()) shown += "...";
  shown = Visible(shown, ' ');  // a tab has no width of its own
  if (error.length == 0) return shown;
  const std::size_t indent = (begin > 0 ? 3 : 0) + Characters(line.substr(begin, place - begin));
  const std::size_t width = Characters(line.substr(place, std::min(error.length, end - std::min(end, place))));
  return shown + "\n" + std::string(indent, ' ') + "^" + std::string(width > 1 ? width - 1 : 0, '~');
}

}  // namespace hotplate::expression
