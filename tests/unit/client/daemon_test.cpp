// The library and its example against a real daemon.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include <cmath>
#include <cstdlib>
#include <future>
#include <numeric>
#include <thread>

#include "client/lib/client.h"
#include "tests/unit/client/daemon_process.h"

namespace hotplate::client {
namespace {

using testing::DaemonProcess;
using testing::Eventually;
using ::testing::HasSubstr;

class DaemonTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(daemon_.serving()) << daemon_.Log();
    client_ = Client::Connect({.server = "local", .directory = daemon_.directory()});
    ASSERT_TRUE(client_.ok()) << client_.status();
  }
  // A job that takes long on any machine, and is chunked.
  static JobOptions Endless() {
    JobOptions options;
    options.params["resolution"] = std::int64_t{8000};
    options.params["max_iterations"] = std::int64_t{1'000'000};
    return options;
  }
  bool AnyRunning() {
    v1::ListJobsRequest request;
    request.set_active_only(true);
    const auto jobs = client_->Jobs(request);
    return jobs.ok() && !jobs->empty() && jobs->front().state() == v1::RUNNING;
  }

  DaemonProcess daemon_;
  absl::StatusOr<Client> client_ = absl::UnavailableError("not yet");
};

TEST_F(DaemonTest, RunsTheExample) {
  setenv("HOTPLATE_DIR", daemon_.directory().c_str(), 1);
  const int status = std::system(HOTPLATE_BIN_DIR "/hotplate_morning");
  unsetenv("HOTPLATE_DIR");
  EXPECT_EQ(status, 0) << daemon_.Log();
}

TEST_F(DaemonTest, LargeArraysGoThroughAndAreFreed) {
  std::vector<float> x(5'000'000);
  std::iota(x.begin(), x.end(), -2'500'000.0f);
  const auto result = client_->Run("selu", {{"x", View(x, {5'000'000})}});
  ASSERT_TRUE(result.ok()) << result.status();
  const auto y = result->Output<float>("y");
  ASSERT_EQ(y.size(), x.size());
  EXPECT_FLOAT_EQ(y[4'999'999], 1.05f * x[4'999'999]);
  EXPECT_FLOAT_EQ(y[0], -1.05f * 1.67f);
  EXPECT_EQ(result->timings.bytes_up, x.size() * sizeof(float));
  EXPECT_EQ(client_->Arrays()->arrays_size(), 0);
}

