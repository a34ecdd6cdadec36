// The data are cut into pieces, each counted in a row of its own; the rows are added up at the end.
#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/call/for_type.h"
#include "kernels/catalogue/histogram/histogram.h"
#include "kernels/catalogue/histogram/histogram_functor.h"
#include "kernels/devices/cpu/cpu_context.h"
#include "kernels/devices/cpu/multiversion.h"
#include "kernels/devices/device.h"
#include "kernels/spec/spec.h"

namespace hotplate::histogram {
namespace {

// Most pieces; fewer if their rows would take more than kMostCounts together. Below kSerialBelow elements one thread is
// as fast as waking others.
constexpr std::size_t kMostPieces = 64, kMostCounts = std::size_t{1} << 22, kSerialBelow = 32'768;

std::size_t PiecesFor(std::size_t elements, std::size_t bins) {
  if (elements < kSerialBelow) return 1;
  return std::clamp<std::size_t>(kMostCounts / bins, 1, kMostPieces);
}

// Counts in a row: one for each bin, and one for elements outside of all bins.
constexpr std::size_t RowOf(std::size_t bins) { return bins + 1; }

// A NaN or an infinity spoils the sum of x - x, which is 0 for all other numbers.
template <typename T>
HOTPLATE_INLINE Extremes LoopExtremes(const T* __restrict x, std::size_t count) {
  T least = x[0], greatest = x[0], zero = 0;
#pragma omp simd reduction(min : least) reduction(max : greatest) reduction(+ : zero)
  for (std::size_t i = 0; i < count; ++i) {
    least = x[i] < least ? x[i] : least;
    greatest = x[i] > greatest ? x[i] : greatest;
    zero += x[i] - x[i];
  }
  Extremes found;
  found.least = static_cast<double>(least);
  found.greatest = static_cast<double>(greatest);
  found.finite = zero == 0 ? 1 : 0;
  return found;
}

HOTPLATE_MULTIVERSION Extremes ExtremesOf(const float* x, std::size_t count) { return LoopExtremes(x, count); }
HOTPLATE_MULTIVERSION Extremes ExtremesOf(const double* x, std::size_t count) { return LoopExtremes(x, count); }
HOTPLATE_MULTIVERSION Extremes ExtremesOf(const std::int32_t* x, std::size_t count) { return LoopExtremes(x, count); }
HOTPLATE_MULTIVERSION Extremes ExtremesOf(const std::int64_t* x, std::size_t count) { return LoopExtremes(x, count); }

// Elements whose bins are found together.
constexpr std::size_t kTogether = 128;

// Their bins, as by Bins::Of; elements outside of all bins get the number after the last. False if rounding missed one.
template <typename T, typename F>
HOTPLATE_MULTIVERSION bool FindTogether(const Bins<F>& bins, const F* __restrict edge, const T* __restrict x,
                                        std::int32_t* __restrict found) {
  const double low = bins.low, per_unit = bins.per_unit, last = static_cast<double>(bins.count - 1);
  const auto last_bin = static_cast<std::int32_t>(bins.count - 1);
  const F least = edge[0], greatest = edge[bins.count];
  int missed = 0;
#pragma omp simd reduction(+ : missed)
  for (std::size_t i = 0; i < kTogether; ++i) {
    const F value = static_cast<F>(x[i]);
    double place = (static_cast<double>(value) - low) * per_unit;
    place = place > 0 ? place : 0;
    place = place < last ? place : last;
    const auto bin = static_cast<std::int32_t>(place);
    const F above = edge[bin + 1];
    const bool inside = (value >= least) & (value <= greatest);
    const bool below_next = (value < above) | ((bin == last_bin) & (value == above));
    missed += inside & !((value >= edge[bin]) & below_next);
    found[i] = inside ? bin : last_bin + 1;
  }
  return missed == 0;
}

template <typename T, typename F>
void CountEach(const Bins<F>& bins, const F* edges, const T* x, const T* end, std::int64_t* row) {
  for (; x != end; ++x) {
    const std::int64_t bin = bins.Of(static_cast<F>(*x), edges);
    if (bin >= 0) ++row[bin];
  }
}

// `row` has RowOf(bins.count) numbers.
template <typename T, typename F>
void CountPiece(const Bins<F>& bins, const F* edges, const T* x, std::size_t count, std::int64_t* row) {
  std::fill_n(row, RowOf(static_cast<std::size_t>(bins.count)), 0);
  const T* const end = x + count;
  std::int32_t found[kTogether];
  int in_vain = 0;  // the last ones: data that lie on edges are missed again and again
  for (; static_cast<std::size_t>(end - x) >= kTogether && bins.count < INT32_MAX && in_vain < 8; x += kTogether) {
    if (FindTogether(bins, edges, x, found)) {
      in_vain = 0;
      for (const std::int32_t bin : found) ++row[bin];
    } else {
      ++in_vain;
      CountEach(bins, edges, x, x + kTogether, row);
    }
  }
  CountEach(bins, edges, x, end, row);
}

template <typename T, typename F>
Outcome Run(const Call& call, CpuContext& context) {
  const std::span<const T> x = call.Input<T>("x");
  const std::span<std::int64_t> counts = call.Output<std::int64_t>("counts");
  F* const edges = call.Output<F>("edges").data();
  const std::size_t pieces = PiecesFor(x.size(), counts.size()),
                    piece = std::max<std::size_t>(1, (x.size() + pieces - 1) / pieces);

  Wanted wanted{call.Choice("range") == "given", call.Float("low"), call.Float("high"), call.Int("bins")};
  Extremes extremes;
  CpuContext::Part part;
  if (!wanted.given) {
    std::array<Extremes, kMostPieces> found;
    const auto look = [&](std::size_t begin, std::size_t end) {
      found[begin / piece] = ExtremesOf(x.data() + begin, end - begin);
    };
    if (!context.ParallelChunks(x.size(), piece, look, part.Step(0, 2))) return Outcome::Cancelled();
    part = part.Step(1, 2);
    for (const Extremes& one : found) extremes.Add(one);
  }
  switch (RangeOf(extremes, x.empty(), wanted)) {
    case kHasNotFinite:
      return Outcome::Invalid(kNotFinite);
    case kIsTooWide:
      return Outcome::Invalid(kTooWide);
    case kGood:
      break;
  }
  const Bins<F> bins(wanted.low, wanted.high, wanted.bins);
  for (std::size_t i = 0; i <= counts.size(); ++i) edges[i] = bins.edges(i);

  const std::size_t width = RowOf(counts.size());
  std::int64_t* const rows = reinterpret_cast<std::int64_t*>(call.scratch().data());
  const auto count = [&](std::size_t begin, std::size_t end) {
    CountPiece(bins, edges, x.data() + begin, end - begin, rows + begin / piece * width);
  };
  if (!context.ParallelChunks(x.size(), piece, count, part)) return Outcome::Cancelled();
  std::fill(counts.begin(), counts.end(), 0);
  for (std::size_t row = 0; row * piece < x.size(); ++row) {
    for (std::size_t bin = 0; bin < counts.size(); ++bin) counts[bin] += rows[row * width + bin];
  }
  return Outcome::Ok();
}

}  // namespace

MemoryPlan PlanCpu(const BoundCall& call) {
  const std::size_t bins = static_cast<std::size_t>(call.Int("bins"));
  return {.scratch_bytes = PiecesFor(*ElementCount(call.Input("x").shape), bins) * RowOf(bins) * sizeof(std::int64_t)};
}

Outcome RunCpu(const Call& call, CpuContext& context) {
  return ForType<float, double, std::int32_t, std::int64_t>(
      "histogram", call.InputType("x"), [&]<typename T>() { return Run<T, FloatFor<T>>(call, context); });
}

}  // namespace hotplate::histogram
