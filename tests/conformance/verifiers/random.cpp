// The words from Random123, the generators' own reference implementation, which must give their published vectors; what
// words become in integers of 128 bits or in long double; and of the large cases that the numbers are as likely as they
// should be: sums and counts within 5 standard deviations, which a fixed seed keeps or does not.
#include <Random123/philox.h>

#include <array>
#include <cmath>
#include <numbers>

#include "tests/conformance/verifiers.h"

namespace hotplate::conformance {
namespace random_verifier {

using Generator = r123::Philox4x32_R<10>;
using Integer = unsigned __int128;

constexpr double kBound = 8;  // of 2^-24 or 2^-53: a normal number

std::array<std::uint32_t, 4> Block(std::uint64_t seed, std::uint64_t block) {
  const Generator::ctr_type counter = {
      {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), 0, 0}};
  const Generator::key_type key = {{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}};
  const Generator::ctr_type words = Generator()(counter, key);
  return {words[0], words[1], words[2], words[3]};
}

// Random123's kat_vectors: counter, key, words.
bool ReferenceIsRight() {
  constexpr std::uint32_t kAll = 0xffffffff;
  const auto gives = [](Generator::ctr_type counter, Generator::key_type key, Generator::ctr_type words) {
    return Generator()(counter, key) == words;
  };
  return gives({{0, 0, 0, 0}}, {{0, 0}}, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}) &&
         gives({{kAll, kAll, kAll, kAll}}, {{kAll, kAll}}, {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}) &&
         gives({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, {{0xa4093822, 0x299f31d0}},
               {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}});
}

std::uint64_t Joined(std::uint32_t low, std::uint32_t high) { return std::uint64_t{high} << 32 | low; }

// Element `index` of integers from low, `range` of them.
std::int64_t IntegerAt(std::uint64_t seed, std::uint64_t index, std::int64_t low, std::uint64_t range) {
  std::uint64_t scaled;
  if (range <= std::uint64_t{1} << 32) {
    const auto words = Block(seed, index / 2);
    const std::size_t first = index % 2 * 2;
    scaled = static_cast<std::uint64_t>(Integer{Joined(words[first], words[first + 1])} * range >> 64);
  } else {
    const auto words = Block(seed, index);
    const Integer lower = Integer{Joined(words[0], words[1])} * range,
                  upper = Integer{Joined(words[2], words[3])} * range;
    scaled = static_cast<std::uint64_t>((upper + (lower >> 64)) >> 64);
  }
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + scaled);
}

template <typename T>
T UniformAt(std::uint64_t seed, std::uint64_t index) {
  if constexpr (std::is_same_v<T, float>) {
    return static_cast<float>(Block(seed, index / 4)[index % 4] >> 8) / 16'777'216.0f;
  } else {
    const auto words = Block(seed, index / 2);
    const std::size_t first = index % 2 * 2;
    return std::ldexp(static_cast<double>(Joined(words[first], words[first + 1]) >> 11), -53);
  }
}

template <typename T>
long double NormalAt(std::uint64_t seed, std::uint64_t index) {
  long double u, turns;
  const auto words = Block(seed, index / (std::is_same_v<T, float> ? 4 : 2));
  if constexpr (std::is_same_v<T, float>) {
    const std::size_t pair = index % 4 / 2 * 2;
    const float rounded = static_cast<float>(words[pair] >> 1);
    u = static_cast<float>(std::ldexp(static_cast<double>(rounded), -31) + std::ldexp(1.0, -32));
    turns = std::ldexp(static_cast<long double>(words[pair + 1]), -32);
  } else {
    u = static_cast<double>(std::ldexp(static_cast<long double>(Joined(words[0], words[1]) >> 11), -53) +
                            std::ldexp(1.0L, -54));
    turns = std::ldexp(static_cast<long double>(Joined(words[2], words[3]) >> 1), -63);
  }
  // In the nearest eighth of a turn, where a sine near 0 keeps its figures.
  const long double quarter = std::nearbyint(4 * turns),
                    angle = (4 * turns - quarter) * std::numbers::pi_v<long double> / 2;
  const long double sine = std::sin(angle), cosine = std::cos(angle), radius = std::sqrt(-2 * std::log(u));
  const int turned = static_cast<int>(quarter) % 4;
  const std::array<long double, 4> sines = {sine, cosine, -sine, -cosine}, cosines = {cosine, -sine, -cosine, sine};
  const std::size_t at = static_cast<std::size_t>(turned);
  return radius * (index % 2 == 0 ? cosines[at] : sines[at]);
}

