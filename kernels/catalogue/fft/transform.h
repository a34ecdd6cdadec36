// A call of fft in numbers. Standard library only, for both back-ends.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/array/dtype.h"
#include "kernels/call/call.h"

namespace hotplate {
struct BoundCall;
}

namespace hotplate::fft {

struct Transform {
  // kHalf: of the spectrum of real numbers, which is symmetric, the first columns / 2 + 1.
  enum class Kind { kComplexToComplex, kRealToComplex, kRealToHalf, kHalfToReal };

  Kind kind = Kind::kComplexToComplex;
  bool inverse = false;
  bool in_double = false;
  // The number of transforms, and the points of each: rows x columns, with one row if one axis is transformed.
  std::uint64_t count = 0, rows = 0, columns = 0;
  std::uint64_t given = 0;  // the last axis of x, cut or padded with zeros if it is not taken()

  // The number of elements that the transform reads along the last axis.
  std::uint64_t taken() const { return kind == Kind::kHalfToReal ? half() : columns; }
  bool resized() const { return given != taken(); }
  // A number or two for each element of x.
  std::uint64_t parts_in() const { return kind == Kind::kComplexToComplex || kind == Kind::kHalfToReal ? 2 : 1; }
  // The bytes of x after resizing; 0 if it is not resized.
  std::uint64_t resized_bytes() const { return resized() ? count * rows * taken() * parts_in() * part_bytes() : 0; }

  std::uint64_t points() const { return rows * columns; }
  std::uint64_t half() const { return columns / 2 + 1; }
  std::uint64_t part_bytes() const { return in_double ? sizeof(double) : sizeof(float); }

  // The factor of every sum: NumPy's norm.
  double Factor(std::string_view norm) const {
    const double n = static_cast<double>(points());
    if (norm == "ortho") return 1 / std::sqrt(n);
    return (norm == "forward") != inverse ? 1 / n : 1;
  }
};

// `shape`: x's; `n`: the parameter; `out`: the last axis of y. All of them as the spec has accepted them.
inline Transform TransformOf(std::string_view name, std::int64_t axes, DType dtype, const std::int64_t* shape,
                             std::size_t rank, std::int64_t n, std::int64_t out) {
  using Kind = Transform::Kind;
  Transform transform;
  transform.kind = name == "rfft"     ? Kind::kRealToHalf
                   : name == "irfft"  ? Kind::kHalfToReal
                   : IsComplex(dtype) ? Kind::kComplexToComplex
                                      : Kind::kRealToComplex;
  transform.inverse = name == "ifft" || name == "irfft";
  transform.in_double = RealPart(dtype) == DType::kFloat64;
  transform.given = static_cast<std::uint64_t>(shape[rank - 1]);
  transform.columns = name == "irfft" ? static_cast<std::uint64_t>(out)
                      : n != 0        ? static_cast<std::uint64_t>(n)
                                      : transform.given;
  transform.rows = axes == 2 ? static_cast<std::uint64_t>(shape[rank - 2]) : 1;
  transform.count = 1;
  for (std::size_t i = 0; i + static_cast<std::size_t>(axes) < rank; ++i) {
    transform.count *= static_cast<std::uint64_t>(shape[i]);
  }
  return transform;
}

inline Transform TransformOf(const Call& call) {
  const hotplate_array &x = call.InputArray("x"), &y = call.OutputArray("y");
  return TransformOf(call.Choice("transform"), call.Int("axes"), call.InputType("x"), x.shape,
                     static_cast<std::size_t>(x.rank), call.Int("n"), y.shape[y.rank - 1]);
}

// With call.outputs filled.
Transform TransformOf(const BoundCall& call);

}  // namespace hotplate::fft
