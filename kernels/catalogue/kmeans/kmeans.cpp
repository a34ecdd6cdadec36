#include "kernels/catalogue/kmeans/kmeans.h"

#include "kernels/base/status.h"
#include "kernels/spec/spec.h"

namespace hotplate::kmeans {
namespace {

absl::Status Shapes(BoundCall& call) {
  const Signature &points = call.Input("points"), &initial = call.Input("initial");
  if (points.shape.size() != 2) {
    return InvalidField("inputs.points", "kmeans: points is " + ToString(points.shape) + "; it must be [n, d]");
  }
  const std::int64_t n = points.shape[0], d = points.shape[1];
  if (initial.shape.size() != 2 || initial.shape[1] != d) {
    return InvalidField("inputs.initial", "kmeans: initial is " + ToString(initial.shape) + ", points is " +
                                              ToString(points.shape) + "; it must be [k, " + std::to_string(d) + "]");
  }
  const std::int64_t k = initial.shape[0];
  if (k < 1 || k > n || k > INT32_MAX) {
    return InvalidField("inputs.initial",
                        "kmeans: initial is " + ToString(initial.shape) + ", points is " + ToString(points.shape) +
                            "; k must be from 1 to the number of points, and at most " + std::to_string(INT32_MAX));
  }
  call.outputs = {initial,
                  {.dtype = DType::kInt32, .shape = {n}},
                  {.dtype = DType::kFloat64, .shape = {}},
                  {.dtype = DType::kInt64, .shape = {}}};
  return absl::OkStatus();
}

Cost CostOf(const BoundCall& call) {
  return {.flop = 0, .bytes = static_cast<double>(call.InputBytes() + call.OutputBytes())};
}

}  // namespace

KernelSpecBuilder Spec() {
  return KernelSpecBuilder("kmeans", "k-means clustering by Lloyd's algorithm from given centroids")
      .Docs(
          "Lloyd's algorithm from the given centroids, as scikit-learn's KMeans with init=array and n_init=1. Each "
          "iteration assigns every point to its nearest centroid (the first of several), then moves each centroid to "
          "the mean of its points. It stops when no point changes its centroid, when the sum of the centroids' squared "
          "moves is at most tolerance times the mean variance of the coordinates, or after max_iterations. Reaching "
          "max_iterations is not an error; compare iterations. A centroid without points stays where it is "
          "(scikit-learn moves it to a distant point). labels and inertia belong to the returned centroids. As initial "
          "centroids, take rows of your points or draw random ones between 0 and 1: hotplate run random --rows 8 --n 2 "
          "--dtype float32 --seed 1 -o array:initial. A NaN or infinity in the inputs fails the job. On a GPU a cancel "
          "may take longer than stated if k * d is about 1e8 or more, since a block of points is compared with all "
          "centroids at once.")
      .Type("T", {DType::kFloat32, DType::kFloat64})
      .Param({.name = "max_iterations",
              .type = ParamType::kInt,
              .default_value = std::int64_t{300},
              .minimum = 1,
              .maximum = 1e6,
              .docs = "limit on the number of iterations"})
      .Param({.name = "tolerance",
              .type = ParamType::kFloat,
              .default_value = 1e-4,
              .minimum = 0,
              .docs = "limit on the centroids' squared moves, relative to the mean variance of the points; 0: until no "
                      "label changes"})
      .Input("points", "T", "n, d", "the points, one per row")
      .Input("initial", "T", "k, d", "initial centroids, one per row; no more than points")
      .Output("centroids", "T", "k, d", "final centroids")
      .Output("labels", "int32", "n", "index of each point's nearest centroid, from 0")
      .Output("inertia", "float64", "", "sum of the squared distances to the nearest centroids")
      .Output("iterations", "int64", "", "number of iterations done")
      .CostModel(
          "about 3 * n * k * d FLOP per iteration, whose number depends on the data; points, centroids and labels "
          "moved once",
          CostOf)
      .Numerics(
          "distances are computed in T from differences of coordinates and must not overflow. A label's centroid is "
          "the nearest, or its squared distance is within a relative (d + 4) * 2^-22 (float64: 2^-51) of the smallest. "
          "Means are summed in float64, within n * 2^-52 * (mean of |x|) plus one rounding to T; inertia is within a "
          "relative (n + d) * 2^-51. The same bits with any number of threads, deterministic on one device")
      .Shapes(Shapes)
      .Chunked(250)
      .Example("hotplate run kmeans points.npy initial.npy -o centroids=c.npy -o labels=l.npy");
}

}  // namespace hotplate::kmeans
