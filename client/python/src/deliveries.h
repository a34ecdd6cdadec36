// The ends of calls in flight, on their way to Python.
//
// The library's thread reports an end and goes on: it never waits for the GIL. A thread of this class takes the GIL and
// tells Python of all ends so far, so that with many calls in flight the GIL changes hands once for many.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace hotplate::python {

class AsyncCall;

class Deliveries {
 public:
  // `tell` is called with the GIL on the delivering thread, where the call is also destroyed if nobody else owns it. It
  // must not throw.
  using Tell = std::function<void(AsyncCall& call)>;

  explicit Deliveries(Tell tell);
  // Does not wait: calls added before are still told.
  ~Deliveries();
  Deliveries(const Deliveries&) = delete;
  Deliveries& operator=(const Deliveries&) = delete;

  // Adds a call that has ended. On any thread, with or without the GIL. Ends are told in the order of adding.
  void Add(std::shared_ptr<AsyncCall> ended) const;

  // Whether this is the delivering thread.
  bool IsHere() const;

  // Waits until all added calls are told, for `patience` at most; returns at once on the delivering thread. Without the
  // GIL.
  void Flush(std::chrono::milliseconds patience) const;

 private:
  struct State;
  static void TellAll(State& state);

  // Shared with the thread, which may be the one that destroys this.
  const std::shared_ptr<State> state_;
};

}  // namespace hotplate::python
