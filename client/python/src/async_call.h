// _core.InFlight: one call in flight.
//
// 1. PyClient::RunAsync makes one, holds the inputs' buffers in it, and gives it to the library and to Python.
// 2. The library's thread notes the job's updates, and passes the call to the client's Deliveries at its end.
// 3. Their thread releases the buffers and calls `done`, with the GIL. Until then it is one of the client's Flights,
//    which are cancelled when the client is closed.
#pragma once

#include <pybind11/pybind11.h>

#include <chrono>
#include <memory>
#include <string>
#include <unordered_map>

#include "absl/status/statusor.h"
#include "client/lib/client.h"
#include "client/python/src/options.h"
#include "kernels/base/mutex.h"

namespace hotplate::python {

class AsyncCall {
 public:
  AsyncCall(const client::Cancellation& cancellation, const pybind11::object& done);
  AsyncCall(const AsyncCall&) = delete;
  AsyncCall& operator=(const AsyncCall&) = delete;

  HeldBuffers& held() { return held_; }
  const client::Cancellation& cancellation() const { return cancellation_; }
  const std::shared_ptr<Callbacks>& callbacks() const { return callbacks_; }

  // Without the GIL, on the library's thread.
  void Note(const v1::JobUpdate& update);
  void Sent(const std::string& request_id);
  void Land(absl::StatusOr<client::JobResult> result);
  // With the GIL, once, after Land: calls done(Result or None, exception or None). After it nothing of Python's is
  // left here.
  void Finish();

  // For Python.
  void Cancel();
  bool running() const;
  std::string job_id() const;
  std::string request_id() const;  // empty until it is on its way
  // Without the GIL: false if it is neither on its way nor has failed within this time.
  bool WaitUntilSent(std::chrono::milliseconds patience) const;

 private:
  HeldBuffers held_;
  client::Cancellation cancellation_;
  const std::shared_ptr<Callbacks> callbacks_;
  pybind11::object done_;
  // From Land to Finish.
  absl::StatusOr<std::shared_ptr<client::JobResult>> end_;

  mutable Mutex mutex_;
  mutable CondVar sent_;
  bool running_ ABSL_GUARDED_BY(mutex_) = false, failed_ ABSL_GUARDED_BY(mutex_) = false;
  std::string job_id_ ABSL_GUARDED_BY(mutex_), request_id_ ABSL_GUARDED_BY(mutex_);
};

// The unfinished calls of a client.
class Flights {
 public:
  void Add(const std::shared_ptr<AsyncCall>& call);
  void Remove(const AsyncCall* call);
  // Without the GIL.
  void CancelAll();
  // Without the GIL: waits until there is none, for `patience` at most.
  void Wait(std::chrono::milliseconds patience);

 private:
  Mutex mutex_;
  std::unordered_map<const AsyncCall*, std::shared_ptr<AsyncCall>> calls_ ABSL_GUARDED_BY(mutex_);
  CondVar ended_;
};

void BindAsyncCall(pybind11::module_& module);

}  // namespace hotplate::python
