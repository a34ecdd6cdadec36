#include "client/python/src/deliveries.h"

#include <pybind11/pybind11.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "client/lib/wait.h"
#include "client/python/src/interrupt.h"

namespace hotplate::python {

namespace py = pybind11;

struct Deliveries::State {
  explicit State(Tell the_tell) : tell(std::move(the_tell)) {}

  const Tell tell;
  std::mutex mutex;
  // Guarded by mutex.
  std::vector<std::shared_ptr<AsyncCall>> ended;
  std::condition_variable wake, told;
  bool telling = false;
  bool closing = false;
  std::thread thread;
};

Deliveries::Deliveries(Tell tell) : state_(std::make_shared<State>(std::move(tell))) {}

Deliveries::~Deliveries() {
  const std::scoped_lock lock(state_->mutex);
  state_->closing = true;
  state_->wake.notify_one();
  if (state_->thread.joinable()) state_->thread.detach();
}

void Deliveries::Add(std::shared_ptr<AsyncCall> ended) const {
  const std::scoped_lock lock(state_->mutex);
  state_->ended.push_back(std::move(ended));
  if (state_->ended.size() > 1) return;
  if (state_->thread.joinable()) {
    state_->wake.notify_one();
    return;
  }
  state_->thread = std::thread([state = state_] {
    LeaveSignalsToPython();
    TellAll(*state);
  });
}

bool Deliveries::IsHere() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->thread.get_id() == std::this_thread::get_id();
}

void Deliveries::Flush(std::chrono::milliseconds patience) const {
  if (IsHere()) return;
  std::unique_lock lock(state_->mutex);
  state_->told.wait_for(lock, patience, [this] { return state_->ended.empty() && !state_->telling; });
}

void Deliveries::TellAll(State& state) {
  std::vector<std::shared_ptr<AsyncCall>> ended;
  std::unique_lock lock(state.mutex);
  while (true) {
    client::Wait(state.wake, lock, [&state] { return state.closing || !state.ended.empty(); });
    if (state.ended.empty()) return;
    std::swap(ended, state.ended);
    state.telling = true;
    lock.unlock();
    {
      const py::gil_scoped_acquire gil;
      for (std::shared_ptr<AsyncCall>& call : ended) {
        state.tell(*call);
        call = nullptr;
      }
    }
    ended.clear();
    lock.lock();
    state.telling = false;
    state.told.notify_all();
  }
}

}  // namespace hotplate::python
