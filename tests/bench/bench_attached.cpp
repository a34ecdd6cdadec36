// Attached calls of a daemon that keeps a journal, beside one that keeps none: tests/bench/journal.py.
//   bench_attached WITH WITHOUT ROWS     names of daemons in $HOTPLATE_DIR; writes the rows as JSON
#include <cstdio>
#include <string>
#include <vector>

#include "tests/bench/hotplate_calls.h"
#include "tests/bench/paired.h"

namespace hotplate::bench {
namespace {

constexpr int kRounds = 21, kCalls = 2000, kPipelined = 20'000, kWindow = 64;

std::vector<Row> CompareAttached(SmallestJob& with, SmallestJob& without) {
  const std::string peer = "no journal";
  std::vector<Row> rows;
  rows.push_back(Compare(
      "smallest call on the stream, with a journal", "us", kRounds,
      [&] { return MicrosecondsOf(kCalls, [&] { with.OnTheStream(); }); }, peer,
      [&] { return MicrosecondsOf(kCalls, [&] { without.OnTheStream(); }); }, AtMost(1.03)));
  rows.push_back(Compare(
      "smallest unary call, with a journal", "us", kRounds,
      [&] { return MicrosecondsOf(kCalls, [&] { with.AsUnary(); }); }, peer,
      [&] { return MicrosecondsOf(kCalls, [&] { without.AsUnary(); }); }, AtMost(1.03)));
  rows.push_back(Compare(
      "pipelined smallest jobs, with a journal", "jobs/s", kRounds,
      [&] { return with.PipelinedPerSecond(kPipelined, kWindow); }, peer,
      [&] { return without.PipelinedPerSecond(kPipelined, kWindow); }, AtLeast(1 / 1.03)));
  return rows;
}

}  // namespace
}  // namespace hotplate::bench

int main(int argc, char** argv) {
  using namespace hotplate::bench;
  if (argc != 4) {
    std::fprintf(stderr, "usage: bench_attached WITH WITHOUT ROWS\n");
    return 2;
  }
  hotplate::client::Client with_client = Connect(argv[1]), without_client = Connect(argv[2]);
  SmallestJob with(with_client), without(without_client);
  return WriteRows(argv[3], CompareAttached(with, without)) ? 0 : 1;
}
