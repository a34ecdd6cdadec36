#include "kernels/random/random.h"

#include <random>

#include "kernels/made_array.h"
#include "kernels/refused_param.h"
#include "kernels/spec.h"

namespace hotplate::random {
namespace {

// For the seed: one is drawn when the job is accepted.
constexpr std::int64_t kFresh = -1;

// Exact in a float64, which is what JSON's readers make of a number.
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
      return RefusedParam(call, name, "it is for --distribution integers, and distribution is " + distribution);
    }
  }
  if (integers && high <= low) {
    return RefusedParam(call, "high", "it must be above low, which is " + std::to_string(low));
  }
  constexpr std::int64_t kEnd = std::int64_t{1} << 31;  // of int32
  if (dtype == DType::kInt32 && low < -kEnd) return RefusedParam(call, "low", "int32 begins at -2147483648");
  if (dtype == DType::kInt32 && high > kEnd) return RefusedParam(call, "high", "int32 ends before 2147483648");
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
  KernelSpecBuilder builder("random", "random numbers: uniform, normal, or integers of a range");
  TakeSizes(builder)
      .Param({.name = "distribution",
              .type = ParamType::kChoice,
              .default_value = std::string("uniform"),
              .choices = {"uniform", "normal", "integers"},
              .docs = "uniform: [0, 1); normal: mean 0, deviation 1; integers: [low, high)"})
      .Param(DTypeParam("auto: int64 for integers, else float64", "auto"))
      .Param({.name = "seed",
              .type = ParamType::kInt,
              .default_value = kFresh,
              .minimum = kFresh,
              .docs = "of the sequence; -1: a fresh one for each job, which its receipt shows"})
      .Param(Limit("low", "of integers: the least"))
      .Param(Limit("high", "of integers: one more than the greatest"))
      .Output("out", "dtype", "..., n")
      .Docs(
          "Philox 4x32-10, the counter-based generator: an element depends on the seed and its place alone, not on the "
          "device or on how many threads made it, and a longer array begins with the shorter one. Without a seed each "
          "job takes a fresh one; its receipt shows it, and --seed with it repeats the numbers. Block b of four 32-bit "
          "words has the counter b (64 bits, then zeros) and the seed as its key. uniform: the upper 24 bits of a word "
          "(float32) or 53 of two (float64, the first is the lower half). integers: low + floor(r * (high - low) / "
          "2^64), r of two words; 2^128 and r of four where the range is above 2^32. normal: Box and Muller's "
          "transformation of two words (float32) or four (float64). The numbers are not those of numpy.random, and "
          "nothing for cryptography.")
      .CostModel("normal: 30 * n FLOP; n * sizeof(dtype) bytes", CostOf)
      .WorkBound(WorkBound)
      .Numerics(
          "the same bits for a seed on every device, at any number of threads; uniform: every multiple of 2^-24 or "
          "2^-53 alike; integers: no one preferred by more than a part of 2^32; normal: within 8 * 2^-24 or 8 * 2^-53, "
          "relative, of Box and Muller's exact values, at most 6.7 or 8.7 from 0")
      .Shapes(Shapes)
      .Example("hotplate run random --n 3000 --rows 3000 --distribution normal --dtype float32 --seed 7 -o x.npy");
  return builder;
}

}  // namespace hotplate::random
