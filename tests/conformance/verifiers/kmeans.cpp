// kmeans: labels against all distances to what came back, and Lloyd's iterations again in long double, as far as no
// point lies between two centroids.
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "tests/conformance/verifiers.h"

namespace hotplate::conformance {
namespace kmeans_verifier {

using Number = long double;

template <typename T>
struct Data {
  std::span<const T> points, initial, centroids;
  std::span<const std::int32_t> labels;
  std::size_t n, d, k;
  bool told = true;  // no point was between two centroids, and no move beside the tolerance

  static constexpr Number kUnit = sizeof(T) == 4 ? 0x1p-24L : 0x1p-53L;
  Number Bound() const { return static_cast<Number>(d + 4) * 4 * kUnit; }

  Number Distance(std::size_t point, std::span<const T> to, std::size_t centroid) const {
    Number squares = 0;
    for (std::size_t j = 0; j < d; ++j) {
      const Number difference = Number{points[point * d + j]} - Number{to[centroid * d + j]};
      squares += difference * difference;
    }
    return squares;
  }

  // The first nearest one.
  std::size_t Nearest(std::size_t point, std::span<const T> to) {
    std::size_t best = 0;
    Number least = Distance(point, to, 0), second = HUGE_VALL;
    for (std::size_t c = 1; c < k; ++c) {
      const Number distance = Distance(point, to, c);
      if (distance < least) {
        second = least;
        least = distance, best = c;
      } else if (distance < second && !std::equal(to.data() + c * d, to.data() + c * d + d, to.data() + best * d)) {
        second = distance;
      }
    }
    told = told && (second == HUGE_VALL || second - least > 2 * Bound() * second);
    return best;
  }
};

// The means of each label's points; the centroid itself where there are none.
template <typename T>
std::vector<T> MeansOf(const Data<T>& data, const std::vector<std::size_t>& labels, std::span<const T> centroids,
                       std::vector<Number>* bounds = nullptr) {
  std::vector<Number> sums(data.k * data.d), magnitudes(data.k * data.d);
  std::vector<std::size_t> counts(data.k);
  for (std::size_t i = 0; i < data.n; ++i) {
    ++counts[labels[i]];
    for (std::size_t j = 0; j < data.d; ++j) {
      sums[labels[i] * data.d + j] += data.points[i * data.d + j];
      magnitudes[labels[i] * data.d + j] += std::fabs(Number{data.points[i * data.d + j]});
    }
  }
  std::vector<T> means(centroids.begin(), centroids.end());
  for (std::size_t i = 0; i < means.size(); ++i) {
    const Number count = static_cast<Number>(counts[i / data.d]);
    if (count > 0) means[i] = static_cast<T>(sums[i] / count);
    if (bounds == nullptr) continue;
    const Number summed = count > 0 ? static_cast<Number>(data.n) * 0x1p-52L * magnitudes[i] / count : 0;
    bounds->push_back(summed + 2 * data.kUnit * std::fabs(Number{means[i]}));
  }
  return means;
}

template <typename T>
Number ThresholdOf(const Data<T>& data, double tolerance) {
  Number variances = 0;
  for (std::size_t j = 0; j < data.d; ++j) {
    Number mean = 0, squares = 0;
    for (std::size_t i = 0; i < data.n; ++i) mean += data.points[i * data.d + j];
    mean /= static_cast<Number>(data.n);
    for (std::size_t i = 0; i < data.n; ++i) squares += std::pow(data.points[i * data.d + j] - mean, Number{2});
    variances += squares / static_cast<Number>(data.n);
  }
  return tolerance * variances / static_cast<Number>(std::max<std::size_t>(data.d, 1));
}

template <typename T>
void CompareCentroids(const Data<T>& data, const std::vector<T>& means, const std::vector<Number>& bounds,
                      const char* what, Verdict& verdict) {
  for (std::size_t i = 0; i < means.size(); ++i) {
    const Number error = std::fabs(Number{data.centroids[i]} - Number{means[i]});
    verdict.Add(error == 0       ? 0
                : bounds[i] == 0 ? 2
                                 : static_cast<double>(error / bounds[i]),
                [&] {
                  return std::string(what) + ": coordinate " + std::to_string(i % data.d) + " of centroid " +
                         std::to_string(i / data.d) + " is " + std::to_string(data.centroids[i]) + " instead of " +
                         std::to_string(means[i]);
                });
  }
}

// Lloyd's iterations. Nothing is said when they cannot be followed.
template <typename T>
void CompareIterations(Data<T> data, const BoundCall& call, std::int64_t iterations, Verdict& verdict) {
  const Number threshold = ThresholdOf(data, call.Float("tolerance"));
  std::vector<T> centroids(data.initial.begin(), data.initial.end());
  std::vector<std::size_t> labels(data.n, data.k);
  std::vector<Number> bounds;
  std::int64_t done = 0;
  for (bool ended = false; !ended && done < call.Int("max_iterations"); ++done) {
    std::vector<std::size_t> now(data.n);
    for (std::size_t i = 0; i < data.n; ++i) now[i] = data.Nearest(i, centroids);
    bounds.clear();
    std::vector<T> means = MeansOf<T>(data, now, centroids, &bounds);
    Number moves = 0;
    for (std::size_t i = 0; i < means.size(); ++i)
      moves += std::pow(Number{means[i]} - Number{centroids[i]}, Number{2});
    const bool same = std::exchange(labels, now) == now;
    ended = same || moves <= threshold;
    data.told = data.told && (same || threshold == 0 || std::fabs(moves - threshold) > 1e-3L * threshold);
    if (!data.told) return;
    centroids = std::move(means);
  }
  verdict.Add(done == iterations ? 0 : 2,
              [&] { return std::to_string(iterations) + " iterations instead of " + std::to_string(done); });
  CompareCentroids(data, centroids, bounds, "after all iterations", verdict);
}

template <typename T>
Verdict Verify(const Executed& executed) {
  const Shape &points = executed.Input("points").signature().shape,
              &initial = executed.Input("initial").signature().shape;
  Data<T> data{.points = executed.Input("points").Elements<T>(),
               .initial = executed.Input("initial").Elements<T>(),
               .centroids = executed.Output("centroids").Elements<T>(),
               .labels = executed.Output("labels").Elements<std::int32_t>(),
               .n = static_cast<std::size_t>(points[0]),
               .d = static_cast<std::size_t>(points[1]),
               .k = static_cast<std::size_t>(initial[0])};
  Verdict verdict;
  Number inertia = 0;
  std::vector<std::size_t> labels(data.n);
  for (std::size_t i = 0; i < data.n; ++i) {
    const bool is_one = data.labels[i] >= 0 && static_cast<std::size_t>(data.labels[i]) < data.k;
    verdict.Add(is_one ? 0 : 2,
                [&] { return "label " + std::to_string(data.labels[i]) + " of point " + std::to_string(i); });
    if (!is_one) return verdict;
    labels[i] = static_cast<std::size_t>(data.labels[i]);
    const std::size_t nearest = data.Nearest(i, data.centroids);
    const Number least = data.Distance(i, data.centroids, nearest), own = data.Distance(i, data.centroids, labels[i]);
    inertia += own;
    verdict.Add(own == least ? 0 : static_cast<double>((own - least) / (data.Bound() * own)), [&] {
      return "point " + std::to_string(i) + " has label " + std::to_string(labels[i]) + "; nearer is " +
             std::to_string(nearest);
    });
  }
  const double said = executed.Output("inertia").Elements<double>()[0];
  const Number bound = static_cast<Number>(data.n + data.d) * 0x1p-51L * inertia;
  verdict.Add(said == inertia ? 0 : static_cast<double>(std::fabs(said - inertia) / bound),
              [&] { return "inertia " + std::to_string(said) + " instead of " + std::to_string(inertia); });

  const std::int64_t iterations = executed.Output("iterations").Elements<std::int64_t>()[0];
  verdict.Add(iterations >= 1 && iterations <= executed.call.Int("max_iterations") ? 0 : 2,
              [&] { return std::to_string(iterations) + " iterations"; });
  // It has ended since no label changed.
  if (executed.call.Float("tolerance") == 0 && iterations < executed.call.Int("max_iterations")) {
    std::vector<Number> bounds;
    const std::vector<T> means = MeansOf<T>(data, labels, data.centroids, &bounds);
    CompareCentroids(data, means, bounds, "means", verdict);
  }
  data.told = true;
  CompareIterations(data, executed.call, iterations, verdict);
  return verdict;
}

enum class Points { kAround, kUniform, kSame };

struct Sizes {
  const char* name;
  std::int64_t n, d, k;
  Points kind;
  double tolerance = 0;
  std::int64_t max_iterations = 300;
  bool far = false;  // the last centroid has no point
};

// Points around places that are 10 apart; centroids to begin with are at the first points, a little beside them.
std::map<std::string, TestArray> Inputs(DType dtype, const Sizes& one, std::mt19937_64& random) {
  TestArray points({dtype, {one.n, one.d}}), initial({dtype, {one.k, one.d}});
  FillUniform(points, -1, 1, random);
  FillUniform(initial, -0.5, 0.5, random);
  WithType(dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto p = points.Elements<T>(), c = initial.Elements<T>();
    const auto d = static_cast<std::size_t>(one.d), k = static_cast<std::size_t>(one.k);
    for (std::size_t i = 0; i < p.size(); ++i) {
      if (one.kind == Points::kAround) p[i] += static_cast<T>(10 * ((i / d % k) >> (i % d * 3 % 16) & 7));
      if (one.kind == Points::kSame) p[i] = T(0.25);
    }
    for (std::size_t i = 0; i < c.size(); ++i) {
      if (one.kind == Points::kUniform) c[i] = 0;
      c[i] = one.kind == Points::kSame ? T(0.75) : c[i] + p[i];
      if (one.far && i / d == k - 1) c[i] = T(1e5);
    }
  });
  return {{"points", std::move(points)}, {"initial", std::move(initial)}};
}

}  // namespace kmeans_verifier

