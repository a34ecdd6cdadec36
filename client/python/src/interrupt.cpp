#include "client/python/src/interrupt.h"

#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <mutex>
#include <thread>

namespace hotplate::python {

namespace py = pybind11;

bool HearsSignals() {
  thread_local const bool is_main = getpid() == gettid();
  return is_main;
}

bool Signals::Look() {
  // For a daemon that hangs. A job that goes on after it ends within its kernel's bound all the same.
  constexpr std::chrono::seconds kPatience(2);
  const py::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) {
    const py::error_already_set error;
    if (!raised_) {
      raised_.emplace(error);
      patient_until_ = std::chrono::steady_clock::now() + kPatience;
      const py::gil_scoped_release released;
      to_cancel_.Cancel();
    }
  }
  return !raised_ || std::chrono::steady_clock::now() < patient_until_;
}

struct Errand::State {
  std::mutex mutex;
  // Guarded by mutex.
  std::condition_variable news;
  bool over = false;
  const std::function<void()>* to_call = nullptr;
};

namespace {

thread_local void* here = nullptr;  // the Errand::State of a thread that is on one

}  // namespace

Errand::Errand(std::function<void()> work) : state_(std::make_shared<State>()) {
  std::thread([state = state_, work = std::move(work)]() mutable {
    // Signals are for the threads that Python knows.
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    here = state.get();
    work();
    work = nullptr;
    const std::scoped_lock lock(state->mutex);
    state->over = true;
    state->news.notify_all();
  }).detach();
}

void Errand::Wait(Signals& signals, bool may_leave) const {
  constexpr std::chrono::milliseconds kLook(50);
  while (true) {
    const std::function<void()>* to_call = nullptr;
    {
      const py::gil_scoped_release released;
      std::unique_lock lock(state_->mutex);
      state_->news.wait_for(lock, kLook, [this] { return state_->over || state_->to_call != nullptr; });
      if (state_->over) return;
      to_call = state_->to_call;
    }
    if (to_call != nullptr) {
      (*to_call)();
      const std::scoped_lock lock(state_->mutex);
      state_->to_call = nullptr;
      state_->news.notify_all();
    }
    signals.Look();
    if (may_leave) signals.Check();
  }
}

void Errand::CallBack(const std::function<void()>& callback) {
  if (here == nullptr) {
    const py::gil_scoped_acquire gil;
    callback();
    return;
  }
  State& state = *static_cast<State*>(here);
  std::unique_lock lock(state.mutex);
  state.to_call = &callback;
  state.news.notify_all();
  state.news.wait(lock, [&state] { return state.to_call == nullptr; });
}

}  // namespace hotplate::python
