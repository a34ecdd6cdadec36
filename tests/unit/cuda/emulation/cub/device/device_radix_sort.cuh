// In the place of CUB's: the same answers, by the standard library. The buffers' turns, the spare buffer's content
// afterwards and the workspace are as unhelpful as CUB's may be.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

namespace cub {

template <typename T>
struct DoubleBuffer {
  DoubleBuffer(T* current, T* alternate) : d_buffers{current, alternate} {}
  T* Current() const { return d_buffers[selector]; }
  T* Alternate() const { return d_buffers[selector ^ 1]; }

  T* d_buffers[2];
  int selector = 0;
};

struct DeviceRadixSort {
  template <typename Key>
  static int SortKeys(void* workspace, std::size_t& bytes, DoubleBuffer<Key>& keys, std::int64_t count, int first_bit,
                      int end_bit, void* stream) {
    return Sort<Key, Key>(workspace, bytes, keys, nullptr, count, first_bit, end_bit, stream);
  }
  template <typename Key, typename Value>
  static int SortPairs(void* workspace, std::size_t& bytes, DoubleBuffer<Key>& keys, DoubleBuffer<Value>& values,
                       std::int64_t count, int first_bit, int end_bit, void* stream) {
    return Sort(workspace, bytes, keys, &values, count, first_bit, end_bit, stream);
  }

 private:
  template <typename Key, typename Value>
  static int Sort(void* workspace, std::size_t& bytes, DoubleBuffer<Key>& keys, DoubleBuffer<Value>* values,
                  std::int64_t count, int first_bit, int end_bit, void*) {
    constexpr int kInvalidValue = 1;
    const std::size_t n = static_cast<std::size_t>(count);
    const std::size_t wanted = 1000 + n / 8;
    if (workspace == nullptr) {
      bytes = wanted;
      return 0;
    }
    if (bytes < wanted || first_bit != 0 || end_bit > static_cast<int>(8 * sizeof(Key))) return kInvalidValue;
    std::memset(workspace, 0x5a, wanted);
    const Key mask = end_bit == static_cast<int>(8 * sizeof(Key)) ? static_cast<Key>(~Key{0})
                                                                  : static_cast<Key>((Key{1} << end_bit) - 1);
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return (keys.Current()[a] & mask) < (keys.Current()[b] & mask);
    });
    const bool turn = (end_bit + 7) / 8 % 2 == 1;
    Move(keys, order, turn);
    if (values != nullptr) Move(*values, order, turn);
    return 0;
  }

  template <typename T>
  static void Move(DoubleBuffer<T>& buffers, const std::vector<std::size_t>& order, bool turn) {
    std::vector<T> sorted;
    for (const std::size_t i : order) sorted.push_back(buffers.Current()[i]);
    if (turn) buffers.selector ^= 1;
    std::copy(sorted.begin(), sorted.end(), buffers.Current());
    std::fill_n(buffers.Alternate(), order.size(), static_cast<T>(0xa5a5a5a5));
  }
};

}  // namespace cub
