#include "kernels/devices/cpu/cpu_context.h"

#include <omp.h>

#include <thread>

namespace hotplate {

CpuContext::~CpuContext() {
  if (threads_ != 0) budget_.GiveBack(threads_);
}

int CpuContext::Threads() {
  if (threads_ == 0) threads_ = budget_.Take();
  return threads_;
}

int CpuContext::LibraryThreads() {
#ifdef __SANITIZE_THREAD__
  constexpr bool kOne = true;  // libgomp is not instrumented: every barrier of its would be reported as a race
#else
  constexpr bool kOne = false;
#endif
  const int threads = kOne || deterministic_ ? 1 : Threads();
  omp_set_num_threads(threads);
  return threads;
}

template <typename Body>
void CpuContext::Share(std::size_t pieces, const Body& body) {
  struct alignas(64) Lot {
    std::atomic<std::size_t> next{0};
    std::size_t end = 0;
  };
  constexpr std::size_t kMostLots = 64;
  struct Shared {
    const Body& body;
    const std::thread::id caller;
    const std::size_t lots;
    std::atomic<std::size_t> helpers{0};
    Lot lot[kMostLots] = {};
  };
  const std::size_t threads = std::min(pieces, static_cast<std::size_t>(Threads()));
  Shared shared{.body = body, .caller = std::this_thread::get_id(), .lots = std::min(threads, kMostLots)};
  for (std::size_t i = 0; i < shared.lots; ++i) {
    shared.lot[i].next.store(i * pieces / shared.lots, std::memory_order_relaxed);
    shared.lot[i].end = (i + 1) * pieces / shared.lots;
  }
  const auto work = [](void* argument) {
    Shared& all = *static_cast<Shared*>(argument);
    const bool helper = std::this_thread::get_id() != all.caller;
    const std::size_t own = helper ? 1 + all.helpers.fetch_add(1, std::memory_order_relaxed) : 0;
    for (std::size_t k = 0; k < all.lots; ++k) {
      Lot& lot = all.lot[(own + k) % all.lots];
      for (std::size_t i = lot.next.fetch_add(1, std::memory_order_relaxed); i < lot.end;
           i = lot.next.fetch_add(1, std::memory_order_relaxed)) {
        all.body(i);
      }
    }
  };
  budget_.pool().Run(static_cast<int>(threads) - 1, work, &shared);
}

void CpuContext::Ranges(std::size_t count, const void* body, RangeBody call) {
  const std::size_t threads = static_cast<std::size_t>(Threads());
  if (threads == 1) return call(body, 0, count);
  // Several ranges for each thread, so that a thread on a busy processor does not delay the others.
  const std::size_t ranges = 4 * threads;
  const std::size_t range = (count / ranges + kRangeUnit) / kRangeUnit * kRangeUnit;
  Share((count + range - 1) / range, [=](std::size_t i) { call(body, i * range, std::min(count, (i + 1) * range)); });
}

bool CpuContext::Chunks(std::size_t count, std::size_t chunk, Part part, const void* body, RangeBody call) {
  chunk = std::max<std::size_t>(chunk, 1);
  const std::size_t chunks = count / chunk + (count % chunk != 0);
  std::atomic<std::size_t> done{0};
  const auto one = [&](std::size_t i) {
    if (cancelled()) return;
    call(body, i * chunk, std::min(count, (i + 1) * chunk));
    // A late thread may store an older figure; the last one is stored below.
    const std::size_t now = done.fetch_add(1, std::memory_order_relaxed) + 1;
    Progress(part.from + (part.to - part.from) * static_cast<double>(now) / static_cast<double>(chunks));
  };
  if (chunks <= 1) {
    for (std::size_t i = 0; i < chunks; ++i) one(i);
  } else {
    Share(chunks, one);
  }
  if (done.load(std::memory_order_relaxed) != chunks) return false;
  Progress(part.to);
  return true;
}

}  // namespace hotplate
