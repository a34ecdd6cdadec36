#include "kernels/base/real_text.h"

#include <charconv>
#include <cmath>

namespace hotplate {

std::string RealText(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char digits[32];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  std::string text(digits, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

}  // namespace hotplate
