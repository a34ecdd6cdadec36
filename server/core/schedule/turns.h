// Entries that must not run at the same time: those of one turn, which is a number, go one after the other, in the
// order in which they came. Whoever has the turn is in the queue or runs; the others wait here, where they hold up
// nobody else and take no lane and no place. Work that runs already may claim a turn that nobody has. A pure data
// structure: its owner guards it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>

#include "absl/functional/function_ref.h"
#include "server/core/schedule/queue.h"

namespace hotplate::core {

class Turns {
 public:
  // Whether nobody has it: the caller has it now.
  bool Claim(std::uint64_t turn) { return lines_.try_emplace(turn).second; }
  // The same for an entry, which else waits here. One without a turn (0) never waits.
  bool Enter(QueueEntry& entry);
  // Whoever has it is done with it. Returns the entry that has it from now on; null if nobody waits.
  QueueEntry* Leave(std::uint64_t turn);
  // Takes out an entry that waits here.
  void Remove(const QueueEntry& entry);

  // How many wait here before this one.
  std::size_t Ahead(const QueueEntry& entry) const;

  std::size_t waiting() const { return waiting_; }
  void ForEach(absl::FunctionRef<void(QueueEntry&)> visit) const;  // of those that wait

 private:
  std::unordered_map<std::uint64_t, std::deque<QueueEntry*>> lines_;  // by the turns that somebody has
  std::size_t waiting_ = 0;
  std::size_t entered_ = 0;  // ever: QueueEntry::rank rises in each line
};

}  // namespace hotplate::core
