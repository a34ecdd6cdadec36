// Keys that lie close together have a table of sums; others are sorted with their rows, and summed key by key.
// Scratch: one entry to each block of sorted rows; a radix sort's counts; entries of rows twice, or the tables.
#include <atomic>
#include <utility>

#include "kernels/call/for_type.h"
#include "kernels/catalogue/groupby_sum/groupby_sum.h"
#include "kernels/catalogue/groupby_sum/groupby_sum_sums.h"
#include "kernels/catalogue/sort/merge_cpu.h"
#include "kernels/catalogue/sort_by_key/radix_cpu.h"
#include "kernels/devices/cpu/cpu_context.h"
#include "kernels/devices/cpu/multiversion.h"
#include "kernels/devices/device.h"

namespace hotplate::groupby_sum {
namespace {

using sort_by_key::Entry;

// A table of this many keys has 16 MiB. So that tables take no more memory than entries for the rows would, each has at
// least as many rows.
constexpr std::uint64_t kMostInTable = std::uint64_t{1} << 20;
constexpr std::uint64_t kMostTables = 64, kLeastRows = std::uint64_t{1} << 16;

// Rows that a thread takes at once, in order or sorted; where sums are cut.
constexpr std::size_t kBlock = std::size_t{1} << 15;

template <typename V>
struct Cell {
  Sum<V> sum = 0;
  std::uint64_t count = 0;

  void Add(V value) { sum += static_cast<Sum<V>>(value), ++count; }
  void Add(const Cell& other) { sum += other.sum, count += other.count; }
};

// Sums of a block of sorted rows: of the rows before its first key begins, and of the last key that begins in it.
template <typename V>
struct Block {
  std::uint64_t first = 0;  // number of keys that begin in the block, later of keys that begin before it
  Cell<V> head, tail;
};

std::size_t BlockCount(std::size_t n) { return (n + kBlock - 1) / kBlock; }
std::uint64_t BlockBytes(std::size_t n) { return (BlockCount(n) * sizeof(Block<double>) + 63) / 64 * 64; }
std::uint64_t CountBytes(std::size_t n) {
  return sort_by_key::PieceCount(n) * sort_by_key::kDigits * sizeof(std::uint64_t);
}

template <typename K, typename V>
struct Columns {
  std::span<const K> keys;
  const V* values;
  K* unique_keys;
  Result<V>* sums;
  std::int64_t* counts;

  void Store(std::uint64_t group, const Cell<V>& cell) const {
    sums[group] = static_cast<Result<V>>(cell.sum);
    counts[group] = static_cast<std::int64_t>(cell.count);
  }
};

// The numbers of keys counted from the least one.
template <typename K>
struct KeyRange {
  K least, greatest;

