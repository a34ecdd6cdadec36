#include "tests/conformance/bad_data.h"

#include <algorithm>
#include <complex>
#include <limits>

#include "kernels/call/abi.h"
#include "kernels/catalogue/histogram/histogram_functor.h"
#include "tests/conformance/sparse.h"

namespace hotplate::conformance {
namespace {

// A stack of identities but for one element, counted in all of the array.
Case Spoilt(const std::string& name, DType dtype, const Shape& shape, std::size_t at, double value) {
  return {.name = std::string(Name(dtype)) + "_" + name, .params = {}, .inputs = [=](std::mt19937_64&) {
            TestArray a({.dtype = dtype, .shape = shape});
            const auto n = static_cast<std::size_t>(shape.back());
            WithType(dtype, [&](auto zero) {
              using T = decltype(zero);
              const auto elements = a.Elements<T>();
              for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = i / n % n == i % n ? 1 : 0;
              elements[at] = static_cast<T>(value);
            });
            return std::map<std::string, TestArray>{{"a", std::move(a)}};
          }};
}

// A stack of zeros but for one element.
Case SpoiltComplex(DType dtype, const Shape& shape, std::size_t at, std::complex<double> value) {
  return {.name = std::string(Name(dtype)) + "_" + std::to_string(at), .params = {}, .inputs = [=](std::mt19937_64&) {
            TestArray a({.dtype = dtype, .shape = shape});
            WithTypeOf<std::complex<float>, std::complex<double>>(dtype, [&](auto zero) {
              using T = decltype(zero);
              const auto elements = a.Elements<T>();
              std::fill(elements.begin(), elements.end(), zero);
              elements[at] = static_cast<T>(value);
            });
            return std::map<std::string, TestArray>{{"a", std::move(a)}};
          }};
}

// With one more element that is spoilt.
Case Also(Case spoilt, std::size_t at, double value) {
  spoilt.inputs = [first = spoilt.inputs, at, value](std::mt19937_64& random) {
    std::map<std::string, TestArray> inputs = first(random);
    TestArray& a = inputs.at("a");
    WithType(a.signature().dtype, [&](auto zero) {
      using T = decltype(zero);
      a.Elements<T>()[at] = static_cast<T>(value);
    });
    return inputs;
  };
  return spoilt;
}

Case WithSides(Case spoilt, DType dtype, const Shape& shape) {
  spoilt.inputs = [make_a = spoilt.inputs, dtype, shape](std::mt19937_64& random) {
    std::map<std::string, TestArray> inputs = make_a(random);
    TestArray b({.dtype = dtype, .shape = shape});
    FillUniform(b, -1, 1, random);
    inputs.emplace("b", std::move(b));
    return inputs;
  };
  return spoilt;
}

// One element of points or of initial is spoilt.
BadData BadPoints(DType dtype, const std::string& input, std::size_t at, double value) {
  Case spoilt;
  spoilt.name = std::string(Name(dtype)) + "_" + input + "_" + std::to_string(at);
  spoilt.inputs = [=](std::mt19937_64& random) {
    std::map<std::string, TestArray> inputs;
    for (const auto& [name, rows] : {std::pair("points", 3000), std::pair("initial", 7)}) {
      TestArray& array = inputs.emplace(name, TestArray({.dtype = dtype, .shape = {rows, 3}})).first->second;
      FillUniform(array, -1, 1, random);
    }
    WithType(dtype,
             [&](auto zero) { inputs.at(input).Elements<decltype(zero)>()[at] = static_cast<decltype(zero)>(value); });
    return inputs;
  };
  return {"kmeans", spoilt, HOTPLATE_INVALID, input + " holds a NaN or an infinity"};
}

// Numbers of which no range of bins can be found.
BadData WithoutRange(const std::string& name, DType dtype, double value, std::string_view message) {
  Case spoilt;
  spoilt.name = std::string(Name(dtype)) + "_" + name;
  spoilt.inputs = [=](std::mt19937_64& random) {
    TestArray x({.dtype = dtype, .shape = {20'000}});
    FillUniform(x, -1, 1, random);
    WithType(dtype, [&](auto zero) {
      using T = decltype(zero);
      x.Elements<T>()[12'345] = static_cast<T>(value);
      x.Elements<T>()[17] = static_cast<T>(-value);
    });
    return std::map<std::string, TestArray>{{"x", std::move(x)}};
  };
  return {"histogram", spoilt, HOTPLATE_INVALID, std::string(message)};
}

}  // namespace

std::vector<BadData> BadDataCases() {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();
  std::vector<BadData> all;
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    all.push_back({"cholesky", Spoilt("negative", dtype, {5, 5}, 12, -1), HOTPLATE_INVALID,
                   "a is not positive definite: its leading minor of order 3 is not (info 3)"});
    all.push_back({"cholesky", Spoilt("large_negative", dtype, {300, 300}, 299 * 301, 0), HOTPLATE_INVALID,
                   "a is not positive definite: its leading minor of order 300 is not (info 300)"});
    all.push_back({"cholesky", Spoilt("stack_negative", dtype, {2, 2, 4, 4}, 2 * 16 + 5, -1), HOTPLATE_INVALID,
                   "matrix 2 of the 4 in a (counted from 0) is not positive definite: its leading minor of order 2 is "
                   "not (info 2)"});
    all.push_back({"cholesky", Spoilt("stack_of_larger_negative", dtype, {2, 2, 40, 40}, 2 * 1600 + 41, -1),
                   HOTPLATE_INVALID,
                   "matrix 2 of the 4 in a (counted from 0) is not positive definite: its leading minor of order 2 is "
                   "not (info 2)"});
    all.push_back(
        {"cholesky", Also(Spoilt("many_two_negative", dtype, {70, 17, 17}, 50 * 289 + 18, -1), 40 * 289 + 18, -1),
         HOTPLATE_INVALID,
         "matrix 40 of the 70 in a (counted from 0) is not positive definite: its leading minor of order 2 is "
         "not (info 2)"});
    // The first matrix that anything is wrong with, and of one matrix that it is not finite.
    all.push_back({"cholesky", Also(Spoilt("negative_then_nan", dtype, {4, 4, 4}, 16 + 5, -1), 2 * 16, kNan),
                   HOTPLATE_INVALID,
                   "matrix 1 of the 4 in a (counted from 0) is not positive definite: its leading minor of order 2 is "
                   "not (info 2)"});
    all.push_back({"cholesky", Also(Spoilt("nan_then_negative", dtype, {4, 4, 4}, 2 * 16 + 5, -1), 16, kNan),
                   HOTPLATE_INVALID, "matrix 1 of the 4 in a (counted from 0) holds a NaN or an infinity"});
    all.push_back({"cholesky", Also(Spoilt("negative_and_nan", dtype, {4, 4, 4}, 16 + 5, -1), 16 + 15, kNan),
                   HOTPLATE_INVALID, "matrix 1 of the 4 in a (counted from 0) holds a NaN or an infinity"});
    all.push_back({"solve", WithSides(Spoilt("zero_pivot", dtype, {4, 4}, 10, 0), dtype, {4}), HOTPLATE_INVALID,
                   "a is singular: pivot 3 of its LU factors is exactly zero (info 3)"});
    all.push_back(
        {"solve", WithSides(Spoilt("stack_zero_pivot", dtype, {3, 2, 2}, 7, 0), dtype, {3, 2, 5}), HOTPLATE_INVALID,
         "matrix 1 of the 3 in a (counted from 0) is singular: pivot 2 of its LU factors is exactly zero (info "
         "2)"});
    all.push_back(
        {"solve", WithSides(Spoilt("stack_of_larger_zero_pivot", dtype, {3, 40, 40}, 1600 + 41, 0), dtype, {3, 40, 5}),
         HOTPLATE_INVALID,
         "matrix 1 of the 3 in a (counted from 0) is singular: pivot 2 of its LU factors is exactly zero (info "
         "2)"});
    all.push_back({"svd", Spoilt("tall_nan", dtype, {2, 40, 5}, 200 + 199, kNan), HOTPLATE_INVALID,
                   "matrix 1 of the 2 in a (counted from 0) holds a NaN or an infinity"});
    all.push_back(BadPoints(dtype, "points", 0, kNan));
    all.push_back(BadPoints(dtype, "points", 8999, -kInf));
    all.push_back(BadPoints(dtype, "initial", 20, kInf));
    for (const char* kernel : {"cholesky", "eig", "eigh", "qr", "svd"}) {
      all.push_back({kernel, Spoilt("nan", dtype, {6, 6}, 13, kNan), HOTPLATE_INVALID, "a holds a NaN or an infinity"});
      all.push_back({kernel, Spoilt("infinity", dtype, {300, 300}, 299 * 300, -kInf), HOTPLATE_INVALID,
                     "a holds a NaN or an infinity"});
      all.push_back({kernel, Spoilt("stack_nan", dtype, {3, 4, 4}, 16 + 8, kNan), HOTPLATE_INVALID,
                     "matrix 1 of the 3 in a (counted from 0) holds a NaN or an infinity"});
    }
  }
  for (const DType dtype : {DType::kComplex64, DType::kComplex128}) {
    all.push_back(
        {"eig", SpoiltComplex(dtype, {5, 5}, 7, {0, kNan}), HOTPLATE_INVALID, "a holds a NaN or an infinity"});
    all.push_back({"eig", SpoiltComplex(dtype, {3, 4, 4}, 16 + 15, {kInf, 0}), HOTPLATE_INVALID,
                   "matrix 1 of the 3 in a (counted from 0) holds a NaN or an infinity"});
  }
  all.push_back(WithoutRange("nan", DType::kFloat32, kNan, histogram::kNotFinite));
  all.push_back(WithoutRange("infinity", DType::kFloat64, kInf, histogram::kNotFinite));
  all.push_back(WithoutRange("too_wide", DType::kFloat64, 1e308, histogram::kTooWide));
  for (BadData& sparse : BadSparseCases()) all.push_back(std::move(sparse));
  return all;
}

}  // namespace hotplate::conformance
