#include "server/core/schedule/queue.h"

#include <algorithm>
#include <cassert>
#include <tuple>

namespace hotplate::core {

bool JobQueue::Before(const Line& a, const Line& b) {
  return std::tuple(a.share->running, a.share->served, a.first->sequence) <
         std::tuple(b.share->running, b.share->served, b.first->sequence);
}

bool JobQueue::IsIn(const Line& line, const QueueEntry& entry) {
  return line.share_id == entry.share && line.devices == entry.devices && line.home == entry.home &&
         line.for_worker == entry.for_worker();
}

void JobQueue::Push(QueueEntry& entry) {
  assert(!entry.queued && entry.devices != 0);
  const auto [at, is_new] = shares_.try_emplace(entry.share);
  Share& share = at->second;
  if (is_new) share.served = served_now_;
  ++share.waiting;

  std::vector<Line>& lines = levels_[entry.priority].lines;
  const auto line = std::find_if(lines.begin(), lines.end(), [&](const Line& one) { return IsIn(one, entry); });
  entry.next = nullptr;
  entry.overtaken = 0;
  entry.queued = true;
  if (line == lines.end()) {
    entry.previous = nullptr;
    lines.push_back({entry.share, entry.devices, entry.home, entry.for_worker(), &share, &entry, &entry});
  } else {
    entry.previous = line->last;
    line->last->next = &entry;
    line->last = &entry;
  }
  ++size_;
  for_workers_ += entry.for_worker() ? 1 : 0;
  with_home_ += entry.home != 0 ? 1 : 0;
}

void JobQueue::Unlink(Level& level, std::size_t line_index, QueueEntry& entry) {
  Line& line = level.lines[line_index];
  (entry.previous != nullptr ? entry.previous->next : line.first) = entry.next;
  (entry.next != nullptr ? entry.next->previous : line.last) = entry.previous;
  entry.previous = entry.next = nullptr;
  entry.queued = false;
  --line.share->waiting;
  --size_;
  for_workers_ -= entry.for_worker() ? 1 : 0;
  with_home_ -= entry.home != 0 ? 1 : 0;
  if (line.first == nullptr) {
    line = level.lines.back();
    level.lines.pop_back();
  }
}

void JobQueue::Remove(QueueEntry& entry) {
  assert(entry.queued);
  Level& level = levels_[entry.priority];
  for (std::size_t i = 0; i < level.lines.size(); ++i) {
    if (IsIn(level.lines[i], entry)) {
      Unlink(level, i, entry);
      break;
    }
  }
  ForgetIfIdle(entry.share);
}

QueueEntry* JobQueue::Pop(unsigned device, bool for_worker, bool hold,
                          absl::FunctionRef<bool(const QueueEntry&)> fits) {
  if (size_ == 0) return nullptr;
  std::vector<QueueEntry*> passed;  // heads without room, best first
  for (auto& [priority, level] : levels_) {
    for (Line& line : level.lines) line.passed = (line.devices >> device & 1) == 0 || line.for_worker != for_worker;
    while (true) {
      std::size_t best = level.lines.size();
      for (std::size_t i = 0; i < level.lines.size(); ++i) {
        if (level.lines[i].passed) continue;
        if (best == level.lines.size() || Before(level.lines[i], level.lines[best])) best = i;
      }
      if (best == level.lines.size()) break;
      QueueEntry& head = *level.lines[best].first;
      if (fits(head)) {
        Share& share = *level.lines[best].share;
        served_now_ = std::max(served_now_, share.served);
        ++share.served;
        ++share.running;
        Unlink(level, best, head);
        for (QueueEntry* entry : passed) ++entry->overtaken;
        return &head;
      }
      if (hold && head.overtaken >= kMaxOvertaken) return nullptr;
      level.lines[best].passed = true;
      passed.push_back(&head);
    }
  }
  return nullptr;
}

void JobQueue::Finished(std::uint64_t share) {
  const auto at = shares_.find(share);
  assert(at != shares_.end() && at->second.running > 0);
  --at->second.running;
  ForgetIfIdle(share);
}

void JobQueue::ForgetIfIdle(std::uint64_t share_id) {
  const auto at = shares_.find(share_id);
  if (at->second.waiting == 0 && at->second.running == 0) shares_.erase(at);
}

std::size_t JobQueue::Ahead(const QueueEntry& entry) const {
  std::size_t ahead = 0;
  const Position own{entry.priority, entry.sequence};
  ForEach([&](QueueEntry& other) {
    const bool before = Position{other.priority, other.sequence} < own;
    ahead += before && other.for_worker() == entry.for_worker() ? 1 : 0;
  });
  return ahead;
}

std::vector<JobQueue::Position> JobQueue::Positions() const {
  std::vector<Position> positions;
  positions.reserve(size_);
  ForEach([&](QueueEntry& entry) { positions.push_back({entry.priority, entry.sequence}); });
  return positions;
}

void JobQueue::ForEach(absl::FunctionRef<void(QueueEntry&)> visit) const {
  for (const auto& [priority, level] : levels_) {
    for (const Line& line : level.lines) {
      for (QueueEntry *entry = line.first, *next; entry != nullptr; entry = next) {
        next = entry->next;
        visit(*entry);
      }
    }
  }
}

}  // namespace hotplate::core
