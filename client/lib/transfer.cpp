#include "client/lib/transfer.h"

#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "client/lib/status.h"
#include "proto/codec/chunk.h"

namespace hotplate::client {
namespace {

// The longest pause between two bytes. A long deadline exceeds the bound on silent connections, so that a stall of that
// length is that of a daemon that is there.
nanoseconds LongestStall(nanoseconds deadline) {
  constexpr std::chrono::seconds kNoticed(5);
  return deadline < kSilenceBound ? deadline : std::max<nanoseconds>(deadline, kSilenceBound + kNoticed);
}

// How an attempt ended.
struct Ending {
  absl::Status status;
  bool may_come_back = false;  // Connection::MayComeBack
};

// One attempt: a call of the generic stub with one operation under way at a time.
class Attempt {
 public:
  Attempt(const Connection& connection, const std::string& method, const TransferRules& rules)
      : connection_(connection),
        target_(connection.now()),
        stop_(rules.stop),
        on_wait_(rules.on_wait),
        longest_stall_(LongestStall(connection.options().deadline)),
        context_(std::make_unique<grpc::ClientContext>()),
        cancel_(std::make_unique<CancelOnStop>(rules.stop, *context_)) {
    connection.Authorize(target_, *context_);
    if (rules.until) context_->set_deadline(OnSystemClock(*rules.until));
    // A first chunk rides in the same write as the headers.
    context_->set_initial_metadata_corked(true);
    stream_ = target_.generic->PrepareCall(context_.get(), method, &queue_);
    stream_->StartCall(nullptr);
  }

  ~Attempt() {
    EndCall();
    queue_.Shutdown();
    void* tag;
    bool ok;
    while (queue_.Next(&tag, &ok)) {
    }
  }

  void StartWrite(const grpc::ByteBuffer& message, bool last) {
    grpc::WriteOptions options;
    if (last) options.set_last_message();
    stream_->Write(message, options, this);
  }

  void StartRead(grpc::ByteBuffer& message) { stream_->Read(&message, this); }

  // Waits for the operation under way. False: it failed, and Finish says why.
  bool Await() {
    void* tag;
    bool ok = false;
    const Clock::time_point end = Clock::now() + longest_stall_;
    do {
      const Clock::time_point until = on_wait_ ? std::min(end, Clock::now() + kLook) : end;
      if (queue_.AsyncNext(&tag, &ok, OnSystemClock(until)) == grpc::CompletionQueue::GOT_EVENT) return ok;
      if (on_wait_) on_wait_();
    } while (Clock::now() < end);
    stalled_ = true;
    context_->TryCancel();
    queue_.Next(&tag, &ok);
    return false;
  }

  Ending Finish() {
    grpc::Status status;
    stream_->Finish(&status, this);
    Await();
    if (!stalled_) {
      const absl::Status translated = connection_.Translate(target_, status);
      if (!absl::IsCancelled(translated)) return {translated, connection_.MayComeBack(target_, status)};
      if (stop_.stop_requested()) return {absl::CancelledError("the transfer was given up")};
      // Nobody here asked for it: a daemon that ends cancels its calls in this way.
      return {absl::UnavailableError("the daemon broke the transfer off: it ends")};
    }
    const auto stall = std::chrono::duration_cast<std::chrono::milliseconds>(longest_stall_);
    return {absl::DeadlineExceededError("the transfer stood still for " + std::to_string(stall.count()) + " ms")};
  }

  // Until gRPC has let go of memory that is not its own; the last thing to be done. After a call that ended well that
  // is at once. After one that broke, bytes may still be in the connection's hands, which lets go when they are written
  // or within kSilenceBound; meanwhile this thread keeps the connection going.
  void AwaitReturn(const codec::Borrowed& borrowed) {
    // Unsent bytes belong to the call.
    EndCall();
    while (borrowed.any()) {
      void* tag;
      bool ok;
      queue_.AsyncNext(&tag, &ok, OnSystemClock(Clock::now() + std::chrono::milliseconds(1)));
    }
  }

 private:
  // With no operation under way.
  void EndCall() {
    if (!context_) return;
    context_->TryCancel();
    cancel_.reset();
    stream_.reset();
    context_.reset();
  }

