// How CUDA kernels cut their work into launches, tiles, slices and chunks, checked on the host.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include "kernels/array/shape.h"
#include "kernels/catalogue/integrate2d/integrate2d_cuda.h"
#include "kernels/catalogue/integrate2d/integrate2d_functor.h"
#include "kernels/catalogue/mandelbrot/mandelbrot_cuda.h"
#include "kernels/catalogue/matmul/matmul_cuda.h"
#include "kernels/catalogue/trig_identity/sine_cosine.h"
#include "kernels/devices/cuda/code/grid.h"
#include "kernels/devices/cuda/code/reduction_plan.h"
#include "kernels/devices/cuda/code/traits.h"

namespace hotplate {
namespace {

// A large device and a small one, roughly an H100's and a T4's rates.
const CudaTraits kLarge{.compute_major = 9,
                        .compute_minor = 0,
                        .multiprocessors = 132,
                        .cycles_per_ms = 1.9e6,
                        .float_operations_per_ms = 64 * 132 * 1.9e6,
                        .double_operations_per_ms = 32 * 132 * 1.9e6};
const CudaTraits kSmall{.compute_major = 7,
                        .compute_minor = 5,
                        .multiprocessors = 40,
                        .cycles_per_ms = 1.5e6,
                        .float_operations_per_ms = 64 * 40 * 1.5e6,
                        .double_operations_per_ms = 2 * 40 * 1.5e6};

TEST(Grid, CoversEveryElementAndIsNeverEmpty) {
  EXPECT_EQ(GridFor(0), 1u);
  EXPECT_EQ(GridFor(1), 1u);
  EXPECT_EQ(GridFor(256), 1u);
  EXPECT_EQ(GridFor(257), 2u);
  EXPECT_EQ(GridFor(1025, 4), 2u);
  EXPECT_EQ(GridFor(17, 1, 16), 2u);
  EXPECT_EQ(GridFor(UINT64_MAX), kMaxGrid);
  EXPECT_EQ(CeilDiv(UINT64_MAX, 2), std::uint64_t{1} << 63);
}

TEST(Chunks, CoverTheWholeInOrder) {
  for (const std::uint64_t total : {0, 1, 2, 99, 100, 101, 1000}) {
    for (const std::uint64_t size : {1, 3, 100, 5000}) {
      const Chunks chunks{total, size};
      std::uint64_t next = 0;
      for (std::uint64_t i = 0; i < chunks.count(); ++i) {
        EXPECT_EQ(chunks.Begin(i), next);
        EXPECT_GT(chunks.End(i), next);
        EXPECT_LE(chunks.End(i) - next, size);
        next = chunks.End(i);
      }
      EXPECT_EQ(next, total);
    }
  }
  const Chunks huge{UINT64_MAX, UINT64_MAX - 1};
  EXPECT_EQ(huge.count(), 2u);
  EXPECT_EQ(huge.End(1), UINT64_MAX);
}

TEST(Chunks, KeepToTheBound) {
  // 100 units an item and 1000 units a millisecond: 10 items a millisecond.
  EXPECT_EQ(ChunksWithin(10'000, 100, 1000, 30, 1).size, 300u);
  EXPECT_EQ(ChunksWithin(10'000, 1e30, 1000, 30, 1).size, 1u) << "an item is never cut";
  EXPECT_EQ(ChunksWithin(10'000, 100, 1000, 30, 512).size, 512u) << "the floor keeps the device busy";
  EXPECT_GE(ChunksWithin(10'000, 0, 1e300, 30, 1).size, 10'000u);
  EXPECT_EQ(ChunksWithin(0, 100, 1000, 30, 1).count(), 0u);
}

TEST(ArenaOffsets, AreAlignedAndDisjoint) {
  Arena arena;
  std::uint64_t offset = 1;
  ASSERT_TRUE(arena.Add(1, &offset));
  EXPECT_EQ(offset, 0u);
  ASSERT_TRUE(arena.Add(0, &offset));
  EXPECT_EQ(offset, 256u);
  ASSERT_TRUE(arena.Add(257, &offset));
  EXPECT_EQ(offset, 256u);
  EXPECT_EQ(arena.bytes(), 768u);
  EXPECT_FALSE(arena.Add(UINT64_MAX, &offset));
  EXPECT_FALSE(arena.Add(UINT64_MAX - 700, &offset));
  EXPECT_EQ(arena.bytes(), 768u) << "a part that does not fit takes nothing";
}

TEST(Integrate2dSine, IsWithinItsBound) {
  constexpr int kPoints = 2'000'000;
  double worst = 0, worst_reduced = 0;
  for (int i = 0; i <= kPoints; ++i) {
    const auto s = static_cast<float>(-2 + 4.0 * i / kPoints);
    const double sine = std::sin(std::numbers::pi * s);
    worst = std::max(worst, std::abs(integrate2d::Sine(s, integrate2d::Reduce()) - sine));
    if (std::abs(s) <= integrate2d::kReach) {
      worst_reduced = std::max(worst_reduced, std::abs(integrate2d::Sine(s, integrate2d::IsReduced()) - sine));
    }
  }
  EXPECT_LT(worst, 2e-7);
  EXPECT_LT(worst_reduced, 2e-7);
  EXPECT_EQ(integrate2d::Sine(0, integrate2d::Reduce()), 0);
}

// Tiles anywhere on the circle: where one says that its half turn is shared, every point's sine is right by it.
TEST(Integrate2dHalfTurn, IsSharedOnlyWhereItHolds) {
  constexpr std::int64_t n = 8192, kX = integrate2d::kTileX, kY = integrate2d::kTileY;
  constexpr double kWidth = 6.5;  // once round
  int shared = 0, tiles = 0;
  for (const double x_min : {-9.5, -3.0, 0.1, 2.7}) {
    for (const double y_width : {kWidth, -kWidth}) {
      ASSERT_TRUE(integrate2d::Narrow(n, x_min, x_min + kWidth, 1, 1 + y_width));
      for (std::int64_t x0 = 0; x0 < n; x0 += kX) {
        for (std::int64_t y0 = 0; y0 < n; y0 += kY) {
          const auto x_of = [&](std::int64_t i) { return integrate2d::HalfTurns(i, n, x_min, x_min + kWidth); };
          const auto y_of = [&](std::int64_t j) { return integrate2d::HalfTurns(j, n, 1, 1 + y_width); };
          const auto turn = integrate2d::HalfTurnOf(x_of(x0), x_of(x0 + kX - 1), y_of(y0), y_of(y0 + kY - 1), true);
          ++tiles;
          shared += turn.shared;
          if (!turn.shared) continue;
          for (const std::int64_t i : {x0, x0 + 1, x0 + 100, x0 + kX - 1}) {
            for (const std::int64_t j : {y0, y0 + 77, y0 + kY - 2, y0 + kY - 1}) {
              const double exact = std::sin(x_min + (i + 0.5) * kWidth / n + 1 + (j + 0.5) * y_width / n);
              const float s = turn.OfX(x_of(i)) + turn.OfY(y_of(j));
              ASSERT_LE(std::abs(s), integrate2d::kReach);
              ASSERT_NEAR(integrate2d::Sine(s, integrate2d::IsReduced()), exact, 6e-7) << i << ", " << j;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(shared, tiles / 4);
  EXPECT_LT(shared, tiles);
  EXPECT_FALSE(integrate2d::HalfTurnOf(0, 0.1f, 0, 0.1f, false).shared) << "a tile that may go round";
}

TEST(Integrate2dTiles, HoldEveryPointOnce) {
  for (const std::uint64_t n : {1, 255, 256, 257, 511, 512, 513, 700}) {
    const integrate2d::Tiles tiles{n};
    std::vector<int> seen(n * n);
    for (std::uint64_t tile = 0; tile < tiles.count(); ++tile) {
      for (std::uint64_t x = tiles.FirstX(tile); x < tiles.FirstX(tile) + integrate2d::kTileX && x < n; ++x) {
        ASSERT_GT(tiles.Rows(tile), 0);
        ASSERT_LT(x, tiles.FirstX(tile) + tiles.Columns(tile));
        for (int row = 0; row < tiles.Rows(tile); ++row) ++seen.at((tiles.FirstY(tile) + row) * n + x);
      }
    }
    EXPECT_THAT(seen, ::testing::Each(1)) << n;
  }
  EXPECT_EQ(integrate2d::Tiles{16'777'216}.count(), 32'768ull * 65'536);
}

// The fast kernel's arithmetic, tile by tile, against the exact sum of the midpoint rule.
TEST(Integrate2dFast, SumsWithinTheSpecsBound) {
  constexpr std::int64_t n = 700;
  const double x_min = -1, x_max = 30, y_min = 0.5, y_max = 7;
  std::vector<float> xs(n), ys(n);
  double exact = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    xs[i] = integrate2d::HalfTurns(i, n, x_min, x_max);
    ys[i] = integrate2d::HalfTurns(i, n, y_min, y_max);
    for (std::int64_t j = 0; j < n; ++j) {
      exact += std::sin(x_min + (i + 0.5) * (x_max - x_min) / n + y_min + (j + 0.5) * (y_max - y_min) / n);
    }
  }
  const integrate2d::Tiles tiles{n};
  double sum = 0;
  for (std::uint64_t tile = 0; tile < tiles.count(); ++tile) {
    const int rows = tiles.Rows(tile);
    const float* const y = ys.data() + tiles.FirstY(tile);
    for (std::uint64_t i = tiles.FirstX(tile); i < tiles.FirstX(tile) + integrate2d::kTileX && i < n; ++i) {
      int row = 0;
      for (; row + integrate2d::kGroup <= rows; row += integrate2d::kGroup) {
        sum += integrate2d::PairwiseSines<integrate2d::kGroup>(xs[i], y + row, integrate2d::Reduce());
      }
      for (; row < rows; ++row) sum += integrate2d::Sine(xs[i] + y[row], integrate2d::Reduce());
    }
  }
  EXPECT_LT(std::abs(sum - exact) / (n * n), 1e-6);
}

TEST(Integrate2dChunks, AreBoundedAndComplete) {
  for (const CudaTraits& traits : {kLarge, kSmall}) {
    for (const std::uint64_t n : {1, 1000, 102'400, 16'777'216}) {
      const integrate2d::Tiles tiles{n};
      const Chunks fast = integrate2d::FastChunks(tiles, traits), columns = integrate2d::ColumnChunks(n, traits);
      EXPECT_EQ(fast.End(fast.count() - 1), tiles.count());
      if (fast.count() > 1) {
        EXPECT_EQ(fast.size % integrate2d::FastBlocks(tiles, traits), 0u) << "each block as many tiles";
      }
      EXPECT_EQ(columns.End(columns.count() - 1), n);
      // By the same rates, no chunk takes longer than a fifth of the 250 ms that the spec promises.
      const double points_of_chunk =
          static_cast<double>(std::min(fast.size, tiles.count())) * integrate2d::kTileX * integrate2d::kTileY;
      if (tiles.count() > integrate2d::FastBlocks(tiles, traits)) {
        EXPECT_LT(points_of_chunk * 20 / traits.float_operations_per_ms, 50) << n;
      }
      const double column_points = static_cast<double>(std::min(columns.size, n)) * static_cast<double>(n);
      EXPECT_LT(column_points * 40 / traits.float_operations_per_ms, 50) << n;
    }
  }
}

TEST(Integrate2dScratch, HoldsEveryPartialSum) {
  using integrate2d::Variant;
  const auto naive = integrate2d::LayOutScratch(1000, Variant::kNaive, kLarge);
  EXPECT_EQ(naive.ys, 4096u);
  EXPECT_EQ(naive.partials, 8192u);
  EXPECT_EQ(naive.bytes, 8192u + 8000);
  EXPECT_EQ(integrate2d::LayOutScratch(1000, Variant::kShared, kLarge).partial_count, 63u);
  EXPECT_EQ(integrate2d::LayOutScratch(1, Variant::kFast, kLarge).partial_count, 1u);
  EXPECT_EQ(integrate2d::LayOutScratch(102'400, Variant::kFast, kLarge).partial_count, 4u * 132);
}

TEST(MandelbrotAdvance, InSlicesCountsAsInOneGo) {
  constexpr std::int32_t kMaximum = 1000;
  int differing = 0;
  for (int row = 0; row < 40; ++row) {
    for (int column = 0; column < 40; ++column) {
      const double c_real = mandelbrot::Coordinate(column, 40, -2, 0.5);
      const double c_imaginary = mandelbrot::Coordinate(row, 40, -1.25, 1.25);
      mandelbrot::Orbit whole = mandelbrot::OrbitOf(c_real, c_imaginary), orbit = whole;
      EXPECT_TRUE(mandelbrot::Advance(whole, kMaximum, kMaximum));
      int slices = 0;
      while (!mandelbrot::Advance(orbit, kMaximum, 1 + slices % 40)) ASSERT_LE(++slices, kMaximum);
      EXPECT_EQ(orbit.count, whole.count) << row << ", " << column;
      EXPECT_TRUE(mandelbrot::Advance(orbit, kMaximum, 1)) << "finished for good";
      EXPECT_EQ(orbit.count, whole.count);
      differing += whole.count != mandelbrot::Count(c_real, c_imaginary, kMaximum);
    }
  }
  EXPECT_LE(differing, 3) << "rounding decides about few points";
}

TEST(MandelbrotAdvance, TwoIsOutsideAndNothingElseBelowIs) {
  EXPECT_FALSE(mandelbrot::Inside(16));
  EXPECT_TRUE(mandelbrot::Inside(std::nextafter(16.0, 0.0)));
  EXPECT_TRUE(mandelbrot::Inside(0));
  EXPECT_FALSE(mandelbrot::Inside(HUGE_VAL));
  EXPECT_FALSE(mandelbrot::Inside(std::nan("")));
  EXPECT_FALSE(mandelbrot::Inside(-std::nan("")));
  mandelbrot::Orbit orbit = mandelbrot::OrbitOf(-2, 0);
  EXPECT_TRUE(mandelbrot::Advance(orbit, 100, 100));
  EXPECT_EQ(orbit.count, 0);
}

// Points far away overflow to infinity and then NaN: they are finished all the same.
TEST(MandelbrotAdvance, FinishesWhatOverflows) {
  mandelbrot::Orbit orbit{.x = 1e200, .y = 1e200, .c_real = 1e6, .c_imaginary = 1e6, .count = 2};
  EXPECT_TRUE(mandelbrot::Advance(orbit, 100, 1));
  orbit.x = std::nan("");
  EXPECT_TRUE(mandelbrot::Advance(orbit, 100, 1));
  EXPECT_EQ(orbit.count, 2);
}

TEST(MandelbrotPoints, AreTakenInSharesThatGetSmaller) {
  EXPECT_EQ(mandelbrot::PointsToTake(1ull << 32, 4224), 256u);
  EXPECT_EQ(mandelbrot::PointsToTake(8 * 4224 * 100, 4224), 100u);
  EXPECT_EQ(mandelbrot::PointsToTake(1, 4224), 32u);
  EXPECT_EQ(mandelbrot::PointsToTake(0, 1), 32u);
}

TEST(MandelbrotSlices, AreBounded) {
  for (const CudaTraits& traits : {kLarge, kSmall}) {
    for (const std::uint64_t points : {1ull, 256ull, 257ull, 1'000'000ull, 65'536ull * 65'536ull}) {
      const mandelbrot::Slices slices = mandelbrot::SlicesFor(points, traits);
      EXPECT_GT(slices.threads, 0u);
      EXPECT_EQ(slices.threads % kBlockSize, 0u);
      EXPECT_LE(slices.threads, 1024u * static_cast<unsigned>(traits.multiprocessors));
      EXPECT_GE(slices.rounds, 1u);
      const double iterations = static_cast<double>(slices.rounds) * mandelbrot::kStep;
      EXPECT_LT(iterations * 40 / traits.cycles_per_ms, 50) << "one thread alone";
      EXPECT_LT(iterations * static_cast<double>(slices.threads) * 8 / traits.double_operations_per_ms, 50) << "all";
    }
  }
}

TEST(MandelbrotScratch, PartsAreDisjointAndAligned) {
  const auto layout = mandelbrot::LayOutScratch({.threads = 512, .rounds = 1});
  EXPECT_EQ(layout.next, 256u);
  EXPECT_EQ(layout.end, 256u + 128);
  EXPECT_EQ(layout.x, 512u);
  EXPECT_EQ(layout.y, 512u + 4096);
  EXPECT_EQ(layout.point, 512u + 8192);
  EXPECT_EQ(layout.count, 512u + 8192 + 2048);
  EXPECT_EQ(layout.bytes, 512u + 8192 + 4096);
}

// The error of both functions at an angle, and that of the identity's sum, in units of 2^-24 or 2^-53.
template <typename F>
double TrigError(F x, const trig_identity::Reduced<F>& reduced) {
  const trig_identity::SineCosine<F> both = trig_identity::Evaluate(reduced);
  const long double angle = x, unit = std::is_same_v<F, float> ? 0x1p-24L : 0x1p-53L;
  const long double sine = std::abs(both.sine - std::sin(angle)), cosine = std::abs(both.cosine - std::cos(angle));
  const long double sum = std::abs(trig_identity::SumOfSquares(both) - 1.0L);
  return static_cast<double>(std::max({sine, cosine, sum / 3}) / unit);
}

TEST(TrigIdentity, SineAndCosineAreWithinTwoUnits) {
  std::mt19937_64 random(5);
  double near = 0, far = 0, far_double = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    const double unit = static_cast<double>(random() >> 11) * 0x1p-52 - 1;
    const double scale = std::ldexp(1.0, static_cast<int>(random() % 49) - 30);  // 2^-30 … 2^18
    const auto x = static_cast<float>(unit * scale), y = static_cast<float>(unit * scale * 4096);
    near = std::max(near, TrigError(x, trig_identity::ReduceNear(x)));
    far = std::max(far, TrigError(y, trig_identity::ReduceFar(y)));
    far_double = std::max(far_double, TrigError(unit * scale * 4096, trig_identity::ReduceFar(unit * scale * 4096)));
  }
  EXPECT_LT(near, 2);
  EXPECT_LT(far, 2);
  EXPECT_LT(far_double, 2);
}

// Every whole number that the exercise asks for, and the ends of what the reductions hold for.
TEST(TrigIdentity, HoldsOnTheExercisesAnglesAndAtTheEnds) {
  double worst = 0;
  for (int i = 0; i < 10'000'000; i += 7) {
    const auto x = static_cast<float>(i);
    worst = std::max(worst, TrigError(x, x <= trig_identity::kNearFloat ? trig_identity::ReduceNear(x)
                                                                        : trig_identity::ReduceFar(x)));
  }
  EXPECT_LT(worst, 2);
  for (const float sign : {1.0f, -1.0f}) {
    const float near = sign * trig_identity::kNearFloat, far = sign * trig_identity::kFarFloat;
    EXPECT_LT(TrigError(near, trig_identity::ReduceNear(near)), 2);
    EXPECT_LT(TrigError(far, trig_identity::ReduceFar(far)), 2);
    const double far_double = static_cast<double>(sign) * trig_identity::kFarDouble;
    EXPECT_LT(TrigError(far_double, trig_identity::ReduceFar(far_double)), 2);
  }
}

// All segments are of the axis and none is empty; a single output's states are not one thread's to merge.
TEST(Reduction, IsCutIntoSegmentsWhoseStatesAreMergedTogether) {
  for (const CudaTraits& traits : {kLarge, kSmall}) {
    for (const Extent& extent : {Extent{1, 100'000'000, 1}, Extent{1, 1, 1}, Extent{1, 5'000'000'000, 1},
                                 Extent{1, 30'000'000, 3}, Extent{30'000, 1000, 1}, Extent{1'000'000, 7, 1},
                                 Extent{7, 511, 1}, Extent{7, 512, 1}, Extent{1, 4096, 4096}, Extent{2, 2113, 5}}) {
      const reduction::Plan plan = reduction::PlanOf(extent, traits);
      EXPECT_GE(plan.rows * plan.segments, extent.count);
      EXPECT_LT(plan.rows * (plan.segments - 1), extent.count);
      const unsigned together = reduction::MergedTogether(plan);
      EXPECT_TRUE(std::has_single_bit(together) && together <= kBlockSize && together <= plan.segments) << together;
      // Of one after the other, at most: those of a block's threads, and what is left where a block has too few.
      EXPECT_TRUE(plan.segments <= 16 * together || together == kBlockSize) << plan.segments << " by " << together;
      EXPECT_EQ(reduction::StateBytes(extent, traits, 16) == 0, plan.segments == 1);
    }
  }
  // A block to each place that the device has for one.
  EXPECT_EQ(reduction::PlanOf({1, 100'000'000, 1}, kLarge).segments, 132u * 8);
  EXPECT_EQ(reduction::PlanOf({1, 100'000'000, 1}, kSmall).segments, 40u * 4);
  EXPECT_GE(reduction::MergedTogether(reduction::PlanOf({1, 100'000'000, 1}, kLarge)), 128u);
}

// Which read a warp's lines of memory together; each has some elements, and none leaves a state behind.
TEST(Reduction, GivesShortRowsToNeighbouringLanes) {
  for (const std::uint64_t outputs : {1, 1'000'000}) {
    for (std::uint64_t count = 1; count < 512; ++count) {
      const reduction::Plan plan = reduction::PlanOf({outputs, count, 1}, kLarge);
      EXPECT_TRUE(std::has_single_bit(plan.together) && plan.together <= 32 && plan.together <= count) << count;
      EXPECT_EQ(plan.lanes(), count >= 8) << count;
      EXPECT_EQ(plan.segments, 1u) << count;
    }
  }
  EXPECT_EQ(reduction::PlanOf({1000, 511, 1}, kLarge).together, 32u);
  EXPECT_TRUE(reduction::PlanOf({1000, 512, 1}, kLarge).blocks());
  EXPECT_EQ(reduction::PlanOf({1000, 511, 2}, kLarge).together, 1u) << "neighbouring columns are threads' own";
}

// A product as a library that counts in columns does it: what cuBLASLt is asked for must be what the kernel promises.
std::vector<double> ByColumns(const matmul::Product& product, const std::vector<double>& a,
                              const std::vector<double>& b) {
  const auto at = [](const std::vector<double>& memory, const matmul::Operand& operand, std::uint64_t row,
                     std::uint64_t column) {
    if (operand.transpose) std::swap(row, column);
    EXPECT_LT(row, operand.rows);
    EXPECT_LT(column, operand.columns);
    return memory.at(column * static_cast<std::uint64_t>(operand.leading()) + row);
  };
  std::vector<double> c(product.m * product.n);
  for (std::uint64_t row = 0; row < product.result.rows; ++row) {
    for (std::uint64_t column = 0; column < product.result.columns; ++column) {
      double sum = 0;
      for (std::uint64_t k = 0; k < product.k; ++k) {
        sum += at(b, product.first, row, k) * at(a, product.second, k, column);
      }
      c.at(column * static_cast<std::uint64_t>(product.result.leading()) + row) = sum;
    }
  }
  return c;
}

TEST(MatmulProduct, MapsRowsToColumnsWithAndWithoutTransposes) {
  constexpr std::int64_t m = 3, k = 4, n = 5;
  std::mt19937 random(7);
  std::uniform_int_distribution<int> small(-9, 9);
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      std::vector<double> a(m * k), b(k * n), expected(m * n);
      for (double& element : a) element = small(random);
      for (double& element : b) element = small(random);
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          for (std::int64_t l = 0; l < k; ++l) {
            expected[i * n + j] += a[transpose_a ? l * m + i : i * k + l] * b[transpose_b ? j * k + l : l * n + j];
          }
        }
      }
      const matmul::Product product = matmul::ProductOf(
          {.m = 3, .n = 5, .k = 4, .transpose_a = transpose_a, .transpose_b = transpose_b, .matrices = {}});
      EXPECT_EQ(product.m, 3u);
      EXPECT_EQ(product.n, 5u);
      EXPECT_EQ(product.k, 4u);
      EXPECT_EQ(ByColumns(product, a, b), expected) << transpose_a << transpose_b;
    }
  }
}

// Each product of the batch, in order: the matrices of a and of b that InStrides has it made of.
std::vector<std::pair<std::uint64_t, std::uint64_t>> Pairs(const matmul::Products& products, std::uint64_t most) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> pairs;
  const Outcome outcome = matmul::InStrides(products, most, [&](const matmul::StridedProducts& some) {
    EXPECT_EQ(some.first_c, pairs.size());
    EXPECT_GE(some.count, 1u);
    EXPECT_LE(some.count, most);
    for (std::uint64_t i = 0; i < some.count; ++i) {
      pairs.emplace_back(some.first.a + i * some.a_step, some.first.b + i * some.b_step);
    }
    return Outcome::Ok();
  });
  EXPECT_TRUE(outcome.ok());
  return pairs;
}

matmul::Products Batch(const Shape& a, const Shape& b, const Shape& c, bool transpose_a = false) {
  return matmul::ProductsOf(a, b, c, transpose_a, /*transpose_b=*/false);
}

TEST(MatmulBatch, EachProductIsOfItsOwnMatrices) {
  const matmul::Products products = Batch({2, 1, 3, 9, 4}, {5, 1, 4, 8}, {2, 5, 3, 9, 8});
  std::vector<std::pair<std::uint64_t, std::uint64_t>> expected;
  for (std::uint64_t i = 0; i < 2; ++i) {
    for (std::uint64_t j = 0; j < 5; ++j) {
      for (std::uint64_t k = 0; k < 3; ++k) expected.emplace_back(i * 3 + k, j);
    }
  }
  EXPECT_EQ(products.count, 30u);
  for (const std::uint64_t most : {1, 2, 3, 100}) EXPECT_EQ(Pairs(products, most), expected) << most;

  const matmul::Products even = Batch({7, 3, 9, 4}, {7, 3, 4, 8}, {7, 3, 9, 8});
  EXPECT_EQ(even.matrices.rank, 1) << "one call of the library does them all";
  EXPECT_EQ(Pairs(even, 100).back(), std::pair(std::uint64_t{20}, std::uint64_t{20}));
}

TEST(MatmulBatch, WithOneRightFactorIsOneProduct) {
  const matmul::Products one = Batch({7, 3, 9, 4}, {4, 8}, {7, 3, 9, 8});
  EXPECT_EQ(one.count, 1u);
  EXPECT_EQ(one.m, 7u * 3 * 9);
  const matmul::Products transposed = Batch({7, 3, 4, 9}, {4, 8}, {7, 3, 9, 8}, true);
  EXPECT_EQ(transposed.count, 21u) << "the rows of transposes do not follow each other";
  EXPECT_EQ(Pairs(transposed, 100).back(), std::pair(std::uint64_t{20}, std::uint64_t{0}));
  EXPECT_EQ(Batch({1 << 20, 1 << 12, 4}, {4, 1}, {1 << 20, 1 << 12, 1}).m, 4096u) << "a library counts in 32 bits";
}

TEST(MatmulBatch, VectorsAreARowAndAColumn) {
  const auto sides = [](const matmul::Products& products) {
    return std::vector<std::uint64_t>{products.m, products.k, products.n, products.count};
  };
  using Sides = std::vector<std::uint64_t>;
  EXPECT_EQ(sides(Batch({7}, {7}, {})), (Sides{1, 7, 1, 1}));
  EXPECT_EQ(sides(Batch({4}, {4, 3}, {3}, true)), (Sides{1, 4, 3, 1})) << "its transpose is itself";
  EXPECT_EQ(sides(Batch({4}, {5, 4, 3}, {5, 3})), (Sides{1, 4, 3, 5}));
  EXPECT_EQ(sides(Batch({5, 2, 4}, {4}, {5, 2})), (Sides{10, 4, 1, 1})) << "one column serves all rows";
}

TEST(MatmulBatch, AlignmentIsThatOfAllThree) {
  const auto at = [](std::uintptr_t address) { return reinterpret_cast<const void*>(address); };
  EXPECT_EQ(matmul::AlignmentOf(at(4096), at(512), at(256)), 256u);
  EXPECT_EQ(matmul::AlignmentOf(at(4096), at(512 + 24), at(256)), 8u);
}

TEST(MatmulScratch, HasRoomForRoundedInputs) {
  EXPECT_EQ(matmul::LayOutScratch(700, 350, HOTPLATE_PRECISION_DEFAULT, kSmall).bytes, 8u << 20);
  EXPECT_EQ(matmul::LayOutScratch(700, 350, HOTPLATE_PRECISION_TF32, kLarge).bytes, 32u << 20);
  const auto layout = matmul::LayOutScratch(700, 350, HOTPLATE_PRECISION_BF16, kLarge);
  EXPECT_EQ(layout.a, 32u << 20);
  EXPECT_GE(layout.b - layout.a, 1400u);
  EXPECT_GE(layout.bytes - layout.b, 700u);
}

}  // namespace
}  // namespace hotplate
