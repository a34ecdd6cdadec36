#include <cstdio>
#include <cub/device/device_radix_sort.cuh>

#include "kernels/catalogue/sort/radix_cuda.cuh"
#include "kernels/catalogue/sort/sort.h"

namespace hotplate::sort {
namespace {

// Checks CUB's wanted workspace, known only beside its kernels, against the bound in the plan, which is made elsewhere.
Outcome Fits(cudaError_t asked, std::size_t wanted, const Scratch& layout) {
  if (const Outcome o = ToOutcome(asked, "asking CUB for its workspace"); !o.ok()) return o;
  if (wanted <= layout.workspace_bytes) return Outcome::Ok();
  char text[160];
  std::snprintf(text, sizeof text, "CUB's sort wants a workspace of %zu bytes, more than the %llu that were planned",
                wanted, static_cast<unsigned long long>(layout.workspace_bytes));
  return Outcome::Failed(text);
}

template <typename T>
void Adopt(const cub::DoubleBuffer<T>& sorted, Buffers<T>& buffers) {
  buffers = {sorted.d_buffers[sorted.selector], sorted.d_buffers[sorted.selector ^ 1]};
}

template <typename Key>
Outcome SortKeysByCub(Buffers<Key>& keys, std::uint64_t n, int bits, std::byte* scratch, const Scratch& layout,
                      CudaContext& context) {
  cub::DoubleBuffer<Key> key_buffers(keys.full, keys.spare);
  const std::int64_t count = static_cast<std::int64_t>(n);
  std::size_t bytes = 0;
  const cudaError_t asked =
      cub::DeviceRadixSort::SortKeys(nullptr, bytes, key_buffers, count, 0, bits, context.stream());
  if (const Outcome o = Fits(asked, bytes, layout); !o.ok()) return o;
  bytes = layout.workspace_bytes;
  const cudaError_t sorted =
      cub::DeviceRadixSort::SortKeys(scratch + layout.workspace, bytes, key_buffers, count, 0, bits, context.stream());
  Adopt(key_buffers, keys);
  return ToOutcome(sorted, "CUB's sort");
}

template <typename Key>
Outcome SortPairsByCub(Buffers<Key>& keys, Buffers<std::uint32_t>& indices, std::uint64_t n, int bits,
                       std::byte* scratch, const Scratch& layout, CudaContext& context) {
  cub::DoubleBuffer<Key> key_buffers(keys.full, keys.spare);
  cub::DoubleBuffer<std::uint32_t> index_buffers(indices.full, indices.spare);
  const std::int64_t count = static_cast<std::int64_t>(n);
  std::size_t bytes = 0;
  const cudaError_t asked =
      cub::DeviceRadixSort::SortPairs(nullptr, bytes, key_buffers, index_buffers, count, 0, bits, context.stream());
  if (const Outcome o = Fits(asked, bytes, layout); !o.ok()) return o;
  bytes = layout.workspace_bytes;
  const cudaError_t sorted = cub::DeviceRadixSort::SortPairs(scratch + layout.workspace, bytes, key_buffers,
                                                             index_buffers, count, 0, bits, context.stream());
  Adopt(key_buffers, keys);
  Adopt(index_buffers, indices);
  return ToOutcome(sorted, "CUB's sort");
}

template <typename T>
Outcome OneRow(const T* x, T* y, std::uint64_t n, Order<T> order, std::byte* scratch, const Scratch& layout,
               CudaContext& context) {
  using Key = BitsOf<T>;
  const unsigned grid = GridFor(n, 4);
  void* const other = sizeof(T) == sizeof(Key) ? static_cast<void*>(y) : scratch + layout.keys[1];
  Buffers<Key> keys{reinterpret_cast<Key*>(scratch + layout.keys[0]), static_cast<Key*>(other)};
  const Outcome made = Launch(context, device::MakeKeys<T, Key>, grid, kBlockSize, x, keys.full, nullptr, Rows{1, n, 1},
                              false, order, false);
  if (!made.ok()) return made;
  const Outcome sorted = SortKeys(keys, n, 8 * sizeof(Key), scratch, layout, context);
  if (!sorted.ok()) return sorted;
  return Launch(context, device::MakeElements<T, Key>, grid, kBlockSize, keys.full, y, n, order);
}

template <typename T>
Outcome AllRows(const T* x, T* y, const Rows& rows, Order<T> order, std::byte* scratch, const Scratch& layout,
                CudaContext& context) {
  const std::uint64_t n = rows.elements();
  if constexpr (sizeof(T) == 8) {
    Buffers<std::uint32_t> indices;
    const Outcome sorted = SortedIndices(x, rows, order, false, scratch, layout, indices, context);
    if (!sorted.ok()) return sorted;
    return Launch(context, device::FetchInOrder<T>, GridFor(n, 4), kBlockSize, x, indices.full, y, n, order);
  } else {
    const unsigned grid = GridFor(n, 4);
    Buffers<std::uint64_t> keys{reinterpret_cast<std::uint64_t*>(scratch + layout.keys[0]),
                                reinterpret_cast<std::uint64_t*>(scratch + layout.keys[1])};
    const Outcome made = Launch(context, device::MakeKeys<T, std::uint64_t>, grid, kBlockSize, x, keys.full, nullptr,
                                rows, true, order, false);
    if (!made.ok()) return made;
    const Outcome sorted = SortKeys(keys, n, 32 + rows.bits(), scratch, layout, context);
    if (!sorted.ok()) return sorted;
    return Launch(context, device::MakeElements<T, std::uint64_t>, grid, kBlockSize, keys.full, y, n, order);
  }
}

template <typename T>
Outcome Run(const Call& call, CudaContext& context) {
  const T* const x = call.Input<T>("x").data();
  T* const y = call.Output<T>("y").data();
  const Rows rows = RowsOf(call.InputArray("x"));
  if (rows.elements() == 0) return Outcome::Ok();
  const Scratch layout = LayOutSort(rows, sizeof(T));
  const Order<T> order{call.Bool("descending")};
  std::byte* const scratch = call.scratch().data();
  if (!OneByOne(rows)) return AllRows(x, y, rows, order, scratch, layout, context);
  for (std::uint64_t row = 0; row < rows.count; ++row) {
    const std::uint64_t first = row * rows.length;
    if (const Outcome o = OneRow(x + first, y + first, rows.length, order, scratch, layout, context); !o.ok()) return o;
  }
  return Outcome::Ok();
}

}  // namespace

Outcome SortKeys(Buffers<std::uint32_t>& keys, std::uint64_t n, int bits, std::byte* scratch, const Scratch& layout,
                 CudaContext& context) {
  return SortKeysByCub(keys, n, bits, scratch, layout, context);
}

Outcome SortKeys(Buffers<std::uint64_t>& keys, std::uint64_t n, int bits, std::byte* scratch, const Scratch& layout,
                 CudaContext& context) {
  return SortKeysByCub(keys, n, bits, scratch, layout, context);
}

Outcome SortPairs(Buffers<std::uint32_t>& keys, Buffers<std::uint32_t>& indices, std::uint64_t n, int bits,
                  std::byte* scratch, const Scratch& layout, CudaContext& context) {
  return SortPairsByCub(keys, indices, n, bits, scratch, layout, context);
}

Outcome SortPairs(Buffers<std::uint64_t>& keys, Buffers<std::uint32_t>& indices, std::uint64_t n, int bits,
                  std::byte* scratch, const Scratch& layout, CudaContext& context) {
  return SortPairsByCub(keys, indices, n, bits, scratch, layout, context);
}

std::uint64_t ScratchCuda(const Call& call, const CudaTraits&) {
  const hotplate_array& x = call.InputArray("x");
  const Rows rows = RowsOf(x);
  return rows.elements() == 0 ? 0 : LayOutSort(rows, x.bytes / rows.elements()).bytes;
}

Outcome RunCuda(const Call& call, CudaContext& context) {
  return ForSorted("sort", call.InputType("x"), [&]<typename T>() { return Run<T>(call, context); });
}

}  // namespace hotplate::sort
