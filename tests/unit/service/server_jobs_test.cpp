// hotplate.v1.Jobs: Check, Execute, Submit, Get, List, Cancel, FetchResult and the Run stream.
#include <gmock/gmock.h>

#include <set>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "kernels/array/npy.h"
#include "tests/unit/service/test_server.h"

namespace hotplate::server {
namespace {

using testing::HasSubstr;

class JobsTest : public ServerTest {
 protected:
  grpc::Status Execute(const v1::JobSpec& job, v1::ExecuteJobResponse* response) {
    v1::ExecuteJobRequest request;
    *request.mutable_job() = job;
    return jobs_->Execute(Call(), request, response);
  }
  std::string Submit(const v1::JobSpec& job) {
    v1::SubmitJobRequest request;
    *request.mutable_job() = job;
    v1::SubmitJobResponse response;
    const grpc::Status status = jobs_->Submit(Call(), request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.job_id();
  }
  grpc::Status Fetch(const std::string& id, v1::FetchResultResponse* response) {
    v1::FetchResultRequest request;
    request.set_job_id(id);
    return jobs_->FetchResult(Call(), request, response);
  }
  v1::Job Cancel(const std::string& id) {
    v1::CancelJobRequest request;
    request.set_job_id(id);
    v1::CancelJobResponse response;
    const grpc::Status status = jobs_->Cancel(Call(), request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.job();
  }
  static bool Ended(const v1::Job& job) { return job.state() >= v1::COMPLETED; }
  static bool Running(const v1::Job& job) { return job.state() == v1::RUNNING; }
};

TEST_F(JobsTest, ExecuteAnswersWithOutputsAndReceipt) {
  v1::ExecuteJobResponse response;
  const grpc::Status status = Execute(TinyJob(), &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.end().state(), v1::COMPLETED);
  EXPECT_EQ(response.generation(), "g1");
  ExpectTinyResult(response.end().result());
  EXPECT_EQ(response.end().result().receipt().job_id(), response.job_id());
}

TEST_F(JobsTest, RefusalsNameTheFields) {
  v1::JobSpec job = TinyJob();
  job.mutable_inputs(1)->mutable_inline_()->mutable_signature()->set_dtype(v1::DTYPE_INT32);
  (*job.mutable_params())["alpha"].set_float_value(1);
  v1::ExecuteJobResponse response;
  const grpc::Status status = Execute(job, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  google::rpc::Status details;
  ASSERT_TRUE(details.ParseFromString(status.error_details()));
  google::rpc::BadRequest bad;
  ASSERT_EQ(details.details_size(), 1);
  ASSERT_TRUE(details.details(0).UnpackTo(&bad));
  std::set<std::string> fields;
  for (const auto& violation : bad.field_violations()) fields.insert(violation.field());
  EXPECT_THAT(fields, testing::IsSupersetOf({"params.alpha", "inputs.b"}));

  job = TinyJob();
  job.set_kernel("vector_sub");
  EXPECT_EQ(Execute(job, &response).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(JobsTest, CheckRunsNothing) {
  v1::CheckJobRequest request;
  request.mutable_job()->set_kernel("matmul");
  for (const char* name : {"a", "b"}) {
    v1::JobInput& input = *request.mutable_job()->add_inputs();
    input.set_name(name);
    input.mutable_signature()->set_dtype(v1::DTYPE_FLOAT32);
    input.mutable_signature()->add_shape(300);
    input.mutable_signature()->add_shape(300);
  }
  v1::CheckJobResponse response;
  const grpc::Status status = jobs_->Check(Call(), request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(response.outputs_size(), 1);
  EXPECT_EQ(response.outputs(0).signature().shape_size(), 2);
  ASSERT_EQ(response.devices_size(), 1);
  EXPECT_EQ(response.devices(0).fit(), v1::DeviceFit::NOW);
  EXPECT_FALSE(response.devices(0).has_after_job());
  EXPECT_EQ(response.array_memory().bytes_needed(), 3u * 300 * 300 * 4);
  EXPECT_GE(response.array_memory().bytes_total(), response.array_memory().bytes_free());
  EXPECT_EQ(response.flop(), 2.0 * 300 * 300 * 300);
  request.mutable_job()->mutable_inputs(1)->mutable_signature()->set_shape(0, 299);
  EXPECT_EQ(jobs_->Check(Call(), request, &response).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  v1::ListJobsResponse list;
  ASSERT_TRUE(jobs_->List(Call(), {}, &list).ok());
  EXPECT_EQ(list.jobs_size(), 0);
}

TEST_F(JobsTest, InputsByPathAreReadByTheDaemon) {
  const Signature signature{DType::kFloat32, {4}};
  const float values[] = {1, 2, 3, 4};
  std::string file = NpyHeaderFor(signature);
  file.append(reinterpret_cast<const char*>(values), sizeof values);
  const std::string path = server_.folder() + "/x.npy";
  std::ofstream(path, std::ios::binary) << file;
  v1::JobSpec job = TinyJob();
  for (v1::JobInput& input : *job.mutable_inputs()) input.set_path(path);
  v1::ExecuteJobResponse response;
  const grpc::Status status = Execute(job, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ExpectTinyResult(response.end().result());
  EXPECT_TRUE(response.end().result().receipt().has_load_ns());
  job.mutable_inputs(0)->set_path("/etc/passwd");
  EXPECT_EQ(Execute(job, &response).error_code(), grpc::StatusCode::PERMISSION_DENIED);
}

TEST_F(JobsTest, SubmitThenFetch) {
  const std::string id = Submit(TinyJob());
  EXPECT_EQ(WaitFor(id, Ended).state(), v1::COMPLETED);
  v1::FetchResultResponse response;
  const grpc::Status status = Fetch(id, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.state(), v1::COMPLETED);
  ExpectTinyResult(response.result());
  EXPECT_EQ(Fetch("999", &response).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(JobsTest, CancelARunningJob) {
  const std::string id = Submit(LongJob());
  WaitFor(id, Running);
  v1::FetchResultResponse response;
  const grpc::Status early = Fetch(id, &response);
  EXPECT_EQ(early.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(early.error_message(), HasSubstr("RUNNING"));
  Cancel(id);
  EXPECT_EQ(WaitFor(id, Ended).state(), v1::CANCELLED);
  ASSERT_TRUE(Fetch(id, &response).ok());
  EXPECT_EQ(response.state(), v1::CANCELLED);
  EXPECT_TRUE(response.has_error());
}

TEST_F(JobsTest, TimeLimit) {
  v1::JobSpec job = LongJob();
  job.mutable_time_limit()->set_nanos(50'000'000);
  EXPECT_EQ(WaitFor(Submit(job), Ended).state(), v1::TIMEOUT);
}

TEST_F(JobsTest, ARequestIdRunsOnceAndHoldsItsPayload) {
  v1::JobSpec job = TinyJob();
  job.set_request_id("once");
  const std::string id = Submit(job);
  EXPECT_EQ(Submit(job), id);
  job.set_priority(3);
  v1::SubmitJobRequest request;
  *request.mutable_job() = job;
  v1::SubmitJobResponse response;
  const grpc::Status status = jobs_->Submit(Call(), request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_THAT(status.error_message(), HasSubstr("once"));
}

TEST_F(JobsTest, ListGoesThroughThePages) {
  std::vector<std::string> ids;
  for (int i = 0; i < 7; ++i) ids.push_back(Submit(TinyJob()));
  for (const std::string& id : ids) WaitFor(id, Ended);
  std::vector<std::string> seen;
  v1::ListJobsRequest request;
  request.set_page_size(3);
  int pages = 0;
  do {
    v1::ListJobsResponse response;
    ASSERT_TRUE(jobs_->List(Call(), request, &response).ok());
    for (const v1::Job& job : response.jobs()) seen.push_back(job.id());
    request.set_page_token(response.next_page_token());
    ASSERT_LT(++pages, 10);
  } while (!request.page_token().empty());
  EXPECT_EQ(pages, 3);
  EXPECT_THAT(seen, testing::ElementsAreArray(ids.rbegin(), ids.rend()));
}

TEST_F(JobsTest, APageTokenThatIsNoneIsNamed) {
  for (const char* token : {"zzz", "-1", "0", "1x", "99999999999999999999999"}) {
    v1::ListJobsRequest request;
    request.set_page_token(token);
    v1::ListJobsResponse response;
    const grpc::Status status = jobs_->List(Call(), request, &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << token;
    EXPECT_THAT(status.error_message(), testing::AllOf(HasSubstr("page_token"), HasSubstr(token)));
  }
}

TEST_F(JobsTest, ListOfOneSessionAndOfActiveJobs) {
  const std::string id = Submit(TinyJob());
  WaitFor(id, Ended);
  Call other(TestServer::kToken, std::string(32, '2'));
  v1::ListJobsRequest request;
  request.set_own_session(true);
  v1::ListJobsResponse response;
  ASSERT_TRUE(jobs_->List(other, request, &response).ok());
  EXPECT_EQ(response.jobs_size(), 0);
  request.set_own_session(false);
  request.set_active_only(true);
  ASSERT_TRUE(jobs_->List(Call(), request, &response).ok());
  EXPECT_EQ(response.jobs_size(), 0);
}

TEST_F(JobsTest, AClientThatLeavesExecuteTakesItsJobAlong) {
  v1::ExecuteJobRequest request;
  *request.mutable_job() = LongJob();
  request.mutable_job()->set_disconnect_policy(v1::DISCONNECT_POLICY_CANCEL);
  v1::ExecuteJobResponse response;
  Call call;
  std::thread canceller([&] {
    for (int i = 0; i < 6000; ++i) {
      if (server_.engine().Status().running == 1) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    call->TryCancel();
  });
  EXPECT_EQ(jobs_->Execute(call, request, &response).error_code(), grpc::StatusCode::CANCELLED);
  canceller.join();
  v1::ListJobsResponse list;
  ASSERT_TRUE(jobs_->List(Call(), {}, &list).ok());
  ASSERT_EQ(list.jobs_size(), 1);
  EXPECT_EQ(WaitFor(list.jobs(0).id(), Ended).state(), v1::CANCELLED);
}

class RunTest : public JobsTest {
 protected:
  void Start(std::uint64_t tag, const v1::JobSpec& job) { StartAll(tag, tag, job); }
  // In one message: one job for each tag.
  void StartAll(std::uint64_t first_tag, std::uint64_t last_tag, const v1::JobSpec& job) {
    v1::RunJobsRequest request;
    for (std::uint64_t tag = first_tag; tag <= last_tag; ++tag) {
      auto& start = *request.add_start();
      start.set_tag(tag);
      *start.mutable_job() = job;
    }
    ASSERT_TRUE(stream_->Write(request));
  }
  // The next update that `wanted` likes.
  v1::JobUpdate Next(const std::function<bool(const v1::JobUpdate&)>& wanted) {
    for (;;) {
      for (; next_ < response_.updates_size(); ++next_) {
        if (wanted(response_.updates(next_))) return response_.updates(next_++);
      }
      next_ = 0;
      if (!stream_->Read(&response_)) {
        ADD_FAILURE() << "the stream ended: " << stream_->Finish().error_message();
        return {};
      }
      if (!response_.generation().empty()) generation_ = response_.generation();
    }
  }
  static bool IsEnd(const v1::JobUpdate& update) { return update.has_end(); }
  static bool IsRefusal(const v1::JobUpdate& update) { return update.has_refused(); }
  static bool IsRunning(const v1::JobUpdate& update) { return update.state_change().state() == v1::RUNNING; }

  Call call_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::RunJobsRequest, v1::RunJobsResponse>> stream_ = jobs_->Run(call_);
  v1::RunJobsResponse response_;
  std::string generation_;  // told by the first answer
  int next_ = 0;
};

TEST_F(RunTest, OneJob) {
  Start(42, TinyJob());
  const v1::JobUpdate end = Next(IsEnd);
  EXPECT_EQ(generation_, "g1");
  EXPECT_EQ(end.tag(), 42u);
  EXPECT_EQ(end.end().state(), v1::COMPLETED);
  ExpectTinyResult(end.end().result());
  stream_->WritesDone();
  EXPECT_TRUE(stream_->Finish().ok());
}

// What such a client is owed would otherwise grow as long as it sends.
TEST_F(RunTest, AClientThatDoesNotReadIsNotReadFromEither) {
  v1::JobSpec picture;  // a MB of counts for a request of a few bytes
  picture.set_kernel("mandelbrot");
  (*picture.mutable_params())["max_iterations"].set_int_value(1);
  (*picture.mutable_params())["resolution"].set_int_value(500);
  constexpr std::uint64_t kPictures = 32, kCalls = 50;
  StartAll(1, kPictures, picture);
  ASSERT_TRUE(Eventually([&] { return server_.engine().Status().ended == kPictures; }));
  Start(100, TinyJob());
  // Calls on the same connection, each with something to do for the same threads, give it every chance to begin.
  for (std::uint64_t i = 0; i < kCalls; ++i) {
    v1::ExecuteJobResponse response;
    ASSERT_TRUE(Execute(TinyJob(), &response).ok());
  }
  EXPECT_EQ(server_.engine().Status().ended, kPictures + kCalls);
  std::set<std::uint64_t> ended;
  while (ended.size() <= kPictures) ended.insert(Next(IsEnd).tag());
  EXPECT_TRUE(ended.count(100));
  stream_->WritesDone();
  EXPECT_TRUE(stream_->Finish().ok());
}

TEST_F(RunTest, ManyJobsInFlightEachEndsOnce) {
  constexpr std::uint64_t kJobs = 500;
  for (std::uint64_t first = 0; first < kJobs; first += 100) {
    v1::RunJobsRequest request;
    for (std::uint64_t tag = first; tag < first + 100; ++tag) {
      request.add_start()->set_tag(tag);
      *request.mutable_start(request.start_size() - 1)->mutable_job() = TinyJob();
    }
    ASSERT_TRUE(stream_->Write(request));
  }
  std::set<std::uint64_t> seen;
  while (seen.size() < kJobs) {
    const v1::JobUpdate end = Next(IsEnd);
    ASSERT_TRUE(end.has_end());
    ASSERT_TRUE(seen.insert(end.tag()).second);
    ExpectTinyResult(end.end().result());
  }
  stream_->WritesDone();
  EXPECT_FALSE(stream_->Read(&response_));
  EXPECT_TRUE(stream_->Finish().ok());
}

// However much is in one message, its thread has others to serve.
TEST_F(RunTest, FewJobsOfAMessageRunOnTheThreadThatReadIt) {
  ASSERT_TRUE(Eventually([&] {
    v1::ExecuteJobResponse response;
    EXPECT_TRUE(Execute(TinyJob(), &response).ok());
    return server_.engine().Status().ran_in_submit > 0;
  }));
  const std::uint64_t before = server_.engine().Status().ran_in_submit;
  constexpr std::uint64_t kJobs = 3000;
  v1::RunJobsRequest request;
  for (std::uint64_t tag = 0; tag < kJobs; ++tag) {
    request.add_start()->set_tag(tag);
    *request.mutable_start(request.start_size() - 1)->mutable_job() = TinyJob();
  }
  ASSERT_TRUE(stream_->Write(request));
  std::set<std::uint64_t> seen;
  while (seen.size() < kJobs) {
    const v1::JobUpdate end = Next(IsEnd);
    ASSERT_EQ(end.end().state(), v1::COMPLETED);
    ASSERT_TRUE(seen.insert(end.tag()).second);
  }
  EXPECT_LE(server_.engine().Status().ran_in_submit, before + 256);
}

// Whether the first has ended by then must not matter.
TEST_F(RunTest, ATagTwiceInOneMessageIsRefusedTheSecondTime) {
  for (int i = 0; i < 20; ++i) {
    v1::RunJobsRequest request;
    for (const std::uint64_t tag : {7, 9, 8, 7, 9, 7}) {
      request.add_start()->set_tag(tag);
      *request.mutable_start(request.start_size() - 1)->mutable_job() = TinyJob();
    }
    ASSERT_TRUE(stream_->Write(request));
    std::multiset<std::uint64_t> ended, refused;
    while (ended.size() + refused.size() < 6) {
      const v1::JobUpdate update = Next([](const v1::JobUpdate& one) { return IsEnd(one) || IsRefusal(one); });
      ASSERT_TRUE(IsEnd(update) || IsRefusal(update));
      if (IsEnd(update)) {
        EXPECT_EQ(update.end().state(), v1::COMPLETED);
        ended.insert(update.tag());
      } else {
        EXPECT_EQ(update.refused().code(), static_cast<int>(grpc::StatusCode::INVALID_ARGUMENT));
        EXPECT_THAT(update.refused().message(), HasSubstr("two jobs of one request"));
        refused.insert(update.tag());
      }
    }
    EXPECT_THAT(ended, testing::ElementsAre(7, 8, 9));
    EXPECT_THAT(refused, testing::ElementsAre(7, 7, 9));
  }
}

// A picture of a few bytes may be the work of hours.
TEST_F(RunTest, ASmallPictureWithManyIterationsHoldsUpNobody) {
  v1::JobSpec picture;
  picture.set_kernel("mandelbrot");
  for (const char* limit : {"x_min", "x_max", "y_min", "y_max"}) (*picture.mutable_params())[limit].set_float_value(0);
  (*picture.mutable_params())["resolution"].set_int_value(2);
  (*picture.mutable_params())["max_iterations"].set_int_value(10);
  ASSERT_TRUE(Eventually([&] {
    const std::uint64_t before = server_.engine().Status().ran_in_submit;
    v1::ExecuteJobResponse response;
    EXPECT_TRUE(Execute(picture, &response).ok());
    return server_.engine().Status().ran_in_submit > before;
  })) << "one with few does run where it is submitted";
  (*picture.mutable_params())["max_iterations"].set_int_value(2'147'483'647);
  const std::uint64_t before = server_.engine().Status().ran_in_submit;
  Start(1, picture);
  EXPECT_EQ(Next(IsRunning).tag(), 1u);
  EXPECT_EQ(server_.engine().Status().ran_in_submit, before);
  v1::RunJobsRequest cancel;
  cancel.add_cancel(1);
  ASSERT_TRUE(stream_->Write(cancel));
  EXPECT_EQ(Next(IsEnd).end().state(), v1::CANCELLED);
}

TEST_F(RunTest, HalfClosingLetsJobsFinish) {
  for (std::uint64_t tag = 0; tag < 20; ++tag) Start(tag, TinyJob());
  stream_->WritesDone();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Next(IsEnd).end().state(), v1::COMPLETED);
  EXPECT_FALSE(stream_->Read(&response_));
  EXPECT_TRUE(stream_->Finish().ok());
}

TEST_F(RunTest, ARefusedJobDoesNotDisturbTheOthers) {
  v1::JobSpec bad = TinyJob();
  bad.set_kernel("nothing");
  Start(1, bad);
  const v1::JobUpdate refused = Next(IsRefusal);
  EXPECT_EQ(refused.tag(), 1u);
  EXPECT_EQ(refused.refused().code(), static_cast<int>(grpc::StatusCode::NOT_FOUND));
  EXPECT_EQ(refused.job_id(), "");
  Start(1, TinyJob());  // the tag is free again
  EXPECT_EQ(Next(IsEnd).end().state(), v1::COMPLETED);
  v1::JobSpec by_path = TinyJob();
  by_path.mutable_inputs(0)->set_path("/no/such/file.npy");
  Start(2, by_path);
  EXPECT_EQ(Next(IsRefusal).tag(), 2u);
}

TEST_F(RunTest, StatesOfALongJobThenCancelByTag) {
  Start(7, LongJob());
  EXPECT_EQ(Next(IsRunning).tag(), 7u);
  Start(7, TinyJob());
  EXPECT_THAT(Next(IsRefusal).refused().message(), HasSubstr("tag 7"));
  v1::RunJobsRequest cancel;
  cancel.add_cancel(7);
  cancel.add_cancel(12345);  // nobody's
  ASSERT_TRUE(stream_->Write(cancel));
  EXPECT_EQ(Next(IsEnd).end().state(), v1::CANCELLED);
}

TEST_F(RunTest, StartAndCancelInOneMessage) {
  v1::RunJobsRequest request;
  request.add_start()->set_tag(1);
  *request.mutable_start(0)->mutable_job() = LongJob();
  request.add_cancel(1);
  ASSERT_TRUE(stream_->Write(request));
  EXPECT_EQ(Next(IsEnd).end().state(), v1::CANCELLED);
}

TEST_F(RunTest, ProgressComesWhileAJobRuns) {
  v1::JobSpec job = LongJob();
  (*job.mutable_params())["max_iterations"].set_int_value(300'000);
  Start(1, job);
  EXPECT_GT(Next([](const v1::JobUpdate& update) { return update.has_progress(); }).progress().fraction(), 0);
  v1::RunJobsRequest cancel;
  cancel.add_cancel(1);
  ASSERT_TRUE(stream_->Write(cancel));
  Next(IsEnd);
}

TEST_F(RunTest, NoticesReachAStreamWithoutJobs) {
  Start(1, TinyJob());
  Next(IsEnd);
  server_.engine().Announce("it rains", 12.5);
  const v1::JobUpdate notice = Next([](const v1::JobUpdate& update) { return update.has_notice(); });
  EXPECT_EQ(notice.notice().text(), "it rains");
  EXPECT_EQ(notice.notice().seconds_left(), 12.5);
}

TEST_F(RunTest, WhatBecomesOfJobsWhoseStreamBreaks) {
  v1::JobSpec cancelled = LongJob(), detached = LongJob();
  cancelled.set_disconnect_policy(v1::DISCONNECT_POLICY_CANCEL);
  detached.set_disconnect_policy(v1::DISCONNECT_POLICY_DETACH);
  Start(1, cancelled);
  const std::string cancelled_id = Next(IsRunning).job_id();
  Start(2, detached);
  const std::string detached_id = Next(IsRunning).job_id();
  call_->TryCancel();
  EXPECT_EQ(stream_->Finish().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_EQ(WaitFor(cancelled_id, Ended).state(), v1::CANCELLED);
  const v1::Job job = WaitFor(detached_id, [](const v1::Job& one) { return one.detached(); });
  EXPECT_EQ(job.state(), v1::RUNNING);
  Cancel(detached_id);
  EXPECT_EQ(WaitFor(detached_id, Ended).state(), v1::CANCELLED);
}

}  // namespace
}  // namespace hotplate::server
