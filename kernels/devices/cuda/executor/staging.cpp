#include "kernels/devices/cuda/executor/staging.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string_view>
#include <utility>

namespace hotplate {
namespace {

// Copies shorter than this are not worth waking a thread for.
constexpr std::uint64_t kHelpedBytes = std::uint64_t{1} << 20;

// One copy, cut into parts that threads take one after the other.
struct HostCopy {
  static constexpr std::uint64_t kPart = std::uint64_t{256} << 10;

  std::byte* to;
  const std::byte* from;
  std::uint64_t bytes;
  std::atomic<std::uint64_t> next{0};

  static void Work(void* argument) {
    HostCopy& copy = *static_cast<HostCopy*>(argument);
    for (;;) {
      const std::uint64_t begin = copy.next.fetch_add(kPart, std::memory_order_relaxed);
      if (begin >= copy.bytes) return;
      std::memcpy(copy.to + begin, copy.from + begin, std::min(kPart, copy.bytes - begin));
    }
  }
};

// Calls visit(begin, end) for the stretches of [begin, end) of the block that belong to pieces. What lies between them
// was never written, so nothing reads it.
template <typename Visit>
void VisitStretches(std::span<const Piece> pieces, std::uint64_t begin, std::uint64_t end, std::size_t& first,
                    const Visit& visit) {
  std::uint64_t from = begin, to = begin;
  VisitParts(pieces, begin, end, first, [&](const std::byte*, std::uint64_t bytes, std::uint64_t at) {
    if (begin + at != to) {
      if (from < to) visit(from, to);
      from = begin + at;
    }
    to = begin + at + bytes;
  });
  if (from < to) visit(from, to);
}

// Where the pieces begin and end in the block.
Chunks ChunksOf(std::span<const Piece> pieces, std::uint64_t& begin) {
  begin = pieces.empty() ? 0 : pieces.front().offset;
  const std::uint64_t end = pieces.empty() ? 0 : pieces.back().offset + pieces.back().bytes;
  return {end - begin, StagingBuffer::kBytes};
}

}  // namespace

Staging::~Staging() {
  for (std::unique_ptr<StagingBuffer>& buffer : buffers_) pool_.GiveBack(std::move(buffer));
}

Outcome Staging::Initialise() {
  buffers_.reserve(kMostBuffers);
  while (buffers_.size() < kOwnBuffers) {
    std::unique_ptr<StagingBuffer> buffer;
    if (const Outcome o = pool_.Take(buffer); !o.ok()) return o;
    buffers_.push_back(std::move(buffer));
  }
  return Outcome::Ok();
}

void Staging::Borrow(std::uint64_t chunks) {
  while (buffers_.size() < kMostBuffers && buffers_.size() < chunks) {
    std::unique_ptr<StagingBuffer> buffer;
    if (!pool_.Take(buffer).ok()) return;  // its own are enough
    buffers_.push_back(std::move(buffer));
  }
}

void Staging::Rest() {
  while (buffers_.size() > kOwnBuffers) {
    pool_.GiveBack(std::move(buffers_.back()));
    buffers_.pop_back();
  }
  next_ = 0;
}

void Staging::CopyHost(std::byte* to, const std::byte* from, std::uint64_t bytes) const {
  if (threads_ == nullptr || helpers_ == 0 || bytes < kHelpedBytes) {
    std::memcpy(to, from, bytes);
    return;
  }
  HostCopy copy{to, from, bytes};
  threads_->Run(helpers_, HostCopy::Work, &copy);
}

Outcome Staging::ToDevice(std::byte* block, std::span<const Piece> pieces, const CudaContext& context) {
  constexpr std::string_view kWhat = "copying the inputs to the device";
  const Driver& driver = context.driver();
  std::uint64_t start = 0;
  const Chunks chunks = ChunksOf(pieces, start);
  Borrow(chunks.count());
  std::size_t piece = 0;
  for (std::uint64_t i = 0; i < chunks.count(); ++i) {
    if (context.CancelRequested()) return Outcome::Cancelled();
    const std::uint64_t begin = start + chunks.Begin(i), end = start + chunks.End(i);
    StagingBuffer& buffer = *buffers_[next_];
    next_ = (next_ + 1) % buffers_.size();
    if (const Outcome o = driver.Check(WaitFor(driver, buffer.copied.get()), kWhat); !o.ok()) return o;
    VisitParts(pieces, begin, end, piece, [&](const std::byte* host, std::uint64_t bytes, std::uint64_t at) {
      CopyHost(buffer.bytes.get() + at, host, bytes);
    });
    const auto to = reinterpret_cast<DevicePointer>(block + begin);
    if (const Outcome o =
            driver.Check(driver.cuMemcpyHtoDAsync(to, buffer.bytes.get(), end - begin, context.stream()), kWhat);
        !o.ok()) {
      return o;
    }
    if (const Outcome o = driver.Check(driver.cuEventRecord(buffer.copied.get(), context.stream()), kWhat); !o.ok()) {
      return o;
    }
  }
  return Outcome::Ok();
}

Outcome Staging::FromDevice(const std::byte* block, std::span<const Piece> pieces, const CudaContext& context) {
  // The first wait after the kernel is here: its own error, if it has one, shows.
  constexpr std::string_view kWhat = "waiting for the kernel and its outputs";
  const Driver& driver = context.driver();
  std::uint64_t start = 0;
  const Chunks chunks = ChunksOf(pieces, start);
  Borrow(chunks.count());
  const std::uint64_t count = chunks.count(), depth = buffers_.size();
  std::size_t piece = 0, asked_piece = 0;
  std::uint64_t asked = 0;
  // The copies run ahead by as many chunks as there are buffers; chunk i is copied out before its buffer is asked for
  // again. A buffer that an input used before is free: the stream comes to this copy after that one.
  for (std::uint64_t i = 0; i < count; ++i) {
    for (; asked < count && asked < i + depth; ++asked) {
      if (context.CancelRequested()) return Outcome::Cancelled();
      const std::uint64_t begin = start + chunks.Begin(asked);
      StagingBuffer& buffer = *buffers_[asked % depth];
      int copied = kDriverOk;
      VisitStretches(pieces, begin, start + chunks.End(asked), asked_piece, [&](std::uint64_t from, std::uint64_t to) {
        if (copied != kDriverOk) return;
        copied = driver.cuMemcpyDtoHAsync(buffer.bytes.get() + (from - begin),
                                          reinterpret_cast<DevicePointer>(block + from), to - from, context.stream());
      });
      if (const Outcome o = driver.Check(copied, kWhat); !o.ok()) return o;
      if (const Outcome o = driver.Check(driver.cuEventRecord(buffer.copied.get(), context.stream()), kWhat); !o.ok()) {
        return o;
      }
    }
    const StagingBuffer& buffer = *buffers_[i % depth];
    if (const Outcome o = driver.Check(WaitFor(driver, buffer.copied.get()), kWhat); !o.ok()) return o;
    VisitParts(pieces, start + chunks.Begin(i), start + chunks.End(i), piece,
               [&](std::byte* host, std::uint64_t bytes, std::uint64_t at) {
                 CopyHost(host, buffer.bytes.get() + at, bytes);
               });
  }
  return Outcome::Ok();
}

}  // namespace hotplate
