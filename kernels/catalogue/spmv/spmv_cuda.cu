// A block processes pieces with the same number of items (csr.h): the products go to shared memory and are added there
// row by row. A row that ends in a piece is written there; parts of the next row are added to it at the end, in an
// order that depends only on the matrix.
#include "kernels/call/for_type.h"
#include "kernels/catalogue/spmv/spmv.h"
#include "kernels/devices/cuda/code/csr.cuh"

namespace hotplate::spmv {
namespace {

// Scratch: findings, the rows where pieces begin, and each piece's part of its last row.
struct Layout {
  std::uint64_t rows = 0, parts = 0, bytes = 0;

  Layout(std::uint64_t pieces, std::uint64_t element) {
    rows = csr::kFindingsBytes;
    parts = rows + RoundUp((pieces + 1) * sizeof(std::uint64_t), kArenaAlignment);
    bytes = parts + pieces * element;
  }
};

template <typename T, typename Index>
__global__ void __launch_bounds__(kBlockSize)
    Multiply(csr::Matrix<Index> matrix, const T* data, const T* x, csr::Findings* findings, const std::uint64_t* rows,
             std::uint64_t pieces, T* parts, T* y) {
  __shared__ T products[csr::kItems];
  if (findings->indptr != csr::kNone) return;
  for (std::uint64_t piece = blockIdx.x; piece < pieces; piece += gridDim.x) {
    const csr::Place begin = csr::PieceAt(matrix, rows, piece), end = csr::PieceAt(matrix, rows, piece + 1);
    csr::TakeEntries(matrix, piece, begin, end, findings, [&](const Index(&columns)[csr::kOfThread], unsigned good) {
      const T* const own = data + begin.entry + threadIdx.x;
      T factors[csr::kOfThread] = {}, others[csr::kOfThread] = {};
#pragma unroll
      for (unsigned u = 0; u < csr::kOfThread; ++u) {
        if ((good >> u & 1) != 0) factors[u] = own[u * kBlockSize], others[u] = x[columns[u]];
      }
      // There is room for all; products behind the piece's entries are not read.
#pragma unroll
      for (unsigned u = 0; u < csr::kOfThread; ++u) products[threadIdx.x + u * kBlockSize] = factors[u] * others[u];
    });
    // The rows that end here, and the next one: each has about as many lanes as rows have entries on average.
    const std::uint64_t ends = end.row - begin.row, average = (end.entry - begin.entry) / (ends + 1);
    unsigned lanes = 1;
    while (lanes < 32 && 2 * lanes <= average) lanes *= 2;
    const std::uint64_t at_once = kBlockSize / lanes;
    for (std::uint64_t first = 0; first <= ends; first += at_once) {
      const std::uint64_t row = begin.row + first + threadIdx.x / lanes;
      T sum = 0;
      if (row <= end.row && row < matrix.rows) {
        const auto row_begin = static_cast<std::uint64_t>(matrix.indptr[row]);
        const std::uint64_t row_end = row == end.row ? end.entry : static_cast<std::uint64_t>(matrix.indptr[row + 1]);
        for (std::uint64_t i = (row_begin > begin.entry ? row_begin : begin.entry) + threadIdx.x % lanes; i < row_end;
             i += lanes) {
          sum += products[i - begin.entry];
        }
      }
      for (unsigned offset = lanes / 2; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
      if (threadIdx.x % lanes == 0 && row <= end.row) (row == end.row ? parts[piece] : y[row]) = sum;
    }
    __syncthreads();  // before the next piece's products take the place of these
  }
}

// A warp for each row that ends a piece: adds the pieces' parts of it.
template <typename T, typename Index>
__global__ void __launch_bounds__(kBlockSize)
    Join(csr::Matrix<Index> matrix, const csr::Findings* findings, const std::uint64_t* rows, std::uint64_t pieces,
         const T* parts, T* y) {
  if (findings->indptr != csr::kNone) return;
  constexpr unsigned kWarps = kBlockSize / 32;
  const std::uint64_t step = std::uint64_t{gridDim.x} * kWarps;
  for (std::uint64_t piece = std::uint64_t{blockIdx.x} * kWarps + threadIdx.x / 32; piece < pieces; piece += step) {
    const std::uint64_t row = rows[piece + 1];
    const bool begins_before = piece > 0 && rows[piece] == row;  // then an earlier piece's warp has it
    if (row >= matrix.rows || begins_before) continue;
    std::uint64_t low = piece + 1, high = pieces;  // the first piece that ends in another row
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      if (rows[middle + 1] == row) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    T sum = 0;
    for (std::uint64_t i = piece + threadIdx.x % 32; i < low; i += 32) sum += parts[i];
    sum = csr::SumOfWarp(sum);
    if (threadIdx.x % 32 == 0) y[row] += sum;
  }
}

template <typename T, typename Index>
Outcome Run(const Call& call, CudaContext& context) {
  const auto matrix = csr::MatrixOf<Index>(call, call.Input<T>("x").size());
  const std::uint64_t pieces = csr::PiecesOf(csr::ItemsOf(matrix));
  const Layout layout(pieces, sizeof(T));
  std::byte* const scratch = call.scratch().data();
  auto* const findings = reinterpret_cast<csr::Findings*>(scratch);
  auto* const rows = reinterpret_cast<std::uint64_t*>(scratch + layout.rows);
  T* const parts = reinterpret_cast<T*>(scratch + layout.parts);
  T* const y = call.Output<T>("y").data();
  if (const Outcome o = csr::Begin(matrix, findings, rows, context); !o.ok()) return o;
  if (pieces > 0) {
    const Outcome multiplied =
        Launch(context, Multiply<T, Index>, std::min<std::uint64_t>(pieces, kMaxGrid), kBlockSize, matrix,
               call.Input<T>("data").data(), call.Input<T>("x").data(), findings, rows, pieces, parts, y);
    if (!multiplied.ok()) return multiplied;
    const Outcome joined = Launch(context, Join<T, Index>, GridFor(pieces, 1, kBlockSize / 32), kBlockSize, matrix,
                                  findings, rows, pieces, parts, y);
    if (!joined.ok()) return joined;
  }
  return csr::Tell(matrix, findings, context);
}

}  // namespace

std::uint64_t ScratchCuda(const Call& call, const CudaTraits&) {
  const hotplate_array& data = call.InputArray("data");
  const auto items = static_cast<std::uint64_t>(data.shape[0] + call.InputArray("indptr").shape[0] - 1);
  return Layout(csr::PiecesOf(items), SizeOf(call.InputType("data"))).bytes;
}

Outcome RunCuda(const Call& call, CudaContext& context) {
  return ForType<float, double>("spmv", call.InputType("data"), [&]<typename T>() {
    return ForType<std::int32_t, std::int64_t>("spmv", call.InputType("indices"),
                                               [&]<typename Index>() { return Run<T, Index>(call, context); });
  });
}

Outcome FinishCuda(const Call& call, CudaContext& context) {
  return csr::OutcomeOf(csr::Told(context), static_cast<std::uint64_t>(call.InputArray("indices").shape[0]),
                        static_cast<std::uint64_t>(call.InputArray("x").shape[0]), "columns");
}

}  // namespace hotplate::spmv
