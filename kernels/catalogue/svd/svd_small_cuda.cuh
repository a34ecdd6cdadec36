// Small matrices, a warp to each: Jacobi's rotations of two columns at a time until all are orthogonal (Hestenes). For
// .cu files.
#pragma once

#include "kernels/devices/cuda/code/matrices.cuh"
#include "kernels/devices/cuda/code/small_matrices.cuh"

namespace hotplate::svd {

// b, rows x columns with rows >= columns, is a or a's transpose. Results that are not requested are null.
template <typename T>
struct SmallProblem {
  const T* a = nullptr;
  T *u = nullptr, *s = nullptr, *vt = nullptr;
  std::uint64_t count = 0;
  unsigned rows = 0, columns = 0;
  unsigned left_columns = 0;  // vectors on the side of b's rows: 0, columns, or rows
  bool turned = false;        // b is a's transpose
  // Two columns are orthogonal if their product is at most `orthogonal` times their norms'. A column whose square is
  // less than `least` counts as 0 beside the largest element of b, which is then between 1 and 2: its products may be
  // wrong.
  T orthogonal{}, least{};
};

// All lanes have the same sum.
template <typename T>
__device__ __forceinline__ T Product(const small_matrices::Tile<T>& tile, unsigned rows, unsigned p, unsigned q) {
  T sum{0};
  for (unsigned i = 0; i < rows; ++i) sum += tile[i][p] * tile[i][q];
  return sum;
}

// Makes the unknown columns of the tile, all 0, orthogonal to the others, with norm 1. Each begins as the unit vector
// farthest from the span so far. `known`: a bit for each column.
template <typename T>
__device__ void Complete(small_matrices::Tile<T>& tile, unsigned rows, unsigned columns, unsigned known) {
  __shared__ T words[small_matrices::kMost];
  const unsigned lane = threadIdx.x;
  for (unsigned column = 0; column < columns; ++column) {
    if ((known >> column & 1) != 0) continue;
    // The remainder of each unit vector. The unknown column itself is 0 and does not change a sum.
    T left{1};
    for (unsigned j = 0; j < columns && lane < rows; ++j) left -= tile[lane][j] * tile[lane][j];
    words[lane] = left;
    __syncthreads();
    unsigned farthest = 0;
    for (unsigned i = 1; i < rows; ++i) {
      if (words[i] > words[farthest]) farthest = i;
    }
    __syncthreads();
    T element = lane == farthest ? T{1} : T{0};  // of the new column, in this lane's row
    for (int pass = 0; pass < 2; ++pass) {       // twice is enough
      words[lane] = element;
      __syncthreads();
      T product{0};
      for (unsigned i = 0; i < rows && lane < columns; ++i) product += tile[i][lane] * words[i];
      __syncthreads();
      words[lane] = product;
      __syncthreads();
      for (unsigned j = 0; j < columns && lane < rows; ++j) element -= words[j] * tile[lane][j];
      __syncthreads();
    }
    words[lane] = lane < rows ? element * element : T{0};
    __syncthreads();
    T square{0};
    for (unsigned i = 0; i < rows; ++i) square += words[i];
    if (lane < rows) tile[lane][column] = element / sqrt(square);
    __syncthreads();
  }
}

// infos: how many pairs of columns are not orthogonal, if that takes too long (the convergence is quadratic).
template <typename T>
__global__ void __launch_bounds__(small_matrices::kWarp)
    DecomposeSmall(const SmallProblem<T> problem, int* flags, int* infos) {
  constexpr int kMostSweeps = 60;
  __shared__ small_matrices::Tile<T> b, v;
  __shared__ T norms[small_matrices::kMost];
  const unsigned lane = threadIdx.x, rows = problem.rows, columns = problem.columns;
  for (std::uint64_t matrix = blockIdx.x; matrix < problem.count; matrix += gridDim.x) {
    const T* const from = problem.a + matrix * rows * columns;
    small_matrices::Load<T>(b, rows, columns, [&](unsigned i, unsigned j) {
      return matrices::Checked(from[problem.turned ? j * rows + i : i * columns + j], flags + matrix);
    });
    small_matrices::Load<T>(v, columns, columns, [&](unsigned i, unsigned j) { return i == j ? T{1} : T{0}; });
    const int exponent = small_matrices::ScaleToOne<T>(b, rows, columns);
    int left = 1;
    for (int sweep = 0; left != 0 && sweep < kMostSweeps; ++sweep) {
      left = 0;
      for (unsigned p = 0; p + 1 < columns; ++p) {
        for (unsigned q = p + 1; q < columns; ++q) {
          const T first = Product<T>(b, rows, p, p), second = Product<T>(b, rows, q, q);
          if (first < problem.least || second < problem.least) continue;
          const T both = Product<T>(b, rows, p, q);
          if (fabs(both) <= problem.orthogonal * sqrt(first) * sqrt(second)) continue;
          ++left;
          const small_matrices::Rotation<T> rotation(first, second, both);
          __syncthreads();  // all have read them
          if (lane < rows) rotation.Turn(b[lane][p], b[lane][q]);
          if (lane < columns) rotation.Turn(v[lane][p], v[lane][q]);
          __syncthreads();
        }
      }
    }
    if (lane == 0) infos[matrix] = left;
    const T square = lane < columns ? Product<T>(b, rows, lane, lane) : T{0};
    norms[lane] = sqrt(square);
    const unsigned known = __ballot_sync(0xffffffff, square >= problem.least);
    __syncthreads();
    unsigned place = lane;  // of this lane's column in the order of their norms
    if (lane < columns) {
      place = 0;
      for (unsigned j = 0; j < columns; ++j) {
        place += norms[j] > norms[lane] || (norms[j] == norms[lane] && j < lane) ? 1 : 0;
      }
      problem.s[matrix * columns + place] = scalbn(norms[lane], exponent);
    }
    if (problem.left_columns != 0) {
      for (unsigned i = 0; i < rows; ++i) {
        if (lane < problem.left_columns) b[i][lane] = (known >> lane & 1) != 0 ? b[i][lane] / norms[lane] : T{0};
      }
      __syncthreads();
      Complete<T>(b, rows, problem.left_columns, known);
      // Vectors are columns of u and rows of vt.
      T* const u = problem.u + matrix * (problem.turned ? columns * columns : rows * problem.left_columns);
      T* const vt = problem.vt + matrix * (problem.turned ? problem.left_columns * rows : columns * columns);
      for (unsigned i = 0; i < rows && lane < problem.left_columns; ++i) {
        if (problem.turned) {
          vt[place * rows + i] = b[i][lane];
        } else {
          u[i * problem.left_columns + place] = b[i][lane];
        }
      }
      for (unsigned i = 0; i < columns && lane < columns; ++i) {
        if (problem.turned) {
          u[i * columns + place] = v[i][lane];
        } else {
          vt[place * columns + i] = v[i][lane];
        }
      }
    }
    __syncthreads();  // the next matrix takes this one's place
  }
}

}  // namespace hotplate::svd
