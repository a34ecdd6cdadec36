// The ends of calls in flight, on their way to Python.
//
// The library's thread tells an end and goes on: it never waits for the GIL. A thread of this class takes the GIL and
// tells Python of all that has ended meanwhile, so that with many calls in flight the GIL changes hands once for many.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace hotplate::python {

class AsyncCall;

class Deliveries {
 public:
  // `tell` is called with the GIL on the thread that tells, where the call goes too, if it is nobody else's. It must
  // not throw.
  using Tell = std::function<void(AsyncCall& call)>;

  explicit Deliveries(Tell tell);
  // Does not wait: what was added is told all the same.
  ~Deliveries();
  Deliveries(const Deliveries&) = delete;
  Deliveries& operator=(const Deliveries&) = delete;

  // On any thread, with or without the GIL: a call that has ended. Told in the order of adding.
  void Add(std::shared_ptr<AsyncCall> ended) const;

  // Whether this is the thread that tells.
  bool IsHere() const;

  // Waits until all that was added is told, but no longer than `patience`; on the thread that tells it returns at once.
  // Without the GIL.
  void Flush(std::chrono::milliseconds patience) const;

 private:
  struct State;
  static void TellAll(State& state);

  // The thread's too, which may be the one that ends this.
  const std::shared_ptr<State> state_;
};

}  // namespace hotplate::python
