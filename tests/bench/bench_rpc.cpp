// bench_rpc PEER_RECORD TLS_SERVER PLAIN_SERVER ROWS [calls|bulk]: Hotplate's calls, through its client library, beside
// the same work done by a bare gRPC client and server. The daemons are found by name in $HOTPLATE_DIR; all of it is on
// loopback.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <semaphore>
#include <string>
#include <vector>

#include "client/lib/client.h"
#include "tests/bench/paired.h"
#include "tests/bench/peer_calls.h"

namespace hotplate::bench {
namespace {

constexpr int kLatencyRounds = 15;
constexpr int kCallsPerRound = 300;
constexpr int kPipelineRounds = 7;
constexpr int kPipelinedJobs = 20'000;
constexpr int kWindow = 256;  // jobs or messages on their way
constexpr int kBulkRounds = 9;
constexpr std::size_t kBulkBytes = std::size_t{64} << 20;

template <typename T>
T Must(absl::StatusOr<T> result, const char* what) {
  if (!result.ok()) {
    std::fprintf(stderr, "bench_rpc: %s: %s\n", what, result.status().ToString().c_str());
    std::exit(1);
  }
  return *std::move(result);
}

// The smallest job there is: vector_add of 4 float32, inline, receipt on.
class SmallestJob {
 public:
  explicit SmallestJob(client::Client& client) : client_(client) {
    const v1::KernelSpec spec = Must(client.Describe("vector_add"), "describe vector_add");
    for (const v1::ArgumentSpec& input : spec.inputs()) inputs_.emplace(input.name(), client::View(elements_, {4}));
    output_ = spec.outputs(0).name();
  }

  void OnTheStream() { Check(client_.Run("vector_add", inputs_)); }
  void AsUnary() { Check(client_.Execute("vector_add", inputs_)); }

  double PipelinedPerSecond(int jobs, int window) {
    std::counting_semaphore<> room(window);
    const double seconds = SecondsOf([&] {
      for (int i = 0; i < jobs; ++i) {
        room.acquire();
        client_.RunAsync("vector_add", inputs_, {}, [&](const absl::StatusOr<client::JobResult>& result) {
          Check(result);
          room.release();
        });
      }
      for (int i = 0; i < window; ++i) room.acquire();
    });
    return jobs / seconds;
  }

 private:
  void Check(const absl::StatusOr<client::JobResult>& result) {
    if (result.ok() && result->Output<float>(output_).size() == 4 && result->Output<float>(output_)[3] == 8.0F) return;
    std::fprintf(stderr, "bench_rpc: a job went wrong: %s\n", result.status().ToString().c_str());
    std::exit(1);
  }

  client::Client& client_;
  const std::vector<float> elements_ = {1, 2, 3, 4};
  std::map<std::string, client::Input> inputs_;
  std::string output_;
};

class Bulk {
 public:
  explicit Bulk(client::Client& client) : client_(client), up_(kBulkBytes / sizeof(float), 1.0F), down_(up_.size()) {
    kept_ = Must(client_.Put(client::View(up_, {static_cast<std::int64_t>(up_.size())})), "put").id();
  }
  ~Bulk() { (void)client_.Free(kept_); }

  // GB/s, each way. Freeing is not part of an upload's time.
  double Upload() {
    std::string id;
    const double rate =
        Rate([&] { id = Must(client_.Put(client::View(up_, {static_cast<std::int64_t>(up_.size())})), "put").id(); });
    (void)client_.Free(id);
    return rate;
  }
  double Download() {
    return Rate([&] {
      const absl::Status got = client_.GetInto(kept_, std::as_writable_bytes(std::span(down_)));
      if (got.ok()) return;
      std::fprintf(stderr, "bench_rpc: get: %s\n", got.ToString().c_str());
      std::exit(1);
    });
  }

  std::span<const char> source() const { return {reinterpret_cast<const char*>(up_.data()), kBulkBytes}; }
  std::span<char> destination() { return {reinterpret_cast<char*>(down_.data()), kBulkBytes}; }

  static double Rate(const std::function<void()>& transfer) { return kBulkBytes / SecondsOf(transfer) / 1e9; }

