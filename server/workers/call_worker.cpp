#include "server/workers/call_worker.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/workers/descriptor_message.h"
#include "server/workers/program_text.h"

namespace hotplate::server {
namespace {

using Steady = std::chrono::steady_clock;

constexpr int kMostInterrupts = 16;                     // that somebody else has sent to one which waits
constexpr std::chrono::milliseconds kLookAtCancel(10);  // at what asks for a cancel
constexpr std::chrono::milliseconds kInterruptIsThere(200);

void ReportProgress(TaskControl& control, double fraction) {
  if (!(fraction >= 0 && fraction <= 1)) return;
  std::atomic_ref(control.plain().progress)
      .store(static_cast<std::uint32_t>(fraction * 1e6), std::memory_order_relaxed);
}

}  // namespace

absl::StatusOr<std::unique_ptr<CallWorker>> CallWorker::Start(std::uint64_t id, WarmPythons& pythons, Program python,
                                                              const std::function<bool()>& give_up) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return absl::ResourceExhaustedError(absl::StrCat("no socket for a worker: ", std::strerror(errno)));
  }
  Descriptor ours(ends[0]), theirs(ends[1]);
  // The words that a worker starts anew with; one that is forked needs none of them.
  python.arguments = {python.file, pythons.calls(), "3"};
  const std::uint64_t memory_bytes = python.memory_bytes;
  absl::StatusOr<WarmPythons::Started> started = pythons.Start(python, give_up, std::move(theirs));
  if (!started.ok()) return started.status();
  started->running.in.Close();
  return std::unique_ptr<CallWorker>(
      new CallWorker(id, std::move(started->running), std::move(ours), memory_bytes, std::move(started->why_cold)));
}

absl::StatusOr<CallReply> CallWorker::Call(const CallMessage& message, ProgramStreams& output, TaskControl& control) {
  if (!Send(message, control)) {
    usable_ = false;
    running_.Kill();
    return WhyItEnded(control.cancel_requested());
  }
  return Await(output, control);
}

bool CallWorker::Forget(const std::vector<std::uint64_t>& objects) {
  to_forget_.insert(to_forget_.end(), objects.begin(), objects.end());
  while (!to_forget_.empty()) {
    std::vector<std::uint64_t> rest = to_forget_;
    if (!SendMessage(calls_.get(), TakeForgetMessage(rest), {}, MSG_DONTWAIT)) {
      if (errno == EAGAIN) return false;
      to_forget_.clear();  // it is gone, and they with it
      return true;
    }
    to_forget_ = std::move(rest);
  }
  return true;
}

bool CallWorker::Send(const CallMessage& message, TaskControl& control) {
  std::vector<int> numbers;
  for (const auto& segment : message.segments) numbers.push_back(segment->get());
  // Letting go of objects may take it a while, and its socket has room for a few messages.
  while (!Forget({}) || !SendMessage(calls_.get(), message.text, numbers, MSG_DONTWAIT)) {
    if (errno != EAGAIN || control.cancel_requested()) return false;
    pollfd descriptors[] = {{calls_.get(), POLLOUT, 0}, {running_.control.get(), POLLIN, 0}};
    poll(descriptors, std::size(descriptors), static_cast<int>(kLookAtCancel.count()));
    if (descriptors[1].revents != 0) return false;
  }
  return true;
}

bool CallWorker::Refresh() {
  ProgramStreams nobodys(/*has_client=*/false);
  PassOn(nobodys);
  // Neither has anything to read while it waits, but for its end, and an interrupt that somebody else has sent.
  pollfd descriptors[] = {{running_.control.get(), POLLIN, 0}, {calls_.get(), POLLIN, 0}};
  for (int i = 0; i < kMostInterrupts; ++i) {
    if (poll(descriptors, std::size(descriptors), 0) == 0) return true;
    if (descriptors[0].revents != 0 || !AwaitInterrupted()) return false;
  }
  return false;
}

std::string CallWorker::WhyGone() {
  pollfd ended{running_.control.get(), POLLIN, 0};
  if (poll(&ended, 1, 0) == 0) return "it closed the socket that its calls come by";
  return std::string(WhyItEnded(/*cancelled=*/false).message());
}

