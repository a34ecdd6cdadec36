#include "client/python/src/forks.h"

#include <pthread.h>

#include <atomic>

namespace hotplate::python {
namespace {

enum class Use { kNone, kHere, kBeforeFork };

std::atomic<Use>& State() {
  static std::atomic<Use> state = Use::kNone;
  return state;
}

}  // namespace

void NoteUse() {
  [[maybe_unused]] static const int watching = pthread_atfork(nullptr, nullptr, [] {
    if (State().load(std::memory_order_relaxed) == Use::kHere) {
      State().store(Use::kBeforeFork, std::memory_order_relaxed);
    }
  });
  Use none = Use::kNone;
  State().compare_exchange_strong(none, Use::kHere);
}

bool UsedBeforeFork() { return State().load(std::memory_order_relaxed) == Use::kBeforeFork; }

}  // namespace hotplate::python
