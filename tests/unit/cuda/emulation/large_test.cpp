// Arrays of 2^31 elements and more: what the device code does at their ends, in memory that is there only where it is
// written; what plans count; and what CUDA's libraries say of sizes that they do not take.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "kernels/catalogue/random/random_functor.h"
#include "kernels/catalogue/sort/sort_order.h"
#include "tests/conformance/large_calls.h"
#include "tests/conformance/launch.h"
#include "tests/unit/cuda/emulation/emulated_device.h"

namespace hotplate {
namespace {

using conformance::kLongSide;
using conformance::kManyElements;
using emulation::EmulatedLane;
using emulation::FindLauncher;
using emulation::kFast;
using testing::HasSubstr;

constexpr std::int64_t kMore = (std::int64_t{1} << 33) + 4099;

// A bound call as a kernel's host side sees it; its arrays have no memory until they are given some.
class PlainCall {
 public:
  PlainCall(const std::string& kernel, const std::map<std::string, ParamValue>& params,
            const std::map<std::string, Signature>& inputs, int precision = HOTPLATE_PRECISION_DEFAULT) {
    const KernelSpec& spec = **BuiltinCatalog().Find(kernel);
    absl::StatusOr<BoundCall> bound = spec.Bind(params, inputs, precision);
    EXPECT_TRUE(bound.ok()) << bound.status();
    if (!bound.ok()) return;
    bound_ = *std::move(bound);
    for (std::size_t i = 0; i < bound_.params.size(); ++i) {
      params_.push_back(conformance::Plain(spec.params()[i], bound_.params[i]));
    }
    Add(spec.inputs(), bound_.inputs, inputs_);
    Add(spec.outputs(), bound_.outputs, outputs_);
    task_.kernel = spec.name().c_str();
    task_.call = {.params = params_.data(),
                  .inputs = inputs_.data(),
                  .outputs = outputs_.data(),
                  .param_count = static_cast<std::int32_t>(params_.size()),
                  .input_count = static_cast<std::int32_t>(inputs_.size()),
                  .output_count = static_cast<std::int32_t>(outputs_.size()),
                  .precision = precision,
                  .scratch = nullptr,
                  .scratch_bytes = 0,
                  .deterministic = 0,
                  .reserved = 0};
  }
  PlainCall(const PlainCall&) = delete;
  PlainCall& operator=(const PlainCall&) = delete;

  hotplate_array& Array(const std::string& name) {
    for (std::vector<hotplate_array>* all : {&inputs_, &outputs_}) {
      for (hotplate_array& one : *all) {
        if (name == one.name) return one;
      }
    }
    ADD_FAILURE() << "no array " << name;
    static hotplate_array none{};
    return none;
  }
  const hotplate_call& call() const { return task_.call; }
  Outcome Run(EmulatedLane& lane) {
    TaskControl control;
    return lane.Run(task_, control).outcome;
  }

 private:
  static void Add(const std::vector<ArgumentSpec>& specs, const std::vector<Signature>& signatures,
                  std::vector<hotplate_array>& arrays) {
    for (std::size_t i = 0; i < signatures.size(); ++i) {
      hotplate_array array{};
      array.name = specs[i].name.c_str();
      array.dtype = static_cast<std::int32_t>(signatures[i].dtype);
      array.rank = static_cast<std::int32_t>(signatures[i].shape.size());
      std::copy(signatures[i].shape.begin(), signatures[i].shape.end(), array.shape);
      array.bytes = ByteSize(signatures[i]).value_or(0);
      arrays.push_back(array);
    }
  }

