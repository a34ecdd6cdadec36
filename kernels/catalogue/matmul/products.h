// The products, for both back-ends: op(a) [m, k] by op(b) [k, n], once for each matrix of a batch. Standard library
// only.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "kernels/call/call.h"
#include "kernels/families/broadcast.h"
#include "kernels/families/matrix_stack.h"

namespace hotplate::matmul {

struct Products {
  std::uint64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  std::uint64_t count = 1;  // of the batch
  Broadcast matrices;       // its axes; steps and places count matrices
  bool stacked = false;     // m counts the rows of a batch's matrices, one below the other: b serves them all

  double multiplications() const { return static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k); }
};

// The size of a factor's matrices, after transposing if requested. As in NumPy, a left vector is one row and a right
// one a column, and the product has no such axis. A vector's transpose is itself.
struct Sides {
  std::int64_t rows = 0, columns = 0;
};
inline Sides LeftSides(std::span<const std::int64_t> a, bool transposed) {
  if (a.size() == 1) return {1, a[0]};
  const std::int64_t rows = a[a.size() - 2], columns = a[a.size() - 1];
  return transposed ? Sides{columns, rows} : Sides{rows, columns};
}
inline Sides RightSides(std::span<const std::int64_t> b, bool transposed) {
  if (b.size() == 1) return {b[0], 1};
  return LeftSides(b, transposed);
}
// A factor's sizes before the last two.
inline std::span<const std::int64_t> FactorBatch(std::span<const std::int64_t> factor) {
  return factor.first(factor.size() < 2 ? 0 : factor.size() - 2);
}

// For shapes that the spec has accepted. If the product has no element, do not look at its batch.
inline Products ProductsOf(std::span<const std::int64_t> a, std::span<const std::int64_t> b,
                           std::span<const std::int64_t> c, bool transpose_a, bool transpose_b) {
  const Sides left = LeftSides(a, transpose_a), right = RightSides(b, transpose_b);
  const auto batch = c.first(c.size() - (a.size() == 1 ? 0 : 1) - (b.size() == 1 ? 0 : 1));
  Products products;  // member by member: nvcc 12.0 loses members that follow a gap in an initializer
  products.m = static_cast<std::uint64_t>(left.rows);
  products.n = static_cast<std::uint64_t>(right.columns);
  products.k = static_cast<std::uint64_t>(left.columns);
  products.transpose_a = transpose_a;
  products.transpose_b = transpose_b;
  products.matrices = BroadcastOf(FactorBatch(a), FactorBatch(b), batch);
  for (const std::int64_t axis : batch) products.count *= static_cast<std::uint64_t>(axis);
  // If one b serves all, the matrices of a, one below the other, are one matrix.
  const bool one_b = products.matrices.rank == 1 && products.matrices.axes[0].b_step == 0;
  if (one_b && !products.transpose_a && products.m * products.count <= std::numeric_limits<std::int32_t>::max()) {
    products.stacked = products.count > 1;
    products.m *= products.count;
    products.count = 1;
    products.matrices = {};
  }
  return products;
}

inline Products ProductsOf(const Call& call) {
  const auto shape = [](const hotplate_array& array) {
    return std::span(array.shape, static_cast<std::size_t>(array.rank));
  };
  return ProductsOf(shape(call.InputArray("a")), shape(call.InputArray("b")), shape(call.OutputArray("c")),
                    call.Bool("transpose_a"), call.Bool("transpose_b"));
}

// Products of matrices that lie at even distances: the next one of a and of b is a step further, of c the next.
struct StridedProducts {
  Broadcast::Place first;  // matrices
  std::uint64_t first_c = 0;
  std::uint64_t a_step = 1, b_step = 1;  // 0: the same for all
  std::uint64_t count = 1;
};

// Calls each(StridedProducts), which returns an Outcome, for the whole batch in order, at most `most` products at once;
// ends with the first that is not OK.
template <typename Each>
Outcome InStrides(const Products& products, std::uint64_t most, const Each& each) {
  const Broadcast::Axis& inner = products.matrices.axes[0];
  for (std::uint64_t done = 0; done < products.count;) {
    const std::uint64_t left = inner.size - done % inner.size;
    const StridedProducts some{.first = products.matrices.Element(done),
                               .first_c = done,
                               .a_step = inner.a_step,
                               .b_step = inner.b_step,
                               .count = left < most ? left : most};
    if (const Outcome outcome = each(some); !outcome.ok()) return outcome;
    done += some.count;
  }
  return Outcome::Ok();
}

}  // namespace hotplate::matmul
