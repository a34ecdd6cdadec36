// The matrix is cut into pieces with the same number of items (csr.h). A row that ends in a piece is written there;
// parts of the next row are added to it at the end.
#include "kernels/call/for_type.h"
#include "kernels/catalogue/spmv/spmv.h"
#include "kernels/devices/cpu/cpu_context.h"
#include "kernels/devices/cpu/csr.h"
#include "kernels/devices/cpu/multiversion.h"
#include "kernels/devices/device.h"

namespace hotplate::spmv {
namespace {

// Items of a piece: some 20 microseconds. From kLongRow entries on, a row is multiplied by vectors.
constexpr std::size_t kItems = 32'768, kLongRow = 32;

constexpr std::size_t PiecesOf(std::size_t items) { return (items + kItems - 1) / kItems; }

template <typename T, typename Index>
struct Product {
  csr::Matrix<Index> matrix;
  const T* data;
  const T* x;
  T* y;
};

template <typename T, typename Index>
HOTPLATE_INLINE T SumOf(const Product<T, Index>& product, std::size_t begin, std::size_t end) {
  const T* const data = product.data;
  const T* const x = product.x;
  const Index* const columns = product.matrix.indices;
  T sum = 0;
  if (end - begin < kLongRow) {
    for (std::size_t i = begin; i < end; ++i) sum += data[i] * x[columns[i]];
    return sum;
  }
#pragma omp simd reduction(+ : sum)
  for (std::size_t i = begin; i < end; ++i) sum += data[i] * x[columns[i]];
  return sum;
}

// Writes the rows that end in the piece; returns the piece's part of the next row.
template <typename T, typename Index>
HOTPLATE_MULTIVERSION T Multiply(const Product<T, Index>& product, csr::Place begin, csr::Place end) {
  std::size_t entry = begin.entry;
  for (std::size_t row = begin.row; row < end.row; ++row) {
    const auto next = static_cast<std::size_t>(product.matrix.indptr[row + 1]);
    product.y[row] = SumOf(product, entry, next);
    entry = next;
  }
  return SumOf(product, entry, end.entry);
}

// Scratch: each piece's part of its last row.
template <typename T, typename Index>
Outcome Run(const Call& call, CpuContext& context) {
  const auto matrix = csr::MatrixOf<Index>(call, call.Input<T>("x").size());
  const Product<T, Index> product{matrix, call.Input<T>("data").data(), call.Input<T>("x").data(),
                                  call.Output<T>("y").data()};
  const auto refuse = [&](const csr::Defect& defect) {
    return csr::OutcomeOf(defect, matrix.entries, matrix.columns, "columns");
  };
  csr::Defect in_indptr;
  if (!csr::FindDefectOfIndptr(matrix, in_indptr, context, 0)) return Outcome::Cancelled();
  if (in_indptr.wrong != csr::Wrong::kNothing) return refuse(in_indptr);

  const std::size_t items = csr::ItemsOf(matrix);
  T* const parts = reinterpret_cast<T*>(call.scratch().data());
  csr::FirstBadPiece bad(kItems);
  const auto multiply = [&](std::size_t first, std::size_t last) {
    const csr::Place begin = csr::PlaceOf(matrix, first), end = csr::PlaceOf(matrix, last);
    if (csr::EntriesAreGood(matrix, begin, end)) {
      parts[first / kItems] = Multiply(product, begin, end);
    } else {
      bad.Add(first);
    }
  };
  if (!context.ParallelChunks(items, kItems, multiply)) return Outcome::Cancelled();
  const csr::Defect in_entries = bad.Look(matrix);
  if (in_entries.wrong != csr::Wrong::kNothing) return refuse(in_entries);
  for (std::size_t piece = 0; piece + 1 < PiecesOf(items); ++piece) {
    const std::size_t row = csr::PlaceOf(matrix, (piece + 1) * kItems).row;
    if (row < matrix.rows) product.y[row] += parts[piece];
  }
  return Outcome::Ok();
}

}  // namespace

MemoryPlan PlanCpu(const BoundCall& call) {
  const Signature& data = call.Input("data");
  const auto items = static_cast<std::size_t>(data.shape[0] + call.Input("indptr").shape[0] - 1);
  return {.scratch_bytes = PiecesOf(items) * SizeOf(data.dtype)};
}

Outcome RunCpu(const Call& call, CpuContext& context) {
  return ForType<float, double>("spmv", call.InputType("data"), [&]<typename T>() {
    return ForType<std::int32_t, std::int64_t>("spmv", call.InputType("indices"),
                                               [&]<typename Index>() { return Run<T, Index>(call, context); });
  });
}

}  // namespace hotplate::spmv
