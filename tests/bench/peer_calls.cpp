#include "tests/bench/peer_calls.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <semaphore>
#include <thread>
#include <vector>

#include "tests/bench/paired.h"
#include "tests/bench/peer_channel.h"

namespace hotplate::bench {
namespace {

void Must(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "bench: the bare peer failed: %s\n", what);
  std::exit(1);
}

// Waits for the one operation that is under way on the queue.
bool Done(grpc::CompletionQueue& queue) {
  void* tag = nullptr;
  bool ok = false;
  return queue.Next(&tag, &ok) && ok;
}

class GenericCall {
 public:
  GenericCall(grpc::GenericStub& stub, const std::string& method, std::size_t upload_bytes) {
    if (upload_bytes > 0) context_.AddMetadata(kUploadBytesKey, std::to_string(upload_bytes));
    call_ = stub.PrepareCall(&context_, "/hotplate.bench.Peer/" + method, &queue_);
    call_->StartCall(this);
    Must(Done(queue_), "start of a call");
  }
  ~GenericCall() {
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
    }
  }
  bool Write(const grpc::ByteBuffer& message) {
    call_->Write(message, this);
    return Done(queue_);
  }
  void WritesDone() {
    call_->WritesDone(this);
    Must(Done(queue_), "end of the writes");
  }
  bool Read(grpc::ByteBuffer& message) {
    call_->Read(&message, this);
    return Done(queue_);
  }
  bool Finish() {
    grpc::Status status;
    call_->Finish(&status, this);
    return Done(queue_) && status.ok();
  }

 private:
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
};

}  // namespace

PeerCalls::PeerCalls(const PeerRecord& record, bool tls)
    : channel_(PeerChannel(record, tls)), stub_(Peer::NewStub(channel_)), generic_(channel_) {
  packet_.set_data(std::string(64, 'x'));
}

PeerCalls::~PeerCalls() {
  if (!stream_) return;
  stream_->WritesDone();
  stream_->Finish();
}

void PeerCalls::Unary() {
  grpc::ClientContext context;
  Packet answer;
  Must(stub_->Echo(&context, packet_, &answer).ok() && answer.data().size() == packet_.data().size(), "unary");
}

void PeerCalls::PingPong() {
  if (!stream_) {
    stream_context_ = std::make_unique<grpc::ClientContext>();
    stream_ = stub_->Stream(stream_context_.get());
  }
  Packet answer;
  Must(stream_->Write(packet_) && stream_->Read(&answer), "ping-pong");
}

double PeerCalls::PipelinedPerSecond(int messages, int window) {
  grpc::ClientContext context;
  const auto stream = stub_->Stream(&context);
  std::counting_semaphore<> room(window);
  const double seconds = SecondsOf([&] {
    std::thread writer([&] {
      for (int i = 0; i < messages; ++i) {
        room.acquire();
        Must(stream->Write(packet_), "pipelined write");
      }
      stream->WritesDone();
    });
    Packet answer;
    for (int i = 0; i < messages; ++i) {
      Must(stream->Read(&answer), "pipelined read");
      room.release();
    }
    writer.join();
  });
  Must(stream->Finish().ok(), "pipelined");
  return messages / seconds;
}

void PeerCalls::NaiveUpload(std::span<const char> source) {
  grpc::ClientContext context;
  context.AddMetadata(kUploadBytesKey, std::to_string(source.size()));
  Packet answer, chunk;
  const auto writer = stub_->Upload(&context, &answer);
  for (std::size_t offset = 0; offset < source.size(); offset += kChunkBytes) {
    const auto part = source.subspan(offset, std::min(kChunkBytes, source.size() - offset));
    chunk.set_data(part.data(), part.size());
    Must(writer->Write(chunk), "naive upload");
  }
  writer->WritesDone();
  Must(writer->Finish().ok(), "naive upload");
}

void PeerCalls::NaiveDownload(std::span<char> destination) {
  grpc::ClientContext context;
  Amount amount;
  amount.set_bytes(destination.size());
  const auto reader = stub_->Download(&context, amount);
  Packet chunk;
  std::size_t filled = 0;
  while (reader->Read(&chunk)) {
    Must(chunk.data().size() <= destination.size() - filled, "naive download: too much");
    std::memcpy(destination.data() + filled, chunk.data().data(), chunk.data().size());
    filled += chunk.data().size();
  }
  Must(reader->Finish().ok() && filled == destination.size(), "naive download");
}

void PeerCalls::ZeroCopyUpload(std::span<const char> source) {
  GenericCall call(generic_, "UploadSlices", source.size());
  for (std::size_t offset = 0; offset < source.size(); offset += kChunkBytes) {
    const auto part = source.subspan(offset, std::min(kChunkBytes, source.size() - offset));
    const grpc::Slice slice(part.data(), part.size(), grpc::Slice::STATIC_SLICE);
    Must(call.Write(grpc::ByteBuffer(&slice, 1)), "zero-copy upload");
  }
  call.WritesDone();
  grpc::ByteBuffer answer;
  Must(call.Read(answer) && call.Finish(), "zero-copy upload");
}

void PeerCalls::ZeroCopyDownload(std::span<char> destination) {
  GenericCall call(generic_, "DownloadSlices", 0);
  Amount amount;
  amount.set_bytes(destination.size());
  const grpc::Slice request(amount.SerializeAsString());
  Must(call.Write(grpc::ByteBuffer(&request, 1)), "zero-copy download");
  call.WritesDone();
  std::size_t filled = 0;
  grpc::ByteBuffer chunk;
  std::vector<grpc::Slice> slices;
  while (call.Read(chunk)) {
    Must(chunk.Dump(&slices).ok(), "zero-copy download");
    for (const grpc::Slice& slice : slices) {
      Must(slice.size() <= destination.size() - filled, "zero-copy download: too much");
      std::memcpy(destination.data() + filled, slice.begin(), slice.size());
      filled += slice.size();
    }
  }
  Must(call.Finish() && filled == destination.size(), "zero-copy download");
}

}  // namespace hotplate::bench
