// The daemon's stored arrays in a device's memory. A stored array is immutable, so what lies here stays valid. Most are
// copies of the host's bytes: dropping one only frees it. An output that stayed where it was made has its only bytes
// here; they are written to the host when somebody asks for them, and before their memory goes to another array. An
// array is known by its identity, which names its bytes for ever and is never reused.
//
// This is the one place that knows when an array is complete (its ready event), who uses it, whether the host has it,
// and which array goes first when memory is needed (the least recently used of the unused ones), and that makes one
// stream wait for another's work. The caller allocates device memory, in the order of a stream; it is freed here.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernels/base/mutex.h"
#include "kernels/devices/cuda/code/grid.h"
#include "kernels/devices/cuda/executor/driver.h"

namespace hotplate {

// Where the host wants the bytes of an array that lies on the device alone, and its flag (hotplate_array::absent).
struct ArrayHome {
  std::byte* host = nullptr;
  std::uint32_t* absent = nullptr;
};

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

  // Copies device memory to the host in stream() and waits for it. Called without a lock.
  using CopyBack = std::function<Outcome(const std::byte* memory, std::byte* host, std::uint64_t bytes)>;

  ResidentArrays(const Driver& driver, CopyBack copy_back) : driver_(driver), copy_back_(std::move(copy_back)) {}
  ResidentArrays(const ResidentArrays&) = delete;
  ResidentArrays& operator=(const ResidentArrays&) = delete;

  Outcome Initialise();
  // Frees everything, and writes nothing to the host. No array may be in use.
  void Clear();
  // The stream on which arrays arrive ahead of tasks, go to the host, and are freed when forgotten. No kernel runs
  // there.
  CUstream_st* stream() const { return stream_.get(); }

  // The device memory of an array of this many bytes; the plan uses the same figure.
  static constexpr std::uint64_t MemoryBytes(std::uint64_t bytes) { return RoundUp(bytes, kArenaAlignment); }

  // The array, whole or growing; nothing if it is not here.
  Use Find(std::uint64_t identity, std::uint64_t bytes);
  // Makes the memory, allocated in the order of `stream`, the array's; its first `copied` bytes are there when the
  // stream gets to this point. If another thread was faster, frees the memory and uses the other's. Returns nothing,
  // and frees the memory, if the driver refuses. With a home, these are the array's only bytes.
  Use Add(std::uint64_t identity, std::uint64_t bytes, std::uint64_t copied, DevicePointer memory, CUstream_st* stream,
          const ArrayHome& home = {});

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

  // Writes the array to the host, if it lies here alone: once, however many ask at the same time.
  Outcome Fetch(std::uint64_t identity);
  // Makes later work in the stream, which may be another device's, wait for the whole array.
  Outcome Await(const Use& use, CUstream_st* stream) const { return Join(*use.array_, stream); }
  // The copy `here` of the other device's array `there` is from now on the one that the host gets the bytes from, and
  // the other one may be dropped. Both are in use, and whole. Nothing changes if the host has got the bytes meanwhile.
  void TakeHome(const Use& here, ResidentArrays& other, const Use& there);
  // The array's memory on the host is about to go: from here on nothing is written there. Waits for a copy under way.
  void Disown(std::uint64_t identity);
  // The array will not be asked for again. Its memory goes with its last user.
  void Forget(std::uint64_t identity);
  // Frees unused arrays, the least recently used first, in the order of `stream`, until `bytes` are free or none is
  // left. Those that lie here alone are written to the host first; where that fails, they stay. Returns the number of
  // bytes freed.
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
    ArrayHome home;     // empty: the host has the bytes
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
  // The same for a copy to the host.
  struct WritingBack {
    WritingBack(ResidentArrays& the_owner, std::uint64_t the_identity) : owner(the_owner), identity(the_identity) {}
    ~WritingBack() { owner.EndWriteBack(identity); }
    WritingBack(const WritingBack&) = delete;
    WritingBack& operator=(const WritingBack&) = delete;
    ResidentArrays& owner;
    const std::uint64_t identity;
  };
  void EndWriteBack(std::uint64_t identity);
  // The array must be in use.
  Outcome WriteBack(Array& array) ABSL_LOCKS_EXCLUDED(mutex_);
  // Makes later work in the stream wait for the bytes copied so far.
  Outcome Join(const Array& array, CUstream_st* stream) const;
  // Records that the work enqueued in the stream completes this many bytes.
  Outcome Grow(Array& array, std::uint64_t copied, CUstream_st* stream);

  // The array's event, recorded in the stream; false if the driver refuses.
  bool Mark(Array& array, CUstream_st* stream);
  // Nothing if the device is lost; the other's if another was faster.
  Use Insert(const std::shared_ptr<Array>& array);
  void LetGo(Array& array);
  // At this moment.
  bool IsWrittenBack(std::uint64_t identity) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Use Hold(Arrays::iterator at) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // No reason for it to stay longer.
  Use HoldInTurn(Arrays::iterator at) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Nobody will find it again.
  std::shared_ptr<Array> Take(Arrays::iterator at) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // When nobody uses the array any more.
  void Free(Array& array, CUstream_st* stream) ABSL_LOCKS_EXCLUDED(mutex_);

  const Driver& driver_;
  const CopyBack copy_back_;
  OwnedStream stream_;

  mutable Mutex mutex_;
  CondVar changed_;
  Arrays arrays_ ABSL_GUARDED_BY(mutex_);  // the last to be used is last
  std::unordered_map<std::uint64_t, Arrays::iterator> by_identity_ ABSL_GUARDED_BY(mutex_);
  // Identities whose copies to the host are under way, or that go to another device, known or not.
  std::vector<std::uint64_t> written_back_ ABSL_GUARDED_BY(mutex_);
  std::vector<OwnedEvent> events_ ABSL_GUARDED_BY(mutex_);  // spare ones of freed arrays
  std::uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;         // of all arrays
  std::uint64_t idle_bytes_ ABSL_GUARDED_BY(mutex_) = 0;    // of unused ones
  bool lost_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace hotplate
