// cuBLASLt's functions from a library that is opened at run time: the toolkit's own, and wrong ones.
#include "kernels/devices/cuda/libraries/cublas_lt.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/devices/cuda/loader/library_search.h"
#include "kernels/devices/cuda/plugin/lane_libraries.h"
#include "kernels/devices/cuda/plugin/libraries.h"

namespace hotplate {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Outcome TakeFake(const std::string& fake) {
  void* const opened = dlopen((HOTPLATE_FAKES "/" + fake + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(opened, nullptr) << dlerror();
  LaneLibraries libraries;
  return kCublasLt.take(opened, libraries);
}

TEST(CublasLtTest, TakesTheToolkitsOwn) {
  const auto environment = [](const char* name) {
    return std::string(name) == "HOTPLATE_CUDA_LIBRARY_PATH" ? HOTPLATE_TOOLKIT_LIBRARIES : "";
  };
  const auto opened = LibrarySearch(environment, "/nowhere").Open(kCublasLt.name);
  ASSERT_TRUE(opened.ok()) << opened.status();
  LaneLibraries libraries;
  const Outcome taken = kCublasLt.take(opened->handle, libraries);
  ASSERT_TRUE(taken.ok()) << taken.message();
  // What needs no device works: so each name got its own function.
  const CublasLt& blas = libraries.blas;
  EXPECT_STREQ(blas.cublasLtGetStatusName(CUBLAS_STATUS_INVALID_VALUE), "CUBLAS_STATUS_INVALID_VALUE");
  cublasLtMatrixLayout_t layout = nullptr;
  ASSERT_EQ(blas.cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, 4, 3, 4), CUBLAS_STATUS_SUCCESS);
  const std::int32_t count = 7;
  EXPECT_EQ(blas.cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(blas.cublasLtMatrixLayoutDestroy(layout), CUBLAS_STATUS_SUCCESS);
  cublasLtMatmulDesc_t product = nullptr;
  ASSERT_EQ(blas.cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F), CUBLAS_STATUS_SUCCESS);
  const cublasOperation_t transpose = CUBLAS_OP_T;
  EXPECT_EQ(blas.cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_TRANSA, &transpose, sizeof transpose),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(blas.cublasLtMatmulDescDestroy(product), CUBLAS_STATUS_SUCCESS);
  cublasLtMatmulPreference_t preference = nullptr;
  ASSERT_EQ(blas.cublasLtMatmulPreferenceCreate(&preference), CUBLAS_STATUS_SUCCESS);
  const std::size_t bytes = 1 << 20;
  EXPECT_EQ(blas.cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes,
                                                      sizeof bytes),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(blas.cublasLtMatmulPreferenceDestroy(preference), CUBLAS_STATUS_SUCCESS);
}

TEST(CublasLtTest, RefusesAnotherMajorVersion) {
  const std::string needed = std::to_string(CUBLAS_VER_MAJOR);
  for (const auto& [fake, version] : {std::pair("cublas_lt_11", "11.11.3"), std::pair("cublas_lt_99", "99.1.2")}) {
    const Outcome taken = TakeFake(fake);
    EXPECT_EQ(taken.code(), HOTPLATE_INVALID);
    EXPECT_EQ(std::string(taken.message()),
              std::string("it is version ") + version + ", and this plug-in needs a version " + needed);
  }
}

TEST(CublasLtTest, NamesAFunctionThatIsMissing) {
  EXPECT_EQ(std::string(TakeFake("no_symbol").message()), "it has no function cublasLtGetVersion");
  // Of the right major, and from before everything else was there.
  const Outcome taken = TakeFake(CUBLAS_VER_MAJOR == 12 ? "cublas_lt_12" : "cublas_lt_13");
  EXPECT_EQ(taken.code(), HOTPLATE_INVALID);
  EXPECT_THAT(std::string(taken.message()),
              AllOf(HasSubstr(".0.1 is too old"), HasSubstr("no function cublasLtGetStatusName")));
}

}  // namespace
}  // namespace hotplate
