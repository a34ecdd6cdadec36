#include "server/service/array_streams.h"

#include <grpcpp/impl/codegen/proto_utils.h>

#include "hotplate/v1/arrays.pb.h"
#include "kernels/array/quoted.h"
#include "kernels/base/status.h"
#include "proto/codec/chunk.h"
#include "server/service/acts.h"
#include "server/service/parsed_service.h"
#include "server/service/refusal.h"
#include "server/wire/status.h"
#include "server/wire/values.h"

namespace hotplate::server {
namespace {

template <typename Message>
grpc::ByteBuffer ToBytes(const Message& message) {
  grpc::ByteBuffer bytes;
  bool own = false;
  grpc::SerializationTraits<Message>::Serialize(message, &bytes, &own);
  return bytes;
}

class WriteStream final : public grpc::ServerReadReactor<grpc::ByteBuffer> {
 public:
  WriteStream(const ServiceContext& context, grpc::CallbackServerContext* call, core::Principal who, std::string peer,
              StreamTicket ticket, grpc::ByteBuffer* response)
      : context_(context),
        activity_(context.engine().BeginActivity()),
        who_(who),
        peer_(std::move(peer)),
        ticket_(std::move(ticket)),
        response_(response),
        end_(std::make_shared<StreamEnd>(call, std::move(who), StreamEnd::FromOutside::kFinish,
                                         [this](const absl::Status& status) { Finish(wire::ToGrpc(status)); })) {
    context_.guest_streams().Add(end_);
    StartRead(&message_);
  }

  void OnReadDone(bool ok) noexcept override {
    absl::Status status;
    try {
      if (end_->finished() || context_.IsOver(who_)) {
        status = core::EndedToken(who_.token);
      } else {
        status = ok ? TakeChunk() : Answer();
      }
    } catch (const std::bad_alloc&) {
      status = NoMemory();
    }
    if (ok && status.ok()) return StartRead(&message_);
    writer_.reset();  // received bytes stay, so that the upload can be resumed
    NoteAct(context_, "upload", who_, peer_, array_id_, "", status);
    end_->Finish(status);
  }

  void OnDone() noexcept override { delete this; }

 private:
  absl::Status TakeChunk() {
    if (absl::Status status = context_.CheckSize(message_.Length()); !status.ok()) return status;
    activity_.Moved();
    if (absl::Status status = chunk_.ParseWrite(message_); !status.ok()) return status;
    message_.Clear();
    if (!writer_) {
      if (chunk_.array_id().empty()) return InvalidField("array_id", "array_id is empty in the first message");
      array_id_ = chunk_.array_id();
      absl::StatusOr<std::unique_ptr<core::ArrayStore::Writer>> writer =
          context_.arrays().OpenWriter(who_, array_id_, chunk_.offset());
      if (!writer.ok()) return writer.status();
      writer_ = *std::move(writer);
    } else if (!chunk_.array_id().empty() && chunk_.array_id() != array_id_) {
      return InvalidField("array_id", "array_id changes from " + Quoted(array_id_) + " to " +
                                          Quoted(chunk_.array_id()) + " within a stream");
    }
    const std::span<std::byte> remaining = writer_->remaining();
    if (chunk_.data_size() > remaining.size()) {
      return InvalidField("data", "data has " + std::to_string(chunk_.data_size()) + " bytes; the array takes " +
                                      std::to_string(remaining.size()) + " more");
    }
    if (chunk_.data_size() == 0) return absl::OkStatus();
    chunk_.CopyData(remaining);
    writer_->Advance(chunk_.data_size());
    return absl::OkStatus();
  }

  absl::Status Answer() {
    if (!writer_) return InvalidField("array_id", "the stream ended without a message that names an array");
    writer_.reset();
    const absl::StatusOr<core::ArraySnapshot> array = context_.arrays().Describe(who_, array_id_);
    if (!array.ok()) return array.status();
    context_.NoteFreedArrays();  // it may have replaced one
    v1::WriteArrayResponse response;
    wire::ToProto(*array, *response.mutable_array());
    response.set_generation(context_.generation());
    *response_ = ToBytes(response);
    return absl::OkStatus();
  }

  const ServiceContext& context_;
  const core::Engine::Activity activity_;
  const core::Principal who_;
  const std::string peer_;
  const StreamTicket ticket_;
  grpc::ByteBuffer* const response_;
  const std::shared_ptr<StreamEnd> end_;
  grpc::ByteBuffer message_;
  codec::Chunk chunk_;
  std::string array_id_;
  std::unique_ptr<core::ArrayStore::Writer> writer_;
};

class ReadStream final : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  ReadStream(const ServiceContext& context, grpc::CallbackServerContext* call, core::Principal who, StreamTicket ticket,
             core::ArrayStore::Reader reader, std::uint64_t offset, std::uint64_t length)
      : context_(context),
        activity_(context.engine().BeginActivity()),
        ticket_(std::move(ticket)),
        id_(std::move(reader.array.id)),
        buffer_(std::move(reader.buffer)),
        offset_(offset),
        until_(offset + length),
        end_(std::make_shared<StreamEnd>(call, std::move(who), StreamEnd::FromOutside::kCancel,
                                         [this](const absl::Status& status) { Finish(wire::ToGrpc(status)); })) {
    context_.guest_streams().Add(end_);
    // Here, or on another thread when the bytes have come from a device. gRPC keeps this until Finish.
    context_.arrays().Fetch(buffer_, [this](const absl::Status& status) {
      activity_.Moved();
      status.ok() ? Next() : end_->Finish(status);
    });
  }

