// Jobs.Watch and Telemetry.
#include <gmock/gmock.h>

#include <chrono>
#include <memory>
#include <set>
#include <thread>
#include <utility>

#include "tests/unit/service/test_server.h"

namespace hotplate::server {
namespace {

class WatchTest : public ServerTest {
 protected:
  std::string Submit(const v1::JobSpec& job) {
    v1::SubmitJobRequest request;
    *request.mutable_job() = job;
    v1::SubmitJobResponse response;
    EXPECT_TRUE(jobs_->Submit(Call(), request, &response).ok());
    return response.job_id();
  }
  // All numbered updates of a job that ends, from a sequence number on.
  std::vector<v1::JobUpdate> WatchAll(const std::string& id, std::uint64_t from) {
    Call call;
    v1::WatchJobRequest request;
    request.set_job_id(id);
    request.set_from_sequence(from);
    const auto reader = jobs_->Watch(call, request);
    std::vector<v1::JobUpdate> updates;
    v1::WatchJobResponse response;
    while (reader->Read(&response)) {
      for (const v1::JobUpdate& update : response.updates()) {
        if (update.sequence() != 0) updates.push_back(update);
      }
    }
    const grpc::Status status = reader->Finish();
    EXPECT_TRUE(status.ok()) << status.error_message();
    return updates;
  }
};

TEST_F(WatchTest, TellsTheWholeStoryWhetherTheJobHasEndedOrNot) {
  const std::string id = Submit(TinyJob());
  for (int i = 0; i < 2; ++i) {
    const std::vector<v1::JobUpdate> updates = WatchAll(id, 0);
    ASSERT_EQ(updates.size(), 3u);
    EXPECT_EQ(updates[0].state_change().state(), v1::PENDING);
    EXPECT_EQ(updates[1].state_change().state(), v1::RUNNING);
    EXPECT_EQ(updates[2].end().state(), v1::COMPLETED);
    for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(updates[k].sequence(), k + 1);
    ExpectTinyResult(updates[2].end().result());
  }
}

TEST_F(WatchTest, ResumesAfterASequenceNumber) {
  const std::string id = Submit(TinyJob());
  EXPECT_EQ(WatchAll(id, 1).size(), 3u);
  const std::vector<v1::JobUpdate> rest = WatchAll(id, 3);
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_TRUE(rest[0].has_end());
  // Past the end there is the end: a watcher that comes back late must not wait for ever.
  EXPECT_EQ(WatchAll(id, 4).size(), 1u);
  EXPECT_EQ(WatchAll(id, ~0ull).size(), 1u);
}

TEST_F(WatchTest, AJobThatIsNotThere) {
  Call call;
  v1::WatchJobRequest request;
  request.set_job_id("999");
  const auto reader = jobs_->Watch(call, request);
  v1::WatchJobResponse response;
  EXPECT_FALSE(reader->Read(&response));
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(WatchTest, AWatcherThatLeavesDoesNotTouchTheJob) {
  const std::string id = Submit(LongJob());
  {
    Call call;
    v1::WatchJobRequest request;
    request.set_job_id(id);
    const auto reader = jobs_->Watch(call, request);
    v1::WatchJobResponse response;
    ASSERT_TRUE(reader->Read(&response));
    call->TryCancel();
    while (reader->Read(&response)) {
    }
    EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  const v1::Job job = WaitFor(id, [](const v1::Job& one) { return one.state() == v1::RUNNING; });
  EXPECT_FALSE(job.cancel_requested());
  v1::CancelJobRequest request;
  request.set_job_id(id);
  v1::CancelJobResponse response;
  EXPECT_TRUE(jobs_->Cancel(Call(), request, &response).ok());
  WaitFor(id, [](const v1::Job& one) { return one.state() == v1::CANCELLED; });
}

TEST_F(WatchTest, ADrainTellsTheWatcherAndEndsTheJob) {
  const std::string id = Submit(LongJob());
  Call call;
  v1::WatchJobRequest request;
  request.set_job_id(id);
  const auto reader = jobs_->Watch(call, request);
  v1::WatchJobResponse response;
  ASSERT_TRUE(reader->Read(&response));
  WaitFor(id, [](const v1::Job& one) { return one.state() == v1::RUNNING; });
  std::thread drainer([&] {
    server_.engine().Announce("draining", 0.1);
    EXPECT_FALSE(server_.engine().Drain(std::chrono::milliseconds(100), "test"));
  });
  bool notice = false;
  v1::JobState end = v1::JOB_STATE_UNSPECIFIED;
  do {
    for (const v1::JobUpdate& update : response.updates()) {
      notice = notice || update.has_notice();
      if (update.has_end()) end = update.end().state();
    }
  } while (reader->Read(&response));
  drainer.join();
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_TRUE(notice);
  EXPECT_EQ(end, v1::CANCELLED);
}

TEST_F(WatchTest, TelemetrySnapshot) {
  v1::TelemetrySnapshotRequest request;
  v1::TelemetrySnapshotResponse response;
  ASSERT_TRUE(telemetry_->Snapshot(Call(), request, &response).ok());
  ASSERT_EQ(response.samples_size(), 1);
  EXPECT_GT(response.samples(0).daemon().array_bytes_limit(), 0u);
  EXPECT_EQ(response.generation(), "g1");
  request.set_history(1'000'000'000);
  EXPECT_TRUE(telemetry_->Snapshot(Call(), request, &response).ok());
}

TEST_F(WatchTest, TelemetryStreamGoesOnUntilTheClientLeaves) {
  Call call;
  v1::WatchTelemetryRequest request;
  request.mutable_interval()->set_nanos(100'000'000);
  const auto reader = telemetry_->Watch(call, request);
  v1::WatchTelemetryResponse response;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(reader->Read(&response));
  ASSERT_EQ(response.sample().devices_size(), 1);
  EXPECT_EQ(response.sample().devices(0).device(), "cpu0");
  call->TryCancel();
  while (reader->Read(&response)) {
  }
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

// With a device that takes longer to say how it is than a stream's interval.
class SlowSamplesTest : public ServerTest {
 protected:
  SlowSamplesTest() : ServerTest(WithSlowDevice()) {}

  static TestServer::Options WithSlowDevice() {
    TestServer::Options options;
    options.more = [] {
      return std::make_unique<MadeUpGpu>([] {
        std::this_thread::sleep_for(std::chrono::milliseconds(350));
        return DeviceMetrics();
      });
    };
    return options;
  }
};

TEST_F(SlowSamplesTest, ASampleIsWrittenOnce) {
  Call call;
  v1::WatchTelemetryRequest request;
  request.mutable_interval()->set_nanos(100'000'000);
  const auto reader = telemetry_->Watch(call, request);
  v1::WatchTelemetryResponse response;
  std::set<std::pair<std::int64_t, std::int32_t>> times;
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(reader->Read(&response));
    EXPECT_TRUE(times.emplace(response.sample().time().seconds(), response.sample().time().nanos()).second)
        << "sample " << i << " came before";
  }
  call->TryCancel();
  while (reader->Read(&response)) {
  }
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(WatchTest, TelemetryIntervalHasBounds) {
  for (const int nanos : {1, 99'000'000}) {
    Call call;
    v1::WatchTelemetryRequest request;
    request.mutable_interval()->set_nanos(nanos);
    EXPECT_EQ(telemetry_->Watch(call, request)->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  }
}

TEST_F(WatchTest, TheServerStopsWithStreamsOpen) {
  Call call, other;
  v1::WatchTelemetryRequest request;
  const auto samples = telemetry_->Watch(call, request);
  const auto run = jobs_->Run(other);
  v1::WatchTelemetryResponse response;
  ASSERT_TRUE(samples->Read(&response));
  server_.server().Shutdown(std::chrono::system_clock::now());
  while (samples->Read(&response)) {
  }
  EXPECT_FALSE(samples->Finish().ok());
  EXPECT_FALSE(run->Finish().ok());
}

}  // namespace
}  // namespace hotplate::server
