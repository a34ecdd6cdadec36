// Which known name a mistyped one may have been meant as.
#pragma once

#include <string>
#include <vector>

namespace hotplate {

// Up to three of `candidates` that `name` may be a misspelling or the beginning of, nearest first. Upper and lower
// case, and dashes and underscores, count as equal. One insertion, deletion, replacement or swap of neighbours is a
// misspelling, in names of seven letters or more two are: beyond that a near name is likely another word.
std::vector<std::string> NearestNames(const std::string& name, const std::vector<std::string>& candidates);

// "a", "a or b", "a, b or c"
std::string Alternatives(const std::vector<std::string>& all);

}  // namespace hotplate
