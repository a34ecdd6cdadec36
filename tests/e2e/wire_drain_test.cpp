// How a daemon leaves, as a client on the wire sees it: drain, shutdown and signals.
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/e2e/wire_fixture.h"

namespace hotplate::e2e {
namespace {

using grpc::StatusCode;

// A daemon with a job that would run for hours, a stream that hears of it, and a drain that has an hour.
class DrainTest : public WireTest {
 protected:
  void SetUp() override {
    Start({"--drain-timeout", "100ms"});
    ASSERT_TRUE(daemon_->serving());
    context_ = caller_->Context();
    stream_ = jobs_->Run(context_.get());
    v1::RunJobsRequest request;
    request.add_start()->set_tag(1);
    *request.mutable_start(0)->mutable_job() = Integral(kForHours);
    ASSERT_TRUE(stream_->Write(request));
    v1::RunJobsResponse response;
    std::string id;
    while (id.empty() && stream_->Read(&response)) {
      for (const v1::JobUpdate& update : response.updates()) id = update.job_id();
    }
    ASSERT_TRUE(WaitUntil([&] { return StateOf(id) == v1::RUNNING; }));
    v1::DrainRequest drain;
    drain.mutable_timeout()->set_seconds(3600);
    v1::DrainResponse drained;
    ASSERT_TRUE(server_->Drain(caller_->Context().get(), drain, &drained).ok());
    // The notice tells that the drain has begun.
    while (notices_.empty() && stream_->Read(&response)) Note(response);
    ASSERT_EQ(notices_.size(), 1U);
    EXPECT_EQ(notices_[0].seconds_left(), 3600);
  }
  void TearDown() override {}

  void Note(const v1::RunJobsResponse& response) {
    for (const v1::JobUpdate& update : response.updates()) {
      if (update.has_notice()) notices_.push_back(update.notice());
      if (update.has_end()) end_ = update.end().state();
    }
  }
  // Until the daemon ends the stream.
  void ExpectCancelledInGoodOrder() {
    v1::RunJobsResponse response;
    while (stream_->Read(&response)) Note(response);
    EXPECT_EQ(end_, v1::CANCELLED) << "the last message came before the daemon left";
    ASSERT_EQ(notices_.size(), 2U);
    EXPECT_LT(notices_[1].seconds_left(), 1);
    stream_->Finish();
  }

  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::RunJobsRequest, v1::RunJobsResponse>> stream_;
  std::vector<v1::Notice> notices_;
  v1::JobState end_ = v1::JOB_STATE_UNSPECIFIED;
};

TEST_F(DrainTest, AShutdownShortensItAndClientsHearTheEnd) {
  v1::ShutdownResponse down;
  ASSERT_TRUE(server_->Shutdown(caller_->Context().get(), {}, &down).ok());
  ExpectCancelledInGoodOrder();
  ASSERT_TRUE(WaitUntil([&] { return !daemon_->alive(); }));
  EXPECT_EQ(daemon_->Stop(), 0) << "the status that it left with";
}

TEST_F(DrainTest, ASignalDoesTheSame) {
  std::thread stop([&] { EXPECT_EQ(daemon_->Stop(), 0); });
  ExpectCancelledInGoodOrder();
  stop.join();
}

TEST_F(DrainTest, ALongerTimeoutChangesNothingAShorterOneDoes) {
  v1::DrainRequest drain;
  v1::DrainResponse drained;
  drain.mutable_timeout()->set_seconds(7200);
  ASSERT_TRUE(server_->Drain(caller_->Context().get(), drain, &drained).ok());
  drain.mutable_timeout()->set_seconds(0);
  ASSERT_TRUE(server_->Drain(caller_->Context().get(), drain, &drained).ok());
  v1::RunJobsResponse response;
  while (end_ == v1::JOB_STATE_UNSPECIFIED && stream_->Read(&response)) Note(response);
  EXPECT_EQ(end_, v1::CANCELLED);
  ASSERT_EQ(notices_.size(), 2U) << "nobody was told of 7200 s";
  EXPECT_EQ(notices_[1].seconds_left(), 0);
  v1::GetServerInfoResponse info;
  EXPECT_TRUE(server_->GetInfo(caller_->Context().get(), {}, &info).ok()) << "a drain alone ends no daemon";
  EXPECT_EQ(info.state(), v1::DRAINING);
  stream_->WritesDone();
  EXPECT_EQ(daemon_->Stop(), 0);
  while (stream_->Read(&response)) {
  }
  stream_->Finish();
}

TEST_F(WireTest, DrainAndShutdownThroughTheService) {
  std::string id;
  ASSERT_TRUE(Submit(Integral(kForHours), id).ok());
  ASSERT_TRUE(WaitUntil([&] { return StateOf(id) == v1::RUNNING; }));
  v1::DrainResponse drained;
  ASSERT_TRUE(server_->Drain(caller_->Context().get(), {}, &drained).ok());
  v1::ExecuteJobResponse response;
  const grpc::Status refused = Execute(Integral(10), response);
  EXPECT_EQ(refused.error_code(), StatusCode::UNAVAILABLE) << refused.error_message();
  EXPECT_NE(refused.error_message().find("drain"), std::string::npos) << refused.error_message();
  Cancel(id);
  v1::ShutdownResponse down;
  ASSERT_TRUE(server_->Shutdown(caller_->Context().get(), {}, &down).ok());
  EXPECT_TRUE(WaitUntil([&] { return !daemon_->alive(); }));
  daemon_.reset();
}

}  // namespace
}  // namespace hotplate::e2e
