// How the CPU walks an expression: views, blocks, reductions, computed indices, errors.
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <random>

#include "tests/unit/expression/cpu_call.h"

namespace hotplate::expression {
namespace {

std::size_t CountOf(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::size_t{1},
                         [](std::size_t count, std::int64_t size) { return count * static_cast<std::size_t>(size); });
}

// Whole numbers, whose sums are exact.
template <typename T>
std::vector<T> Whole(std::size_t count, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(static_cast<int>(random() % 19) - 9);
  return values;
}

const std::vector<Shape> kShapes = {
    {},        {1},          {5},          {256},        {257},        {1000},        {70'001},
    {3, 4},    {300, 7},     {7, 300},     {5, 128},     {5, 129},     {1, 513},      {40, 1, 50},
    {2, 3, 4}, {20, 300, 3}, {3, 2, 5000}, {2, 3, 2, 3}, {4, 1, 6, 7}, {600, 2, 130}, {2, 1, 3, 1, 2, 2, 1, 3}};

TEST(ExpressionCpu, ElementsOfAllShapes) {
  for (const Shape& shape : kShapes) {
    const std::vector<double> x = Whole<double>(CountOf(shape)), y = Whole<double>(CountOf(shape), 2);
    CpuCall call({{"x", Numbers(x, shape)}, {"y", Numbers(y, shape)}}, {{"a", 2.5}});
    const std::vector<double> got = call.Run("where(x > y, a*x, y - x) + 1").As<double>();
    ASSERT_EQ(got.size(), x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(got[i], (x[i] > y[i] ? 2.5 * x[i] : y[i] - x[i]) + 1) << ToString(shape) << " at " << i;
    }
  }
}

TEST(ExpressionCpu, TransposedReversedAndBroadcast) {
  for (const Shape& shape : {Shape{3, 4}, Shape{300, 7}, Shape{7, 300}, Shape{130, 129}, Shape{513, 2}}) {
    const std::size_t rows = static_cast<std::size_t>(shape[0]), columns = static_cast<std::size_t>(shape[1]);
    const auto x = Whole<std::int32_t>(rows * columns);
    const auto transposed = Whole<float>(rows * columns, 3);
    const auto row = Whole<std::int64_t>(columns, 4), column = Whole<std::int64_t>(rows, 5);
    CpuCall call({{"x", Numbers(x, shape)},
                  {"t", Numbers(transposed, {shape[1], shape[0]})},
                  {"r", Numbers(row)},
                  {"c", Numbers(column, {shape[0], 1})}});
    const std::vector<double> got = call.Run("x[::-1, ::-1] + 2*t.T + abs(r)*c + i - 3*j").As<double>();
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < columns; ++j) {
        const double expected = x[(rows - 1 - i) * columns + columns - 1 - j] + 2 * double{transposed[j * rows + i]} +
                                static_cast<double>(std::abs(row[j]) * column[i]) + static_cast<double>(i) -
                                3 * static_cast<double>(j);
        ASSERT_EQ(got[i * columns + j], expected) << ToString(shape) << " at " << i << ", " << j;
      }
    }
  }
}

TEST(ExpressionCpu, SeveralOutputsAndManyRegisters) {
  const auto x = Whole<double>(1000);
  std::string text = "_0 = x + 1", sum;
  for (int i = 1; i < 120; ++i) text += "; _" + std::to_string(i) + " = _" + std::to_string(i - 1) + "*0.5 + x";
  for (int i = 119; i >= 0; --i) sum += (sum.empty() ? "" : " + ") + ("_" + std::to_string(i));  // all live at once
  text += "; a = " + sum + "; b = _3; c = b; d = max(a)";
  CpuCall call({{"x", Numbers(x)}});
  ASSERT_TRUE(call.Try(text).ok());
  const std::vector<double> a = call.outputs().at("a").As<double>(), b = call.outputs().at("b").As<double>();
  double largest = -HUGE_VAL;
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::vector<double> part = {x[i] + 1};
    for (int k = 1; k < 120; ++k) part.push_back(part.back() * 0.5 + x[i]);
    const double expected = std::accumulate(part.rbegin() + 1, part.rend(), part.back());
    ASSERT_EQ(a[i], expected);
    ASSERT_EQ(b[i], part[3]);
    largest = std::max(largest, expected);
  }
  EXPECT_EQ(call.outputs().at("c").bytes, call.outputs().at("b").bytes);
  EXPECT_EQ(call.outputs().at("d").As<double>(), std::vector<double>{largest});
}

