#include <cblas.h>

#include <cstdint>
#include <cstring>

#include "kernels/cpu/openblas_turn.h"
#include "kernels/matmul/matmul.h"

namespace hotplate::matmul {
namespace {

// Products with fewer multiplications than this run on one thread, as OpenBLAS itself would have it.
constexpr double kSerialBelow = 262'144;

// What one product is, in BLAS's words. Sides fit in int: the spec sees to it.
template <typename T>
struct Product {
  const T *a, *b;
  T* c;
  int m, n, k, lda, ldb;
  bool transpose_a, transpose_b;
};

CBLAS_TRANSPOSE Op(bool transpose) { return transpose ? CblasTrans : CblasNoTrans; }

void Gemm(const Product<float>& p) {
  cblas_sgemm(CblasRowMajor, Op(p.transpose_a), Op(p.transpose_b), p.m, p.n, p.k, 1, p.a, p.lda, p.b, p.ldb, 0, p.c,
              p.n);
}
void Gemm(const Product<double>& p) {
  cblas_dgemm(CblasRowMajor, Op(p.transpose_a), Op(p.transpose_b), p.m, p.n, p.k, 1, p.a, p.lda, p.b, p.ldb, 0, p.c,
              p.n);
}
void Syrk(const Product<float>& p) {
  cblas_ssyrk(CblasRowMajor, CblasUpper, Op(p.transpose_a), p.n, p.k, 1, p.a, p.lda, 0, p.c, p.n);
}
void Syrk(const Product<double>& p) {
  cblas_dsyrk(CblasRowMajor, CblasUpper, Op(p.transpose_a), p.n, p.k, 1, p.a, p.lda, 0, p.c, p.n);
}
// y = op(matrix) x, matrix stored as rows x columns.
void Gemv(bool transpose, int rows, int columns, const float* matrix, const float* x, float* y) {
  cblas_sgemv(CblasRowMajor, Op(transpose), rows, columns, 1, matrix, columns, x, 1, 0, y, 1);
}
void Gemv(bool transpose, int rows, int columns, const double* matrix, const double* x, double* y) {
  cblas_dgemv(CblasRowMajor, Op(transpose), rows, columns, 1, matrix, columns, x, 1, 0, y, 1);
}

// Copies the upper triangle to the lower, in tiles that stay in cache.
template <typename T>
void MirrorRows(T* c, std::size_t n, std::size_t begin, std::size_t end) {
  constexpr std::size_t kTile = 32;
  for (std::size_t column = 0; column < end; column += kTile) {
    for (std::size_t i = std::max(begin, column); i < end; ++i) {
      for (std::size_t j = column; j < std::min(column + kTile, i); ++j) c[i * n + j] = c[j * n + i];
    }
  }
}

template <typename T>
void Multiply(const Product<T>& p, const Call& call, CpuContext& context) {
  const hotplate_array &a = call.InputArray("a"), &b = call.InputArray("b");
  if (p.n == 1) return Gemv(p.transpose_a, static_cast<int>(a.shape[0]), p.lda, p.a, p.b, p.c);
  if (p.m == 1) return Gemv(!p.transpose_b, static_cast<int>(b.shape[0]), p.ldb, p.b, p.a, p.c);
  if (p.a == p.b && p.m == p.n && p.transpose_a != p.transpose_b && a.shape[0] == b.shape[0]) {
    Syrk(p);
    const std::size_t n = static_cast<std::size_t>(p.n);
    constexpr std::size_t kRows = 64;
    context.ParallelChunks((n + kRows - 1) / kRows, 1, [=](std::size_t begin, std::size_t end) {
      MirrorRows(p.c, n, begin * kRows, std::min(n, end * kRows));
    });
    return;
  }
  Gemm(p);
}

template <typename T>
Outcome Run(const Call& call, CpuContext& context) {
  const hotplate_array &a = call.InputArray("a"), &b = call.InputArray("b"), &c = call.OutputArray("c");
  const Product<T> p{.a = static_cast<const T*>(a.data),
                     .b = static_cast<const T*>(b.data),
                     .c = static_cast<T*>(c.data),
                     .m = static_cast<int>(c.shape[0]),
                     .n = static_cast<int>(c.shape[1]),
                     .k = static_cast<int>(a.shape[call.Bool("transpose_a") ? 0 : 1]),
                     .lda = static_cast<int>(a.shape[1]),
                     .ldb = static_cast<int>(b.shape[1]),
                     .transpose_a = call.Bool("transpose_a"),
                     .transpose_b = call.Bool("transpose_b")};
  if (p.m == 0 || p.n == 0) return Outcome::Ok();
  if (p.k == 0) {
    std::memset(c.data, 0, c.bytes);
    return Outcome::Ok();
  }
  const OpenBlasTurn turn(context, static_cast<double>(p.m) * p.n * p.k < kSerialBelow);
  Multiply(p, call, context);
  return Outcome::Ok();
}

}  // namespace

Outcome RunCpu(const Call& call, CpuContext& context) {
  return call.InputType("a") == DType::kFloat32 ? Run<float>(call, context) : Run<double>(call, context);
}

}  // namespace hotplate::matmul
