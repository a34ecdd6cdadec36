#include "kernels/catalogue/integrate2d/integrate2d.h"

#include <numbers>

#include "kernels/spec/spec.h"

namespace hotplate::integrate2d {
namespace {

// A sine is counted as 15 FLOP.
Cost CostOf(const BoundCall& call) {
  const double n = static_cast<double>(call.Int("n"));
  return {.flop = 17 * n * n, .bytes = 16};
}

// Beside the sines, a coordinate of each row and each column is reduced, with a division.
double WorkBound(const BoundCall& call) { return CostOf(call).flop + 100 * static_cast<double>(call.Int("n")); }

ParamSpec Limit(const char* name, double default_value, const char* docs) {
  return {.name = name,
          .type = ParamType::kFloat,
          .default_value = default_value,
          .minimum = -1e6,
          .maximum = 1e6,
          .docs = docs};
}

}  // namespace

KernelSpecBuilder Spec() {
  return KernelSpecBuilder("integrate2d", "the integral of sin(x + y) over a rectangle, by the midpoint rule")
      .Docs(
          "Divides the rectangle into n by n cells and evaluates the sine at the midpoint of each; the sum is not "
          "factored. The variants differ in how a GPU adds. naive: one thread per x, partial sums in global memory. "
          "shared: partial sums are reduced in shared memory. fast: a grid that fills the device; each thread adds 16 "
          "sines in float32, in pairs, before adding them to its float64 sum, and sums are reduced in registers. On "
          "the CPU all three run the same code. `error` is the distance from the exact integral.")
      .Param({.name = "n",
              .type = ParamType::kInt,
              .default_value = std::int64_t{10'240},
              .minimum = 1,
              .maximum = 16'777'216,
              .docs = "cells along each axis; n * n sines are evaluated"})
      .Param(Limit("x_min", 0, "lower limit of x"))
      .Param(Limit("x_max", std::numbers::pi, "upper limit of x"))
      .Param(Limit("y_min", 0, "lower limit of y"))
      .Param(Limit("y_max", std::numbers::pi, "upper limit of y"))
      .Param({.name = "variant",
              .type = ParamType::kChoice,
              .default_value = std::string("fast"),
              .choices = {"naive", "shared", "fast"},
              .docs = "how a GPU adds; no effect on the CPU"})
      .Output("value", "float64", "", "approximation of the integral")
      .Output("error", "float64", "", "|value - exact integral|")
      .CostModel("17 * n * n FLOP (counting a sine as 15), 16 bytes: bound by arithmetic", CostOf)
      .WorkBound(WorkBound)
      .Numerics(
          "each sine is computed in float32 (absolute error at most 1e-6; coordinates are reduced to [-pi, pi] in "
          "float64 first) and summed in float64; on a GPU, `fast` first adds groups of 16 in float32, in pairs. value "
          "is within 1e-6 * the area of the rectangle of the exact sum of the midpoint rule; deterministic on one "
          "device")
      .Chunked(250)
      .Example("hotplate run integrate2d --n 20480");
}

}  // namespace hotplate::integrate2d
