// groupby_sum: keys, counts and sums of a map, floats in long double.
#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "tests/conformance/verifiers.h"

namespace hotplate::conformance {
namespace groupby_sum_verifier {

constexpr DType kKeys[] = {DType::kInt32, DType::kInt64};
constexpr DType kValues[] = {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kInt64};

// Of one key.
template <typename V>
struct Group {
  long double sum = 0, magnitude = 0;
  std::uint64_t wrapped = 0;
  std::int64_t count = 0;

  void Add(V value) {
    ++count;
    if constexpr (std::is_floating_point_v<V>) {
      sum += value;
      magnitude += std::fabs(static_cast<long double>(value));
    } else {
      wrapped += static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
    }
  }
};

template <typename V>
double ErrorOf(const Group<V>& group, V sum) {
  if (std::isnan(group.sum) || std::isinf(group.sum)) {
    return std::isnan(group.sum) ? (std::isnan(sum) ? 0 : 2) : (sum == group.sum ? 0 : 2);
  }
  long double bound = static_cast<long double>(group.count) * 0x1p-53L * group.magnitude;
  if (sizeof(V) == 4) bound += 0x1p-24L * std::fabs(group.sum) + std::numeric_limits<float>::denorm_min();
  const long double error = std::fabs(group.sum - sum);
  if (error == 0) return 0;
  return bound == 0 ? 2 : static_cast<double>(error / bound);
}

template <typename K, typename V>
Verdict Verify(const Executed& executed) {
  using Out = std::conditional_t<std::is_floating_point_v<V>, V, std::int64_t>;
  const auto keys = executed.Input("keys").Elements<K>(), unique_keys = executed.Output("unique_keys").Elements<K>();
  const auto values = executed.Input("values").Elements<V>();
  const auto sums = executed.Output("sums").Elements<Out>();
  const auto counts = executed.Output("counts").Elements<std::int64_t>();
  std::map<K, Group<V>> groups;
  for (std::size_t i = 0; i < keys.size(); ++i) groups[keys[i]].Add(values[i]);

  Verdict verdict;
  const bool sizes =
      unique_keys.size() == groups.size() && sums.size() == groups.size() && counts.size() == groups.size();
  verdict.Add(sizes ? 0 : 2, [&] {
    return std::to_string(groups.size()) + " keys, and not " + std::to_string(unique_keys.size()) + ", " +
           std::to_string(sums.size()) + " sums, " + std::to_string(counts.size()) + " counts";
  });
  if (!sizes) return verdict;
  std::size_t i = 0;
  for (const auto& [key, group] : groups) {
    double error = unique_keys[i] == key && counts[i] == group.count ? 0 : 2;
    if constexpr (std::is_floating_point_v<V>) {
      error = std::max(error, ErrorOf<V>(group, sums[i]));
    } else {
      error = std::max(error, sums[i] == static_cast<std::int64_t>(group.wrapped) ? 0.0 : 2.0);
    }
    verdict.Add(error, [&, key = key, count = group.count] {
      return "place " + std::to_string(i) + " has key " + std::to_string(unique_keys[i]) + ", count " +
             std::to_string(counts[i]) + ", sum " + std::to_string(sums[i]) + "; expected key " + std::to_string(key) +
             ", count " + std::to_string(count) + ", and its sum";
    });
    ++i;
  }
  return verdict;
}

// Keys from `low` to `high`, but that every `same`th is the least.
struct Keys {
  const char* name;
  std::int64_t n;
  double low, high;
  std::size_t same = 0;
};

constexpr double kWide32 = 2147483647, kWide64 = 9.2e18;

// Close together, and so with tables; further apart, sorted by 32 bits; and by 64. Shorter and longer than what one
// thread does; keys that go on for many blocks of rows.
std::vector<Keys> KeysOf(DType dtype) {
  std::vector<Keys> all = {{"empty", 0, 0, 1},
                           {"n1", 1, -7, -6},
                           {"one_key", 5000, 42, 42.5},
                           {"few_keys", 3001, -3, 4},
                           {"close", 9000, -500, 500},
                           {"apart", 5003, -kWide32, kWide32},
                           {"apart_mostly_one", 9001, -kWide32, kWide32, 2}};
  if (dtype == DType::kInt64) {
    all.push_back({"wide", 4999, -kWide64, kWide64});
    all.push_back({"wide_mostly_one", 9001, -kWide64, kWide64, 2});
  }
  return all;
}

TestArray MakeKeys(DType dtype, const Keys& one, std::mt19937_64& random) {
  TestArray keys({dtype, {one.n}});
  FillUniform(keys, one.low, one.high, random);
  WithType(dtype, [&](auto zero) {
    using K = decltype(zero);
    for (std::size_t i = 0; one.same != 0 && i < keys.size(); ++i) {
      if (i % one.same != 0) keys.Elements<K>()[i] = static_cast<K>(one.low);
    }
  });
  return keys;
}

enum class Values { kUsual, kSpecial, kWrapping };

TestArray MakeValues(DType dtype, std::int64_t n, Values kind, std::mt19937_64& random) {
  TestArray values({dtype, {n}});
  const bool wide = kind == Values::kWrapping;
  FillUniform(values, wide ? -9e18 : -1000, wide ? 9e18 : 1000, random);
  WithType(dtype, [&](auto zero) {
    using V = decltype(zero);
    if constexpr (std::is_floating_point_v<V>) {
      constexpr V kInfinity = std::numeric_limits<V>::infinity();
      constexpr V kSpecial[] = {kInfinity, -kInfinity, std::numeric_limits<V>::quiet_NaN(), V(-0.0),
                                std::numeric_limits<V>::denorm_min()};
      for (std::size_t i = 0; kind == Values::kSpecial && i < values.size(); i += 97) {
        values.Elements<V>()[i] = kSpecial[i / 97 % std::size(kSpecial)];
      }
    }
  });
  return values;
}

}  // namespace groupby_sum_verifier

std::vector<Case> GroupbySumCases() {
  using namespace groupby_sum_verifier;
  std::vector<Case> cases;
  const auto add = [&](DType keys, DType values, const Keys& one, Values kind, const std::string& suffix) {
    cases.push_back({.name = std::string(Name(keys)) + "_" + std::string(Name(values)) + "_" + one.name + suffix,
                     .params = {},
                     .inputs = [=](std::mt19937_64& random) {
                       return std::map<std::string, TestArray>{{"keys", MakeKeys(keys, one, random)},
                                                               {"values", MakeValues(values, one.n, kind, random)}};
                     }});
  };
  for (const DType keys : kKeys) {
    for (const DType values : kValues) {
      for (const Keys& one : KeysOf(keys)) add(keys, values, one, Values::kUsual, "");
    }
    for (const DType values : {DType::kFloat32, DType::kFloat64}) {
      add(keys, values, {"close", 9000, -500, 500}, Values::kSpecial, "_special");
      add(keys, values, {"apart_mostly_one", 9001, -kWide32, kWide32, 2}, Values::kSpecial, "_special");
    }
    add(keys, DType::kInt64, {"close", 9000, -5, 5}, Values::kWrapping, "_wrapping");
    add(keys, DType::kInt64, {"apart_mostly_one", 9001, -kWide32, kWide32, 2}, Values::kWrapping, "_wrapping");
  }
  add(DType::kInt32, DType::kFloat32, {"long_apart", 140'001, -kWide32, kWide32, 3}, Values::kUsual, "");
  add(DType::kInt64, DType::kFloat32, {"long_wide", 140'001, -kWide64, kWide64, 3}, Values::kUsual, "");
  add(DType::kInt32, DType::kFloat64, {"long_close", 150'001, -20, 20}, Values::kUsual, "");
  return cases;
}

Verdict VerifyGroupbySum(const Executed& executed) {
  using namespace groupby_sum_verifier;
  const DType values = executed.Input("values").signature().dtype;
  const bool wide = executed.Input("keys").signature().dtype == DType::kInt64;
  return WithType(values, [&](auto zero) {
    using V = decltype(zero);
    return wide ? Verify<std::int64_t, V>(executed) : Verify<std::int32_t, V>(executed);
  });
}

}  // namespace hotplate::conformance
