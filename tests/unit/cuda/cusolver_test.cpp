// cuSOLVER's functions from a library that is opened at run time: the toolkit's own, and wrong ones.
#include "kernels/devices/cuda/libraries/cusolver.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/devices/cuda/loader/library_search.h"
#include "kernels/devices/cuda/plugin/lane_libraries.h"
#include "kernels/devices/cuda/plugin/libraries.h"

namespace hotplate {
namespace {

Outcome TakeFakeSolver(const std::string& fake) {
  void* const opened = dlopen((HOTPLATE_FAKES "/" + fake + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(opened, nullptr) << dlerror();
  LaneLibraries libraries;
  return kCusolver.take(opened, libraries);
}

TEST(CusolverTest, TakesTheToolkitsOwn) {
  const auto environment = [](const char* name) {
    return std::string(name) == "HOTPLATE_CUDA_LIBRARY_PATH" ? HOTPLATE_TOOLKIT_LIBRARIES : "";
  };
  const auto opened = LibrarySearch(environment, "/nowhere").Open(kCusolver.name);
  ASSERT_TRUE(opened.ok()) << opened.status();
  LaneLibraries libraries;
  const Outcome taken = kCusolver.take(opened->handle, libraries);
  ASSERT_TRUE(taken.ok()) << taken.message();
  // Every one of them, and none twice.
  const Cusolver& solver = libraries.solver;
  EXPECT_NE(solver.in_float.ormqr, nullptr);
  EXPECT_NE(solver.in_double.ormqr, nullptr);
  EXPECT_NE(reinterpret_cast<void*>(solver.in_float.potrf), reinterpret_cast<void*>(solver.in_double.potrf));
  int major = 0;
  EXPECT_EQ(solver.cusolverGetProperty(MAJOR_VERSION, &major), CUSOLVER_STATUS_SUCCESS);
  EXPECT_EQ(major, CUSOLVER_VER_MAJOR);
  EXPECT_TRUE(kCusolver.same_bits(libraries).ok());
}

TEST(CusolverTest, CannotPromiseTheSameBitsBeforeCuda122) {
  const Outcome refused = kCusolver.same_bits(LaneLibraries());
  EXPECT_EQ(refused.code(), HOTPLATE_INVALID);
  EXPECT_THAT(std::string(refused.message()), testing::HasSubstr("CUDA 12.2 or later can. Leave --deterministic out"));
}

TEST(CusolverTest, RefusesAnotherMajorVersion) {
  const Outcome taken = TakeFakeSolver("cusolver_99");
  EXPECT_EQ(taken.code(), HOTPLATE_INVALID);
  EXPECT_EQ(std::string(taken.message()),
            "it is version 99.1.2, and this plug-in needs a version " + std::to_string(CUSOLVER_VER_MAJOR));
}

TEST(CusolverTest, NamesAFunctionThatIsMissing) {
  EXPECT_EQ(std::string(TakeFakeSolver("no_symbol").message()), "it has no function cusolverGetProperty");
  const Outcome taken = TakeFakeSolver("cusolver_" + std::to_string(CUSOLVER_VER_MAJOR));
  EXPECT_EQ(taken.code(), HOTPLATE_INVALID);
  EXPECT_EQ(std::string(taken.message()),
            "version " + std::to_string(CUSOLVER_VER_MAJOR) + ".1.2 is too old: it has no function cusolverDnCreate");
}

}  // namespace
}  // namespace hotplate
