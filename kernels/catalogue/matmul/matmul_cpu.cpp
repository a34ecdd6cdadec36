#include <cblas.h>

#include <complex>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/call/for_type.h"
#include "kernels/catalogue/matmul/matmul.h"
#include "kernels/catalogue/matmul/products.h"
#include "kernels/devices/cpu/multiversion.h"
#include "kernels/devices/cpu/openblas_use.h"

namespace hotplate::matmul {
namespace {

// Products with fewer multiplications than this run on one thread, as OpenBLAS itself would have it.
constexpr double kSerialBelow = 262'144;

// Products of a batch are made side by side, each on one thread, if they are small, or if there are so many that all
// threads have some and none takes long. A thread takes this many multiplications at a time; each product counts as
// some more.
constexpr double kSideBySideBelow = 512.0 * 512 * 512;
constexpr std::uint64_t kSideBySideFrom = 8;
constexpr double kTogether = 1'000'000, kEachProduct = 1000;

// For products with no more multiplications than this a call of the library takes longer than they do.
constexpr double kTiny = 512;

// A right factor no larger than this stays in a core's cache: the rows multiplied by it are then cut into pieces of at
// least kRowsTogether rows, each for one thread.
constexpr std::uint64_t kSharedFactor = 512 * 512;
constexpr std::size_t kRowsTogether = 256;

// One product in BLAS's terms. The spec ensures that sides fit in int.
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
template <typename Real>
constexpr std::complex<Real> kOne{1, 0};
template <typename Real>
constexpr std::complex<Real> kZero{0, 0};
void Gemm(const Product<std::complex<float>>& p) {
  cblas_cgemm(CblasRowMajor, Op(p.transpose_a), Op(p.transpose_b), p.m, p.n, p.k, &kOne<float>, p.a, p.lda, p.b, p.ldb,
              &kZero<float>, p.c, p.n);
}
void Gemm(const Product<std::complex<double>>& p) {
  cblas_zgemm(CblasRowMajor, Op(p.transpose_a), Op(p.transpose_b), p.m, p.n, p.k, &kOne<double>, p.a, p.lda, p.b, p.ldb,
              &kZero<double>, p.c, p.n);
}
void Syrk(const Product<float>& p) {
  cblas_ssyrk(CblasRowMajor, CblasUpper, Op(p.transpose_a), p.n, p.k, 1, p.a, p.lda, 0, p.c, p.n);
}
void Syrk(const Product<double>& p) {
  cblas_dsyrk(CblasRowMajor, CblasUpper, Op(p.transpose_a), p.n, p.k, 1, p.a, p.lda, 0, p.c, p.n);
}
void Syrk(const Product<std::complex<float>>& p) {
  cblas_csyrk(CblasRowMajor, CblasUpper, Op(p.transpose_a), p.n, p.k, &kOne<float>, p.a, p.lda, &kZero<float>, p.c,
              p.n);
}
void Syrk(const Product<std::complex<double>>& p) {
  cblas_zsyrk(CblasRowMajor, CblasUpper, Op(p.transpose_a), p.n, p.k, &kOne<double>, p.a, p.lda, &kZero<double>, p.c,
              p.n);
}
// y = op(matrix) x, matrix stored as rows x columns.
void Gemv(bool transpose, int rows, int columns, const float* matrix, const float* x, float* y) {
  cblas_sgemv(CblasRowMajor, Op(transpose), rows, columns, 1, matrix, columns, x, 1, 0, y, 1);
}
void Gemv(bool transpose, int rows, int columns, const double* matrix, const double* x, double* y) {
  cblas_dgemv(CblasRowMajor, Op(transpose), rows, columns, 1, matrix, columns, x, 1, 0, y, 1);
}
void Gemv(bool transpose, int rows, int columns, const std::complex<float>* matrix, const std::complex<float>* x,
          std::complex<float>* y) {
  cblas_cgemv(CblasRowMajor, Op(transpose), rows, columns, &kOne<float>, matrix, columns, x, 1, &kZero<float>, y, 1);
}
void Gemv(bool transpose, int rows, int columns, const std::complex<double>* matrix, const std::complex<double>* x,
          std::complex<double>* y) {
  cblas_zgemv(CblasRowMajor, Op(transpose), rows, columns, &kOne<double>, matrix, columns, x, 1, &kZero<double>, y, 1);
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

bool IsByItsTranspose(const auto& p) { return p.a == p.b && p.m == p.n && p.n > 1 && p.transpose_a != p.transpose_b; }

// On this thread alone, apart from the library's own threads.
template <typename T>
void Multiply(const Product<T>& p) {
  if (p.n == 1) return Gemv(p.transpose_a, p.transpose_a ? p.k : p.m, p.lda, p.a, p.b, p.c);
  if (p.m == 1) return Gemv(!p.transpose_b, p.transpose_b ? p.n : p.k, p.ldb, p.b, p.a, p.c);
  if (!IsByItsTranspose(p)) return Gemm(p);
  Syrk(p);
  MirrorRows(p.c, static_cast<std::size_t>(p.n), 0, static_cast<std::size_t>(p.n));
}

// By all threads. False if cancelled.
template <typename T>
bool Multiply(const Product<T>& p, CpuContext& context) {
  if (!IsByItsTranspose(p)) {
    Multiply(p);
    return true;
  }
  Syrk(p);
  const std::size_t n = static_cast<std::size_t>(p.n);
  constexpr std::size_t kRows = 64;
  return context.ParallelChunks((n + kRows - 1) / kRows, 1, [=](std::size_t begin, std::size_t end) {
    MirrorRows(p.c, n, begin * kRows, std::min(n, end * kRows));
  });
}

// This many rows of c at a time, each by one thread; all of them at once if a is transposed. False if cancelled.
template <typename T>
bool MultiplyRows(const Product<T>& p, std::size_t rows, CpuContext& context, CpuContext::Part part) {
  const auto multiply = [&](std::size_t begin, std::size_t end) {
    const OpenBlasUse use(context, /*serial=*/true);
    Product<T> some = p;
    some.a += begin * static_cast<std::size_t>(p.lda);
    some.c += begin * static_cast<std::size_t>(p.n);
    some.m = static_cast<int>(end - begin);
    Multiply(some);
  };
  const auto all = static_cast<std::size_t>(p.m);
  return context.ParallelChunks(all, p.transpose_a ? all : rows, multiply, part);
}

template <typename T>
Product<T> ProductAt(const Products& all, const Call& call, std::uint64_t index) {
  const auto side = [](std::uint64_t size) { return static_cast<int>(size); };
  const Broadcast::Place place = all.matrices.Element(index);
  return {.a = call.Input<T>("a").data() + place.a * all.m * all.k,
          .b = call.Input<T>("b").data() + place.b * all.k * all.n,
          .c = call.Output<T>("c").data() + index * all.m * all.n,
          .m = side(all.m),
          .n = side(all.n),
          .k = side(all.k),
          .lda = side(all.transpose_a ? all.m : all.k),
          .ldb = side(all.transpose_b ? all.k : all.n),
          .transpose_a = all.transpose_a,
          .transpose_b = all.transpose_b};
}

// Products [begin, end) of a batch; rows of c have N elements, each a sum of b's rows.
template <typename T, std::size_t N>
HOTPLATE_MULTIVERSION void MultiplyTiny(const Products& all, const T* a, const T* b, T* c, std::size_t begin,
                                        std::size_t end) {
  using Row [[gnu::vector_size(N * sizeof(T))]] = T;
  const std::size_t m = all.m, k = all.k;
  const std::size_t a_row = all.transpose_a ? 1 : k, a_column = all.transpose_a ? m : 1;
  for (std::size_t product = begin; product < end; ++product) {
    const Broadcast::Place place = all.matrices.Element(product);
    const T* const left = a + place.a * m * k;
    const T* const right = b + place.b * k * N;
    T* const out = c + product * m * N;
    for (std::size_t i = 0; i < m; ++i) {
      Row sum = {};
      for (std::size_t l = 0; l < k; ++l) {
        Row row;
        std::memcpy(&row, right + l * N, sizeof row);
        sum += left[i * a_row + l * a_column] * row;
      }
      std::memcpy(out + i * N, &sum, sizeof sum);
    }
  }
}

template <typename T>
using Tiny = void (*)(const Products&, const T*, const T*, T*, std::size_t, std::size_t);

// Null where the library is as fast.
template <typename T>
Tiny<T> TinyProducts(const Products& all) {
  if (all.multiplications() > kTiny || all.transpose_b) return nullptr;
  if constexpr (std::is_floating_point_v<T>) {  // there are no vectors of complex numbers
    if (all.n == 2) return MultiplyTiny<T, 2>;
    if (all.n == 4) return MultiplyTiny<T, 4>;
    if (all.n == 8) return MultiplyTiny<T, 8>;
  }
  return nullptr;
}

template <typename T>
Outcome Run(const Call& call, CpuContext& context) {
  const hotplate_array& c = call.OutputArray("c");
  if (c.bytes == 0) return Outcome::Ok();
  const Products all = ProductsOf(call);
  if (all.k == 0) {
    std::memset(c.data, 0, c.bytes);
    return Outcome::Ok();
  }
  const bool small = all.multiplications() < kSerialBelow;
  if (all.stacked && all.k * all.n <= kSharedFactor) {
    const auto rows = std::max(kRowsTogether, static_cast<std::size_t>(kTogether / static_cast<double>(all.k * all.n)));
    return MultiplyRows(ProductAt<T>(all, call, 0), rows, context, {}) ? Outcome::Ok() : Outcome::Cancelled();
  }
  const bool many = all.count >= kSideBySideFrom && all.multiplications() < kSideBySideBelow;
  if (all.count > 1 && (small || many)) {
    const auto chunk = static_cast<std::size_t>(kTogether / (all.multiplications() + kEachProduct)) + 1;
    const auto tiny = TinyProducts<T>(all);
    const T* const a = call.Input<T>("a").data();
    const T* const b = call.Input<T>("b").data();
    const bool whole = context.ParallelChunks(all.count, chunk, [&](std::size_t begin, std::size_t end) {
      if (tiny != nullptr) return tiny(all, a, b, static_cast<T*>(c.data), begin, end);
      const OpenBlasUse use(context, /*serial=*/true);
      for (std::size_t i = begin; i < end; ++i) Multiply(ProductAt<T>(all, call, i));
    });
    return whole ? Outcome::Ok() : Outcome::Cancelled();
  }
  // The library cuts a product by its threads; cut here, by its size, it has the same bits at any number of them.
  const bool cut_here = context.deterministic() && !small;
  for (std::uint64_t i = 0; i < all.count; ++i) {
    if (context.cancelled()) return Outcome::Cancelled();
    if (cut_here) {
      const Product<T> product = ProductAt<T>(all, call, i);
      if (!MultiplyRows(product, kRowsTogether, context, CpuContext::Part().Step(i, all.count))) {
        return Outcome::Cancelled();
      }
      continue;
    }
    const OpenBlasUse use(context, small);
    if (!Multiply(ProductAt<T>(all, call, i), context)) return Outcome::Cancelled();
  }
  return Outcome::Ok();
}

}  // namespace

Outcome RunCpu(const Call& call, CpuContext& context) {
  return ForType<float, double, std::complex<float>, std::complex<double>>(
      "matmul", call.InputType("a"), [&]<typename T>() { return Run<T>(call, context); });
}

}  // namespace hotplate::matmul
