// SHA-256, for names of files by what is in them.
#pragma once

#include <string>
#include <string_view>

namespace hotplate {

// 64 hexadecimal digits.
std::string Sha256(std::string_view bytes);

}  // namespace hotplate
