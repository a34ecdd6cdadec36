#include "server/service/open_run_streams.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace hotplate::server {

void OpenRunStreams::Add(std::weak_ptr<OpenRunStream> stream) {
  MutexLock lock(mutex_);
  std::erase_if(streams_, [](const std::weak_ptr<OpenRunStream>& one) { return one.expired(); });
  streams_.push_back(std::move(stream));
}

bool OpenRunStreams::EndIdle(const core::ArrayHolders& holders) {
  std::vector<std::pair<core::SteadyTime, std::shared_ptr<OpenRunStream>>> idle;
  for (std::shared_ptr<OpenRunStream>& stream : Known()) {
    if (holders.contains(stream->session())) continue;
    if (const auto since = stream->IdleSince()) idle.emplace_back(*since, std::move(stream));
  }
  std::sort(idle.begin(), idle.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return std::any_of(idle.begin(), idle.end(), [](const auto& one) { return one.second->EndIfIdle(); });
}

std::vector<std::shared_ptr<OpenRunStream>> OpenRunStreams::Known() {
  std::vector<std::shared_ptr<OpenRunStream>> known, over;
  {
    MutexLock lock(mutex_);
    for (const std::weak_ptr<OpenRunStream>& one : streams_) known.push_back(one.lock());
  }
  std::erase(known, nullptr);
  // Each is looked at once more, and not with every stream that is opened: of a client that opens streams and resets
  // them thousands are about to go.
  std::copy_if(known.begin(), known.end(), std::back_inserter(over), [](const auto& one) { return one->IsOver(); });
  std::sort(over.begin(), over.end());
  if (over.empty()) return known;
  std::erase_if(known, [&](const auto& one) { return std::binary_search(over.begin(), over.end(), one); });
  MutexLock lock(mutex_);
  std::erase_if(streams_, [&](const auto& one) { return std::binary_search(over.begin(), over.end(), one.lock()); });
  return known;
}

}  // namespace hotplate::server