TEST_F(DaemonTest, ArraysComeBackAsTheyWentUp) {
  std::vector<std::int64_t> values(3'000'001);
  std::iota(values.begin(), values.end(), 0);
  const auto array = client_->Put(View(values, {3'000'001}), {.name = "A"});
  ASSERT_TRUE(array.ok()) << array.status();
  const auto back = client_->Get("A");
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(std::memcmp(back->buffer->data(), values.data(), values.size() * 8), 0);
  const std::vector<float> nothing;
  const auto empty = client_->Put(View(nothing, {0, 7}), {.name = "E"});
  ASSERT_TRUE(empty.ok()) << empty.status();
  EXPECT_EQ(client_->Get("E")->signature.shape, (Shape{0, 7}));
  EXPECT_TRUE(client_->Free("A").ok());
  EXPECT_EQ(client_->Get("A").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(DaemonTest, APartOfAnArrayIsReadAlone) {
  std::vector<std::int64_t> values(1'000'000);
  std::iota(values.begin(), values.end(), 0);
  ASSERT_TRUE(client_->Put(View(values, {1000, 1000}), {.name = "A"}).ok());
  std::vector<std::int64_t> part(2000);
  std::uint64_t told = 0;
  const auto on_download = [&](std::uint64_t done, std::uint64_t total) {
    told = done;
    EXPECT_EQ(total, 16'000u);
  };
  ASSERT_TRUE(client_->GetRange("A", 24'000, std::as_writable_bytes(std::span(part)), on_download).ok());
  EXPECT_TRUE(std::equal(part.begin(), part.end(), values.begin() + 3000));
  EXPECT_EQ(told, 16'000u);
  EXPECT_TRUE(client_->GetRange("A", 8'000'000, {}).ok()) << "nothing, at its very end";
  const absl::Status beyond = client_->GetRange("A", 8'000'000 - 8, std::as_writable_bytes(std::span(part)));
  EXPECT_EQ(beyond.code(), absl::StatusCode::kOutOfRange) << beyond;
  EXPECT_EQ(client_->GetRange("B", 0, std::as_writable_bytes(std::span(part))).code(), absl::StatusCode::kNotFound);
}

TEST_F(DaemonTest, OutputsLandInTheCallersMemory) {
  for (const std::int64_t count : {4, 1'000'000}) {  // within the answer, and downloaded
    const std::vector<float> x(static_cast<std::size_t>(count), 1.5f);
    std::vector<float> sum(x.size());
    JobOptions options;
    options.destinations["c"] = std::as_writable_bytes(std::span(sum));
    const std::map<std::string, Input> inputs = {{"a", View(x, {count})}, {"b", View(x, {count})}};
    const auto result = client_->Run("vector_add", inputs, options);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(sum, std::vector<float>(x.size(), 3.0f));
    EXPECT_EQ(result->outputs.at("c").signature, (Signature{DType::kFloat32, {count}}));
    EXPECT_EQ(result->outputs.at("c").buffer, nullptr);

    options.destinations["c"] = std::as_writable_bytes(std::span(sum).first(3));
    const absl::Status status = client_->Run("vector_add", inputs, options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), ::testing::AllOf(HasSubstr("output c"), HasSubstr("12")));

    options.destinations = {{"sum", std::as_writable_bytes(std::span(sum))}};
    const absl::Status misspelt = client_->Run("vector_add", inputs, options).status();
    EXPECT_EQ(misspelt.code(), absl::StatusCode::kInvalidArgument) << misspelt;
    EXPECT_THAT(std::string(misspelt.message()), HasSubstr("output sum, which the kernel has not; it has c"));

    options.destinations = {{"c", std::as_writable_bytes(std::span(sum))}};
    options.keep["c"] = {};
    const absl::Status twice = client_->Run("vector_add", inputs, options).status();
    EXPECT_EQ(twice.code(), absl::StatusCode::kInvalidArgument) << twice;
    EXPECT_THAT(std::string(twice.message()), HasSubstr("output c is to be kept"));
  }
}

TEST_F(DaemonTest, ManyThreadsAndFutures) {
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const std::vector<float> a = {float(t)}, b = {float(i)};
        const auto result = client_->Run("vector_add", {{"a", View(a, {1})}, {"b", View(b, {1})}});
        if (result.ok() && result->Output<float>("c")[0] == float(t + i)) ++good;
      }
    });
  }
  const std::vector<float> one = {1};
  std::vector<std::future<absl::StatusOr<JobResult>>> futures;
  for (int i = 0; i < 500; ++i) {
    futures.push_back(client_->RunAsync("vector_add", {{"a", View(one, {1})}, {"b", View(one, {1})}}));
  }
  for (auto& future : futures) {
    const auto result = future.get();
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->Output<float>("c")[0], 2.0f);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 200);
}

TEST_F(DaemonTest, CancellingARunningJob) {
  Cancellation cancellation;
  std::thread canceller([&] {
    EXPECT_TRUE(Eventually([&] { return AnyRunning(); }));
    cancellation.Cancel();
  });
  const absl::Status status = client_->Run("mandelbrot", {}, Endless(), &cancellation).status();
  canceller.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled) << status;
  ASSERT_TRUE(EndOf(status).has_value()) << status;
  EXPECT_EQ(EndOf(status)->state(), v1::CANCELLED);
  // However early it ends: the daemon may have told of the job's end and of nothing before.
  EXPECT_NE(JobIdOf(status), "");
}

TEST_F(DaemonTest, ATimeLimitEndsAJob) {
  JobOptions options = Endless();
  options.time_limit = std::chrono::milliseconds(100);
  const absl::Status status = client_->Run("mandelbrot", {}, options).status();
  ASSERT_TRUE(EndOf(status).has_value()) << status;
  EXPECT_EQ(EndOf(status)->state(), v1::TIMEOUT);
  EXPECT_NE(JobIdOf(status), "");
  const absl::Status executed = client_->Execute("mandelbrot", {}, options).status();
  ASSERT_TRUE(EndOf(executed).has_value()) << executed;
  EXPECT_NE(JobIdOf(executed), "");
  EXPECT_NE(JobIdOf(executed), JobIdOf(status));
}

