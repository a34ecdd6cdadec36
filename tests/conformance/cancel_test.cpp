// Chunked kernels show progress and stop when they are asked to; so does a task that was cancelled before it began.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "tests/conformance/backends.h"
#include "tests/conformance/launch.h"
#include "tests/conformance/on_backend.h"
#include "tests/conformance/sparse.h"

namespace hotplate::conformance {
namespace {

using std::chrono::steady_clock;

// Far more than any machine should need; how long it took is recorded, not asserted.
constexpr auto kPatience = std::chrono::seconds(60);

// Would take hours.
std::map<std::string, Case>& LongCases() {
  static std::map<std::string, Case>& cases = *new std::map<std::string, Case>;
  if (cases.empty()) {
    const auto none = [](std::mt19937_64&) { return std::map<std::string, TestArray>{}; };
    cases["integrate2d"] = {.name = "long", .params = {{"n", std::int64_t{16'777'216}}}, .inputs = none};
    cases["mandelbrot"] = {.name = "long",
                           .params = {{"resolution", std::int64_t{4096}},
                                      {"max_iterations", std::int64_t{1'000'000}},
                                      {"x_min", -0.1},
                                      {"x_max", 0.1},
                                      {"y_min", -0.1},
                                      {"y_max", 0.1}},
                           .inputs = none};
    cases["kmeans"] = {
        .name = "long", .params = {{"tolerance", 0.0}}, .inputs = [](std::mt19937_64& random) {
          TestArray points({DType::kFloat32, {20'000, 64}}), initial({DType::kFloat32, {10'000, 64}});
          FillUniform(points, -1, 1, random);
          FillUniform(initial, -1, 1, random);
          return std::map<std::string, TestArray>{{"points", std::move(points)}, {"initial", std::move(initial)}};
        }};
    cases["pagerank"] = {.name = "long",
                         .params = {{"tolerance", 0.0}, {"max_iterations", std::int64_t{1'000'000'000}}},
                         .inputs = [](std::mt19937_64&) {
                           return PatternArrays(Pattern(2000, {7, 1000, 1999}), DType::kInt32);
                         }};
  }
  return cases;
}

using Chunked = std::pair<std::string, std::string>;  // a kernel, and a back-end

std::vector<Chunked> ChunkedKernels() {
  std::vector<Chunked> all;
  for (const SharedSpec& spec : BuiltinCatalog().specs()) {
    if (spec->cancel_class() != CancelClass::kChunked) continue;
    for (const std::string& backend : BackendsOf(spec->name())) all.emplace_back(spec->name(), backend);
  }
  return all;
}

class Cancellation : public OnBackend<Chunked, &Chunked::second> {
 protected:
  void SetUp() override {
    OnBackend::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    ASSERT_TRUE(LongCases().contains(GetParam().first)) << "no long case for " << GetParam().first;
    const absl::StatusOr<Launch> launch = Prepare(GetParam().first, LongCases().at(GetParam().first), device());
    ASSERT_TRUE(launch.ok()) << launch.status();
    launch_ = *launch;
  }

  Launch launch_;
};

TEST_P(Cancellation, StopsARunningTask) {
  TaskControl control;
  std::future<Report> running = std::async(std::launch::async, [&] {
    const std::unique_ptr<Lane> own = device().OpenLane().value();  // on the thread that runs it
    return launch_.Run(*own, control);
  });
  const steady_clock::time_point start = steady_clock::now();
  while (control.progress() == 0 && steady_clock::now() - start < kPatience) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_GT(control.progress(), 0);
  control.RequestCancel();
  const steady_clock::time_point asked = steady_clock::now();
  ASSERT_EQ(running.wait_for(kPatience), std::future_status::ready) << "not cancelled";
  const Report report = running.get();
  RecordProperty("cancelled_after_ms",
                 std::to_string(std::chrono::duration<double, std::milli>(steady_clock::now() - asked).count()));
  EXPECT_EQ(report.outcome.code(), HOTPLATE_CANCELLED) << report.outcome.message();
  EXPECT_LT(control.progress(), 1);
}

TEST_P(Cancellation, DoesNotBeginACancelledTask) {
  TaskControl control;
  control.RequestCancel();
  const Report report = launch_.Run(lane(), control);
  EXPECT_EQ(report.outcome.code(), HOTPLATE_CANCELLED) << report.outcome.message();
}

INSTANTIATE_TEST_SUITE_P(All, Cancellation, testing::ValuesIn(ChunkedKernels()),
                         [](const auto& one) { return one.param.first + "_" + one.param.second; });

// One point that needs every one of its 2^31 iterations: the flag must be seen inside it too.
TEST(CancellationWithinOnePoint, Mandelbrot) {
  Device& device = *BackendNamed("cpu").device;
  Case one = LongCases().at("mandelbrot");
  one.params["resolution"] = std::int64_t{1};
  one.params["max_iterations"] = std::int64_t{2'147'483'647};
  absl::StatusOr<Launch> launch = Prepare("mandelbrot", one, device);
  ASSERT_TRUE(launch.ok()) << launch.status();
  TaskControl control;
  std::future<Report> running = std::async(std::launch::async, [&] {
    const std::unique_ptr<Lane> lane = device.OpenLane().value();
    return launch->Run(*lane, control);
  });
  control.RequestCancel();
  ASSERT_EQ(running.wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(running.get().outcome.code(), HOTPLATE_CANCELLED);
}

// A product of a matrix by its own transpose is made in two steps, of which the second heeds a cancel. Whenever it
// comes: the task says that it was cancelled, or its result is whole.
TEST(CancellationBetweenTwoSteps, Matmul) {
  Device& device = *BackendNamed("cpu").device;
  constexpr std::int64_t kSide = 1500;
  const Case one{.name = "by_its_transpose",
                 .params = {{"transpose_b", true}},
                 .inputs =
                     [](std::mt19937_64& random) {
                       TestArray a({DType::kFloat64, {kSide, kSide}});
                       FillUniform(a, -1, 1, random);
                       return std::map<std::string, TestArray>{{"a", std::move(a)}};
                     },
                 .same_as = {{"b", "a"}}};
  const absl::StatusOr<Launch> launch = Prepare("matmul", one, device);
  ASSERT_TRUE(launch.ok()) << launch.status();
  const std::unique_ptr<Lane> lane = device.OpenLane().value();
  Launch whole = launch->Again();
  TaskControl never;
  ASSERT_TRUE(whole.Run(*lane, never).outcome.ok());
  constexpr std::chrono::microseconds kFirst(500);
  auto delay = kFirst;
  int cancelled = 0;
  bool done = false;  // before the cancel came
  for (int round = 0; round < 1000 && !(done && cancelled > 0); ++round) {
    Launch next = launch->Again();
    TaskControl control;
    std::atomic<bool> ended{false};
    std::thread canceller([&] {
      std::this_thread::sleep_for(delay);
      done = ended;
      control.RequestCancel();
    });
    const Report report = next.Run(*lane, control);
    ended = true;
    canceller.join();
    if (report.outcome.ok()) {
      EXPECT_EQ(FirstDifference(next, whole), "") << "incomplete, though nothing said that it was cancelled";
    } else {
      EXPECT_EQ(report.outcome.code(), HOTPLATE_CANCELLED) << report.outcome.message();
      ++cancelled;
    }
    delay = done ? kFirst : 2 * delay;
  }
  EXPECT_GT(cancelled, 0) << "it was never cancelled in time";
}

}  // namespace
}  // namespace hotplate::conformance
