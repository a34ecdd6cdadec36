// The CPU's context for kernels: threads, the cancel flag, and progress. Scratch comes with the call.
//
// A kernel passes a range to ParallelFor or ParallelChunks, and the body calls a free function with the loop: GCC
// vectorises that, but not the same loop inside a capturing lambda.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "kernels/call/call.h"
#include "kernels/devices/cpu/thread_pool.h"

namespace hotplate {

// The device's threads, shared by its lanes. A lane may always have its share; while others are idle it has theirs too.
class ThreadBudget {
 public:
  ThreadBudget(int total, int share) : total_(total), share_(share), pool_(total - 1) {}

  int total() const { return total_; }
  int share() const { return share_; }
  ThreadPool& pool() { return pool_; }

  int Take() {
    int used = used_.load(std::memory_order_relaxed);
    int taken;
    do {
      taken = std::clamp(total_ - used, share_, total_);
    } while (!used_.compare_exchange_weak(used, used + taken, std::memory_order_relaxed));
    return taken;
  }
  void GiveBack(int taken) { used_.fetch_sub(taken, std::memory_order_relaxed); }

 private:
  const int total_;
  const int share_;
  std::atomic<int> used_{0};
  ThreadPool pool_;
};

// One call's. Threads are taken from the budget by the first parallel loop and given back with the context.
class CpuContext {
 public:
  // `deterministic`: requires the same bits for any number of threads.
  CpuContext(ThreadBudget& budget, hotplate_control& control, bool deterministic = false)
      : budget_(budget), control_(control), deterministic_(deterministic) {}
  ~CpuContext();
  CpuContext(const CpuContext&) = delete;
  CpuContext& operator=(const CpuContext&) = delete;

  // The threads that a parallel loop may use from now on; they are this call's.
  int Threads();
  // The same for a library that has its own OpenMP threads: sets their number for this thread. Such libraries cut their
  // work by it, so it is one where the same bits are asked for.
  int LibraryThreads();
  bool deterministic() const { return deterministic_; }
  // The most that were used so far.
  int threads_used() const { return threads_ == 0 ? 1 : threads_; }

  bool cancelled() const { return std::atomic_ref(control_.cancel).load(std::memory_order_relaxed) != 0; }
  // fraction: 0 to 1
  void Progress(double fraction) {
    std::atomic_ref(control_.progress).store(static_cast<std::uint32_t>(fraction * 1e6), std::memory_order_relaxed);
  }

  static constexpr std::size_t kRangeUnit = 1024;

  // Calls body(begin, end) on disjoint ranges that cover [0, count): on this thread alone if count is less than
  // `serial_below`, since waking threads costs microseconds; else a few ranges to a thread, with borders on multiples
  // of kRangeUnit elements. Waits.
  template <typename Body>
  void ParallelFor(std::size_t count, std::size_t serial_below, const Body& body) {
    if (count == 0) return;
    if (count < serial_below) return body(std::size_t{0}, count);
    Ranges(count, &body,
           [](const void* b, std::size_t begin, std::size_t end) { (*static_cast<const Body*>(b))(begin, end); });
  }

  // The part of a call's progress that a step makes up.
  struct Part {
    double from = 0, to = 1;

    // Step `step`, from 0, of `steps` that this part has.
    Part Step(std::size_t step, std::size_t steps) const {
      const double width = (to - from) / static_cast<double>(steps);
      return {from + width * static_cast<double>(step),
              step + 1 == steps ? to : from + width * static_cast<double>(step + 1)};
    }
  };

  // Calls body(begin, end) on free threads for consecutive ranges of at most `chunk`, and polls the cancel flag before
  // each: a chunk should take a few milliseconds. Reports progress; `part` is the part of the whole that these chunks
  // are. Waits; false if it was cancelled before everything was done. Stays on this thread if there is only one chunk.
  template <typename Body>
  bool ParallelChunks(std::size_t count, std::size_t chunk, const Body& body, Part part = {0, 1}) {
    return Chunks(count, chunk, part, &body, [](const void* b, std::size_t begin, std::size_t end) {
      (*static_cast<const Body*>(b))(begin, end);
    });
  }

 private:
  using RangeBody = void (*)(const void* body, std::size_t begin, std::size_t end);
  void Ranges(std::size_t count, const void* body, RangeBody call);
  // Calls `body` for 0 to pieces - 1. Each thread begins with its own lot (this thread with the first, the others in
  // the order of their arrival), then takes from the others. With two threads, most of a thread's data are then in its
  // caches from the previous loop. (Processors of one machine need not share a cache: with random pieces, 40 MB were
  // written at half of the rate.)
  template <typename Body>
  void Share(std::size_t pieces, const Body& body);
  bool Chunks(std::size_t count, std::size_t chunk, Part part, const void* body, RangeBody call);

  ThreadBudget& budget_;
  hotplate_control& control_;
  const bool deterministic_;
  int threads_ = 0;  // taken from the budget
};

}  // namespace hotplate
