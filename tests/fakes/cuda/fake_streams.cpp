// Streams of the fake driver, each of which is a thread, and events with steady-clock times.
#include <chrono>

#include "tests/fakes/cuda/fake_driver.h"

namespace hotplate {

int FakeDriver::MakeStream(CUstream_st** stream) {
  if (const int error = CallInContext("cuStreamCreate")) return error;
  auto made = std::make_unique<CUstream_st>();
  CUstream_st* const raw = *stream = made.get();
  raw->context = current_;
  raw->thread = std::thread([this, raw] { Execute(*raw); });
  const std::lock_guard lock(mutex_);
  streams_.emplace(raw, std::move(made));
  return 0;
}

int FakeDriver::DestroyStream(CUstream_st* stream) {
  if (const int error = Call("cuStreamDestroy_v2")) return error;
  std::unique_ptr<CUstream_st> owned;
  {
    const std::lock_guard lock(mutex_);
    const auto found = streams_.find(stream);
    if (found == streams_.end()) {
      misuse_.emplace_back("an unknown stream is destroyed");
      return kInvalidHandle;
    }
    owned = std::move(found->second);
    streams_.erase(found);
    owned->stopping = true;
    changed_.notify_all();
  }
  owned->thread.join();
  const std::lock_guard lock(mutex_);
  Observe(stream, UINT64_MAX);
  return 0;
}

int FakeDriver::QueryStream(CUstream_st* stream) {
  if (const int error = CallInContext("cuStreamQuery")) return error;
  const std::lock_guard lock(mutex_);
  return stream->work.empty() && !stream->busy ? stream->context->broken.load() : kDriverNotReady;
}

int FakeDriver::SynchronizeStream(CUstream_st* stream) {
  if (const int error = CallInContext("cuStreamSynchronize")) return error;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [stream] { return stream->work.empty() && !stream->busy; });
  Observe(stream, stream->frees);
  for (auto& [raw, pool] : pools_) Shrink(*pool, pool->threshold);
  return stream->context->broken;
}

int FakeDriver::LaunchHost(CUstream_st* stream, HostFunction function, void* user) {
  // Kernels come this way: what was enqueued is run, whatever the context's state, so that nothing is leaked.
  const int error = CallInContext("cuLaunchHostFunc");
  if (error != 0 && stream->context->broken == 0) return error;
  return Enqueue(stream, [function, user] { function(user); });
}

int FakeDriver::MakeEvent(CUevent_st** event, unsigned flags) {
  if (const int error = CallInContext("cuEventCreate")) return error;
  auto made = std::make_unique<CUevent_st>();
  made->context = current_;
  made->flags = flags;
  *event = made.get();
  const std::lock_guard lock(mutex_);
  events_.emplace(made.get(), std::move(made));
  return 0;
}

int FakeDriver::DestroyEvent(CUevent_st* event) {
  if (const int error = Call("cuEventDestroy_v2")) return error;
  const std::lock_guard lock(mutex_);
  if (events_.erase(event) == 0) misuse_.emplace_back("an unknown event is destroyed");
  return 0;
}

int FakeDriver::Record(CUevent_st* event, CUstream_st* stream) {
  if (const int error = CallInContext("cuEventRecord")) return error;
  std::uint64_t turn = 0;
  const auto passed = std::make_shared<bool>(false);
  {
    const std::lock_guard lock(mutex_);
    if (!events_.contains(event)) return kInvalidHandle;
    turn = ++event->recorded;
    event->passed = passed;
    event->stream = stream;
    event->frees = streams_.contains(stream) ? stream->frees : 0;
  }
  return Enqueue(stream, [this, event, turn, passed] {
    const std::lock_guard lock(mutex_);
    *passed = true;
    changed_.notify_all();
    if (!events_.contains(event) || event->passed != passed) return;
    event->reached = turn;
    event->time = std::chrono::steady_clock::now();
  });
}

int FakeDriver::WaitEvent(CUstream_st* stream, CUevent_st* event) {
  if (const int error = CallInContext("cuStreamWaitEvent")) return error;
  std::shared_ptr<bool> passed;
  {
    const std::lock_guard lock(mutex_);
    if (!events_.contains(event)) return kInvalidHandle;
    passed = event->passed;
  }
  if (passed == nullptr) return 0;
  return Enqueue(stream, [this, passed] {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return *passed; });
  });
}

int FakeDriver::QueryEvent(CUevent_st* event) {
  if (const int error = CallInContext("cuEventQuery")) return error;
  const std::lock_guard lock(mutex_);
  if (!events_.contains(event)) return kInvalidHandle;
  if (event->reached < event->recorded) return kDriverNotReady;
  Observe(event->stream, event->frees);
  return event->context->broken;
}

int FakeDriver::SynchronizeEvent(CUevent_st* event) {
  if (const int error = CallInContext("cuEventSynchronize")) return error;
  std::unique_lock lock(mutex_);
  if (!events_.contains(event)) return kInvalidHandle;
  changed_.wait(lock, [event] { return event->reached >= event->recorded; });
  Observe(event->stream, event->frees);
  return event->context->broken;
}

int FakeDriver::ElapsedTime(float* ms, CUevent_st* from, CUevent_st* to) {
  if (const int error = CallInContext("cuEventElapsedTime")) return error;
  const std::lock_guard lock(mutex_);
  if (((from->flags | to->flags) & kEventDisableTiming) != 0) return kInvalidHandle;
  if (from->reached < from->recorded || to->reached < to->recorded) return kDriverNotReady;
  *ms = std::chrono::duration<float, std::milli>(to->time - from->time).count();
  return 0;
}

int FakeDriver::Enqueue(CUstream_st* stream, std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  if (!streams_.contains(stream)) {
    misuse_.emplace_back("work for an unknown stream");
    return kInvalidHandle;
  }
  stream->work.push_back(std::move(work));
  changed_.notify_all();
  return 0;
}

void FakeDriver::Execute(CUstream_st& stream) {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return (stream.stopping && stream.work.empty()) || (!held_ && !stream.work.empty()); });
    if (stream.work.empty()) return;
    const std::function<void()> work = std::move(stream.work.front());
    stream.work.pop_front();
    stream.busy = true;
    lock.unlock();
    work();
    lock.lock();
    stream.busy = false;
    changed_.notify_all();
  }
}

}  // namespace hotplate
