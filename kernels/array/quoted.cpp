#include "kernels/array/quoted.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace hotplate {
namespace {

constexpr std::size_t kLongest = 200, kHead = 60, kTail = 100;  // bytes of the shown text
constexpr char kDigits[] = "0123456789abcdef";

// Characters that terminals obey or do not show: further controls, zero-width and direction marks, separators.
bool IsUnseen(std::uint32_t point) {
  return point < 0xa0 || (point >= 0x200b && point <= 0x200f) || (point >= 0x2028 && point <= 0x202e) ||
         (point >= 0x2060 && point <= 0x206f) || point == 0xfeff || (point >= 0xfff0 && point <= 0xffff) ||
         point >= 0xe0000;
}

struct Character {
  std::size_t bytes = 0;  // 0: malformed
  std::uint32_t point = 0;
};

// The UTF-8 character beyond ASCII that `text` begins with.
Character FirstCharacter(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t length = first >= 0xf0 && first < 0xf5 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (length == 0 || first >= 0xf5 || text.size() < length) return {};
  std::uint32_t point = first & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0) != 0x80) return {};
    point = point << 6 | (byte & 0x3fU);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = point >= 0xd800 && point < 0xe000;
  if (point < kLeast[length] || point > 0x10ffff || surrogate) return {};
  return {length, point};
}

// Bytes of the first character of `text` if it can be shown unchanged; else 0.
std::size_t VisibleLength(std::string_view text) {
  const auto byte = static_cast<unsigned char>(text[0]);
  if (byte < 0x80) return byte >= 0x20 && byte < 0x7f ? 1 : 0;
  const Character wide = FirstCharacter(text);
  return IsUnseen(wide.point) ? 0 : wide.bytes;
}

// Removes the first character of `text` and returns its form inside quotes.
std::string TakeQuoted(std::string_view& text) {
  const auto byte = static_cast<unsigned char>(text[0]);
  const std::size_t length = byte == '"' || byte == '\\' ? 0 : VisibleLength(text);
  std::string shown =
      length > 0 ? std::string(text.substr(0, length)) : std::string{'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
  text.remove_prefix(length > 0 ? length : 1);
  return shown;
}

// Removes the first character of `text` and returns its form outside of quotes.
std::string TakeVisible(std::string_view& text, char instead) {
  const std::size_t length = VisibleLength(text);
  std::string shown(length > 0 ? text.substr(0, length) : std::string_view(&instead, 1));
  text.remove_prefix(length > 0 ? length : std::max<std::size_t>(FirstCharacter(text).bytes, 1));
  return shown;
}

// `take` removes a character and returns its form; `mark` encloses the whole.
template <typename Take>
std::string Cut(std::string_view text, Take take, const std::string& mark) {
  // Only the ends of a very long text are looked at.
  const std::size_t size = text.size();
  const bool vast = size > 8 * kLongest;
  std::vector<std::string> shown;
  const auto show = [&](std::string_view part) {
    while (!part.empty()) shown.push_back(take(part));
  };
  show(vast ? text.substr(0, 4 * kLongest) : text);
  if (vast) show(text.substr(size - 4 * kLongest));

  std::string head, tail;
  std::size_t first = 0, last = shown.size();
  while (first < last && head.size() + shown[first].size() <= kLongest) head += shown[first++];
  if (first == last && !vast) return mark + head + mark;

  head.clear();
  first = 0;
  while (head.size() + shown[first].size() <= kHead) head += shown[first++];
  while (last > first && tail.size() + shown[last - 1].size() <= kTail) tail.insert(0, shown[--last]);
  return mark + head + "..." + tail + mark + " (" + std::to_string(size) + " bytes)";
}

}  // namespace

std::string Quoted(std::string_view text) { return Cut(text, TakeQuoted, "\""); }

std::string Shortened(std::string_view text) {
  return Cut(
      text, [](std::string_view& rest) { return TakeVisible(rest, ' '); }, "");
}

std::string Visible(std::string_view text, char instead, std::string_view kept) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    if (kept.find(text[0]) == std::string_view::npos) {
      result += TakeVisible(text, instead);
    } else {
      result += text[0];
      text.remove_prefix(1);
    }
  }
  return result;
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = static_cast<unsigned char>(text[0]) < 0x80 ? 1 : FirstCharacter(text).bytes;
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string Roff(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool first = result.empty() || result.back() == '\n';
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else if ((c == '.' || c == '\'') && first) {
      result += std::string("\\&") + c;
    } else {
      result += c;
    }
  }
  return result;
}

}  // namespace hotplate
