#include "kernels/cpu/openblas_turn.h"

#include <omp.h>

namespace hotplate {

OpenBlasTurn::OpenBlasTurn(CpuContext& context, bool serial) {
  static std::mutex threaded;
  if (serial) {
    omp_set_num_threads(1);
  } else if (context.LibraryThreads() > 1) {
    turn_ = std::unique_lock(threaded);
  }
}

}  // namespace hotplate
