#include "kernels/catalogue/random/random.h"

#include <random>

#include "kernels/families/made_array.h"
#include "kernels/spec/refused_param.h"
#include "kernels/spec/spec.h"

namespace hotplate::random {
namespace {

// The seed of a call without one, until a seed is drawn when the job is accepted. Nobody can give it.
constexpr std::int64_t kFresh = -1;

// Exact in a float64, as which JSON readers parse a number.
constexpr int kDrawnBits = 53;

std::int64_t DrawnSeed() {
  std::random_device device;  // 32 bits of the system's
  const std::uint64_t bits = std::uint64_t{device()} << 32 | device();
  return static_cast<std::int64_t>(bits >> (64 - kDrawnBits));
}

absl::Status Shapes(BoundCall& call) {
  const std::string& distribution = call.Choice("distribution");
  const std::int64_t low = call.Int("low"), high = call.Int("high");
  const bool integers = distribution == "integers";
  DType& dtype = call.outputs.front().dtype;
  if (call.Choice("dtype") == "auto") dtype = integers ? DType::kInt64 : DType::kFloat64;
  if (IsInteger(dtype) != integers) {
    return RefusedParam(call, "dtype",
                        distribution + " makes " +
                            (integers ? "int32 or int64; floats: --distribution uniform or normal"
                                      : "float32 or float64; integers: --distribution integers"));
  }
  for (const char* name : {"low", "high"}) {
    if (!integers && call.Int(name) != 0) {
      return RefusedParam(call, name, "it applies only with --distribution integers; distribution is " + distribution);
    }
  }
  if (integers && high <= low) {
    return RefusedParam(call, "high", "it must be above low, which is " + std::to_string(low));
  }
  constexpr std::int64_t kEnd = std::int64_t{1} << 31;  // of int32
  if (dtype == DType::kInt32 && low < -kEnd) return RefusedParam(call, "low", "the smallest int32 is -2147483648");
  if (dtype == DType::kInt32 && high > kEnd)
    return RefusedParam(call, "high", "the largest int32 is 2147483647, so high may be at most 2147483648");
  for (std::size_t i = 0; i < call.params.size(); ++i) {
    if (call.spec->params()[i].name == "seed" && call.params[i] == ParamValue(kFresh)) call.params[i] = DrawnSeed();
  }
  return ShapeBySizes(call);
}

// A block of Philox is 10 rounds of 8 operations, 2 or 4 elements; a normal number takes 30 more.
Cost CostOf(const BoundCall& call) {
  const double flop = call.Choice("distribution") == "normal" ? 30 : 0;
  return {.flop = flop * ElementsOf(call), .bytes = static_cast<double>(call.OutputBytes())};
}

double WorkBound(const BoundCall& call) { return 100 * ElementsOf(call); }

ParamSpec Limit(const char* name, const char* docs) {
  return {.name = name, .type = ParamType::kInt, .default_value = std::int64_t{0}, .docs = docs};
}

}  // namespace

KernelSpecBuilder Spec() {
  KernelSpecBuilder builder("random", "random numbers: uniform, normal, or integers in a range");
  TakeSizes(builder)
      .Param({.name = "distribution",
              .type = ParamType::kChoice,
              .default_value = std::string("uniform"),
              .choices = {"uniform", "normal", "integers"},
              .docs = "uniform: [0, 1); normal: mean 0, standard deviation 1; integers: [low, high)"})
      .Param(DTypeParam("auto: int64 for integers, else float64", "auto"))
      .Param({.name = "seed",
              .type = ParamType::kInt,
              .default_value = kFresh,
              .default_text = "a fresh one",
              .minimum = 0,
              .docs = "seed of the sequence; the receipt shows it"})
      .Param(Limit("low", "smallest integer (with integers)"))
      .Param(Limit("high", "one more than the largest integer (with integers)"))
      .Output("out", "dtype", "..., n")
      .Docs(
          "Philox 4x32-10, a counter-based generator. Each element depends only on the seed and its position, not on "
          "the device or the number of threads; a longer array begins with the shorter one. Without a seed, each job "
          "takes a fresh one and shows it in its receipt; the same seed repeats the numbers. Block b of four 32-bit "
          "words has the counter b (64 bits, then zeros) and the seed as its key. uniform uses the upper 24 bits of "
          "one word (float32) or 53 bits of two (float64; the first word is the lower half). integers: low + floor(r * "
          "(high - low) / 2^64) with r made of two words; if the range exceeds 2^32, 2^128 and r made of four. normal: "
          "the Box-Muller transform of two words (float32) or four (float64). The numbers differ from those of "
          "numpy.random and are not cryptographically secure.")
      .CostModel("normal: 30 * n FLOP; n * sizeof(dtype) bytes", CostOf)
      .WorkBound(WorkBound)
      .Numerics(
          "the same bits for a seed on every device and with any number of threads; uniform: every multiple of 2^-24 "
          "(float32) or 2^-53 (float64) with equal probability; integers: each with equal probability to within 2^-32; "
          "normal: within a relative 8 * 2^-24 or 8 * 2^-53 of the exact Box-Muller values, which are at most 6.7 or "
          "8.7 from 0")
      .Shapes(Shapes)
      .Example("hotplate run random --n 3000 --rows 3000 --distribution normal --dtype float32 --seed 7 -o x.npy");
  return builder;
}

}  // namespace hotplate::random
