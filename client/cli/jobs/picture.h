// A two-dimensional array as a PNG picture: one pixel per element, row 0 at the top.
//
// Integers are coloured by rank (each colour covers as many pixels as any other), because counts such as mandelbrot's
// crowd at the low end; the largest value is black: there it means "never escaped". Floats are coloured linearly from
// the smallest to the largest finite value; NaN is grey.
//
// The colours depend on all elements. These therefore lie in a temporary file beside the picture until the last one has
// come, and are then read twice, row by row: once for the colours, once to draw.
#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "kernels/array/npy.h"
#include "kernels/array/shape.h"

namespace hotplate::cli {

// Nothing if it can be drawn, else a sentence that says why not.
std::optional<std::string> WhyNoPicture(const Signature& signature);

class Picture {
 public:
  // Starts the picture of an array that can be drawn. The temporary file is in `folder`, without a name.
  static std::variant<Picture, NpyError> Begin(const Signature& signature, const std::string& folder);

  // Elements, in order; a piece may end within one.
  std::optional<NpyError> Add(std::span<const std::byte> piece);

  // The bytes of the PNG file, in pieces, once all elements are there.
  using Write = std::function<std::optional<NpyError>(std::span<const std::byte>)>;
  std::optional<NpyError> Draw(const Write& write);

 private:
  using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
  Picture(Signature signature, File elements);

  // Calls `take` with the elements of one row after the other, as doubles.
  std::optional<NpyError> EachRow(const std::function<std::optional<NpyError>(std::span<const double>)>& take);

  Signature signature_;
  File elements_;
};

}  // namespace hotplate::cli
