// The same iterations in long double, from the edges as they lie; and, whatever they were, that one more hardly moves
// the ranks, and that they add up to 1.
#include <cmath>
#include <numeric>

#include "tests/conformance/sparse.h"
#include "tests/conformance/verifiers.h"

namespace hotplate::conformance {
namespace pagerank_verifier {

using Ranks = std::vector<long double>;

template <typename Index>
Ranks Iterated(std::span<const Index> indices, std::span<const Index> indptr, long double damping, const Ranks& ranks) {
  const std::size_t nodes = ranks.size();
  Ranks next(nodes);
  long double dangling = 0;
  for (std::size_t node = 0; node < nodes; ++node) {
    const auto begin = static_cast<std::size_t>(indptr[node]), end = static_cast<std::size_t>(indptr[node + 1]);
    if (begin == end) dangling += ranks[node];
    for (std::size_t i = begin; i < end; ++i) {
      next[static_cast<std::size_t>(indices[i])] += ranks[node] / static_cast<long double>(end - begin);
    }
  }
  for (long double& rank : next) {
    rank =
        damping * (rank + dangling / static_cast<long double>(nodes)) + (1 - damping) / static_cast<long double>(nodes);
  }
  return next;
}

long double Distance(const Ranks& a, const Ranks& b) {
  long double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::fabs(a[i] - b[i]);
  return sum;
}

template <typename Index>
Verdict Verify(const Executed& executed) {
  const auto indices = executed.Input("indices").Elements<Index>(), indptr = executed.Input("indptr").Elements<Index>();
  const auto got = executed.Output("rank").Elements<double>();
  const std::int64_t iterations = executed.Output("iterations").Elements<std::int64_t>()[0];
  const std::size_t nodes = got.size();
  const long double damping = executed.call.Float("damping"), whole = static_cast<long double>(nodes);
  const long double limit = executed.call.Float("tolerance") * whole;
  Verdict verdict;
  const auto expect = [&](bool right, const std::string& what) { verdict.Add(right ? 0 : 2, [&] { return what; }); };
  if (nodes == 0) {
    expect(iterations == 0, std::to_string(iterations) + " iterations for no nodes");
    return verdict;
  }
  expect(iterations >= 1 && iterations <= executed.call.Int("max_iterations"),
         std::to_string(iterations) + " iterations");
  if (verdict.error > 1) return verdict;

  const long double steps = std::min(static_cast<long double>(iterations), 1 / std::max(1 - damping, 1e-18L));
  const long double bound = steps * ((static_cast<long double>(indices.size()) + whole) * 0x1p-62L + 0x1p-50L);
  const auto within = [&](long double error, long double allowed, const char* what) {
    verdict.Add(static_cast<double>(error / allowed), [&] {
      return std::string(what) + " is " + std::to_string(static_cast<double>(error)) + ", more than " +
             std::to_string(static_cast<double>(allowed));
    });
  };
  const Ranks ranks(got.begin(), got.end());
  Ranks exact(nodes, 1 / whole), before;
  long double change = 0, change_before = limit;
  for (std::int64_t i = 0; i < iterations; ++i) {
    before = std::move(exact);
    exact = Iterated(indices, indptr, damping, before);
    change_before = i == 0 ? limit : change;
    change = Distance(exact, before);
  }
  within(Distance(ranks, exact), bound, "the distance to the exact ranks");
  within(std::fabs(std::accumulate(ranks.begin(), ranks.end(), 0.0L) - 1), bound, "the sum's distance to 1");
  // It ended where it was to end, and not before.
  expect(change < limit + 2 * bound, "it ended too early, after " + std::to_string(iterations));
  expect(iterations == 1 || change_before > limit - 2 * bound,
         "it ended too late, after " + std::to_string(iterations));
  within(Distance(Iterated(indices, indptr, damping, ranks), ranks), damping * limit + 3 * bound, "what is left to go");
  return verdict;
}

}  // namespace pagerank_verifier

std::vector<Case> PagerankCases() {
  using namespace pagerank_verifier;
  using Params = std::map<std::string, ParamValue>;
  std::vector<Case> cases;
  for (const DType index : {DType::kInt32, DType::kInt64}) {
    const auto add = [&](const std::string& name, Params params,
                         const std::function<Pattern(std::mt19937_64&)>& pattern) {
      cases.push_back({.name = std::string(Name(index)) + "_" + name,
                       .params = std::move(params),
                       .inputs = [=](std::mt19937_64& random) { return PatternArrays(pattern(random), index); }});
    };
    const auto constant = [](const Pattern& pattern) { return [pattern](std::mt19937_64&) { return pattern; }; };
    const auto drawn = [](std::size_t nodes, std::size_t most) {
      return [=](std::mt19937_64& random) {
        std::vector<std::size_t> degrees(nodes);
        for (std::size_t& degree : degrees) degree = random() % (most + 1);
        return DrawnPattern(degrees, static_cast<std::int64_t>(nodes), random);
      };
    };
    const auto tight = [](double tolerance) { return Params{{"tolerance", tolerance}}; };
    add("no_nodes", {}, constant({}));
    add("one", {}, constant({{}}));
    add("one_to_itself", {}, constant({{0}}));
    add("no_edges", {}, constant(Pattern(700)));
    add("ring", {}, [](std::mt19937_64&) {
      Pattern ring(700);
      for (std::size_t i = 0; i < ring.size(); ++i) ring[i] = {static_cast<std::int64_t>((i + 1) % ring.size())};
      return ring;
    });
    // Everything to the first node, which has no edges out; and a path.
    add("star", tight(1e-9), [](std::mt19937_64&) {
      Pattern star(600, {0});
      star[0] = {};
      return star;
    });
    add("path", tight(1e-9), constant({{1}, {2}, {3}, {4}, {}}));
    add("edges_twice", tight(1e-12), constant({{1, 1, 2}, {2}, {0, 0}, {0, 1, 2, 2, 2}}));
    add("random", tight(1e-9), drawn(500, 12));
    add("of_several_pieces", tight(1e-8), [](std::mt19937_64& random) {
      std::vector<std::size_t> degrees(300, 3);
      degrees[17] = 60'000;  // more than the CPU gives one thread at once
      degrees[299] = 2500;
      return DrawnPattern(degrees, 300, random);
    });
    add("many_nodes", tight(1e-9), drawn(6000, 2));  // more than a slow GPU takes at once
    add("no_damping", {{"damping", 0.0}}, drawn(50, 5));
    add("all_damping", {{"damping", 1.0}, {"tolerance", 1e-6}, {"max_iterations", std::int64_t{2000}}}, drawn(60, 7));
    add("at_the_first", tight(1), drawn(50, 5));
  }
  return cases;
}

Verdict VerifyPagerank(const Executed& executed) {
  using namespace pagerank_verifier;
  return executed.Input("indices").signature().dtype == DType::kInt32 ? Verify<std::int32_t>(executed)
                                                                      : Verify<std::int64_t>(executed);
}

}  // namespace hotplate::conformance
