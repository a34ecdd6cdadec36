// What somebody waits to hear until it is written down, or cannot be: ends of jobs, answers to cancels and saves.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "kernels/base/mutex.h"

namespace hotplate::server {

// Thread-safe. Each is taken by one only, who then tells.
class Untold {
 public:
  struct News {
    // The sentence for the log where it cannot be written: "the end of job 7 is not in the journal; should …".
    std::string if_not;
    std::function<void(const absl::Status& written)> tell;
  };

  std::uint64_t Add(News news) {
    MutexLock lock(mutex_);
    news_.emplace(++last_, std::move(news));
    return last_;
  }
  // Without a `tell` if it was taken before.
  News Take(std::uint64_t key) {
    MutexLock lock(mutex_);
    auto found = news_.extract(key);
    return found.empty() ? News() : std::move(found.mapped());
  }
  std::vector<News> TakeAll() {
    std::vector<News> all;
    MutexLock lock(mutex_);
    for (auto& [key, news] : news_) all.push_back(std::move(news));
    news_.clear();
    return all;
  }

 private:
  Mutex mutex_;
  std::uint64_t last_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::uint64_t, News> news_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hotplate::server