  void OnWriteDone(bool ok) noexcept override {
    if (!ok) return end_->Finish(absl::CancelledError("the client went away"));
    activity_.Moved();
    Next();
  }

  void OnDone() noexcept override {
    if (offset_ == buffer_->size()) context_.arrays().MarkRead(id_);
    delete this;
  }

 private:
  void Next() {
    if (offset_ == until_) return end_->Finish(absl::OkStatus());
    if (context_.IsOver(end_->who())) return end_->Finish(core::EndedToken(end_->who().token));
    const std::uint64_t length = std::min(std::uint64_t{codec::kChunkBytes}, until_ - offset_);
    try {
      chunk_ = codec::EncodeRead(buffer_, offset_, static_cast<std::size_t>(length));
    } catch (const std::bad_alloc&) {
      return end_->Finish(NoMemory());
    }
    offset_ += length;
    // The last chunk of the owner's takes the status along. A guest's can still be cancelled while it is pending.
    const bool last = offset_ == until_ && end_->who().serial == 0;
    if (last) return StartWriteAndFinish(&chunk_, grpc::WriteOptions(), grpc::Status::OK);
    StartWrite(&chunk_);
  }

  const ServiceContext& context_;
  const core::Engine::Activity activity_;
  const StreamTicket ticket_;
  const core::ArrayId id_;
  const std::shared_ptr<const HostBuffer> buffer_;
  std::uint64_t offset_ = 0;
  const std::uint64_t until_;
  const std::shared_ptr<StreamEnd> end_;
  grpc::ByteBuffer chunk_;
};

absl::StatusOr<ReadStream*> OpenReadStream(const ServiceContext& context, grpc::CallbackServerContext* call,
                                           const core::Principal& who, const v1::ReadArrayRequest& request) {
  absl::StatusOr<core::ArrayStore::Reader> reader = context.arrays().Open(who, request.array_id().substr(0, 129));
  if (!reader.ok()) return reader.status();
  const std::uint64_t size = reader->buffer->size();
  if (request.offset() > size || request.length() > size - request.offset()) {
    return absl::OutOfRangeError(ToAbsl("offset " + std::to_string(request.offset()) + " and length " +
                                        std::to_string(request.length()) + " go beyond the array's " +
                                        std::to_string(size) + " bytes"));
  }
  absl::StatusOr<StreamTicket> ticket = StreamTicket::Take(context, who.session, core::SessionUse::kLooks);
  if (!ticket.ok()) return ticket.status();
  const std::uint64_t length = request.length() == 0 ? size - request.offset() : request.length();
  return new ReadStream(context, call, who, *std::move(ticket), *std::move(reader), request.offset(), length);
}

}  // namespace

grpc::ServerReadReactor<grpc::ByteBuffer>* StartWriteStream(const ServiceContext& context,
                                                            grpc::CallbackServerContext* call,
                                                            grpc::ByteBuffer* response) {
  absl::StatusOr<core::Principal> who = context.Admit(*call, core::Scope::kSubmit, "Arrays.Write");
  if (!who.ok()) return new Refusal<grpc::ServerReadReactor<grpc::ByteBuffer>>(who.status());
  // A daemon that drains runs no job on new data, and may leave with an upload half done; downloads go on.
  if (absl::Status status = context.AcceptsJobs(); !status.ok()) {
    return new Refusal<grpc::ServerReadReactor<grpc::ByteBuffer>>(status);
  }
  absl::StatusOr<StreamTicket> ticket = StreamTicket::Take(context, who->session, core::SessionUse::kHolds);
  if (!ticket.ok()) return new Refusal<grpc::ServerReadReactor<grpc::ByteBuffer>>(ticket.status());
  return new WriteStream(context, call, *std::move(who), PeerFor(context, *call), *std::move(ticket), response);
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* StartReadStream(const ServiceContext& context,
                                                            grpc::CallbackServerContext* call,
                                                            const grpc::ByteBuffer* bytes) {
  using Refused = Refusal<grpc::ServerWriteReactor<grpc::ByteBuffer>>;
  const absl::StatusOr<core::Principal> who = context.Admit(*call, core::Scope::kObserve, "Arrays.Read");
  if (!who.ok()) return new Refused(who.status());
  v1::ReadArrayRequest request;
  if (absl::Status status = Parse(*bytes, request); !status.ok()) return new Refused(status);
  const absl::StatusOr<ReadStream*> stream = OpenReadStream(context, call, *who, request);
  NoteAct(context, "download", *who, PeerFor(context, *call), request.array_id(), "", stream.status());
  if (!stream.ok()) return new Refused(stream.status());
  return *stream;
}

}  // namespace hotplate::server
