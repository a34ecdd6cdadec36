#include "kernels/catalogue/pagerank/pagerank.h"

#include <cstdint>
#include <limits>
#include <string>

#include "kernels/base/status.h"
#include "kernels/families/csr_shapes.h"
#include "kernels/spec/spec.h"

namespace hotplate::pagerank {
namespace {

absl::Status Shapes(BoundCall& call) {
  if (absl::Status status = CheckCsrShapes(call); !status.ok()) return status;
  const Signature& indptr = call.Input("indptr");
  if (indptr.dtype == DType::kInt32 && CsrRows(call) > std::numeric_limits<std::int32_t>::max()) {
    return InvalidField("inputs.indptr", "pagerank: indptr is " + ToString(indptr) + "; int32 can number at most " +
                                             std::to_string(std::numeric_limits<std::int32_t>::max()) +
                                             " nodes: give indptr and indices as int64");
  }
  call.outputs[0].shape = {CsrRows(call)};
  call.outputs[1].shape = {};
  return absl::OkStatus();
}

// How many iterations it takes, only the graph knows.
Cost CostOf(const BoundCall& call) {
  return {.flop = 0, .bytes = static_cast<double>(call.InputBytes() + call.OutputBytes())};
}

// Each edge's rank may be a miss of all caches.
double WorkBound(const BoundCall& call) {
  const double items = static_cast<double>(call.Input("indices").shape[0] + CsrRows(call));
  return 1000 + (static_cast<double>(call.Int("max_iterations")) + 4) * (100 + 300 * items);
}

}  // namespace

KernelSpecBuilder Spec() {
  return KernelSpecBuilder("pagerank", "PageRank of a graph's nodes, by power iteration")
      .Docs(
          "The graph is given by its adjacency matrix in compressed sparse rows, as networkx.to_scipy_sparse_array "
          "returns it: node i links to the nodes indices[indptr[i]] to indices[indptr[i + 1] - 1], in ascending order. "
          "An undirected graph lists each edge in both directions. All edges have the same weight; a duplicate edge "
          "counts twice. The algorithm is that of networkx.pagerank without personalization. Ranks start at 1 / nodes. "
          "Each iteration sets rank[j] = damping * (sum of rank[i] / out-degree of i over the edges from i to j, plus "
          "an equal share of the rank of nodes without outgoing edges) + (1 - damping) / nodes. It stops when the "
          "ranks change by less than tolerance * nodes in total. If that does not happen within max_iterations, the "
          "job fails and the message gives the last change; networkx raises PowerIterationFailedConvergence. An "
          "invalid matrix fails the job; the message gives the first wrong position and its value.")
      .Type("I", {DType::kInt32, DType::kInt64})
      .Param({.name = "damping",
              .type = ParamType::kFloat,
              .default_value = 0.85,
              .minimum = 0,
              .maximum = 1,
              .docs = "share of its rank that a node passes on along its edges; networkx's alpha"})
      .Param({.name = "tolerance",
              .type = ParamType::kFloat,
              .default_value = 1e-6,
              .minimum = 0,
              .maximum = 1,
              .docs = "stop when the ranks change by less than this times the number of nodes; networkx's tol"})
      .Param({.name = "max_iterations",
              .type = ParamType::kInt,
              .default_value = std::int64_t{100},
              .minimum = 1,
              .maximum = 1'000'000'000,
              .docs = "limit on the number of iterations; networkx's max_iter"})
      .Input("indices", "I", "edges", "target of each edge, node by node")
      .Input("indptr", "I", "nodes_and_one", "where the edges of each node begin in indices, then the number of edges")
      .Output("rank", "float64", "nodes", "the ranks, which sum to 1")
      .Output("iterations", "int64", "", "number of iterations done")
      .CostModel("each array moved once; the number of iterations, each of which reads all edges, depends on the graph",
                 CostOf)
      .WorkBound(WorkBound)
      .Numerics(
          "computed in float64, except that sums are exact sums of shares rounded to 2^-62: the same bits on every "
          "device, in any order. With k the smaller of iterations and 1 / (1 - damping), the ranks' differences from "
          "exact arithmetic after the same number of iterations sum to at most k * ((edges + nodes) * 2^-62 + 2^-50)")
      .Chunked(250)
      .Shapes(Shapes)
      .Example("hotplate run pagerank indices.npy indptr.npy -o rank=rank.npy");
}

}  // namespace hotplate::pagerank
