// What goes in and out of a program that runs for a client: bounded on the way, so that a program that prints more than
// its client reads waits, as it would for a pipe; and the beginning and the end of it are kept with the job.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/descriptor.h"
#include "kernels/base/mutex.h"
#include "server/workers/program.h"

namespace hotplate::server {

enum class OutputStream { kOut = 1, kErr = 2 };

struct OutputPiece {
  OutputStream stream = OutputStream::kOut;
  std::string text;
};

// Thread-safe. The program's side is the thread that runs it; the client's side is a call, if there is one.
class ProgramStreams {
 public:
  static constexpr std::size_t kOnTheWay = std::size_t{1} << 20;  // bytes in each direction
  static constexpr std::size_t kKeptFirst = std::size_t{64} << 10, kKeptLast = std::size_t{192} << 10;
  static constexpr std::size_t kPiece = std::size_t{16} << 10;  // at most, so that no more than this is dropped at once

  static constexpr std::size_t kMostKept = kKeptFirst + kKeptLast + kPiece;

  // Without a client (a detached job) nothing comes in, and all that goes out is only kept, until somebody listens.
  explicit ProgramStreams(bool has_client);
  // All that is kept.
  struct Everything {
    std::deque<OutputPiece> first, last;
    std::uint64_t left_out = 0;  // bytes between them
  };
  // Of a program that has ended.
  explicit ProgramStreams(Everything kept);

  // The client's side. `changed` is called on the program's thread, and must call neither Listen nor Leave: there is
  // output to take, or room for input. Until Leave returns, or another call listens in its place.
  void Listen(const void* who, std::function<void()> changed);
  // Nothing if another one listens now.
  void Leave(const void* who);
  // Nothing for one in whose place another listens; null where nobody does.
  std::vector<OutputPiece> TakeOutput(const void* who);
  void AddInput(std::string text);
  void CloseInput();
  bool HasRoomForInput() const;
  void Signal(int number);
  void Resize(TerminalSize size);  // of a program that has a terminal

  // The program's side. While it runs: what becomes readable when there is something new; null afterwards.
  void SetWake(const Descriptor* eventfd);
  bool HasRoomForOutput() const;
  void AddOutput(OutputStream stream, std::string_view text);
  enum class Input { kNoneYet, kWaits, kClosed };
  Input input() const;
  // To be written to the program, while input() is kWaits.
  std::string NextInput();
  // The rest of what NextInput gave, which could not be written.
  void PutBack(std::string text);
  // It reads no more: what comes for it is thrown away.
  void DropInput();
  // It has ended: only its output is kept.
  void Over();
  std::vector<int> TakeSignals();
  std::optional<TerminalSize> TakeSize();  // if it has changed
  // When anything came in or went out last.
  std::chrono::steady_clock::time_point last_moved() const;

  // What is kept from byte `from` on, counted over both streams.
  struct Kept {
    std::vector<OutputPiece> pieces;
    std::uint64_t begin = 0;  // the number of the first byte in `pieces`
  };
  // Up to a gap, if there is one: the next call goes on behind it.
  Kept KeptFrom(std::uint64_t from) const;
  Everything AllKept() const;
  // Of a program of which nothing is kept yet.
  void Load(Everything kept);
  std::size_t kept_bytes() const;

 private:
  void Wake();
  void Keep(OutputStream stream, std::string_view text) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TellClient();

  mutable Mutex mutex_;
  const Descriptor* wake_ ABSL_GUARDED_BY(mutex_) = nullptr;
  bool has_client_ ABSL_GUARDED_BY(mutex_);
  const void* listener_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::deque<OutputPiece> output_ ABSL_GUARDED_BY(mutex_);
  std::size_t output_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<std::string> input_ ABSL_GUARDED_BY(mutex_);
  std::size_t input_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool input_closed_ ABSL_GUARDED_BY(mutex_);
  std::vector<int> signals_ ABSL_GUARDED_BY(mutex_);
  std::optional<TerminalSize> size_ ABSL_GUARDED_BY(mutex_);
  std::chrono::steady_clock::time_point last_moved_ ABSL_GUARDED_BY(mutex_) = std::chrono::steady_clock::now();
  std::deque<OutputPiece> first_ ABSL_GUARDED_BY(mutex_), last_ ABSL_GUARDED_BY(mutex_);
  std::size_t first_bytes_ ABSL_GUARDED_BY(mutex_) = 0, last_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t left_out_ ABSL_GUARDED_BY(mutex_) = 0;

  Mutex calling_;  // held while `changed_` is called
  std::function<void()> changed_ ABSL_GUARDED_BY(calling_);
};

}  // namespace hotplate::server
