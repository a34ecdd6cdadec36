// What the kernels ask of CUDA's libraries, call by call, and what they make of a call that fails: with stand-ins that
// are as strict as the libraries may be (*_by_*.h). Whether the answers are right is kernels_test.cpp's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "kernels/families/matrix_stack.h"
#include "tests/conformance/bad_data.h"
#include "tests/conformance/launch.h"
#include "tests/unit/cuda/emulation/cublas_lt_by_loops.h"
#include "tests/unit/cuda/emulation/cufft_by_sums.h"
#include "tests/unit/cuda/emulation/cusolver_by_lapack.h"
#include "tests/unit/cuda/emulation/emulated_device.h"
#include "tests/unit/cuda/emulation/library_faults.h"

namespace hotplate {
namespace {

using conformance::Case;
using conformance::KernelSuite;
using conformance::Launch;
using emulation::EmulatedDevice;
using emulation::EmulatedLane;
using emulation::kFast;
using testing::ElementsAre;
using testing::StartsWith;

const KernelSuite& SuiteOf(const std::string& kernel) {
  return *std::ranges::find_if(conformance::KernelSuites(),
                               [&](const KernelSuite& one) { return one.kernel == kernel; });
}

// Ready to run; without a spec if the kernel refuses it.
Launch PreparedOf(const std::string& kernel, const Case& one) {
  absl::StatusOr<Launch> launch = conformance::Prepare(kernel, one, EmulatedDevice(kFast));
  EXPECT_TRUE(launch.ok()) << launch.status();
  return launch.ok() ? *std::move(launch) : Launch();
}

// A case of the kernel's suite; without a spec if there is none.
Launch Prepared(const std::string& kernel, const std::string& name) {
  const std::vector<Case> cases = SuiteOf(kernel).cases();
  const auto found = std::ranges::find(cases, name, &Case::name);
  EXPECT_NE(found, cases.end()) << kernel << " has no case " << name;
  return found == cases.end() ? Launch() : PreparedOf(kernel, *found);
}

// What went wrong; empty: nothing.
std::string RunOn(EmulatedLane& lane, Launch&& launch) {
  if (launch.call.spec == nullptr) return "nothing to run";
  TaskControl control;
  const Outcome outcome = launch.Run(lane, control).outcome;
  return outcome.ok() ? "" : std::string(outcome.message());
}

// TF32 is for those who ask for it. The library's a is our b, both transposed: it counts columns first.
TEST(EmulatedMatmul, AsksTheLibraryForNoMoreAndNoLess) {
  using emulation::Multiplied;
  const struct {
    const char* test_case;
    std::size_t calls;
    Multiplied each;
  } kAsked[] = {
      {"float32_33_nt", 1, {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_OP_T, CUBLAS_OP_N, 1, 0, 0, 0}},
      {"float64_33_tn", 1, {CUBLAS_COMPUTE_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_OP_N, CUBLAS_OP_T, 1, 0, 0, 0}},
      {"complex64_33_nt", 1, {CUBLAS_COMPUTE_32F, CUDA_C_32F, CUDA_C_32F, CUBLAS_OP_T, CUBLAS_OP_N, 1, 0, 0, 0}},
      {"complex128_33_tn", 1, {CUBLAS_COMPUTE_64F, CUDA_C_64F, CUDA_C_64F, CUBLAS_OP_N, CUBLAS_OP_T, 1, 0, 0, 0}},
      {"tf32_float32_33_nn",
       1,
       {CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F, CUDA_R_32F, CUBLAS_OP_N, CUBLAS_OP_N, 1, 0, 0, 0}},
      {"bf16_float32_33_nt", 1, {CUBLAS_COMPUTE_32F, CUDA_R_16BF, CUDA_R_32F, CUBLAS_OP_T, CUBLAS_OP_N, 1, 0, 0, 0}},
      {"f16_float32_33_tt", 1, {CUBLAS_COMPUTE_32F, CUDA_R_16F, CUDA_R_32F, CUBLAS_OP_T, CUBLAS_OP_T, 1, 0, 0, 0}},
      // Of 9 by 5, 5 by 7 and 9 by 7 elements: each by each, one for all, all in one, and one for a few at a time.
      {"float32_batch_of_both_nn",
       1,
       {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_OP_N, CUBLAS_OP_N, 6, 35, 45, 63}},
      {"float32_batch_of_one_tn",
       1,
       {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_OP_N, CUBLAS_OP_T, 8, 35, 0, 63}},
      {"float64_batch_by_one_tn",
       1,
       {CUBLAS_COMPUTE_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_OP_N, CUBLAS_OP_T, 6, 0, 45, 63}},
      {"float64_batch_by_one_nn",
       1,
       {CUBLAS_COMPUTE_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_OP_N, CUBLAS_OP_N, 1, 0, 0, 0}},
      {"float32_batch_in_turn_nt",
       10,
       {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_OP_T, CUBLAS_OP_N, 3, 0, 45, 63}},
  };
  for (const auto& [name, calls, each] : kAsked) {
    SCOPED_TRACE(name);
    emulation::TakeMultiplied();
    EmulatedLane lane(kFast);
    EXPECT_EQ(RunOn(lane, Prepared("matmul", name)), "");
    EXPECT_EQ(emulation::TakeMultiplied(), std::vector(calls, each));
  }
}

// Matrices lie by columns there. Where a case is a stack, or has many right-hand sides for one matrix, each once.
TEST(EmulatedDense, AsksTheLibraryForNoMoreAndNoLess) {
  const struct {
    const char *kernel, *test_case;
    std::vector<std::string> calls;
  } kAsked[] = {
      {"cholesky", "float32_n33", {"Spotrf U 33 33"}},
      {"cholesky", "float64_stack", std::vector<std::string>(4, "Dpotrf U 37 37")},
      {"solve", "float64_sides", {"Dgetrf 33 33 33", "Dgetrs T 33 5 33 33"}},
      {"solve",
       "float32_one_a",
       {"Sgetrf 39 39 39", "Sgetrs T 39 4 39 39", "Sgetrs T 39 4 39 39", "Sgetrs T 39 4 39 39", "Sgetrs T 39 4 39 39",
        "Sgetrs T 39 4 39 39", "Sgetrs T 39 4 39 39"}},
      // Small ones are not the library's.
      {"cholesky", "float64_stack_of_small", {}},
      {"cholesky", "float32_n32", {}},
      {"solve", "float64_small_with_many_sides", {}},
      {"eigh", "float32_vectors_n32", {}},
      {"svd", "float64_full_small_wide", {}},
      {"eigh", "float32_vectors_n33", {"Ssyevd V U 33 33"}},
      {"eigh", "float64_values_n33", {"Dsyevd N U 33 33"}},
      {"svd", "float32_thin_square", {"Sgesvd SS 33 33 33 33 33"}},
      {"svd", "float64_full_nearly_square", {"Dgesvd AA 37 33 37 37 33"}},
      {"svd", "float64_values_nearly_square_wide", {"Dgesvd NN 37 33 37 37 33"}},
      // Long ones, by their QR factors; of all left vectors and of as many as there are values.
      {"svd", "float32_thin_tall", {"Sgeqrf 120 17 120", "Sgesvd AA 17 17 17 17 17", "Sormqr L N 120 17 17 120 120"}},
      {"svd", "float64_full_wide", {"Dgeqrf 120 17 120", "Dgesvd AA 17 17 17 17 17", "Dormqr L N 120 120 17 120 120"}},
      {"svd", "float64_values_wide", {"Dgeqrf 120 17 120", "Dgesvd NN 17 17 17 17 17"}},
  };
  for (const auto& [kernel, name, calls] : kAsked) {
    SCOPED_TRACE(std::string(kernel) + " " + name);
    emulation::TakeSolved();
    EmulatedLane lane(kFast);
    EXPECT_EQ(RunOn(lane, Prepared(kernel, name)), "");
    EXPECT_EQ(emulation::TakeSolved(), calls);
  }
}

// And with a library from before it could be told, whose bits do vary here, what it computes is right all the same.
TEST(EmulatedDense, HasTheSameBitsBecauseTheLibraryIsTold) {
  for (const auto& [kernel, name] : {std::pair("cholesky", "float32_n33"),
                                     {"solve", "float64_sides"},
                                     {"eigh", "float64_vectors_n33"},
                                     {"svd", "float32_thin_tall"}}) {
    SCOPED_TRACE(kernel);
    for (const bool can_be_told : {true, false}) {
      Launch one = Prepared(kernel, name);
      ASSERT_NE(one.call.spec, nullptr);
      Launch other = one.Again();
      for (Launch* const launch : {&one, &other}) {
        EmulatedLane lane(kFast);
        if (!can_be_told) lane.libraries().solver.cusolverDnSetDeterministicMode = nullptr;
        TaskControl control;
        ASSERT_TRUE(launch->Run(lane, control).outcome.ok());
        EXPECT_LE(SuiteOf(kernel).verify({launch->call, launch->inputs, launch->outputs}).error, 1.0);
      }
      EXPECT_EQ(conformance::FirstDifference(one, other).empty(), can_be_told);
    }
  }
}

// Those of a library; and tall ones, of which Q R is made first.
TEST(EmulatedStacks, SayWhichMatrixWasGivenUp) {
  const EmulatedDevice device(kFast);
  constexpr DType kFloat = DType::kFloat32, kDouble = DType::kFloat64;
  for (const auto& [kernel, matrices] : {std::pair("eigh", Signature{kFloat, {3, 36, 36}}),
                                         {"eigh", {kDouble, {3, 36, 36}}},
                                         {"svd", {kFloat, {3, 36, 35}}},
                                         {"svd", {kDouble, {3, 36, 35}}},
                                         {"svd", {kDouble, {3, 60, 5}}}}) {
    SCOPED_TRACE(std::string(kernel) + " " + ToString(matrices));
    const Case one{.name = "given_up", .params = {}, .inputs = [matrices = matrices](std::mt19937_64& random) {
                     conformance::TestArray a(matrices);
                     conformance::FillUniform(a, -1, 1, random);
                     return std::map<std::string, conformance::TestArray>{{"a", std::move(a)}};
                   }};
    absl::StatusOr<Launch> launch = conformance::Prepare(kernel, one, device);
    ASSERT_TRUE(launch.ok()) << launch.status();
    const absl::Cleanup to_the_end = [] { emulation::given_up = {}; };
    emulation::given_up = {.first = 1, .info = 3};
    EmulatedLane lane(kFast);
    TaskControl control;
    const Outcome outcome = launch->Run(lane, control).outcome;
    EXPECT_EQ(emulation::given_up.info, 0) << "not reached";
    EXPECT_EQ(outcome.code(), HOTPLATE_FAILED);
    EXPECT_EQ(std::string(outcome.message()), "matrix 1 of the 3 in a (counted from 0): " +
                                                  conformance::GivenUp(conformance::kThreeLeft, matrices.dtype));
  }
}

TEST(EmulatedFft, AsksTheLibraryForNoMoreAndNoLess) {
  const struct {
    const char *test_case, *call;
  } kAsked[] = {
      {"complex64_fft_n105", "C2C 1 x 105 forward"},
      {"complex128_ifft_stack", "Z2Z 6 x 30 inverse"},
      {"float32_fft_lines_of_4", "C2C 37 x 4 forward"},
      {"float32_rfft_lines_of_4", "R2C 37 x 4 forward"},
      {"float64_rfft2_stack", "D2Z 6 x [7 x 11] forward"},
      {"complex64_irfft_n105", "C2R 1 x 208 inverse"},
      {"complex128_irfft2_even", "Z2D 1 x [16 x 64] inverse"},
      {"complex64_fft2_row", "C2C 1 x 9 forward"},
      {"complex128_fft2_prime_rows", "Z2Z 2 x [53 x 20] forward"},
      {"float32_rfft2_cut", "R2C 3 x [5 x 6] forward"},
  };
  for (const auto& [name, call] : kAsked) {
    SCOPED_TRACE(name);
    emulation::TakeTransformed();
    EmulatedLane lane(kFast);
    EXPECT_EQ(RunOn(lane, Prepared("fft", name)), "");
    EXPECT_THAT(emulation::TakeTransformed(), ElementsAre(call));
  }
}

// A plan keeps some of the device's memory.
TEST(EmulatedFft, KeepsPlansButNotTooMany) {
  const int before = emulation::FourierPlans();
  const auto lines_of = [](std::int64_t length) {
    return PreparedOf("fft", conformance::OfX("lines", {DType::kComplex64, {2, length}}, -1, 1));
  };
  {
    EmulatedLane lane(kFast);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(RunOn(lane, lines_of(7)), "");
    EXPECT_EQ(emulation::FourierPlans(), before + 1);
    for (std::int64_t length = 1; length <= 100; ++length) {
      ASSERT_EQ(RunOn(lane, lines_of(length)), "") << length;
      ASSERT_LE(emulation::FourierPlans(), before + static_cast<int>(LaneLibraries::kMostTransforms)) << length;
    }
  }
  EXPECT_EQ(emulation::FourierPlans(), before);
}

// On one lane: transforms of one size, of other numbers, ways, directions and precisions.
TEST(EmulatedFft, TakesNoPlanForAnother) {
  const struct {
    DType dtype;
    const char* transform;
    std::int64_t axes, columns;
    const char* call;
    int plans;
  } kAsked[] = {
      {DType::kComplex64, "fft", 1, 8, "C2C 3 x 8 forward", 1},
      {DType::kComplex64, "ifft", 1, 8, "C2C 3 x 8 inverse", 1},
      {DType::kComplex128, "fft", 1, 8, "Z2Z 3 x 8 forward", 2},
      {DType::kComplex128, "ifft", 1, 8, "Z2Z 3 x 8 inverse", 2},
      {DType::kFloat32, "rfft", 1, 8, "R2C 3 x 8 forward", 3},
      {DType::kFloat64, "rfft", 1, 8, "D2Z 3 x 8 forward", 4},
      {DType::kComplex64, "irfft", 1, 5, "C2R 3 x 8 inverse", 5},
      {DType::kComplex128, "irfft", 1, 5, "Z2D 3 x 8 inverse", 6},
      {DType::kComplex64, "fft", 2, 8, "C2C 1 x [3 x 8] forward", 7},
  };
  const int before = emulation::FourierPlans();
  EmulatedLane lane(kFast);
  for (const bool again : {false, true}) {
    for (const auto& [dtype, transform, axes, columns, call, plans] : kAsked) {
      SCOPED_TRACE(call);
      emulation::TakeTransformed();
      Launch launch = PreparedOf("fft", conformance::OfX("rows", {dtype, {3, columns}}, -1, 1,
                                                         {{"transform", std::string(transform)}, {"axes", axes}}));
      ASSERT_NE(launch.call.spec, nullptr);
      TaskControl control;
      const Outcome outcome = launch.Run(lane, control).outcome;
      ASSERT_TRUE(outcome.ok()) << outcome.message();
      EXPECT_LE(SuiteOf("fft").verify({launch.call, launch.inputs, launch.outputs}).error, 1.0);
      EXPECT_THAT(emulation::TakeTransformed(), ElementsAre(call));
      EXPECT_EQ(emulation::FourierPlans(), before + (again ? 7 : plans));
    }
  }
}

// Which the library itself does not always say.
TEST(EmulatedLibraries, ALaunchThatFailedIsSeen) {
  for (const auto& [kernel, name] : {std::pair("fft", "complex64_fft_n105"), {"matmul", "float32_33_nt"}}) {
    SCOPED_TRACE(kernel);
    const absl::Cleanup to_the_end = [] { emulation::launch_failed = false; };
    emulation::launch_failed = true;
    EmulatedLane lane(kFast);
    EXPECT_EQ(RunOn(lane, Prepared(kernel, name)), "launch: it failed");
  }
}

// Whichever it is: the task ends in the library's name and with the right code, and nothing stays behind.
TEST(EmulatedLibraries, EveryCallIsChecked) {
  for (const auto& [kernel, name, calls] : {std::tuple("cholesky", "float64_stack", 8),
                                            {"solve", "float32_one_a", 11},
                                            {"eigh", "float32_vectors_n33", 5},
                                            {"svd", "float32_thin_tall", 9},
                                            {"fft", "complex64_irfft_n105", 6}}) {
    SCOPED_TRACE(kernel);
    const Launch first = Prepared(kernel, name);
    ASSERT_NE(first.call.spec, nullptr);
    for (int call = 0; call <= calls; ++call) {
      SCOPED_TRACE(call);
      Launch launch = first.Again();
      emulation::fault = {.first = call, .of_memory = call % 2 == 0};
      emulation::cleared_launch_errors = 0;
      Outcome outcome = Outcome::Ok();
      {
        EmulatedLane lane(kFast);
        TaskControl control;
        outcome = launch.Run(lane, control).outcome;
      }
      const bool was_called = emulation::fault.first < 0;
      emulation::fault = {};
      EXPECT_EQ(emulation::SolverHandles() + emulation::FourierPlans(), 0);
      ASSERT_EQ(was_called, call < calls) << "it makes another number of calls";
      if (!was_called) {
        EXPECT_TRUE(outcome.ok()) << outcome.message();
        continue;
      }
      EXPECT_EQ(outcome.code(), call % 2 == 0 ? HOTPLATE_OUT_OF_MEMORY : HOTPLATE_FAILED);
      EXPECT_THAT(std::string(outcome.message()), StartsWith(std::string(kernel) == "fft" ? "cuFFT: " : "cuSOLVER: "));
      EXPECT_EQ(emulation::cleared_launch_errors, 1) << "the next launch would report it again";
    }
  }
}

}  // namespace
}  // namespace hotplate