  std::uint64_t Of(K key) const { return static_cast<std::uint64_t>(key) - static_cast<std::uint64_t>(least); }
  K KeyAt(std::uint64_t number) const { return static_cast<K>(static_cast<std::uint64_t>(least) + number); }
  std::uint64_t span() const { return Of(greatest); }
};

template <typename K>
HOTPLATE_MULTIVERSION void Extend(KeyRange<K>& range, const K* keys, std::size_t count) {
  K least = range.least, greatest = range.greatest;
#pragma omp simd reduction(min : least) reduction(max : greatest)
  for (std::size_t i = 0; i < count; ++i) {
    least = keys[i] < least ? keys[i] : least;
    greatest = keys[i] > greatest ? keys[i] : greatest;
  }
  range = {least, greatest};
}

template <typename K>
bool FindRange(std::span<const K> keys, KeyRange<K>& range, CpuContext& context, CpuContext::Part part) {
  std::atomic<K> least = keys[0], greatest = keys[0];
  const bool complete = context.ParallelChunks(
      keys.size(), 8 * kBlock,
      [&](std::size_t begin, std::size_t end) {
        KeyRange<K> here{keys[begin], keys[begin]};
        Extend(here, keys.data() + begin, end - begin);
        for (K seen = least; here.least < seen && !least.compare_exchange_weak(seen, here.least);) {
        }
        for (K seen = greatest; here.greatest > seen && !greatest.compare_exchange_weak(seen, here.greatest);) {
        }
      },
      part);
  range = {least, greatest};
  return complete;
}

// A table to each piece of the rows, added up in the order of the pieces.
template <typename K, typename V>
bool SumInTables(const Columns<K, V>& columns, const KeyRange<K>& range, std::byte* scratch, std::uint64_t& groups,
                 CpuContext& context) {
  const std::size_t n = columns.keys.size(), size = range.span() + 1;
  const std::size_t tables = std::clamp<std::uint64_t>(n / std::max(4 * size, kLeastRows), 1, kMostTables);
  const std::size_t length = (n + tables - 1) / tables;
  Cell<V>* const cells = reinterpret_cast<Cell<V>*>(scratch);
  const bool complete =
      context.ParallelChunks(tables, 1,
                             [=](std::size_t table, std::size_t) {
                               Cell<V>* const mine = cells + table * size;
                               std::fill_n(mine, size, Cell<V>());
                               for (std::size_t i = table * length, end = std::min(n, i + length); i < end; ++i) {
                                 mine[range.Of(columns.keys[i])].Add(columns.values[i]);
                               }
                             },
                             {0.1, 0.95});
  if (!complete) return false;
  context.ParallelFor(size, kBlock, [=](std::size_t begin, std::size_t end) {
    for (std::size_t table = 1; table < tables; ++table) {
      for (std::size_t i = begin; i < end; ++i) cells[i].Add(cells[table * size + i]);
    }
  });
  groups = 0;
  for (std::size_t i = 0; i < size; ++i) {
    if (cells[i].count == 0) continue;
    columns.unique_keys[groups] = range.KeyAt(i);
    columns.Store(groups++, cells[i]);
  }
  return true;
}

// at(i): the number of the i-th key in order, and its row.
template <typename K, typename V, typename At>
bool SumSorted(const Columns<K, V>& columns, const KeyRange<K>& range, Block<V>* blocks, const At& at,
               std::uint64_t& groups, CpuContext& context) {
  const std::size_t n = columns.keys.size();
  const auto begins = [=](std::size_t i) { return i == 0 || at(i).key != at(i - 1).key; };
  const bool counted = context.ParallelChunks(n, kBlock,
                                              [=](std::size_t begin, std::size_t end) {
                                                std::uint64_t count = 0;
                                                for (std::size_t i = begin; i < end; ++i) count += begins(i);
                                                blocks[begin / kBlock] = {.first = count, .head = {}, .tail = {}};
                                              },
                                              {0.7, 0.8});
  if (!counted) return false;
  const std::size_t block_count = BlockCount(n);
  groups = 0;
  for (std::size_t b = 0; b < block_count; ++b) groups += std::exchange(blocks[b].first, groups);

  const bool summed = context.ParallelChunks(n, kBlock,
                                             [=](std::size_t begin, std::size_t end) {
                                               Block<V>& block = blocks[begin / kBlock];
                                               std::uint64_t group = block.first;
                                               Cell<V> cell;
                                               for (std::size_t i = begin; i < end; ++i) {
                                                 const Entry entry = at(i);
                                                 if (begins(i)) {
                                                   if (group == block.first) {
                                                     block.head = cell;
                                                   } else {
                                                     columns.Store(group - 1, cell);
                                                   }
                                                   columns.unique_keys[group++] = range.KeyAt(entry.key);
                                                   cell = {};
                                                 }
                                                 cell.Add(columns.values[entry.index]);
                                               }
                                               (group == block.first ? block.head : block.tail) = cell;
                                             },
                                             {0.8, 1});
  if (!summed) return false;
  // Keys that end in another block than they begin in, and each block's last key.
  Cell<V> open;
  for (std::size_t b = 0; b < block_count; ++b) {
    open.Add(blocks[b].head);
    const std::uint64_t next = b + 1 < block_count ? blocks[b + 1].first : groups;
    if (next == blocks[b].first) continue;
    if (blocks[b].first > 0) columns.Store(blocks[b].first - 1, open);
    open = blocks[b].tail;
  }
  columns.Store(groups - 1, open);
  return true;
}

// Keys' numbers of 32 bits above their rows, to be compared as signed ones.
constexpr std::uint64_t kSign = std::uint64_t{1} << 63;

template <typename K>
bool SortPacked(std::span<const K> keys, const KeyRange<K>& range, std::int64_t* a, std::int64_t* sorted,
                CpuContext& context) {
  const std::size_t n = keys.size();
  const auto load = [=](std::size_t i) { return static_cast<std::int64_t>((range.Of(keys[i]) << 32 | i) ^ kSign); };
  const auto store = [=](std::size_t i, std::int64_t entry) { sorted[i] = entry; };
  if (n >= sort::kSerialBelow) return sort::SortLongRow(n, a, sorted, load, store, context, {0.1, 0.7});
  sort::SortShortRow(n, a, load, store);
  return true;
}

template <typename K>
bool SortWide(std::span<const K> keys, const KeyRange<K>& range, std::uint64_t* counts, Entry* a, Entry* sorted,
              CpuContext& context) {
  const std::size_t n = keys.size();
  const auto load = [=](std::size_t i) { return Entry{.key = range.Of(keys[i]), .index = i}; };
  const auto store = [=](std::size_t i, const Entry& entry) { sorted[i] = entry; };
  if (n >= sort::kSerialBelow) {
    return sort_by_key::SortLongRow(n, counts, a, sorted, load, store, context, {0.1, 0.7});
  }
  sort_by_key::SortShortRow(n, a, sorted, load, store);
  return true;
}

template <typename K, typename V>
Outcome Run(const Call& call, CpuContext& context) {
  const Columns<K, V> columns{.keys = call.Input<K>("keys"),
                              .values = call.Input<V>("values").data(),
                              .unique_keys = call.Output<K>("unique_keys").data(),
                              .sums = call.Output<Result<V>>("sums").data(),
                              .counts = call.Output<std::int64_t>("counts").data()};
  const std::size_t n = columns.keys.size();
  std::uint64_t groups = 0;
  if (n != 0) {
    KeyRange<K> range{};
    if (!FindRange(columns.keys, range, context, {0, 0.1})) return Outcome::Cancelled();
    auto* const blocks = reinterpret_cast<Block<V>*>(call.scratch().data());
    auto* const counts = reinterpret_cast<std::uint64_t*>(call.scratch().data() + BlockBytes(n));
    std::byte* const rows = call.scratch().data() + BlockBytes(n) + CountBytes(n);
    bool complete = false;
    if (range.span() < std::min<std::uint64_t>(kMostInTable, n)) {
      complete = SumInTables(columns, range, rows, groups, context);
    } else if (sizeof(K) == 4 || range.span() >> 32 == 0) {
      auto* const entries = reinterpret_cast<std::int64_t*>(rows);
      const auto at = [sorted = entries + n](std::size_t i) {
        const std::uint64_t entry = static_cast<std::uint64_t>(sorted[i]) ^ kSign;
        return Entry{.key = entry >> 32, .index = entry & 0xffffffff};
      };
      complete = SortPacked(columns.keys, range, entries, entries + n, context) &&
                 SumSorted(columns, range, blocks, at, groups, context);
    } else {
      Entry* const entries = reinterpret_cast<Entry*>(rows);
      const auto at = [sorted = entries + n](std::size_t i) { return sorted[i]; };
      complete = SortWide(columns.keys, range, counts, entries, entries + n, context) &&
                 SumSorted(columns, range, blocks, at, groups, context);
    }
    if (!complete) return Outcome::Cancelled();
  }
  SayGroups(call, groups);
  context.Progress(1);
  return Outcome::Ok();
}

}  // namespace

MemoryPlan PlanCpu(const BoundCall& call) {
  const Signature& keys = call.Input("keys");
  const std::size_t n = static_cast<std::size_t>(keys.shape[0]);
  if (n == 0) return {};
  const std::size_t entry = SizeOf(keys.dtype) == 4 ? sizeof(std::int64_t) : sizeof(Entry);
  return {.scratch_bytes = BlockBytes(n) + CountBytes(n) + 2 * n * entry};
}

Outcome RunCpu(const Call& call, CpuContext& context) {
  return ForType<std::int32_t, std::int64_t>("groupby_sum", call.InputType("keys"), [&]<typename K>() {
    return ForType<float, double, std::int32_t, std::int64_t>("groupby_sum", call.InputType("values"),
                                                              [&]<typename V>() { return Run<K, V>(call, context); });
  });
}

}  // namespace hotplate::groupby_sum
