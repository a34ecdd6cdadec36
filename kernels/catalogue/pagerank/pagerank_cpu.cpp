// The graph is reversed once. Then a node gathers its incoming ranks, and a thread has its nodes for itself. The order
// of a node's edges depends on the threads, but their sum does not.
#include <algorithm>
#include <atomic>

#include "kernels/call/for_type.h"
#include "kernels/catalogue/pagerank/pagerank.h"
#include "kernels/catalogue/pagerank/pagerank_functor.h"
#include "kernels/devices/cpu/cpu_context.h"
#include "kernels/devices/cpu/csr.h"
#include "kernels/devices/cpu/multiversion.h"
#include "kernels/devices/device.h"

namespace hotplate::pagerank {
namespace {

// Nodes and edges to a chunk: some 50 microseconds. A vector's worth of edges is gathered by vectors.
constexpr std::size_t kItems = 32'768, kManyEdges = 32;
// The share of checking and reversing the graph, for the progress.
constexpr double kPrepared = 0.02;

// Scratch: `first` has the index of each node's first incoming edge, and one more; `sources` has the origins of these
// edges.
template <typename Index>
struct Scratch {
  Sum* handed_on;  // by each node along each edge
  Index* first;
  Index* sources;

  Scratch(std::byte* memory, std::size_t nodes)
      : handed_on(reinterpret_cast<Sum*>(memory)),
        first(reinterpret_cast<Index*>(memory + nodes * sizeof(Sum))),
        sources(first + nodes + 1) {}
};

// Computes the nodes' ranks along their edges; returns the sum of the ranks of nodes without outgoing edges.
template <typename Index>
HOTPLATE_MULTIVERSION Sum HandOn(const Index* indptr, const double* rank, Sum* handed_on, std::size_t begin,
                                 std::size_t end) {
  Sum dangling = 0;
#pragma omp simd reduction(+ : dangling)
  for (std::size_t i = begin; i < end; ++i) {
    const Index edges = indptr[i + 1] - indptr[i];
    handed_on[i] = HandedOn(rank[i], static_cast<double>(edges));
    dangling += edges == 0 ? handed_on[i] : 0;
  }
  return dangling;
}

// Updates these nodes' ranks; returns the sum of the changes.
template <typename Index>
HOTPLATE_MULTIVERSION Sum Gather(const csr::Matrix<Index>& into, const Sum* handed_on, const Step& step, double* rank,
                                 std::size_t begin, std::size_t end) {
  Sum change = 0;
  for (std::size_t node = begin; node < end; ++node) {
    const auto from = static_cast<std::size_t>(into.indptr[node]), to = static_cast<std::size_t>(into.indptr[node + 1]);
    Sum sum = 0;
    if (to - from < kManyEdges) {
      for (std::size_t i = from; i < to; ++i) sum += handed_on[into.indices[i]];
    } else {
#pragma omp simd reduction(+ : sum)
      for (std::size_t i = from; i < to; ++i) sum += handed_on[into.indices[i]];
    }
    const double before = rank[node], now = step.Rank(sum);
    rank[node] = now;
    change += FixedChange(std::fabs(now - before));
  }
  return change;
}

// The steps of one call. Each returns false if the call was cancelled.
template <typename Index>
class Run {
 public:
  Run(const Call& call, CpuContext& context)
      : context_(context),
        out_(csr::MatrixOf<Index>(call, call.Input<Index>("indptr").size() - 1)),
        scratch_(call.scratch().data(), out_.rows),
        into_{scratch_.first, scratch_.sources, out_.rows, out_.rows, out_.entries},
        rank_(call.Output<double>("rank").data()) {}

  const csr::Matrix<Index>& graph() const { return out_; }

  bool Look(csr::Defect& defect, CpuContext::Part part) {
    if (!csr::FindDefectOfIndptr(out_, defect, context_, part.from)) return false;
    if (defect.wrong != csr::Wrong::kNothing) return true;
    csr::FirstBadPiece bad(kItems);
    const auto look = [&](std::size_t first, std::size_t last) {
      if (!csr::EntriesAreGood(out_, csr::PlaceOf(out_, first), csr::PlaceOf(out_, last))) bad.Add(first);
    };
    if (!context_.ParallelChunks(csr::ItemsOf(out_), kItems, look, part)) return false;
    defect = bad.Look(out_);
    return true;
  }

