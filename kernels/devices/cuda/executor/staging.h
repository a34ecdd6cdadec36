// Copies between pageable host memory and the device through a few pinned buffers. Arrays lie one after the other on
// the device, so they travel together: a chunk fills a buffer, whichever arrays its bytes belong to, and small inputs
// are one copy. While one chunk is on the bus, the host fills or empties the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/devices/cpu/thread_pool.h"
#include "kernels/devices/cuda/executor/context.h"
#include "kernels/devices/cuda/executor/pinned_pool.h"

namespace hotplate {

// `bytes` of host memory for `offset` of the device's block. A block's pieces are in ascending order and disjoint; gaps
// between them are unused.
struct Piece {
  std::byte* host = nullptr;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

// Calls visit(host, bytes, at) for the parts of the pieces in [begin, end) of the block; `at` counts from begin.
// `first` is where the search starts: a piece that ends after begin, or one before it; it is moved on.
template <typename Visit>
void VisitParts(std::span<const Piece> pieces, std::uint64_t begin, std::uint64_t end, std::size_t& first,
                const Visit& visit) {
  while (first < pieces.size() && pieces[first].offset + pieces[first].bytes <= begin) ++first;
  for (std::size_t i = first; i < pieces.size() && pieces[i].offset < end; ++i) {
    const Piece& piece = pieces[i];
    const std::uint64_t from = piece.offset > begin ? piece.offset : begin;
    const std::uint64_t to = piece.offset + piece.bytes < end ? piece.offset + piece.bytes : end;
    if (from < to) visit(piece.host + (from - piece.offset), to - from, from - begin);
  }
}

// One lane's.
class Staging {
 public:
  // Two buffers are the lane's own, so that it never waits for another lane; two more are borrowed for long copies,
  // where the pool has them.
  static constexpr std::size_t kOwnBuffers = 2, kMostBuffers = 4;

  // `threads` helps to copy and may be null.
  Staging(PinnedPool& pool, ThreadPool* threads, int helpers) : pool_(pool), threads_(threads), helpers_(helpers) {}
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  Outcome Initialise();

  // Both enqueue on the context's stream. ToDevice returns when the host memory has been read, FromDevice when it has
  // been written. Either gives up between chunks when the task is cancelled.
  Outcome ToDevice(std::byte* block, std::span<const Piece> pieces, const CudaContext& context);
  Outcome FromDevice(const std::byte* block, std::span<const Piece> pieces, const CudaContext& context);

  // One of the lane's own buffers, for use in stream order between ToDevice and FromDevice.
  std::span<std::byte> OwnBytes() const { return {buffers_.front()->bytes.get(), StagingBuffer::kBytes}; }

  // Returns borrowed buffers. The stream is idle.
  void Rest();

 private:
  void Borrow(std::uint64_t chunks);
  void CopyHost(std::byte* to, const std::byte* from, std::uint64_t bytes) const;

  PinnedPool& pool_;
  ThreadPool* const threads_;
  const int helpers_;
  std::vector<std::unique_ptr<StagingBuffer>> buffers_;
  std::size_t next_ = 0;  // the buffer with the oldest copy
};

}  // namespace hotplate
