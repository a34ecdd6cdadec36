// The tasks of a sweep a second, beside the same daemon's single jobs: tests/bench/sweeps.py.
//   bench_sweeps SERVER ROWS     a daemon's name in $HOTPLATE_DIR; writes the rows as JSON
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/bench/hotplate_calls.h"
#include "tests/bench/paired.h"

namespace hotplate::bench {
namespace {

constexpr int kRounds = 11, kTasks = 10'000, kWindow = 64;

// selu of 4 float32, each time with another factor: about the smallest job that has a parameter. Submitted, so that it
// is in the journal, until its end is told.
double TasksPerSecond(client::Client& client, int tasks) {
  const std::vector<float> elements = {-1, 2, -3, 4};
  client::JobOptions options;
  v1::SweepAxis& axis = *options.sweep.emplace().add_axes();
  axis.set_name("alpha");
  axis.mutable_range()->mutable_first()->set_float_value(1);
  axis.mutable_range()->mutable_step()->set_float_value(0.001);
  axis.mutable_range()->set_count(static_cast<std::uint64_t>(tasks));
  const auto begin = std::chrono::steady_clock::now();
  const auto id = client.Submit("selu", {{"x", client::View(elements, {4})}}, options);
  const auto end = id.ok() ? client.Watch(*id, nullptr) : absl::StatusOr<v1::JobEnd>(id.status());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  if (!end.ok() || end->sweep().counts().completed() != static_cast<std::uint64_t>(tasks)) {
    std::fprintf(stderr, "bench_sweeps: %s\n", end.ok() ? end->DebugString().c_str() : end.status().ToString().c_str());
    std::exit(1);
  }
  if (!client.Fetch(*id).ok()) std::exit(1);  // or the daemon would keep them all
  return tasks / took.count();
}

}  // namespace
}  // namespace hotplate::bench

int main(int argc, char** argv) {
  using namespace hotplate::bench;
  if (argc != 3) {
    std::fprintf(stderr, "usage: bench_sweeps SERVER ROWS\n");
    return 2;
  }
  hotplate::client::Client client = Connect(argv[1]);
  SmallestJob single(client);
  std::vector<Row> rows;
  rows.push_back(Compare(
      "10 000 tiny tasks of a submitted sweep", "tasks/s", kRounds, [&] { return TasksPerSecond(client, kTasks); },
      "pipelined smallest jobs, the same daemon with its journal",
      [&] { return single.PipelinedPerSecond(kTasks, kWindow); }, AtLeast(0.5)));
  rows.push_back(Compare(
      "100 000 tiny tasks of a submitted sweep", "tasks/s", 3, [&] { return TasksPerSecond(client, 10 * kTasks); },
      "pipelined smallest jobs, the same daemon with its journal",
      [&] { return single.PipelinedPerSecond(kTasks, kWindow); }, AtLeast(0.5)));
  return WriteRows(argv[2], rows) ? 0 : 1;
}