  // Every index is a node.
  bool TurnRound(CpuContext::Part part) {
    Index* const first = scratch_.first;
    if (!Fill(first, out_.rows + 1, Index{0}, part.from)) return false;
    // The edges into a node are counted in its place of `first`; then it is where they end, and goes down with each
    // edge that is placed, to where they begin.
    const auto count = [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        std::atomic_ref(first[out_.indices[i]]).fetch_add(1, std::memory_order_relaxed);
      }
    };
    if (!context_.ParallelChunks(out_.entries, kItems, count, part.Step(0, 2))) return false;
    Index before = 0;
    for (std::size_t node = 0; node <= out_.rows; ++node) {
      if (node % kItems == 0 && context_.cancelled()) return false;
      before += first[node];
      first[node] = before;
    }
    const auto place = [&](std::size_t from, std::size_t to) {
      csr::Place at = csr::PlaceOf(out_, from);
      const csr::Place end = csr::PlaceOf(out_, to);
      for (; at.entry < end.entry; ++at.entry) {
        while (static_cast<std::size_t>(out_.indptr[at.row + 1]) <= at.entry) ++at.row;
        const Index slot = std::atomic_ref(first[out_.indices[at.entry]]).fetch_sub(1, std::memory_order_relaxed) - 1;
        scratch_.sources[slot] = static_cast<Index>(at.row);
      }
    };
    return context_.ParallelChunks(csr::ItemsOf(out_), kItems, place, part.Step(1, 2));
  }

  bool Begin(double at) { return Fill(rank_, out_.rows, 1 / static_cast<double>(out_.rows), at); }

  bool Iterate(double damping, double& change, CpuContext::Part part) {
    std::atomic<Sum> dangling{0}, changes{0};
    const auto hand_on = [&](std::size_t begin, std::size_t end) {
      dangling.fetch_add(HandOn(out_.indptr, rank_, scratch_.handed_on, begin, end), std::memory_order_relaxed);
    };
    if (!context_.ParallelChunks(out_.rows, kItems, hand_on, part.Step(0, 2))) return false;
    const Step step(damping, out_.rows, dangling.load(std::memory_order_relaxed));
    // The nodes whose last edge is in a chunk.
    const auto gather = [&](std::size_t first, std::size_t last) {
      changes.fetch_add(
          Gather(into_, scratch_.handed_on, step, rank_, csr::PlaceOf(into_, first).row, csr::PlaceOf(into_, last).row),
          std::memory_order_relaxed);
    };
    if (!context_.ParallelChunks(csr::ItemsOf(into_), kItems, gather, part.Step(1, 2))) return false;
    change = ChangeOf(changes.load(std::memory_order_relaxed));
    return true;
  }

 private:
  // Memory that is new: a billion nodes would take seconds. Progress stays at `at`.
  template <typename Number>
  bool Fill(Number* numbers, std::size_t count, Number value, double at) {
    const auto fill = [=](std::size_t begin, std::size_t end) { std::fill(numbers + begin, numbers + end, value); };
    return context_.ParallelChunks(count, kItems, fill, {at, at});
  }

  CpuContext& context_;
  const csr::Matrix<Index> out_;
  const Scratch<Index> scratch_;
  const csr::Matrix<Index> into_;  // turned round
  double* const rank_;
};

template <typename Index>
Outcome RunAll(const Call& call, CpuContext& context) {
  Run<Index> run(call, context);
  std::int64_t& iterations = call.Output<std::int64_t>("iterations")[0];
  iterations = 0;
  const CpuContext::Part preparing{0, kPrepared}, iterating{kPrepared, 1};
  csr::Defect defect;
  if (!run.Look(defect, preparing.Step(0, 2))) return Outcome::Cancelled();
  const std::uint64_t nodes = run.graph().rows;
  if (defect.wrong != csr::Wrong::kNothing) return csr::OutcomeOf(defect, run.graph().entries, nodes, "nodes");
  const auto converged = [&] {
    context.Progress(1);  // fewer iterations than it might have taken
    return Outcome::Ok();
  };
  if (nodes == 0) return converged();
  if (!run.TurnRound(preparing.Step(1, 2))) return Outcome::Cancelled();
  if (!run.Begin(kPrepared)) return Outcome::Cancelled();
  const Limits limits = LimitsOf(call);
  const double damping = call.Float("damping");
  double change = 0;
  for (std::uint64_t i = 0; i < limits.iterations; ++i) {
    if (!run.Iterate(damping, change, iterating.Step(i, limits.iterations))) return Outcome::Cancelled();
    ++iterations;
    if (change < limits.change) return converged();
  }
  return NotConverged(limits, change);
}

}  // namespace

MemoryPlan PlanCpu(const BoundCall& call) {
  const Signature& indices = call.Input("indices");
  const auto edges = static_cast<std::size_t>(indices.shape[0]);
  const auto nodes = static_cast<std::size_t>(call.Input("indptr").shape[0]) - 1;
  return {.scratch_bytes = nodes * sizeof(Sum) + (nodes + 1 + edges) * SizeOf(indices.dtype)};
}

Outcome RunCpu(const Call& call, CpuContext& context) {
  return ForType<std::int32_t, std::int64_t>("pagerank", call.InputType("indices"),
                                             [&]<typename Index>() { return RunAll<Index>(call, context); });
}

}  // namespace hotplate::pagerank