// Of numbers that should have this mean and this variance, and their fourth central moment.
template <typename T>
void CheckMoments(std::span<const T> all, double mean, double variance, double fourth, Verdict& verdict) {
  const double n = static_cast<double>(all.size());
  double sum = 0, squares = 0, product = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double from_mean = static_cast<double>(all[i]) - mean;
    sum += from_mean;
    squares += from_mean * from_mean;
    if (i > 0) product += from_mean * (static_cast<double>(all[i - 1]) - mean);
  }
  const double deviations[] = {sum / std::sqrt(n * variance),
                               (squares - n * variance) / std::sqrt(n * (fourth - variance * variance)),
                               product / std::sqrt(n * variance * variance)};
  for (const double deviation : deviations) {
    verdict.Add(std::fabs(deviation) / 5, [&] {
      return "the sum, the squares' or that of neighbours' products is off by standard deviations: " +
             std::to_string(deviations[0]) + ", " + std::to_string(deviations[1]) + ", " +
             std::to_string(deviations[2]);
    });
  }
}

// Pearson's test of `cells` that should be equally likely.
void CheckCounts(const std::vector<std::size_t>& counts, Verdict& verdict) {
  double all = 0, chi_squared = 0;
  for (const std::size_t count : counts) all += static_cast<double>(count);
  const double expected = all / static_cast<double>(counts.size()), freedom = static_cast<double>(counts.size()) - 1;
  for (const std::size_t count : counts) {
    const double off = static_cast<double>(count) - expected;
    chi_squared += off * off / expected;
  }
  verdict.Add(std::fabs(chi_squared - freedom) / std::sqrt(2 * freedom) / 5,
              [&] { return "chi squared is " + std::to_string(chi_squared) + " of " + std::to_string(freedom); });
}

constexpr std::size_t kEnough = 50'000;  // numbers to judge a distribution by

template <typename T>
void VerifyUniform(std::span<const T> all, std::uint64_t seed, Verdict& verdict) {
  std::vector<std::size_t> counts(100);
  for (std::size_t i = 0; i < all.size(); ++i) {
    verdict.Add(all[i] == UniformAt<T>(seed, i) ? 0 : 2, [&] {
      return "out[" + std::to_string(i) + "] = " + std::to_string(all[i]) + " instead of " +
             std::to_string(UniformAt<T>(seed, i));
    });
    if (!(all[i] >= 0 && all[i] < 1)) return verdict.Add(2, [] { return "not in [0, 1)"; });
    ++counts[static_cast<std::size_t>(static_cast<double>(all[i]) * 100)];
  }
  if (all.size() < kEnough) return;
  CheckMoments(all, 0.5, 1.0 / 12, 1.0 / 80, verdict);
  CheckCounts(counts, verdict);
}

// Of these normal numbers every bit is on record: what devices have in common is more than that each is near enough.
constexpr std::size_t kRecorded = 200'003;
constexpr std::uint64_t kRecordedSeed = 20'240'501;

template <typename T>
void VerifyNormal(std::span<const T> all, std::uint64_t seed, Verdict& verdict) {
  const long double unit = std::is_same_v<T, float> ? 0x1p-24L : 0x1p-53L;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const long double exact = NormalAt<T>(seed, i);
    verdict.Add(static_cast<double>(std::fabs(all[i] - exact) / (kBound * unit * std::fabs(exact) + 1e-300L)), [&] {
      return "out[" + std::to_string(i) + "] = " + std::to_string(all[i]) + " instead of " + std::to_string(exact);
    });
  }
  if (all.size() >= kEnough) CheckMoments(all, 0, 1, 3, verdict);
  if (all.size() != kRecorded || seed != kRecordedSeed) return;
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const std::byte byte : std::as_bytes(all)) hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3;
  verdict.Add(hash == (std::is_same_v<T, float> ? 0x20e9be8b3b80261d : 0x8c11407fa8f4ad21) ? 0 : 2,
              [] { return "not the bits that other devices have"; });
}

template <typename T>
void VerifyIntegers(std::span<const T> all, std::uint64_t seed, std::int64_t low, std::int64_t high, Verdict& verdict) {
  const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  std::vector<std::size_t> counts(range <= 1000 ? range : 0);
  for (std::size_t i = 0; i < all.size(); ++i) {
    verdict.Add(all[i] == IntegerAt(seed, i, low, range) ? 0 : 2, [&] {
      return "out[" + std::to_string(i) + "] = " + std::to_string(all[i]) + " instead of " +
             std::to_string(IntegerAt(seed, i, low, range));
    });
    if (all[i] < low || all[i] >= high) return verdict.Add(2, [] { return "not in [low, high)"; });
    if (!counts.empty()) ++counts[static_cast<std::size_t>(all[i] - low)];
  }
  if (all.size() < kEnough) return;
  const double width = static_cast<double>(range), middle = static_cast<double>(low) + (width - 1) / 2;
  CheckMoments(all, middle, (width * width - 1) / 12, (width * width - 1) * (3 * width * width - 7) / 240, verdict);
  if (counts.size() > 1) CheckCounts(counts, verdict);
}

}  // namespace random_verifier

