#include "server/core/schedule/turns.h"

#include <algorithm>

namespace hotplate::core {

bool Turns::Enter(QueueEntry& entry) {
  if (entry.turn == 0 || Claim(entry.turn)) return true;
  lines_[entry.turn].push_back(&entry);
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
  line.erase(std::find(line.begin(), line.end(), &entry));
  --waiting_;
}

void Turns::ForEach(absl::FunctionRef<void(QueueEntry&)> visit) const {
  for (const auto& [turn, line] : lines_) {
    for (QueueEntry* const entry : line) visit(*entry);
  }
}

}  // namespace hotplate::core
