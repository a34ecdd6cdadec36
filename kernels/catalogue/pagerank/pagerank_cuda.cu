// Every edge adds its node's share to its target: whole numbers, whose sum is the same in any order. The device decides
// when the iteration ends; iterations enqueued after that do nothing.
#include "kernels/call/for_type.h"
#include "kernels/catalogue/pagerank/pagerank.h"
#include "kernels/catalogue/pagerank/pagerank_functor.h"
#include "kernels/devices/cuda/code/csr.cuh"

namespace hotplate::pagerank {
namespace {

// Most iterations enqueued before the host looks; fewer if they would take longer than kStepMs, and only a part of one
// for a large graph. An edge or a node is estimated at kCycles of a multiprocessor, since its sum may be anywhere in
// memory, and at kCyclesOfAll of the whole device, since all edges may go to one node.
constexpr std::uint64_t kMostAtOnce = 8;
constexpr double kStepMs = 20, kCycles = 64, kCyclesOfAll = 2;

enum Phase : std::uint64_t { kRunning = 0, kConverged = 1, kNoGraph = 2 };

struct State {
  // In this order they go to the host, behind a csr::Defect.
  std::uint64_t phase;
  std::uint64_t iterations;
  Sum change;  // of the last iteration

  Sum changing;                  // of this one
  Sum dangling, dangling_to_be;  // shares of nodes without edges, in this iteration and the next
};
constexpr std::size_t kPhaseWord = sizeof(csr::Defect) / sizeof(std::uint64_t), kChangeWord = kPhaseWord + 2;
static_assert(kChangeWord < 8, "the host has eight words");

// Scratch: findings and the rows where pieces begin (csr.cuh), the state, and for each node its outgoing and incoming
// shares.
struct Layout {
  std::uint64_t rows = 0, state = 0, handed_on = 0, handed = 0, bytes = 0;

