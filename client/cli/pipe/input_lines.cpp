#include "client/cli/pipe/input_lines.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "kernels/array/npy.h"

namespace hotplate::cli {
namespace {

constexpr std::size_t kInputPiece = std::size_t{64} << 10;

}  // namespace

std::optional<InputLine> InputLines::Next() {
  const std::size_t end = read_.find('\n', std::max(next_, looked_at_));
  if (end != std::string::npos) {
    InputLine line = Cut(end - next_);
    ++next_;
    return line;
  }
  looked_at_ = read_.size();
  if (ended_ && (looked_at_ > next_ || skipping_)) return Cut(looked_at_ - next_);
  if (looked_at_ - next_ > kLongest) {
    next_ = looked_at_;
    skipping_ = true;
  }
  return std::nullopt;
}

InputLine InputLines::Cut(std::size_t length) {
  InputLine line{.number = ++number_, .too_long = skipping_ || length > kLongest};
  if (!line.too_long) line.text = read_.substr(next_, length);
  next_ += length;
  skipping_ = false;
  return line;
}

absl::Status InputLines::Fill() {
  read_.erase(0, next_);
  looked_at_ -= std::min(looked_at_, next_);
  next_ = 0;
  const std::size_t before = read_.size();
  read_.resize(before + kInputPiece);
  const ssize_t count = read(descriptor_, read_.data() + before, kInputPiece);
  const int why = errno;
  read_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  if (count == 0) ended_ = true;
  if (count >= 0 || why == EINTR || why == EAGAIN) return absl::OkStatus();
  return absl::DataLossError(SystemError("cannot read standard input", why).message);
}

}  // namespace hotplate::cli