struct Reduced {
  std::string name;
  std::function<double(const std::vector<double>&)> of;
};

double MeanOf(const std::vector<double>& x) {
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}
double VarianceOf(const std::vector<double>& x) {
  const double mean = MeanOf(x);
  double squares = 0;
  for (const double one : x) squares += (one - mean) * (one - mean);
  return squares / static_cast<double>(x.size());
}

const std::vector<Reduced> kReductions = {
    {"sum", [](const auto& x) { return std::accumulate(x.begin(), x.end(), 0.0); }},
    {"min", [](const auto& x) { return *std::min_element(x.begin(), x.end()); }},
    {"max", [](const auto& x) { return *std::max_element(x.begin(), x.end()); }},
    {"any", [](const auto& x) { return double(std::any_of(x.begin(), x.end(), [](double one) { return one != 0; })); }},
    {"all", [](const auto& x) { return double(std::all_of(x.begin(), x.end(), [](double one) { return one != 0; })); }},
    {"mean", MeanOf},
    {"var", VarianceOf},
    {"std", [](const auto& x) { return std::sqrt(VarianceOf(x)); }},
    {"argmin", [](const auto& x) { return double(std::min_element(x.begin(), x.end()) - x.begin()); }},
    {"argmax", [](const auto& x) { return double(std::max_element(x.begin(), x.end()) - x.begin()); }},
};

std::vector<double> AsDoubles(const TestNumbers& numbers) {
  switch (numbers.signature.dtype) {
    case DType::kBool: {
      const auto values = numbers.As<bool>();
      return {values.begin(), values.end()};
    }
    case DType::kInt64: {
      const auto values = numbers.As<std::int64_t>();
      return {values.begin(), values.end()};
    }
    case DType::kInt32: {
      const auto values = numbers.As<std::int32_t>();
      return {values.begin(), values.end()};
    }
    case DType::kFloat32: {
      const auto values = numbers.As<float>();
      return {values.begin(), values.end()};
    }
    default:
      return numbers.As<double>();
  }
}

// All reductions over the axes whose bits are set, of x*2 - y, beside an output that is not reduced.
template <typename T>
void ExpectReductions(const Shape& shape, unsigned axes, bool keepdims) {
  const std::vector<T> x = Whole<T>(CountOf(shape)), y = Whole<T>(CountOf(shape), 9);
  std::size_t results = 1;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if ((axes >> axis & 1) == 0) results *= static_cast<std::size_t>(shape[axis]);
  }
  std::vector<std::vector<double>> groups(results);  // the elements of each result, which are in C order too
  for (std::size_t place = 0; place < x.size(); ++place) {
    std::size_t result = 0, stride = 1, rest = place;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      const auto size = static_cast<std::size_t>(shape[axis]);
      if ((axes >> axis & 1) == 0) {
        result += rest % size * stride;
        stride *= size;
      }
      rest /= size;
    }
    groups[result].push_back(static_cast<double>(x[place] * 2 - y[place]));
  }
  std::string list;
  int count = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if ((axes >> axis & 1) != 0) list += std::to_string(axis) + ",", ++count;
  }
  const bool all = count == static_cast<int>(shape.size());
  std::string text = "_e = x*2 - y; e = _e", options = all ? "" : ", axis=(" + list + ")";
  for (const Reduced& one : kReductions) {
    const bool arg = one.name.starts_with("arg");
    if (arg && count != 1 && !all) continue;
    const std::string own = arg && !all ? ", axis=" + list.substr(0, list.size() - 1) : options;
    text += "; " + one.name + "_ = " + one.name + "(_e" + own + (keepdims ? ", keepdims=True" : "") + ")";
  }
  CpuCall call({{"x", Numbers(x, shape)}, {"y", Numbers(y, shape)}});
  const Outcome outcome = call.Try(text);
  ASSERT_TRUE(outcome.ok()) << text << ": " << outcome.message();
  for (const Reduced& one : kReductions) {
    const auto found = call.outputs().find(one.name + "_");
    if (found == call.outputs().end()) continue;
    const std::vector<double> got = AsDoubles(found->second);
    ASSERT_EQ(got.size(), groups.size()) << one.name << ToString(shape) << list;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const double expected = one.of(groups[i]);
      ASSERT_NEAR(got[i], expected, 1e-5 * std::fabs(expected))
          << one.name << " of " << ToString(shape) << " over (" << list << "), result " << i;
    }
  }
  const std::vector<double> elements = AsDoubles(call.outputs().at("e"));
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(elements[i], static_cast<double>(x[i] * 2 - y[i]));
}

