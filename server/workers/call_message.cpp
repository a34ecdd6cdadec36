#include "server/workers/call_message.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "kernels/array/quoted.h"
#include "server/workers/byte_text.h"

namespace hotplate::server {
namespace {

constexpr char kPayload[] = "hotplate/call-error";
constexpr std::size_t kAlignment = 64;
constexpr std::uint32_t kMostOutputs = 64, kMostRefs = 256;
constexpr std::size_t kMostForgotten = 2000, kLongestType = 200;

std::size_t Aligned(std::size_t place) { return (place + kAlignment - 1) / kAlignment * kAlignment; }

void AppendText(std::string& text, std::string_view one) {
  AppendNumber(text, static_cast<std::uint32_t>(one.size()));
  text += one;
}

absl::StatusOr<Descriptor> SegmentWith(const std::vector<CallArray>& arrays, const std::vector<std::size_t>& places,
                                       std::size_t size) {
  const auto no_room = [size] {
    return absl::ResourceExhaustedError(
        absl::StrCat("no shared memory of ", size, " bytes for a worker: ", std::strerror(errno)));
  };
  Descriptor segment(memfd_create("hotplate-call", MFD_CLOEXEC));
  if (!segment || ftruncate(segment.get(), static_cast<off_t>(size)) != 0) return no_room();
  void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, segment.get(), 0);
  if (memory == MAP_FAILED) return no_room();
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (arrays[i].data.empty()) continue;
    std::memcpy(static_cast<std::byte*>(memory) + places[i], arrays[i].data.data(), arrays[i].data.size());
  }
  munmap(memory, size);
  return segment;
}

absl::Status Wrong(const std::string& what) { return absl::InvalidArgumentError("its answer " + what); }

struct Place {
  std::uint64_t begin = 0, bytes = 0;
};

absl::StatusOr<Place> ReadArray(ByteReader& reader, Signature& signature) {
  const std::optional<DType> dtype = DTypeFromNumber(reader.Number<std::int32_t>());
  const auto rank = reader.Number<std::uint32_t>();
  const Place place{reader.Number<std::uint64_t>(), reader.Number<std::uint64_t>()};
  if (!reader.ok() || !dtype || rank > kMaxRank) return Wrong("has an array of an unknown dtype or rank");
  signature.dtype = *dtype;
  for (std::uint32_t i = 0; i < rank; ++i) signature.shape.push_back(reader.Number<std::int64_t>());
  if (!reader.ok() || ByteSize(signature) != place.bytes) return Wrong("has an array that is not as large as it says");
  return place;
}

std::string TextIn(ByteReader& reader) { return std::string(reader.Bytes(reader.Number<std::uint32_t>())); }

absl::Status ReadRefs(ByteReader& reader, std::vector<CallRef>& refs) {
  const auto count = reader.Number<std::uint32_t>();
  if (!reader.ok() || count > kMostRefs) return Wrong(absl::StrCat("has ", count, " objects that stay"));
  for (std::uint32_t i = 0; i < count; ++i) {
    CallRef& ref = refs.emplace_back();
    ref.number = reader.Number<std::uint64_t>();
    ref.type = TextIn(reader).substr(0, kLongestType);
    if (!IsUtf8(ref.type)) ref.type = absl::CHexEscape(ref.type);
  }
  return reader.ok() ? absl::OkStatus() : Wrong("is too short");
}

