// Jobs over the shared stream and by single calls, against a daemon that breaks on demand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <thread>

#include "client/lib/client.h"
#include "tests/unit/client/fake_daemon.h"

namespace hotplate::client {
namespace {

using ::testing::ElementsAre;
using testing::Eventually;
using testing::FakeDaemon;
using ::testing::HasSubstr;
using testing::Ramp;

class JobsTest : public ::testing::Test {
 protected:
  JobsTest() : client_(Client::Connect({.server = "fake", .directory = daemon_.directory()})) {}
  void SetUp() override { ASSERT_TRUE(client_.ok()) << client_.status(); }

  std::map<std::string, Input> Small() { return {{"x", View(small_, {4})}}; }
  std::map<std::string, Input> Large() { return {{"x", View(large_, {3'000'000})}}; }
  void ExpectSmall(const absl::StatusOr<JobResult>& result) {
    ASSERT_TRUE(result.ok()) << result.status();
    const auto x = result->Output<float>("x");
    EXPECT_TRUE(std::equal(x.begin(), x.end(), small_.begin(), small_.end()));
  }

  // Threads that `call` many times with values of their own, and count the answers that have them.
  template <typename Call>
  static std::vector<std::thread> EachWithItsOwn(int threads, int jobs, std::atomic<int>& good, Call call) {
    std::vector<std::thread> started;
    for (int t = 0; t < threads; ++t) {
      started.emplace_back([=, &good] {
        for (int i = 0; i < jobs; ++i) {
          const std::vector<float> mine = {static_cast<float>(t), static_cast<float>(i)};
          const auto result = call(std::map<std::string, Input>{{"x", View(mine, {2})}});
          if (result.ok() && std::ranges::equal(result->template Output<float>("x"), mine)) ++good;
        }
      });
    }
    return started;
  }

