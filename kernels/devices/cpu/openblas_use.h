// OpenBLAS keeps one thread count and one set of buffers for the whole process: a call that wants threads waits for its
// turn, asleep, instead of spinning inside the library.
#pragma once

#include <string>

#include "kernels/base/mutex.h"
#include "kernels/devices/cpu/cpu_context.h"

namespace hotplate {

// Held while OpenBLAS is called, LAPACK's functions included. With `serial`, or where this call has no more than one
// thread, OpenBLAS keeps to this thread, and there is nothing to wait for.
class OpenBlasUse {
 public:
  OpenBlasUse(CpuContext& context, bool serial);
  ~OpenBlasUse() {
    if (held_ != nullptr) held_->Unlock();
  }
  OpenBlasUse(const OpenBlasUse&) = delete;
  OpenBlasUse& operator=(const OpenBlasUse&) = delete;

 private:
  Mutex* held_ = nullptr;  // guards the library, none of our members
};

// "0.3.21": the version of the library in this process, which may differ from that of the build.
std::string OpenBlasVersion();

}  // namespace hotplate
