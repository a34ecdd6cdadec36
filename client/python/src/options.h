// A Python call's options, beside its kernel and inputs.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <optional>
#include <string>

#include "client/lib/client.h"
#include "client/python/src/arrays.h"
#include "client/python/src/interrupt.h"

namespace hotplate::python {

std::optional<client::nanoseconds> ToDuration(std::optional<double> seconds);

// _core.Options. Callbacks get dicts (on_update), the bytes that a function prints and whether they are of its standard
// error (on_printed), or bytes done and bytes in all (on_upload, on_download).
struct Options {
  pybind11::dict params;
  // Output -> (array's name, lease in seconds or None): left on the daemon.
  pybind11::dict keep;
  // Output -> array: the destination.
  pybind11::dict out;
  // Output -> the number of other jobs that take it, and nobody else does.
  pybind11::dict for_jobs;
  // Jobs that have to complete before this one: by their ids, and calls on their way by their request ids.
  pybind11::list after, after_requests;
  std::string device, precision, request_id, label;
  std::string graph, node;  // that it belongs to
  // (function, environment, keep, alone, cpus), of a call of a function; else None.
  pybind11::object function = pybind11::none();
  std::string expression;  // the text of one; `params` are then its numbers
  // {"axes": [(name, (first, step, count) or [values])], "most_failed": int or None, "retries": int}; None: one task.
  pybind11::object sweep = pybind11::none();
  int priority = 0;
  std::optional<double> time_limit, deadline;
  bool deterministic = false, leave_result = false, detach = false;
  pybind11::object on_update = pybind11::none(), on_printed = pybind11::none(), on_upload = pybind11::none(),
                   on_download = pybind11::none();
};

// Python's callables of one call. They are called with the GIL on the thread where the call was made; an exception is
// kept and cancels the call.
class Callbacks {
 public:
  explicit Callbacks(client::Cancellation cancellation) : cancellation_(std::move(cancellation)) {}
  ~Callbacks();
  Callbacks(const Callbacks&) = delete;
  Callbacks& operator=(const Callbacks&) = delete;

  // Takes the GIL itself, also for making the callable's arguments.
  template <typename Function>
  void Call(const Function& call) {
    Errand::CallBack([&] {
      if (raised_) return;
      try {
        call();
      } catch (const std::exception& error) {
        raised_.emplace(AsRaised(error));
        cancellation_.Cancel();
      }
    });
  }

  // With the GIL: throws the kept exception.
  void Check() const {
    if (raised_) throw pybind11::error_already_set(*raised_);
  }
  bool raised() const { return raised_.has_value(); }
  // The exception itself; with the GIL.
  pybind11::object Exception() const { return raised_->value(); }

 private:
  client::Cancellation cancellation_;
  std::optional<pybind11::error_already_set> raised_;
};

// A callable for the library to keep and to drop on any thread; null for None.
std::shared_ptr<pybind11::object> Keep(const pybind11::object& callable);

// `callbacks` lives at least as long as the call.
client::JobOptions ToJobOptions(const Options& options, HeldBuffers& held, const std::shared_ptr<Callbacks>& callbacks);
// For transfers: null for None.
std::function<void(std::uint64_t, std::uint64_t)> ToProgress(const pybind11::object& callable,
                                                             const std::shared_ptr<Callbacks>& callbacks);

void BindOptions(pybind11::module_& module);

}  // namespace hotplate::python
