// The CPU's operators against plain formulas in wider types, over special values of every dtype.
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "tests/unit/expression/cpu_call.h"

namespace hotplate::expression {
namespace {

__extension__ typedef __int128 Wide;

template <typename T>
std::vector<T> SpecialIntegers() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values = {
      0, 1, 2, 3, 5, 7, 8, 31, 63, 64, Limits::max(), T(Limits::max() - 1), Limits::min(), T(Limits::min() + 1)};
  if constexpr (std::is_signed_v<T>) values.insert(values.end(), {-1, -2, -3, -7, -64});
  return values;
}

template <typename T>
std::vector<T> SpecialFloats() {
  using Limits = std::numeric_limits<T>;
  return {0,
          T(-0.0),
          1,
          -1,
          T(0.5),
          T(-0.5),
          2,
          3,
          T(-2.5),
          T(0.1),
          100,
          T(-1000.25),
          Limits::max(),
          Limits::lowest(),
          Limits::min(),
          Limits::denorm_min(),
          Limits::epsilon(),
          Limits::infinity(),
          -Limits::infinity(),
          Limits::quiet_NaN()};
}

// All pairs, many times over, so that vectors and what is left after them are both reached.
template <typename T>
struct Pairs {
  std::vector<T> x, y;
  explicit Pairs(const std::vector<T>& values) {
    for (const T first : values) {
      for (const T second : values) x.push_back(first), y.push_back(second);
    }
  }
  CpuCall Call() const { return CpuCall({{"x", Numbers(x)}, {"y", Numbers(y)}}); }
};

Wide Product(Wide x, Wide y) { return Wide(static_cast<unsigned __int128>(x) * static_cast<unsigned __int128>(y)); }
// NumPy's: towards minus infinity; 0 for a zero divisor.
Wide FloorDivide(Wide x, Wide y) { return y == 0 ? 0 : x / y - (x % y != 0 && (x < 0) != (y < 0)); }
Wide Remainder(Wide x, Wide y) { return y == 0 ? 0 : x - FloorDivide(x, y) * y; }
Wide Clamped(Wide bits, Wide count) { return count < 0 || count >= bits ? bits : count; }

template <typename T>
class Integers : public ::testing::Test {};
using IntegerTypes = ::testing::Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                                      std::uint16_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(Integers, IntegerTypes);

TYPED_TEST(Integers, ArithmeticWraps) {
  using T = TypeParam;
  constexpr Wide kBits = 8 * sizeof(T);
  const std::vector<std::pair<std::string, std::function<Wide(Wide, Wide)>>> kOperators = {
      {"x + y", [](Wide x, Wide y) { return x + y; }},
      {"x - y", [](Wide x, Wide y) { return x - y; }},
      {"x * y", Product},
      {"x // y", FloorDivide},
      {"x % y", Remainder},
      {"fmod(x, y)", [](Wide x, Wide y) { return y == 0 ? Wide(0) : x % y; }},
      {"maximum(x, y)", [](Wide x, Wide y) { return std::max(x, y); }},
      {"fmin(x, y)", [](Wide x, Wide y) { return std::min(x, y); }},
      {"x & y", [](Wide x, Wide y) { return x & y; }},
      {"x | y", [](Wide x, Wide y) { return x | y; }},
      {"x ^ y", [](Wide x, Wide y) { return x ^ y; }},
      {"x << y",
       [](Wide x, Wide y) { return Clamped(kBits, y) == kBits ? Wide(0) : x * (Wide(1) << Clamped(kBits, y)); }},
      {"x >> y", [](Wide x, Wide y) { return x >> Clamped(kBits, y); }},
      {"-x", [](Wide x, Wide) { return -x; }},
      {"~x", [](Wide x, Wide) { return ~x; }},
      {"abs(x)", [](Wide x, Wide) { return x < 0 ? -x : x; }},
      {"sign(x)", [](Wide x, Wide) { return Wide(x > 0) - Wide(x < 0); }},
      {"x ** 2", [](Wide x, Wide) { return Product(x, x); }},
      {"floor(x)", [](Wide x, Wide) { return x; }},
      {"where(x > y, x, y)", [](Wide x, Wide y) { return x > y ? x : y; }},
  };
  const Pairs<T> pairs(SpecialIntegers<T>());
  for (const auto& [text, expected] : kOperators) {
    const bool binary = text.find('y') != text.npos;
    CpuCall call = binary ? pairs.Call() : CpuCall({{"x", Numbers(pairs.x)}});
    const std::vector<T> got = call.Run(text).template As<T>();
    ASSERT_EQ(got.size(), pairs.x.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i], static_cast<T>(expected(pairs.x[i], pairs.y[i])))
          << text << " of " << +pairs.x[i] << " and " << +pairs.y[i];
    }
  }
}

