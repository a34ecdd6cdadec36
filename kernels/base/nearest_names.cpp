#include "kernels/base/nearest_names.h"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>

namespace hotplate {
namespace {

// Names from outside may have any length; no name of ours is that long.
constexpr std::size_t kLongestName = 64;
constexpr std::size_t kMostNames = 3;

std::string Folded(const std::string& name) {
  std::string folded = name;
  for (char& c : folded) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '-') c = '_';
  }
  return folded;
}

// Insertions, deletions, replacements, and swaps of two neighbours.
std::size_t EditDistance(const std::string& from, const std::string& to) {
  std::vector<std::size_t> before, above(to.size() + 1), row(to.size() + 1);
  for (std::size_t j = 0; j <= to.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= from.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before = std::exchange(above, row);
  }
  return above[to.size()];
}

// The edits that a misspelling of so long a name may have. One edit makes another word of a short one ("cp" is not
// "up", nor "cut" "put").
std::size_t MostEdits(const std::string& given, const std::string& name) {
  const std::size_t longer = std::max(given.size(), name.size());
  if (longer <= 2) return 0;
  if (longer == 3) {
    const bool swapped = given.size() == name.size() && std::is_permutation(given.begin(), given.end(), name.begin());
    return swapped || given[0] == name[0] ? 1 : 0;
  }
  return longer < 7 ? 1 : 2;
}

// "unsubmit" and "submit" are opposites.
bool HasSyllableBefore(const std::string& a, const std::string& b) {
  const auto& [longer, shorter] = a.size() > b.size() ? std::tie(a, b) : std::tie(b, a);
  return longer.size() == shorter.size() + 2 && longer.ends_with(shorter);
}

}  // namespace

std::vector<std::string> NearestNames(const std::string& name, const std::vector<std::string>& candidates) {
  if (name.empty() || name.size() > kLongestName) return {};
  const std::string given = Folded(name);
  std::vector<std::pair<std::size_t, const std::string*>> near;
  for (const std::string& candidate : candidates) {
    if (candidate.empty() || candidate.size() > kLongestName) continue;
    const std::string folded = Folded(candidate);
    std::size_t distance = EditDistance(given, folded);
    // The beginning of a name is nearer than its length makes it.
    constexpr std::size_t kShortestStart = 3;
    const bool begins = given.size() >= kShortestStart && folded.starts_with(given);
    if (begins) distance = std::min<std::size_t>(distance, 1);
    if (begins || (distance <= MostEdits(given, folded) && !HasSyllableBefore(given, folded)))
      near.emplace_back(distance, &candidate);
  }
  std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  if (near.size() > kMostNames) near.resize(kMostNames);
  std::vector<std::string> names;
  for (const auto& [distance, candidate] : near) names.push_back(*candidate);
  return names;
}

std::string Alternatives(const std::vector<std::string>& all) {
  std::string text;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i > 0) text += i + 1 == all.size() ? " or " : ", ";
    text += all[i];
  }
  return text;
}

}  // namespace hotplate
