// Which known name a mistyped one may have been meant as.
#pragma once

#include <string>
#include <vector>

namespace hotplate {

// Up to three of `candidates`, nearest first. Upper and lower case, and dashes and underscores, count as equal. The
// distance counts insertions, deletions, replacements and swaps of neighbours.
std::vector<std::string> NearestNames(const std::string& name, const std::vector<std::string>& candidates);

// "a", "a or b", "a, b or c"
std::string Alternatives(const std::vector<std::string>& all);

}  // namespace hotplate