TYPED_TEST(Integers, PowersWrap) {
  using T = TypeParam;
  std::vector<T> bases, exponents;
  for (const T base : SpecialIntegers<T>()) {
    for (T exponent = 0; exponent < 20; ++exponent) bases.push_back(base), exponents.push_back(exponent);
  }
  const std::vector<T> got = CpuCall({{"x", Numbers(bases)}, {"y", Numbers(exponents)}}).Run("x ** y").template As<T>();
  for (std::size_t i = 0; i < got.size(); ++i) {
    std::uint64_t power = 1;
    for (T j = 0; j < exponents[i]; ++j) power *= static_cast<std::uint64_t>(bases[i]);
    ASSERT_EQ(got[i], static_cast<T>(power)) << +bases[i] << " ** " << +exponents[i];
  }
}

TYPED_TEST(Integers, CompareByValue) {
  using T = TypeParam;
  const Pairs<T> pairs(SpecialIntegers<T>());
  const std::vector<std::pair<std::string, std::function<bool(T, T)>>> kOperators = {
      {"x == y", std::equal_to<T>()},   {"x != y", std::not_equal_to<T>()}, {"x < y", std::less<T>()},
      {"x <= y", std::less_equal<T>()}, {"x > y", std::greater<T>()},       {"x >= y", std::greater_equal<T>()}};
  for (const auto& [text, expected] : kOperators) {
    const std::vector<bool> got = pairs.Call().Run(text).template As<bool>();
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], expected(pairs.x[i], pairs.y[i])) << text;
  }
}

TEST(NegativePowers, OfIntegersAreAnError) {
  CpuCall call({{"x", Numbers<std::int32_t>({2, 3})}, {"y", Numbers<std::int32_t>({1, -1})}});
  const Outcome outcome = call.Try("x ** y");
  EXPECT_EQ(outcome.code(), HOTPLATE_INVALID);
  EXPECT_EQ(outcome.message().substr(0, 50), "integers to negative integer powers are not allowe");
}

// Units in the last place of `expected`, which is rounded to T first.
template <typename T>
double Ulps(T got, long double expected) {
  const T rounded = static_cast<T>(expected);
  if (std::isnan(rounded) || std::isnan(got)) return std::isnan(rounded) && std::isnan(got) ? 0 : HUGE_VAL;
  if (got == rounded) return 0;
  if (std::isinf(rounded) || std::isinf(got)) return HUGE_VAL;
  const T magnitude = std::max(std::fabs(rounded), std::numeric_limits<T>::min());
  const long double unit = std::nextafter(magnitude, std::numeric_limits<T>::infinity()) - magnitude;
  return static_cast<double>(std::fabs(static_cast<long double>(got) - expected) / unit);
}

using Long = long double;
struct FloatOperator {
  std::string text;
  std::function<Long(Long, Long)> expected;
  double ulps = 0.5;  // of a correctly rounded result
};

Long PythonRemainder(Long x, Long y) {
  const Long rest = std::fmod(x, y);
  if (std::isnan(rest)) return rest;
  if (rest == 0) return std::copysign(0.0L, y);
  return (rest < 0) != (y < 0) ? rest + y : rest;
}

template <typename T>
class Floats : public ::testing::Test {};
using FloatTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Floats, FloatTypes);

