// The messages about calls between the daemon and a worker (python/hotplate_calls.py), over a socket that keeps the
// boundaries of messages. Numbers are the machine's own. Data of more than kMostInline bytes lie in a segment of shared
// memory, whose descriptor comes with the message; an array that the daemon keeps has a segment of its own, which is
// there for the next call too.
//
//   call      kind 1, inputs, whether the data are in a segment, 0 (each 32 bits), bytes of the code and its place in
//   the
//             data (each 64); function's id (64 bytes); then each array; then, without a segment, the data
//   result    kind 1, outputs, use; then each array; then the number of refs, and each: the object's number (64 bits),
//   a
//             text; then, without a segment, the data
//   error     kind 2, 0, use; then four texts: type, message, traceback, pickle
//   progress  kind 3, 0; a double from 0 to 1
//   interrupted  kind 4, 0: from the worker, that it has got its SIGINT
//   forget    kind 5, count (32 bits); to the worker: numbers of objects (each 64), which it is to let go of; no answer
//   use       nanoseconds of processor time in the program and in the kernel, bytes of memory at most (each 64)
//   array     dtype, rank (each 32 bits); its place in the data, or -1: it has the next segment for itself; bytes,
//   sizes
//             (each 64). Of an object that the worker has: dtype 0, and its number as the place
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/array/host_buffer.h"
#include "kernels/array/shape.h"
#include "kernels/base/descriptor.h"
#include "kernels/base/mutex.h"

namespace hotplate::server {

inline constexpr std::size_t kMostInline = std::size_t{32} << 10;
inline constexpr std::size_t kMostMessage = std::size_t{160} << 10;  // within a socket's default buffer
inline constexpr std::size_t kFunctionId = 64;

struct CallArray {
  Signature signature;
  std::span<const std::byte> data;
  std::shared_ptr<const HostBuffer> buffer = nullptr;  // that has the data, if its content never changes
  std::optional<std::uint64_t> object = std::nullopt;  // no array, but the worker's object of this number
};

// An object in a result that stays in its worker.
struct CallRef {
  std::uint64_t number = 0;  // the worker's; never used twice
  std::string type;          // "module.Name"
};

// The segments of arrays that were inputs lately, so that an array which stays is copied to shared memory once. Those
// of arrays that are gone go with the next call. Thread-safe.
class SegmentCache {
 public:
  static constexpr std::uint64_t kMostBytes = std::uint64_t{512} << 20;  // what was not used for longest goes

  // RESOURCE_EXHAUSTED: there is no shared memory for it.
  absl::StatusOr<std::shared_ptr<const Descriptor>> SegmentOf(const CallArray& array);

 private:
  struct Entry {
    std::weak_ptr<const HostBuffer> buffer;
    std::uint64_t identity = 0, bytes = 0;
    std::shared_ptr<const Descriptor> segment;
  };

  Mutex mutex_;
  std::list<Entry> entries_ ABSL_GUARDED_BY(mutex_);  // newest first
  std::uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

// A message to a worker, with the segments that go with it.
struct CallMessage {
  std::string text;
  std::vector<std::shared_ptr<const Descriptor>> segments;
};

// RESOURCE_EXHAUSTED: there is no shared memory for it.
absl::StatusOr<CallMessage> MessageOfCall(const std::string& function_id, std::string_view code,
                                          const std::vector<CallArray>& inputs, SegmentCache& cache);

// One message has so many numbers at most; the first ones of `numbers` are taken out.
std::string TakeForgetMessage(std::vector<std::uint64_t>& numbers);

// What an exception in a worker was, as texts of the worker's: type is "module.Name".
struct CallError {
  std::string type, message, traceback, pickle;
};
// As an absl::Status carries it to whoever asks for it.
void AddTo(absl::Status& status, const CallError& error);
std::optional<CallError> CallErrorOf(const absl::Status& status);

struct UnmapSegment {
  std::size_t size = 0;
  void operator()(std::byte* data) const;
};

// A message from a worker, which may be wrong in any way: it is a user's process.
struct CallReply {
  enum class Kind { kResult = 1, kError, kProgress, kInterrupted };
  Kind kind = Kind::kResult;
  std::vector<CallArray> outputs;  // whose data live as long as this reply
  std::vector<CallRef> refs;
  CallError error;
  std::chrono::nanoseconds user{}, system{};
  std::uint64_t peak_bytes = 0;
  double progress = 0;

  // INVALID_ARGUMENT: what is wrong with it.
  static absl::StatusOr<CallReply> Of(std::string text, Descriptor segment);

  CallReply() = default;
  CallReply(CallReply&&) = default;
  CallReply& operator=(CallReply&&) = default;

 private:
  std::unique_ptr<std::string> text_;
  std::unique_ptr<std::byte, UnmapSegment> segment_;
};

}  // namespace hotplate::server