bool CallWorker::AwaitInterrupted() const {
  pollfd descriptor{calls_.get(), POLLIN, 0};
  if (poll(&descriptor, 1, static_cast<int>(kInterruptIsThere.count())) != 1) return false;
  ReceivedMessage message = ReceiveMessage(calls_.get(), kMostMessage, MSG_DONTWAIT);
  if (message.what != ReceivedMessage::What::kMessage) return false;
  const absl::StatusOr<CallReply> reply = CallReply::Of(std::move(message.text), Descriptor());
  return reply.ok() && reply->kind == CallReply::Kind::kInterrupted;
}

absl::StatusOr<CallReply> CallWorker::Await(ProgramStreams& output, TaskControl& control) {
  std::optional<Steady::time_point> asked;
  bool killed = false, interrupted = false;
  for (;;) {
    // One whose client does not read waits, as it would for a pipe.
    const bool room = output.HasRoomForOutput();
    pollfd descriptors[] = {{killed ? -1 : calls_.get(), POLLIN, 0},
                            {running_.control.get(), POLLIN, 0},
                            {room ? running_.out.get() : -1, POLLIN, 0},
                            {room ? running_.err.get() : -1, POLLIN, 0}};
    poll(descriptors, std::size(descriptors), static_cast<int>(kLookAtCancel.count()));
    // A block at a time: one that prints without end is to be heard no less when it is cancelled.
    if (descriptors[2].revents != 0) ReadSome(running_.out, OutputStream::kOut, output);
    if (descriptors[3].revents != 0) ReadSome(running_.err, OutputStream::kErr, output);
    if (descriptors[0].revents != 0) {
      ReceivedMessage message = ReceiveMessage(calls_.get(), kMostMessage, MSG_DONTWAIT);
      if (message.what == ReceivedMessage::What::kMessage) {
        absl::StatusOr<CallReply> reply =
            CallReply::Of(std::move(message.text),
                          message.descriptors.empty() ? Descriptor() : std::move(message.descriptors.front()));
        if (reply.ok() && reply->kind == CallReply::Kind::kProgress) {
          ReportProgress(control, reply->progress);
          continue;
        }
        if (reply.ok() && reply->kind == CallReply::Kind::kInterrupted) {
          interrupted = true;
          continue;
        }
        PassOn(output);
        if (!reply.ok()) {
          usable_ = false;
          return absl::InternalError(
              absl::StrCat("its worker broke the rules of its socket: ", reply.status().message()));
        }
        if (asked && !interrupted) usable_ = AwaitInterrupted();
        return reply;
      }
      if (message.what == ReceivedMessage::What::kNoRoom) {
        usable_ = false;
        return absl::ResourceExhaustedError("the daemon has no descriptor left for its result");
      }
      if (message.what == ReceivedMessage::What::kEnd &&
          descriptors[1].revents == 0) {  // it has closed it, and goes on
        usable_ = false;
        running_.Kill();
        killed = true;
      }
    }
    if (descriptors[1].revents != 0) {
      usable_ = false;
      PassOn(output);
      return WhyItEnded(asked.has_value());
    }
    if (killed || !control.cancel_requested()) continue;
    if (!asked) {
      running_.Signal(SIGINT);
      asked = Steady::now();
    } else if (Steady::now() - *asked >= kGrace) {
      usable_ = false;
      running_.Kill();
      killed = true;
    }
  }
}

absl::Status CallWorker::WhyItEnded(bool cancelled) {
  const absl::StatusOr<ProgramEnd> end = running_.End();
  if (cancelled) return absl::CancelledError("its worker was ended");
  if (!end.ok()) return end.status();
  const absl::Status error = ErrorOf(*end, "its worker", memory_bytes_);
  return error.ok() ? absl::AbortedError("its worker ended: the function, or something that it called, left Python")
                    : error;
}

void CallWorker::PassOn(ProgramStreams& output) {
  constexpr int kBlocks = 17;  // of 64 KiB: a pipe has 1 MiB at most, and may be filled again as it is read
  for (int i = 0; i < kBlocks && running_.out && ReadSome(running_.out, OutputStream::kOut, output); ++i) {
  }
  for (int i = 0; i < kBlocks && running_.err && ReadSome(running_.err, OutputStream::kErr, output); ++i) {
  }
}

}  // namespace hotplate::server
