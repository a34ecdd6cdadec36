// Sorts keys with their indices, then fetches the values by index.
#include "kernels/call/for_type.h"
#include "kernels/catalogue/sort/sort_rows.h"
#include "kernels/catalogue/sort_by_key/indexed_cpu.h"
#include "kernels/catalogue/sort_by_key/sort_by_key.h"
#include "kernels/devices/cpu/cpu_context.h"
#include "kernels/devices/device.h"

namespace hotplate::sort_by_key {
namespace {

// The arrays of one row, or of the whole call. T is the keys' type, W the values' type or another of its size.
template <typename T, typename W>
struct Columns {
  const T* keys;
  const W* values;
  T* sorted_keys;
  W* sorted_values;

  Columns Row(std::size_t row, std::size_t n) const {
    return {keys + row * n, values + row * n, sorted_keys + row * n, sorted_values + row * n};
  }
  T At(std::size_t i) const { return keys[i]; }
  // The key is converted back from its sort key, which saves reading its old place, unless a zero's sign or a NaN's
  // payload was lost.
  void Take(sort::Order<T> order, sort::BitsOf<T> key, std::size_t from, std::size_t to) const {
    T element = order.ElementOf(key);
    if constexpr (std::is_floating_point_v<T>) {
      if (element == 0 || element != element) element = keys[from];
    }
    sorted_keys[to] = element;
    sorted_values[to] = values[from];
  }
};

template <typename T, typename W>
Outcome Run(const Call& call, CpuContext& context) {
  const auto keys = call.Input<T>("keys");
  if (keys.empty()) return Outcome::Ok();
  const hotplate_array& array = call.InputArray("keys");
  const std::size_t n = static_cast<std::size_t>(array.shape[array.rank - 1]), rows = keys.size() / n;
  const Columns<T, W> columns{.keys = keys.data(),
                              .values = static_cast<const W*>(call.InputArray("values").data),
                              .sorted_keys = call.Output<T>("sorted_keys").data(),
                              .sorted_values = static_cast<W*>(call.OutputArray("sorted_values").data)};
  const auto row_at = [=](std::size_t row) { return columns.Row(row, n); };
  const sort::Order<T> order{call.Bool("descending")};
  return SortIndexed(rows, n, order, row_at, call.scratch(), context) ? Outcome::Ok() : Outcome::Cancelled();
}

// Values are moved, never looked at.
template <typename T>
Outcome Run(const Call& call, CpuContext& context) {
  return SizeOf(call.InputType("values")) == 4 ? Run<T, std::uint32_t>(call, context)
                                               : Run<T, std::uint64_t>(call, context);
}

}  // namespace

MemoryPlan PlanCpu(const BoundCall& call) {
  const Signature& keys = call.Input("keys");
  const std::size_t elements = *ElementCount(keys.shape);
  if (elements == 0) return {};
  return {.scratch_bytes = IndexedBytes(keys.dtype, sort::RowLength(keys.shape), elements)};
}

Outcome RunCpu(const Call& call, CpuContext& context) {
  return ForType<float, double, std::int32_t, std::int64_t>("sort_by_key", call.InputType("keys"),
                                                            [&]<typename T>() { return Run<T>(call, context); });
}

}  // namespace hotplate::sort_by_key
