// Brings requests to end or drain the daemon, by signal or RPC, to one thread. The daemon's main thread waits here;
// other threads only leave a note.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "kernels/base/mutex.h"
#include "server/service/context.h"

namespace hotplate::server {

class Control final : public DaemonControl {
 public:
  // Takes SIGTERM, SIGINT and, unless it is ignored, SIGHUP, which must be blocked in all threads (BlockSignals).
  static absl::StatusOr<std::unique_ptr<Control>> Create();
  // On the main thread before there are others. SIGPIPE is ignored.
  static void BlockSignals();

  ~Control() override;

  void RequestDrain(std::optional<core::nanoseconds> timeout, const std::string& by) override;
  void RequestShutdown(std::optional<core::nanoseconds> timeout, const std::string& by) override;
  bool draining() const override { return draining_.load(std::memory_order_relaxed); }

  struct Wish {
    enum class Kind { kNone, kSignal, kShutdown, kDrain, kFinished };  // earlier kinds take precedence
    Kind kind = Kind::kNone;
    std::optional<core::nanoseconds> timeout;
    std::string reason;
  };
  // Returns with the next wish, or with kNone when `patience` is over. For the main thread only.
  Wish Wait(core::nanoseconds patience);
  // From the thread that drains: it is done.
  void Finished();

  void StartDraining() { draining_.store(true, std::memory_order_relaxed); }

 private:
  Control(int signals, int notes) : signals_(signals), notes_(notes) {}
  void Leave(Wish wish);
  void Notify();

  const int signals_;  // signalfd
  const int notes_;    // eventfd, readable while there is a wish
  std::atomic<bool> draining_{false};
  Mutex mutex_;
  // For each kind the wish with the least time, and beside it one with the configured time, which this class does
  // not know.
  std::map<std::pair<Wish::Kind, bool>, Wish> wishes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hotplate::server
