#include "kernels/catalogue/fft/fft.h"

#include <cmath>

#include "kernels/base/status.h"
#include "kernels/catalogue/fft/transform.h"
#include "kernels/spec/spec.h"

namespace hotplate::fft {
namespace {

constexpr std::int64_t kLongestAxis = std::int64_t{1} << 30;

Cost CostOf(const BoundCall& call) {
  const Transform transform = TransformOf(call);
  const double points = static_cast<double>(transform.points());
  const double factor = transform.kind == Transform::Kind::kComplexToComplex ? 5 : 2.5;
  return {.flop = factor * static_cast<double>(transform.count) * points * std::log2(points),
          .bytes = static_cast<double>(call.InputBytes()) + static_cast<double>(call.OutputBytes())};
}

absl::Status CheckTypes(const std::string& transform, const Signature& x) {
  if (transform == "rfft" && IsComplex(x.dtype)) {
    return InvalidField("inputs.x", "fft: x is " + ToString(x) +
                                        "; rfft takes float32 or float64. Complex arrays are for transform=fft");
  }
  if (transform == "irfft" && !IsComplex(x.dtype)) {
    return InvalidField("inputs.x", "fft: x is " + ToString(x) +
                                        "; irfft takes complex64 or complex128. Real arrays are for transform=ifft");
  }
  return absl::OkStatus();
}

// The points along the last axis, which n gives or x.
absl::StatusOr<std::int64_t> Columns(const BoundCall& call) {
  const bool real = call.Choice("transform") == "irfft";
  const Shape& shape = call.Input("x").shape;
  const std::int64_t asked = call.Int("n"), most = real ? 2 * kLongestAxis : kLongestAxis;
  if (asked > most) {
    return InvalidField("params.n",
                        "fft: n is " + std::to_string(asked) + "; it may be at most " + std::to_string(most));
  }
  if (asked != 0) return asked;
  if (!real) return shape.back();
  if (shape.back() > 1) return 2 * (shape.back() - 1);
  return InvalidField("params.n",
                      "fft: x is " + ToString(shape) + "; irfft cannot derive a length from its last axis: give n");
}

absl::Status Shapes(BoundCall& call) {
  const std::string& transform = call.Choice("transform");
  const Signature& x = call.Input("x");
  if (const absl::Status status = CheckTypes(transform, x); !status.ok()) return status;
  const std::size_t axes = static_cast<std::size_t>(call.Int("axes")), rank = x.shape.size();
  if (rank < axes) {
    return InvalidField("inputs.x", "fft: x is " + ToString(x.shape) + "; axes=" + std::to_string(axes) + " needs " +
                                        (axes == 2 ? "[..., m, n]" : "[..., n]"));
  }
  for (std::size_t axis = rank - axes; axis < rank; ++axis) {
    if (x.shape[axis] >= 1 && x.shape[axis] <= kLongestAxis) continue;
    return InvalidField("inputs.x", "fft: x is " + ToString(x.shape) + "; a transformed axis must have from 1 to " +
                                        std::to_string(kLongestAxis) + " elements");
  }
  const absl::StatusOr<std::int64_t> columns = Columns(call);
  if (!columns.ok()) return columns.status();
  Signature y{.dtype = transform == "irfft" ? RealPart(x.dtype) : ComplexOf(x.dtype), .shape = x.shape};
  y.shape.back() = transform == "rfft" ? *columns / 2 + 1 : *columns;
  call.outputs = {y};
  return absl::OkStatus();
}

}  // namespace

Transform TransformOf(const BoundCall& call) {
  const Signature& x = call.Input("x");
  return TransformOf(call.Choice("transform"), call.Int("axes"), x.dtype, x.shape.data(), x.shape.size(), call.Int("n"),
                     call.outputs.front().shape.back());
}

KernelSpecBuilder Spec() {
  return KernelSpecBuilder("fft", "discrete Fourier transforms over one or two axes: fft, ifft, rfft, irfft")
      .Docs(
          "As numpy.fft: y[k] = sum of x[j] * exp(-2 pi i j k / n). ifft and irfft use +2 pi and divide by n, unless "
          "norm says otherwise. rfft takes real numbers and returns the first n/2 + 1 elements of their symmetric "
          "transform. irfft is its inverse; it ignores the imaginary parts of elements that must be real and, with "
          "axes=2, whatever breaks the symmetry of a column that must be its own mirror image. fft and ifft treat real "
          "input as complex with zero imaginary parts. With axes=2 the last two axes are transformed (fft2, ifft2, "
          "rfft2, irfft2); irfft transforms the last axis last. n crops or zero-pads the last axis to that many "
          "points, as in numpy.fft (irfft then reads n/2 + 1 elements). Leading dimensions form a batch, which may be "
          "empty; a transformed axis may not. A NaN or infinity makes every output of that transform non-finite and "
          "affects no other. (An output that does not depend on the element stays finite; of a complex output at least "
          "one part is non-finite.) Lengths with small prime factors are fastest; every length takes n log n. On the "
          "CPU a cancel takes effect between the transforms of a batch, not within one. On a GPU a running job cannot "
          "be cancelled.")
      .Type("T", {DType::kFloat32, DType::kFloat64, DType::kComplex64, DType::kComplex128})
      .Param({.name = "transform",
              .type = ParamType::kChoice,
              .default_value = std::string("fft"),
              .choices = {"fft", "ifft", "rfft", "irfft"},
              .docs = "name of the transform in NumPy"})
      .Param({.name = "axes",
              .type = ParamType::kInt,
              .default_value = std::int64_t{1},
              .minimum = 1,
              .maximum = 2,
              .docs = "number of axes to transform, counted from the last"})
      .Param({.name = "norm",
              .type = ParamType::kChoice,
              .default_value = std::string("backward"),
              .choices = {"backward", "ortho", "forward"},
              .docs = "scaling: backward divides ifft and irfft by the number of points, forward divides fft and rfft, "
                      "and ortho divides both directions by its square root"})
      .Param({.name = "n",
              .type = ParamType::kInt,
              .default_value = std::int64_t{0},
              .minimum = 0,
              .maximum = static_cast<double>(2 * kLongestAxis),
              .docs = "points along the last axis, which is cropped or zero-padded; 0: as many as x has, or for irfft "
                      "2 * (m - 1) for m in x"})
      .Input("x", "T", "..., m", "real or complex numbers; rfft takes only real ones, irfft only complex ones")
      .Output("y", "transform", "..., k",
              "in x's precision: complex for fft and ifft, complex with n/2 + 1 elements for rfft, real for irfft")
      .CostModel(
          "5 * p * log2(p) FLOP per transform of p points, half of that if x or y is real; every input and output "
          "moved once",
          CostOf)
      .Numerics(
          "for a transform of p points, the error of an element is at most 4 * (1 + log2(p)) * u times the largest "
          "magnitude in the exact result, with u = 2^-24 for float32 and complex64, 2^-53 for float64 and complex128; "
          "deterministic on one device")
      .Shapes(Shapes)
      .Example("hotplate run fft x.npy -o y.npy");
}

}  // namespace hotplate::fft
