#include "kernels/devices/cuda/executor/resident_arrays.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <new>

namespace hotplate {

ResidentArrays::Use::~Use() {
  if (array_ != nullptr) owner_->LetGo(*array_);
}

std::byte* ResidentArrays::Use::memory() const { return reinterpret_cast<std::byte*>(array_->memory); }

Outcome ResidentArrays::Initialise() {
  {
    const MutexLock lock(mutex_);
    events_.reserve(kSpareEvents);
  }
  return MakeStream(driver_, stream_);
}

void ResidentArrays::Clear() {
  if (stream_ == nullptr) return;
  {
    const MutexLock lock(mutex_);
    for (const std::shared_ptr<Array>& array : arrays_) StateOf(*array).home = {};
  }
  static_cast<void>(Evict(UINT64_MAX, stream_.get()));
  // Waiting for a lost device may never end.
  const MutexLock lock(mutex_);
  if (!lost_) static_cast<void>(driver_.cuStreamSynchronize(stream_.get()));
  events_.clear();
  stream_.reset();
}

ResidentArrays::Use ResidentArrays::Find(std::uint64_t identity, std::uint64_t bytes) {
  const MutexLock lock(mutex_);
  const auto at = by_identity_.find(identity);
  if (at == by_identity_.end() || (*at->second)->bytes != bytes) return {};
  return Hold(at->second);
}

ResidentArrays::Use ResidentArrays::Add(std::uint64_t identity, std::uint64_t bytes, std::uint64_t copied,
                                        DevicePointer memory, CUstream_st* stream, const ArrayHome& home) {
  std::shared_ptr<Array> array;
  Use use;
  // Throws only for lack of host memory: then the array simply does not stay.
  try {
    array = std::make_shared<Array>();
    array->identity = identity;
    array->bytes = bytes;
    array->memory = memory;
    array->state.copied = copied;  // no other thread knows it yet
    array->state.home = home;
    if (Mark(*array, stream)) use = Insert(array);
  } catch (const std::bad_alloc&) {
  }
  if (use.array_ == array && array != nullptr) return use;
  if (array != nullptr) {
    Free(*array, stream);
  } else {
    static_cast<void>(driver_.cuMemFreeAsync(memory, stream));
  }
  return use;
}

bool ResidentArrays::Mark(Array& array, CUstream_st* stream) {
  {
    const MutexLock lock(mutex_);
    if (!events_.empty()) {
      array.ready = std::move(events_.back());
      events_.pop_back();
    }
  }
  if (array.ready == nullptr && !MakeEvent(driver_, kEventDisableTiming, array.ready).ok()) return false;
  return driver_.cuEventRecord(array.ready.get(), stream) == kDriverOk;
}

ResidentArrays::Use ResidentArrays::Insert(const std::shared_ptr<Array>& array) {
  const MutexLock lock(mutex_);
  if (lost_) return {};
  if (const auto at = by_identity_.find(array->identity); at != by_identity_.end()) {
    return (*at->second)->bytes == array->bytes ? Hold(at->second) : Use();
  }
  Arrays alone{array};
  by_identity_.emplace(array->identity, alone.begin());
  arrays_.splice(arrays_.end(), alone);
  bytes_ += MemoryBytes(array->bytes);
  idle_bytes_ += MemoryBytes(array->bytes);
  return Hold(std::prev(arrays_.end()));
}

ResidentArrays::Use ResidentArrays::Hold(Arrays::iterator at) {
  arrays_.splice(arrays_.end(), arrays_, at);
  return HoldInTurn(at);
}

ResidentArrays::Use ResidentArrays::HoldInTurn(Arrays::iterator at) {
  Array& array = **at;
  if (StateOf(array).users++ == 0) idle_bytes_ -= MemoryBytes(array.bytes);
  return Use(this, *at);
}

void ResidentArrays::LetGo(Array& array) {
  {
    const MutexLock lock(mutex_);
    if (--StateOf(array).users > 0) return;
    if (StateOf(array).known) {
      idle_bytes_ += MemoryBytes(array.bytes);
      return;
    }
    if (!lost_) bytes_ -= MemoryBytes(array.bytes);
  }
  Free(array, stream());
}

std::shared_ptr<ResidentArrays::Array> ResidentArrays::Take(Arrays::iterator at) {
  const std::shared_ptr<Array> array = *at;
  by_identity_.erase(array->identity);
  arrays_.erase(at);
  StateOf(*array).known = false;
  if (StateOf(*array).users == 0) {
    idle_bytes_ -= MemoryBytes(array->bytes);
    bytes_ -= MemoryBytes(array->bytes);
  }
  return array;
}

void ResidentArrays::Free(Array& array, CUstream_st* stream) {
  {
    const MutexLock lock(mutex_);
    if (lost_) return;
  }
  // Should either fail, the memory is lost, and the device's next task finds out why.
  const bool joined = array.ready == nullptr || driver_.cuStreamWaitEvent(stream, array.ready.get(), 0) == kDriverOk;
  if (joined) static_cast<void>(driver_.cuMemFreeAsync(array.memory, stream));
  if (array.ready == nullptr) return;
  const MutexLock lock(mutex_);
  if (events_.size() < kSpareEvents) events_.push_back(std::move(array.ready));
}

void ResidentArrays::EndTurn(Array& array) {
  const MutexLock lock(mutex_);
  StateOf(array).filling = false;
  changed_.NotifyAll();
}

Outcome ResidentArrays::Join(const Array& array, CUstream_st* stream) const {
  return driver_.Check(driver_.cuStreamWaitEvent(stream, array.ready.get(), 0), "waiting for an array");
}

Outcome ResidentArrays::Grow(Array& array, std::uint64_t copied, CUstream_st* stream) {
  const Outcome recorded = driver_.Check(driver_.cuEventRecord(array.ready.get(), stream), "marking an array");
  if (!recorded.ok()) return recorded;
  const MutexLock lock(mutex_);
  StateOf(array).copied = copied;
  return recorded;
}

bool ResidentArrays::IsWrittenBack(std::uint64_t identity) const {
  return std::find(written_back_.begin(), written_back_.end(), identity) != written_back_.end();
}

void ResidentArrays::EndWriteBack(std::uint64_t identity) {
  const MutexLock lock(mutex_);
  std::erase(written_back_, identity);
  changed_.NotifyAll();
}

Outcome ResidentArrays::WriteBack(Array& array) {
  std::byte* host = nullptr;
  {
    const MutexLock lock(mutex_);
    while (IsWrittenBack(array.identity)) changed_.Wait(mutex_);
    if (StateOf(array).home.absent == nullptr) return Outcome::Ok();
    if (lost_) return Outcome::DeviceLost("the device that has the array is lost");
    written_back_.push_back(array.identity);
    host = StateOf(array).home.host;
  }
  const WritingBack turn(*this, array.identity);
  Outcome copied = Join(array, stream());
  if (copied.ok()) copied = copy_back_(reinterpret_cast<const std::byte*>(array.memory), host, array.bytes);
  if (!copied.ok()) return copied;
  const MutexLock lock(mutex_);
  std::atomic_ref(*StateOf(array).home.absent).store(0, std::memory_order_release);
  StateOf(array).home = {};
  return copied;
}

Outcome ResidentArrays::Fetch(std::uint64_t identity) {
  Use use;
  {
    const MutexLock lock(mutex_);
    if (lost_) return Outcome::DeviceLost("the device that has the array is lost");
    const auto at = by_identity_.find(identity);
    if (at == by_identity_.end()) return Outcome::Ok();  // it was written back, and went
    use = Hold(at->second);
  }
  return WriteBack(*use.array_);
}

void ResidentArrays::TakeHome(const Use& here, ResidentArrays& other, const Use& there) {
  const std::uint64_t identity = there.array_->identity;
  ArrayHome home;
  {
    const MutexLock lock(other.mutex_);
    while (other.IsWrittenBack(identity)) other.changed_.Wait(other.mutex_);
    if (other.lost_) return;
    home = std::exchange(other.StateOf(*there.array_).home, {});
    // A reader who asks the other one waits until it is settled which of the two has the bytes.
    other.written_back_.push_back(identity);
  }
  const WritingBack turn(other, identity);
  {
    const MutexLock lock(mutex_);
    if (!lost_) {
      StateOf(*here.array_).home = home;
      return;
    }
  }
  const MutexLock lock(other.mutex_);
  other.StateOf(*there.array_).home = home;
}

void ResidentArrays::Disown(std::uint64_t identity) {
  const MutexLock lock(mutex_);
  while (IsWrittenBack(identity)) changed_.Wait(mutex_);
  if (const auto at = by_identity_.find(identity); at != by_identity_.end()) StateOf(**at->second).home = {};
}

void ResidentArrays::Forget(std::uint64_t identity) {
  std::shared_ptr<Array> gone;
  {
    const MutexLock lock(mutex_);
    const auto at = by_identity_.find(identity);
    if (at == by_identity_.end()) return;
    gone = Take(at->second);
    if (StateOf(*gone).users > 0) return;
  }
  Free(*gone, stream());
}

std::uint64_t ResidentArrays::Evict(std::uint64_t bytes, CUstream_st* stream) {
  std::uint64_t freed = 0;
  while (freed < bytes) {
    std::vector<std::shared_ptr<Array>> gone;
    Use alone;  // the first in turn whose bytes the host does not have
    {
      const MutexLock lock(mutex_);
      for (auto at = arrays_.begin(); at != arrays_.end() && freed < bytes && !alone;) {
        const auto one = at++;
        if (StateOf(**one).users > 0) continue;
        if (StateOf(**one).home.absent != nullptr) {
          alone = HoldInTurn(one);
        } else {
          freed += MemoryBytes((*one)->bytes);
          gone.push_back(Take(one));
        }
      }
    }
    for (const std::shared_ptr<Array>& array : gone) Free(*array, stream);
    if (!alone || !WriteBack(*alone.array_).ok()) break;
  }
  return freed;
}

void ResidentArrays::Abandon() {
  const MutexLock lock(mutex_);
  lost_ = true;
  for (const std::shared_ptr<Array>& array : arrays_) StateOf(*array).known = false;
  arrays_.clear();
  by_identity_.clear();
  bytes_ = idle_bytes_ = 0;
}

std::uint64_t ResidentArrays::bytes() const {
  const MutexLock lock(mutex_);
  return bytes_;
}

std::uint64_t ResidentArrays::idle_bytes() const {
  const MutexLock lock(mutex_);
  return idle_bytes_;
}

std::uint64_t ResidentArrays::count() const {
  const MutexLock lock(mutex_);
  return arrays_.size();
}

}  // namespace hotplate
