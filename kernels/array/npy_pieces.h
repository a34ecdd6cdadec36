// An .npy file's elements piece by piece, for callers that do not hold all of them: an upload, a digest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/array/npy.h"

namespace hotplate {

// Not thread-safe. Holds nothing for a file in C order. A file in Fortran order is transposed one window at a time, so
// that reading forward is cheap.
class NpyPieces {
 public:
  static constexpr std::size_t kWindowBytes = std::size_t{16} << 20;

  // `window_bytes` is a seam for tests.
  explicit NpyPieces(NpyFile file, std::size_t window_bytes = kWindowBytes)
      : file_(std::move(file)), window_bytes_(window_bytes) {}

  const Signature& signature() const { return file_.signature(); }

  // Fills `to` with the bytes of the elements in C order, from byte `offset` on. If the file was written to meanwhile,
  // reading its last bytes is an error: the elements may be a mixture.
  std::optional<NpyError> Read(std::uint64_t offset, std::span<std::byte> to);

 private:
  std::optional<NpyError> FillWindow(std::uint64_t offset);

  NpyFile file_;
  std::size_t window_bytes_;
  std::vector<std::byte> window_;  // in C order
  std::uint64_t window_begin_ = 0;
};

}  // namespace hotplate
