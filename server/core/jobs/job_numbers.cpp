#include "server/core/jobs/job_numbers.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"

namespace hotplate::core {
namespace {

// Threads that serve other calls wait here: a client tries again.
constexpr std::chrono::seconds kPatience(1);
constexpr std::chrono::seconds kBeforeAnotherTry(1);
// Numbers for those who have awaited them and not taken them yet: threads that submit.
constexpr std::uint64_t kReserve = 16;
// The last part of a block, during which the next one is claimed.
constexpr std::uint64_t kLastPart = 4;
constexpr std::uint64_t kGrowth = 4;
constexpr std::uint64_t kLargest = 1 << 20;
constexpr NumberBlock kNone{1, 0};

std::uint64_t SizeOf(const NumberBlock& block) { return block.last - block.first + 1; }  // kNone: 0
std::uint64_t EnoughOf(const NumberBlock& block) { return std::max(SizeOf(block) / kLastPart, 2 * kReserve); }

}  // namespace

JobNumbers::JobNumbers(NumberBlock first, Claim claim)
    : claim_(std::move(claim)), now_(first), next_(kNone), enough_(EnoughOf(first)) {
  if (claim_) claimer_ = std::thread([this] { ClaimAhead(); });
}

JobNumbers::~JobNumbers() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (claimer_.joinable()) claimer_.join();
}

std::uint64_t JobNumbers::LeftLocked() const { return SizeOf(now_) + SizeOf(next_); }

void JobNumbers::ClaimAhead() {
  std::uint64_t size = kFirstSize * kGrowth;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return wanted_ || stopping_; });
    if (stopping_) return;
    lock.unlock();
    absl::StatusOr<NumberBlock> block = claim_(size);
    lock.lock();
    failure_ = block.status();
    if (block.ok()) {
      next_ = *block;
      wanted_ = false;
      size = std::min(size * kGrowth, kLargest);
    }
    changed_.notify_all();
    if (!block.ok()) changed_.wait_for(lock, kBeforeAnotherTry, [this] { return stopping_; });
  }
}

void JobNumbers::WantLocked() {
  if (wanted_ || SizeOf(next_) > 0) return;
  wanted_ = true;
  changed_.notify_all();
}

absl::Status JobNumbers::Await() {
  std::unique_lock lock(mutex_);
  if (LeftLocked() > kReserve || !claim_) return absl::OkStatus();
  WantLocked();
  const auto end = std::chrono::steady_clock::now() + kPatience;
  changed_.wait_until(lock, end,
                      [this] { return LeftLocked() > kReserve || !wanted_ || !failure_.ok() || stopping_; });
  if (LeftLocked() > 0) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(
      "there is no id for the job: ", failure_.ok() ? "the folder of job ids does not answer" : failure_.message(),
      "; try again later"));
}

std::uint64_t JobNumbers::Take() {
  const std::scoped_lock lock(mutex_);
  if (SizeOf(now_) == 0 && SizeOf(next_) > 0) {
    now_ = std::exchange(next_, kNone);
    enough_ = EnoughOf(now_);
  }
  if (SizeOf(now_) == 0) return 0;
  last_taken_ = now_.first++;
  if (claim_ && SizeOf(now_) < enough_) WantLocked();
  return last_taken_;
}

std::uint64_t JobNumbers::last_taken() const {
  const std::scoped_lock lock(mutex_);
  return last_taken_;
}

}  // namespace hotplate::core
