// Copies of the daemon's stored arrays in a device's memory: a cache of the host's memory. A stored array is immutable,
// so its copy stays valid, and its bytes stay in the host's memory. So nothing is lost with a device, dropping a copy
// only frees it, and nothing is ever written back. An array is known by its identity, which names its bytes for ever
// and is never reused.
//
// This is the one place that knows when a copy is complete (its ready event), who uses it, and which copy goes first
// when memory is needed (the least recently used of the unused ones), and that makes one stream wait for another's
// work. The caller allocates device memory, in the order of a stream; it is freed here.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernels/base/mutex.h"
#include "kernels/devices/cuda/code/grid.h"
#include "kernels/devices/cuda/executor/driver.h"

namespace hotplate {

// Thread-safe. The device's context is current in every call.
class ResidentArrays {
  struct Array;

 public:
  // A hold on an array: its memory stays while this lives. Wait for the work that you enqueued before releasing a Use.
  // Copies by Extend are the exception: freeing the memory waits for them.
  class Use {
   public:
    Use() = default;
    Use(Use&& other) noexcept : owner_(other.owner_), array_(std::move(other.array_)) {}
    Use& operator=(Use&& other) noexcept {
      std::swap(owner_, other.owner_);
      std::swap(array_, other.array_);
      return *this;
    }
    ~Use();

    explicit operator bool() const { return array_ != nullptr; }
    std::byte* memory() const;

   private:
    friend class ResidentArrays;
    Use(ResidentArrays* owner, std::shared_ptr<Array> array) : owner_(owner), array_(std::move(array)) {}

    ResidentArrays* owner_ = nullptr;
    std::shared_ptr<Array> array_;
  };

  explicit ResidentArrays(const Driver& driver) : driver_(driver) {}
  ResidentArrays(const ResidentArrays&) = delete;
  ResidentArrays& operator=(const ResidentArrays&) = delete;

  Outcome Initialise();
  // Frees everything. No array may be in use.
  void Clear();
  // The stream on which arrays arrive ahead of tasks and forgotten ones are freed. Nothing long runs there.
  CUstream_st* stream() const { return stream_.get(); }

  // The device memory of an array of this many bytes; the plan uses the same figure.
  static constexpr std::uint64_t MemoryBytes(std::uint64_t bytes) { return RoundUp(bytes, kArenaAlignment); }

  // The array, whole or growing; nothing if it is not here.
  Use Find(std::uint64_t identity, std::uint64_t bytes);
  // Makes the memory, allocated in the order of `stream`, the array's; its first `copied` bytes are there when the
  // stream gets to this point. If another thread was faster, frees the memory and uses the other's. Returns nothing,
  // and frees the memory, if the driver refuses.
  Use Add(std::uint64_t identity, std::uint64_t bytes, std::uint64_t copied, DevicePointer memory, CUstream_st* stream);

  // Makes the array complete for later work in `stream`: copy(from) enqueues the missing bytes there. If another thread
  // is doing that, waits for it, or for `cancelled()`. A thread that enqueues waits for nobody, so lanes that want each
  // other's arrays never deadlock.
  template <typename Cancelled, typename Copy>
  Outcome Complete(const Use& use, CUstream_st* stream, Cancelled&& cancelled, Copy&& copy) {
    Array& array = *use.array_;
    std::uint64_t from = 0;
    {
      const MutexLock lock(mutex_);
      while (StateOf(array).filling) {
        if (cancelled()) return Outcome::Cancelled();
        changed_.WaitUntil(mutex_, std::chrono::steady_clock::now() + kPoll);
      }
      const Outcome joined = Join(array, stream);
      from = StateOf(array).copied;
      if (!joined.ok() || from == array.bytes) return joined;
      StateOf(array).filling = true;
    }
    const Filling filling(*this, array);
    const Outcome copied = copy(from);
    return copied.ok() ? Grow(array, array.bytes, stream) : copied;
  }
  // Copies the next part of an array, complete up to `from`, ahead of any task, by copy() in stream(). Not OK if a task
  // was faster or a piece is missing. Never waits for another.
  template <typename Copy>
  Outcome Extend(const Use& use, std::uint64_t from, std::uint64_t to, Copy&& copy) {
    Array& array = *use.array_;
    {
      const MutexLock lock(mutex_);
      State& state = StateOf(array);
      if (state.filling || state.copied != from) return Outcome::Invalid("this is not the array's next piece");
      if (const Outcome joined = Join(array, stream()); !joined.ok()) return joined;
      state.filling = true;
    }
    const Filling filling(*this, array);
    const Outcome copied = copy();
    return copied.ok() ? Grow(array, to, stream()) : copied;
  }

