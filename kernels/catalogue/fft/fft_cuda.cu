// The library makes plain sums, without division. It has no transform of real numbers to a whole spectrum, requires a
// proper spectrum of real numbers for the inverse, and overwrites that input. This file does the rest.
#include <span>

#include "kernels/catalogue/fft/fft.h"
#include "kernels/catalogue/fft/fft_cuda.h"
#include "kernels/catalogue/fft/transform.h"
#include "kernels/devices/cuda/code/elementwise.cuh"
#include "kernels/devices/cuda/libraries/fourier.h"

namespace hotplate::fft {
namespace {

template <typename T>
struct alignas(2 * sizeof(T)) Complex {
  T real, imaginary;
};

template <typename T>
struct Times {
  T factor;
  __device__ T operator()(T x) const { return factor * x; }
};

fourier::Batch BatchOf(const Transform& transform) {
  using Kind = Transform::Kind;
  using Plain = fourier::Batch::Kind;
  return {.kind = transform.kind == Kind::kRealToHalf   ? Plain::kRealToHalf
                  : transform.kind == Kind::kHalfToReal ? Plain::kHalfToReal
                                                        : Plain::kComplex,
          .in_double = transform.in_double,
          .count = transform.count,
          .rows = transform.rows,
          .columns = transform.columns};
}

// x after resizing, if it is resized; then a copy of the spectra, which the library may overwrite. The library's
// workspace follows.
std::uint64_t ResizedBytes(const Transform& transform) { return RoundUp(transform.resized_bytes(), kArenaAlignment); }
std::uint64_t CopyBytes(const Transform& transform) {
  if (transform.kind != Transform::Kind::kHalfToReal) return 0;
  return RoundUp(2 * transform.count * transform.rows * transform.half() * transform.part_bytes(), kArenaAlignment);
}
std::uint64_t OwnBytes(const Transform& transform) { return ResizedBytes(transform) + CopyBytes(transform); }

// Rows of `given` numbers become rows of `taken`: cut, or with zeros behind.
template <typename T>
__global__ void __launch_bounds__(kBlockSize)
    Resize(const T* from, T* to, std::uint64_t elements, std::uint64_t given, std::uint64_t taken) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kBlockSize;
  for (std::uint64_t at = std::uint64_t{blockIdx.x} * kBlockSize + threadIdx.x; at < elements; at += stride) {
    const std::uint64_t row = at / taken, column = at % taken;
    to[at] = column < given ? from[row * given + column] : T{0};
  }
}

template <typename T>
__global__ void __launch_bounds__(kBlockSize) Widen(const T* from, Complex<T>* to, std::uint64_t elements) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kBlockSize;
  for (std::uint64_t at = std::uint64_t{blockIdx.x} * kBlockSize + threadIdx.x; at < elements; at += stride) {
    to[at] = {from[at], T{0}};
  }
}

// Column 0 of the spectrum of real numbers, and the middle one of an even number of columns, are their own mirror
// images. The rest is ignored as in NumPy, whose result is the real part of the last axis' transform: this takes the
// mean of each element and its mirror image.
template <typename T>
__global__ void __launch_bounds__(kBlockSize)
    CopySymmetric(const Complex<T>* from, Complex<T>* to, std::uint64_t elements, std::uint64_t rows,
                  std::uint64_t half, std::uint64_t columns) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kBlockSize;
  for (std::uint64_t at = std::uint64_t{blockIdx.x} * kBlockSize + threadIdx.x; at < elements; at += stride) {
    const std::uint64_t column = at % half, row = at / half % rows, mirror = (rows - row) % rows;
    Complex<T> value = from[at];
    if (column == 0 || 2 * column == columns) {
      if (mirror == row) {
        value.imaginary = 0;
      } else {
        const Complex<T> other = from[at - row * half + mirror * half];
        value = {value.real / 2 + other.real / 2, value.imaginary / 2 - other.imaginary / 2};
      }
    }
    to[at] = value;
  }
}

template <typename T>
Outcome Run(const Transform& transform, const Call& call, CudaContext& context) {
  using Kind = Transform::Kind;
  const hotplate_array &x = call.InputArray("x"), &y = call.OutputArray("y");
  std::byte* const memory = call.scratch().data();
  void* from = x.data;
  if (transform.resized()) {
    const std::uint64_t given = transform.given * transform.parts_in(),
                        taken = transform.taken() * transform.parts_in();
    const std::uint64_t numbers = transform.count * transform.rows * taken;
    const Outcome resized = Launch(context, Resize<T>, GridFor(numbers, 4), kBlockSize, static_cast<const T*>(x.data),
                                   reinterpret_cast<T*>(memory), numbers, given, taken);
    if (!resized.ok()) return resized;
    from = memory;
  }
  if (transform.kind == Kind::kRealToComplex) {
    const std::uint64_t elements = transform.count * transform.points();
    auto* const wide = static_cast<Complex<T>*>(y.data);
    const Outcome widened =
        Launch(context, Widen<T>, GridFor(elements, 4), kBlockSize, static_cast<const T*>(from), wide, elements);
    if (!widened.ok()) return widened;
    from = wide;
  } else if (transform.kind == Kind::kHalfToReal) {
    const std::uint64_t elements = transform.count * transform.rows * transform.half();
    auto* const copy = reinterpret_cast<Complex<T>*>(memory + ResizedBytes(transform));
    const Outcome copied =
        Launch(context, CopySymmetric<T>, GridFor(elements, 4), kBlockSize, static_cast<const Complex<T>*>(from), copy,
               elements, transform.rows, transform.half(), transform.columns);
    if (!copied.ok()) return copied;
    from = copy;
  }
  const Outcome done =
      fourier::Run(context, BatchOf(transform), transform.inverse, from, y.data, memory + OwnBytes(transform));
  if (!done.ok()) return done;
  const double factor = transform.Factor(call.Choice("norm"));
  if (factor == 1) return Outcome::Ok();
  const std::span<T> parts(static_cast<T*>(y.data), y.bytes / sizeof(T));
  return elementwise::LaunchUnary(Times<T>{static_cast<T>(factor)}, std::span<const T>(parts), parts, context);
}

}  // namespace

std::uint64_t ScratchCuda(const Call& call, const CudaTraits&) {
  const Transform transform = TransformOf(call);
  if (transform.count == 0) return 0;
  std::uint64_t rest = transform.columns * transform.rows;
  for (const std::uint64_t prime : {2, 3, 5, 7}) {
    while (rest % prime == 0) rest /= prime;
  }
  // Lengths with other prime factors go through convolutions of some twice that.
  const std::uint64_t estimate = (rest == 1 ? 2 : 8) * transform.count * transform.points() * transform.part_bytes();
  return OwnBytes(transform) + estimate;
}

Outcome LaneScratchCuda(const Call& call, CudaContext& context, std::uint64_t& bytes) {
  const Transform transform = TransformOf(call);
  bytes = 0;
  if (transform.count == 0) return Outcome::Ok();
  const Outcome asked = fourier::WorkspaceBytes(context, BatchOf(transform), bytes);
  bytes += OwnBytes(transform);
  return asked;
}

Outcome RunCuda(const Call& call, CudaContext& context) {
  const Transform transform = TransformOf(call);
  if (transform.count == 0) return Outcome::Ok();
  return transform.in_double ? Run<double>(transform, call, context) : Run<float>(transform, call, context);
}

}  // namespace hotplate::fft
