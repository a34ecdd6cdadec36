#include "server/core/schedule/queue.h"

#include <algorithm>
#include <cassert>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace hotplate::core {

bool JobQueue::Before(const Line& a, const Line& b) {
  const auto order = [](const Line& line) {
    return std::tuple(line.share->token->running, line.share->token->served, line.share->running, line.share->served,
                      line.first->sequence);
  };
  return order(a) < order(b);
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

JobQueue::Share& JobQueue::ShareOf(const QueueEntry& entry) {
  const auto [at, is_new] = shares_.try_emplace(IdOf(entry));
  Share& share = at->second;
  if (!is_new) return share;
  const auto [token, is_new_too] = tokens_.try_emplace(entry.token);
  if (is_new_too) token->second.served = served_now_;
  share.served = token->second.share_served_now;
  share.token = &token->second;
  return share;
}

void JobQueue::Push(QueueEntry& entry) {
  assert(!entry.queued && entry.devices != 0);
  Share& share = ShareOf(entry);
  ++share.waiting;
  ++share.token->waiting;

  std::vector<Line>& lines = levels_[entry.priority].lines;
  auto line = std::find_if(lines.begin(), lines.end(), [&](const Line& one) { return one.Holds(entry); });
  entry.next = nullptr;
  entry.overtaken = 0;
  entry.queued = true;
  if (line == lines.end()) {
    entry.previous = nullptr;
    lines.push_back({IdOf(entry), entry.devices, entry.home, entry.for_worker(), &share, &entry, &entry});
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
  --line.share->token->waiting;
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
  ForgetIfIdle(entry);
}

QueueEntry* JobQueue::FirstThatFits(const Line& line, bool hold, absl::FunctionRef<Fit(QueueEntry&)> fits,
                                    std::vector<QueueEntry*>& passed, bool& held) {
  QueueEntry* entry = line.first;
  for (int looked = 0; entry != nullptr && looked < kMostLookedBehind; ++looked, entry = entry->next) {
    const Fit fit = fits(*entry);
    if (fit == Fit::kYes) return entry;
    if (fit == Fit::kWaitsForItsKind) continue;
    held = hold && entry->overtaken >= kMaxOvertaken;
    if (!held) passed.push_back(entry);
    return nullptr;
  }
  return nullptr;
}

QueueEntry* JobQueue::Pop(unsigned device, bool for_worker, bool hold, absl::FunctionRef<Fit(QueueEntry&)> fits) {
  if (size_ == 0) return nullptr;
  std::vector<QueueEntry*> passed;  // entries without room, best first
  for (auto& [priority, level] : levels_) {
    for (Line& line : level.lines) line.passed = (line.devices >> device & 1) == 0 || line.for_worker != for_worker;
    while (true) {
      std::size_t best = level.lines.size();
      for (std::size_t i = 0; i < level.lines.size(); ++i) {
        if (level.lines[i].passed) continue;
        if (best == level.lines.size() || Before(level.lines[i], level.lines[best])) best = i;
      }
      if (best == level.lines.size()) break;
      bool held = false;
      if (QueueEntry* const next = FirstThatFits(level.lines[best], hold, fits, passed, held)) {
        Share& share = *level.lines[best].share;
        TokenAccount& token = *share.token;
        served_now_ = std::max(served_now_, token.served);
        token.share_served_now = std::max(token.share_served_now, share.served);
        for (Account* const account : {static_cast<Account*>(&share), static_cast<Account*>(&token)}) {
          ++account->served;
          ++account->running;
        }
        Unlink(level, best, *next);
        for (QueueEntry* entry : passed) ++entry->overtaken;
        return next;
      }
      if (held) return nullptr;
      level.lines[best].passed = true;
    }
  }
  return nullptr;
}

void JobQueue::Finished(const QueueEntry& entry) {
  const auto at = shares_.find(IdOf(entry));
  assert(at != shares_.end() && at->second.running > 0);
  --at->second.running;
  --at->second.token->running;
  ForgetIfIdle(entry);
}

void JobQueue::ForgetIfIdle(const QueueEntry& entry) {
  const auto is_idle = [](const Account& account) { return account.waiting == 0 && account.running == 0; };
  const auto share = shares_.find(IdOf(entry));
  if (is_idle(share->second)) shares_.erase(share);
  const auto token = tokens_.find(entry.token);
  if (is_idle(token->second)) tokens_.erase(token);
}

void JobQueue::EachLineBeside(const QueueEntry& entry,
                              absl::FunctionRef<void(const Line&, std::size_t ahead)> visit) const {
  const auto level = levels_.find(entry.priority);
  const auto own = shares_.find(IdOf(entry));
  if (level == levels_.end() || own == shares_.end()) return;
  struct Met {
    std::size_t waiting = 0, earlier = 0;  // of an account's entries, all and those that came before this one
    std::uint64_t served = 0;              // by the time that those of higher priority have gone

    // How many of them are served before an account has been served `turn` times. All of `line`, which is one of
    // several of the account, counts for its part.
    std::size_t AheadIn(const Line& line, std::uint64_t turn) const {
      std::size_t ahead = turn > served ? turn - served : 0;
      if (served <= turn && earlier > ahead) ++ahead;  // of those served as often, the first come
      if (ahead < waiting) ahead = ahead * line.ranks.present() / waiting;
      return std::min(ahead, line.ranks.present());
    }
  };
  std::unordered_map<const Account*, Met> met;
  const auto met_by = [&met](const Account& account) -> Met& {
    const auto [at, is_new] = met.try_emplace(&account);
    if (is_new) at->second.served = account.served;
    return at->second;
  };
  for (const auto& [priority, higher] : levels_) {
    if (priority <= entry.priority) break;
    for (const Line& line : higher.lines) {
      if (!line.Meets(entry)) continue;
      met_by(*line.share).served += line.ranks.present();
      met_by(*line.share->token).served += line.ranks.present();
    }
  }
  for (const Line& line : level->second.lines) {
    if (!line.Meets(entry)) continue;
    for (const Account* const account : {static_cast<Account*>(line.share), static_cast<Account*>(line.share->token)}) {
      Met& one = met_by(*account);
      one.waiting += line.ranks.present();
      one.earlier += EarlierIn(line, entry);
    }
  }
  // How often its own share, and then its own token, are served before it.
  const Account* const token = own->second.token;
  const std::uint64_t turn = met_by(own->second).served + met_by(own->second).earlier;
  std::uint64_t tokens_turn = met_by(*token).served;
  for (const Line& line : level->second.lines) {
    if (!line.Meets(entry) || line.share->token != token) continue;
    const std::size_t ahead =
        line.share_id == IdOf(entry) ? EarlierIn(line, entry) : met_by(*line.share).AheadIn(line, turn);
    tokens_turn += ahead;
    visit(line, ahead);
  }
  for (const Line& line : level->second.lines) {
    if (!line.Meets(entry) || line.share->token == token) continue;
    visit(line, met_by(*line.share->token).AheadIn(line, tokens_turn));
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
    (line.share_id == IdOf(entry) ? ahead.of_own_share : ahead.of_others) += number;
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
    std::uint64_t *of_token, *of_share;  // served, with those that are in `first`
  };
  std::unordered_map<const Account*, std::uint64_t> served;
  const auto served_of = [&served](const Account& account) {
    return &served.try_emplace(&account, account.served).first->second;
  };
  for (const auto& [priority, level] : levels_) {
    if (priority < entry.priority) break;
    std::vector<Cursor> cursors;
    for (const Line& line : level.lines) {
      if (!line.Meets(entry)) continue;
      cursors.push_back({line.first, served_of(*line.share->token), served_of(*line.share)});
    }
    while (!cursors.empty() && first.size() < limit) {
      const auto best = std::min_element(cursors.begin(), cursors.end(), [&](const Cursor& a, const Cursor& b) {
        return std::tuple(*a.of_token, *a.of_share, a.next->sequence) <
               std::tuple(*b.of_token, *b.of_share, b.next->sequence);
      });
      if (best->next == &entry) return first;
      first.push_back(best->next);
      ++*best->of_token;
      ++*best->of_share;
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
