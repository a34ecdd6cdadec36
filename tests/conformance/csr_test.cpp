// How the CPU looks through a sparse matrix's indptr: piece by piece, on all threads.
#include "kernels/devices/cpu/csr.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace hotplate::csr {
namespace {

constexpr std::size_t kPiece = 1 << 16, kRows = 5 * kPiece + 77;

// Of rows with an entry each.
class CsrIndptr : public testing::Test {
 protected:
  CsrIndptr() { std::iota(indptr_.begin(), indptr_.end(), 0); }

  Matrix<std::int64_t> matrix() const {
    return {.indptr = indptr_.data(), .indices = nullptr, .rows = kRows, .columns = 1, .entries = kRows};
  }

  std::vector<std::int64_t> indptr_ = std::vector<std::int64_t>(kRows + 1);
  hotplate_control control_{};
};

TEST_F(CsrIndptr, FirstDescentIsFoundWhereverItIs) {
  for (const int threads : {1, 3}) {
    ThreadBudget budget(threads, threads);
    CpuContext context(budget, control_);
    Defect defect;
    ASSERT_TRUE(FindDefectOfIndptr(matrix(), defect, context, 0.25));
    EXPECT_EQ(defect.wrong, Wrong::kNothing);
    EXPECT_EQ(control_.progress, 250'000u);
    for (const std::size_t at : {std::size_t{1}, kPiece - 1, kPiece, kPiece + 1, 3 * kPiece, kRows - 1, kRows}) {
      for (const bool two : {false, true}) {
        const std::vector<std::int64_t> good = indptr_;
        indptr_[at] -= 2;
        if (two) indptr_[kRows] = 0;
        ASSERT_TRUE(FindDefectOfIndptr(matrix(), defect, context, 0));
        EXPECT_EQ(defect.wrong, Wrong::kDecreases);
        EXPECT_EQ(defect.at, at) << threads;
        indptr_ = good;
      }
    }
    indptr_[kRows] += 5;
    ASSERT_TRUE(FindDefectOfIndptr(matrix(), defect, context, 0));
    EXPECT_EQ(defect.wrong, Wrong::kEnd);
    indptr_[kRows] -= 5;
  }
}

TEST_F(CsrIndptr, IsNotLookedThroughAfterACancel) {
  control_.cancel = 1;
  indptr_[1] = -7;
  ThreadBudget budget(1, 1);
  CpuContext context(budget, control_);
  Defect defect;
  EXPECT_FALSE(FindDefectOfIndptr(matrix(), defect, context, 0));
  EXPECT_EQ(defect.wrong, Wrong::kNothing);
}

}  // namespace
}  // namespace hotplate::csr
