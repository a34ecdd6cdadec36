// cuFFT's functions, by their own names, from a library that was opened at run time. For files compiled with the CUDA
// Toolkit.
#pragma once

#include <cufft.h>

#include <utility>

#include "kernels/call/call.h"

namespace hotplate {

struct Cufft {
  decltype(&::cufftGetProperty) cufftGetProperty = nullptr;
  decltype(&::cufftCreate) cufftCreate = nullptr;
  decltype(&::cufftDestroy) cufftDestroy = nullptr;
  decltype(&::cufftSetStream) cufftSetStream = nullptr;
  decltype(&::cufftSetAutoAllocation) cufftSetAutoAllocation = nullptr;
  decltype(&::cufftMakePlanMany64) cufftMakePlanMany64 = nullptr;
  decltype(&::cufftSetWorkArea) cufftSetWorkArea = nullptr;
  decltype(&::cufftExecC2C) cufftExecC2C = nullptr;
  decltype(&::cufftExecZ2Z) cufftExecZ2Z = nullptr;
  decltype(&::cufftExecR2C) cufftExecR2C = nullptr;
  decltype(&::cufftExecD2Z) cufftExecD2Z = nullptr;
  decltype(&::cufftExecC2R) cufftExecC2R = nullptr;
  decltype(&::cufftExecZ2D) cufftExecZ2D = nullptr;

  // Fills the table from the handle that dlopen returned. INVALID: another major version than the plug-in was built
  // with, or a missing function (the first is named).
  static Outcome Load(void* opened, Cufft& functions);
};

// A plan, and its workspace size. The result of destroying it is dropped: it can only be the loss of the device, which
// earlier calls have reported already.
class CufftPlan {
 public:
  CufftPlan() = default;
  CufftPlan(cufftHandle handle, decltype(&::cufftDestroy) destroy) : handle_(handle), destroy_(destroy) {}
  CufftPlan(CufftPlan&& other) noexcept
      : workspace_bytes(other.workspace_bytes),
        handle_(other.handle_),
        destroy_(std::exchange(other.destroy_, nullptr)) {}
  CufftPlan& operator=(CufftPlan&&) = delete;
  ~CufftPlan() {
    if (destroy_ != nullptr) static_cast<void>(destroy_(handle_));
  }

  cufftHandle handle() const { return handle_; }

  std::size_t workspace_bytes = 0;

 private:
  cufftHandle handle_ = 0;
  decltype(&::cufftDestroy) destroy_ = nullptr;
};

}  // namespace hotplate