TYPED_TEST(Floats, OperatorsAreWithinTheirBound) {
  using T = TypeParam;
  constexpr double kLibrary = 4;  // libmvec's bound
  const Long kNan = std::numeric_limits<Long>::quiet_NaN();
  const std::vector<FloatOperator> kOperators = {
      {"x + y", [](Long x, Long y) { return x + y; }},
      {"x - y", [](Long x, Long y) { return x - y; }},
      {"x * y", [](Long x, Long y) { return x * y; }},
      {"x / y", [](Long x, Long y) { return x / y; }},
      {"x % y", PythonRemainder},
      {"fmod(x, y)", [](Long x, Long y) { return std::fmod(x, y); }},
      {"copysign(x, y)", [](Long x, Long y) { return std::copysign(x, y); }},
      {"maximum(x, y)", [&](Long x, Long y) { return std::isnan(x) || std::isnan(y) ? kNan : std::max(x, y); }},
      {"minimum(x, y)", [&](Long x, Long y) { return std::isnan(x) || std::isnan(y) ? kNan : std::min(x, y); }},
      {"fmax(x, y)", [](Long x, Long y) { return std::fmax(x, y); }},
      {"fmin(x, y)", [](Long x, Long y) { return std::fmin(x, y); }},
      {"arctan2(x, y)", [](Long x, Long y) { return std::atan2(x, y); }, kLibrary},
      {"hypot(x, y)", [](Long x, Long y) { return std::hypot(x, y); }, kLibrary},
      {"x ** y", [](Long x, Long y) { return std::pow(x, y); }, kLibrary},
      {"-x", [](Long x, Long) { return -x; }},
      {"abs(x)", [](Long x, Long) { return std::fabs(x); }},
      {"sign(x)", [](Long x, Long) { return std::isnan(x) ? x : Long(x > 0) - Long(x < 0); }},
      {"square(x)", [](Long x, Long) { return x * x; }},
      {"x ** 2", [](Long x, Long) { return x * x; }},
      {"x ** 3", [](Long x, Long) { return x * x * x; }, 2},
      {"sqrt(x)", [](Long x, Long) { return std::sqrt(x); }},
      {"x ** 0.5", [](Long x, Long) { return std::sqrt(x); }},
      {"1 / x", [](Long x, Long) { return 1 / x; }},
      {"reciprocal(x)", [](Long x, Long) { return 1 / x; }},
      {"cbrt(x)", [](Long x, Long) { return std::cbrt(x); }, kLibrary},
      {"exp(x)", [](Long x, Long) { return std::exp(x); }, kLibrary},
      {"exp2(x)", [](Long x, Long) { return std::exp2(x); }, kLibrary},
      {"expm1(x)", [](Long x, Long) { return std::expm1(x); }, kLibrary},
      {"log(x)", [](Long x, Long) { return std::log(x); }, kLibrary},
      {"log2(x)", [](Long x, Long) { return std::log2(x); }, kLibrary},
      {"log10(x)", [](Long x, Long) { return std::log10(x); }, kLibrary},
      {"log1p(x)", [](Long x, Long) { return std::log1p(x); }, kLibrary},
      {"sin(x)", [](Long x, Long) { return std::sin(x); }, kLibrary},
      {"cos(x)", [](Long x, Long) { return std::cos(x); }, kLibrary},
      {"tan(x)", [](Long x, Long) { return std::tan(x); }, kLibrary},
      {"arcsin(x)", [](Long x, Long) { return std::asin(x); }, kLibrary},
      {"arccos(x)", [](Long x, Long) { return std::acos(x); }, kLibrary},
      {"arctan(x)", [](Long x, Long) { return std::atan(x); }, kLibrary},
      {"sinh(x)", [](Long x, Long) { return std::sinh(x); }, kLibrary},
      {"cosh(x)", [](Long x, Long) { return std::cosh(x); }, kLibrary},
      {"tanh(x)", [](Long x, Long) { return std::tanh(x); }, kLibrary},
      {"arcsinh(x)", [](Long x, Long) { return std::asinh(x); }, kLibrary},
      {"arccosh(x)", [](Long x, Long) { return std::acosh(x); }, kLibrary},
      {"arctanh(x)", [](Long x, Long) { return std::atanh(x); }, kLibrary},
      {"floor(x)", [](Long x, Long) { return std::floor(x); }},
      {"ceil(x)", [](Long x, Long) { return std::ceil(x); }},
      {"trunc(x)", [](Long x, Long) { return std::trunc(x); }},
      {"rint(x)", [](Long x, Long) { return std::rint(x); }},
  };
  const Pairs<T> pairs(SpecialFloats<T>());
  for (const FloatOperator& one : kOperators) {
    const bool binary = one.text.find('y') != one.text.npos;
    CpuCall call = binary ? pairs.Call() : CpuCall({{"x", Numbers(pairs.x)}});
    const std::vector<T> got = call.Run(one.text).template As<T>();
    ASSERT_EQ(got.size(), pairs.x.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      const Long expected = one.expected(pairs.x[i], pairs.y[i]);
      ASSERT_LE(Ulps(got[i], expected), one.ulps)
          << one.text << " of " << pairs.x[i] << " and " << pairs.y[i] << ": " << got[i] << ", not " << expected;
      const bool keeps_sign =
          one.text == "-x" || one.text == "copysign(x, y)" || one.text == "x % y" || one.text == "x * y";
      if (keeps_sign && got[i] == 0) {
        ASSERT_EQ(std::signbit(got[i]), std::signbit(expected))
            << one.text << " of " << pairs.x[i] << ", " << pairs.y[i];
      }
    }
  }
}

