#include "server/control.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "kernels/base/status.h"
#include "server/service/auth.h"

namespace hotplate::server {
namespace {

// A hang-up also ends the daemon in order, unless it was ignored from the start, as with nohup.
sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  struct sigaction hang_up {};
  if (sigaction(SIGHUP, nullptr, &hang_up) == 0 && hang_up.sa_handler != SIG_IGN) sigaddset(&signals, SIGHUP);
  return signals;
}

const char* NameOf(std::uint32_t signal) {
  if (signal == SIGINT) return "SIGINT";
  return signal == SIGHUP ? "SIGHUP" : "SIGTERM";
}

// Says in words for people that the holder of the token `by` made a request.
std::string AskedFor(const std::string& by) {
  return by == kOwnerToken ? "asked for by its owner (hotplate down)" : "asked for by the holder of token " + by;
}

}  // namespace

void Control::BlockSignals() {
  const sigset_t signals = StopSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

absl::StatusOr<std::unique_ptr<Control>> Control::Create() {
  const sigset_t set = StopSignals();
  const int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  const int notes = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (signals < 0 || notes < 0) {
    return absl::InternalError(ToAbsl(std::string("signalfd or eventfd: ") + std::strerror(errno)));
  }
  return std::unique_ptr<Control>(new Control(signals, notes));
}

Control::~Control() {
  close(signals_);
  close(notes_);
}

void Control::Leave(Wish wish) {
  {
    MutexLock lock(mutex_);
    const auto [at, is_new] = wishes_.try_emplace({wish.kind, wish.timeout.has_value()}, wish);
    if (!is_new && wish.timeout < at->second.timeout) at->second = std::move(wish);
  }
  Notify();
}

void Control::Notify() {
  const std::uint64_t one = 1;
  if (write(notes_, &one, sizeof one) < 0 && errno != EAGAIN) std::abort();  // cannot happen to an eventfd
}

void Control::RequestDrain(std::optional<core::nanoseconds> timeout, const std::string& by) {
  StartDraining();
  Leave({Wish::Kind::kDrain, timeout, AskedFor(by)});
}

void Control::RequestShutdown(std::optional<core::nanoseconds> timeout, const std::string& by) {
  StartDraining();
  Leave({Wish::Kind::kShutdown, timeout, AskedFor(by)});
}

void Control::Finished() { Leave({Wish::Kind::kFinished, std::nullopt, ""}); }

Control::Wish Control::Wait(core::nanoseconds patience) {
  pollfd sources[] = {{signals_, POLLIN, 0}, {notes_, POLLIN, 0}};
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(patience).count();
  const int ready = poll(sources, 2, static_cast<int>(std::clamp<std::int64_t>(milliseconds, 0, 3'600'000)));
  if (ready <= 0) return {};
  signalfd_siginfo signal{};
  if ((sources[0].revents & POLLIN) != 0 && read(signals_, &signal, sizeof signal) == sizeof signal) {
    return {Wish::Kind::kSignal, std::nullopt, NameOf(signal.ssi_signo)};
  }
  std::uint64_t count = 0;
  if (read(notes_, &count, sizeof count) < 0) return {};
  MutexLock lock(mutex_);
  if (wishes_.empty()) return {};
  const Wish first = std::move(wishes_.extract(wishes_.begin()).mapped());
  if (!wishes_.empty()) Notify();
  return first;
}

}  // namespace hotplate::server
