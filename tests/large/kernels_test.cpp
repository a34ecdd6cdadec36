// Kernels on the CPU with more elements than an int counts, and the data for them: 8.6 GB at a time.
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "kernels/devices/cpu/machine.h"
#include "tests/conformance/launch.h"

namespace hotplate::conformance {
namespace {

using Params = std::map<std::string, ParamValue>;
using Inputs = std::map<std::string, TestArray>;

constexpr std::size_t kMany = (std::size_t{1} << 31) + 4099;
constexpr std::int64_t kSide = 46'341;  // its square is just above 2^31

class LargeArrays : public testing::Test {
 protected:
  void SetUp() override {
    constexpr std::uint64_t kNeeded = std::uint64_t{10} << 30;
    const std::uint64_t available = cpu::ReadMemory().available;
    if (available < kNeeded) {
      GTEST_SKIP() << kNeeded << " bytes of memory are needed, and " << available << " are available";
    }
  }

  // Runs a kernel; its outputs. An array that is given shares its memory.
  Inputs Run(const char* kernel, const Params& params, const Inputs& inputs) {
    const Case one{.name = "large", .params = params, .inputs = [&](std::mt19937_64&) { return inputs; }};
    absl::StatusOr<Launch> launch = Prepare(kernel, one, *device_);
    if (!launch.ok()) {
      ADD_FAILURE() << launch.status();
      return {};
    }
    TaskControl control;
    const Outcome outcome = launch->Run(**lane_, control).outcome;
    EXPECT_TRUE(outcome.ok()) << kernel << ": " << outcome.message();
    for (const auto& [name, output] : launch->outputs) EXPECT_TRUE(output.GuardIntact()) << kernel << " " << name;
    return launch->outputs;
  }

  template <typename T>
  T Scalar(const char* kernel, const Params& params, const TestArray& x) {
    const Inputs y = Run(kernel, params, {{"x", x}});
    return y.empty() ? T{} : y.at("y").Elements<T>()[0];
  }
  std::int64_t Reduced(const char* operation, const TestArray& x) {
    return Scalar<std::int64_t>("reduce", {{"operation", std::string(operation)}}, x);
  }

  const std::unique_ptr<Device> device_ = OpenCpuDevice({});
  const absl::StatusOr<std::unique_ptr<Lane>> lane_ = device_->OpenLane();
};

TEST_F(LargeArrays, AreMadeReducedAndCounted) {
  Inputs made =
      Run("full", {{"n", static_cast<std::int64_t>(kMany)}, {"value", 1.0}, {"dtype", std::string("int32")}}, {});
  ASSERT_EQ(made.size(), 1u);
  TestArray& x = made.at("out");
  const std::span<std::int32_t> elements = x.Elements<std::int32_t>();
  ASSERT_EQ(elements.size(), kMany);
  std::size_t ones = 0;
  for (const std::int32_t element : elements) ones += element == 1 ? 1 : 0;
  ASSERT_EQ(ones, kMany);

  constexpr std::size_t kGreatest = kMany - 2, kLeast = (std::size_t{1} << 31) + 5;
  elements[kGreatest] = 7;
  elements[kLeast] = -3;
  const auto count = static_cast<std::int64_t>(kMany);
  EXPECT_EQ(Reduced("sum", x), count - 2 + 7 - 3);
  EXPECT_EQ(Reduced("argmax", x), static_cast<std::int64_t>(kGreatest));
  EXPECT_EQ(Reduced("argmin", x), static_cast<std::int64_t>(kLeast));
  EXPECT_EQ(Scalar<double>("norm", {{"ord", std::string("1")}}, x), static_cast<double>(count - 2 + 7 + 3));

  // Bins of width 1 from -3: what is 1 is in the fifth, and 7 in the last.
  const Inputs histogram = Run("histogram", {{"bins", std::int64_t{10}}}, {{"x", x}});
  const std::int64_t expected[] = {1, 0, 0, 0, count - 2, 0, 0, 0, 0, 1};
  for (std::size_t bin = 0; bin < std::size(expected); ++bin) {
    EXPECT_EQ(histogram.at("counts").Elements<std::int64_t>()[bin], expected[bin]) << bin;
  }
}

TEST_F(LargeArrays, AreBroadcast) {
  TestArray a({DType::kInt32, {kSide, 1}}), b({DType::kInt32, {1, kSide}});
  for (std::size_t i = 0; i < a.size(); ++i) {
    a.Elements<std::int32_t>()[i] = static_cast<std::int32_t>(i);
    b.Elements<std::int32_t>()[i] = static_cast<std::int32_t>(2 * i);
  }
  const Inputs sums = Run("vector_add", {}, {{"a", a}, {"b", b}});
  const std::span<const std::int32_t> c = sums.at("c").Elements<std::int32_t>();
  std::size_t right = 0, at = 0;
  for (std::int32_t row = 0; row < kSide; ++row) {
    for (std::int32_t column = 0; column < kSide; ++column, ++at) right += c[at] == row + 2 * column ? 1 : 0;
  }
  EXPECT_EQ(right, c.size());
}

TEST_F(LargeArrays, AreMultiplied) {
  TestArray a({DType::kFloat32, {kSide, 1}}), b({DType::kFloat32, {1, kSide}});
  for (std::size_t i = 0; i < a.size(); ++i) {
    a.Elements<float>()[i] = static_cast<float>(i % 1000);
    b.Elements<float>()[i] = static_cast<float>(i % 7);
  }
  const Inputs product = Run("matmul", {}, {{"a", a}, {"b", b}});
  const std::span<const float> c = product.at("c").Elements<float>();
  std::size_t right = 0, at = 0;
  for (std::int64_t row = 0; row < kSide; ++row) {
    for (std::int64_t column = 0; column < kSide; ++column, ++at) {
      right += c[at] == static_cast<float>(row % 1000 * (column % 7)) ? 1 : 0;
    }
  }
  EXPECT_EQ(right, c.size());
}

}  // namespace
}  // namespace hotplate::conformance
