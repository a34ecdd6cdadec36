// Runs Python's signal handlers, including Ctrl-C's, while a call waits in C++. A signal only leaves a note, and
// handlers run on the main thread only, when Python checks for them. So a wait on that thread checks some twenty times
// a second. A handler that returns changes nothing; an exception from one cancels the call and is raised from it. Two
// ways:
//
// 1. A call that must not cost a change of threads checks while it waits: Signals, as JobOptions::on_wait.
// 2. Any other call is made on a thread of its own, and the main thread waits for it: Errand. Some calls cannot be
//    ended while the daemon hangs, since the caller's bytes are under way or an answer must not be lost: these are left
//    behind.
//
// On other threads Python runs no handlers, and calls simply wait.
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

// The first call of each of our threads: signals are for the threads that Python knows.
void LeaveSignalsToPython();

// Any exception as one of Python's; with the GIL.
pybind11::error_already_set AsRaised(const std::exception& error);

// Lives as long as one call, which it cancels.
class Signals {
 public:
  explicit Signals(client::Cancellation to_cancel) : to_cancel_(std::move(to_cancel)) {}

  // Runs the handlers of pending signals, with the GIL, which it takes. False: not patient() any more.
  bool Look();
  // On any thread. False: the call was cancelled, by a handler that raised or otherwise, and the daemon has had time to
  // confirm.
  bool patient() const { return patient_; }

  // With the GIL: throws the exception of a handler.
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
  // Begins at once, without the GIL; must be waited for. `if_left`: the last part of the work if nobody waits for it
  // any more.
  explicit Errand(std::function<void()> work, std::function<void()> if_left = nullptr);

  // Waits until the work is over, whatever happens; handlers run meanwhile. If one raises, the call is cancelled and
  // its end awaited. Throws a handler's exception, else that of the work.
  void Wait(Signals& signals) const { WaitOrLeave(signals, nullptr); }
  // The same, but only as long as `signals` are patient. False: the work was left behind. The objects that it `needs`,
  // which nobody else may own then, are released after its end, by LetGo.
  bool WaitOrLeave(Signals& signals, const std::shared_ptr<void>& needs) const;
  // Releases the objects of left work that is over. Every call does this, and so does closing. With the GIL.
  static void LetGo();

  // For callbacks of the library, without the GIL: calls a Python function with the GIL on the thread where the call
  // was made: the waiting thread for an errand's, else here. Its exception is thrown here. Callbacks of left errands
  // are dropped.
  static void CallBack(const std::function<void()>& callback);

 private:
  struct State;
  struct Left;
  static std::vector<Left>& LeftBehind();  // guarded by the GIL

  const std::shared_ptr<State> state_;
};

}  // namespace hotplate::python