TEST_F(DaemonTest, ADaemonThatIsKilledIsNoticedAndSaid) {
  // The daemon tells of a job that takes longer after a moment; from then on its id is known.
  std::atomic<bool> told{false};
  JobOptions options = Endless();
  options.on_update = [&](const v1::JobUpdate&) { told = true; };
  std::thread killer([&] {
    EXPECT_TRUE(Eventually([&] { return told.load(); }));
    daemon_.End(SIGKILL);
  });
  const absl::Status status = client_->Run("mandelbrot", {}, options).status();
  killer.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(status.ToString(), HasSubstr("was under way"));
  const absl::Status again = Client::Connect({.server = "local", .directory = daemon_.directory()}).status();
  EXPECT_EQ(again.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(again.ToString(), HasSubstr("is gone"));
}

// Ends that come soon are looked for without sleeping; nobody's processor is to be taken for more than that.
TEST_F(DaemonTest, WhoWaitsForALongJobSleeps) {
  const std::vector<float> one = {1};
  const auto processor_time = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  };
  JobOptions options = Endless();
  options.deadline = std::chrono::seconds(2);
  for (const auto call : {&Client::Run, &Client::Execute}) {
    for (int i = 0; i < 20; ++i)
      ASSERT_TRUE(((*client_).*call)("vector_add", {{"a", View(one, {1})}, {"b", View(one, {1})}}, {}, nullptr).ok());
    const auto before = processor_time();
    const absl::Status status = ((*client_).*call)("mandelbrot", {}, options, nullptr).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
    EXPECT_LT(processor_time() - before, std::chrono::milliseconds(150));
  }
}

TEST_F(DaemonTest, DetachedJobsAreWatchedAndFetchedFromElsewhere) {
  JobOptions options;
  options.params["n"] = std::int64_t{500};
  const auto id = client_->Submit("integrate2d", {}, options);
  ASSERT_TRUE(id.ok()) << id.status();
  auto other = Client::Connect({.server = "local", .directory = daemon_.directory()});
  ASSERT_TRUE(other.ok());
  for (int i = 0; i < 2; ++i) {
    const auto result = other->Wait(*id);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_NEAR(result->Output<double>("value")[0], 0.0, 1e-3);
  }
}

TEST_F(DaemonTest, TheSameRequestIdWithAnotherPayloadIsRefused) {
  const std::vector<float> one = {1}, two = {2};
  JobOptions options;
  options.request_id = "mine";
  const auto run = [&](const std::vector<float>& a) {
    return client_->Run("vector_add", {{"a", View(a, {1})}, {"b", View(one, {1})}}, options);
  };
  const auto first = run(one), again = run(one);
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(first->job_id, again->job_id) << "the job ran once";
  EXPECT_EQ(run(two).status().code(), absl::StatusCode::kAlreadyExists);
}

