#include "server/core/arrays/counted_memory.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/status.h"

namespace hotplate::core {
namespace {

// Shares the buffer's life with its place in the count and its copies on devices, so that one pointer ends all.
struct Counted {
  std::shared_ptr<HostBuffer> buffer;
  std::shared_ptr<std::atomic<std::uint64_t>> held;
  std::uint64_t bytes;
  std::shared_ptr<DeviceCopies> copies;

  Counted(std::shared_ptr<HostBuffer> b, std::shared_ptr<std::atomic<std::uint64_t>> h, std::uint64_t n,
          std::shared_ptr<DeviceCopies> c)
      : buffer(std::move(b)), held(std::move(h)), bytes(n), copies(std::move(c)) {}
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() {
    // An absent buffer may stay for a moment, until its device has heard; it is addresses without bytes.
    if (copies != nullptr) copies->Forget(std::move(buffer));
    buffer.reset();
    held->fetch_sub(bytes, std::memory_order_relaxed);
  }
};

}  // namespace

absl::Status NoMemory(std::string description) {
  return Refused(absl::StatusCode::kResourceExhausted, {{"memory", std::move(description)}});
}

bool CountedMemory::Fits(std::uint64_t bytes, std::uint64_t soon_free, std::uint64_t held) const {
  return limit_ == 0 || (bytes <= limit_ && held - std::min(held, soon_free) <= limit_ - bytes);
}

absl::StatusOr<std::shared_ptr<HostBuffer>> CountedMemory::Allocate(std::uint64_t bytes, std::uint64_t soon_free,
                                                                    std::uint64_t identity,
                                                                    const std::shared_ptr<DeviceCopies>& copies) {
  if (limit_ != 0 && bytes > limit_) {
    return Refused(
        absl::StatusCode::kResourceExhausted,
        {{"bytes",
          absl::StrCat(bytes, " bytes of array memory are needed; the daemon's limit array-bytes is ", limit_)}});
  }
  std::uint64_t held = held_.load(std::memory_order_relaxed);
  do {
    if (!Fits(bytes, soon_free, held)) {
      return NoMemory(absl::StrCat(bytes, " bytes of array memory are needed, ", limit_ - std::min(limit_, held),
                                   " of ", limit_, " are free, ", held,
                                   " held (limit array-bytes); free arrays or wait for jobs"));
    }
  } while (!held_.compare_exchange_weak(held, held + bytes, std::memory_order_relaxed));

  std::shared_ptr<HostBuffer> buffer = HostBuffer::Allocate(bytes, identity);
  std::shared_ptr<std::atomic<std::uint64_t>> count(shared_from_this(), &held_);
  if (buffer == nullptr) {
    held_.fetch_sub(bytes, std::memory_order_relaxed);
    return NoMemory(absl::StrCat("the machine has no ", bytes, " bytes of memory left"));
  }
  HostBuffer* plain = buffer.get();
  auto counted = std::make_shared<Counted>(std::move(buffer), std::move(count), bytes, copies);
  return std::shared_ptr<HostBuffer>(std::move(counted), plain);
}

}  // namespace hotplate::core