  const Connection& connection_;
  Target& target_;
  const std::stop_token stop_;
  const OnWait on_wait_;
  const nanoseconds longest_stall_;
  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<CancelOnStop> cancel_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
  bool stalled_ = false;
};

void Tell(const TransferRules& rules, std::uint64_t done) {
  if (rules.on_bytes) rules.on_bytes(done);
}

// The content of an upload. `encode` makes the message with the `count` bytes from `at` on. `array_id` is only for the
// first message of a stream, which also says where it begins.
struct Outgoing {
  std::size_t bytes = 0;
  std::function<absl::StatusOr<grpc::ByteBuffer>(const std::string& array_id, std::size_t at, std::size_t count,
                                                 codec::Borrowed& borrowed)>
      encode;
};

// Returns only errors of the source. Finish reports those of the stream.
absl::Status WriteChunks(Attempt& attempt, const std::string& array_id, const Outgoing& from, std::size_t offset,
                         const TransferRules& rules, codec::Borrowed& borrowed) {
  const auto count_at = [&](std::size_t at) { return std::min(codec::kChunkBytes, from.bytes - at); };
  absl::StatusOr<grpc::ByteBuffer> message = from.encode(array_id, offset, count_at(offset), borrowed);
  for (std::size_t at = offset;;) {
    if (!message.ok()) return message.status();
    at += count_at(at);
    const bool last = at == from.bytes;
    attempt.StartWrite(*message, last);
    // The next one is read while this one goes out.
    absl::StatusOr<grpc::ByteBuffer> next;
    if (!last) next = from.encode("", at, count_at(at), borrowed);
    if (!attempt.Await()) return absl::OkStatus();
    Tell(rules, at);
    if (last) return absl::OkStatus();
    message = std::move(next);
  }
}

// Sends everything from `offset` on, as one stream.
Ending WriteFrom(const Connection& connection, const std::string& array_id, const Outgoing& from, std::size_t offset,
                 const TransferRules& rules) {
  codec::Borrowed borrowed;
  Attempt attempt(connection, "/hotplate.v1.Arrays/Write", rules);
  if (const absl::Status read = WriteChunks(attempt, array_id, from, offset, rules, borrowed); !read.ok()) {
    attempt.AwaitReturn(borrowed);
    return {read};
  }
  grpc::ByteBuffer answer;
  attempt.StartRead(answer);
  attempt.Await();
  Ending ending = attempt.Finish();
  attempt.AwaitReturn(borrowed);
  return ending;
}

// Where a download goes: `bytes` of the array, from its byte `offset` on. `take` is given the message that continues
// at byte `at` of the array, and returns how many bytes it held.
struct Incoming {
  std::uint64_t offset = 0;
  std::size_t bytes = 0;
  std::function<absl::StatusOr<std::size_t>(const grpc::ByteBuffer& message, std::uint64_t at)> take;
};

Ending ReadFrom(const Connection& connection, const std::string& array_id, const Incoming& to, std::size_t& done,
                Reconnecting& reconnecting, const TransferRules& rules) {
  v1::ReadArrayRequest request;
  request.set_array_id(array_id);
  request.set_offset(to.offset + done);
  request.set_length(to.bytes - done);
  const grpc::Slice encoded(request.SerializeAsString());

  Attempt attempt(connection, "/hotplate.v1.Arrays/Read", rules);
  grpc::ByteBuffer messages[2];
  attempt.StartWrite(grpc::ByteBuffer(&encoded, 1), true);
  bool more = attempt.Await();
  if (more) attempt.StartRead(messages[0]);
  more = more && attempt.Await();
  for (int current = 0; more; current ^= 1) {
    // The next message comes in while this one is copied out.
    attempt.StartRead(messages[current ^ 1]);
    const absl::StatusOr<std::size_t> copied = to.take(messages[current], to.offset + done);
    messages[current].Clear();
    if (copied.ok()) {
      done += *copied;
      reconnecting.Progressed();
      Tell(rules, done);
    }
    more = attempt.Await();
    if (!copied.ok()) return {copied.status()};
  }
  Ending ending = attempt.Finish();
  if (!ending.status.ok() || done == to.bytes) return ending;
  return {absl::InternalError("the daemon ended array " + array_id + " after " + std::to_string(done) + " of " +
                              std::to_string(to.bytes) + " bytes")};
}

absl::Status DownloadAll(const Connection& connection, const std::string& array_id, const Incoming& to,
                         const TransferRules& rules) {
  // To the protocol no length is the length of all.
  if (to.bytes == 0) return absl::OkStatus();
  Reconnecting reconnecting(connection, rules.stop, rules.on_wait);
  std::size_t done = 0;
  while (true) {
    const Ending ending = ReadFrom(connection, array_id, to, done, reconnecting, rules);
    if (ending.status.ok() || !IsConnectionLoss(ending.status)) return ending.status;
    if (done == to.bytes) return absl::OkStatus();  // only the goodbye was lost
    if (!reconnecting.Again(ending.status, ending.may_come_back)) return ending.status;
  }
}

// Where an upload stands on the daemon's side. An answer of before the daemon noticed that the last stream broke leads
// to a refusal and another look.
Ending FindOut(const Connection& connection, const std::string& array_id, std::size_t total, const TransferRules& rules,
               std::size_t& there) {
  v1::DescribeArrayRequest request;
  request.set_array_id(array_id);
  v1::DescribeArrayResponse response;
  Target& target = connection.now();
  const grpc::Status status = connection.CallOnce(target, &Target::arrays, &v1::Arrays::Stub::PrepareAsyncDescribe,
                                                  request, response, {.until = rules.until, .stop = rules.stop});
  const bool over = rules.until && Clock::now() >= *rules.until;
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED && !over) {
    return {MarkedLost(absl::UnavailableError("the daemon does not say how far the upload has come")), true};
  }
  if (!status.ok()) return {connection.Translate(target, status), connection.MayComeBack(target, status)};
  if (response.array().bytes_written() > total) {
    return {absl::InternalError("array " + array_id + " is larger on the daemon than here")};
  }
  there = static_cast<std::size_t>(response.array().bytes_written());
  return {absl::OkStatus()};
}

// Refusals of a resumed upload by a daemon that is there: for the daemon, the stream before may still be writing. If
// only this side's end of the connection broke, the daemon notices by its keepalive, most of a minute later. Allows as
// much time as for a lost connection; the time begins anew with each byte that arrives.
class Refusals {
 public:
  Refusals(const Connection& connection, const TransferRules& rules)
      : connection_(connection), rules_(rules), time_(connection) {}

