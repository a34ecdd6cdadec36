// How a call from Python waits for the daemon: without the GIL, so that other threads go on; on the main thread
// checking for signals, whose handlers may end it; and so that no exception leaves anything on the daemon.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "client/lib/client.h"
#include "client/python/src/arrays.h"
#include "client/python/src/client.h"
#include "client/python/src/interrupt.h"
#include "client/python/src/options.h"
#include "client/python/src/raise.h"

namespace hotplate::python {

inline client::Cancellation OrNew(const client::Cancellation* cancellation) {
  return cancellation == nullptr ? client::Cancellation() : *cancellation;
}

template <typename Call>
auto WithoutGil(const Call& call) {
  const pybind11::gil_scoped_release released;
  return call();
}

// An exception of a callback, then one of a signal handler, takes precedence over the call's result: `drop` that.
template <typename Drop>
void CheckOrDrop(const Signals& signals, const Callbacks* callbacks, const Drop& drop) {
  try {
    if (callbacks != nullptr) callbacks->Check();
    signals.Check();
  } catch (const pybind11::error_already_set&) {
    drop();
    throw;
  }
}

// A call that can be cancelled, without the GIL, and leaves nothing on the daemon.
template <typename Call>
auto Cancellable(Signals& signals, const Callbacks* callbacks, const Call& call) {
  std::optional<decltype(call())> result;
  if (HearsSignals()) {
    Errand([&] { result.emplace(call()); }).Wait(signals);
  } else {
    result.emplace(WithoutGil(call));
  }
  CheckOrDrop(signals, callbacks, [] {});
  return *std::move(result);
}

// The objects that a call needs while Python waits for it. Made and destroyed with the GIL.
struct Waiting {
  Waiting(const PyClient& self, const client::Cancellation* cancellation)
      : client(self.Get()), stop(OrNew(cancellation)), callbacks(std::make_shared<Callbacks>(stop)) {}

  // Cancellable, of call(client, stop).
  template <typename Call>
  auto For(const Call& call) const {
    Signals signals(stop);
    return Cancellable(signals, callbacks.get(), [&] { return call(*client, &stop); });
  }

  const std::shared_ptr<client::Client> client;
  const client::Cancellation stop;
  const std::shared_ptr<Callbacks> callbacks;
  HeldBuffers held;
};

// Cancellable, for call(client, stop, signals) that sends the caller's bytes or must not be repeated: it cannot be
// ended while the daemon hangs, so it is left behind with everything that it owns. If nobody gets the result, the
// arrays with the ids left_by(result) are freed.
template <typename Call, typename Ids>
auto Leavable(const PyClient& self, std::shared_ptr<Waiting> waiting, bool hears_cancels, Call call, Ids left_by) {
  struct Work {
    Work(std::shared_ptr<Waiting> the_waiting, Call the_call, Ids the_left_by)
        : waiting(std::move(the_waiting)),
          call(std::move(the_call)),
          left_by(std::move(the_left_by)),
          signals(waiting->stop) {}
    void Do() { result.emplace(call(*waiting->client, &waiting->stop, signals)); }
    std::vector<std::string> Left() const {
      return result && result->ok() ? left_by(**result) : std::vector<std::string>();
    }
    void Free() const {
      for (const std::string& id : Left()) waiting->client->Free(id).IgnoreError();
    }

    const std::shared_ptr<Waiting> waiting;
    Call call;
    const Ids left_by;
    Signals signals;
    std::optional<std::invoke_result_t<Call&, client::Client&, const client::Cancellation*, const Signals&>> result;
  };
  const auto work = std::make_shared<Work>(std::move(waiting), std::move(call), std::move(left_by));
  bool over = true;
  if (HearsSignals() || hears_cancels) {
    const Errand errand([work = work.get()] { work->Do(); }, [work = work.get()] { work->Free(); });
    over = errand.WaitOrLeave(work->signals, work);
  } else {
    WithoutGil([&work] { work->Do(); });
  }
  CheckOrDrop(work->signals, work->waiting->callbacks.get(), [&] {
    if (over) self.Drop(work->Left());
  });
  if (!over) Raise(absl::CancelledError("the call was given up; the daemon has not answered yet"));
  self.Hold(*work->waiting->client, work->Left());
  return *std::move(work->result);
}

// The answer to a short question. A signal handler that raises ends it: question(stop).
template <typename Question>
auto Asked(const Question& question) {
  const client::Cancellation stop;
  Signals signals(stop);
  return Cancellable(signals, nullptr, [&] { return question(&stop); });
}

}  // namespace hotplate::python
