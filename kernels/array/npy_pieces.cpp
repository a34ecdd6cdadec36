#include "kernels/array/npy_pieces.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>

namespace hotplate {
namespace {

// One read where needed elements lie close together, and at most one read's bytes elsewhere.
constexpr std::size_t kWindowStage = std::size_t{4} << 20;
// Runs closer together than this are read at once, with the bytes between them.
constexpr std::size_t kClose = std::size_t{16} << 10;

// The elements of a window, as they lie in the file. Axes before `axis` are fixed, `axis` covers `count` indices, the
// others are whole. In the file the axes before come faster than `axis`, the others slower: index j of `axis`, and the
// r-th of the others in Fortran order, lie at first + r * pitch + j * step.
struct Window {
  Window(const Shape& shape, std::size_t element, std::size_t most) {
    std::size_t inner = 1;  // elements behind one index of `axis`
    for (std::size_t i = shape.size(); i-- > 0; inner *= static_cast<std::size_t>(shape[i])) {
      axis = i;
      block = inner;
      if (inner * static_cast<std::size_t>(shape[i]) > most) break;
    }
    const auto size = [&shape](std::size_t i) { return static_cast<std::size_t>(shape[i]); };
    const std::size_t row = element / block;  // with the axes before
    begin = row * block;
    const std::size_t index = row % size(axis);
    count = std::min(size(axis) - index, std::max<std::size_t>(1, most / block));
    std::size_t before = row / size(axis);
    std::array<std::size_t, kMaxRank> indices{};
    for (std::size_t i = axis; i-- > 0; before /= size(i)) indices[i] = before % size(i);
    for (std::size_t i = 0; i < axis; ++i) {
      first += indices[i] * step;
      step *= size(i);
    }
    first += index * step;
    pitch = step * size(axis);
    std::size_t stride = block;
    for (std::size_t i = axis + 1; i < shape.size(); ++i) {
      stride /= size(i);
      others.push_back({size(i), stride, 0});
    }
  }

  // From the r-th of the others, counted in Fortran order, to the next; returns its place in C order.
  std::size_t Next(std::size_t place) {
    for (Other& other : others) {
      place += other.stride;
      if (++other.index < other.size) return place;
      place -= other.size * other.stride;
      other.index = 0;
    }
    return place;
  }

  struct Other {
    std::size_t size, stride, index;
  };
  std::size_t axis = 0, block = 1, begin = 0, count = 0;
  std::size_t first = 0, step = 1, pitch = 0;
  std::vector<Other> others;
};

template <std::size_t kSize>
std::optional<NpyError> ReadWindow(const NpyFile& file, Window window, std::byte* to) {
  constexpr std::size_t kElements = kWindowStage / kSize;
  const bool close = window.pitch <= kClose / kSize;
  const std::size_t end = window.first + (window.block - 1) * window.pitch + (window.count - 1) * window.step + 1;
  const std::size_t together = std::max<std::size_t>(1, (kElements - 1) / window.step);
  std::vector<std::byte> stage;
  std::size_t stage_begin = 0, stage_end = 0;  // elements of the file
  std::size_t place = 0;
  for (std::size_t r = 0; r < window.block; ++r, place = window.Next(place)) {
    for (std::size_t j = 0; j < window.count; j += together) {
      const std::size_t count = std::min(together, window.count - j);
      const std::size_t first = window.first + r * window.pitch + j * window.step;
      const std::size_t last = first + (count - 1) * window.step;
      if (first < stage_begin || last >= stage_end) {
        stage_begin = first;
        stage_end = close ? std::min(end, first + kElements) : last + 1;
        stage.resize((stage_end - stage_begin) * kSize);
        if (auto error = file.ReadStored(stage_begin * kSize, stage)) return error;
      }
      const std::byte* from = stage.data() + (first - stage_begin) * kSize;
      std::byte* out = to + (j * window.block + place) * kSize;
      for (std::size_t i = 0; i < count; ++i) {
        std::memcpy(out, from, kSize);
        from += window.step * kSize;
        out += window.block * kSize;
      }
    }
  }
  return std::nullopt;
}

std::optional<NpyError> ReadWindow(const NpyFile& file, Window window, std::byte* to) {
  switch (SizeOf(file.signature().dtype)) {
    case 1:
      return ReadWindow<1>(file, std::move(window), to);
    case 2:
      return ReadWindow<2>(file, std::move(window), to);
    case 4:
      return ReadWindow<4>(file, std::move(window), to);
    case 8:
      return ReadWindow<8>(file, std::move(window), to);
    default:
      return ReadWindow<16>(file, std::move(window), to);
  }
}

}  // namespace

std::optional<NpyError> NpyPieces::Read(std::uint64_t offset, std::span<std::byte> to) {
  const std::size_t bytes = *ByteSize(signature());
  if (offset > bytes || to.size() > bytes - offset) {
    return NpyError{.message = "bytes " + std::to_string(offset) + " to " + std::to_string(offset + to.size()) +
                               " were asked for, and the array has " + std::to_string(bytes)};
  }
  const bool last = offset + to.size() == bytes;
  if (!file_.transposed()) {
    if (auto error = file_.ReadStored(offset, to)) return error;
  }
  while (file_.transposed() && !to.empty()) {
    if (offset < window_begin_ || offset >= window_begin_ + window_.size()) {
      if (auto error = FillWindow(offset)) return error;
    }
    const std::size_t at = offset - window_begin_;
    const std::size_t count = std::min(to.size(), window_.size() - at);
    std::memcpy(to.data(), window_.data() + at, count);
    offset += count;
    to = to.subspan(count);
  }
  if (!last) return std::nullopt;
  std::vector<std::byte>().swap(window_);  // the memory is for the next file
  return file_.Unchanged();
}

std::optional<NpyError> NpyPieces::FillWindow(std::uint64_t offset) {
  const std::size_t element = SizeOf(signature().dtype);
  const Window window(signature().shape, offset / element, std::max<std::size_t>(1, window_bytes_ / element));
  try {
    window_.resize(window.count * window.block * element);
    window_begin_ = window.begin * element;
    std::optional<NpyError> error = ReadWindow(file_, window, window_.data());
    if (error) window_.clear();
    return error;
  } catch (const std::bad_alloc&) {
    window_.clear();
    return SystemError("cannot transpose the array", ENOMEM);
  }
}

}  // namespace hotplate
