// What `hotplate kernels --markdown` says of where a kernel has been verified.
#include "client/cli/catalogue/verified.h"

#include <gtest/gtest.h>

namespace hotplate::cli {
namespace {

TEST(VerifiedOn, NamesThePlacesOfOneKernel) {
  const std::string file =
      "# GPU C: selu\nCPU x86-64: matmul selu sort\nGPU A, 80 GB: selu matmul\n\nGPU B: selu_like\n";
  EXPECT_EQ(VerifiedOn(file, "selu"), "CPU x86-64, GPU A, 80 GB");
  EXPECT_EQ(VerifiedOn(file, "matmul"), "CPU x86-64, GPU A, 80 GB");
  EXPECT_EQ(VerifiedOn(file, "sort"), "CPU x86-64");
}

TEST(VerifiedOn, SaysNothingThatTheFileDoesNot) {
  EXPECT_EQ(VerifiedOn("", "selu"), "-");
  EXPECT_EQ(VerifiedOn("selu\nGPU A:\nGPU B: matmul\nGPU C: *", "selu"), "-");
}

}  // namespace
}  // namespace hotplate::cli
