// Every element is the value, bit for bit.
#include <cstring>
#include <limits>

#include "tests/conformance/verifiers.h"

namespace hotplate::conformance {
namespace full_verifier {

using Params = std::map<std::string, ParamValue>;

std::map<std::string, TestArray> NoInputs(std::mt19937_64&) { return {}; }

}  // namespace full_verifier

std::vector<Case> FullCases() {
  using namespace full_verifier;
  std::vector<Case> cases;
  for (const std::string dtype : {"float32", "float64", "int32", "int64"}) {
    const auto add = [&](const std::string& name, Params params) {
      params.emplace("dtype", dtype);
      cases.push_back({.name = dtype + "_" + name, .params = std::move(params), .inputs = NoInputs});
    };
    const double value = dtype.starts_with("float") ? -1.1 : -7;
    for (const std::int64_t n : {0, 1, 2, 3, 5, 33, 1000, 70'001}) {
      add("n" + std::to_string(n), {{"n", n}, {"value", value}});
    }
    add("zeros", {{"n", std::int64_t{10}}});
    add("matrix", {{"n", std::int64_t{31}}, {"rows", std::int64_t{7}}, {"value", value}});
    add("batch", {{"n", std::int64_t{3}}, {"rows", std::int64_t{5}}, {"batch", std::int64_t{4}}, {"value", value}});
    const double largest = dtype == "int32" ? 2147483647.0 : dtype == "int64" ? -0x1p63 : 1e300;
    add("largest", {{"n", std::int64_t{9}}, {"value", largest}});
  }
  cases.push_back({.name = "of_an_integer",
                   .params = {{"n", std::int64_t{4}}, {"value", -(std::int64_t{1} << 53)}},
                   .inputs = NoInputs});
  cases.push_back({.name = "minus_zero", .params = {{"n", std::int64_t{4}}, {"value", -0.0}}, .inputs = NoInputs});
  return cases;
}

Verdict VerifyFull(const Executed& executed) {
  using namespace full_verifier;
  const TestArray& out = executed.Output("out");
  const double value = executed.call.Float("value");
  Shape shape = {executed.call.Int("n")};
  for (const char* name : {"rows", "batch"}) {
    if (const std::int64_t size = executed.call.Int(name); size != 0) shape.insert(shape.begin(), size);
  }
  Verdict verdict;
  verdict.Add(out.signature().shape == shape ? 0 : 2, [&] { return "it is " + ToString(out.signature()); });
  const bool integer = std::holds_alternative<std::int64_t>(executed.call.Param("value"));
  const std::string chosen = executed.call.Choice("dtype"), by_value = integer ? "int64" : "float64";
  verdict.Add(Name(out.signature().dtype) == (chosen == "auto" ? by_value : chosen) ? 0 : 2,
              [] { return "another dtype"; });
  WithType(out.signature().dtype, [&](auto zero) {
    using T = decltype(zero);
    T expected;
    if (std::is_same_v<T, float> && std::fabs(value) > 1e39) {
      expected = static_cast<T>(std::numeric_limits<float>::infinity());
    } else {
      expected = static_cast<T>(value);
    }
    for (const T& element : out.Elements<T>()) {
      verdict.Add(std::memcmp(&element, &expected, sizeof element) == 0 ? 0 : 2,
                  [&] { return "an element is " + std::to_string(element); });
    }
  });
  return verdict;
}

}  // namespace hotplate::conformance
