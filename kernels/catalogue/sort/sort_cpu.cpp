// The order's keys, made signed, which vectors compare best; Highway's vqsort, compiled from its headers: Debian has no
// archive of it. Scratch: for a long row its keys; the output's own memory is the other buffer. Elements
// of less than 4 bytes have keys of 4, so that the other buffer, and the only one of a short row, is scratch too.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/catalogue/sort/sort_cpu.cpp"
// multiversion.h's are left.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
// Instrumented, each takes the compiler half a minute: the baseline alone.
#if defined(HOTPLATE_SANITIZED) && !defined(HWY_COMPILE_ONLY_STATIC)
#define HWY_COMPILE_ONLY_STATIC
#endif
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file again for each target.
#ifndef VQSORT_ONLY_STATIC
#define VQSORT_ONLY_STATIC 1  // needs nothing of the library's archive: Highway 1.1 and later
#endif
#include <hwy/contrib/sort/traits-inl.h>
#include <hwy/contrib/sort/vqsort-inl.h>

#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace hotplate::sort::HWY_NAMESPACE {

template <typename Key>
void VectorSort(Key* keys, std::size_t n) {
  namespace hn = hwy::HWY_NAMESPACE;
#if HWY_MAJOR > 1 || HWY_MINOR > 0
  hn::VQSortStatic(keys, n, hwy::SortAscending());
#else
  const hn::detail::SharedTraits<hn::detail::TraitsLane<hn::detail::OrderAscending<Key>>> traits;
  hn::Sort(hn::SortTag<Key>(), traits, keys, n, static_cast<Key*>(nullptr));
#endif
}

void VectorSort32(std::int32_t* keys, std::size_t n) { VectorSort(keys, n); }
void VectorSort64(std::int64_t* keys, std::size_t n) { VectorSort(keys, n); }

}  // namespace hotplate::sort::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>

#include "kernels/catalogue/sort/merge_cpu.h"
#include "kernels/catalogue/sort/sort.h"
#include "kernels/catalogue/sort/sort_order.h"
#include "kernels/catalogue/sort/sort_rows.h"
#include "kernels/devices/cpu/cpu_context.h"
#include "kernels/devices/device.h"

#if HWY_MAJOR == 1 && HWY_MINOR == 0
// vqsort's pivots are drawn at random. This version's own seeds, of the address and the time, are in its shared object.
void hwy::Sorter::Fill24Bytes(const void*, std::size_t count, void* bytes) {
  const std::uint64_t seed[3] = {0x243f6a8885a308d3 ^ count, 0x13198a2e03707344, 0xa4093822299f31d0};
  static_assert(sizeof seed == 24);
  std::copy_n(reinterpret_cast<const std::byte*>(seed), sizeof seed, static_cast<std::byte*>(bytes));
}
#endif

namespace hotplate::sort {
namespace {

template <typename Key>
using SortFunction = void (*)(Key*, std::size_t);

template <typename Key>
void PlainSort(Key* keys, std::size_t n) {
  std::sort(keys, keys + n);
}

#if HWY_ARCH_X86 && !defined(HWY_COMPILE_ONLY_STATIC)
#if defined(__clang__) && __clang_major__ < 18  // knows no level by its name; every processor with these has the rest
bool HasV4() { return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"); }
bool HasV3() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"); }
#else
bool HasV4() { return __builtin_cpu_supports("x86-64-v4"); }
bool HasV3() { return __builtin_cpu_supports("x86-64-v3"); }
#endif
#endif

template <typename Key>
SortFunction<Key> Best([[maybe_unused]] SortFunction<Key> v4, [[maybe_unused]] SortFunction<Key> v3) {
#if HWY_ARCH_X86 && !defined(HWY_COMPILE_ONLY_STATIC)
  if (HasV4()) return v4;
  if (HasV3()) return v3;
#endif
  return PlainSort<Key>;
}

template <typename T>
Outcome Run(const Call& call, CpuContext& context) {
  using Key = std::make_signed_t<BitsOf<T>>;
  const auto x = call.Input<T>("x");
  const auto y = call.Output<T>("y");
  if (y.empty()) return Outcome::Ok();
  const hotplate_array& array = call.InputArray("x");
  const std::size_t n = static_cast<std::size_t>(array.shape[array.rank - 1]), rows = y.size() / n;
  const Order<T> order{call.Bool("descending")};
  const auto load_from = [=](const T* from) {
    return [=](std::size_t i) { return static_cast<Key>(order.KeyOf(from[i]) ^ Order<T>::kSign); };
  };
  const auto store_to = [=](T* to) {
    return [=](std::size_t i, Key key) { to[i] = order.ElementOf(static_cast<BitsOf<T>>(key) ^ Order<T>::kSign); };
  };
  constexpr bool kInPlace = sizeof(T) == sizeof(Key);
  Key* const keys = reinterpret_cast<Key*>(call.scratch().data());
  const auto in_output = [](T* to) { return static_cast<Key*>(static_cast<void*>(to)); };
  if (n < kSerialBelow) {
    const auto row_sort = [&](std::size_t row) {
      T* const to = y.data() + row * n;
      SortShortRow(n, kInPlace ? in_output(to) : keys + row * n, load_from(x.data() + row * n), store_to(to));
    };
    return EachShortRow(rows, n, row_sort, context) ? Outcome::Ok() : Outcome::Cancelled();
  }
  for (std::size_t row = 0; row < rows; ++row) {
    T* const to = y.data() + row * n;
    if (!SortLongRow(n, keys, kInPlace ? in_output(to) : keys + n, load_from(x.data() + row * n), store_to(to), context,
                     CpuContext::Part().Step(row, rows))) {
      return Outcome::Cancelled();
    }
  }
  return Outcome::Ok();
}

}  // namespace

#if HWY_ARCH_X86 && !defined(HWY_COMPILE_ONLY_STATIC)
void SortKeys(std::int32_t* keys, std::size_t n) {
  static const SortFunction<std::int32_t> best = Best<std::int32_t>(N_AVX3::VectorSort32, N_AVX2::VectorSort32);
  best(keys, n);
}
void SortKeys(std::int64_t* keys, std::size_t n) {
  static const SortFunction<std::int64_t> best = Best<std::int64_t>(N_AVX3::VectorSort64, N_AVX2::VectorSort64);
  best(keys, n);
}
#else
void SortKeys(std::int32_t* keys, std::size_t n) { HWY_STATIC_DISPATCH(VectorSort32)(keys, n); }
void SortKeys(std::int64_t* keys, std::size_t n) { HWY_STATIC_DISPATCH(VectorSort64)(keys, n); }
#endif

MemoryPlan PlanCpu(const BoundCall& call) {
  const Signature& x = call.Input("x");
  const std::size_t n = RowLength(x.shape);
  if (call.InputBytes() == 0) return {};
  if (SizeOf(x.dtype) < 4) return {.scratch_bytes = 4 * (n < kSerialBelow ? *ElementCount(x.shape) : 2 * n)};
  return {.scratch_bytes = n < kSerialBelow ? 0 : n * SizeOf(x.dtype)};
}

Outcome RunCpu(const Call& call, CpuContext& context) {
  return ForSorted("sort", call.InputType("x"), [&]<typename T>() { return Run<T>(call, context); });
}

}  // namespace hotplate::sort
#endif  // HWY_ONCE
