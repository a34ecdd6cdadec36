// sort, argsort and sort_by_key by their definition: counts of every bit pattern for what is there, pairs of neighbours
// for the order, and for the others std::stable_sort of the indices of each row.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>
#include <vector>

#include "tests/conformance/lines.h"
#include "tests/conformance/verifiers.h"

namespace hotplate::conformance {
namespace sort_verifier {

constexpr DType kSorted[] = {DType::kInt32, DType::kInt64, DType::kFloat32, DType::kFloat64};
// sort_by_key does not take these, sort and argsort do.
constexpr DType kOthers[] = {DType::kBool,   DType::kInt8,   DType::kInt16, DType::kUInt8,
                             DType::kUInt16, DType::kUInt32, DType::kUInt64};

// Many equal ones, negative ones, and where there are any, NaN of both signs, infinities and both zeros.
template <typename T>
void FillWithSpecials(std::span<T> elements, std::mt19937_64& random) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> specials = {T(0), T(1), T(-1), Limits::max(), Limits::lowest(), T(77), T(-77), Limits::min()};
  if constexpr (std::is_floating_point_v<T>) {
    for (const T special : {Limits::quiet_NaN(), Limits::infinity(), T(0), Limits::denorm_min()}) {
      specials.push_back(special), specials.push_back(-special);
    }
  }
  for (T& element : elements) element = static_cast<T>(specials[random() % specials.size()]);
}

enum class Filling { kRandom, kSpecial, kEqual, kDescending };

TestArray Filled(const Signature& signature, Filling filling, std::mt19937_64& random) {
  TestArray array(signature);
  WithReal(signature.dtype, [&](auto zero) {
    using T = decltype(zero);
    const std::span<T> elements = array.Elements<T>();
    switch (filling) {
      case Filling::kRandom:
        if constexpr (std::is_signed_v<T> && sizeof(T) >= 4) return FillUniform(array, -1e9, 1e9, random);
        for (T& element : elements) element = static_cast<T>(std::is_same_v<T, bool> ? random() % 2 : random());
        return;
      case Filling::kSpecial:
        return FillWithSpecials(elements, random);
      case Filling::kEqual:
        return std::fill(elements.begin(), elements.end(), T(-5));
      case Filling::kDescending:
        for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<T>(elements.size() - i);
    }
  });
  return array;
}

struct FilledShape {
  const char* name;
  Shape shape;
  Filling filling;
};

// Of every second one ascending, of the others descending; of those with NaN and the like both.
std::vector<bool> Directions(Filling filling, std::size_t number) {
  if (filling == Filling::kSpecial) return {false, true};
  return {number % 2 == 1};
}

// Rows shorter and longer than what one thread sorts by itself, and counts of rows on either side.
std::vector<FilledShape> Fillings(DType dtype) {
  std::vector<FilledShape> all = {{"empty", {0}, Filling::kRandom},
                                  {"no_rows", {0, 7}, Filling::kRandom},
                                  {"rows_of_nothing", {5, 0}, Filling::kRandom},
                                  {"n1", {1}, Filling::kRandom},
                                  {"n2", {2}, Filling::kDescending},
                                  {"n33", {33}, Filling::kRandom},
                                  {"n1000_special", {1000}, Filling::kSpecial},
                                  {"n1000_equal", {1000}, Filling::kEqual},
                                  {"n5000_descending", {5000}, Filling::kDescending},
                                  {"n20001", {20'001}, Filling::kRandom},
                                  {"rows", {7, 3, 129}, Filling::kSpecial},
                                  {"rows_of_one", {300, 1}, Filling::kRandom},
                                  {"rows_of_1025", {11, 1025}, Filling::kRandom}};
  if (dtype == DType::kFloat32) all.push_back({"long_rows", {2, 140'001}, Filling::kSpecial});
  if (dtype == DType::kFloat64) all.push_back({"long_row", {150'007}, Filling::kRandom});
  if (dtype == DType::kInt32) all.push_back({"long_row", {200'000}, Filling::kDescending});
  return all;
}

template <typename T>
bool IsNan(T x) {
  return x != x;
}

// Few, of those that go the same ways as others.
std::vector<FilledShape> FewFillings(DType dtype) {
  std::vector<FilledShape> few = {{"n1000_special", {1000}, Filling::kSpecial},
                                  {"n5000", {5000}, Filling::kRandom},
                                  {"rows", {7, 3, 129}, Filling::kSpecial},
                                  {"rows_of_1025", {3, 1025}, Filling::kRandom}};
  if (dtype == DType::kUInt8) few.push_back({"long_row", {150'007}, Filling::kRandom});
  if (dtype == DType::kUInt64) few.push_back({"long_row", {150'007}, Filling::kSpecial});
  return few;
}

std::vector<std::pair<DType, FilledShape>> AllFillings() {
  std::vector<std::pair<DType, FilledShape>> all;
  for (const DType dtype : kSorted) {
    for (const FilledShape& one : Fillings(dtype)) all.emplace_back(dtype, one);
  }
  for (const DType dtype : kOthers) {
    for (const FilledShape& one : FewFillings(dtype)) all.emplace_back(dtype, one);
  }
  return all;
}

// Whether a may stand before b where -0 and 0 are told apart as `zeros` says.
template <typename T>
bool Before(T a, T b, bool descending, bool zeros) {
  if (IsNan(a) || IsNan(b)) return IsNan(b) && !IsNan(a);
  if constexpr (std::is_floating_point_v<T>) {
    if (zeros && a == 0 && b == 0)
      return descending ? std::signbit(b) && !std::signbit(a) : std::signbit(a) && !std::signbit(b);
  }
  return descending ? a > b : a < b;
}

template <typename T>
std::uint64_t BitsOf(T x) {
  if (IsNan(x)) return ~std::uint64_t{0};
  std::uint64_t bits = 0;
  std::memcpy(&bits, &x, sizeof x);
  return bits;
}

template <typename T>
std::string TextOf(T x) {
  return std::to_string(x);
}

template <typename T>
void VerifyRow(std::span<const T> x, std::span<const T> y, bool descending, std::size_t row, Verdict& verdict) {
  std::map<std::uint64_t, std::int64_t> counts;
  for (const T element : x) ++counts[BitsOf(element)];
  for (const T element : y) --counts[BitsOf(element)];
  for (const auto& [bits, count] : counts) {
    verdict.Add(count == 0 ? 0 : 2, [row, bits = bits, count = count] {
      return "row " + std::to_string(row) + ": the bits " + std::to_string(bits) + " are there " +
             std::to_string(-count) + " times too often";
    });
  }
  for (std::size_t i = 1; i < y.size(); ++i) {
    verdict.Add(Before(y[i], y[i - 1], descending, true) ? 2 : 0, [&] {
      return "row " + std::to_string(row) + ": y[" + std::to_string(i - 1) + "] = " + TextOf(y[i - 1]) +
             " stands before " + TextOf(y[i]);
    });
  }
}

template <typename T>
bool SameBits(T a, T b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

template <typename K, typename V>
Verdict VerifyPairs(const Executed& executed) {
  const TestArray& array = executed.Input("keys");
  const auto keys = array.Elements<K>(), sorted_keys = executed.Output("sorted_keys").Elements<K>();
  const auto values = executed.Input("values").Elements<V>();
  const auto sorted_values = executed.Output("sorted_values").Elements<V>();
  const bool descending = executed.call.Bool("descending");
  Verdict verdict;
  if (keys.empty()) return verdict;
  const std::size_t n = static_cast<std::size_t>(array.signature().shape.back());
  for (std::size_t first = 0; first < keys.size(); first += n) {
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), first);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return Before(keys[a], keys[b], descending, false); });
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t from = order[i], to = first + i;
      verdict.Add(SameBits(sorted_keys[to], keys[from]) && SameBits(sorted_values[to], values[from]) ? 0 : 2, [&] {
        return "place " + std::to_string(to) + " has key " + TextOf(sorted_keys[to]) + " with " +
               TextOf(sorted_values[to]) + " instead of " + TextOf(keys[from]) + " with " + TextOf(values[from]);
      });
    }
  }
  return verdict;
}

}  // namespace sort_verifier

std::vector<Case> SortCases() {
  using namespace sort_verifier;
  std::vector<Case> cases;
  for (const auto& [dtype, one] : AllFillings()) {
    for (const bool descending : Directions(one.filling, cases.size())) {
      cases.push_back(
          {.name = std::string(Name(dtype)) + "_" + one.name + (descending ? "_descending" : ""),
           .params = {{"descending", descending}},
           .inputs = [signature = Signature{dtype, one.shape}, filling = one.filling](std::mt19937_64& random) {
             return std::map<std::string, TestArray>{{"x", Filled(signature, filling, random)}};
           }});
    }
  }
  return cases;
}

Verdict VerifySort(const Executed& executed) {
  using namespace sort_verifier;
  const TestArray &x = executed.Input("x"), &y = executed.Output("y");
  Verdict verdict;
  if (x.size() == 0) return verdict;
  const std::size_t n = static_cast<std::size_t>(x.signature().shape.back());
  WithReal(x.signature().dtype, [&](auto zero) {
    using T = decltype(zero);
    for (std::size_t first = 0; first < x.size(); first += n) {
      VerifyRow(x.Elements<T>().subspan(first, n), y.Elements<T>().subspan(first, n), executed.call.Bool("descending"),
                first / n, verdict);
    }
  });
  return verdict;
}

std::vector<Case> ArgsortCases() {
  using namespace sort_verifier;
  std::vector<Case> cases;
  const auto add = [&](DType dtype, const FilledShape& one, bool descending, const std::string& axis) {
    cases.push_back({.name = std::string(Name(dtype)) + "_" + one.name + (descending ? "_descending" : ""),
                     .params = {{"descending", descending}, {"axis", axis}},
                     .inputs = [=](std::mt19937_64& random) {
                       return std::map<std::string, TestArray>{{"x", Filled({dtype, one.shape}, one.filling, random)}};
                     }});
  };
  for (const auto& [dtype, one] : AllFillings()) {
    for (const bool descending : Directions(one.filling, cases.size())) add(dtype, one, descending, "-1");
    if (std::string_view(one.name) != "rows") continue;
    add(dtype, {"first_axis", {129, 2, 3}, Filling::kSpecial}, false, "0");
    add(dtype, {"middle_axis", {4, 77, 5}, Filling::kSpecial}, true, "-2");
    add(dtype, {"flattened", {7, 3, 129}, Filling::kSpecial}, false, "all");
  }
  add(DType::kFloat64, {"scalar", {}, Filling::kRandom}, false, "all");
  add(DType::kInt16, {"long_columns", {140'001, 2}, Filling::kRandom}, false, "0");
  add(DType::kUInt64, {"long_columns", {140'001, 2}, Filling::kSpecial}, true, "0");
  return cases;
}

// Lines along the axis, each by itself.
Verdict VerifyArgsort(const Executed& executed) {
  using namespace sort_verifier;
  const TestArray& x = executed.Input("x");
  const auto got = executed.Output("y").Elements<std::int64_t>();
  const bool descending = executed.call.Bool("descending");
  const Lines lines(x.signature().shape, executed.call.Choice("axis"));
  Verdict verdict;
  if (got.size() != x.size()) verdict.Add(2, [] { return std::string("another number of indices"); });
  if (x.size() == 0 || verdict.error > 0) return verdict;
  WithReal(x.signature().dtype, [&](auto zero) {
    const auto elements = x.Elements<decltype(zero)>();
    for (std::size_t line = 0; line < lines.outputs; ++line) {
      std::vector<std::size_t> order(lines.count);
      std::iota(order.begin(), order.end(), 0u);
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return Before(elements[lines.At(line, a)], elements[lines.At(line, b)], descending, false);
      });
      for (std::size_t i = 0; i < lines.count; ++i) {
        const std::size_t place = lines.At(line, i);
        verdict.Add(got[place] == static_cast<std::int64_t>(order[i]) ? 0 : 2, [&] {
          return "y[" + std::to_string(place) + "] is " + std::to_string(got[place]) + " instead of " +
                 std::to_string(order[i]);
        });
      }
    }
  });
  return verdict;
}

std::vector<Case> SortByKeyCases() {
  using namespace sort_verifier;
  std::vector<Case> cases;
  const auto add = [&](DType keys, DType values, const FilledShape& one, bool descending) {
    cases.push_back({.name = std::string(Name(keys)) + "_" + std::string(Name(values)) + "_" + one.name +
                             (descending ? "_descending" : ""),
                     .params = {{"descending", descending}},
                     .inputs = [=](std::mt19937_64& random) {
                       TestArray numbers({values, one.shape});
                       WithType(values, [&](auto zero) {
                         using T = decltype(zero);
                         const auto elements = numbers.Elements<T>();
                         for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<T>(i);
                       });
                       return std::map<std::string, TestArray>{{"keys", Filled({keys, one.shape}, one.filling, random)},
                                                               {"values", std::move(numbers)}};
                     }});
  };
  for (const DType keys : kSorted) {
    const DType values = SizeOf(keys) == 4 ? DType::kInt64 : DType::kInt32;
    for (const FilledShape& one : Fillings(keys)) {
      for (const bool descending : Directions(one.filling, cases.size())) add(keys, values, one, descending);
    }
    add(keys, DType::kFloat32, {"values", {777}, Filling::kSpecial}, false);
    add(keys, DType::kFloat64, {"values", {777}, Filling::kSpecial}, false);
  }
  return cases;
}

Verdict VerifySortByKey(const Executed& executed) {
  using namespace sort_verifier;
  return WithType(executed.Input("keys").signature().dtype, [&](auto key) {
    return WithType(executed.Input("values").signature().dtype,
                    [&](auto value) { return VerifyPairs<decltype(key), decltype(value)>(executed); });
  });
}

}  // namespace hotplate::conformance
