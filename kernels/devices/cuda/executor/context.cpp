#include "kernels/devices/cuda/executor/context.h"

#include "kernels/devices/cuda/executor/device_code.h"
#include "kernels/devices/cuda/plugin/kernel_side.h"

namespace hotplate {

Outcome CudaContext::LaunchStatus() const { return ThisKernelSide().launch_status(); }

Outcome CudaContext::LoadCode(const std::string& source) {
  if (handles_.code == nullptr || handles_.compiler == nullptr) return Outcome::Failed("no code is compiled here");
  const int compute = 10 * traits_.compute_major + traits_.compute_minor;
  return handles_.code->Get(handles_.compiler, source, compute, code_, code_times_);
}

Outcome CudaContext::LaunchLoaded(const char* function, std::uint64_t blocks, unsigned threads,
                                  std::span<void*> parameters) {
  if (code_ == nullptr) return Outcome::Failed("no code is loaded");
  CUfunc_st* found = nullptr;
  if (const Outcome o = code_->Find(function, found); !o.ok()) return o;
  return driver().Check(driver().cuLaunchKernel(found, static_cast<unsigned>(blocks), 1, 1, threads, 1, 1, 0, stream(),
                                                parameters.data(), nullptr),
                        std::string("launching ") + function);
}

const CudaLauncher* KernelSide::Find(std::string_view kernel) const {
  for (const CudaLauncher& launcher : launchers) {
    if (kernel == launcher.name) return &launcher;
  }
  return nullptr;
}

}  // namespace hotplate
