#include "server/service/open_run_streams.h"

#include <algorithm>
#include <utility>

namespace hotplate::server {

void OpenRunStreams::Add(std::weak_ptr<OpenRunStream> stream) {
  MutexLock lock(mutex_);
  std::erase_if(streams_, [](const std::weak_ptr<OpenRunStream>& one) { return one.expired(); });
  streams_.push_back(std::move(stream));
}

bool OpenRunStreams::EndIdle(const core::ArrayHolders& holders) {
  std::vector<std::pair<core::SteadyTime, std::shared_ptr<OpenRunStream>>> idle;
  {
    MutexLock lock(mutex_);
    for (const std::weak_ptr<OpenRunStream>& one : streams_) {
      std::shared_ptr<OpenRunStream> stream = one.lock();
      if (stream != nullptr && !holders.contains(stream->session())) idle.emplace_back(core::SteadyTime(), stream);
    }
  }
  std::erase_if(idle, [](auto& one) {
    const std::optional<core::SteadyTime> since = one.second->IdleSince();
    if (since) one.first = *since;
    return !since;
  });
  std::sort(idle.begin(), idle.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return std::any_of(idle.begin(), idle.end(), [](const auto& one) { return one.second->EndIfIdle(); });
}

}  // namespace hotplate::server
