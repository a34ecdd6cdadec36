#include "kernels/catalogue/argsort/argsort.h"
#include "kernels/catalogue/sort/radix_cuda.cuh"
#include "kernels/families/axis.h"

namespace hotplate::argsort {
namespace {

// The lines along the axis are the rows.
sort::Rows LinesOf(const Call& call) {
  const Extent extent = ExtentOf(call.InputArray("x"), call.Choice("axis"));
  return {extent.outputs(), extent.count, extent.inner};
}

// y = the places in their rows of the elements whose numbers are `indices`.
__global__ void PutPlaces(const std::uint32_t* indices, std::int64_t* y, sort::Rows rows) {
  for (std::uint64_t i = sort::device::First(); i < rows.elements(); i += sort::device::Stride()) {
    y[rows.Place(i)] = static_cast<std::int64_t>(indices[i] % rows.length);
  }
}

template <typename T>
Outcome Run(const Call& call, CudaContext& context) {
  const sort::Rows rows = LinesOf(call);
  const std::uint64_t n = rows.elements();
  if (n == 0) return Outcome::Ok();
  sort::Buffers<std::uint32_t> indices;
  const Outcome sorted =
      sort::SortedIndices(call.Input<T>("x").data(), rows, sort::Order<T>{call.Bool("descending")}, true,
                          call.scratch().data(), sort::LayOutPairs(rows, sizeof(T)), indices, context);
  if (!sorted.ok()) return sorted;
  return Launch(context, PutPlaces, GridFor(n, 4), kBlockSize, indices.full, call.Output<std::int64_t>("y").data(),
                rows);
}

}  // namespace

std::uint64_t ScratchCuda(const Call& call, const CudaTraits&) {
  const sort::Rows rows = LinesOf(call);
  if (rows.elements() == 0) return 0;
  return sort::LayOutPairs(rows, call.InputArray("x").bytes / rows.elements()).bytes;
}

Outcome RunCuda(const Call& call, CudaContext& context) {
  return sort::ForSorted("argsort", call.InputType("x"), [&]<typename T>() { return Run<T>(call, context); });
}

}  // namespace hotplate::argsort