TEST(ExpressionCpu, ReductionsOverAllAxes) {
  for (const Shape& shape : kShapes) {
    if (shape.size() > 4) continue;
    for (unsigned axes = shape.empty() ? 0 : 1; axes < 1U << shape.size(); ++axes) {
      ExpectReductions<double>(shape, axes, axes % 2 == 0);
      ExpectReductions<std::int32_t>(shape, axes, axes % 3 == 0);
      ExpectReductions<float>(shape, axes, false);
      if (HasFailure()) return;
    }
  }
}

// Blocks end on lines' ends also where each result is of one element.
TEST(ExpressionCpu, AReductionOverAnAxisOfOneElement) {
  std::vector<double> columns(24), rows(24), products;
  for (std::size_t i = 0; i < 24; ++i) columns[i] = 1 + static_cast<double>(i), rows[i] = 100 + static_cast<double>(i);
  for (const double row : rows) {
    for (const double column : columns) products.push_back(row * column);
  }
  TestNumbers x = Numbers<double>(rows), y = Numbers<double>(columns);
  x.signature.shape = {24, 1, 1};
  y.signature.shape = {24, 1};
  EXPECT_EQ(CpuCall({{"x", x}, {"y", y}}).Run("sum(x*y, axis=2)").As<double>(), products);
  EXPECT_EQ(CpuCall({{"x", x}, {"y", y}}).Run("max(x*y, axis=2)").As<double>(), products);
}

TEST(ExpressionCpu, ReductionsOverDifferentAxesInOneText) {
  const auto x = Whole<double>(30 * 40);
  CpuCall call({{"x", Numbers(x, {30, 40})}});
  ASSERT_TRUE(call.Try("a = sum(x, axis=0); b = sum(x, axis=1); c = sum(x); d = x + 1").ok());
  const auto a = call.outputs().at("a").As<double>(), b = call.outputs().at("b").As<double>();
  const double total = std::accumulate(x.begin(), x.end(), 0.0);
  EXPECT_EQ(std::accumulate(a.begin(), a.end(), 0.0), total);
  EXPECT_EQ(std::accumulate(b.begin(), b.end(), 0.0), total);
  EXPECT_EQ(call.outputs().at("c").As<double>(), std::vector<double>{total});
  EXPECT_EQ(call.outputs().at("d").As<double>()[7], x[7] + 1);
}

TEST(ExpressionCpu, NanWinsAndTheFirstOfEqualOnes) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> x(3000, 1);
  x[700] = x[2900] = 5, x[1300] = x[2000] = -5;
  CpuCall plain({{"x", Numbers(x)}});
  EXPECT_EQ(plain.Run("argmax(x)").As<std::int64_t>(), std::vector<std::int64_t>{700});
  EXPECT_EQ(plain.Run("argmin(x)").As<std::int64_t>(), std::vector<std::int64_t>{1300});
  x[1500] = x[2500] = kNan;
  CpuCall with_nan({{"x", Numbers(x)}});
  EXPECT_EQ(with_nan.Run("argmax(x)").As<std::int64_t>(), std::vector<std::int64_t>{1500});
  EXPECT_EQ(with_nan.Run("argmin(x)").As<std::int64_t>(), std::vector<std::int64_t>{1500});
  EXPECT_TRUE(std::isnan(with_nan.Run("max(x)").As<double>()[0]));
  EXPECT_TRUE(std::isnan(with_nan.Run("min(x)").As<double>()[0]));
  EXPECT_TRUE(std::isnan(with_nan.Run("sum(x)").As<double>()[0]));
}

