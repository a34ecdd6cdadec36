// cuFFT's functions from a library that is opened at run time: the toolkit's own, and wrong ones.
#include "kernels/devices/cuda/libraries/cufft.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/devices/cuda/loader/library_search.h"
#include "kernels/devices/cuda/plugin/lane_libraries.h"
#include "kernels/devices/cuda/plugin/libraries.h"

namespace hotplate {
namespace {

Outcome TakeFakeFourier(const std::string& fake) {
  void* const opened = dlopen((HOTPLATE_FAKES "/" + fake + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(opened, nullptr) << dlerror();
  LaneLibraries libraries;
  return kCufft.take(opened, libraries);
}

TEST(CufftTest, TakesTheToolkitsOwn) {
  const auto environment = [](const char* name) {
    return std::string(name) == "HOTPLATE_CUDA_LIBRARY_PATH" ? HOTPLATE_TOOLKIT_LIBRARIES : "";
  };
  const auto opened = LibrarySearch(environment, "/nowhere").Open(kCufft.name);
  ASSERT_TRUE(opened.ok()) << opened.status();
  LaneLibraries libraries;
  const Outcome taken = kCufft.take(opened->handle, libraries);
  ASSERT_TRUE(taken.ok()) << taken.message();
  EXPECT_NE(libraries.cufft.cufftExecZ2D, nullptr);
  int major = 0;
  EXPECT_EQ(libraries.cufft.cufftGetProperty(MAJOR_VERSION, &major), CUFFT_SUCCESS);
  EXPECT_EQ(major, CUFFT_VER_MAJOR);
}

TEST(CufftTest, RefusesAnotherMajorVersion) {
  const Outcome taken = TakeFakeFourier("cufft_99");
  EXPECT_EQ(taken.code(), HOTPLATE_INVALID);
  EXPECT_EQ(std::string(taken.message()),
            "it is version 99.1.2, and this plug-in needs a version " + std::to_string(CUFFT_VER_MAJOR));
}

TEST(CufftTest, NamesAFunctionThatIsMissing) {
  EXPECT_EQ(std::string(TakeFakeFourier("no_symbol").message()), "it has no function cufftGetProperty");
  const Outcome taken = TakeFakeFourier("cufft_" + std::to_string(CUFFT_VER_MAJOR));
  EXPECT_EQ(taken.code(), HOTPLATE_INVALID);
  EXPECT_EQ(std::string(taken.message()),
            "version " + std::to_string(CUFFT_VER_MAJOR) + ".1.2 is too old: it has no function cufftCreate");
}

// Each is destroyed once, by whoever has it last.
TEST(CufftTest, APlanIsDestroyedOnce) {
  static int destroyed = 0;
  const auto destroy = [](cufftHandle) {
    ++destroyed;
    return CUFFT_SUCCESS;
  };
  destroyed = 0;
  {
    CufftPlan plan(7, destroy);
    plan.workspace_bytes = 5;
    const CufftPlan moved(std::move(plan));
    EXPECT_EQ(moved.handle(), 7);
    EXPECT_EQ(moved.workspace_bytes, 5u);
    EXPECT_EQ(destroyed, 0);
  }
  EXPECT_EQ(destroyed, 1);
}

}  // namespace
}  // namespace hotplate
