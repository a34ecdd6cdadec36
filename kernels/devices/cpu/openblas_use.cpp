#include "kernels/devices/cpu/openblas_use.h"

#include <cblas.h>
#include <omp.h>

#include <sstream>

namespace hotplate {

OpenBlasUse::OpenBlasUse(CpuContext& context, bool serial) {
  static Mutex threaded;
  if (serial) {
    omp_set_num_threads(1);
  } else if (const int threads = context.LibraryThreads(); threads > 1) {
    threaded.Lock();
    held_ = &threaded;
  }
}

std::string OpenBlasVersion() {
  std::istringstream words(openblas_get_config());  // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ..."
  std::string name, version;
  words >> name >> version;
  return version;
}

}  // namespace hotplate
