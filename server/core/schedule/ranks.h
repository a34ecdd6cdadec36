// How many stand before one in a line that anybody may leave: a Fenwick tree over the places of the line, so that
// neither the question nor leaving takes longer for a longer line than its number has digits. A pure data structure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hotplate::core {

class Ranks {
 public:
  // At the end of the line. Returns its place, by which it leaves. `sequence` should not be below that of the one
  // before.
  std::size_t Append(std::uint64_t sequence) {
    const std::size_t at = sums_.size() + 1;  // from 1, as in the tree
    std::uint32_t sum = 1;
    for (std::size_t step = 1; (at & step) == 0; step *= 2) sum += sums_[at - step - 1];
    sums_.push_back(sum);
    sequences_.push_back(sequences_.empty() ? sequence : std::max(sequence, sequences_.back()));
    ++present_;
    return at - 1;
  }
  void Leave(std::size_t place) {
    for (std::size_t at = place + 1; at <= sums_.size(); at += Lowest(at)) --sums_[at - 1];
    --present_;
  }
  // How many before this place are still there.
  std::size_t Before(std::size_t place) const {
    std::size_t before = 0;
    for (std::size_t at = place; at > 0; at -= Lowest(at)) before += sums_[at - 1];
    return before;
  }
  // How many have a lower sequence.
  std::size_t BeforeSequence(std::uint64_t sequence) const {
    const auto at = std::lower_bound(sequences_.begin(), sequences_.end(), sequence);
    return Before(static_cast<std::size_t>(at - sequences_.begin()));
  }
  std::size_t present() const { return present_; }
  // Most of its places are empty: whoever owns the line appends all of it anew, after Clear.
  bool IsSparse() const { return sums_.size() > 2 * present_ + 64; }
  void Clear() {
    sums_.clear();
    sequences_.clear();
    present_ = 0;
  }

 private:
  static std::size_t Lowest(std::size_t at) { return at & (~at + 1); }

  std::vector<std::uint32_t> sums_;  // [i] counts those at the places after i + 1 - Lowest(i + 1), up to i
  std::vector<std::uint64_t> sequences_;
  std::size_t present_ = 0;
};

}  // namespace hotplate::core
