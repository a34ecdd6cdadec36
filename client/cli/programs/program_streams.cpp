#include "client/cli/programs/program_streams.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <utility>

namespace hotplate::cli {
namespace {

constexpr int kSignalsToLeave = 3;

sigset_t PassedSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    struct sigaction action {};
    // `nohup` and a shell's background jobs ignore some on purpose.
    if (sigaction(number, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) sigaddset(&signals, number);
  }
  return signals;
}

}  // namespace

ProgramPump::ProgramPump(std::function<void()> give_up) : give_up_(std::move(give_up)) {
  const sigset_t signals = PassedSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signals_.Take(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  wake_.Take(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  thread_ = std::thread([this] { Run(); });
}

ProgramPump::~ProgramPump() {
  stop_ = true;
  eventfd_write(wake_.get(), 1);
  thread_.join();
}

void ProgramPump::Begin(std::shared_ptr<client::ProgramInput> input) {
  input_ = std::move(input);
  begun_ = true;
  eventfd_write(wake_.get(), 1);
}

void ProgramPump::Run() {
  while (!stop_) {
    const bool reads = input_open_ && begun_;
    pollfd descriptors[] = {
        {wake_.get(), POLLIN, 0}, {signals_.get(), POLLIN, 0}, {reads ? STDIN_FILENO : -1, POLLIN, 0}};
    poll(descriptors, std::size(descriptors), -1);
    eventfd_t ignored;
    eventfd_read(wake_.get(), &ignored);
    if (descriptors[1].revents != 0) Signalled();
    if (descriptors[2].revents != 0 && !stop_) PassInput();
  }
}

void ProgramPump::Signalled() {
  signalfd_siginfo info{};
  while (read(signals_.get(), &info, sizeof(info)) == sizeof(info)) {
    signal_ = static_cast<int>(info.ssi_signo);
    if (!begun_ || ++signals_sent_ >= kSignalsToLeave) {
      give_up_();
    } else {
      input_->Signal(static_cast<int>(info.ssi_signo));
    }
  }
}

void ProgramPump::PassInput() {
  std::array<char, 65'536> block;
  const ssize_t got = read(STDIN_FILENO, block.data(), block.size());
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got > 0 && input_->Write({block.data(), static_cast<std::size_t>(got)})) return;
  input_open_ = false;
  input_->End();
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