TYPED_TEST(Floats, FloorDivisionAndTests) {
  using T = TypeParam;
  constexpr T kInfinity = std::numeric_limits<T>::infinity(), kNan = std::numeric_limits<T>::quiet_NaN();
  CpuCall call({{"x", Numbers<T>({7, -7, 7, -7, 1, -1, 0, kInfinity, 5, -5})},
                {"y", Numbers<T>({2, 2, -2, -2, 0, 0, 0, 2, kInfinity, kInfinity})}});
  const std::vector<T> got = call.Run("x // y").template As<T>();
  const std::vector<T> expected = {3, -4, -4, 3, kInfinity, -kInfinity, kNan, kNan, 0, -1};
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(Ulps(got[i], expected[i]), 0) << i;

  CpuCall special({{"x", Numbers<T>({0, T(-0.0), 1, -1, kInfinity, -kInfinity, kNan})}});
  EXPECT_EQ(special.Run("isnan(x)").template As<bool>(), (std::vector<bool>{0, 0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(special.Run("isinf(x)").template As<bool>(), (std::vector<bool>{0, 0, 0, 0, 1, 1, 0}));
  EXPECT_EQ(special.Run("isfinite(x)").template As<bool>(), (std::vector<bool>{1, 1, 1, 1, 0, 0, 0}));
  EXPECT_EQ(special.Run("signbit(x)").template As<bool>(), (std::vector<bool>{0, 1, 0, 1, 0, 1, 0}));
  EXPECT_EQ(special.Run("x == x").template As<bool>(), (std::vector<bool>{1, 1, 1, 1, 1, 1, 0}));
  EXPECT_EQ(special.Run("x < 1").template As<bool>(), (std::vector<bool>{1, 1, 0, 1, 0, 1, 0}));
  // No cancellation: where the result is near 0, the bound of libmvec's parts says nothing.
  CpuCall logs({{"x", Numbers<T>({1, 100, -100, kInfinity, -kInfinity, kNan, 700, 3})},
                {"y", Numbers<T>({1, 100, 100, kInfinity, -kInfinity, 0, -700, -kInfinity})}});
  const std::vector<T> sums = logs.Run("logaddexp(x, y)").template As<T>();
  const std::vector<Long> wanted = {1 + std::log(2.0L), 100 + std::log(2.0L), 100, kInfinity, -kInfinity, kNan, 700, 3};
  for (std::size_t i = 0; i < sums.size(); ++i) EXPECT_LE(Ulps(sums[i], wanted[i]), 4) << i;
}

TYPED_TEST(Floats, ComplexNumbers) {
  using T = TypeParam;
  using C = std::complex<T>;
  using Reference = std::complex<Long>;
  std::vector<C> x, y;
  for (const T real : {T(0.5), T(-2), T(3), T(1e3)}) {
    for (const T imag : {T(0.25), T(-1), T(4)}) x.push_back({real, imag}), y.push_back({imag, real});
  }
  const std::vector<std::pair<std::string, std::function<Reference(Reference, Reference)>>> kOperators = {
      {"x + y", [](Reference a, Reference b) { return a + b; }},
      {"x - y", [](Reference a, Reference b) { return a - b; }},
      {"x * y", [](Reference a, Reference b) { return a * b; }},
      {"x / y", [](Reference a, Reference b) { return a / b; }},
      {"x ** 2", [](Reference a, Reference) { return a * a; }},
      {"x ** y", [](Reference a, Reference b) { return std::pow(a, b); }},
      {"x ** 3", [](Reference a, Reference) { return a * a * a; }},
      {"-x", [](Reference a, Reference) { return -a; }},
      {"conj(x)", [](Reference a, Reference) { return std::conj(a); }},
      {"sign(x)", [](Reference a, Reference) { return a / std::abs(a); }},
      {"reciprocal(x)", [](Reference a, Reference) { return Reference(1) / a; }},
      {"sqrt(x)", [](Reference a, Reference) { return std::sqrt(a); }},
      {"log(x)", [](Reference a, Reference) { return std::log(a); }},
      {"log10(x)", [](Reference a, Reference) { return std::log10(a); }},
      {"sin(x / 100)", [](Reference a, Reference) { return std::sin(a / Long(100)); }},
      {"exp(x / 100)", [](Reference a, Reference) { return std::exp(a / Long(100)); }},
      {"tanh(x)", [](Reference a, Reference) { return std::tanh(a); }},
      {"arcsin(x)", [](Reference a, Reference) { return std::asin(a); }},
      {"arctan(x)", [](Reference a, Reference) { return std::atan(a); }},
      {"complex(real(x), imag(y))", [](Reference a, Reference b) { return Reference(a.real(), b.imag()); }},
  };
  for (const auto& [text, expected] : kOperators) {
    const bool binary = text.find('y') != text.npos;
    CpuCall call = binary ? CpuCall({{"x", Numbers(x)}, {"y", Numbers(y)}}) : CpuCall({{"x", Numbers(x)}});
    const std::vector<C> got = call.Run(text).template As<C>();
    std::size_t compared = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const Reference wanted = expected(x[i], y[i]);
      if (!std::isfinite(static_cast<T>(std::abs(wanted)))) continue;
      ++compared;
      // The powers of large numbers lose what their logarithms do.
      const Long bound = (text == "x ** y" ? 1e4L : 16.0L) * std::numeric_limits<T>::epsilon() * std::abs(wanted);
      ASSERT_LE(std::abs(Reference(got[i]) - wanted), bound + std::numeric_limits<T>::min())
          << text << " of " << x[i] << " and " << y[i] << ": " << got[i];
    }
    EXPECT_GE(compared, got.size() / 2) << text;
  }
}

// The bits of float16 nearest to a number, by search: ties to the even one.
std::uint16_t NearestHalf(double number) {
  const double magnitude = std::min(std::fabs(number), 65536.0);
  const auto value_of = [](std::uint16_t bits) {
    const int exponent = bits >> 10, mantissa = bits & 0x3ff;
    return exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(mantissa + 1024, exponent - 25);
  };
  std::uint16_t best = 0;
  for (std::uint16_t bits = 1; bits <= 0x7c00; ++bits) {  // 0x7c00 stands for 65536 here
    const double nearer = std::fabs(value_of(bits) - magnitude) - std::fabs(value_of(best) - magnitude);
    if (nearer < 0 || (nearer == 0 && bits % 2 == 0)) best = bits;
    if (nearer > 0) break;
  }
  return static_cast<std::uint16_t>(best | (std::signbit(number) ? 0x8000 : 0));
}

TEST(Float16, IsRoundedToNearestEven) {
  const std::vector<double> numbers = {0,           -0.0,          1,
                                       1 + 0x1p-11, 1 + 0x1.8p-10, 65504,
                                       65519,       65520,         -65520,
                                       1e6,         0x1p-14,       0x1p-24,
                                       0x1p-25,     0x1.8p-24,     0x1.000001p-25,
                                       -0x1.4p-20,  0x1.ffcp-15,   1 + 0x1p-11 + 0x1p-50,
                                       0.1,         -3.14159,      std::numeric_limits<double>::infinity()};
  std::vector<float> narrow(numbers.begin(), numbers.end());
  const std::vector<HalfNumber> wide_got = CpuCall({{"x", Numbers(numbers)}}).Run("float16(x)").As<HalfNumber>();
  const std::vector<HalfNumber> narrow_got = CpuCall({{"x", Numbers(narrow)}}).Run("float16(x)").As<HalfNumber>();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_EQ(wide_got[i].bits, NearestHalf(numbers[i])) << numbers[i];
    EXPECT_EQ(narrow_got[i].bits, NearestHalf(static_cast<double>(narrow[i]))) << narrow[i];
  }
}

TEST(Float16, EveryOneIsReadAndWritten) {
  std::vector<HalfNumber> all;
  for (int bits = 0; bits < 0x10000; ++bits) all.push_back({static_cast<std::uint16_t>(bits)});
  CpuCall call({{"x", Numbers(all)}});
  EXPECT_EQ(call.Run("x").As<HalfNumber>(), all);
  const std::vector<float> got = call.Run("float32(x)").As<float>();
  const std::vector<HalfNumber> back = call.Run("-(-x)").As<HalfNumber>();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const int exponent = (all[i].bits >> 10) & 0x1f, mantissa = all[i].bits & 0x3ff;
    if (exponent == 0x1f && mantissa != 0) {
      EXPECT_TRUE(std::isnan(got[i]));
      continue;
    }
    const double magnitude = exponent == 0x1f ? HUGE_VAL
                             : exponent == 0  ? std::ldexp(mantissa, -24)
                                              : std::ldexp(mantissa + 1024, exponent - 25);
    ASSERT_EQ(got[i], (all[i].bits & 0x8000) != 0 ? -magnitude : magnitude);
    ASSERT_EQ(back[i], all[i]);
  }
}