CallError ErrorIn(ByteReader& reader) {
  CallError error;
  for (std::string* const text : {&error.type, &error.message, &error.traceback}) {
    *text = TextIn(reader);
    if (!IsUtf8(*text)) *text = absl::CHexEscape(*text);
  }
  error.pickle = TextIn(reader);
  return error;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Descriptor>> SegmentCache::SegmentOf(const CallArray& array) {
  std::list<Entry> gone;  // closed without the lock
  {
    MutexLock lock(mutex_);
    std::shared_ptr<const Descriptor> found;
    for (auto one = entries_.begin(); one != entries_.end();) {
      const auto next = std::next(one);
      if (one->buffer.expired()) {
        bytes_ -= one->bytes;
        gone.splice(gone.end(), entries_, one);
      } else if (one->identity == array.buffer->identity()) {
        found = one->segment;
        entries_.splice(entries_.begin(), entries_, one);
      }
      one = next;
    }
    if (found != nullptr) return found;
  }
  absl::StatusOr<Descriptor> made = SegmentWith({array}, {0}, array.data.size());
  if (!made.ok()) return made.status();
  auto segment = std::make_shared<const Descriptor>(*std::move(made));
  MutexLock lock(mutex_);
  entries_.push_front({array.buffer, array.buffer->identity(), array.data.size(), segment});
  bytes_ += array.data.size();
  while (bytes_ > kMostBytes) {
    bytes_ -= entries_.back().bytes;
    gone.splice(gone.end(), entries_, std::prev(entries_.end()));
  }
  lock.Unlock();
  return segment;
}

absl::StatusOr<CallMessage> MessageOfCall(const std::string& function_id, std::string_view code,
                                          const std::vector<CallArray>& inputs, SegmentCache& cache) {
  constexpr std::uint64_t kItsOwn = ~std::uint64_t{0};
  CallMessage message;
  std::vector<std::uint64_t> places;
  std::vector<CallArray> together;
  std::vector<std::size_t> places_together;
  std::size_t size = 0;
  const auto add = [&](const CallArray& one) {
    places_together.push_back(size);
    together.push_back(one);
    size = Aligned(size + one.data.size());
    return places_together.back();
  };
  for (const CallArray& input : inputs) {
    if (input.object) {
      places.push_back(*input.object);
      continue;
    }
    if (input.buffer == nullptr || input.buffer->identity() == 0 || input.data.size() <= kMostInline) {
      places.push_back(add(input));
      continue;
    }
    absl::StatusOr<std::shared_ptr<const Descriptor>> segment = cache.SegmentOf(input);
    if (!segment.ok()) return segment.status();
    message.segments.push_back(*std::move(segment));
    places.push_back(kItsOwn);
  }
  const std::size_t code_at = add({{}, std::as_bytes(std::span(code))});
  const bool in_segment = size > kMostInline;
  for (const std::uint32_t number :
       {std::uint32_t{1}, static_cast<std::uint32_t>(inputs.size()), std::uint32_t{in_segment}, std::uint32_t{0}}) {
    AppendNumber(message.text, number);
  }
  AppendNumber(message.text, std::uint64_t{code.size()});
  AppendNumber(message.text, std::uint64_t{code_at});
  message.text += function_id;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool is_object = inputs[i].object.has_value();
    const Signature signature = is_object ? Signature() : inputs[i].signature;
    AppendNumber(message.text, is_object ? 0 : static_cast<std::int32_t>(signature.dtype));
    AppendNumber(message.text, static_cast<std::uint32_t>(signature.shape.size()));
    AppendNumber(message.text, places[i]);
    AppendNumber(message.text, is_object ? std::uint64_t{0} : std::uint64_t{inputs[i].data.size()});
    for (const std::int64_t one : signature.shape) AppendNumber(message.text, one);
  }
  if (in_segment) {
    absl::StatusOr<Descriptor> segment = SegmentWith(together, places_together, size);
    if (!segment.ok()) return segment.status();
    message.segments.insert(message.segments.begin(), std::make_shared<const Descriptor>(*std::move(segment)));
    return message;
  }
  const std::size_t data = message.text.size();
  message.text.resize(data + size);
  for (std::size_t i = 0; i < together.size(); ++i) {
    if (together[i].data.empty()) continue;
    std::memcpy(message.text.data() + data + places_together[i], together[i].data.data(), together[i].data.size());
  }
  return message;
}

