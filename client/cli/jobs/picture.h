// A two-dimensional array as a PNG picture: one pixel per element, row 0 at the top.
//
// Integers are coloured by rank (each colour covers as many pixels as any other), because counts such as mandelbrot's
// crowd at the low end; the largest value is black: there it means "never escaped". Floats are coloured linearly from
// the smallest to the largest finite value; NaN is grey.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "kernels/array/shape.h"

namespace hotplate::cli {

// Nothing if it can be drawn, else a sentence that says why not.
std::optional<std::string> WhyNoPicture(const Signature& signature);

// The bytes of the PNG file.
absl::StatusOr<std::string> EncodePicture(const Signature& signature, std::span<const std::byte> elements);

}  // namespace hotplate::cli
