#include "server/workers/run_to_end.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/array/quoted.h"
#include "kernels/base/quantity.h"

namespace hotplate::server {
namespace {

constexpr std::chrono::milliseconds kLookAtTime(20);

// Whether there was something to read. Closes the pipe at its end.
bool ReadInto(Descriptor& from, std::string& text) {
  std::array<char, 16'384> block;
  const ssize_t got = read(from.get(), block.data(), block.size());
  if (got > 0) {
    const std::size_t room = EndedProgram::kLongestAnswer - text.size();
    text.append(block.data(), std::min(static_cast<std::size_t>(got), room));
  }
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) from.Close();
  return got > 0;
}

}  // namespace

std::string LastLineOf(const std::string& text) {
  constexpr char kBlanks[] = " \t\r\n";
  const std::size_t end = text.find_last_not_of(kBlanks);
  if (end == std::string::npos) return "";
  const std::size_t line = text.find_last_of('\n', end) + 1;  // 0, where there is none
  return Shortened(text.substr(line, end - line + 1));
}

absl::StatusOr<EndedProgram> RunToEnd(Supervisor& supervisor, const Program& program, std::chrono::milliseconds timeout,
                                      const std::function<bool()>& give_up) {
  using Steady = std::chrono::steady_clock;
  const Steady::time_point until = Steady::now() + timeout;
  absl::StatusOr<RunningProgram> started =
      supervisor.Start(program, [&] { return give_up() || Steady::now() >= until; });
  if (!started.ok()) return started.status();
  RunningProgram running = *std::move(started);
  running.in.Close();
  EndedProgram ended;
  for (;;) {
    pollfd descriptors[] = {
        {running.control.get(), POLLIN, 0}, {running.out.get(), POLLIN, 0}, {running.err.get(), POLLIN, 0}};
    poll(descriptors, std::size(descriptors), static_cast<int>(kLookAtTime.count()));
    if (descriptors[1].revents != 0) ReadInto(running.out, ended.out);
    if (descriptors[2].revents != 0) ReadInto(running.err, ended.err);
    if (descriptors[0].revents != 0) break;
    if (give_up()) return absl::CancelledError(program.file + " was ended before it had answered");
    if (Steady::now() < until) continue;
    const std::string said = LastLineOf(ended.err.empty() ? ended.out : ended.err);
    return absl::DeadlineExceededError(absl::StrCat(program.file, " had no answer within ", DurationText(timeout),
                                                    said.empty() ? "" : "; it said: ", said));
  }
  const absl::StatusOr<ProgramEnd> end = running.End();
  if (!end.ok()) return end.status();
  ended.end = *end;
  while (running.out && ReadInto(running.out, ended.out)) {
  }
  while (running.err && ReadInto(running.err, ended.err)) {
  }
  return ended;
}

}  // namespace hotplate::server