TEST(Casts, OfFloatsOutOfRangeAreAsInNumPy) {
  const double kNan = std::numeric_limits<double>::quiet_NaN();
  CpuCall call({{"x", Numbers<double>({1.9, -1.9, 300, 3e9, 1e19, -1e19, kNan})}});
  constexpr std::int32_t kLow = std::numeric_limits<std::int32_t>::min();
  constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(call.Run("int8(x)").As<std::int8_t>(), (std::vector<std::int8_t>{1, -1, 44, 0, 0, 0, 0}));
  EXPECT_EQ(call.Run("uint8(x)").As<std::uint8_t>(), (std::vector<std::uint8_t>{1, 255, 44, 0, 0, 0, 0}));
  EXPECT_EQ(call.Run("int32(x)").As<std::int32_t>(), (std::vector<std::int32_t>{1, -1, 300, kLow, kLow, kLow, kLow}));
  EXPECT_EQ(call.Run("int64(x)").As<std::int64_t>(),
            (std::vector<std::int64_t>{1, -1, 300, 3'000'000'000, kLowest, kLowest, kLowest}));
  EXPECT_EQ(call.Run("uint64(x)").As<std::uint64_t>(),
            (std::vector<std::uint64_t>{1, ~std::uint64_t{0}, 300, 3'000'000'000, 10'000'000'000'000'000'000U,
                                        std::uint64_t{1} << 63, std::uint64_t{1} << 63}));
  EXPECT_EQ(call.Run("x != 0").As<bool>(), std::vector<bool>(7, true));
}

TEST(Numbers, TakeTheDTypeBesideThem) {
  const auto x = Numbers<std::uint8_t>({1, 2});
  EXPECT_EQ(CpuCall({{"x", x}}, {}, {{"n", 3}}).Run("x * n").As<std::uint8_t>(), (std::vector<std::uint8_t>{3, 6}));
  EXPECT_EQ(CpuCall({{"x", Numbers<float>({1, 2})}}, {{"a", 0.5}}).Run("a * x").As<float>(),
            (std::vector<float>{0.5F, 1}));
  CpuCall large({{"x", x}}, {}, {{"n", 300}});
  const Outcome outcome = large.Try("x * n");
  EXPECT_EQ(outcome.code(), HOTPLATE_INVALID);
  EXPECT_EQ(outcome.message(), "n: the integer 300 is out of bounds for uint8");
}

TEST(Bools, AreAnythingButZero) {
  CpuCall call({{"x", Numbers<std::uint8_t>({0, 1, 2})}, {"y", Numbers<std::uint8_t>({2, 0, 4})}});
  EXPECT_EQ(call.Run("logical_and(x, y)").As<bool>(), (std::vector<bool>{0, 0, 1}));
  EXPECT_EQ(call.Run("(x > 0) | (y > 3)").As<bool>(), (std::vector<bool>{0, 1, 1}));
  EXPECT_EQ(call.Run("~(x > 0) ^ (y > 3)").As<bool>(), (std::vector<bool>{1, 0, 1}));
  EXPECT_EQ(call.Run("(x > 0) * (y > 0) + (x > 1)").As<bool>(), (std::vector<bool>{0, 0, 1}));
}

}  // namespace
}  // namespace hotplate::expression
