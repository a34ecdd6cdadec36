#include "kernels/catalogue/mandelbrot/mandelbrot.h"

#include "kernels/spec/spec.h"

namespace hotplate::mandelbrot {
namespace {

// The number of iterations is known only afterwards; no figure is given.
Cost CostOf(const BoundCall& call) {
  const double resolution = static_cast<double>(call.Int("resolution"));
  return {.flop = 0, .bytes = 4 * resolution * resolution};
}

// As if every point were in the set. The CPU takes 32 points together: the last ones may be few, and cost as much.
double WorkBound(const BoundCall& call) {
  const double resolution = static_cast<double>(call.Int("resolution"));
  const double iterations = static_cast<double>(call.Int("max_iterations"));
  return (resolution * resolution + 31) * (10 * iterations + 20);
}

ParamSpec Limit(const char* name, double default_value, const char* docs) {
  return {.name = name,
          .type = ParamType::kFloat,
          .default_value = default_value,
          .minimum = -1e6,
          .maximum = 1e6,
          .docs = docs};
}

ParamSpec Count(const char* name, std::int64_t default_value, double maximum, const char* docs) {
  return {.name = name,
          .type = ParamType::kInt,
          .default_value = default_value,
          .minimum = 1,
          .maximum = maximum,
          .docs = docs};
}

}  // namespace

KernelSpecBuilder Spec() {
  return KernelSpecBuilder("mandelbrot", "iteration counts of the Mandelbrot set on a grid")
      .Docs(
          "For each point c = x + iy of a square grid, z starts at c, and z <- z^2 + c is repeated while |z| < 2, at "
          "most max_iterations times. counts holds the number of iterations, 0 where |c| is 2 or more. counts[row, "
          "column] belongs to the row-th y and the column-th x; both are evenly spaced and include both limits "
          "(numpy.linspace). Every iteration is executed: no part of the set is detected in advance. With -o NAME.png "
          "the client writes a picture.")
      .Param(Limit("x_min", -2, "real part of the first column"))
      .Param(Limit("x_max", 0.5, "real part of the last column"))
      .Param(Limit("y_min", -1.25, "imaginary part of the first row"))
      .Param(Limit("y_max", 1.25, "imaginary part of the last row"))
      .Param(Count("max_iterations", 200, 2'147'483'647, "limit on the number of iterations"))
      .Param(Count("resolution", 1000, 65'536, "points along each axis"))
      .Output("counts", "int32", "resolution, resolution", "iterations, 0 to max_iterations")
      .CostModel(
          "10 FLOP per executed iteration (their number depends on the picture, so no total is given), 4 * "
          "resolution^2 bytes",
          CostOf)
      .WorkBound(WorkBound)
      .Numerics(
          "orbits are computed in float64; a count is exact unless rounding decides whether some |z| of the orbit is "
          "below 2, which happens near the boundary of the set and for large max_iterations; deterministic on one "
          "device")
      .Chunked(250)
      .Example("hotplate run mandelbrot --resolution 2000 --max-iterations 500 -o mandelbrot.png");
}

}  // namespace hotplate::mandelbrot
