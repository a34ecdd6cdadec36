// Text from outside, made fit for an error message.
#pragma once

#include <string>
#include <string_view>

namespace hotplate {

// In double quotes; at most 60 bytes of it, then "..."; control characters, quotes, backslashes and bytes beyond
// ASCII as \xNN, so that nothing from a file or the wire can play tricks on a terminal.
std::string Quoted(std::string_view text);

}  // namespace hotplate
