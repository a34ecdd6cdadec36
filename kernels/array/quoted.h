// Text made safe for error messages and manual pages.
#pragma once

#include <string>
#include <string_view>

namespace hotplate {

// Text from outside, in double quotes. Whole up to 200 bytes, else its first 60 and last 100 with "..." between (the
// last words of a path say most) and its length. Control characters, quotes, backslashes, and bytes that are not
// visible UTF-8 become \xNN, so that nothing from a file or the wire can play tricks on a terminal.
std::string Quoted(std::string_view text);

// Cut in the same way, without quotes; invisible characters become blanks.
std::string Shortened(std::string_view text);

// The whole text, with `instead` for each character or byte that a terminal would obey or not show, except those in
// `kept`.
std::string Visible(std::string_view text, char instead, std::string_view kept = "");

bool IsUtf8(std::string_view text);

// With hyphens, backslashes and leading dots that troff would take for its own.
std::string Roff(std::string_view text);

}  // namespace hotplate
