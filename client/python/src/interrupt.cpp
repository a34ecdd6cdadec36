#include "client/python/src/interrupt.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <iterator>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

#include "kernels/base/mutex.h"

namespace hotplate::python {

namespace py = pybind11;

bool HearsSignals() {
  thread_local const bool is_main = getpid() == gettid();
  return is_main;
}

void LeaveSignalsToPython() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

py::error_already_set AsRaised(const std::exception& error) {
  if (const auto* raised = dynamic_cast<const py::error_already_set*>(&error)) return *raised;
  if (const auto* known = dynamic_cast<const py::builtin_exception*>(&error)) {
    known->set_error();
  } else {
    const bool memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
    PyErr_SetString(memory ? PyExc_MemoryError : PyExc_RuntimeError, error.what());
  }
  return py::error_already_set();
}

bool Signals::Look() {
  // For a daemon that hangs. A job that still goes on afterwards ends within its kernel's bound.
  constexpr std::chrono::seconds kPatience(2);
  const py::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) {
    const py::error_already_set error;
    if (!raised_) {
      raised_.emplace(error);
      const py::gil_scoped_release released;
      to_cancel_.Cancel();
    }
  }
  if (!to_cancel_.cancelled()) return true;
  const auto now = std::chrono::steady_clock::now();
  if (!patient_until_) patient_until_ = now + kPatience;
  if (now >= *patient_until_) patient_ = false;
  return patient_;
}

struct Errand::State {
  static thread_local State* here;  // of a thread that is on an errand

  Mutex mutex;
  CondVar news;
  bool over ABSL_GUARDED_BY(mutex) = false;
  bool left ABSL_GUARDED_BY(mutex) = false;
  std::exception_ptr thrown ABSL_GUARDED_BY(mutex);  // by the work
  const std::function<void()>* to_call ABSL_GUARDED_BY(mutex) = nullptr;
  std::exception_ptr thrown_by_call ABSL_GUARDED_BY(mutex);
};

thread_local Errand::State* Errand::State::here = nullptr;

struct Errand::Left {
  std::shared_ptr<State> state;
  std::shared_ptr<void> needs;
};

std::vector<Errand::Left>& Errand::LeftBehind() {
  // Never freed: work that goes on at the program's end still needs it.
  static auto* const left = new std::vector<Left>;
  return *left;
}

void Errand::LetGo() {
  std::vector<Left>& left = LeftBehind();
  if (left.empty()) return;
  const auto over = std::partition(left.begin(), left.end(), [](const Left& one) {
    const MutexLock lock(one.state->mutex);
    return !one.state->over;
  });
  // Destroying Python objects may run anything, including this function.
  const std::vector<Left> to_destroy(std::make_move_iterator(over), std::make_move_iterator(left.end()));
  left.erase(over, left.end());
}

Errand::Errand(std::function<void()> work, std::function<void()> if_left) : state_(std::make_shared<State>()) {
  LetGo();
  const auto run = [state = state_, work = std::move(work), if_left = std::move(if_left)]() {
    LeaveSignalsToPython();
    State::here = state.get();
    std::exception_ptr thrown;
    try {
      work();
    } catch (const std::exception&) {
      thrown = std::current_exception();
    }
    MutexLock lock(state->mutex);
    if (state->left && if_left) {
      lock.Unlock();
      try {
        if_left();
      } catch (const std::exception&) {  // nobody is there to be told
      }
      lock.Lock();
    }
    state->thrown = std::move(thrown);
    state->over = true;
    state->news.NotifyAll();
  };
  try {
    std::thread(run).detach();
  } catch (const std::system_error& error) {
    throw std::runtime_error(std::string("there can be no thread for this call: ") + error.what());
  }
}

bool Errand::WaitOrLeave(Signals& signals, const std::shared_ptr<void>& needs) const {
  constexpr std::chrono::milliseconds kLook(50);
  while (true) {
    const std::function<void()>* to_call = nullptr;
    {
      const py::gil_scoped_release released;
      const auto until = std::chrono::steady_clock::now() + kLook;
      const MutexLock lock(state_->mutex);
      while (!state_->over && state_->to_call == nullptr && state_->news.WaitUntil(state_->mutex, until)) {
      }
      if (state_->over) break;
      to_call = state_->to_call;
    }
    if (to_call != nullptr) {
      std::exception_ptr thrown;
      try {
        (*to_call)();
      } catch (const std::exception&) {
        thrown = std::current_exception();
      }
      const MutexLock lock(state_->mutex);
      state_->thrown_by_call = std::move(thrown);
      state_->to_call = nullptr;
      state_->news.NotifyAll();
    }
    if (signals.Look() || !needs) continue;
    LeftBehind().push_back({state_, needs});
    {
      const MutexLock lock(state_->mutex);
      if (!state_->over) {
        state_->left = true;
        state_->to_call = nullptr;
        state_->news.NotifyAll();
        return false;
      }
    }
    LeftBehind().pop_back();
  }
  std::exception_ptr thrown;
  {
    const MutexLock lock(state_->mutex);
    thrown = state_->thrown;
  }
  if (!thrown) return true;
  signals.Check();
  std::rethrow_exception(thrown);
}

void Errand::CallBack(const std::function<void()>& callback) {
  if (State::here == nullptr) {
    const py::gil_scoped_acquire gil;
    callback();
    return;
  }
  State& state = *State::here;
  const MutexLock lock(state.mutex);
  if (state.left) return;
  state.to_call = &callback;
  state.news.NotifyAll();
  while (state.to_call != nullptr) state.news.Wait(state.mutex);
  if (const std::exception_ptr thrown = std::exchange(state.thrown_by_call, nullptr)) std::rethrow_exception(thrown);
}

}  // namespace hotplate::python