  Layout(std::uint64_t nodes, std::uint64_t edges) {
    const std::uint64_t each = RoundUp(nodes * sizeof(Sum), kArenaAlignment);
    rows = csr::kFindingsBytes;
    state = rows + RoundUp((csr::PiecesOf(nodes + edges) + 1) * sizeof(std::uint64_t), kArenaAlignment);
    handed_on = state + RoundUp(sizeof(State), kArenaAlignment);
    handed = handed_on + each;
    bytes = handed + each;
  }
};

template <typename Index>
__global__ void __launch_bounds__(kBlockSize)
    LookAtEdges(csr::Matrix<Index> graph, csr::Findings* findings, const std::uint64_t* rows, std::uint64_t pieces) {
  if (findings->indptr != csr::kNone) return;
  for (std::uint64_t piece = blockIdx.x; piece < pieces; piece += gridDim.x) {
    csr::TakeEntries(graph, piece, csr::PieceAt(graph, rows, piece), csr::PieceAt(graph, rows, piece + 1), findings,
                     [](const auto&, unsigned) {});
  }
}

// Adds up the block's threads' numbers, a warp at a time.
__device__ __forceinline__ void AddAll(Sum* to, Sum mine) {
  mine = csr::SumOfWarp(mine);
  if (threadIdx.x % 32 == 0 && mine != 0) atomicAdd(to, mine);
}

// Ranks before the first iteration and outgoing shares of the nodes [begin, end). The state was zero.
template <typename Index>
__global__ void __launch_bounds__(kBlockSize)
    Begin(csr::Matrix<Index> graph, std::uint64_t begin, std::uint64_t end, const csr::Findings* findings, State* state,
          Sum* handed_on, Sum* handed, double* rank) {
  if (findings->indptr != csr::kNone || findings->piece != csr::kNone) {
    if (blockIdx.x == 0 && threadIdx.x == 0) state->phase = kNoGraph;
    return;
  }
  const double even = 1 / static_cast<double>(graph.rows);
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kBlockSize;
  Sum dangling = 0;
  for (std::uint64_t i = begin + std::uint64_t{blockIdx.x} * kBlockSize + threadIdx.x; i < end; i += stride) {
    const auto edges = static_cast<double>(graph.indptr[i + 1] - graph.indptr[i]);
    rank[i] = even;
    handed_on[i] = HandedOn(even, edges);
    handed[i] = 0;
    if (!(edges > 0)) dangling += handed_on[i];
  }
  AddAll(&state->dangling, dangling);
}

// Along the edges in the pieces [begin, end).
template <typename Index>
__global__ void __launch_bounds__(kBlockSize)
    HandOn(csr::Matrix<Index> graph, std::uint64_t begin, std::uint64_t end, const State* state,
           const std::uint64_t* rows, const Sum* handed_on, Sum* handed) {
  if (state->phase != kRunning) return;
  for (std::uint64_t piece = begin + blockIdx.x; piece < end; piece += gridDim.x) {
    const csr::Place from = csr::PieceAt(graph, rows, piece), to = csr::PieceAt(graph, rows, piece + 1);
    for (std::uint64_t i = from.entry + threadIdx.x; i < to.entry; i += kBlockSize) {
      atomicAdd(&handed[graph.indices[i]], handed_on[csr::RowOf(graph, i, from.row, to.row)]);
    }
  }
}

// An iteration's end for the nodes [begin, end), and the next one's beginning.
template <typename Index>
__global__ void __launch_bounds__(kBlockSize)
    Take(csr::Matrix<Index> graph, std::uint64_t begin, std::uint64_t end, double damping, State* state, Sum* handed_on,
         Sum* handed, double* rank) {
  if (state->phase != kRunning) return;
  const Step step(damping, graph.rows, state->dangling);
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kBlockSize;
  Sum change = 0, dangling = 0;
  for (std::uint64_t i = begin + std::uint64_t{blockIdx.x} * kBlockSize + threadIdx.x; i < end; i += stride) {
    const auto edges = static_cast<double>(graph.indptr[i + 1] - graph.indptr[i]);
    const double before = rank[i], now = step.Rank(handed[i]);
    rank[i] = now;
    change += FixedChange(fabs(now - before));
    const Sum share = HandedOn(now, edges);
    handed_on[i] = share;
    handed[i] = 0;
    if (!(edges > 0)) dangling += share;
  }
  AddAll(&state->changing, change);
  AddAll(&state->dangling_to_be, dangling);
}

__global__ void __launch_bounds__(1) Judge(Limits limits, State* state, std::int64_t* iterations) {
  if (state->phase != kRunning) return;
  *iterations = static_cast<std::int64_t>(++state->iterations);
  state->change = state->changing;
  state->dangling = state->dangling_to_be;
  state->changing = state->dangling_to_be = 0;
  if (ChangeOf(state->change) < limits.change) state->phase = kConverged;
}

template <typename Index>
Outcome Run(const Call& call, CudaContext& context) {
  const std::uint64_t nodes = call.Input<Index>("indptr").size() - 1;
  const auto graph = csr::MatrixOf<Index>(call, nodes);
  const std::uint64_t pieces = csr::PiecesOf(csr::ItemsOf(graph));
  const Layout layout(nodes, graph.entries);
  std::byte* const scratch = call.scratch().data();
  auto* const findings = reinterpret_cast<csr::Findings*>(scratch);
  auto* const rows = reinterpret_cast<std::uint64_t*>(scratch + layout.rows);
  auto* const state = reinterpret_cast<State*>(scratch + layout.state);
  auto* const handed_on = reinterpret_cast<Sum*>(scratch + layout.handed_on);
  auto* const handed = reinterpret_cast<Sum*>(scratch + layout.handed);
  double* const rank = call.Output<double>("rank").data();
  std::int64_t* const iterations = call.Output<std::int64_t>("iterations").data();
  const double damping = call.Float("damping");
  const Limits limits = LimitsOf(call);
  void* const words = const_cast<std::uint64_t*>(context.host_words() + kPhaseWord);

  const CudaTraits& traits = context.traits();
  const auto multiprocessors = static_cast<std::uint64_t>(traits.multiprocessors);
  const double item_cycles = std::max(kCycles / static_cast<double>(multiprocessors), kCyclesOfAll);
  const Chunks of_pieces =
      ChunksWithin(pieces, item_cycles * csr::kItems, traits.cycles_per_ms, kStepMs, multiprocessors);
  const Chunks of_nodes = ChunksWithin(nodes, item_cycles, traits.cycles_per_ms, kStepMs, kBlockSize * multiprocessors);

  const auto tell_state = [&] {
    return ToOutcome(cudaMemcpyAsync(words, state, 3 * sizeof(std::uint64_t), cudaMemcpyDeviceToHost, context.stream()),
                     "telling how far the iteration is");
  };
  const auto look = [&] {
    if (const Outcome o = csr::Begin(graph, findings, rows, context); !o.ok()) return o;
    const Outcome counted = ToOutcome(cudaMemsetAsync(iterations, 0, sizeof *iterations, context.stream()), "memset");
    if (!counted.ok()) return counted;
    const Outcome cleared = ToOutcome(cudaMemsetAsync(state, 0, sizeof *state, context.stream()), "memset");
    if (!cleared.ok() || pieces == 0) return cleared;
    return Launch(context, LookAtEdges<Index>, std::min(pieces, kMaxGrid), kBlockSize, graph, findings, rows, pieces);
  };
  const auto begin = [&](std::uint64_t first, std::uint64_t end) {
    return Launch(context, Begin<Index>, GridFor(end - first, 4), kBlockSize, graph, first, end, findings, state,
                  handed_on, handed, rank);
  };
  const auto hand_on = [&](std::uint64_t first, std::uint64_t end) {
    return Launch(context, HandOn<Index>, std::min(end - first, kMaxGrid), kBlockSize, graph, first, end, state, rows,
                  handed_on, handed);
  };
  const auto take = [&](std::uint64_t first, std::uint64_t end) {
    return Launch(context, Take<Index>, GridFor(end - first, 4), kBlockSize, graph, first, end, damping, state,
                  handed_on, handed, rank);
  };
  // The parts of an iteration: edges hand on shares, nodes take them, and the result is judged.
  const std::uint64_t parts = of_pieces.count() + of_nodes.count();
  const auto part = [&](std::uint64_t i) {
    if (i < of_pieces.count()) return hand_on(of_pieces.Begin(i), of_pieces.End(i));
    const std::uint64_t chunk = i - of_pieces.count();
    const Outcome taken = take(of_nodes.Begin(chunk), of_nodes.End(chunk));
    if (!taken.ok() || i + 1 < parts) return taken;
    return Launch(context, Judge, 1, 1, limits, state, iterations);
  };

  // A step is a part of an iteration that was cut, or some iterations.
  const Chunks whole = ChunksWithin(limits.iterations, item_cycles * static_cast<double>(ItemsOf(graph) + nodes),
                                    traits.cycles_per_ms, kStepMs, 1);
  const Chunks steps{.total = nodes == 0 ? 0 : limits.iterations * parts,
                     .size = parts > 2 ? 1 : 2 * std::min(whole.size, kMostAtOnce)};
  const std::uint64_t preparing = std::max<std::uint64_t>(of_nodes.count(), 1);
  const auto enqueue = [&](std::uint64_t step) {
    Outcome o = step == 0 ? look() : Outcome::Ok();
    if (o.ok() && step < of_nodes.count()) o = begin(of_nodes.Begin(step), of_nodes.End(step));
    if (step < preparing) return o;
    step -= preparing;
    for (std::uint64_t i = steps.Begin(step); o.ok() && i < steps.End(step); ++i) o = part(i % parts);
    return o;
  };
  const Outcome ran = context.Pace(
      preparing + steps.count(),
      [&](std::uint64_t i) {
        const Outcome o = enqueue(i);
        return o.ok() ? tell_state() : o;
      },
      [&](std::uint64_t i) {
        context.ReportProgress(static_cast<double>(i) / static_cast<double>(preparing + steps.count()));
        return context.host_words()[kPhaseWord] != kRunning;
      });
  if (!ran.ok()) return ran;
  return csr::Tell(graph, findings, context);
}

}  // namespace

std::uint64_t ScratchCuda(const Call& call, const CudaTraits&) {
  return Layout(static_cast<std::uint64_t>(call.InputArray("indptr").shape[0] - 1),
                static_cast<std::uint64_t>(call.InputArray("indices").shape[0]))
      .bytes;
}

Outcome RunCuda(const Call& call, CudaContext& context) {
  return ForType<std::int32_t, std::int64_t>("pagerank", call.InputType("indices"),
                                             [&]<typename Index>() { return Run<Index>(call, context); });
}

Outcome FinishCuda(const Call& call, CudaContext& context) {
  const auto nodes = static_cast<std::uint64_t>(call.InputArray("indptr").shape[0] - 1);
  const auto edges = static_cast<std::uint64_t>(call.InputArray("indices").shape[0]);
  const Outcome graph = csr::OutcomeOf(csr::Told(context), edges, nodes, "nodes");
  if (!graph.ok() || nodes == 0 || context.host_words()[kPhaseWord] == kConverged) return graph;
  return NotConverged(LimitsOf(call), ChangeOf(context.host_words()[kChangeWord]));
}

}  // namespace hotplate::pagerank