  // The array will not be asked for again. Its memory goes with its last user.
  void Forget(std::uint64_t identity);
  // Frees unused arrays, the least recently used first, in the order of `stream`, until `bytes` are free or none is
  // left. Returns the number of bytes freed.
  std::uint64_t Evict(std::uint64_t bytes, CUstream_st* stream);
  // The device and all its memory are lost: makes no more driver calls that could wait for the device.
  void Abandon();

  // The device memory of all arrays, and of the unused ones, which are freed on demand.
  std::uint64_t bytes() const;
  std::uint64_t idle_bytes() const;
  std::uint64_t count() const;

 private:
  // How often a task that waits for another's copy looks whether it is cancelled.
  static constexpr std::chrono::milliseconds kPoll{5};

  // Kept, because making one takes longer than a small copy.
  static constexpr std::size_t kSpareEvents = 256;

  struct State {
    std::uint64_t copied = 0;  // from the start; only the thread that copies changes it
    bool filling = false;      // a thread is copying
    int users = 0;
    bool known = true;  // by its identity; else it goes with its last user
  };
  struct Array {
    std::uint64_t identity = 0, bytes = 0;
    DevicePointer memory = 0;
    OwnedEvent ready;  // after the allocation and the copies so far; recorded by the thread that copies
    State state;       // by StateOf, which asks for the lock
  };
  using Arrays = std::list<std::shared_ptr<Array>>;

  // Somebody's turn to copy. When it is over it is the next one's, wherever this one got to: to copy the same bytes
  // once more does no harm.
  struct Filling {
    Filling(ResidentArrays& the_owner, Array& the_array) : owner(the_owner), array(the_array) {}
    ~Filling() { owner.EndTurn(array); }
    Filling(const Filling&) = delete;
    Filling& operator=(const Filling&) = delete;
    ResidentArrays& owner;
    Array& array;
  };
  void EndTurn(Array& array);
  State& StateOf(Array& array) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return array.state; }
  // Makes later work in the stream wait for the bytes copied so far.
  Outcome Join(const Array& array, CUstream_st* stream) const;
  // Records that the work enqueued in the stream completes this many bytes.
  Outcome Grow(Array& array, std::uint64_t copied, CUstream_st* stream);

  // The array's event, recorded in the stream; false if the driver refuses.
  bool Mark(Array& array, CUstream_st* stream);
  // Nothing if the device is lost; the other's if another was faster.
  Use Insert(const std::shared_ptr<Array>& array);
  void LetGo(Array& array);
  Use Hold(Arrays::iterator at) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Nobody will find it again.
  std::shared_ptr<Array> Take(Arrays::iterator at) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // When nobody uses the array any more.
  void Free(Array& array, CUstream_st* stream) ABSL_LOCKS_EXCLUDED(mutex_);

  const Driver& driver_;
  OwnedStream stream_;

  mutable Mutex mutex_;
  CondVar changed_;
  Arrays arrays_ ABSL_GUARDED_BY(mutex_);  // the last to be used is last
  std::unordered_map<std::uint64_t, Arrays::iterator> by_identity_ ABSL_GUARDED_BY(mutex_);
  std::vector<OwnedEvent> events_ ABSL_GUARDED_BY(mutex_);  // spare ones of freed arrays
  std::uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;         // of all arrays
  std::uint64_t idle_bytes_ ABSL_GUARDED_BY(mutex_) = 0;    // of unused ones
  bool lost_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace hotplate
