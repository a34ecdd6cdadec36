// The engine without a wire: a tiny job from Submit to the end at its observer, one at a time and many at once.
//   bench_engine [JOBS [SPIN_MICROSECONDS]]
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "server/core/engine.h"

namespace {

using namespace hotplate;        // NOLINT: a program of one file
using namespace hotplate::core;  // NOLINT
using std::chrono::steady_clock;

class Counter : public JobObserver {
 public:
  void OnChange(const JobId&, std::uint64_t, const StateChange&, const std::shared_ptr<const JobEnd>& end) override {
    if (end == nullptr) return;
    if (end->state != JobState::kCompleted) {
      std::fprintf(stderr, "a job failed: %s\n", end->error.ToString().c_str());
      std::abort();
    }
    end_time = steady_clock::now().time_since_epoch().count();
    ended.fetch_add(1, std::memory_order_release);
  }
  void OnProgress(const JobId&, std::uint64_t, const JobProgress&) override {}
  void OnNotice(const std::string&, std::optional<double>) override {}

  std::atomic<std::uint64_t> ended{0};
  std::atomic<steady_clock::rep> end_time{0};
};

JobRequest TinyJob(const std::shared_ptr<const HostBuffer>& data) {
  JobRequest request;
  request.kernel = "vector_add";
  request.inputs = {{"a", {DType::kFloat32, {4}}, data}, {"b", {DType::kFloat32, {4}}, data}};
  request.attached = true;
  return request;
}

double Percentile(std::vector<double>& values, double share) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t jobs = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100'000;
  EngineOptions options;
  options.lane_spin = std::chrono::microseconds(argc > 2 ? std::atoi(argv[2]) : 0);
  const Clock clock;
  ArrayStore arrays({.total_bytes = std::uint64_t{1} << 30}, clock);
  DeviceSet devices;
  devices.devices.push_back(OpenCpuDevice({}));
  Engine engine(options, BuiltinCatalog(), std::move(devices), arrays, clock);
  const Principal who{"bench", SessionId("s"), Scope::kSubmit};
  const std::shared_ptr<HostBuffer> data = HostBuffer::Allocate(16);
  std::memset(data->data(), 0, 16);
  const auto observer = std::make_shared<Counter>();
  engine.Subscribe(observer);

  const auto submit = [&] {
    const auto id = engine.Submit(who, TinyJob(data), observer, 0);
    if (!id.ok()) {
      std::fprintf(stderr, "refused: %s\n", id.status().ToString().c_str());
      std::abort();
    }
  };
  std::vector<double> latencies;
  for (std::uint64_t i = 0; i < jobs / 10; ++i) {
    const std::uint64_t before = observer->ended.load();
    const auto start = steady_clock::now();
    submit();
    while (observer->ended.load(std::memory_order_acquire) == before) std::this_thread::yield();
    latencies.push_back(static_cast<double>(observer->end_time.load() - start.time_since_epoch().count()) / 1e3);
    // The lane goes to sleep in between, as it does between the messages of a client.
    const auto pause = steady_clock::now() + std::chrono::microseconds(50);
    while (steady_clock::now() < pause) {
    }
  }
  std::printf("one at a time: p50 %.1f us, p90 %.1f us, p99 %.1f us from Submit to the end\n",
              Percentile(latencies, 0.5), Percentile(latencies, 0.9), Percentile(latencies, 0.99));

  for (const std::uint64_t window : {8, 64, 1024}) {
    const std::uint64_t first = observer->ended.load();
    const auto start = steady_clock::now();
    for (std::uint64_t i = 0; i < jobs; ++i) {
      while (i - (observer->ended.load(std::memory_order_acquire) - first) >= window) std::this_thread::yield();
      submit();
    }
    while (observer->ended.load(std::memory_order_acquire) - first < jobs) std::this_thread::yield();
    const double seconds = std::chrono::duration<double>(steady_clock::now() - start).count();
    std::printf("%4llu in flight: %.0f jobs/s\n", static_cast<unsigned long long>(window),
                static_cast<double>(jobs) / seconds);
  }
  return 0;
}
