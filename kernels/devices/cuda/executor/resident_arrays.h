// Copies of the daemon's stored arrays in a device's memory: a cache behind which the host's memory stands. An array
// is immutable once it is stored, so its copy is good for as long as it lies here; and its bytes stay in the host's
// memory all the while. So nothing is lost with a device, a copy is dropped by merely freeing it, and nothing is ever
// written back. An array is known by its identity, which names its bytes for ever and is never used again.
//
// The one place that knows when a copy is there (its ready event), who uses it, which copy goes first when memory is
// wanted (of those that nobody uses, the one whose last use is the longest ago), and that makes one stream wait for
// what another enqueued. Device memory is the caller's to allocate, in the order of a stream; it is freed here.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernels/devices/cuda/code/grid.h"
#include "kernels/devices/cuda/executor/driver.h"

namespace hotplate {

// Thread-safe. The device's context is current in every call.
class ResidentArrays {
  struct Array;

 public:
  // A hold on an array: its memory stays while this lives. Whoever lets go has seen the end of what it enqueued, or
  // left it to Extend, whose copies are waited for by whoever frees the memory.
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
  // Ends it: nobody uses an array any more.
  void Clear();
  // Where arrays arrive ahead of tasks, and where those that are forgotten are freed. Nothing long runs there.
  CUstream_st* stream() const { return stream_.get(); }

  // What an array of so many bytes takes; the plan counts it the same.
  static constexpr std::uint64_t MemoryBytes(std::uint64_t bytes) { return RoundUp(bytes, kArenaAlignment); }

  // The array, whole or growing; nothing if it is not here.
  Use Find(std::uint64_t identity, std::uint64_t bytes);
  // The memory, allocated in the order of `stream`, is the array's from here, of which the first `copied` bytes are
  // there when the stream comes to this point. If another was faster, it is freed and the other's used. Nothing, and
  // the memory freed, if the driver refuses.
  Use Add(std::uint64_t identity, std::uint64_t bytes, std::uint64_t copied, DevicePointer memory, CUstream_st* stream);

  // Makes the array whole for whatever comes next in `stream`, by copy(from), which enqueues there the bytes that are
  // not here yet. While another does that, waits for it, or for `cancelled()`; whoever enqueues waits for nobody, so
  // lanes that want each other's arrays never wait in a circle.
  template <typename Cancelled, typename Copy>
  Outcome Complete(const Use& use, CUstream_st* stream, Cancelled&& cancelled, Copy&& copy) {
    Array& array = *use.array_;
    {
      std::unique_lock lock(mutex_);
      while (array.filling) {
        if (cancelled()) return Outcome::Cancelled();
        changed_.wait_for(lock, kPoll);
      }
      const Outcome joined = Join(array, stream);
      if (!joined.ok() || array.copied == array.bytes) return joined;
      array.filling = true;
    }
    const Filling filling(*this, array);
    const Outcome copied = copy(array.copied);
    return copied.ok() ? Grow(array, array.bytes, stream) : copied;
  }
  // Copies more of an array that is here as far as `from`, ahead of any task, by copy() in stream(). Not OK if it is
  // not, because a task was faster or a piece is missing. Never waits for another.
  template <typename Copy>
  Outcome Extend(const Use& use, std::uint64_t from, std::uint64_t to, Copy&& copy) {
    Array& array = *use.array_;
    {
      const std::lock_guard lock(mutex_);
      if (array.filling || array.copied != from) return Outcome::Invalid("this is not the array's next piece");
      if (const Outcome joined = Join(array, stream()); !joined.ok()) return joined;
      array.filling = true;
    }
    const Filling filling(*this, array);
    const Outcome copied = copy();
    return copied.ok() ? Grow(array, to, stream()) : copied;
  }

  // The array will not be asked for again. Its memory goes with its last user.
  void Forget(std::uint64_t identity);
  // Frees arrays that nobody uses, the oldest first, in the order of `stream`, until that makes `bytes` or none is
  // left. Returns what it freed.
  std::uint64_t Evict(std::uint64_t bytes, CUstream_st* stream);
  // The device is lost, and all memory with it: nothing more is asked of the driver that could wait for the device.
  void Abandon();

  // What the arrays take of the device, and of that what nobody uses: who needs it can have it.
  std::uint64_t bytes() const;
  std::uint64_t idle_bytes() const;
  std::uint64_t count() const;

 private:
  // How often a task that waits for another's copy looks whether it is cancelled.
  static constexpr std::chrono::milliseconds kPoll{5};

  // Kept, because making one takes longer than a small copy.
  static constexpr std::size_t kSpareEvents = 256;

  struct Array {
    std::uint64_t identity = 0, bytes = 0;
    DevicePointer memory = 0;
    OwnedEvent ready;  // behind the allocation and what is copied; recorded by whose turn it is to copy
    // The rest is guarded by mutex_, but that `copied` is changed only by whose turn it is.
    std::uint64_t copied = 0;  // from the start
    bool filling = false;      // it is somebody's turn
    int users = 0;
    bool known = true;  // by its identity; if not, it goes with its last user
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
  // What comes next in the stream has what is copied so far.
  Outcome Join(const Array& array, CUstream_st* stream) const;
  // What was enqueued in the stream makes it so many bytes.
  Outcome Grow(Array& array, std::uint64_t copied, CUstream_st* stream);

  // The array's event, recorded in the stream; false if the driver refuses.
  bool Mark(Array& array, CUstream_st* stream);
  // Nothing if the device is lost; the other's if another was faster.
  Use Insert(const std::shared_ptr<Array>& array);
  void LetGo(Array& array);
  // With mutex_ held.
  Use Hold(Arrays::iterator at);
  std::shared_ptr<Array> Take(Arrays::iterator at);  // nobody will find it again
  // Without it, when nobody uses the array any more.
  void Free(Array& array, CUstream_st* stream);

  const Driver& driver_;
  OwnedStream stream_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // The rest is guarded by mutex_.
  Arrays arrays_;  // the last to be used is last
  std::unordered_map<std::uint64_t, Arrays::iterator> by_identity_;
  std::vector<OwnedEvent> events_;            // of arrays that went, for those that come
  std::uint64_t bytes_ = 0, idle_bytes_ = 0;  // of all; of those that nobody uses
  bool lost_ = false;
};

}  // namespace hotplate
