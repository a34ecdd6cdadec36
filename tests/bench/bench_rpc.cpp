// bench_rpc PEER_RECORD TLS_SERVER PLAIN_SERVER ROWS [calls|bulk]: Hotplate's calls, through its client library, beside
// the same work done by a bare gRPC client and server. The daemons are found by name in $HOTPLATE_DIR; all of it is on
// loopback.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "tests/bench/hotplate_calls.h"
#include "tests/bench/paired.h"
#include "tests/bench/peer_calls.h"

namespace hotplate::bench {
namespace {

constexpr int kLatencyRounds = 15;
constexpr int kCallsPerRound = 300;
constexpr int kPipelineRounds = 7;
constexpr int kPipelinedJobs = 20'000;
constexpr int kWindow = 256;  // jobs or messages on their way
constexpr int kCancelRounds = 5;
constexpr int kCancelsPerRound = 10;
constexpr int kBulkRounds = 9;
constexpr std::size_t kBulkBytes = std::size_t{64} << 20;

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

// Points, between -1 and 1.
std::vector<float> Uniform(std::size_t count) {
  std::mt19937 random(20'240'501);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> numbers(count);
  for (float& number : numbers) number = uniform(random);
  return numbers;
}

// A graph whose nodes each have as many edges, to anywhere.
struct Graph {
  static constexpr std::int32_t kNodes = 2'000'000, kEdges = 10;

  Graph() {
    std::mt19937 random(20'240'501);
    for (std::int32_t node = 0; node <= kNodes; ++node) {
      indptr[static_cast<std::size_t>(node)] = node * kEdges;
    }
    for (auto first = indices.begin(); first != indices.end(); first += kEdges) {
      for (auto edge = first; edge != first + kEdges; ++edge) *edge = static_cast<std::int32_t>(random() % kNodes);
      std::sort(first, first + kEdges);
    }
  }

  std::vector<std::int32_t> indices = std::vector<std::int32_t>(std::size_t{kNodes} * kEdges);
  std::vector<std::int32_t> indptr = std::vector<std::int32_t>(std::size_t{kNodes} + 1);
};

// Beside what the kernel's spec promises.
void CompareCancels(client::Client client, std::vector<Row>& rows) {
  constexpr std::int64_t kPoints = 200'000, kCoordinates = 64, kCentroids = 10'000;
  const std::vector<float> points = Uniform(kPoints * kCoordinates);
  const Graph graph;
  struct Long {
    std::string kernel;
    client::JobOptions options;
    std::map<std::string, client::ArrayView> inputs = {};
  };
  const Long long_jobs[] = {
      {"integrate2d", {.params = {{"n", std::int64_t{10'000'000}}}}},
      {"kmeans",
       {.params = {{"tolerance", 0.0}}},
       {{"points", client::View(points, {kPoints, kCoordinates})},
        {"initial", client::View(std::span(points).first(kCentroids * kCoordinates), {kCentroids, kCoordinates})}}},
      {"mandelbrot",
       {.params = {{"resolution", std::int64_t{4096}},
                   {"max_iterations", std::int64_t{1'000'000}},
                   {"x_min", -0.1},
                   {"x_max", 0.1},
                   {"y_min", -0.1},
                   {"y_max", 0.1}}}},
      {"pagerank",
       {.params = {{"tolerance", 0.0}, {"max_iterations", std::int64_t{1'000'000}}}},
       {{"indices", client::View(graph.indices, {Graph::kNodes * Graph::kEdges})},
        {"indptr", client::View(graph.indptr, {Graph::kNodes + 1})}}},
  };
  for (const auto& [kernel, options, inputs] : long_jobs) {
    LongJob job(client, kernel, options, inputs);
    rows.push_back(Compare(
        "cancel of a running " + kernel + ", asked to ended, slowest of " + std::to_string(kCancelsPerRound), "ms",
        kCancelRounds, [&] { return job.SlowestCancel(kCancelsPerRound); }, "kernel's promise",
        [&] { return job.promised(); }, ItselfAtMost(job.promised())));
  }
}

void CompareBulk(client::Client client, PeerCalls& peer, const std::string& how, std::vector<Row>& rows, bool naive) {
  Bulk bulk(client, kBulkBytes);
  rows.push_back(Compare(
      "upload of 64 MiB, " + how, "GB/s", kBulkRounds, [&] { return bulk.Upload(); }, "zero-copy stream",
      [&] { return bulk.Rate([&] { peer.ZeroCopyUpload(bulk.source()); }); }, AtLeast(0.95)));
  rows.push_back(Compare(
      "download of 64 MiB, " + how, "GB/s", kBulkRounds, [&] { return bulk.Download(); }, "zero-copy stream",
      [&] { return bulk.Rate([&] { peer.ZeroCopyDownload(bulk.destination()); }); }, AtLeast(0.95)));
  if (!naive) return;
  rows.push_back(Compare(
      "upload of 64 MiB, " + how, "GB/s", kBulkRounds, [&] { return bulk.Upload(); }, "bytes messages",
      [&] { return bulk.Rate([&] { peer.NaiveUpload(bulk.source()); }); }, AtLeast(1.4)));
  rows.push_back(Compare(
      "download of 64 MiB, " + how, "GB/s", kBulkRounds, [&] { return bulk.Download(); }, "bytes messages",
      [&] { return bulk.Rate([&] { peer.NaiveDownload(bulk.destination()); }); }, AtLeast(1.4)));
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
    CompareCancels(Connect(argv[2]), rows);
  }
  if (only != "calls") {
    CompareBulk(Connect(argv[2]), tls, "TLS", rows, /*naive=*/false);
    CompareBulk(Connect(argv[3]), plain, "plain", rows, /*naive=*/true);
  }
  return WriteRows(argv[4], rows) ? 0 : 1;
}