  // Call it after another refusal. True: try again, the pause is over.
  bool Again() {
    const bool lasts = time_.Lasts(true);
    if (++count_ > connection_.options().retries && !lasts) return false;
    return connection_.Pause(pauses_.Next(), rules_.stop, rules_.on_wait);
  }

  void Progressed() {
    time_.Over();
    pauses_.Reset();
    count_ = 0;
  }

 private:
  const Connection& connection_;
  const TransferRules& rules_;
  Outage time_;
  Backoff pauses_;
  int count_ = 0;
};

absl::Status UploadAll(const Connection& connection, const std::string& array_id, const Outgoing& from,
                       const TransferRules& rules, bool shared) {
  Reconnecting reconnecting(connection, rules.stop, rules.on_wait);
  Refusals refusals(connection, rules);
  std::size_t offset = 0;
  for (bool resuming = shared;; resuming = true) {
    Ending ending = WriteFrom(connection, array_id, from, offset, rules);
    const bool refused = resuming && absl::IsFailedPrecondition(ending.status);
    if (ending.status.ok() || !(refused || IsConnectionLoss(ending.status))) return ending.status;
    std::size_t there = 0;
    if (refused) {
      reconnecting.Reached();
      if (!refusals.Again()) return ending.status;
      ending = FindOut(connection, array_id, from.bytes, rules, there);
    }
    while (IsConnectionLoss(ending.status)) {
      if (!reconnecting.Again(ending.status, ending.may_come_back)) return ending.status;
      ending = FindOut(connection, array_id, from.bytes, rules, there);
    }
    if (!ending.status.ok()) return ending.status;
    reconnecting.Reached();
    if (there == from.bytes) return absl::OkStatus();
    if (there > offset) {
      reconnecting.Progressed();
      refusals.Progressed();
    }
    offset = there;
  }
}

}  // namespace

absl::Status Upload(const Connection& connection, const std::string& array_id, std::span<const std::byte> bytes,
                    const TransferRules& rules, bool shared) {
  const auto encode = [bytes](const std::string& id, std::size_t at, std::size_t count, codec::Borrowed& borrowed) {
    return codec::EncodeWrite(id, id.empty() ? 0 : at, bytes.subspan(at, count), borrowed);
  };
  return UploadAll(connection, array_id, {bytes.size(), encode}, rules, shared);
}

absl::Status Upload(const Connection& connection, const std::string& array_id, const ArraySource& source,
                    const TransferRules& rules, bool shared) {
  const auto encode = [&source](const std::string& id, std::size_t at, std::size_t count,
                                codec::Borrowed&) -> absl::StatusOr<grpc::ByteBuffer> {
    // gRPC keeps it until it is sent, which is a moment longer than this call's write.
    const grpc::Slice chunk(count);
    const std::span<std::byte> to(reinterpret_cast<std::byte*>(const_cast<std::uint8_t*>(chunk.begin())), count);
    if (absl::Status status = source.read(at, to); !status.ok()) return status;
    return codec::EncodeWrite(id, id.empty() ? 0 : at, chunk);
  };
  return UploadAll(connection, array_id, {ByteSize(source.signature).value_or(0), encode}, rules, shared);
}

absl::Status Download(const Connection& connection, const std::string& array_id, std::uint64_t offset,
                      std::span<std::byte> destination, const TransferRules& rules) {
  const auto take = [&](const grpc::ByteBuffer& message, std::uint64_t at) {
    return codec::DecodeRead(message, at, destination, offset);
  };
  return DownloadAll(connection, array_id, {offset, destination.size(), take}, rules);
}

absl::Status Download(const Connection& connection, const std::string& array_id, const Signature& signature,
                      const TakePiece& take, const TransferRules& rules) {
  const std::size_t bytes = ByteSize(signature).value_or(0);
  if (bytes == 0) return take(signature, 0, {});
  std::vector<std::byte> stage;
  const auto take_message = [&](const grpc::ByteBuffer& message, std::uint64_t at) -> absl::StatusOr<std::size_t> {
    // A message has no more data than bytes, and gRPC bounds those.
    stage.resize(std::max(stage.size(), std::min<std::size_t>(message.Length(), bytes - at)));
    const absl::StatusOr<std::size_t> copied = codec::DecodeRead(message, at, stage, at);
    if (!copied.ok() || *copied == 0) return copied;
    if (absl::Status status = take(signature, at, std::span(stage).first(*copied)); !status.ok()) return status;
    return copied;
  };
  return DownloadAll(connection, array_id, {0, bytes, take_message}, rules);
}

}  // namespace hotplate::client
