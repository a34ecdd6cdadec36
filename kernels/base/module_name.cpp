#include "kernels/base/module_name.h"

#include <algorithm>
#include <string_view>

namespace hotplate {

bool IsModuleName(const std::string& text) {
  constexpr std::size_t kLongest = 128;
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  if (text.empty() || text.size() > kLongest || !is_plain(text[0])) return false;
  constexpr std::string_view kFurther = "._+/-";
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return is_plain(c) || kFurther.find(c) != std::string_view::npos; });
}

}  // namespace hotplate
