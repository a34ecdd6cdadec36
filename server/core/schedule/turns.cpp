#include "server/core/schedule/turns.h"

#include <algorithm>
#include <cstddef>

namespace hotplate::core {

bool Turns::Enter(QueueEntry& entry) {
  if (entry.turn == 0 || Claim(entry.turn)) return true;
  lines_[entry.turn].push_back(&entry);
  entry.rank = ++entered_;
  ++waiting_;
  return false;
}

QueueEntry* Turns::Leave(std::uint64_t turn) {
  const auto line = lines_.find(turn);
  if (line == lines_.end()) return nullptr;  // of an entry without one
  if (line->second.empty()) {
    lines_.erase(line);
    return nullptr;
  }
  QueueEntry* const next = line->second.front();
  line->second.pop_front();
  --waiting_;
  return next;
}

void Turns::Remove(const QueueEntry& entry) {
  std::deque<QueueEntry*>& line = lines_.at(entry.turn);
  line.erase(line.begin() + static_cast<std::ptrdiff_t>(Ahead(entry)));
  --waiting_;
}

std::size_t Turns::Ahead(const QueueEntry& entry) const {
  const std::deque<QueueEntry*>& line = lines_.at(entry.turn);
  const auto at = std::lower_bound(line.begin(), line.end(), entry.rank,
                                   [](const QueueEntry* one, std::size_t rank) { return one->rank < rank; });
  return static_cast<std::size_t>(at - line.begin());
}

void Turns::ForEach(absl::FunctionRef<void(QueueEntry&)> visit) const {
  for (const auto& [turn, line] : lines_) {
    for (QueueEntry* const entry : line) visit(*entry);
  }
}

}  // namespace hotplate::core