std::vector<Case> RandomCases() {
  using namespace random_verifier;
  std::vector<Case> cases;
  const auto add = [&](const std::string& name, std::map<std::string, ParamValue> params) {
    cases.push_back({.name = name, .params = std::move(params), .inputs = [](std::mt19937_64&) {
                       return std::map<std::string, TestArray>{};
                     }});
  };
  const std::pair<const char*, const char*> kinds[] = {{"uniform", "float32"}, {"uniform", "float64"},
                                                       {"normal", "float32"},  {"normal", "float64"},
                                                       {"integers", "int32"},  {"integers", "int64"}};
  for (const auto& kind : kinds) {
    const std::string distribution = kind.first, dtype = kind.second;
    const auto of = [&](const std::string& name, std::int64_t n, std::map<std::string, ParamValue> params) {
      params.insert({{"n", n}, {"distribution", distribution}, {"dtype", dtype}});
      if (distribution == "integers") {
        params.emplace("low", std::int64_t{-5});
        params.emplace("high", std::int64_t{95});
      }
      add(distribution + "_" + dtype + "_" + name, std::move(params));
    };
    for (const std::int64_t n : {0, 1, 2, 3, 4, 5, 33, 1000, 4099}) {
      of("n" + std::to_string(n), n, {{"seed", std::int64_t{n}}});
    }
    of("batch", 11, {{"rows", std::int64_t{7}}, {"batch", std::int64_t{3}}, {"seed", std::int64_t{0}}});
    of("largest_seed", 100, {{"seed", std::numeric_limits<std::int64_t>::max()}});
    of("seed_of_33_bits", 100, {{"seed", std::int64_t{0x1'0000'0001}}});
    of("recorded", kRecorded, {{"seed", static_cast<std::int64_t>(kRecordedSeed)}});
  }
  const auto integers = [&](const std::string& name, const char* dtype, std::int64_t low, std::int64_t high) {
    add("integers_" + std::string(dtype) + "_" + name, {{"n", std::int64_t{3001}},
                                                        {"distribution", std::string("integers")},
                                                        {"dtype", std::string(dtype)},
                                                        {"low", low},
                                                        {"high", high},
                                                        {"seed", std::int64_t{3}}});
  };
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max(),
                         kLeast = std::numeric_limits<std::int64_t>::min();
  integers("only_one", "int32", 7, 8);
  integers("all", "int32", -2147483648ll, 2147483648ll);
  integers("only_one", "int64", kLeast, kLeast + 1);
  integers("two_to_32", "int64", 10, 10 + (1ll << 32));
  integers("more_than_32_bits", "int64", 10, 11 + (1ll << 32));
  integers("nearly_all", "int64", kLeast, kMost);
  integers("three_quarters", "int64", kLeast / 4 * 3, kMost / 4 * 3);
  add("integers_by_default_int64", {{"n", std::int64_t{5}},
                                    {"distribution", std::string("integers")},
                                    {"high", std::int64_t{6}},
                                    {"seed", std::int64_t{0}}});
  add("uniform_by_default_float64", {{"n", std::int64_t{5}}, {"seed", std::int64_t{0}}});
  add("uniform_larger_than_caches",
      {{"n", std::int64_t{8'400'123}}, {"dtype", std::string("float32")}, {"seed", std::int64_t{0}}});
  return cases;
}

Verdict VerifyRandom(const Executed& executed) {
  using namespace random_verifier;
  const BoundCall& call = executed.call;
  const TestArray& out = executed.Output("out");
  const std::uint64_t seed = static_cast<std::uint64_t>(call.Int("seed"));
  const std::string& distribution = call.Choice("distribution");
  Verdict verdict;
  verdict.Add(ReferenceIsRight() ? 0 : 2, [] { return "Random123 does not give its published vectors"; });
  const std::string expected = call.Choice("dtype") != "auto" ? call.Choice("dtype")
                               : distribution == "integers"   ? "int64"
                                                              : "float64";
  verdict.Add(Name(out.signature().dtype) == expected ? 0 : 2, [&] { return "it is " + ToString(out.signature()); });
  WithType(out.signature().dtype, [&](auto zero) {
    using T = decltype(zero);
    const std::span<const T> all = out.Elements<T>();
    if constexpr (std::is_integral_v<T>) {
      VerifyIntegers(all, seed, call.Int("low"), call.Int("high"), verdict);
    } else if (distribution == "uniform") {
      VerifyUniform(all, seed, verdict);
    } else {
      VerifyNormal(all, seed, verdict);
    }
  });
  return verdict;
}

}  // namespace hotplate::conformance
