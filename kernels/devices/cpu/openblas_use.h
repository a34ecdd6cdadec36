// OpenBLAS keeps one thread count and one set of buffers for the whole process: a call that wants threads waits for its
// turn, asleep, instead of spinning inside the library.
#pragma once

#include <mutex>
#include <string>

#include "kernels/devices/cpu/cpu_context.h"

namespace hotplate {

// Held while OpenBLAS is called, LAPACK's functions included. With `serial`, or where this call has no more than one
// thread, OpenBLAS keeps to this thread, and there is nothing to wait for.
class OpenBlasUse {
 public:
  OpenBlasUse(CpuContext& context, bool serial);
  OpenBlasUse(const OpenBlasUse&) = delete;
  OpenBlasUse& operator=(const OpenBlasUse&) = delete;

 private:
  std::unique_lock<std::mutex> lock_;
};

// "0.3.21": the version of the library in this process, which may differ from that of the build.
std::string OpenBlasVersion();

}  // namespace hotplate
