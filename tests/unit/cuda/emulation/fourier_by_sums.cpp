// fourier.h by sums on the host: what fft hands to a library, and what it makes of the answers, is judged without a
// GPU. As strict as a library may be: a spectrum of real numbers must be one, its input is gone, and the workspace, no
// larger than was asked for, is written over from end to end.
#include <cmath>
#include <complex>
#include <cstring>
#include <numbers>
#include <vector>

#include "kernels/cuda/fourier.h"

namespace hotplate::fourier {
namespace {

using Number = std::complex<long double>;

std::uint64_t BytesOf(const Batch& batch) { return 16 * batch.rows + 7; }

// `count` numbers, `stride` apart.
void Sum(Number* first, std::uint64_t count, std::uint64_t stride, int sign) {
  std::vector<Number> roots(count), sums(count);
  for (std::uint64_t k = 0; k < count; ++k) {
    const long double angle =
        2 * std::numbers::pi_v<long double> * static_cast<long double>(k) / static_cast<long double>(count);
    roots[k] = {std::cos(angle), static_cast<long double>(sign) * std::sin(angle)};
  }
  for (std::uint64_t k = 0; k < count; ++k) {
    long double real = 0, imaginary = 0;
    for (std::uint64_t j = 0, at = 0; j < count; ++j, at = (at + k) % count) {
      const Number x = first[j * stride], root = roots[at];
      real += x.real() * root.real() - x.imag() * root.imag();
      imaginary += x.real() * root.imag() + x.imag() * root.real();
    }
    sums[k] = {real, imaginary};
  }
  for (std::uint64_t k = 0; k < count; ++k) first[k * stride] = sums[k];
}

bool IsSymmetric(const Number* x, std::uint64_t rows, std::uint64_t columns) {
  for (std::uint64_t r = 0; r < rows; ++r) {
    for (const std::uint64_t c : {std::uint64_t{0}, columns / 2}) {
      if (2 * c % columns != 0) continue;
      const Number& mirror = x[(rows - r) % rows * columns + c];
      if (std::abs(x[r * columns + c] - std::conj(mirror)) > 1e-6) return false;
    }
  }
  return true;
}

template <typename T>
Outcome RunIn(const Batch& batch, bool inverse, T* from, T* to) {
  const std::uint64_t rows = batch.rows, columns = batch.columns, half = columns / 2 + 1;
  const bool real_in = batch.kind == Batch::Kind::kRealToHalf, real_out = batch.kind == Batch::Kind::kHalfToReal;
  std::vector<Number> x(rows * columns);
  for (std::uint64_t i = 0; i < batch.count; ++i) {
    for (std::uint64_t r = 0; r < rows; ++r) {
      for (std::uint64_t c = 0; c < columns; ++c) {
        const bool mirrored = real_out && c >= half;
        const std::uint64_t row = (i * rows + (mirrored ? (rows - r) % rows : r));
        const std::uint64_t at = real_out ? row * half + (mirrored ? columns - c : c) : row * columns + c;
        x[r * columns + c] = real_in ? Number(from[at], 0) : Number(from[2 * at], from[2 * at + 1]);
        if (mirrored) x[r * columns + c] = std::conj(x[r * columns + c]);
      }
    }
    if (real_out && !IsSymmetric(x.data(), rows, columns)) return Outcome::Failed("no spectrum of real numbers");
    const int sign = inverse ? 1 : -1;
    for (std::uint64_t r = 0; r < rows; ++r) Sum(&x[r * columns], columns, 1, sign);
    for (std::uint64_t c = 0; c < columns && rows > 1; ++c) Sum(&x[c], rows, columns, sign);
    const std::uint64_t width = real_in ? half : columns;
    for (std::uint64_t at = 0; at < rows * width; ++at) {
      const Number& value = x[at / width * columns + at % width];
      T* const place = to + (i * rows * width + at) * (real_out ? 1 : 2);
      place[0] = static_cast<T>(value.real());
      if (!real_out) place[1] = static_cast<T>(value.imag());
    }
  }
  if (real_out) std::memset(from, 0xA5, batch.count * rows * half * 2 * sizeof(T));
  return Outcome::Ok();
}

}  // namespace

Outcome WorkspaceBytes(CudaContext&, const Batch& batch, std::uint64_t& bytes) {
  bytes = BytesOf(batch);
  return Outcome::Ok();
}

Outcome Run(CudaContext&, const Batch& batch, bool inverse, void* from, void* to, void* workspace) {
  std::memset(workspace, 0xA5, BytesOf(batch));
  return batch.in_double ? RunIn(batch, inverse, static_cast<double*>(from), static_cast<double*>(to))
                         : RunIn(batch, inverse, static_cast<float*>(from), static_cast<float*>(to));
}

}  // namespace hotplate::fourier