  BoundCall bound_;
  std::vector<hotplate_param> params_;
  std::vector<hotplate_array> inputs_, outputs_;
  Task task_;
};

constexpr std::size_t kPage = 4096;

// Null where the machine promises no more memory than it has.
std::byte* Promised(std::size_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
}

// An array's memory: zeros that take some only where they are written, and behind them a page that nobody may touch.
template <typename T>
class Sparse {
 public:
  explicit Sparse(hotplate_array& array)
      : size_(array.bytes / sizeof(T)), mapped_((array.bytes + kPage - 1) / kPage * kPage + kPage) {
    std::byte* const memory = Promised(mapped_);
    if (memory == nullptr) std::abort();
    mprotect(memory + mapped_ - kPage, kPage, PROT_NONE);
    array.data = memory;
    elements_ = reinterpret_cast<T*>(memory);
  }
  ~Sparse() { munmap(elements_, mapped_); }
  Sparse(const Sparse&) = delete;
  Sparse& operator=(const Sparse&) = delete;

  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return elements_[i]; }
  T& FromEnd(std::size_t i) { return elements_[size_ - 1 - i]; }

 private:
  const std::size_t size_, mapped_;
  T* elements_ = nullptr;
};

class EmulatedLarge : public testing::Test {
 protected:
  void SetUp() override {
    constexpr std::size_t kMost = std::size_t{128} << 30;
    std::byte* const most = Promised(kMost);
    if (most == nullptr) GTEST_SKIP() << "this machine promises no more memory than it has (vm.overcommit_memory)";
    munmap(most, kMost);
    emulation::RunOnlySome(true);
  }
  void TearDown() override { emulation::RunOnlySome(false); }

  // The first and the last elements are what they should be, and those a quarter in, which no block had, are zero.
  template <typename T, typename Expected>
  static void ExpectEnds(Sparse<T>& elements, const Expected& expected) {
    constexpr std::size_t kLooked = 1000;  // which the last two blocks have
    const std::size_t last = elements.size() - 1, quarter = elements.size() / 4;
    for (std::size_t i = 0; i < kLooked; ++i) {
      ASSERT_EQ(elements[i], expected(i)) << i;
      ASSERT_EQ(elements[last - i], expected(last - i)) << last - i;
      ASSERT_EQ(elements[quarter + i], T{0}) << quarter + i;
    }
  }

  EmulatedLane lane_{kFast};
};

TEST_F(EmulatedLarge, MadeArraysAreWholeAtBothEnds) {
  PlainCall full("full", {{"n", kManyElements}, {"value", 7.0}, {"dtype", std::string("int32")}}, {});
  Sparse<std::int32_t> sevens(full.Array("out"));
  ASSERT_TRUE(full.Run(lane_).ok());
  ExpectEnds(sevens, [](std::size_t) { return 7; });

  PlainCall arange("arange", {{"stop", static_cast<double>(kManyElements)}}, {});
  Sparse<double> numbers(arange.Array("out"));
  ASSERT_TRUE(arange.Run(lane_).ok());
  ExpectEnds(numbers, [](std::size_t i) { return static_cast<double>(i); });

  // More than 2^32 blocks of Philox, whose counter has two words.
  PlainCall random("random", {{"n", kMore}, {"seed", std::int64_t{5}}}, {});
  Sparse<double> uniform(random.Array("out"));
  ASSERT_TRUE(random.Run(lane_).ok());
  ExpectEnds(uniform, [](std::size_t i) {
    const std::uint64_t block = i / 2;
    double both[2];
    random::UniformDouble()(
        random::Philox(5, static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32)), both);
    return both[i % 2];
  });
}

TEST_F(EmulatedLarge, ElementwiseKernelsReachBothEnds) {
  PlainCall power("power_sum", {}, {{"x", {DType::kInt32, {kManyElements}}}});
  Sparse<std::int32_t> x(power.Array("x")), y(power.Array("y"));
  for (std::size_t i = 0; i < 5000; ++i) {
    x[i] = static_cast<std::int32_t>(i % 100 + 1);
    x.FromEnd(i) = static_cast<std::int32_t>(i % 90 + 1);
  }
  ASSERT_TRUE(power.Run(lane_).ok());
  ExpectEnds(y, [&](std::size_t i) { return x[i] + x[i] * x[i] + x[i] * x[i] * x[i]; });
}

