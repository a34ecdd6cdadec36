#include "server/workers/program_streams.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <utility>

namespace hotplate::server {
namespace {

// As much as a pipe takes.
constexpr std::size_t kWrite = std::size_t{64} << 10;

// Grows the newest piece if that is of the same stream.
void Append(std::deque<OutputPiece>& pieces, OutputStream stream, std::string_view text) {
  if (pieces.empty() || pieces.back().stream != stream ||
      pieces.back().text.size() + text.size() > ProgramStreams::kPiece) {
    pieces.push_back({stream, std::string(text)});
  } else {
    pieces.back().text += text;
  }
}

std::size_t BytesOf(const std::deque<OutputPiece>& pieces) {
  std::size_t bytes = 0;
  for (const OutputPiece& piece : pieces) bytes += piece.text.size();
  return bytes;
}

}  // namespace

ProgramStreams::ProgramStreams(bool has_client) : has_client_(has_client), input_closed_(!has_client) {}

ProgramStreams::ProgramStreams(Everything kept)
    : has_client_(false),
      input_closed_(true),
      first_(std::move(kept.first)),
      last_(std::move(kept.last)),
      first_bytes_(BytesOf(first_)),
      last_bytes_(BytesOf(last_)),
      left_out_(kept.left_out) {}

void ProgramStreams::Listen(const void* who, std::function<void()> changed) {
  MutexLock calling(calling_);
  changed_ = std::move(changed);
  MutexLock lock(mutex_);
  listener_ = who;
  has_client_ = true;
}

void ProgramStreams::Leave(const void* who) {
  {
    MutexLock calling(calling_);
    MutexLock lock(mutex_);
    if (listener_ != nullptr && listener_ != who) return;
    listener_ = nullptr;
    changed_ = nullptr;
    has_client_ = false;
    output_.clear();
    output_bytes_ = 0;
    input_closed_ = true;
  }
  Wake();
}

std::vector<OutputPiece> ProgramStreams::TakeOutput(const void* who) {
  std::vector<OutputPiece> taken;
  {
    MutexLock lock(mutex_);
    if (listener_ != who) return taken;
    taken.assign(std::make_move_iterator(output_.begin()), std::make_move_iterator(output_.end()));
    output_.clear();
    if (std::exchange(output_bytes_, 0) < kOnTheWay) return taken;
  }
  Wake();  // it waited for room
  return taken;
}

void ProgramStreams::AddInput(std::string text) {
  {
    MutexLock lock(mutex_);
    if (input_closed_) return;
    last_moved_ = std::chrono::steady_clock::now();
    input_bytes_ += text.size();
    for (std::size_t at = 0; at < text.size(); at += kWrite) input_.push_back(text.substr(at, kWrite));
  }
  Wake();
}

void ProgramStreams::CloseInput() {
  {
    MutexLock lock(mutex_);
    input_closed_ = true;
  }
  Wake();
}

bool ProgramStreams::HasRoomForInput() const {
  MutexLock lock(mutex_);
  return input_bytes_ < kOnTheWay;
}

void ProgramStreams::Signal(int number) {
  {
    MutexLock lock(mutex_);
    // As a system does: one that has not been delivered is there once.
    if (std::find(signals_.begin(), signals_.end(), number) == signals_.end()) signals_.push_back(number);
  }
  Wake();
}

void ProgramStreams::Resize(TerminalSize size) {
  {
    MutexLock lock(mutex_);
    size_ = size;
  }
  Wake();
}

void ProgramStreams::SetWake(const Descriptor* eventfd) {
  MutexLock lock(mutex_);
  wake_ = eventfd;
}

void ProgramStreams::Wake() {
  MutexLock lock(mutex_);
  if (wake_ != nullptr) eventfd_write(wake_->get(), 1);
}

bool ProgramStreams::HasRoomForOutput() const {
  MutexLock lock(mutex_);
  return output_bytes_ < kOnTheWay;
}

void ProgramStreams::AddOutput(OutputStream stream, std::string_view text) {
  {
    MutexLock lock(mutex_);
    Keep(stream, text);
    last_moved_ = std::chrono::steady_clock::now();
    if (!has_client_) return;
    Append(output_, stream, text);
    output_bytes_ += text.size();
  }
  TellClient();
}

void ProgramStreams::Keep(OutputStream stream, std::string_view text) {
  const std::size_t first = std::min(text.size(), kKeptFirst - first_bytes_);
  if (first > 0) Append(first_, stream, text.substr(0, first));
  first_bytes_ += first;
  text.remove_prefix(first);
  if (text.empty()) return;
  for (std::size_t at = 0; at < text.size(); at += kPiece) Append(last_, stream, text.substr(at, kPiece));
  last_bytes_ += text.size();
  while (last_bytes_ - last_.front().text.size() >= kKeptLast) {
    last_bytes_ -= last_.front().text.size();
    left_out_ += last_.front().text.size();
    last_.pop_front();
  }
}

ProgramStreams::Input ProgramStreams::input() const {
  MutexLock lock(mutex_);
  if (!input_.empty()) return Input::kWaits;
  return input_closed_ ? Input::kClosed : Input::kNoneYet;
}

std::string ProgramStreams::NextInput() {
  std::string text;
  bool had_no_room = false;
  {
    MutexLock lock(mutex_);
    had_no_room = input_bytes_ >= kOnTheWay;
    text = std::move(input_.front());
    input_.pop_front();
    input_bytes_ -= text.size();
    had_no_room = had_no_room && input_bytes_ < kOnTheWay;
  }
  if (had_no_room) TellClient();
  return text;
}

void ProgramStreams::PutBack(std::string text) {
  MutexLock lock(mutex_);
  input_bytes_ += text.size();
  input_.push_front(std::move(text));
}

void ProgramStreams::DropInput() {
  {
    MutexLock lock(mutex_);
    input_.clear();
    input_bytes_ = 0;
    input_closed_ = true;
  }
  TellClient();
}

void ProgramStreams::Over() {
  DropInput();
  MutexLock lock(mutex_);
  signals_.clear();
}

std::vector<int> ProgramStreams::TakeSignals() {
  MutexLock lock(mutex_);
  return std::exchange(signals_, {});
}

std::optional<TerminalSize> ProgramStreams::TakeSize() {
  MutexLock lock(mutex_);
  return std::exchange(size_, std::nullopt);
}

std::chrono::steady_clock::time_point ProgramStreams::last_moved() const {
  MutexLock lock(mutex_);
  return last_moved_;
}

void ProgramStreams::TellClient() {
  MutexLock lock(calling_);
  if (changed_) changed_();
}

ProgramStreams::Everything ProgramStreams::AllKept() const {
  MutexLock lock(mutex_);
  return {first_, last_, left_out_};
}

void ProgramStreams::Load(Everything kept) {
  MutexLock lock(mutex_);
  first_ = std::move(kept.first);
  last_ = std::move(kept.last);
  first_bytes_ = BytesOf(first_);
  last_bytes_ = BytesOf(last_);
  left_out_ = kept.left_out;
}

std::size_t ProgramStreams::kept_bytes() const {
  MutexLock lock(mutex_);
  return first_bytes_ + last_bytes_;
}

ProgramStreams::Kept ProgramStreams::KeptFrom(std::uint64_t from) const {
  MutexLock lock(mutex_);
  Kept kept;
  const auto append = [&](const std::deque<OutputPiece>& pieces, std::uint64_t at) {
    for (const OutputPiece& piece : pieces) {
      const std::uint64_t skip = std::min<std::uint64_t>(piece.text.size(), from - std::min(from, at));
      if (skip < piece.text.size()) kept.pieces.push_back({piece.stream, piece.text.substr(skip)});
      at += piece.text.size();
    }
  };
  if (from < first_bytes_) append(first_, 0);
  kept.begin = from;
  if (from < first_bytes_ && left_out_ > 0) return kept;
  if (from >= first_bytes_) kept.begin = std::max<std::uint64_t>(from, first_bytes_ + left_out_);
  append(last_, first_bytes_ + left_out_);
  return kept;
}

}  // namespace hotplate::server