TEST(ExpressionCpu, VarianceOfLargeNumbersCloseTogether) {
  std::mt19937_64 random(4);
  std::normal_distribution<double> normal(1e8, 1);
  std::vector<double> x(300'000);
  for (double& one : x) one = normal(random);
  long double mean = 0, squares = 0;
  for (const double one : x) mean += one;
  mean /= static_cast<long double>(x.size());
  for (const double one : x) squares += (one - mean) * (one - mean);
  const double expected = static_cast<double>(squares / static_cast<long double>(x.size()));
  CpuCall call({{"x", Numbers(x)}});
  EXPECT_NEAR(call.Run("var(x)").As<double>()[0], expected, 1e-12);
  // Another element that is far from them, first.
  x[0] = 0;
  mean = squares = 0;
  for (const double one : x) mean += one;
  mean /= static_cast<long double>(x.size());
  for (const double one : x) squares += (one - mean) * (one - mean);
  const double far = static_cast<double>(squares / static_cast<long double>(x.size() - 1));
  EXPECT_NEAR(CpuCall({{"x", Numbers(x)}}).Run("var(x, ddof=1)").As<double>()[0] / far, 1, 1e-12);
  // NumPy's for infinite elements is NaN, wherever they are.
  for (const std::size_t place : {std::size_t{0}, std::size_t{1}, x.size() - 1}) {
    std::vector<double> infinite = x;
    infinite[place] = std::numeric_limits<double>::infinity();
    EXPECT_TRUE(std::isnan(CpuCall({{"x", Numbers(infinite)}}).Run("std(x)").As<double>()[0])) << place;
  }
}

TEST(ExpressionCpu, ComplexReductions) {
  std::vector<std::complex<float>> x;
  for (int i = 0; i < 1000; ++i) x.push_back({static_cast<float>(i % 7), static_cast<float>(i % 5 - 2)});
  std::complex<double> sum = 0;
  for (const auto one : x) sum += std::complex<double>(one);
  double squares = 0;
  for (const auto one : x) squares += std::norm(std::complex<double>(one) - sum / 1000.0);
  CpuCall call({{"x", Numbers(x)}});
  EXPECT_EQ(call.Run("sum(x)").As<std::complex<float>>()[0], std::complex<float>(sum));
  EXPECT_EQ(call.Run("mean(x)").As<std::complex<float>>()[0], std::complex<float>(sum / 1000.0));
  EXPECT_NEAR(call.Run("var(x)").As<float>()[0], squares / 1000, 1e-5);
}

TEST(ExpressionCpu, ResultsHaveTheSameBitsWithAnyNumberOfThreads) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> x(1'000'003);
  for (float& one : x) one = uniform(random);
  CpuCall flat({{"x", Numbers(x)}});
  x.resize(1'000'000);
  CpuCall table({{"x", Numbers(x, {1000, 1000})}});
  const auto expect_same = [](CpuCall& call, const std::string& text) {
    ASSERT_TRUE(call.Try(text, 1).ok());
    const auto alone = call.outputs();
    for (const int threads : {2, 3, 5}) {
      ASSERT_TRUE(call.Try(text, threads).ok());
      for (const auto& [name, numbers] : alone) EXPECT_EQ(call.outputs().at(name).bytes, numbers.bytes) << name;
    }
  };
  expect_same(flat, "s = sum(x*x); v = var(x); e = exp(x)");
  expect_same(table, "s = sum(sin(x), axis=0); t = mean(x, axis=1)");
}

// An operand with one element for each line is computed once a line, wherever in the line a thread begins.
TEST(ExpressionCpu, LongLinesWithAnOperandForEach) {
  constexpr std::int64_t kLength = 1'310'736;  // of 41 chunks, the last of 32 elements
  std::vector<float> x(2 * kLength);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 1000);
  CpuCall call({{"x", Numbers(x, {2, kLength})}, {"c", Numbers<float>({1000, 5000}, {2, 1})}});
  for (int round = 0; round < 10; ++round) {
    for (const int threads : {1, 3, 4, 8}) {
      const std::vector<float> got = call.Run("x + c", threads).As<float>();
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < got.size(); ++i) wrong += got[i] != x[i] + (i < kLength ? 1000 : 5000);
      ASSERT_EQ(wrong, 0u) << threads << " threads";
    }
  }
}

TEST(ExpressionCpu, ANumberMadeOfNumbersHasToFit) {
  const TestNumbers x = Numbers<std::uint8_t>({1, 2});
  EXPECT_EQ(CpuCall({{"x", x}}, {}, {{"n", 150}}).Try("x + n*2").message(),
            "Python integer 300 out of bounds for uint8");
  EXPECT_EQ(CpuCall({{"x", x}}, {}, {{"n", 100}}).Run("x + n*2").As<std::uint8_t>(),
            (std::vector<std::uint8_t>{201, 202}));
  EXPECT_EQ(CpuCall({{"x", x}}, {}, {{"n", 1}}).Try("x + (n - 2)").message(),
            "Python integer -1 out of bounds for uint8");
}