std::vector<Case> KmeansCases() {
  using namespace kmeans_verifier;
  // Pieces, vectors and tiles of all kinds of lengths; what ends by labels, by tolerance and by the limit.
  constexpr Sizes kSizes[] = {
      {"one_point", 1, 1, 1, Points::kAround},
      {"one_centroid", 333, 3, 1, Points::kUniform},
      {"k_is_n", 70, 2, 70, Points::kUniform},
      {"around", 3000, 2, 5, Points::kAround},
      {"around_tolerance", 3000, 3, 8, Points::kAround, 1e-4},
      {"around_one_iteration", 3000, 2, 5, Points::kAround, 0, 1},
      {"uniform", 1501, 17, 33, Points::kUniform, 0, 4},
      {"uniform_to_the_end", 1100, 2, 3, Points::kUniform},
      {"all_the_same", 100, 2, 70, Points::kSame},
      {"without_points", 500, 4, 6, Points::kAround, 0, 300, true},
      {"wide", 99, 131, 66, Points::kUniform, 1e-4, 3},
      {"in_slices", 7, 66'001, 2, Points::kAround, 1e-4, 2},  // more coordinates than the CPU takes at once
  };
  std::vector<Case> cases;
  const auto add = [&](DType dtype, const Sizes& one) {
    cases.push_back({.name = std::string(Name(dtype)) + "_" + one.name,
                     .params = {{"tolerance", one.tolerance}, {"max_iterations", one.max_iterations}},
                     .inputs = [=](std::mt19937_64& random) { return Inputs(dtype, one, random); }});
  };
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    for (const Sizes& one : kSizes) add(dtype, one);
  }
  // float64, of which slow devices do so little at a time that they cut the sums, too.
  add(DType::kFloat64, {"long", 40'003, 2, 4, Points::kAround, 1e-4, 5});
  return cases;
}

Verdict VerifyKmeans(const Executed& executed) {
  using namespace kmeans_verifier;
  return executed.Input("points").signature().dtype == DType::kFloat32 ? Verify<float>(executed)
                                                                       : Verify<double>(executed);
}

}  // namespace hotplate::conformance
