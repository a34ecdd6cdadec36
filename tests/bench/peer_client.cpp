// bench_peer_client --version | RECORD: the smallest client that links gRPC. With a record it makes one unary call over
// TLS: what a one-shot command costs at least.
#include <grpcpp/grpcpp.h>

#include <cstdio>
#include <cstring>

#include "peer.grpc.pb.h"
#include "tests/bench/peer_channel.h"

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--version") == 0) {
    std::printf("bench_peer_client with gRPC %s\n", grpc::Version().c_str());
    return 0;
  }
  if (argc != 2) {
    std::fprintf(stderr, "usage: bench_peer_client --version | RECORD\n");
    return 2;
  }
  const auto record = hotplate::bench::ReadPeerRecord(argv[1]);
  if (!record) return 1;
  const auto stub = hotplate::bench::Peer::NewStub(hotplate::bench::PeerChannel(*record, /*tls=*/true));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
  hotplate::bench::Packet request, response;
  request.set_data("hello");
  const grpc::Status status = stub->Echo(&context, request, &response);
  if (!status.ok()) std::fprintf(stderr, "bench_peer_client: %s\n", status.error_message().c_str());
  return status.ok() ? 0 : 1;
}
