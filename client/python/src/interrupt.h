// Python's handlers of signals, Ctrl-C's among them, while a call waits in C++. A signal only leaves a note, and the
// handlers run on the main thread alone, where Python asks for them. So a wait on that thread asks, some twenty times a
// second; a handler that returns changes nothing, what one raises cancels the call and comes out of it. Two ways:
//
// 1. A call that is to cost no change of threads asks itself while it waits: Signals, as JobOptions::on_wait.
// 2. Any other is made on a thread of its own, and the main thread waits for that: Errand. While the daemon hangs
//    some cannot be ended, as bytes of the caller's are under way or an answer must not be lost: these are left behind.
//
// On other threads Python runs no handlers, and calls wait there as they are.
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "client/lib/client.h"

namespace hotplate::python {

// Whether this is the thread on which Python runs the handlers of signals.
bool HearsSignals();

// Of a thread of ours, as its first act: signals are for the threads that Python knows.
void LeaveSignalsToPython();

// Any exception as one of Python's; with the GIL.
pybind11::error_already_set AsRaised(const std::exception& error);

// Lives as long as one call, which it cancels.
class Signals {
 public:
  explicit Signals(client::Cancellation to_cancel) : to_cancel_(std::move(to_cancel)) {}

  // Runs the handlers of what has come, with the GIL that it takes. False: not patient() any more.
  bool Look();
  // On any thread. False: the call was cancelled, by a handler that raised or otherwise, and the daemon has had its
  // time to say so.
  bool patient() const { return patient_; }

  // With the GIL: throws what a handler has raised.
  void Check() const {
    if (raised_) throw pybind11::error_already_set(*raised_);
  }

 private:
  client::Cancellation to_cancel_;
  std::optional<pybind11::error_already_set> raised_;
  std::optional<std::chrono::steady_clock::time_point> patient_until_;
  std::atomic<bool> patient_ = true;
};

// Work that a thread of Python's waits for while another does it. Made and waited for with the GIL.
class Errand {
 public:
  // Begins at once, without the GIL; to be waited for. `if_left`: its last part if nobody waits for it any more.
  explicit Errand(std::function<void()> work, std::function<void()> if_left = nullptr);

  // Until the work is over, whatever happens; handlers run meanwhile. After one that raised the call is cancelled and
  // its end waited for. Throws what the work has thrown, and before it what a handler has raised.
  void Wait(Signals& signals) const { WaitOrLeave(signals, nullptr); }
  // The same, but no longer than `signals` are patient. False: the work was left behind. What it `needs`, and nobody
  // else may own then, is let go of when it is over: by LetGo.
  bool WaitOrLeave(Signals& signals, const std::shared_ptr<void>& needs) const;
  // Lets go of what was needed by work that was left behind and is over. Every call does it, and closing. With the GIL.
  static void LetGo();

  // For callbacks of the library's, without the GIL: calls one of Python's with it, where the call that it belongs to
  // was made from: on the thread that waits if this is an errand's, else here. What it throws comes out here. Of an
  // errand that was left behind nobody is told.
  static void CallBack(const std::function<void()>& callback);

 private:
  struct State;
  struct Left;
  static std::vector<Left>& LeftBehind();  // guarded by the GIL

  const std::shared_ptr<State> state_;
};

}  // namespace hotplate::python
