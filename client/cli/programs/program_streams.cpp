#include "client/cli/programs/program_streams.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace hotplate::cli {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::size_t kInterruptsToLeave = 3;
constexpr std::chrono::seconds kWithin(2);

sigset_t PassedSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH}) {
    struct sigaction action {};
    // `nohup` and a shell's background jobs ignore some on purpose.
    if (sigaction(number, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) sigaddset(&signals, number);
  }
  return signals;
}

// In the background a read from the terminal would stop this command.
bool MayRead() {
  const pid_t in_front = tcgetpgrp(STDIN_FILENO);  // -1: it is no terminal, or not this session's
  return in_front < 0 || in_front == getpgrp();
}

}  // namespace

ProgramSignals::ProgramSignals(std::function<void()> give_up) : give_up_(std::move(give_up)) {
  const sigset_t signals = PassedSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signals_.Take(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  stop_.Take(eventfd(0, EFD_CLOEXEC));
  thread_ = std::thread([this] { Run(); });
}

ProgramSignals::~ProgramSignals() {
  eventfd_write(stop_.get(), 1);
  thread_.join();
}

void ProgramSignals::Running(std::function<void(int)> send) {
  MutexLock lock(mutex_);
  send_ = std::move(send);
}

void ProgramSignals::OnResize(std::function<void()> resized) {
  MutexLock lock(mutex_);
  resized_ = std::move(resized);
}

void ProgramSignals::Run() {
  for (;;) {
    pollfd descriptors[] = {{stop_.get(), POLLIN, 0}, {signals_.get(), POLLIN, 0}};
    poll(descriptors, std::size(descriptors), -1);
    if (descriptors[0].revents != 0) return;
    signalfd_siginfo info{};
    while (read(signals_.get(), &info, sizeof(info)) == sizeof(info)) Handle(static_cast<int>(info.ssi_signo));
  }
}

void ProgramSignals::Handle(int number) {
  if (number == SIGWINCH) {
    std::function<void()> resized;
    {
      MutexLock lock(mutex_);
      resized = resized_;
    }
    if (resized) resized();
    return;
  }
  if (!connected_) _exit(128 + number);  // there is nothing yet to tidy up
  last_ = number;
  std::function<void(int)> send;
  {
    MutexLock lock(mutex_);
    send = send_;
  }
  send && !IsImpatient(number) ? send(number) : give_up_();
}

bool ProgramSignals::IsImpatient(int number) {
  if (number != SIGINT) return false;
  const Steady::time_point now = Steady::now();
  std::erase_if(interrupts_, [now](Steady::time_point one) { return now - one > kWithin; });
  interrupts_.push_back(now);
  return interrupts_.size() >= kInterruptsToLeave;
}

void PassInput(std::shared_ptr<client::ProgramInput> input) {
  std::thread([input = std::move(input)] {
    std::array<char, 65'536> block;
    for (;;) {
      pollfd readable{STDIN_FILENO, POLLIN, 0};
      if (!MayRead()) {
        poll(nullptr, 0, 200);
        continue;
      }
      if (poll(&readable, 1, 200) == 0) continue;  // it may have come to the background meanwhile
      const ssize_t got = read(STDIN_FILENO, block.data(), block.size());
      if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (got <= 0) return input->End();
      if (!input->Write({block.data(), static_cast<std::size_t>(got)})) return;
    }
  }).detach();
}

bool WriteOut(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EAGAIN) {
      pollfd writable{descriptor, POLLOUT, 0};
      poll(&writable, 1, -1);
    } else if (written < 0 && errno != EINTR) {
      return false;
    } else if (written > 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  return true;
}

}  // namespace hotplate::cli
