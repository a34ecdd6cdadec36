#include "client/python/src/deliveries.h"

#include <pybind11/pybind11.h>

#include <thread>
#include <utility>
#include <vector>

#include "client/python/src/interrupt.h"
#include "kernels/base/mutex.h"

namespace hotplate::python {

namespace py = pybind11;

struct Deliveries::State {
  explicit State(Tell the_tell) : tell(std::move(the_tell)) {}

  const Tell tell;
  Mutex mutex;
  CondVar wake, told;
  std::vector<std::shared_ptr<AsyncCall>> ended ABSL_GUARDED_BY(mutex);
  bool telling ABSL_GUARDED_BY(mutex) = false;
  bool closing ABSL_GUARDED_BY(mutex) = false;
  std::thread thread ABSL_GUARDED_BY(mutex);
};

Deliveries::Deliveries(Tell tell) : state_(std::make_shared<State>(std::move(tell))) {}

Deliveries::~Deliveries() {
  const MutexLock lock(state_->mutex);
  state_->closing = true;
  state_->wake.NotifyOne();
  if (state_->thread.joinable()) state_->thread.detach();
}

void Deliveries::Add(std::shared_ptr<AsyncCall> ended) const {
  const MutexLock lock(state_->mutex);
  state_->ended.push_back(std::move(ended));
  if (state_->ended.size() > 1) return;
  if (state_->thread.joinable()) {
    state_->wake.NotifyOne();
    return;
  }
  state_->thread = std::thread([state = state_] {
    LeaveSignalsToPython();
    TellAll(*state);
  });
}

bool Deliveries::IsHere() const {
  const MutexLock lock(state_->mutex);
  return state_->thread.get_id() == std::this_thread::get_id();
}

void Deliveries::Flush(std::chrono::milliseconds patience) const {
  if (IsHere()) return;
  const auto until = std::chrono::steady_clock::now() + patience;
  const MutexLock lock(state_->mutex);
  while ((!state_->ended.empty() || state_->telling) && state_->told.WaitUntil(state_->mutex, until)) {
  }
}

void Deliveries::TellAll(State& state) {
  std::vector<std::shared_ptr<AsyncCall>> ended;
  MutexLock lock(state.mutex);
  while (true) {
    while (!state.closing && state.ended.empty()) state.wake.Wait(state.mutex);
    if (state.ended.empty()) return;
    std::swap(ended, state.ended);
    state.telling = true;
    lock.Unlock();
    {
      const py::gil_scoped_acquire gil;
      for (std::shared_ptr<AsyncCall>& call : ended) {
        state.tell(*call);
        call = nullptr;
      }
    }
    ended.clear();
    lock.Lock();
    state.telling = false;
    state.told.NotifyAll();
  }
}

}  // namespace hotplate::python
