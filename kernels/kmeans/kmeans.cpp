#include "kernels/kmeans/kmeans.h"

#include "kernels/spec.h"
#include "kernels/status.h"

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
    return InvalidField("inputs.initial", "kmeans: initial is " + ToString(initial.shape) + ", points is " +
                                              ToString(points.shape) +
                                              "; there must be at least one centroid, and no more than points or " +
                                              std::to_string(INT32_MAX));
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
  return KernelSpecBuilder("kmeans", "k-means: the nearest centroid of each point, and centroids that are means")
      .Docs(
          "Lloyd's iterations from the centroids that are given, as scikit-learn's KMeans with init=array, n_init=1: "
          "each point takes its nearest centroid (the first of several), each centroid becomes the mean of its points. "
          "Ends when no point changes its centroid, or when the centroids' moves, squared and summed, are at most "
          "tolerance times the mean variance of the coordinates, or after max_iterations, which is no error: "
          "iterations says it. A centroid without points stays where it is (scikit-learn moves it to a far point). "
          "labels and inertia are those of the centroids that come back. Centroids to begin with are rows of your "
          "points, or are drawn, the same for the same seed: hotplate run random --rows 8 --n 2 --dtype float32 --seed "
          "1 -o array:initial, between 0 and 1. A NaN or an infinity among the elements is refused when the job runs. "
          "On a GPU a cancel may take longer than stated where k * d is some 1e8 or more: a block of points is "
          "compared with all centroids at once.")
      .Type("T", {DType::kFloat32, DType::kFloat64})
      .Param({.name = "max_iterations",
              .type = ParamType::kInt,
              .default_value = std::int64_t{300},
              .minimum = 1,
              .maximum = 1e6,
              .docs = "after as many it ends in any case"})
      .Param({.name = "tolerance",
              .type = ParamType::kFloat,
              .default_value = 1e-4,
              .minimum = 0,
              .docs = "of the centroids' moves, relative to the points' mean variance; 0: until no label changes"})
      .Input("points", "T", "n, d", "one to a row")
      .Input("initial", "T", "k, d", "centroids to begin with; no more than points")
      .Output("centroids", "T", "k, d", "where they are in the end")
      .Output("labels", "int32", "n", "each point's nearest centroid, from 0")
      .Output("inertia", "float64", "", "the sum of the squared distances to them")
      .Output("iterations", "int64", "", "that were done")
      .CostModel(
          "about 3 * n * k * d FLOP an iteration, of which nobody knows the number; points, centroids and labels moved "
          "once",
          CostOf)
      .Numerics(
          "distances in T, from differences of coordinates: a label's centroid is the nearest, or its squared distance "
          "is within (d + 4) * 2^-22 (float64: 2^-51) of that one's, relatively; they must not overflow. Means are "
          "summed in float64, within n * 2^-52 * (mean of |x|) and a rounding to T; inertia within (n + d) * 2^-51 "
          "relatively. The same bits whatever the number of threads, and deterministic on one device")
      .Shapes(Shapes)
      .Chunked(250)
      .Example("hotplate run kmeans points.npy initial.npy -o centroids=c.npy -o labels=l.npy");
}

}  // namespace hotplate::kmeans
