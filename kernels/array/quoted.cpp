#include "kernels/array/quoted.h"

namespace hotplate {

std::string Quoted(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  constexpr char kDigits[] = "0123456789abcdef";
  std::string quoted = "\"";
  for (const char character : text.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(character);
    if (byte < 0x20 || byte >= 0x7f || character == '"' || character == '\\') {
      quoted += "\\x";
      quoted += kDigits[byte >> 4];
      quoted += kDigits[byte & 15];
    } else {
      quoted += character;
    }
  }
  return quoted + (text.size() > kLongest ? "...\"" : "\"");
}

}  // namespace hotplate
