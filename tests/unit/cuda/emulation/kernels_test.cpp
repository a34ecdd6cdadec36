// The kernels' device code, run on the host (emulation/grid.h), judged by the conformance suite's verifiers: what each
// thread computes, which elements it has, where blocks and chunks begin and end, barriers and warp-wide operations.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numbers>
#include <span>
#include <vector>

#include "kernels/catalogue/matmul/matmul.h"
#include "tests/conformance/bad_data.h"
#include "tests/conformance/empty_arrays.h"
#include "tests/conformance/launch.h"
#include "tests/unit/cuda/emulation/emulated_device.h"

namespace hotplate {
namespace {

using conformance::Case;
using conformance::KernelSuite;
using conformance::Launch;
using emulation::EmulatedDevice;
using emulation::EmulatedLane;
using emulation::FindLauncher;
using emulation::kFast;
using emulation::kSlow;
using emulation::Order;

struct Instance {
  const KernelSuite* suite;
  Case test_case;
  bool slow;
  Order order;
};

std::string NameOf(const Instance& instance) {
  const char* const order = instance.order == Order::kForward    ? "forward"
                            : instance.order == Order::kBackward ? "backward"
                                                                 : "shuffled";
  return std::string(instance.suite->kernel) + "_" + instance.test_case.name + (instance.slow ? "_slow_" : "_fast_") +
         order;
}

void PrintTo(const Instance& instance, std::ostream* out) { *out << NameOf(instance); }

TEST(EmulatedKernels, AreAllOfTheCatalogue) {
  std::size_t found = 0;
  for (const KernelSuite& suite : conformance::KernelSuites()) {
    EXPECT_EQ(FindLauncher(suite.kernel) == nullptr, (*BuiltinCatalog().Find(suite.kernel))->cpu_only())
        << suite.kernel;
    if (FindLauncher(suite.kernel) != nullptr && !suite.cases().empty()) ++found;
  }
  EXPECT_NE(FindLauncher("expression"), nullptr);  // has no cases of its own: tests/unit/cuda/expressions
  EXPECT_EQ(found + 1, CudaLaunchers().size()) << "each has cases";
}

// The kernel's outcome for arrays and parameters given here, on `traits`.
Outcome RunPlain(const char* kernel, const CudaTraits& traits, std::span<const hotplate_param> params,
                 std::span<const hotplate_array> inputs, std::span<const hotplate_array> outputs,
                 TaskControl& control) {
  Task task;
  task.kernel = kernel;
  task.call.params = params.data();
  task.call.inputs = inputs.data();
  task.call.outputs = outputs.data();
  task.call.param_count = static_cast<std::int32_t>(params.size());
  task.call.input_count = static_cast<std::int32_t>(inputs.size());
  task.call.output_count = static_cast<std::int32_t>(outputs.size());
  return EmulatedLane(traits, Order::kShuffled).Run(task, control).outcome;
}

template <typename T>
hotplate_array Plain(const char* name, DType dtype, std::span<T> elements) {
  hotplate_array plain{};
  plain.name = name;
  plain.dtype = static_cast<std::int32_t>(dtype);
  plain.rank = 1;
  plain.shape[0] = static_cast<std::int64_t>(elements.size());
  plain.data = elements.data();
  plain.bytes = elements.size_bytes();
  return plain;
}

// Every element of an output is written once and nothing beside it, wherever the arrays begin and end: heads, packs,
// whole tiles and tails.
TEST(EmulatedElementwise, CoversEveryStartAndLength) {
  constexpr std::size_t kPad = 8, kMost = 9000;
  alignas(64) static float a[kMost + 2 * kPad], b[kMost + 2 * kPad], c[kMost + 2 * kPad];
  for (std::size_t i = 0; i < std::size(a); ++i) a[i] = static_cast<float>(i), b[i] = static_cast<float>(3 * i);
  for (const std::size_t n : {1, 3, 4, 5, 255, 256, 1023, 1024, 1025, 2047, 2048, 2049, 4095, 4096, 4097, 8191, 9000}) {
    for (std::size_t start = 0; start < 5; ++start) {
      for (const std::size_t other : {start, std::size_t{0}}) {
        std::fill(std::begin(c), std::end(c), -1.0f);
        const hotplate_array inputs[] = {Plain("a", DType::kFloat32, std::span(a + start, n)),
                                         Plain("b", DType::kFloat32, std::span(b + other, n))};
        const hotplate_array output = Plain("c", DType::kFloat32, std::span(c + kPad + start, n));
        TaskControl control;
        ASSERT_TRUE(RunPlain("vector_add", kFast, {}, inputs, {&output, 1}, control).ok());
        for (std::size_t i = 0; i < std::size(c); ++i) {
          const bool inside = i >= kPad + start && i < kPad + start + n;
          const std::size_t element = i - kPad - start;
          ASSERT_EQ(c[i], inside ? a[start + element] + b[other + element] : -1.0f) << n << ", " << start << ", " << i;
        }
      }
    }
  }
}

hotplate_param Named(const char* name, std::int64_t integer, double real, const char* text = nullptr) {
  hotplate_param param{};
  param.name = name;
  param.integer = integer;
  param.real = real;
  param.text = text;
  return param;
}

// Rectangles on which every sine is 1: the sum is the number of points that were evaluated.
TEST(EmulatedIntegrate2d, EvaluatesEveryPointOnce) {
  const double half_pi = std::numbers::pi / 2;
  for (const std::int64_t n : {1, 2, 15, 16, 17, 255, 256, 257, 511, 512, 513, 700}) {
    const double cells = static_cast<double>(n);
    for (const char* variant : {"naive", "shared", "fast"}) {
      // Tiny, where a tile's half turn is shared; and so wide that each cell is once round.
      for (const double width : {1e-6, 2 * std::numbers::pi * cells}) {
        const hotplate_param params[] = {
            Named("n", n, 0),     Named("x_min", 0, half_pi), Named("x_max", 0, half_pi + width),
            Named("y_min", 0, 0), Named("y_max", 0, width),   Named("variant", 0, 0, variant)};
        double value = 0, error = 0;
        const hotplate_array outputs[] = {Plain("value", DType::kFloat64, std::span(&value, 1)),
                                          Plain("error", DType::kFloat64, std::span(&error, 1))};
        TaskControl control;
        ASSERT_TRUE(RunPlain("integrate2d", n % 2 == 0 ? kSlow : kFast, params, {}, outputs, control).ok());
        const double x_width = params[2].real - params[1].real;
        EXPECT_NEAR(value / (x_width * width) * cells * cells, cells * cells, 0.5) << n << " " << variant << width;
      }
    }
  }
}

// What the verifier says of a case that is none of its suite's.
conformance::Verdict VerdictOf(const std::string& kernel, const Case& test_case) {
  absl::StatusOr<Launch> launch = conformance::Prepare(kernel, test_case, EmulatedDevice(kFast));
  EXPECT_TRUE(launch.ok()) << launch.status();
  TaskControl control;
  EmulatedLane lane(kFast, Order::kShuffled);
  conformance::Verdict verdict;
  if (!launch.ok() || !launch->Run(lane, control).outcome.ok()) verdict.Add(2, [] { return std::string("it failed"); });
  for (const KernelSuite& suite : conformance::KernelSuites()) {
    if (suite.kernel == kernel && verdict.error == 0) {
      verdict = suite.verify({launch->call, launch->inputs, launch->outputs});
    }
  }
  return verdict;
}

// Rows that one thread has, some lanes or a block, and whatever is left over of them; with ties and NaN.
TEST(EmulatedReduce, TakesRowsOfEveryLength) {
  constexpr std::int64_t kRows = 37;
  for (const std::string operation : {"sum", "argmax"}) {
    for (std::int64_t count = 1; count < 530; ++count) {
      const Case rows{.name = "rows",
                      .params = {{"operation", operation}, {"axis", std::string("1")}},
                      .inputs = [=](std::mt19937_64& random) {
                        conformance::TestArray x({.dtype = DType::kFloat64, .shape = {kRows, count}});
                        for (double& element : x.Elements<double>()) element = static_cast<double>(random() % 9);
                        x.Elements<double>()[random() % x.size()] = std::nan("");
                        return std::map<std::string, conformance::TestArray>{{"x", std::move(x)}};
                      }};
      const conformance::Verdict verdict = VerdictOf("reduce", rows);
      ASSERT_LE(verdict.error, 1.0) << operation << " of " << count << ": " << verdict.worst;
    }
  }
}

// As many vectors at once as there are, and what is left over of the most.
TEST(EmulatedBatchedMatvec, TakesAnyNumberOfVectors) {
  for (std::int64_t batch = 1; batch < 19; ++batch) {
    for (const std::int64_t k : {1, 31, 33, 100, 127, 128, 129, 300}) {
      const Case vectors{
          .name = "vectors", .params = {}, .inputs = [=](std::mt19937_64& random) {
            conformance::TestArray a({.dtype = DType::kFloat64, .shape = {11, k}}),
                x({.dtype = DType::kFloat64, .shape = {batch, k}});
            FillUniform(a, -1, 1, random);
            FillUniform(x, -1, 1, random);
            return std::map<std::string, conformance::TestArray>{{"a", std::move(a)}, {"x", std::move(x)}};
          }};
      const conformance::Verdict verdict = VerdictOf("batched_matvec", vectors);
      ASSERT_LE(verdict.error, 1.0) << batch << " of " << k << ": " << verdict.worst;
    }
  }
}

// As on the CPU; and nothing is counted.
TEST(EmulatedHistogram, EndsWhereTheRangeOfTheDataIsNone) {
  std::vector<double> x(5000, 1);
  x[4321] = std::nan("");
  std::vector<std::int64_t> counts(4, -1);
  std::vector<double> edges(5);
  const hotplate_param params[] = {Named("bins", 4, 0), Named("range", 0, 0, "data"), Named("low", 0, 0),
                                   Named("high", 0, 0)};
  const hotplate_array input = Plain("x", DType::kFloat64, std::span(x));
  const hotplate_array outputs[] = {Plain("counts", DType::kInt64, std::span(counts)),
                                    Plain("edges", DType::kFloat64, std::span(edges))};
  const auto outcome = [&] {
    TaskControl control;
    return RunPlain("histogram", kFast, params, {&input, 1}, outputs, control);
  };
  EXPECT_EQ(outcome().code(), HOTPLATE_INVALID);
  EXPECT_EQ(outcome().message().substr(0, 29), "x holds a NaN or an infinity,");
  EXPECT_EQ(counts[0], 0);
  x[4321] = -1e308, x[1] = 1e308;
  EXPECT_NE(outcome().message().find("exceeds float64"), std::string_view::npos);
  x[4321] = 1, x[1] = 2;
  EXPECT_TRUE(outcome().ok());
  EXPECT_EQ(counts[0], 4999);
}

TEST(EmulatedKernels, EndWhenCancelled) {
  std::vector<std::int32_t> counts(100 * 100);
  const hotplate_param params[] = {Named("x_min", 0, -2), Named("x_max", 0, 0.5),      Named("y_min", 0, -1),
                                   Named("y_max", 0, 1),  Named("resolution", 100, 0), Named("max_iterations", 50, 0)};
  const hotplate_array output = Plain("counts", DType::kInt32, std::span(counts));
  TaskControl control;
  control.RequestCancel();
  EXPECT_EQ(RunPlain("mandelbrot", kSlow, params, {}, {&output, 1}, control).code(), HOTPLATE_CANCELLED);
}

TEST(EmulatedStacks, EndBetweenTwoMatricesWhenCancelled) {
  const EmulatedDevice device(kFast);
  int found = 0;
  for (const KernelSuite& suite : conformance::KernelSuites()) {
    if (FindLauncher(suite.kernel) == nullptr || FindLauncher(suite.kernel)->finish == nullptr) continue;
    for (const Case& test_case : suite.cases()) {
      if (!test_case.name.ends_with("_stack")) continue;
      ++found;
      absl::StatusOr<Launch> launch = conformance::Prepare(suite.kernel, test_case, device);
      ASSERT_TRUE(launch.ok()) << launch.status();
      EmulatedLane lane(kFast);
      TaskControl control;
      control.RequestCancel();
      EXPECT_EQ(launch->Run(lane, control).outcome.code(), HOTPLATE_CANCELLED) << suite.kernel << test_case.name;
    }
  }
  EXPECT_GE(found, 8) << "four kernels, two dtypes";
}

TEST(EmulatedKernels, TakeEmptyArraysWhereverTheSpecsTakeThem) {
  const EmulatedDevice device(kFast);
  EmulatedLane lane(kFast);
  for (const KernelSuite& suite : conformance::KernelSuites()) {
    if (FindLauncher(suite.kernel) == nullptr) continue;
    EXPECT_EQ(conformance::TroubleWithEmptyArrays(suite, device, lane), "");
  }
}

// However many matrices there are, or however large they would be.
TEST(EmulatedStacks, WithoutElementsTakeNoMemoryAndNoTime) {
  constexpr std::int64_t kMany = std::int64_t{1} << 60, kWide = 2'147'483'647;
  const EmulatedDevice device(kFast);
  const auto planned = [&](const char* kernel, const Shape& a, const std::string& compute = "", const Shape& b = {}) {
    Case one{.name = "no_elements", .params = {}, .inputs = [&](std::mt19937_64&) {
               std::map<std::string, conformance::TestArray> arrays;
               arrays.emplace("a", conformance::TestArray({.dtype = DType::kFloat64, .shape = a}));
               if (!b.empty()) arrays.emplace("b", conformance::TestArray({.dtype = DType::kFloat64, .shape = b}));
               return arrays;
             }};
    if (!compute.empty()) one.params["compute"] = compute;
    absl::StatusOr<Launch> launch = conformance::Prepare(kernel, one, device);
    EXPECT_TRUE(launch.ok()) << launch.status();
    if (!launch.ok()) return std::uint64_t{1};
    EmulatedLane lane(kFast);
    TaskControl control;
    EXPECT_TRUE(launch->Run(lane, control).outcome.ok()) << kernel;
    return lane.planned();
  };
  EXPECT_EQ(planned("cholesky", {10'000'000'000, 0, 0}), 0u);
  EXPECT_EQ(planned("cholesky", {0, kWide, kWide}), 0u);
  EXPECT_EQ(planned("eigh", {kMany, 0, 0}), 0u);
  EXPECT_EQ(planned("eigh", {0, 32'766, 32'766}), 0u);
  EXPECT_EQ(planned("solve", {kMany, 0, 0}, "", {kMany, 0, 3}), 0u);
  EXPECT_EQ(planned("solve", {0, kWide, kWide}, "", {0, kWide, 2}), 0u);
  EXPECT_EQ(planned("svd", {kMany, 0, 3}, "thin"), 0u);
  EXPECT_EQ(planned("svd", {kMany, 0, 0}, "full"), 0u);
  EXPECT_EQ(planned("svd", {0, 20'000, 20'000}), 0u);
}

TEST(EmulatedKernels, EndInTheSameWordsAsOnTheCpu) {
  const EmulatedDevice device(kFast);
  for (const conformance::BadData& bad : conformance::BadDataCases()) {
    if (FindLauncher(bad.kernel) == nullptr) continue;
    SCOPED_TRACE(std::string(bad.kernel) + " " + bad.test_case.name);
    absl::StatusOr<Launch> launch = conformance::Prepare(bad.kernel, bad.test_case, device);
    ASSERT_TRUE(launch.ok()) << launch.status();
    EmulatedLane lane(kFast, Order::kShuffled);
    TaskControl control;
    const Report report = launch->Run(lane, control);
    EXPECT_EQ(report.outcome.code(), bad.code);
    EXPECT_EQ(std::string(report.outcome.message()), bad.message);
  }
}

// Each case in one of the orders; of kernels that cut their work by the device's rates, on a slow one and a fast one.
// Larger than caches, or iterated longer, is nothing to a sanitizer, and takes it minutes.
bool IsLeftOut([[maybe_unused]] const Case& test_case) {
#ifdef HOTPLATE_SANITIZED
  return test_case.name.find("larger_than_caches") != std::string::npos ||
         test_case.name.find("_million") != std::string::npos || test_case.name == "inside_many_iterations";
#else
  return false;
#endif
}

std::vector<Instance> Instances() {
  constexpr Order kOrders[] = {Order::kForward, Order::kBackward, Order::kShuffled};
  std::vector<Instance> instances;
  for (const KernelSuite& suite : conformance::KernelSuites()) {
    const CudaLauncher* const launcher = FindLauncher(suite.kernel);
    if (launcher == nullptr) continue;
    for (const Case& test_case : suite.cases()) {
      if (IsLeftOut(test_case)) continue;
      instances.push_back({&suite, test_case, false, kOrders[instances.size() % 3]});
      // A library's workspace depends on no rate.
      const bool library = launcher->lane_scratch_bytes != nullptr || launcher->run == matmul::RunCuda;
      if (launcher->scratch_bytes != nullptr && !library) {
        instances.push_back({&suite, test_case, true, kOrders[instances.size() % 3]});
      }
    }
  }
  return instances;
}

Order After(Order order) {
  return order == Order::kForward ? Order::kBackward : order == Order::kBackward ? Order::kShuffled : Order::kForward;
}

constexpr double kSmall = 200'000;  // FLOP and bytes

class EmulatedConformance : public testing::TestWithParam<Instance> {};

TEST_P(EmulatedConformance, AreWithinTheStatedBound) {
  const Instance& instance = GetParam();
  const CudaTraits& traits = instance.slow ? kSlow : kFast;
  const EmulatedDevice device(traits);
  const KernelSpec& spec = **BuiltinCatalog().Find(instance.suite->kernel);
  absl::StatusOr<Launch> launch = conformance::Prepare(instance.suite->kernel, instance.test_case, device,
                                                       spec.determinism() == Determinism::kOnRequest);
  ASSERT_TRUE(launch.ok()) << launch.status();
  std::map<std::string, conformance::TestArray> before;
  for (const auto& [name, array] : launch->inputs) before.emplace(name, array.Copy());

  EmulatedLane lane(traits, instance.order);
  TaskControl control;
  const Report report = launch->Run(lane, control);
  ASSERT_TRUE(report.outcome.ok()) << report.outcome.message();
  for (const auto& [name, array] : launch->inputs) {
    EXPECT_TRUE(array.SameBytes(before.at(name))) << "input " << name << " was changed";
  }
  for (const auto& [name, array] : launch->outputs) {
    EXPECT_TRUE(array.GuardIntact()) << "something was written behind output " << name;
  }
  const conformance::Verdict verdict = instance.suite->verify({launch->call, launch->inputs, launch->outputs});
  EXPECT_LE(verdict.error, 1.0) << verdict.worst;

  // Nor do the bits depend on the order, of small calls here: each takes its time again.
  const Cost cost = spec.CostOf(launch->call);
  if (spec.determinism() == Determinism::kNever || cost.flop + cost.bytes > kSmall) return;
  Launch again = launch->Again();
  EmulatedLane other(traits, After(instance.order));
  ASSERT_TRUE(again.Run(other, control).outcome.ok());
  EXPECT_EQ(conformance::FirstDifference(*launch, again), "") << "is not the same in another order";
}

INSTANTIATE_TEST_SUITE_P(All, EmulatedConformance, testing::ValuesIn(Instances()),
                         [](const testing::TestParamInfo<Instance>& one) { return NameOf(one.param); });

}  // namespace
}  // namespace hotplate
