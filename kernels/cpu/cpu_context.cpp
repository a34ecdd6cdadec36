#include "kernels/cpu/cpu_context.h"

#include <omp.h>

namespace hotplate {

CpuContext::~CpuContext() {
  if (threads_ != 0) budget_.GiveBack(threads_);
}

int CpuContext::Threads() {
  if (threads_ == 0) {
#ifdef __SANITIZE_THREAD__
    threads_ = 1;  // libgomp is not instrumented: every barrier of its would be reported as a race
#else
    threads_ = budget_.Take();
#endif
    // Belongs to the calling thread alone: other lanes have their own. OpenBLAS reads it too.
    omp_set_num_threads(threads_);
  }
  return threads_;
}

void CpuContext::Ranges(std::size_t count, const void* body, RangeBody call) {
  const std::size_t threads = static_cast<std::size_t>(Threads());
  if (threads == 1) return call(body, 0, count);
  const std::size_t range = (count / threads + 64) / 64 * 64;
#pragma omp parallel num_threads(static_cast <int>(threads))
  {
    // A thread that could not be started leaves its ranges to the others.
    for (std::size_t i = static_cast<std::size_t>(omp_get_thread_num()); i < threads;
         i += static_cast<std::size_t>(omp_get_num_threads())) {
      const std::size_t begin = std::min(count, i * range), end = std::min(count, begin + range);
      if (begin < end) call(body, begin, end);
    }
  }
}

bool CpuContext::Chunks(std::size_t count, std::size_t chunk, const void* body, RangeBody call) {
  chunk = std::max<std::size_t>(chunk, 1);
  const std::size_t chunks = count / chunk + (count % chunk != 0);
  std::atomic<std::size_t> next{0}, done{0};
  const auto work = [&] {
    for (;;) {
      const std::size_t i = next.fetch_add(1, std::memory_order_relaxed);
      if (i >= chunks || cancelled()) return;
      call(body, i * chunk, std::min(count, (i + 1) * chunk));
      // Relaxed: whoever is late may store an older figure; the last one stores 1 below.
      Progress(static_cast<double>(done.fetch_add(1, std::memory_order_relaxed) + 1) / static_cast<double>(chunks));
    }
  };
  if (chunks <= 1) {
    work();
  } else if (const int threads = Threads(); threads == 1) {
    work();
  } else {
#pragma omp parallel num_threads(threads)
    work();
  }
  if (done.load(std::memory_order_relaxed) != chunks) return false;
  Progress(1);
  return true;
}

}  // namespace hotplate