 private:
  client::Client& client_;
  std::vector<float> up_, down_;
  std::string kept_;
};

client::Client Connect(const char* server) {
  client::ConnectOptions options;
  options.server = server;
  return Must(client::Client::Connect(options), server);
}

void CompareJobs(client::Client client, PeerCalls& peer, const std::string& how, std::vector<Row>& rows) {
  SmallestJob job(client);
  rows.push_back(Compare(
      "smallest job on an open Run stream, p50, " + how, "us", kLatencyRounds,
      [&] { return MicrosecondsOf(kCallsPerRound, [&] { job.OnTheStream(); }); }, "bidi ping-pong",
      [&] { return MicrosecondsOf(kCallsPerRound, [&] { peer.PingPong(); }); }, AtMost(1.25)));
  rows.push_back(Compare(
      "smallest job as Execute, p50, " + how, "us", kLatencyRounds,
      [&] { return MicrosecondsOf(kCallsPerRound, [&] { job.AsUnary(); }); }, "unary",
      [&] { return MicrosecondsOf(kCallsPerRound, [&] { peer.Unary(); }); }, AtMost(1.25)));
  rows.push_back(Compare(
      "smallest job, pipelined, " + how, "jobs/s", kPipelineRounds,
      [&] { return job.PipelinedPerSecond(kPipelinedJobs, kWindow); }, "pipelined messages",
      [&] { return peer.PipelinedPerSecond(kPipelinedJobs, kWindow); }, AtLeast(0.5)));
}

void CompareBulk(client::Client client, PeerCalls& peer, const std::string& how, std::vector<Row>& rows, bool naive) {
  Bulk bulk(client);
  rows.push_back(Compare(
      "upload of 64 MiB, " + how, "GB/s", kBulkRounds, [&] { return bulk.Upload(); }, "zero-copy stream",
      [&] { return Bulk::Rate([&] { peer.ZeroCopyUpload(bulk.source()); }); }, AtLeast(0.95)));
  rows.push_back(Compare(
      "download of 64 MiB, " + how, "GB/s", kBulkRounds, [&] { return bulk.Download(); }, "zero-copy stream",
      [&] { return Bulk::Rate([&] { peer.ZeroCopyDownload(bulk.destination()); }); }, AtLeast(0.95)));
  if (!naive) return;
  rows.push_back(Compare(
      "upload of 64 MiB, " + how, "GB/s", kBulkRounds, [&] { return bulk.Upload(); }, "bytes messages",
      [&] { return Bulk::Rate([&] { peer.NaiveUpload(bulk.source()); }); }, AtLeast(1.4)));
  rows.push_back(Compare(
      "download of 64 MiB, " + how, "GB/s", kBulkRounds, [&] { return bulk.Download(); }, "bytes messages",
      [&] { return Bulk::Rate([&] { peer.NaiveDownload(bulk.destination()); }); }, AtLeast(1.4)));
}

}  // namespace
}  // namespace hotplate::bench

int main(int argc, char** argv) {
  using namespace hotplate::bench;
  const std::string only = argc == 6 ? argv[5] : "";
  if (argc < 5 || argc > 6 || (argc == 6 && only != "calls" && only != "bulk")) {
    std::fprintf(stderr, "usage: bench_rpc PEER_RECORD TLS_SERVER PLAIN_SERVER ROWS [calls|bulk]\n");
    return 2;
  }
  const auto record = ReadPeerRecord(argv[1]);
  if (!record) {
    std::fprintf(stderr, "bench_rpc: no bare server's record at %s\n", argv[1]);
    return 1;
  }
  PeerCalls tls(*record, true), plain(*record, false);
  std::vector<Row> rows;
  if (only != "bulk") {
    CompareJobs(Connect(argv[2]), tls, "TLS", rows);
    CompareJobs(Connect(argv[3]), plain, "plain", rows);
  }
  if (only != "calls") {
    CompareBulk(Connect(argv[2]), tls, "TLS", rows, /*naive=*/false);
    CompareBulk(Connect(argv[3]), plain, "plain", rows, /*naive=*/true);
  }
  return WriteRows(argv[4], rows) ? 0 : 1;
}