// Just over 2^31 elements, which 32 bits number, and over 2^32, which they do not.
TEST_F(EmulatedLarge, BroadcastingReachesBothEnds) {
  for (const std::int64_t side : {std::int64_t{46'341}, kLongSide}) {
    SCOPED_TRACE(side);
    PlainCall add("vector_add", {}, {{"a", {DType::kInt32, {side, 1}}}, {"b", {DType::kInt32, {1, side}}}});
    Sparse<std::int32_t> a(add.Array("a")), b(add.Array("b")), c(add.Array("c"));
    for (std::size_t i = 0; i < a.size(); ++i) {
      a[i] = static_cast<std::int32_t>(i + 1);
      b[i] = static_cast<std::int32_t>(3 * i);
    }
    ASSERT_TRUE(add.Run(lane_).ok());
    ExpectEnds(c, [&](std::size_t i) { return a[i / b.size()] + b[i % b.size()]; });
  }
}

// What the scratch holds that no block has written says of a place that it is less.
TEST_F(EmulatedLarge, ReductionsKnowWhereTheyAre) {
  PlainCall reduce("reduce", {{"operation", std::string("argmax")}}, {{"x", {DType::kInt32, {kMore}}}});
  Sparse<std::int32_t> x(reduce.Array("x"));
  std::int64_t place = -1;
  reduce.Array("y").data = &place;
  constexpr std::int64_t kPlace = kMore - 3;
  x[kPlace] = std::numeric_limits<std::int32_t>::max();
  CudaTraits large = kFast;
  large.multiprocessors = 1000;  // so that the last block's segment is short enough to be walked through
  EmulatedLane lane(large);
  ASSERT_TRUE(reduce.Run(lane).ok());
  EXPECT_EQ(place, kPlace);
}

TEST_F(EmulatedLarge, RowsOfManyMatricesReachBothEnds) {
  constexpr std::int64_t kMatrices = std::int64_t{1} << 30;
  PlainCall product("batched_matvec", {},
                    {{"a", {DType::kFloat32, {kMatrices, 3, 4}}}, {"x", {DType::kFloat32, {kMatrices, 4}}}});
  Sparse<float> a(product.Array("a")), x(product.Array("x")), y(product.Array("y"));
  for (std::size_t i = 0; i < 6000; ++i) {
    a[i] = 1, a.FromEnd(i) = 2;
    x[i] = 3, x.FromEnd(i) = 5;
  }
  ASSERT_TRUE(product.Run(lane_).ok());
  for (std::size_t i = 0; i < 16; ++i) {  // the rows of two blocks
    EXPECT_EQ(y[i], 12) << i;
    EXPECT_EQ(y.FromEnd(i), 40) << i;
  }
}

// Which a GPU sorts one after the other, however many elements they have together.
TEST(EmulatedLongRows, AreSortedEachByItself) {
  constexpr std::size_t kRow = sort::kLongRow + 3;
  PlainCall sort("sort", {}, {{"x", {DType::kInt32, {2, static_cast<std::int64_t>(kRow)}}}});
  std::vector<std::int32_t> x(2 * kRow), y(2 * kRow);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::int32_t>(i * 0x9E3779B1u);
  sort.Array("x").data = x.data();
  sort.Array("y").data = y.data();
  EmulatedLane lane(kFast);
  ASSERT_TRUE(sort.Run(lane).ok());
  std::sort(x.begin(), x.begin() + kRow);
  std::sort(x.begin() + kRow, x.end());
  EXPECT_TRUE(x == y);
}

TEST(EmulatedLargePlans, CountWhatKernelsFind) {
  constexpr double kGiB = 1 << 30;
  for (const conformance::LargeCall& one : conformance::LargeCalls()) {
    SCOPED_TRACE(one.kernel);
    if (FindLauncher(one.kernel) == nullptr) continue;
    const CudaLauncher& launcher = *FindLauncher(one.kernel);
    const PlainCall plain(one.kernel, one.params, one.inputs);
    const std::uint64_t scratch =
        launcher.scratch_bytes == nullptr ? 0 : launcher.scratch_bytes(Call(plain.call()), kFast);
    EXPECT_GE(scratch, one.gpu_scratch);
    EXPECT_LE(static_cast<double>(scratch), 4 * static_cast<double>(one.gpu_scratch) + 4 * kGiB);
  }
}

// How cuSOLVER takes it, which counts in an int: it refuses the sizes.
TEST(EmulatedLargeMatrices, AreRefusedByTheirSizes) {
  constexpr DType kFloat = DType::kFloat32;
  const struct {
    const char* kernel;
    std::map<std::string, Signature> inputs;
    const char* words;
    std::map<std::string, ParamValue> params = {};
  } kRefused[] = {
      {"cholesky", {{"a", {kFloat, {46'341, 46'341}}}}, "a matrix of 46341 by 46341 has more"},
      {"solve", {{"a", {kFloat, {50'000, 50'000}}}, {"b", {kFloat, {50'000}}}}, "a matrix of 50000 by 50000 has more"},
      {"svd",
       {{"a", {kFloat, {1'000'000, 3000}}}},
       "a matrix of 1000000 by 3000 has more",
       {{"compute", std::string("thin")}}},
  };
  for (const auto& [kernel, inputs, words, params] : kRefused) {
    SCOPED_TRACE(kernel);
    EmulatedLane lane(kFast);
    const Outcome outcome = PlainCall(kernel, params, inputs).Run(lane);
    EXPECT_EQ(outcome.code(), HOTPLATE_INVALID);
    EXPECT_THAT(std::string(outcome.message()), HasSubstr(words));
    EXPECT_THAT(std::string(outcome.message()), HasSubstr("--device cpu has no such limit"));
  }
}

// Or it says what is left of the size in an int.
TEST(EmulatedLargeMatrices, AreRefusedByTheirWorkspaces) {
  EmulatedLane lane(kFast);
  lane.libraries().solver.in_float.syevd_size = [](cusolverDnHandle_t, cusolverEigMode_t, cublasFillMode_t, int,
                                                   const float*, int, const float*, int* elements) {
    *elements = -2'147'000'000;
    return CUSOLVER_STATUS_SUCCESS;
  };
  const Outcome outcome = PlainCall("eigh", {}, {{"a", {DType::kFloat32, {32'766, 32'766}}}}).Run(lane);
  EXPECT_EQ(outcome.code(), HOTPLATE_INVALID);
  EXPECT_THAT(std::string(outcome.message()), HasSubstr("a matrix of 32766 by 32766 has more, or its workspace has"));
}

TEST(EmulatedLargeTransforms, AreNamedWhereTheLibraryHasNoPlan) {
  EmulatedLane lane(kFast);
  lane.libraries().cufft.cufftMakePlanMany64 = [](cufftHandle, int, long long*, long long*, long long, long long,
                                                  long long*, long long, long long, cufftType, long long,
                                                  std::size_t*) { return CUFFT_INVALID_VALUE; };
  const std::map<std::string, Signature> x = {{"x", {DType::kComplex64, {3, 70'000, 70'000}}}};
  const Outcome outcome = PlainCall("fft", {{"axes", std::int64_t{2}}}, x).Run(lane);
  EXPECT_EQ(outcome.code(), HOTPLATE_FAILED);
  EXPECT_EQ(std::string(outcome.message()), "cuFFT: plan for 3 transforms of 70000 by 70000 points: status 4");
}

TEST(EmulatedLargeProducts, AreNamedWhereTheLibraryHasNoAlgorithm) {
  EmulatedLane lane(kFast);
  lane.libraries().blas.cublasLtMatmulAlgoGetHeuristic =
      [](cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
         cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int, cublasLtMatmulHeuristicResult_t*, int* found) {
        *found = 0;
        return CUBLAS_STATUS_SUCCESS;
      };
  const Outcome outcome =
      PlainCall("matmul", {}, {{"a", {DType::kFloat32, {2'147'483'647, 8}}}, {"b", {DType::kFloat32, {8, 5}}}})
          .Run(lane);
  EXPECT_EQ(outcome.code(), HOTPLATE_FAILED);
  EXPECT_EQ(std::string(outcome.message()),
            "cuBLASLt has no algorithm for the product of [2147483647, 8] and [8, 5], 1 at once");
}

}  // namespace
}  // namespace hotplate