  const std::vector<float> small_ = Ramp(4), large_ = Ramp(3'000'000);
  FakeDaemon daemon_;
  absl::StatusOr<Client> client_;
};

TEST_F(JobsTest, ASmallJobRidesOnTheStream) {
  for (int i = 0; i < 3; ++i) ExpectSmall(client_->Run("echo", Small()));
  EXPECT_EQ(daemon_.streams, 1);
  EXPECT_EQ(daemon_.checks, 0);
  EXPECT_EQ(daemon_.writes, 0);
  EXPECT_EQ(daemon_.request_ids().size(), 3u) << "each job has a request_id of its own";
}

TEST_F(JobsTest, AnInputMayBeEmpty) {
  const std::vector<float> nothing;
  const auto result = client_->Run("echo", {{"x", View(nothing, {0})}});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->outputs.at("x").signature.shape, (Shape{0}));
}

TEST_F(JobsTest, WhatCannotBeSentIsRefusedByNameAndNothingBreaks) {
  const auto expect = [&](const std::string& kernel, const std::map<std::string, Input>& inputs,
                          const JobOptions& options, const std::string& words) {
    for (const absl::Status& status :
         {client_->Run(kernel, inputs, options).status(), client_->Execute(kernel, inputs, options).status(),
          client_->Submit(kernel, inputs, options).status(), client_->Check(kernel, inputs, options).status(),
          client_->RunAsync(kernel, inputs, options).get().status()}) {
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
      EXPECT_THAT(status.ToString(), HasSubstr(words));
    }
  };
  expect("a\xff", {}, {}, "the kernel's name is \"a\\xff\", which is not UTF-8");
  expect("echo", {{"x", PathRef{"/tmp/\xff.npy"}}}, {}, "the path of input x is \"/tmp/\\xff.npy\"");
  expect("echo", {{"x", ArrayRef{"\xc3"}}}, {}, "input x is");
  expect("echo", Small(), {.params = {{"mode", std::string("\xff")}}}, "parameter mode is");
  expect("echo", Small(), {.request_id = "\xff"}, "the request id is");
  expect("echo", {{"x", View(small_, {-4})}}, {}, "input x: [-4] is not a shape");
  expect("echo", {{"x", View(small_, {2, 1})}}, {}, "input x: 16 bytes were given for float32 [2, 1], which has 8");
  ArrayView strange = View(small_, {4});
  strange.signature.dtype = static_cast<DType>(77);
  expect("echo", {{"x", strange}}, {}, "input x: dtype number 77 is none");
  EXPECT_THAT(client_->Put(View(small_, {4}), {.name = "\xff"}).status().ToString(), HasSubstr("the array's name is"));
  ExpectSmall(client_->Run("echo", Small()));
}

TEST_F(JobsTest, ADeadlineBeyondTheClockIsNone) {
  const JobOptions options{.deadline = nanoseconds::max()};
  ExpectSmall(client_->Run("echo", Small(), options));
  ExpectSmall(client_->Execute("echo", Small(), options));
  ExpectSmall(client_->RunAsync("echo", Small(), options).get());
}

TEST_F(JobsTest, ExecuteIsOneCall) {
  ExpectSmall(client_->Execute("echo", Small()));
  EXPECT_EQ(daemon_.executes, 1);
  EXPECT_EQ(daemon_.streams, 0);
}

TEST_F(JobsTest, ManyThreadsMayExecuteAtOnce) {
  constexpr int kThreads = 6, kJobs = 100;
  std::atomic<int> good{0};
  std::vector<std::thread> threads =
      EachWithItsOwn(kThreads, kJobs, good, [&](const auto& inputs) { return client_->Execute("echo", inputs); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, kThreads * kJobs);
}

TEST_F(JobsTest, OptionsReachTheDaemon) {
  JobOptions options;
  options.params = {{"i", std::int64_t{3}}, {"f", 0.5}, {"b", true}, {"c", std::string("fast")}};
  options.keep["x"] = {"X", std::chrono::milliseconds(1500)};
  options.device = "cpu0";
  options.priority = -3;
  options.time_limit = std::chrono::seconds(7);
  options.request_id = "mine";
  options.detach_on_disconnect = true;
  std::map<std::string, Input> inputs = Small();
  inputs["file"] = PathRef{"some/../a.npy"};
  inputs["held"] = ArrayRef{"A"};
  const auto result = client_->Run("echo", inputs, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_FALSE(result->outputs.at("x").id.empty());
  EXPECT_EQ(result->outputs.at("x").buffer, nullptr);
  const v1::JobSpec job = daemon_.last_job();
  EXPECT_EQ(job.params().at("i").int_value(), 3);
  EXPECT_EQ(job.params().at("f").float_value(), 0.5);
  EXPECT_TRUE(job.params().at("b").bool_value());
  EXPECT_EQ(job.params().at("c").string_value(), "fast");
  EXPECT_EQ(job.outputs(0).array_name(), "X");
  EXPECT_EQ(job.outputs(0).lease().nanos(), 500'000'000);
  EXPECT_EQ(job.device(), "cpu0");
  EXPECT_EQ(job.priority(), -3);
  EXPECT_EQ(job.time_limit().seconds(), 7);
  EXPECT_EQ(job.request_id(), "mine");
  EXPECT_EQ(job.disconnect_policy(), v1::DISCONNECT_POLICY_DETACH);
  ASSERT_EQ(job.inputs_size(), 3);
  EXPECT_EQ(job.inputs(0).path(), std::filesystem::current_path() / "a.npy");
  EXPECT_EQ(job.inputs(1).array_id(), "A");
}

TEST_F(JobsTest, LargeInputsAreCheckedUploadedAndFreed) {
  std::uint64_t up = 0, down = 0;
  JobOptions options;
  options.on_upload = [&](std::uint64_t done, std::uint64_t all) {
    up = done;
    EXPECT_EQ(all, 12'000'000u);
  };
  options.on_download = [&](std::uint64_t done, std::uint64_t) { down = done; };
  const auto result = client_->Run("echo", Large(), options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(std::ranges::equal(result->Output<float>("x"), large_));
  EXPECT_EQ(daemon_.checks, 1);
  EXPECT_EQ(up, 12'000'000u);
  EXPECT_EQ(down, 12'000'000u);
  EXPECT_EQ(result->timings.bytes_up, 12'000'000u);
  EXPECT_EQ(result->timings.bytes_down, 12'000'000u);
  EXPECT_GE(result->timings.total, result->timings.upload + result->timings.download);
  EXPECT_EQ(daemon_.array_count(), 0u) << "inputs and outputs are freed";
}

TEST_F(JobsTest, ALargeJobThatIsRefusedUploadsNothing) {
  const absl::Status status = client_->Run("refuse", Large()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(daemon_.writes, 0);
  EXPECT_EQ(daemon_.array_count(), 0u);
}

TEST_F(JobsTest, TheSameMemoryTwiceGoesUpOnce) {
  std::map<std::string, Input> inputs = Large();
  inputs["y"] = inputs["x"];
  inputs["small"] = View(small_, {4});
  const auto result = client_->Run("echo", inputs);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(daemon_.writes, 1);
  EXPECT_EQ(result->Output<float>("y").size(), 3'000'000u);
  EXPECT_EQ(result->Output<float>("small").size(), 4u);
}

TEST_F(JobsTest, AFailedJobBringsItsEnd) {
  for (const auto& result : {client_->Run("fail", Small()), client_->Execute("fail", Small())}) {
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInternal);
    EXPECT_EQ(result.status().message(), "the kernel failed on purpose");
    ASSERT_TRUE(EndOf(result.status()).has_value());
    EXPECT_EQ(EndOf(result.status())->state(), v1::FAILED);
    EXPECT_EQ(EndOf(result.status())->result().receipt().kernel(), "fail");
  }
}

TEST_F(JobsTest, ARefusalNamesItsFieldsAndHasNoEnd) {
  const absl::Status status = client_->Run("refuse", Small()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  ASSERT_EQ(Violations(status).size(), 1u);
  EXPECT_EQ(Violations(status)[0].field(), "kernel");
  EXPECT_FALSE(EndOf(status).has_value());
}

TEST_F(JobsTest, UpdatesComeOnTheCallersThread) {
  std::vector<std::uint64_t> sequences;
  JobOptions options;
  options.on_update = [&, caller = std::this_thread::get_id()](const v1::JobUpdate& update) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    sequences.push_back(update.sequence());
  };
  ExpectSmall(client_->Run("echo", Small(), options));
  EXPECT_THAT(sequences, ElementsAre(1));
}

TEST_F(JobsTest, ACallbackMayUseTheClient) {
  JobOptions options;
  options.on_update = [&](const v1::JobUpdate&) { ExpectSmall(client_->Run("echo", Small())); };
  ExpectSmall(client_->Run("echo", Small(), options));
  ExpectSmall(client_->RunAsync("echo", Small(), options).get());
}

TEST_F(JobsTest, UnaryCallsAreRepeatedUnderOneRequestId) {
  daemon_.unavailable = 3;
  ExpectSmall(client_->Execute("echo", Small()));
  EXPECT_EQ(daemon_.executes, 4);
  EXPECT_EQ(daemon_.request_ids().size(), 1u);
  daemon_.unavailable = 4;
  EXPECT_EQ(client_->Execute("echo", Small()).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(daemon_.executes, 8) << "three repetitions, no more";
}

TEST_F(JobsTest, AnAnswerThatCannotBeReadIsAnError) {
  const absl::Status status = client_->Job("1").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << status;
  EXPECT_THAT(status.ToString(), HasSubstr("not a message of the protocol"));
}

TEST_F(JobsTest, ABrokenStreamIsOpenedAgainUnderOneRequestId) {
  ExpectSmall(client_->Run("drop", Small()));
  EXPECT_EQ(daemon_.streams, 2);
  EXPECT_EQ(daemon_.jobs_started, 2);
  EXPECT_EQ(daemon_.request_ids().size(), 1u);
  ExpectSmall(client_->RunAsync("drop", Small()).get());
}

TEST_F(JobsTest, AJobThatAlwaysBreaksTheStreamEnds) {
  const absl::Status status = client_->Run("dropall", Small()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(daemon_.streams, 4);
  ExpectSmall(client_->Run("echo", Small()));
}

TEST_F(JobsTest, ABrokenStreamTakesNoOtherJobAlong) {
  std::vector<std::future<absl::StatusOr<JobResult>>> echoes;
  auto breaker = client_->RunAsync("drop", Small());
  // Three breaks in all: as many as a job bears.
  for (int i = 0; i < 50; ++i) echoes.push_back(client_->RunAsync(i % 25 == 5 ? "drop" : "echo", Small()));
  ExpectSmall(breaker.get());
  for (auto& echo : echoes) ExpectSmall(echo.get());
  EXPECT_EQ(daemon_.request_ids().size(), 51u);
}

TEST_F(JobsTest, ADaemonThatDiesIsNoticedAndSaid) {
  auto held = client_->RunAsync("hold", Small());
  // Once an update has come, the job's id is known.
  std::atomic<bool> told{false};
  JobOptions options;
  options.on_update = [&](const v1::JobUpdate&) { told = true; };
  std::thread killer([&] {
    EXPECT_TRUE(Eventually([&] { return told && daemon_.running().size() == 2; }));
    daemon_.Stop();
  });
  const absl::Status status = client_->Run("hold", Small(), options).status();
  killer.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_TRUE(ConnectionLost(status)) << status;
  EXPECT_THAT(status.ToString(), HasSubstr("was under way"));
  EXPECT_NE(JobIdOf(status), "");
  EXPECT_EQ(held.get().status().code(), absl::StatusCode::kUnavailable);
}

// It used to be told as if the job had been CANCELLED.
TEST_F(JobsTest, AResultThatADaemonTakesAlongNamesItsJob) {
  const std::vector<float> values(1'000'000, 1.0F);
  daemon_.leaves = true;
  const absl::Status status = client_->Run("echo", {{"x", View(values, {1'000'000})}}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_THAT(status.ToString(), HasSubstr("COMPLETED, and its result did not come"));
  EXPECT_THAT(status.ToString(), HasSubstr(JobIdOf(status)));
  EXPECT_NE(JobIdOf(status), "");
}

TEST_F(JobsTest, CancellingEndsTheJobAndTellsItsEnd) {
  Cancellation cancellation;
  std::thread canceller([&] {
    EXPECT_TRUE(Eventually([&] { return !daemon_.running().empty(); }));
    cancellation.Cancel();
  });
  const absl::Status status = client_->Run("hold", Small(), {}, &cancellation).status();
  canceller.join();
  EXPECT_TRUE(cancellation.cancelled());
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  ASSERT_TRUE(EndOf(status).has_value());
  EXPECT_EQ(EndOf(status)->state(), v1::CANCELLED);
  EXPECT_EQ(client_->Run("echo", Small(), {}, &cancellation).status().code(), absl::StatusCode::kCancelled)
      << "a cancellation that has been used starts nothing";
  EXPECT_EQ(daemon_.jobs_started, 1);
}

TEST_F(JobsTest, AShortQuestionCanBeCancelled) {
  Cancellation used;
  used.Cancel();
  const Cancellation* const stop = &used;
  for (const absl::Status& status :
       {client_->Kernels(stop).status(), client_->Describe("echo", stop).status(), client_->Info(stop).status(),
        client_->Telemetry(1, stop).status(), client_->DescribeArray("a", stop).status(),
        client_->Arrays(stop).status(), client_->Free("a", stop),
        client_->Renew("a", std::chrono::hours(1), stop).status(), client_->Job("j", stop).status(),
        client_->Jobs({}, stop).status(), client_->Cancel("j", stop).status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kCancelled) << status;
  }
  const ConnectOptions options{.server = "fake", .directory = daemon_.directory()};
  EXPECT_EQ(Client::Connect(options, stop).status().code(), absl::StatusCode::kCancelled);
}

TEST_F(JobsTest, ACallLooksAfterWhatItsThreadMustWhileItWaits) {
  Cancellation cancellation;
  const std::thread::id here = std::this_thread::get_id();
  int looks = 0;
  JobOptions options;
  options.on_wait = [&] {
    EXPECT_EQ(std::this_thread::get_id(), here);
    if (++looks == 3) cancellation.Cancel();
    return true;
  };
  const absl::Status status = client_->Run("hold", Small(), options, &cancellation).status();
  EXPECT_GE(looks, 3);
  ASSERT_TRUE(EndOf(status).has_value()) << status;
  EXPECT_EQ(EndOf(status)->state(), v1::CANCELLED);
}

TEST_F(JobsTest, AnEndThatDoesNotComeIsNotWaitedForOnceACallIsGivenUp) {
  Cancellation cancellation;
  JobOptions options;
  bool given_up = false;
  options.on_wait = [&] {
    EXPECT_FALSE(std::exchange(given_up, true)) << "it waited on";
    cancellation.Cancel();
    return false;
  };
  const absl::Status status = client_->Run("stubborn", Small(), options, &cancellation).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled) << status;
  EXPECT_FALSE(EndOf(status).has_value()) << "it was not waited for";
}

TEST_F(JobsTest, TheEndOfAJobThatNothingWasToldOfHasItsId) {
  Cancellation cancellation;
  std::thread canceller([&] {
    EXPECT_TRUE(Eventually([&] { return !daemon_.running().empty(); }));
    cancellation.Cancel();
  });
  const absl::Status status = client_->Run("quiet", Small(), {}, &cancellation).status();
  canceller.join();
  ASSERT_TRUE(EndOf(status).has_value()) << status;
  EXPECT_TRUE(JobIdOf(status).starts_with('j')) << JobIdOf(status);
}

TEST_F(JobsTest, WhatRunsAsynchronouslyCanBeCancelled) {
  const auto run = [&](const std::string& kernel, const std::map<std::string, Input>& inputs,
                       const Cancellation& cancellation) {
    auto promise = std::make_shared<std::promise<absl::StatusOr<JobResult>>>();
    client_->RunAsync(
        kernel, inputs, {}, [promise](absl::StatusOr<JobResult> result) { promise->set_value(std::move(result)); },
        &cancellation);
    return promise->get_future();
  };
  Cancellation small, large, both, unused;
  auto small_job = run("hold", Small(), small);
  auto large_job = run("hold", Large(), large);
  auto one = run("hold", Small(), both), other = run("hold", Small(), both);
  auto kept = client_->RunAsync("hold", Small());
  ASSERT_TRUE(Eventually([&] { return daemon_.running().size() == 5; }));
  for (Cancellation* cancellation : {&small, &large, &both}) cancellation->Cancel();
  for (auto* job : {&small_job, &large_job, &one, &other}) {
    const absl::Status status = job->get().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kCancelled) << status;
    EXPECT_TRUE(EndOf(status).has_value()) << "the daemon's own word: " << status;
  }
  EXPECT_TRUE(Eventually([&] { return daemon_.array_count() == 0; })) << "what was uploaded is freed";
  EXPECT_EQ(run("echo", Small(), both).get().status().code(), absl::StatusCode::kCancelled)
      << "a cancellation that has been used starts nothing";
  EXPECT_EQ(run("echo", Large(), both).get().status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(daemon_.jobs_started, 5);
  ExpectSmall(run("echo", Small(), unused).get());
  // Too late, and after the client has gone: nobody minds.
  client_ = absl::CancelledError("gone");
  unused.Cancel();
  EXPECT_EQ(kept.get().status().code(), absl::StatusCode::kCancelled);
}

TEST_F(JobsTest, CancelsAndEndsMayCrossEachOther) {
  std::vector<std::future<void>> ends;
  std::vector<Cancellation> cancellations(200);
  std::thread canceller([&] {
    for (Cancellation& cancellation : cancellations) cancellation.Cancel();
  });
  for (Cancellation& cancellation : cancellations) {
    auto promise = std::make_shared<std::promise<void>>();
    ends.push_back(promise->get_future());
    const auto done = [promise](const absl::StatusOr<JobResult>& result) {
      EXPECT_TRUE(result.ok() || absl::IsCancelled(result.status())) << result.status();
      promise->set_value();
    };
    client_->RunAsync("echo", Small(), {}, done, &cancellation);
  }
  canceller.join();
  for (auto& end : ends) end.wait();
}

TEST_F(JobsTest, ExecuteCanBeCancelled) {
  Cancellation cancellation;
  std::thread canceller([&] {
    EXPECT_TRUE(Eventually([&] { return daemon_.executes > 0; }));
    cancellation.Cancel();
  });
  EXPECT_EQ(client_->Execute("hold", Small(), {}, &cancellation).status().code(), absl::StatusCode::kCancelled);
  canceller.join();
}

TEST_F(JobsTest, ADeadlineEndsTheCall) {
  JobOptions options;
  options.deadline = std::chrono::milliseconds(100);
  EXPECT_EQ(client_->Run("stubborn", Small(), options).status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(client_->Execute("hold", Small(), options).status().code(), absl::StatusCode::kDeadlineExceeded);
  // One without a deadline polls already when one with a deadline comes.
  auto held = client_->RunAsync("hold", Small());
  ASSERT_TRUE(Eventually([&] { return daemon_.running().size() == 2; }));
  EXPECT_EQ(client_->RunAsync("hold", Small(), options).get().status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(client_->Run("hold", Small(), options).status().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(JobsTest, ManyThreadsShareTheStream) {
  constexpr int kThreads = 8, kJobs = 200;
  std::atomic<int> good{0};
  std::vector<std::thread> threads =
      EachWithItsOwn(kThreads, kJobs, good, [&](const auto& inputs) { return client_->Run("echo", inputs); });
  std::vector<std::future<absl::StatusOr<JobResult>>> futures;
  for (int i = 0; i < kJobs; ++i) futures.push_back(client_->RunAsync("echo", Small()));
  for (auto& future : futures) ExpectSmall(future.get());
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, kThreads * kJobs);
  EXPECT_EQ(daemon_.streams, 1);
}

TEST_F(JobsTest, LargeJobsRunAsynchronouslyToo) {
  std::vector<std::future<absl::StatusOr<JobResult>>> futures;
  for (int i = 0; i < 6; ++i) futures.push_back(client_->RunAsync("echo", Large()));
  for (auto& future : futures) {
    const auto result = future.get();
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_TRUE(std::ranges::equal(result->Output<float>("x"), large_));
  }
  EXPECT_EQ(daemon_.array_count(), 0u);
}

TEST_F(JobsTest, AWatchResumesWhereItBroke) {
  daemon_.broken_watch = true;
  std::vector<std::uint64_t> sequences;
  const auto end = client_->Watch("7", [&](const v1::JobUpdate& update) { sequences.push_back(update.sequence()); });
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->state(), v1::COMPLETED);
  EXPECT_THAT(sequences, ElementsAre(1, 2, 3, 4, 5));
}

// Each one heals at once: none of them says that the daemon cannot be reached, however many there are.
TEST_F(JobsTest, AWatchOutlivesAnyNumberOfShortBreaks) {
  daemon_.quiet_breaks = 6;
  std::vector<std::uint64_t> sequences;
  const auto end = client_->Watch("7", [&](const v1::JobUpdate& update) { sequences.push_back(update.sequence()); });
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(daemon_.quiet_breaks, 0);
  EXPECT_THAT(sequences, ElementsAre(1, 2, 3, 4, 5)) << "each once";
}

TEST_F(JobsTest, ARunOutlivesAnyNumberOfShortBreaks) {
  daemon_.quiet_breaks = 6;
  std::vector<std::uint64_t> sequences;
  JobOptions options;
  options.on_update = [&](const v1::JobUpdate& update) { sequences.push_back(update.sequence()); };
  ExpectSmall(client_->Run("cut", Small(), options));
  EXPECT_EQ(daemon_.streams, 7);
  EXPECT_EQ(daemon_.request_ids().size(), 1u);
  EXPECT_THAT(sequences, ElementsAre(1)) << "told once";
}

// It used to be called by the thread that polls for all of them, while nobody else could.
TEST_F(JobsTest, WhoIsToldOfALostConnectionMayUseTheClient) {
  const testing::Certificate certificate = testing::MakeCertificate();
  FakeDaemon first({.certificate = certificate});
  std::unique_ptr<FakeDaemon> second;
  std::optional<Client> client;
  std::future<absl::StatusOr<JobResult>> echo;
  std::promise<bool> used;
  ConnectOptions options{.server = "fake",
                         .endpoint = "localhost:" + std::to_string(first.port()),
                         .directory = first.directory(),
                         .retries = 0};
  options.on_connection = [&](const absl::Status& news) {
    if (news.ok() || second) return;
    second = std::make_unique<FakeDaemon>(FakeDaemon::Options{.port = first.port(), .certificate = certificate});
    echo = std::async(std::launch::async, [&] { return client->Run("echo", Small()); });
    used.set_value(echo.wait_for(std::chrono::seconds(60)) == std::future_status::ready);
  };
  auto connected = Client::Connect(options);
  ASSERT_TRUE(connected.ok()) << connected.status();
  client = *std::move(connected);

  Cancellation cancellation;
  std::thread breaker([&] {
    EXPECT_TRUE(Eventually([&] { return !first.running().empty(); }));
    first.Stop();
    EXPECT_TRUE(used.get_future().get());
    cancellation.Cancel();
  });
  EXPECT_EQ(client->Run("hold", Small(), {}, &cancellation).status().code(), absl::StatusCode::kCancelled);
  breaker.join();
  ExpectSmall(echo.get());
}

TEST_F(JobsTest, SubmitThenWaitBringsTheOutputs) {
  const auto id = client_->Submit("echo", Large());
  ASSERT_TRUE(id.ok()) << id.status();
  EXPECT_EQ(daemon_.frees, 1) << "the job holds its input";
  const auto result = client_->Wait(*id);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->Output<std::uint8_t>("y").size(), 3u);
  EXPECT_EQ(result->Output<float>("y").size(), 0u) << "another type than the output's";
}

TEST_F(JobsTest, AMessageOverTheLimitIsRefused) {
  JobOptions options;
  options.params["c"] = std::string(9 << 20, 'x');
  const absl::Status status = client_->Run("echo", Small(), options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(status.ToString(), HasSubstr("exceeds the daemon's limit message-bytes; send large inputs as arrays"));
  ExpectSmall(client_->Run("echo", Small()));
}

}  // namespace
}  // namespace hotplate::client
