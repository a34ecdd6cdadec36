// The names of the daemon's arrays whose ids a client has seen. Another start of the daemon has named arrays under a
// lease again, by their names and with other ids.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "kernels/base/mutex.h"

namespace hotplate::client {

// Thread-safe. `moves`: Connection::moves at the time.
class ArrayNames {
 public:
  // The array of this id has this name now. An empty name says nothing.
  void Note(const std::string& id, const std::string& name, std::size_t moves);
  // What to call an array in a request: the name, where the id is of a start of before and had one; else as it was
  // given.
  std::string Now(const std::string& id_or_name, std::size_t moves) const;

 private:
  // More than a daemon has arrays.
  static constexpr std::size_t kMost = 200'000;
  struct Named {
    std::string name;
    std::size_t moves;
  };

  mutable Mutex mutex_;
  std::map<std::string, Named> by_id_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::string> id_of_ ABSL_GUARDED_BY(mutex_);  // the newest array of each name
};

}  // namespace hotplate::client
