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
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.NotifyAll();
  if (claimer_.joinable()) claimer_.join();
}

std::uint64_t JobNumbers::Left() const { return SizeOf(now_) + SizeOf(next_); }

void JobNumbers::ClaimAhead() {
  std::uint64_t size = kFirstSize * kGrowth;
  MutexLock lock(mutex_);
  while (true) {
    while (!wanted_ && !stopping_) changed_.Wait(mutex_);
    if (stopping_) return;
    lock.Unlock();
    absl::StatusOr<NumberBlock> block = claim_(size);
    lock.Lock();
    failure_ = block.status();
    if (block.ok()) {
      next_ = *block;
      wanted_ = false;
      size = std::min(size * kGrowth, kLargest);
    }
    changed_.NotifyAll();
    if (block.ok()) continue;
    const auto again = std::chrono::steady_clock::now() + kBeforeAnotherTry;
    while (!stopping_ && changed_.WaitUntil(mutex_, again)) {
    }
  }
}

void JobNumbers::Want() {
  if (wanted_ || SizeOf(next_) > 0) return;
  wanted_ = true;
  changed_.NotifyAll();
}

absl::Status JobNumbers::Await() {
  MutexLock lock(mutex_);
  if (Left() > kReserve || !claim_) return absl::OkStatus();
  Want();
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (Left() <= kReserve && wanted_ && failure_.ok() && !stopping_) {
    if (!changed_.WaitUntil(mutex_, end)) break;
  }
  if (Left() > 0) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(
      "there is no id for the job: ", failure_.ok() ? "the folder of job ids does not answer" : failure_.message(),
      "; try again later"));
}

std::uint64_t JobNumbers::Take() {
  MutexLock lock(mutex_);
  if (SizeOf(now_) == 0 && SizeOf(next_) > 0) {
    now_ = std::exchange(next_, kNone);
    enough_ = EnoughOf(now_);
  }
  if (SizeOf(now_) == 0) return 0;
  last_taken_ = now_.first++;
  if (claim_ && SizeOf(now_) < enough_) Want();
  return last_taken_;
}

std::uint64_t JobNumbers::last_taken() const {
  MutexLock lock(mutex_);
  return last_taken_;
}

}  // namespace hotplate::core
