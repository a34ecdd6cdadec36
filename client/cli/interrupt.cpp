#include "client/cli/interrupt.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <utility>

#include "client/cli/ending.h"

namespace hotplate::cli {
namespace {

sigset_t WatchedSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    // `nohup` and a shell's background jobs ignore some on purpose.
    if (sigaction(number, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) sigaddset(&signals, number);
  }
  return signals;
}

}  // namespace

InterruptWatch::InterruptWatch(std::function<void()> on_interrupt) : on_interrupt_(std::move(on_interrupt)) {
  const sigset_t signals = WatchedSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signals_ = signalfd(-1, &signals, SFD_CLOEXEC);
  stop_ = eventfd(0, EFD_CLOEXEC);
  thread_ = std::thread([this] { Loop(); });
}

InterruptWatch::~InterruptWatch() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(stop_, &one, sizeof one);
  thread_.join();
  close(signals_);
  close(stop_);
}

void InterruptWatch::Loop() {
  for (;;) {
    pollfd descriptors[] = {{stop_, POLLIN, 0}, {signals_, POLLIN, 0}};
    poll(descriptors, 2, -1);
    if (descriptors[0].revents != 0) return;
    signalfd_siginfo info{};
    if ((descriptors[1].revents & POLLIN) == 0 || read(signals_, &info, sizeof info) != sizeof info) continue;
    const bool first = !interrupted_.exchange(true);
    if (!begun_ || (!first && !held_)) _exit(kExitInterrupted);
    if (first) on_interrupt_();
  }
}

}  // namespace hotplate::cli
