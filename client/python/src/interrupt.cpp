#include "client/python/src/interrupt.h"

#include <fcntl.h>
#include <pthread.h>
#include <pybind11/pybind11.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace hotplate::python {
namespace {

namespace py = pybind11;

// The handler, a pipe that it writes to, and a thread that reads it. Made with the first call that can be interrupted
// and never ended: a signal may come at any time.
class Watcher {
 public:
  static Watcher& Instance() {
    static Watcher* const instance = new Watcher;
    return *instance;
  }

  // Whom an interrupt cancels; returns who it was before.
  const client::Cancellation* Watch(const client::Cancellation* cancellation) {
    const std::scoped_lock lock(mutex_);
    return std::exchange(cancellation_, cancellation);
  }

  // Stands before Python's handler, also after signal.signal has put a new one in. False: there is none that comes
  // back.
  bool StandBefore() {
    struct sigaction current {};
    if (write_end_ < 0 || sigaction(SIGINT, nullptr, &current) != 0) return false;
    if (current.sa_handler == &OnSignal) return true;
    if (current.sa_flags & SA_SIGINFO || current.sa_handler == SIG_DFL || current.sa_handler == SIG_IGN) return false;
    next_ = current.sa_handler;
    current.sa_handler = &OnSignal;
    return sigaction(SIGINT, &current, nullptr) == 0;
  }

 private:
  using Handler = void (*)(int);

  Watcher() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    write_end_ = ends[1];
    // A child of a fork has the pipe too, and not the thread: what interrupts the child is not for the parent.
    pthread_atfork(nullptr, nullptr, [] { Instance().write_end_ = -1; });
    std::thread([this, from = ends[0]] { Read(from); }).detach();
  }

  // In the handler of a signal: nothing but what may be called there.
  static void OnSignal(int number) {
    const int error = errno;
    Watcher& self = Instance();
    const int to = self.write_end_;
    // A full pipe has news enough.
    [[maybe_unused]] const ssize_t written = to < 0 ? 0 : write(to, "", 1);
    errno = error;
    self.next_.load()(number);
  }

  void Read(int from) {
    // Signals are for the threads that were there before.
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    char byte = 0;
    while (true) {
      const ssize_t got = read(from, &byte, 1);
      if (got < 0 && errno == EINTR) continue;
      if (got != 1) return;
      std::optional<client::Cancellation> to_cancel;
      {
        const std::scoped_lock lock(mutex_);
        if (cancellation_ != nullptr) to_cancel = *cancellation_;
      }
      if (to_cancel) to_cancel->Cancel();
    }
  }

  std::atomic<int> write_end_ = -1;
  std::atomic<Handler> next_ = SIG_DFL;
  std::mutex mutex_;
  const client::Cancellation* cancellation_ = nullptr;  // guarded by mutex_
};

}  // namespace

CancelOnInterrupt::CancelOnInterrupt(const client::Cancellation& cancellation) : cancellation_(cancellation) {
  thread_local const bool is_main = getpid() == gettid();
  if (!is_main) return;
  Watcher& watcher = Watcher::Instance();
  if (!watcher.StandBefore()) return;
  watching_ = true;
  outer_ = watcher.Watch(&cancellation_);
}

CancelOnInterrupt::~CancelOnInterrupt() {
  if (watching_) Watcher::Instance().Watch(outer_);
}

void CancelOnInterrupt::Check() const {
  if (!watching_ || !cancellation_.cancelled()) return;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

}  // namespace hotplate::python
