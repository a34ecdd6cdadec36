#include "server/workers/program_text.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "kernels/base/quantity.h"

namespace hotplate::server {
namespace {

std::string SignalText(int number) {
  const char* const name = sigabbrev_np(number);
  return name == nullptr ? absl::StrCat("signal ", number) : absl::StrCat("SIG", name);
}

}  // namespace

bool ReadSome(Descriptor& from, OutputStream stream, ProgramStreams& streams) {
  std::array<char, 65'536> block;
  const ssize_t got = read(from.get(), block.data(), block.size());
  if (got > 0) streams.AddOutput(stream, {block.data(), static_cast<std::size_t>(got)});
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) from.Close();
  return got > 0;
}

absl::Status ErrorOf(const ProgramEnd& end, const std::string& name, std::uint64_t memory_bytes) {
  if (end.over_memory) {
    return absl::ResourceExhaustedError(absl::StrCat(name, " was killed: its processes took more than the ",
                                                     BytesText(memory_bytes), " that they may have"));
  }
  if (end.left > 0) {
    return absl::InternalError(
        absl::StrCat(end.left, " processes of ", name, " cannot be killed: they hang in the kernel"));
  }
  if (end.use.signal) return absl::AbortedError(absl::StrCat(name, " was ended by ", SignalText(*end.use.signal)));
  if (end.use.exit_code.value_or(0) != 0) {
    return absl::AbortedError(absl::StrCat(name, " ended with exit code ", *end.use.exit_code));
  }
  return absl::OkStatus();
}

}  // namespace hotplate::server
