// The calls of a bare gRPC client, one connection each, that Hotplate's own are compared with. A call that fails ends
// the program: a comparison with something broken would be worse than none.
#pragma once

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "peer.grpc.pb.h"
#include "tests/bench/peer_record.h"

namespace hotplate::bench {

class PeerCalls {
 public:
  PeerCalls(const PeerRecord& record, bool tls);
  ~PeerCalls();

  void Unary();
  // One packet to and fro on a stream that stays open.
  void PingPong();
  // Messages per second with up to `window` of them on their way.
  double PipelinedPerSecond(int messages, int window);

  // `bytes` messages through protobuf.
  void NaiveUpload(std::span<const char> source);
  void NaiveDownload(std::span<char> destination);
  // Slices over the source's own memory; one copy at the receiver.
  void ZeroCopyUpload(std::span<const char> source);
  void ZeroCopyDownload(std::span<char> destination);

 private:
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<Peer::Stub> stub_;
  grpc::GenericStub generic_;
  Packet packet_;
  std::unique_ptr<grpc::ClientContext> stream_context_;
  std::unique_ptr<grpc::ClientReaderWriter<Packet, Packet>> stream_;
};

}  // namespace hotplate::bench
