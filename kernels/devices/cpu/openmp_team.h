// The threads that OpenMP keeps for the parallel regions of a library that this thread calls. After a rest they sleep
// like those of ThreadPool, and are kept off the caller's processor for the whole of the next call, since nobody tells
// when they have woken: a product of 300² float32, 0.4 ms, took 7 to 8 ms.
#pragma once

#include <chrono>
#include <vector>

#include "kernels/devices/cpu/processor_choice.h"

namespace hotplate {

class OpenMpTeam {
 public:
  static OpenMpTeam& OfThisThread();

  // Before a call with regions of so many threads, this one included, and after it.
  void Begin(int threads);
  void End();

 private:
  void Meet(int threads);

  int met_ = 0;                          // threads of the largest team so far
  std::vector<ProcessorChoice> others_;  // of it, in OpenMP's order, but for those that have ended
  std::chrono::steady_clock::time_point last_end_;
};

}  // namespace hotplate
