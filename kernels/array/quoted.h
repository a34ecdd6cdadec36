// Text made fit for where it is shown: an error message, a manual page.
#pragma once

#include <string>
#include <string_view>

namespace hotplate {

// Text from outside, in double quotes; whole up to 200 bytes, else its first 60 and its last 100 with "..." between (a
// path's last words say most) and its length. Control characters, quotes, backslashes, and what is not visible UTF-8 as
// \xNN, so that nothing from a file or the wire can play tricks on a terminal.
std::string Quoted(std::string_view text);

// Cut like that, without quotes; blanks stand for what is not visible.
std::string Shortened(std::string_view text);

// The whole text, with `instead` for each character or byte that a terminal would obey or not show, but those of
// `kept`.
std::string Visible(std::string_view text, char instead, std::string_view kept = "");

bool IsUtf8(std::string_view text);

// With hyphens, backslashes and leading dots that troff would take for its own.
std::string Roff(std::string_view text);

}  // namespace hotplate