TEST(ExpressionCpu, AnyByteButZeroIsTrue) {
  TestNumbers x = Numbers<std::uint8_t>({1, 2, 0});
  x.signature.dtype = DType::kBool;
  CpuCall call({{"x", x}});
  EXPECT_EQ(call.Run("argmax(x)").As<std::int64_t>(), (std::vector<std::int64_t>{0}));
  EXPECT_EQ(call.Run("max(x)").bytes, std::vector<std::byte>{std::byte{1}});
}

TEST(ExpressionCpu, LargeOutputsArePastTheCaches) {
  std::vector<double> x(5'000'003);
  std::iota(x.begin(), x.end(), 0);
  const std::vector<double> got = CpuCall({{"x", Numbers(x)}}).Run("2*x + 1").As<double>();
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(got[i], 2 * x[i] + 1);
}

TEST(ExpressionCpu, NoElements) {
  CpuCall call({{"x", Numbers<double>({}, {0, 3})}});
  EXPECT_TRUE(call.Run("x + 1").As<double>().empty());
  EXPECT_EQ(call.Run("sum(x, axis=0)").As<double>(), std::vector<double>(3, 0));
  EXPECT_EQ(call.Run("prod(x)").As<double>(), std::vector<double>(1, 1));
  EXPECT_EQ(call.Run("all(x > 0)").As<bool>(), std::vector<bool>{true});
  EXPECT_TRUE(std::isnan(call.Run("mean(x)").As<double>()[0]));
  EXPECT_TRUE(std::isnan(call.Run("var(x)").As<double>()[0]));
  EXPECT_TRUE(call.Run("sum(x, axis=1)").As<double>().empty());
}

TEST(ExpressionCpu, ReadsAtComputedIndices) {
  const auto x = Whole<double>(12), wanted = std::vector<double>{x[3], x[10], x[0]};
  CpuCall call({{"x", Numbers(x)}, {"n", Numbers<std::int32_t>({3, -2, 0})}});
  EXPECT_EQ(call.Run("x[n]").As<double>(), wanted);
  const auto table = Whole<float>(20 * 30);
  CpuCall rows({{"x", Numbers(table, {20, 30})}});
  const std::vector<float> got = rows.Run("broadcast_to(x[(i*7) % 20, (j + 1) % 30], (20, 30))").As<float>();
  for (std::size_t i = 0; i < 20; ++i) {
    for (std::size_t j = 0; j < 30; ++j) ASSERT_EQ(got[i * 30 + j], table[i * 7 % 20 * 30 + (j + 1) % 30]);
  }
}

TEST(ExpressionCpu, AnIndexOutOfBoundsIsNamed) {
  CpuCall call({{"x", Numbers(Whole<double>(10))}, {"n", Numbers<std::int64_t>({3, 12, 0})}});
  const Outcome outcome = call.Try("x[n]");
  EXPECT_EQ(outcome.code(), HOTPLATE_INVALID);
  EXPECT_EQ(outcome.message(), "x: index 12 is out of bounds for axis 0 with size 10");
  CpuCall lowest(
      {{"x", Numbers(Whole<double>(10))}, {"n", Numbers<std::int64_t>({std::numeric_limits<std::int64_t>::min()})}});
  EXPECT_EQ(lowest.Try("x[n]").code(), HOTPLATE_INVALID);
  CpuCall empty({{"x", Numbers<double>({})}, {"n", Numbers<std::int64_t>({0})}});
  EXPECT_EQ(empty.Try("x[n]").message(), "x: index 0 is out of bounds for axis 0 with size 0");
}

TEST(ExpressionCpu, IsCancelled) {
  CpuCall call({{"x", Numbers(Whole<double>(100'000))}});
  call.control.cancel = 1;
  EXPECT_EQ(call.Try("sin(x)").code(), HOTPLATE_CANCELLED);
  EXPECT_EQ(call.Try("sum(sin(x))").code(), HOTPLATE_CANCELLED);
}

TEST(ExpressionCpu, ReportsThatItIsDone) {
  CpuCall call({{"x", Numbers(Whole<double>(100'000))}});
  call.Run("a = sum(x); b = x + 1");
  EXPECT_EQ(call.control.progress, 1'000'000U);
}

}  // namespace
}  // namespace hotplate::expression
