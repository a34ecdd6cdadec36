#include "kernels/call/for_type.h"
#include "kernels/catalogue/sort/radix_cuda.cuh"
#include "kernels/catalogue/sort_by_key/sort_by_key.h"
#include "kernels/catalogue/sort_by_key/sort_by_key_cuda.h"

namespace hotplate::sort_by_key {
namespace {

template <typename Bits>
Outcome FetchBits(const hotplate_array& from, const std::uint32_t* indices, const hotplate_array& to, std::uint64_t n,
                  CudaContext& context) {
  return sort::Fetch(static_cast<const Bits*>(from.data), indices, static_cast<Bits*>(to.data), n, context);
}

// Moves elements of any type.
Outcome Fetch(const hotplate_array& from, const std::uint32_t* indices, const hotplate_array& to, std::uint64_t n,
              CudaContext& context) {
  return from.bytes / n == 4 ? FetchBits<std::uint32_t>(from, indices, to, n, context)
                             : FetchBits<std::uint64_t>(from, indices, to, n, context);
}

template <typename T>
Outcome Run(const Call& call, CudaContext& context) {
  const hotplate_array& keys = call.InputArray("keys");
  const sort::Rows rows = sort::RowsOf(keys);
  if (rows.elements() == 0) return Outcome::Ok();
  sort::Buffers<std::uint32_t> indices;
  const Outcome sorted =
      sort::SortedIndices(static_cast<const T*>(keys.data), rows, sort::Order<T>{call.Bool("descending")}, true,
                          call.scratch().data(), sort::LayOutPairs(rows, sizeof(T)), indices, context);
  if (!sorted.ok()) return sorted;
  const std::uint64_t n = rows.elements();
  if (const Outcome o = Fetch(keys, indices.full, call.OutputArray("sorted_keys"), n, context); !o.ok()) return o;
  return Fetch(call.InputArray("values"), indices.full, call.OutputArray("sorted_values"), n, context);
}

}  // namespace

std::uint64_t ScratchCuda(const Call& call, const CudaTraits&) {
  const hotplate_array& keys = call.InputArray("keys");
  const sort::Rows rows = sort::RowsOf(keys);
  return rows.elements() == 0 ? 0 : sort::LayOutPairs(rows, keys.bytes / rows.elements()).bytes;
}

Outcome RunCuda(const Call& call, CudaContext& context) {
  return ForType<float, double, std::int32_t, std::int64_t>("sort_by_key", call.InputType("keys"),
                                                            [&]<typename T>() { return Run<T>(call, context); });
}

}  // namespace hotplate::sort_by_key
