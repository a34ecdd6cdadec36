#include "server/workers/ref_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace hotplate::server {

std::string FoundRef::words() const {
  return absl::StrCat(object.type, " in worker ", worker->pid, " on ", worker->device);
}

std::shared_ptr<HostBuffer> RefTable::Add(const std::shared_ptr<const WorkerFacts>& worker, const CallRef& object,
                                          const core::SessionId& session, std::shared_ptr<HostBuffer> buffer) {
  HostBuffer* const memory = buffer.get();
  {
    MutexLock lock(state_->mutex);
    Objects& objects = state_->workers[worker->id];
    // It may have come back in the result of a call that began before its last user went.
    if (objects.uses[object.number]++ == 0) std::erase(objects.freed, object.number);
    state_->refs[memory] = {worker, object, session, ""};
  }
  return {memory, [state = state_, kept = std::move(buffer)](HostBuffer* gone) { state->Forget(*gone); }};
}

void RefTable::State::Forget(const HostBuffer& buffer) {
  MutexLock lock(mutex);
  const auto ref = refs.find(&buffer);
  const std::uint64_t number = ref->second.object.number, worker = ref->second.worker->id;
  const bool lost = !ref->second.lost.empty();
  refs.erase(ref);
  const auto objects = workers.find(worker);
  if (lost || objects == workers.end() || --objects->second.uses[number] > 0) return;
  objects->second.uses.erase(number);
  objects->second.freed.push_back(number);
  any_freed = true;
  changed.NotifyOne();
}

std::optional<FoundRef> RefTable::Find(const HostBuffer& buffer) const {
  MutexLock lock(state_->mutex);
  const auto ref = state_->refs.find(&buffer);
  if (ref == state_->refs.end()) return std::nullopt;
  return ref->second;
}

std::size_t RefTable::Count(std::uint64_t worker) const {
  MutexLock lock(state_->mutex);
  const auto objects = state_->workers.find(worker);
  return objects == state_->workers.end() ? 0 : objects->second.uses.size();
}

void RefTable::Lose(std::uint64_t worker, const std::string& why) {
  MutexLock lock(state_->mutex);
  if (state_->workers.erase(worker) == 0) return;
  for (auto& [buffer, ref] : state_->refs) {
    if (ref.worker->id == worker) ref.lost = why;
  }
}

std::vector<std::uint64_t> RefTable::TakeFreed(std::uint64_t worker) {
  MutexLock lock(state_->mutex);
  const auto objects = state_->workers.find(worker);
  if (objects == state_->workers.end()) return {};
  std::vector<std::uint64_t> freed = std::exchange(objects->second.freed, {});
  if (objects->second.uses.empty()) state_->workers.erase(objects);
  return freed;
}

bool RefTable::AwaitFreed(std::optional<std::chrono::milliseconds> at_most) {
  const auto until = std::chrono::steady_clock::now() + at_most.value_or(std::chrono::hours(24));
  MutexLock lock(state_->mutex);
  while (!state_->closed && !state_->any_freed && state_->changed.WaitUntil(state_->mutex, until)) {
  }
  state_->any_freed = false;
  return !state_->closed;
}

void RefTable::Close() {
  MutexLock lock(state_->mutex);
  state_->closed = true;
  state_->changed.NotifyOne();
}

}  // namespace hotplate::server
