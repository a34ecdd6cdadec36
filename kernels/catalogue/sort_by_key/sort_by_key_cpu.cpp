// Sorts keys with their indices, then fetches the values by index. A 32-bit key and its index are packed into one
// number for sort's own sort; 64-bit keys go through a radix sort. Scratch: entries twice (for long rows: of one row),
// preceded by the counts of the radix sort.
#include "kernels/call/for_type.h"
#include "kernels/catalogue/sort/merge_cpu.h"
#include "kernels/catalogue/sort/sort_order.h"
#include "kernels/catalogue/sort/sort_rows.h"
#include "kernels/catalogue/sort_by_key/radix_cpu.h"
#include "kernels/catalogue/sort_by_key/sort_by_key.h"
#include "kernels/devices/cpu/cpu_context.h"
#include "kernels/devices/device.h"

namespace hotplate::sort_by_key {
namespace {

using sort::kSerialBelow;

// The arrays of one call. T is the keys' type, W the values' type or another of its size.
template <typename T, typename W>
struct Columns {
  const T* keys;
  const W* values;
  T* sorted_keys;
  W* sorted_values;

  Columns Row(std::size_t row, std::size_t n) const {
    return {keys + row * n, values + row * n, sorted_keys + row * n, sorted_values + row * n};
  }
  // The key is converted back from its sort key, which saves reading its old place, unless a zero's sign or a NaN's
  // payload was lost.
  void Fetch(sort::Order<T> order, sort::BitsOf<T> key, std::size_t from, std::size_t to) const {
    T element = order.ElementOf(key);
    if constexpr (std::is_floating_point_v<T>) {
      if (element == 0 || element != element) element = keys[from];
    }
    sorted_keys[to] = element;
    sorted_values[to] = values[from];
  }
};

std::uint64_t CountBytes(std::size_t n) { return PieceCount(n) * kDigits * sizeof(std::uint64_t); }

// The order's key, made signed, above the index.
template <typename T, typename W>
bool SortPacked(const Columns<T, W>& columns, std::size_t rows, std::size_t n, sort::Order<T> order,
                std::span<std::byte> scratch, CpuContext& context) {
  std::int64_t* const entries = reinterpret_cast<std::int64_t*>(scratch.data());
  const auto loader = [=](const T* keys) {
    return [=](std::size_t i) {
      const std::uint64_t key = order.TieKeyOf(keys[i]) ^ sort::Order<T>::kSign;
      return static_cast<std::int64_t>(key << 32 | i);
    };
  };
  const auto storer = [=](const Columns<T, W>& row) {
    return [=](std::size_t i, std::int64_t entry) {
      const std::uint32_t key = static_cast<std::uint32_t>(static_cast<std::uint64_t>(entry) >> 32);
      row.Fetch(order, key ^ sort::Order<T>::kSign, static_cast<std::uint32_t>(entry), i);
    };
  };
  if (n < kSerialBelow) {
    const auto row_sort = [&](std::size_t i) {
      const Columns<T, W> row = columns.Row(i, n);
      sort::SortShortRow(n, entries + i * n, loader(row.keys), storer(row));
    };
    return sort::EachShortRow(rows, n, row_sort, context);
  }
  for (std::size_t i = 0; i < rows; ++i) {
    const Columns<T, W> row = columns.Row(i, n);
    std::int64_t* const sorted = entries + n;
    // Values are fetched when all is in order: a merge that waits for memory at each step takes four times as long.
    const bool complete = sort::SortLongRow(
        n, entries, sorted, loader(row.keys), [=](std::size_t at, std::int64_t entry) { sorted[at] = entry; }, context,
        CpuContext::Part().Step(i, rows));
    if (!complete) return false;
    context.ParallelFor(n, 0, [&](std::size_t begin, std::size_t end) {
      const auto store = storer(row);
      for (std::size_t at = begin; at < end; ++at) store(at, sorted[at]);
    });
  }
  return true;
}

template <typename T, typename W>
bool SortWide(const Columns<T, W>& columns, std::size_t rows, std::size_t n, sort::Order<T> order,
              std::span<std::byte> scratch, CpuContext& context) {
  std::uint64_t* const counts = reinterpret_cast<std::uint64_t*>(scratch.data());
  Entry* const entries = reinterpret_cast<Entry*>(scratch.data() + CountBytes(n));
  const auto loader = [=](const T* keys) {
    return [=](std::size_t i) { return Entry{.key = order.TieKeyOf(keys[i]), .index = i}; };
  };
  const auto storer = [=](const Columns<T, W>& row) {
    return [=](std::size_t i, const Entry& entry) { row.Fetch(order, entry.key, entry.index, i); };
  };
  if (n < kSerialBelow) {
    const auto row_sort = [&](std::size_t i) {
      const Columns<T, W> row = columns.Row(i, n);
      Entry* const a = entries + 2 * i * n;
      SortShortRow(n, a, a + n, loader(row.keys), storer(row));
    };
    return sort::EachShortRow(rows, n, row_sort, context);
  }
  for (std::size_t i = 0; i < rows; ++i) {
    const Columns<T, W> row = columns.Row(i, n);
    if (!SortLongRow(n, counts, entries, entries + n, loader(row.keys), storer(row), context,
                     CpuContext::Part().Step(i, rows))) {
      return false;
    }
  }
  return true;
}

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
  const sort::Order<T> order{call.Bool("descending")};
  bool complete = false;
  if constexpr (sizeof(T) == 4) {
    complete = SortPacked(columns, rows, n, order, call.scratch(), context);
  } else {
    complete = SortWide(columns, rows, n, order, call.scratch(), context);
  }
  return complete ? Outcome::Ok() : Outcome::Cancelled();
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
  const std::size_t n = sort::RowLength(keys.shape), elements = *ElementCount(keys.shape);
  if (elements == 0) return {};
  const std::size_t at_once = n < kSerialBelow ? elements : n;
  if (SizeOf(keys.dtype) == 8) return {.scratch_bytes = CountBytes(n) + 2 * at_once * sizeof(Entry)};
  return {.scratch_bytes = (n < kSerialBelow ? 1 : 2) * at_once * sizeof(std::int64_t)};
}

Outcome RunCpu(const Call& call, CpuContext& context) {
  return ForType<float, double, std::int32_t, std::int64_t>("sort_by_key", call.InputType("keys"),
                                                            [&]<typename T>() { return Run<T>(call, context); });
}

}  // namespace hotplate::sort_by_key
