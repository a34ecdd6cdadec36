#include "kernels/pagerank/pagerank.h"

#include <cstdint>
#include <limits>
#include <string>

#include "kernels/csr_shapes.h"
#include "kernels/spec.h"
#include "kernels/status.h"

namespace hotplate::pagerank {
namespace {

absl::Status Shapes(BoundCall& call) {
  if (absl::Status status = CheckCsrShapes(call); !status.ok()) return status;
  const Signature& indptr = call.Input("indptr");
  if (indptr.dtype == DType::kInt32 && CsrRows(call) > std::numeric_limits<std::int32_t>::max()) {
    return InvalidField("inputs.indptr", "pagerank: indptr is " + ToString(indptr) + ", and int32 numbers " +
                                             std::to_string(std::numeric_limits<std::int32_t>::max()) +
                                             " nodes at most; give indptr and indices as int64");
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
          "The graph is its adjacency matrix in compressed rows, as networkx.to_scipy_sparse_array has it: the edges "
          "out of node i go to indices[indptr[i]] to indices[indptr[i + 1] - 1], in ascending order; an undirected "
          "graph has each edge twice. Every edge weighs the same; one that is there twice counts twice. As "
          "networkx.pagerank without personalization: each iteration makes rank[j] = damping * (the sum over edges i "
          "to j of rank[i] / edges out of i, plus what nodes without edges out have, shared by all) + (1 - damping) / "
          "nodes, from 1 / nodes, until the ranks change by less than tolerance * nodes in all. If that is not so "
          "after max_iterations, the job ends as FAILED, as networkx raises PowerIterationFailedConvergence, and says "
          "by how much the last one changed them. A matrix that is none ends it as FAILED too, with the first place "
          "that is wrong and the value there.")
      .Type("I", {DType::kInt32, DType::kInt64})
      .Param({.name = "damping",
              .type = ParamType::kFloat,
              .default_value = 0.85,
              .minimum = 0,
              .maximum = 1,
              .docs = "how much of its rank a node hands on along its edges; networkx's alpha"})
      .Param({.name = "tolerance",
              .type = ParamType::kFloat,
              .default_value = 1e-6,
              .minimum = 0,
              .maximum = 1,
              .docs = "times the nodes: the change of all ranks together, below which it ends; networkx's tol"})
      .Param({.name = "max_iterations",
              .type = ParamType::kInt,
              .default_value = std::int64_t{100},
              .minimum = 1,
              .maximum = 1'000'000'000,
              .docs = "networkx's max_iter"})
      .Input("indices", "I", "edges", "where each edge goes, node by node")
      .Input("indptr", "I", "nodes_and_one", "where the edges of each node begin, and the last end")
      .Output("rank", "float64", "nodes", "they add up to 1")
      .Output("iterations", "int64", "", "how many it took")
      .CostModel("each array once; how many iterations there are, each of which reads all edges, only the graph knows",
                 CostOf)
      .WorkBound(WorkBound)
      .Numerics(
          "computed in float64 but for sums, which are exact sums of shares rounded to 2^-62: the same bits on every "
          "device, whatever the order. With k the lesser of iterations and 1 / (1 - damping), the ranks' distances to "
          "those of exact arithmetic after as many iterations add up to at most k * ((edges + nodes) * 2^-62 + 2^-50)")
      .Chunked(250)
      .Shapes(Shapes)
      .Example("hotplate run pagerank indices.npy indptr.npy -o rank=rank.npy");
}

}  // namespace hotplate::pagerank
