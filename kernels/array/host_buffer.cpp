#include "kernels/array/host_buffer.h"

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <new>

#include "kernels/array/large_memory.h"

namespace hotplate {
namespace {

// A buffer of kLargeFrom or more consists of huge pages. Up to kSmall, the buffer object and its elements are one piece
// of the heap: aligned allocation is slow, and a tiny job has three buffers. Builds with a sanitizer allocate all
// elements separately, so that red zones find overruns.
#ifdef HOTPLATE_SANITIZED
constexpr std::size_t kLargeFrom = std::numeric_limits<std::size_t>::max();
constexpr std::size_t kSmall = 0;
#else
constexpr std::size_t kLargeFrom = std::size_t{2} << 20;
constexpr std::size_t kSmall = 512;
#endif

// With overcommit, a mapping larger than memory succeeds, and the process is killed when it is written.
std::size_t PhysicalMemory() {
  // Asked once: three system calls would be a tenth of a tiny job.
  static const std::size_t bytes = [] {
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page <= 0) return std::numeric_limits<std::size_t>::max() / 4;
    return static_cast<std::size_t>(pages) * static_cast<std::size_t>(page);
  }();
  return bytes;
}

std::byte* AllocateBytes(std::size_t bytes) {
  if (bytes > PhysicalMemory()) return nullptr;
  if (bytes >= kLargeFrom) return AllocateLarge(bytes);
  void* data = nullptr;
  if (posix_memalign(&data, HostBuffer::kAlignment, bytes == 0 ? 1 : bytes) != 0) return nullptr;
  return static_cast<std::byte*>(data);
}

void FreeBytes(std::byte* data, std::size_t bytes) {
  if (bytes >= kLargeFrom) {
    FreeLarge(data, bytes);
  } else {
    std::free(data);
  }
}

}  // namespace

std::shared_ptr<HostBuffer> HostBuffer::Allocate(std::size_t bytes, std::uint64_t identity) {
  if (bytes <= kSmall) return AllocateSmall(bytes, identity);
  std::byte* const data = AllocateBytes(bytes);
  if (data == nullptr) return nullptr;
  auto* const buffer = new (std::nothrow) HostBuffer(data, bytes, identity);
  if (buffer == nullptr) {
    FreeBytes(data, bytes);
    return nullptr;
  }
  try {
    return std::shared_ptr<HostBuffer>(buffer);
  } catch (const std::bad_alloc&) {  // no room for the count; the buffer is freed already
    return nullptr;
  }
}

HostBuffer::~HostBuffer() {
  if (size_ > kSmall) FreeBytes(data_, size_);
}

// The elements behind the buffer itself, in one piece that malloc has at hand.
std::shared_ptr<HostBuffer> HostBuffer::AllocateSmall(std::size_t bytes, std::uint64_t identity) {
  void* const piece = std::malloc(sizeof(HostBuffer) + kAlignment - 1 + bytes);
  if (piece == nullptr) return nullptr;
  const auto end = reinterpret_cast<std::uintptr_t>(piece) + sizeof(HostBuffer);
  auto* const data = static_cast<std::byte*>(piece) + sizeof(HostBuffer) + (kAlignment - end % kAlignment) % kAlignment;
  const auto free_piece = [](HostBuffer* buffer) {
    buffer->~HostBuffer();
    std::free(buffer);
  };
  try {
    return std::shared_ptr<HostBuffer>(new (piece) HostBuffer(data, bytes, identity), free_piece);
  } catch (const std::bad_alloc&) {  // no room for the count; the buffer is freed already
    return nullptr;
  }
}

}  // namespace hotplate
