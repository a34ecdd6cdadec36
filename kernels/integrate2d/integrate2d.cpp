#include "kernels/integrate2d/integrate2d.h"

#include <numbers>

#include "kernels/spec.h"

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
          "The rectangle is divided into n by n cells, and the sine is evaluated in the middle of each: the sum is not "
          "factored. The three variants differ in how a GPU adds up: naive (a thread to each x, its partial sum in "
          "global memory), shared (partial sums reduced in shared memory), fast (a grid that fills the device: a "
          "thread adds 16 sines in float32, in pairs, before they go to its float64 sum, and sums are reduced in "
          "registers). On the CPU all three are one and the same code. `error` is the distance to the integral's exact "
          "value.")
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
              .docs = "how a GPU adds up; no effect on the CPU"})
      .Output("value", "float64", "", "the approximation of the integral")
      .Output("error", "float64", "", "|value - exact integral|")
      .CostModel("17 * n * n FLOP (a sine counted as 15), 16 bytes: bound by arithmetic", CostOf)
      .WorkBound(WorkBound)
      .Numerics(
          "each sine in float32 (absolute error at most 1e-6, coordinates reduced to [-pi, pi] in float64 first), "
          "summed in float64, on a GPU by `fast` after groups of 16 were added in float32 pairs: value is within 1e-6 "
          "* the rectangle's area of the midpoint rule's exact sum; deterministic on one device")
      .Chunked(250)
      .Example("hotplate run integrate2d --n 20480");
}

}  // namespace hotplate::integrate2d
