#include "server/core/schedule/queue.h"

#include <algorithm>
#include <cassert>
#include <tuple>
#include <utility>

namespace hotplate::core {

bool JobQueue::Before(const Line& a, const Line& b) {
  return std::tuple(a.share->running, a.share->served, a.first->sequence) <
         std::tuple(b.share->running, b.share->served, b.first->sequence);
}

void KindCounts::Add(RunTimes::Kind kind) {
  for (auto& [one, number] : by_kind_) {
    if (one == kind) {
      ++number;
      return;
    }
  }
  if (by_kind_.size() < kMostKinds) {
    by_kind_.emplace_back(kind, 1);
  } else {
    ++others_;
  }
}

void KindCounts::Take(RunTimes::Kind kind) {
  const auto at = std::find_if(by_kind_.begin(), by_kind_.end(), [kind](const auto& one) { return one.first == kind; });
  if (at == by_kind_.end()) {
    --others_;
  } else if (--at->second == 0) {
    *at = by_kind_.back();
    by_kind_.pop_back();
  }
}

void JobQueue::Push(QueueEntry& entry) {
  assert(!entry.queued && entry.devices != 0);
  const auto [at, is_new] = shares_.try_emplace(entry.share);
  Share& share = at->second;
  if (is_new) share.served = served_now_;
  ++share.waiting;

  std::vector<Line>& lines = levels_[entry.priority].lines;
  auto line = std::find_if(lines.begin(), lines.end(), [&](const Line& one) { return one.Holds(entry); });
  entry.next = nullptr;
  entry.overtaken = 0;
  entry.queued = true;
  if (line == lines.end()) {
    entry.previous = nullptr;
    lines.push_back({entry.share, entry.devices, entry.home, entry.for_worker(), &share, &entry, &entry});
    line = lines.end() - 1;
  } else {
    entry.previous = line->last;
    line->last->next = &entry;
    line->last = &entry;
  }
  entry.rank = line->ranks.Append(entry.sequence);
  line->kinds.Add(entry.kind);
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
  line.ranks.Leave(entry.rank);
  line.kinds.Take(entry.kind);
  if (line.first == nullptr) {
    if (&line != &level.lines.back()) line = std::move(level.lines.back());
    level.lines.pop_back();
  } else if (line.ranks.IsSparse()) {
    line.ranks.Clear();
    for (QueueEntry* one = line.first; one != nullptr; one = one->next) one->rank = line.ranks.Append(one->sequence);
  }
}

void JobQueue::Remove(QueueEntry& entry) {
  assert(entry.queued);
  Level& level = levels_[entry.priority];
  for (std::size_t i = 0; i < level.lines.size(); ++i) {
    if (level.lines[i].Holds(entry)) {
      Unlink(level, i, entry);
      break;
    }
  }
  ForgetIfIdle(entry.share);
}

QueueEntry* JobQueue::Pop(unsigned device, bool for_worker, bool hold, absl::FunctionRef<bool(QueueEntry&)> fits) {
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

void JobQueue::EachLineBeside(const QueueEntry& entry,
                              absl::FunctionRef<void(const Line&, std::size_t ahead)> visit) const {
  const auto level = levels_.find(entry.priority);
  const auto own = shares_.find(entry.share);
  if (level == levels_.end() || own == shares_.end()) return;
  struct Met {
    std::size_t waiting = 0, earlier = 0;  // of a share's entries, all and those that came before this one
    std::uint64_t served = 0;              // by the time that those of higher priority have gone
  };
  std::unordered_map<const Share*, Met> met;
  for (const auto& [priority, higher] : levels_) {
    if (priority <= entry.priority) break;
    for (const Line& line : higher.lines) {
      if (line.Meets(entry)) met[line.share].served += line.ranks.present();
    }
  }
  for (const Line& line : level->second.lines) {
    if (!line.Meets(entry)) continue;
    met[line.share].waiting += line.ranks.present();
    met[line.share].earlier += EarlierIn(line, entry);
  }
  // The number of its own share's entries that are served before it, on the scale of Share::served.
  const std::uint64_t turn = own->second.served + met[&own->second].served + met[&own->second].earlier;
  for (const Line& line : level->second.lines) {
    if (!line.Meets(entry)) continue;
    if (line.share_id == entry.share) {
      visit(line, EarlierIn(line, entry));
      continue;
    }
    const Met& others = met[line.share];
    const std::uint64_t served = line.share->served + others.served;
    std::size_t ahead = turn > served ? turn - served : 0;
    if (served <= turn && others.earlier > ahead) ++ahead;  // of those served as often, the first come
    // Each line of a share that has several counts for its part.
    if (ahead < others.waiting) ahead = ahead * line.ranks.present() / others.waiting;
    visit(line, std::min(ahead, line.ranks.present()));
  }
}

std::size_t JobQueue::EarlierIn(const Line& line, const QueueEntry& entry) {
  return line.Holds(entry) ? line.ranks.Before(entry.rank) : line.ranks.BeforeSequence(entry.sequence);
}

EntriesAhead JobQueue::Ahead(const QueueEntry& entry) const {
  EntriesAhead ahead;
  for (const auto& [priority, level] : levels_) {
    if (priority <= entry.priority) break;
    for (const Line& line : level.lines) ahead.of_higher_priority += line.Meets(entry) ? line.ranks.present() : 0;
  }
  EachLineBeside(entry, [&](const Line& line, std::size_t number) {
    (line.share_id == entry.share ? ahead.of_own_share : ahead.of_others) += number;
  });
  return ahead;
}

void JobQueue::KindsAhead(const QueueEntry& entry, absl::FunctionRef<void(RunTimes::Kind, double number)> visit) const {
  const auto add = [&](const Line& line, std::size_t ahead) {
    const double part = static_cast<double>(ahead) / static_cast<double>(line.ranks.present());
    for (const auto& [kind, number] : line.kinds.by_kind()) visit(kind, number * part);
    if (line.kinds.others() > 0) visit(RunTimes::kNoKind, line.kinds.others() * part);
  };
  for (const auto& [priority, level] : levels_) {
    if (priority <= entry.priority) break;
    for (const Line& line : level.lines) {
      if (line.Meets(entry)) add(line, line.ranks.present());
    }
  }
  EachLineBeside(entry, add);
}

std::vector<const QueueEntry*> JobQueue::FirstAhead(const QueueEntry& entry, std::size_t limit) const {
  std::vector<const QueueEntry*> first;
  struct Cursor {
    const QueueEntry* next;
    std::uint64_t* served;  // of its share, with those that are in `first`
  };
  std::unordered_map<const Share*, std::uint64_t> served;
  for (const auto& [priority, level] : levels_) {
    if (priority < entry.priority) break;
    std::vector<Cursor> cursors;
    for (const Line& line : level.lines) {
      if (!line.Meets(entry)) continue;
      cursors.push_back({line.first, &served.try_emplace(line.share, line.share->served).first->second});
    }
    while (!cursors.empty() && first.size() < limit) {
      const auto best = std::min_element(cursors.begin(), cursors.end(), [&](const Cursor& a, const Cursor& b) {
        return std::pair(*a.served, a.next->sequence) < std::pair(*b.served, b.next->sequence);
      });
      if (best->next == &entry) return first;
      first.push_back(best->next);
      ++*best->served;
      best->next = best->next->next;
      if (best->next == nullptr) cursors.erase(best);
    }
  }
  return first;
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