std::string TakeForgetMessage(std::vector<std::uint64_t>& numbers) {
  constexpr std::uint32_t kForget = 5;
  const std::size_t count = std::min(numbers.size(), kMostForgotten);
  std::string text;
  AppendNumber(text, kForget);
  AppendNumber(text, static_cast<std::uint32_t>(count));
  for (std::size_t i = 0; i < count; ++i) AppendNumber(text, numbers[i]);
  numbers.erase(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(count));
  return text;
}

void AddTo(absl::Status& status, const CallError& error) {
  std::string text;
  for (const std::string* const one : {&error.type, &error.message, &error.traceback, &error.pickle}) {
    AppendText(text, *one);
  }
  status.SetPayload(kPayload, absl::Cord(text));
}

std::optional<CallError> CallErrorOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kPayload);
  if (!payload) return std::nullopt;
  const std::string text(*payload);
  ByteReader reader(text);
  return ErrorIn(reader);
}

void UnmapSegment::operator()(std::byte* data) const { munmap(data, size); }

absl::StatusOr<CallReply> CallReply::Of(std::string text, Descriptor segment) {
  CallReply reply;
  reply.text_ = std::make_unique<std::string>(std::move(text));
  ByteReader reader(*reply.text_);
  const auto kind = reader.Number<std::uint32_t>();
  const auto count = reader.Number<std::uint32_t>();
  if (kind == static_cast<std::uint32_t>(Kind::kProgress)) {
    reply.kind = Kind::kProgress;
    reply.progress = reader.Number<double>();
    if (!reader.ok()) return Wrong("is too short");
    return reply;
  }
  if (kind == static_cast<std::uint32_t>(Kind::kInterrupted)) {
    reply.kind = Kind::kInterrupted;
    return reply;
  }
  reply.user = std::chrono::nanoseconds(reader.Number<std::int64_t>());
  reply.system = std::chrono::nanoseconds(reader.Number<std::int64_t>());
  reply.peak_bytes = reader.Number<std::uint64_t>();
  if (kind == static_cast<std::uint32_t>(Kind::kError)) {
    reply.kind = Kind::kError;
    reply.error = ErrorIn(reader);
    if (!reader.ok()) return Wrong("is too short");
    return reply;
  }
  if (kind != static_cast<std::uint32_t>(Kind::kResult)) return Wrong("is of no known kind");
  if (!reader.ok() || count > kMostOutputs) return Wrong(absl::StrCat("has ", count, " arrays"));
  std::vector<Place> places;
  for (std::uint32_t i = 0; i < count; ++i) {
    const absl::StatusOr<Place> place = ReadArray(reader, reply.outputs.emplace_back().signature);
    if (!place.ok()) return place.status();
    places.push_back(*place);
  }
  if (absl::Status status = ReadRefs(reader, reply.refs); !status.ok()) return status;
  std::span<const std::byte> data = std::as_bytes(std::span(reader.rest()));
  if (segment) {
    // One that could still shrink would end the daemon as it reads.
    constexpr int kSealed = F_SEAL_SHRINK;
    const int seals = fcntl(segment.get(), F_GET_SEALS);
    struct stat facts {};
    if (seals < 0 || (seals & kSealed) != kSealed || fstat(segment.get(), &facts) != 0) {
      return Wrong("came with a segment that is not sealed");
    }
    const auto size = static_cast<std::size_t>(facts.st_size);
    void* const memory = size == 0 ? nullptr : mmap(nullptr, size, PROT_READ, MAP_SHARED, segment.get(), 0);
    if (memory == MAP_FAILED) return absl::ResourceExhaustedError("the worker's result cannot be mapped");
    reply.segment_ = std::unique_ptr<std::byte, UnmapSegment>(static_cast<std::byte*>(memory), UnmapSegment{size});
    data = {reply.segment_.get(), size};
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i].bytes > data.size() || places[i].begin > data.size() - places[i].bytes) {
      return Wrong("has an array outside of its data");
    }
    reply.outputs[i].data = data.subspan(places[i].begin, places[i].bytes);
  }
  return reply;
}

}  // namespace hotplate::server