// Uploads are new arrays each time: what tells two calls apart is what is in them.
TEST_F(DaemonTest, TheSameRequestIdWithLargeInputsFindsItsJob) {
  std::vector<float> x(1'000'000, 1.0f);
  JobOptions options;
  options.request_id = "large";
  options.leave_result = true;
  const auto run = [&] { return client_->Run("selu", {{"x", View(x, {1'000'000})}}, options); };
  auto first = run();
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->timings.bytes_up, 4'000'000u);
  options.on_upload = [](std::uint64_t, std::uint64_t) { ADD_FAILURE() << "inputs of a known job go up again"; };
  const auto again = run();
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(first->job_id, again->job_id) << "the job ran once";
  EXPECT_EQ(again->timings.bytes_up, 0u);
  EXPECT_EQ(again->Output<float>("y")[999'999], 1.05f);
  x[999'999] = 2;
  EXPECT_EQ(run().status().code(), absl::StatusCode::kAlreadyExists) << "one other element";
  x[999'999] = 1;
  options.params["alpha"] = 2.0;
  EXPECT_EQ(run().status().code(), absl::StatusCode::kAlreadyExists) << "another parameter";
  options.params.clear();

  EXPECT_EQ(client_->Arrays()->arrays_size(), 1) << "inputs are freed, the output was left";
  client_->Release(*first);
  EXPECT_EQ(client_->Arrays()->arrays_size(), 0);
  const absl::Status gone = run().status();
  EXPECT_EQ(gone.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(gone.message()), HasSubstr("fetched already"));
  EXPECT_THAT(std::string(gone.message()), HasSubstr(first->job_id));
}

TEST_F(DaemonTest, AResultWhoseDownloadWasBrokenOffIsFetchedLater) {
  const std::vector<float> x(5'000'000, 1.0f);
  Cancellation cancellation;
  JobOptions options;
  options.on_download = [&](std::uint64_t, std::uint64_t) { cancellation.Cancel(); };
  const absl::Status status = client_->Run("selu", {{"x", View(x, {5'000'000})}}, options, &cancellation).status();
  ASSERT_EQ(status.code(), absl::StatusCode::kCancelled) << status;
  const std::string id = JobIdOf(status);
  EXPECT_THAT(std::string(status.message()), HasSubstr("job " + id + " COMPLETED"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("hotplate result " + id));
  for (int i = 0; i < 2; ++i) {
    const auto result = client_->Fetch(id);
    ASSERT_TRUE(result.ok()) << result.status();
    ASSERT_EQ(result->Output<float>("y").size(), x.size());
    EXPECT_EQ(result->Output<float>("y")[4'999'999], 1.05f);
  }
  Cancellation at_once;
  at_once.Cancel();
  EXPECT_EQ(client_->Fetch(id, nullptr, &at_once).status().code(), absl::StatusCode::kCancelled);
}

TEST_F(DaemonTest, ClosingDoesNotWaitForADaemonThatHangs) {
  const std::vector<float> x(300'000, 1.0f);
  std::vector<std::future<absl::StatusOr<JobResult>>> calls;
  for (int i = 0; i < 4; ++i) calls.push_back(client_->RunAsync("mandelbrot", {}, Endless()));
  // Behind those in the queue, each with an array to be freed.
  for (int i = 0; i < 60; ++i) calls.push_back(client_->RunAsync("selu", {{"x", View(x, {300'000})}}));
  ASSERT_TRUE(Eventually([&] { return client_->Jobs()->size() == calls.size(); }));
  kill(daemon_.pid(), SIGSTOP);
  const auto closing = std::async(std::launch::async, [&] { client_ = absl::CancelledError("gone"); });
  EXPECT_EQ(closing.wait_for(std::chrono::seconds(30)), std::future_status::ready) << "not a second for each";
  kill(daemon_.pid(), SIGCONT);
  for (auto& call : calls) EXPECT_EQ(call.get().status().code(), absl::StatusCode::kCancelled);
}

TEST_F(DaemonTest, AnUploadThatIsCancelledLeavesNothing) {
  const std::vector<float> x(20'000'000, 1.0f);
  const ArrayView view = View(x, {20'000'000});
  const auto stopper = [](Cancellation& cancellation) {
    return [&cancellation](std::uint64_t, std::uint64_t) { cancellation.Cancel(); };
  };
  Cancellation put, submit, run;
  const absl::Status of_put =
      client_->Put(view, {.name = "X", .lease = std::chrono::hours(1), .on_upload = stopper(put)}, &put).status();
  EXPECT_EQ(of_put.code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(std::string(of_put.message()), HasSubstr("abandoned and its array freed"));
  EXPECT_EQ(client_->Arrays()->arrays_size(), 0);

  JobOptions options;
  options.on_upload = stopper(submit);
  const absl::Status of_submit = client_->Submit("selu", {{"x", view}}, options, &submit).status();
  EXPECT_EQ(of_submit.code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(std::string(of_submit.message()), HasSubstr("abandoned and freed; no job was submitted"));
  options.on_upload = stopper(run);
  const absl::Status of_run = client_->Run("selu", {{"x", view}}, options, &run).status();
  EXPECT_EQ(of_run.code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(std::string(of_run.message()), HasSubstr("abandoned and freed; no job was submitted"));
  EXPECT_EQ(client_->Arrays()->arrays_size(), 0);
  EXPECT_TRUE(client_->Jobs()->empty());
}

}  // namespace
}  // namespace hotplate::client
