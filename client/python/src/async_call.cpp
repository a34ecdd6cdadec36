#include "client/python/src/async_call.h"

#include <utility>
#include <vector>

#include "client/python/src/client.h"
#include "client/python/src/forks.h"
#include "client/python/src/raise.h"

namespace hotplate::python {

namespace py = pybind11;

AsyncCall::AsyncCall(const client::Cancellation& cancellation, const py::object& done)
    : cancellation_(cancellation), callbacks_(std::make_shared<Callbacks>(cancellation)), done_(done) {}

void AsyncCall::Note(const v1::JobUpdate& update) {
  const MutexLock lock(mutex_);
  if (!update.job_id().empty()) job_id_ = update.job_id();
  if (update.has_state_change()) running_ = update.state_change().state() == v1::RUNNING;
}

void AsyncCall::Sent(const std::string& request_id) {
  const MutexLock lock(mutex_);
  request_id_ = request_id;
  sent_.NotifyAll();
}

void AsyncCall::Land(absl::StatusOr<client::JobResult> result) {
  {
    const MutexLock lock(mutex_);
    running_ = false;
    failed_ = !result.ok();  // else it is sent by now, and about to be told so
    if (result.ok()) job_id_ = result->job_id;
    sent_.NotifyAll();
  }
  if (result.ok()) {
    end_ = std::make_shared<client::JobResult>(*std::move(result));
  } else {
    end_ = result.status();
  }
}

void AsyncCall::Finish() {
  held_.Release();
  const py::object done = std::exchange(done_, py::object());
  const absl::StatusOr<std::shared_ptr<client::JobResult>> end = std::move(end_);
  try {
    py::object came = py::none(), error = py::none();
    try {
      if (callbacks_->raised()) {
        error = callbacks_->Exception();
      } else if (!end.ok()) {
        error = ToException(end.status());
      } else {
        came = py::cast(std::make_unique<Result>(*end));
      }
    } catch (const std::exception& raised) {
      error = AsRaised(raised).value();  // it ends all the same
    }
    done(came, error);
  } catch (py::error_already_set& error) {
    // Nobody is there to be told.
    error.discard_as_unraisable("the end of a call of hotplate");
  }
}

void AsyncCall::Cancel() {
  if (!UsedBeforeFork()) cancellation_.Cancel();
}

bool AsyncCall::running() const {
  const MutexLock lock(mutex_);
  return running_;
}

std::string AsyncCall::job_id() const {
  const MutexLock lock(mutex_);
  return job_id_;
}

std::string AsyncCall::request_id() const {
  const MutexLock lock(mutex_);
  return request_id_;
}

bool AsyncCall::WaitUntilSent(std::chrono::milliseconds patience) const {
  const auto until = std::chrono::steady_clock::now() + patience;
  const MutexLock lock(mutex_);
  while (request_id_.empty() && !failed_) {
    if (!sent_.WaitUntil(mutex_, until)) break;
  }
  return !request_id_.empty() || failed_;
}

void Flights::Add(const std::shared_ptr<AsyncCall>& call) {
  const MutexLock lock(mutex_);
  calls_.emplace(call.get(), call);
}

void Flights::Remove(const AsyncCall* call) {
  const MutexLock lock(mutex_);
  calls_.erase(call);
  if (calls_.empty()) ended_.NotifyAll();
}

void Flights::CancelAll() {
  std::vector<std::shared_ptr<AsyncCall>> calls;
  {
    const MutexLock lock(mutex_);
    for (const auto& [pointer, call] : calls_) calls.push_back(call);
  }
  for (const std::shared_ptr<AsyncCall>& call : calls) call->Cancel();
}

void Flights::Wait(std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  const MutexLock lock(mutex_);
  while (!calls_.empty() && ended_.WaitUntil(mutex_, until)) {
  }
}

void BindAsyncCall(py::module_& module) {
  py::class_<AsyncCall, std::shared_ptr<AsyncCall>>(module, "InFlight", "A call in flight.")
      .def("cancel", &AsyncCall::Cancel, py::call_guard<py::gil_scoped_release>())
      .def_property_readonly("running", &AsyncCall::running)
      .def_property_readonly("job_id", &AsyncCall::job_id)
      .def_property_readonly("request_id", &AsyncCall::request_id)
      .def(
          "wait_until_sent",
          [](const AsyncCall& self, double seconds) {
            return self.WaitUntilSent(std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1e3)));
          },
          py::arg("seconds"), py::call_guard<py::gil_scoped_release>());
}

}  // namespace hotplate::python
