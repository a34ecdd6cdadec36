#include "server/service/awake_poll.h"

#include <sys/epoll.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <utility>

#include "kernels/devices/cpu/machine.h"

namespace hotplate::server {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

// Calls that follow each other within this are in quick succession: asleep, a small call takes 80 to 200 us.
constexpr nanoseconds kQuick = microseconds(400);
constexpr nanoseconds kAwake = microseconds(150);
// A look takes a microsecond. After one that took as long as this, others need this processor: they have it for a
// while. A short one: on a virtual machine it may have been the host, once.
constexpr nanoseconds kTaken = microseconds(300);
constexpr nanoseconds kTakenRest = std::chrono::milliseconds(5);

// Waits that were awake for nothing, one after the other, until none is awake for a while: calls do follow each other,
// but not soon enough.
constexpr int kMostInVain = 4;
constexpr nanoseconds kInVainRest = std::chrono::milliseconds(50);

// Times of the steady clock, in nanoseconds.
std::atomic<std::int64_t> last_small_call{0}, awake_until{0}, asleep_until{0};
std::atomic<int> in_vain{0};

std::int64_t Now() {
  return std::chrono::duration_cast<nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void StayAsleep(std::int64_t now, nanoseconds rest) {
  asleep_until.store(std::max(asleep_until.load(std::memory_order_relaxed), now + rest.count()),
                     std::memory_order_relaxed);
  awake_until.store(0, std::memory_order_relaxed);
}

}  // namespace

void NoteSmallCall() {
  static const bool several_processors = cpu::UsableThreads() > 1;  // or the client may need this one
  if (!several_processors) return;
  const std::int64_t now = Now();
  const std::int64_t before = last_small_call.exchange(now, std::memory_order_relaxed);
  const bool quick = now - before < kQuick.count() && now >= asleep_until.load(std::memory_order_relaxed);
  awake_until.store(quick ? now + kAwake.count() : 0, std::memory_order_relaxed);
}

void NoteManyJobs() {
  last_small_call.store(0, std::memory_order_relaxed);
  awake_until.store(0, std::memory_order_relaxed);
}

}  // namespace hotplate::server

// NOLINTBEGIN(bugprone-reserved-identifier): the linker's names
extern "C" int __real_epoll_wait(int epoll, epoll_event* events, int most, int timeout_ms);

extern "C" int __wrap_epoll_wait(int epoll, epoll_event* events, int most, int timeout_ms) {
  using namespace hotplate::server;
  if (timeout_ms == 0) return __real_epoll_wait(epoll, events, most, 0);
  std::int64_t now = Now();
  bool awake = false;
  while (now < awake_until.load(std::memory_order_relaxed)) {
    awake = true;
    const int came = __real_epoll_wait(epoll, events, most, 0);
    const std::int64_t before = std::exchange(now, Now());
    if (now - before > kTaken.count()) StayAsleep(now, kTakenRest);
    if (came == 0) continue;
    in_vain.store(0, std::memory_order_relaxed);
    return came;
  }
  if (awake && in_vain.fetch_add(1, std::memory_order_relaxed) + 1 >= kMostInVain) {
    StayAsleep(now, kInVainRest);
    in_vain.store(0, std::memory_order_relaxed);
  }
  return __real_epoll_wait(epoll, events, most, timeout_ms);
}
// NOLINTEND(bugprone-reserved-identifier)
