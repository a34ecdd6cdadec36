#include "client/lib/array_names.h"

#include <utility>

namespace hotplate::client {

void ArrayNames::Note(const std::string& id, const std::string& name, std::size_t moves) {
  if (name.empty() || id.empty()) return;
  const MutexLock lock(mutex_);
  if (by_id_.size() >= kMost) {
    by_id_.clear();
    id_of_.clear();
  }
  std::string& newest = id_of_[name];
  // One that was replaced under its name is not there any more, and its id must not lead to the other.
  if (!newest.empty() && newest != id && by_id_[newest].moves == moves) by_id_.erase(newest);
  newest = id;
  by_id_[id] = {name, moves};
}

std::string ArrayNames::Now(const std::string& id_or_name, std::size_t moves) const {
  if (moves == 0) return id_or_name;
  const MutexLock lock(mutex_);
  const auto found = by_id_.find(id_or_name);
  return found != by_id_.end() && found->second.moves < moves ? found->second.name : id_or_name;
}

}  // namespace hotplate::client
