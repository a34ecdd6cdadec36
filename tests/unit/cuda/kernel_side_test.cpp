// What the plug-in makes of the CUDA runtime's errors: each is read once, cleared where it is told, and not told again
// by the next launch. The runtime is this file's.
#include "kernels/devices/cuda/plugin/kernel_side.h"

#include <gtest/gtest.h>

#include <utility>

#include "kernels/devices/cuda/plugin/lane_libraries.h"
#include "kernels/devices/cuda/plugin/probe.h"
#include "kernels/devices/cuda/plugin/runtime.h"

namespace {
cudaError_t last_error = cudaSuccess, probed = cudaSuccess;
}  // namespace

cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
const char* cudaGetErrorName(cudaError_t) { return "cudaErrorSomething"; }
const char* cudaGetErrorString(cudaError_t) { return "something went wrong"; }

namespace hotplate {

std::span<const CudaLauncher> CudaLaunchers() { return {}; }
cudaError_t ProbeDeviceCode() { return last_error = probed; }

namespace {

TEST(KernelSide, ReadsAndClearsALaunchsError) {
  last_error = cudaErrorInvalidConfiguration;
  const Outcome launched = ThisKernelSide().launch_status();
  EXPECT_EQ(launched.code(), HOTPLATE_FAILED);
  EXPECT_EQ(std::string(launched.message()), "launch: something went wrong (cudaErrorSomething)");
  EXPECT_EQ(last_error, cudaSuccess);
  EXPECT_TRUE(ThisKernelSide().launch_status().ok());
}

// A call says by itself how it went, and leaves it for the next launch too.
TEST(KernelSide, ClearsWhatACallHasToldAlready) {
  last_error = cudaErrorMemoryAllocation;
  EXPECT_EQ(ToOutcome(cudaErrorMemoryAllocation, "memset").code(), HOTPLATE_OUT_OF_MEMORY);
  EXPECT_TRUE(ThisKernelSide().launch_status().ok());
  // As does a library's.
  last_error = cudaErrorLaunchFailure;
  ClearLaunchError();
  EXPECT_TRUE(ThisKernelSide().launch_status().ok());
  // One that went well clears nothing: what is there is a launch's.
  last_error = cudaErrorInvalidConfiguration;
  EXPECT_TRUE(ToOutcome(cudaSuccess, "memset").ok());
  EXPECT_FALSE(ThisKernelSide().launch_status().ok());
}

TEST(KernelSide, TellsADeviceWithoutCodeFromOneThatIsBroken) {
  EXPECT_TRUE(ThisKernelSide().probe().ok());
  probed = cudaErrorNoKernelImageForDevice;
  EXPECT_EQ(ThisKernelSide().probe().code(), HOTPLATE_INVALID);
  probed = cudaErrorECCUncorrectable;
  EXPECT_EQ(ThisKernelSide().probe().code(), HOTPLATE_FAILED);
  probed = cudaSuccess;
  EXPECT_TRUE(ThisKernelSide().launch_status().ok());
}

}  // namespace
}  // namespace hotplate
