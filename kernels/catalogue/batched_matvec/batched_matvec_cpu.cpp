#include <cblas.h>

#include <algorithm>
#include <cstring>

#include "kernels/call/for_type.h"
#include "kernels/catalogue/batched_matvec/batched_matvec.h"
#include "kernels/devices/cpu/multiversion.h"
#include "kernels/devices/cpu/openblas_use.h"

namespace hotplate::batched_matvec {
namespace {

// Fewer multiplications than this are not worth waking threads for.
constexpr double kSerialBelow = 262'144;

void Gemm(int b, int m, int k, const float* x, const float* a, float* y) {
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, b, m, k, 1, x, k, a, k, 0, y, m);
}
void Gemm(int b, int m, int k, const double* x, const double* a, double* y) {
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, b, m, k, 1, x, k, a, k, 0, y, m);
}
void Gemv(int m, int k, const float* a, const float* x, float* y) {
  cblas_sgemv(CblasRowMajor, CblasNoTrans, m, k, 1, a, k, x, 1, 0, y, 1);
}
void Gemv(int m, int k, const double* a, const double* x, double* y) {
  cblas_dgemv(CblasRowMajor, CblasNoTrans, m, k, 1, a, k, x, 1, 0, y, 1);
}

// Rows [begin, end) of all matrices, one below the other; row i belongs to vector i / m. Four of a vector's at a time:
// one sum would wait for its own last addition.
template <typename T>
HOTPLATE_INLINE void Dots(const T* a, const T* x, T* y, std::size_t m, std::size_t k, std::size_t begin,
                          std::size_t end) {
  for (std::size_t row = begin; row < end;) {
    const T* const r0 = a + row * k;
    const T* const vector = x + row / m * k;
    if (std::min(end, (row / m + 1) * m) - row >= 4) {
      const T *const r1 = r0 + k, *const r2 = r1 + k, *const r3 = r2 + k;
      T s0 = 0, s1 = 0, s2 = 0, s3 = 0;
#pragma omp simd reduction(+ : s0, s1, s2, s3)
      for (std::size_t i = 0; i < k; ++i) {
        s0 += r0[i] * vector[i];
        s1 += r1[i] * vector[i];
        s2 += r2[i] * vector[i];
        s3 += r3[i] * vector[i];
      }
      y[row] = s0;
      y[row + 1] = s1;
      y[row + 2] = s2;
      y[row + 3] = s3;
      row += 4;
      continue;
    }
    T sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t i = 0; i < k; ++i) sum += r0[i] * vector[i];
    y[row] = sum;
    ++row;
  }
}
// In float32 the library's own, which keeps to this thread, is faster.
void Rows(const float* a, const float* x, float* y, std::size_t m, std::size_t k, std::size_t begin, std::size_t end) {
  for (std::size_t row = begin; row < end;) {
    const std::size_t rows = std::min(end, (row / m + 1) * m) - row;
    Gemv(static_cast<int>(rows), static_cast<int>(k), a + row * k, x + row / m * k, y + row);
    row += rows;
  }
}
HOTPLATE_MULTIVERSION void Rows(const double* a, const double* x, double* y, std::size_t m, std::size_t k,
                                std::size_t begin, std::size_t end) {
  Dots(a, x, y, m, k, begin, end);
}

template <typename T>
Outcome Run(const Call& call, CpuContext& context) {
  const T* const a = call.Input<T>("a").data();
  const T* const x = call.Input<T>("x").data();
  const hotplate_array& y = call.OutputArray("y");
  T* const out = static_cast<T*>(y.data);
  const auto batch = static_cast<std::size_t>(y.shape[0]), m = static_cast<std::size_t>(y.shape[1]);
  const auto k = static_cast<std::size_t>(call.InputArray("x").shape[1]);
  if (y.bytes == 0) return Outcome::Ok();
  if (k == 0) {  // the empty sum
    std::memset(y.data, 0, y.bytes);
    return Outcome::Ok();
  }
  const bool small = static_cast<double>(batch * m) * static_cast<double>(k) < kSerialBelow;
  if (call.InputArray("a").rank == 3) {
    const auto rows = [=, &context](std::size_t begin, std::size_t end) {
      const OpenBlasUse here(context, true);
      Rows(a, x, out, m, k, begin, end);
    };
    if (small) {
      rows(0, batch * m);
    } else {
      // A chunk is some 256 KiB of the matrices.
      if (!context.ParallelChunks(batch * m, 65'536 / k + 1, rows)) return Outcome::Cancelled();
    }
    return Outcome::Ok();
  }
  const OpenBlasUse use(context, small);
  const auto side = [](std::size_t size) { return static_cast<int>(size); };  // the spec has bounded it
  if (batch == 1) {
    Gemv(side(m), side(k), a, x, out);
  } else {
    Gemm(side(batch), side(m), side(k), x, a, out);
  }
  return Outcome::Ok();
}

}  // namespace

Outcome RunCpu(const Call& call, CpuContext& context) {
  return ForType<float, double>("batched_matvec", call.InputType("a"),
                                [&]<typename T>() { return Run<T>(call, context); });
}

}  // namespace hotplate::batched_matvec
