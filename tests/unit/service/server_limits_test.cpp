// Limits over the wire: messages that are too large, files that wait, and what counts as use.
#include <gmock/gmock.h>

#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "tests/unit/service/test_server.h"

namespace hotplate::server {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// The watcher's token has bounds, the owner's has none.
class GuestTest : public ServerTest {
 protected:
  GuestTest() : ServerTest(WithAllowance()) {}

  static TestServer::Options WithAllowance() {
    TestServer::Options options;
    const auto allowances = std::make_shared<core::Allowances>();
    allowances->Set("watcher", {.devices = {"gpu7"}});
    options.engine.allowances = allowances;
    return options;
  }
  grpc::Status Check(const std::string& token, const v1::JobSpec& job) {
    v1::CheckJobRequest request;
    *request.mutable_job() = job;
    v1::CheckJobResponse response;
    return jobs_->Check(Call(token), request, &response);
  }
};

TEST_F(GuestTest, PathsAndDevicesAreTheOwnersAlone) {
  v1::JobSpec job = TinyJob();
  v1::JobOutput& output = *job.add_outputs();
  output.set_name("c");
  output.set_path(server_.folder() + "/c.npy");
  EXPECT_TRUE(Check(TestServer::kToken, job).ok());
  grpc::Status refused = Check(TestServer::kWatcherToken, job);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(refused.error_message(), HasSubstr("outputs.c: token \"watcher\" may not write files on the node"));
  job.clear_outputs();
  job.mutable_inputs(0)->set_path(server_.folder() + "/absent.npy");
  EXPECT_EQ(Check(TestServer::kToken, job).error_code(), grpc::StatusCode::NOT_FOUND);
  refused = Check(TestServer::kWatcherToken, job);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(refused.error_message(), HasSubstr("token \"watcher\" may read no files on the node; send the array"));
  refused = Check(TestServer::kWatcherToken, TinyJob());
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(refused.error_message(), HasSubstr("may use gpu7 alone, which this daemon does not have"));
  EXPECT_TRUE(Check(TestServer::kToken, TinyJob()).ok());
}

class SmallMessagesTest : public ServerTest {
 protected:
  SmallMessagesTest() : ServerTest(TestServer::OptionsWith(true, "", kLimit)) {}

  static constexpr std::uint64_t kLimit = 1 << 20;

  static v1::JobSpec LargeJob(std::size_t bytes = 2 << 20) {
    v1::JobSpec job = TinyJob();
    job.set_device(std::string(bytes, 'd'));
    return job;
  }
  static void ExpectNamed(const std::string& message) {
    EXPECT_THAT(message, AllOf(HasSubstr("message-bytes is 1048576"), HasSubstr("the message has 2097"),
                               HasSubstr("--message-bytes"), HasSubstr("hotplate put")));
  }
  static void ExpectNamed(const grpc::Status& status) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    ExpectNamed(status.error_message());
  }
};

TEST_F(SmallMessagesTest, UnaryCallsNameTheLimit) {
  v1::ExecuteJobRequest execute;
  *execute.mutable_job() = LargeJob();
  v1::ExecuteJobResponse executed;
  ExpectNamed(jobs_->Execute(Call(), execute, &executed));
  v1::SubmitJobRequest submit;
  *submit.mutable_job() = LargeJob();
  v1::SubmitJobResponse submitted;
  ExpectNamed(jobs_->Submit(Call(), submit, &submitted));
  v1::CheckJobRequest check;
  *check.mutable_job() = LargeJob();
  v1::CheckJobResponse checked;
  ExpectNamed(jobs_->Check(Call(), check, &checked));

  *execute.mutable_job() = TinyJob();
  EXPECT_TRUE(jobs_->Execute(Call(), execute, &executed).ok());
}

TEST_F(SmallMessagesTest, AStreamGoesOnAfterAMessageThatWasTooLarge) {
  Call call;
  const auto stream = jobs_->Run(call);
  v1::RunJobsRequest request;
  request.add_start()->set_tag(7);
  *request.mutable_start(0)->mutable_job() = LargeJob();
  ASSERT_TRUE(stream->Write(request));
  v1::RunJobsResponse response;
  ASSERT_TRUE(stream->Read(&response));
  ASSERT_EQ(response.updates_size(), 1);
  EXPECT_EQ(response.updates(0).tag(), 7u);
  ExpectNamed(response.updates(0).refused().message());
  EXPECT_EQ(response.updates(0).refused().code(), grpc::StatusCode::RESOURCE_EXHAUSTED);

  *request.mutable_start(0)->mutable_job() = TinyJob();
  ASSERT_TRUE(stream->Write(request));
  bool ended = false;
  while (!ended && stream->Read(&response)) {
    for (const v1::JobUpdate& update : response.updates()) ended = ended || update.has_end();
  }
  EXPECT_TRUE(ended);
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(SmallMessagesTest, AChunkOfAnUploadToo) {
  v1::CreateArrayRequest create;
  create.mutable_signature()->set_dtype(v1::DTYPE_FLOAT32);
  create.mutable_signature()->add_shape(1 << 20);
  v1::CreateArrayResponse created;
  ASSERT_TRUE(arrays_->Create(Call(), create, &created).ok());
  Call call;
  v1::WriteArrayResponse response;
  const auto writer = arrays_->Write(call, &response);
  v1::WriteArrayRequest chunk;
  chunk.set_array_id(created.array().id());
  chunk.set_data(std::string(2 << 20, 'x'));
  writer->Write(chunk);
  writer->WritesDone();
  ExpectNamed(writer->Finish());
}

TEST_F(SmallMessagesTest, WhatIsFarTooLargeIsNotEvenRead) {
  v1::ExecuteJobRequest request;
  *request.mutable_job() = LargeJob(kRoomToRefuse + (2 << 20));
  v1::ExecuteJobResponse response;
  EXPECT_EQ(jobs_->Execute(Call(), request, &response).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  *request.mutable_job() = TinyJob();
  EXPECT_TRUE(jobs_->Execute(Call(), request, &response).ok()) << "the server goes on";
}

// A few kilobytes may become gigabytes: gRPC bounds a message as it came.
TEST_F(SmallMessagesTest, WhatIsCompressedIsNotUnpacked) {
  for (const auto& [algorithm, name] : {std::pair(GRPC_COMPRESS_GZIP, "gzip"), {GRPC_COMPRESS_DEFLATE, "deflate"}}) {
    Call call;
    call->set_compression_algorithm(algorithm);
    v1::ExecuteJobRequest request;
    *request.mutable_job() = LargeJob();
    v1::ExecuteJobResponse response;
    const grpc::Status status = jobs_->Execute(call, request, &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED) << status.error_message();
    EXPECT_THAT(status.error_message(), HasSubstr(name));
  }
}

// Holds the thread that opens files, as a file system that hangs would.
class HeldFilesTest : public ServerTest {
 protected:
  HeldFilesTest() {
    const auto held = std::make_shared<std::promise<void>>();
    const absl::Status posted = server_.context().PostForFiles(0, [held, released = released_.get_future().share()] {
      held->set_value();
      released.wait();
    });
    EXPECT_TRUE(posted.ok()) << posted;
    held->get_future().wait();
  }
  ~HeldFilesTest() override { Release(); }

  void Release() {
    if (!std::exchange(is_released_, true)) released_.set_value();
  }
  // Until all that was posted so far has run.
  void AwaitFiles() {
    const auto done = std::make_shared<std::promise<void>>();
    ASSERT_TRUE(server_.context().PostForFiles(0, [done] { done->set_value(); }).ok());
    done->get_future().wait();
  }
  v1::JobSpec JobByPath() const {
    v1::JobSpec job = TinyJob();
    // Long enough that a string of the request would not live in the message itself.
    for (v1::JobInput& input : *job.mutable_inputs()) input.set_path(server_folder_ + std::string(200, 'x') + ".npy");
    return job;
  }

 private:
  const std::string server_folder_ = server_.folder() + "/";
  std::promise<void> released_;
  bool is_released_ = false;
};

TEST_F(HeldFilesTest, ACallMayEndWhileItWaitsForItsFiles) {
  for (int i = 0; i < 20; ++i) {
    Call call;
    call->set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(20));
    v1::ExecuteJobRequest request;
    *request.mutable_job() = JobByPath();
    v1::ExecuteJobResponse response;
    EXPECT_EQ(jobs_->Execute(call, request, &response).error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  }
  Release();
  AwaitFiles();
  v1::ListJobsResponse list;
  ASSERT_TRUE(jobs_->List(Call(), {}, &list).ok());
  EXPECT_EQ(list.jobs_size(), 0);
}

class SlowPathsTest : public ServerTest {};

// The request of a unary call is gone once the call is finished, which a cancel does at once: also while the files'
// thread goes through the job. It used to read the request itself then (seen by AddressSanitizer).
TEST_F(SlowPathsTest, ACallMayBeCancelledWhileItsFilesAreOpened) {
  const std::string folder = server_.folder() + "/d";
  ASSERT_TRUE(std::filesystem::create_directory(folder));
  std::string path = folder;
  while (path.size() < 4000) path += "/../d";  // milliseconds, all of them together
  path += "/absent.npy";
  v1::ExecuteJobRequest request;
  request.mutable_job()->set_kernel("vector_add");
  for (int i = 0; i < 60; ++i) {
    v1::JobInput& input = *request.mutable_job()->add_inputs();
    input.set_name("an_input_with_a_long_name_" + std::to_string(i));
    input.set_path(path);
  }
  // Not known from here when the thread is at it: so at many moments.
  for (int i = 0; i < 80; ++i) {
    Call call;
    std::thread caller([&] {
      v1::ExecuteJobResponse response;
      const grpc::StatusCode code = jobs_->Execute(call, request, &response).error_code();
      EXPECT_TRUE(code == grpc::StatusCode::CANCELLED || code == grpc::StatusCode::NOT_FOUND) << code;
    });
    const auto moment = std::chrono::steady_clock::now() + i * std::chrono::microseconds(100);
    while (std::chrono::steady_clock::now() < moment) std::this_thread::yield();
    call->TryCancel();
    caller.join();
  }
}

TEST_F(HeldFilesTest, WhatWaitsForFilesIsBoundedAndSaysSo) {
  absl::Status status;
  for (std::size_t i = 0; i <= FileThread::kMostTasks && status.ok(); ++i) {
    status = server_.context().PostForFiles(1, [] {});
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  v1::ExecuteJobRequest execute;
  *execute.mutable_job() = JobByPath();
  v1::ExecuteJobResponse executed;
  v1::SubmitJobRequest submit;
  *submit.mutable_job() = JobByPath();
  v1::SubmitJobResponse submitted;
  for (const grpc::Status& full :
       {jobs_->Execute(Call(), execute, &executed), jobs_->Submit(Call(), submit, &submitted)}) {
    EXPECT_EQ(full.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_THAT(full.error_message(), HasSubstr("1024 jobs wait for files to be looked at"));
  }
  Call call;
  const auto stream = jobs_->Run(call);
  v1::RunJobsRequest request;
  request.add_start()->set_tag(1);
  *request.mutable_start(0)->mutable_job() = JobByPath();
  v1::RunJobsResponse response;
  ASSERT_TRUE(stream->Write(request) && stream->Read(&response));
  EXPECT_THAT(response.updates(0).refused().message(), HasSubstr("1024 jobs wait for files to be looked at"));
}

TEST_F(HeldFilesTest, WaitingForFilesIsUse) {
  EXPECT_EQ(server_.engine().Status().idle, core::nanoseconds::zero());
  EXPECT_FALSE(server_.engine().DrainIfIdle(std::chrono::nanoseconds(1), "idle"));
  Release();
  AwaitFiles();
  EXPECT_TRUE(Eventually([&] { return server_.engine().DrainIfIdle(std::chrono::nanoseconds(1), "idle"); }));
}

class UseTest : public ServerTest {
 protected:
  bool InUse() { return server_.engine().Status().idle == core::nanoseconds::zero(); }

  std::string Create(std::int64_t elements) {
    v1::CreateArrayRequest create;
    create.mutable_signature()->set_dtype(v1::DTYPE_FLOAT32);
    create.mutable_signature()->add_shape(elements);
    v1::CreateArrayResponse created;
    EXPECT_TRUE(arrays_->Create(Call(), create, &created).ok());
    return created.array().id();
  }
};

TEST_F(UseTest, UploadsAndDownloadsAreAndLookersOnAreNot) {
  Call looks_on;
  v1::WatchTelemetryRequest every;
  every.mutable_interval()->set_nanos(100'000'000);
  const auto telemetry = telemetry_->Watch(looks_on, every);
  v1::WatchTelemetryResponse sample;
  ASSERT_TRUE(telemetry->Read(&sample));
  Call has_no_job;
  const auto run = jobs_->Run(has_no_job);
  EXPECT_TRUE(Eventually([&] { return !InUse(); })) << "neither top nor an open stream without a job is use";

  const std::string id = Create(16 << 20);  // more than gRPC's buffers hold
  {
    Call call;
    v1::WriteArrayResponse response;
    const auto writer = arrays_->Write(call, &response);
    v1::WriteArrayRequest chunk;
    chunk.set_array_id(id);
    chunk.set_data(std::string(1 << 20, 'x'));
    ASSERT_TRUE(writer->Write(chunk));
    EXPECT_TRUE(Eventually([&] { return InUse(); }));
    EXPECT_FALSE(server_.engine().DrainIfIdle(std::chrono::nanoseconds(1), "idle"));
    for (int i = 1; i < 64; ++i) ASSERT_TRUE(writer->Write(chunk));
    writer->WritesDone();
    ASSERT_TRUE(writer->Finish().ok());
  }
  EXPECT_TRUE(Eventually([&] { return !InUse(); }));
  {
    Call call;
    v1::ReadArrayRequest request;
    request.set_array_id(id);
    const auto reader = arrays_->Read(call, request);
    v1::ReadArrayResponse chunk;
    ASSERT_TRUE(reader->Read(&chunk));
    EXPECT_TRUE(InUse()) << "most of it is still to come";
    call->TryCancel();
    reader->Finish();
  }
  EXPECT_TRUE(Eventually([&] { return !InUse(); }));
  looks_on->TryCancel();
  telemetry->Finish();
  run->WritesDone();
  EXPECT_TRUE(run->Finish().ok());
}

// As that for a job that there is not: the journal has to be asked.
TEST_F(UseTest, AQuestionIsUnlessTheCallerMayOnlyObserve) {
  const core::Principal observer{"watcher", core::SessionId("w"), core::Scope::kObserve};
  const core::Principal submitter{"anna", core::SessionId("a"), core::Scope::kSubmit};
  std::promise<void> answered;
  const std::shared_future<void> answer = answered.get_future().share();
  ASSERT_TRUE(server_.context().PostQuestion(observer, 1, [answer] { answer.wait(); }).ok());
  EXPECT_TRUE(Eventually([&] { return !InUse(); }));
  ASSERT_TRUE(server_.context().PostQuestion(submitter, 1, [] {}).ok());
  EXPECT_TRUE(InUse()) << "it waits behind the other";
  answered.set_value();
  EXPECT_TRUE(Eventually([&] { return !InUse(); }));
}

TEST_F(UseTest, ADrainingDaemonTakesNoUploadAndGivesDownloads) {
  const std::string id = Create(4), other = Create(4);
  v1::CreateArrayRequest replacing;
  replacing.set_name("kept");
  replacing.mutable_signature()->set_dtype(v1::DTYPE_FLOAT32);
  replacing.mutable_signature()->add_shape(4);
  v1::CreateArrayResponse named;
  ASSERT_TRUE(arrays_->Create(Call(), replacing, &named).ok());
  const auto write = [&](const std::string& array) {
    Call call;
    v1::WriteArrayResponse response;
    const auto writer = arrays_->Write(call, &response);
    v1::WriteArrayRequest chunk;
    chunk.set_array_id(array);
    chunk.set_data(std::string(16, 'x'));
    writer->Write(chunk);
    writer->WritesDone();
    return writer->Finish();
  };
  ASSERT_TRUE(write(id).ok());
  v1::DrainResponse drained;
  ASSERT_TRUE(daemon_->Drain(Call(), {}, &drained).ok());
  replacing.set_replace(true);
  EXPECT_EQ(arrays_->Create(Call(), replacing, &named).error_code(), grpc::StatusCode::UNAVAILABLE);
  v1::DescribeArrayRequest old;
  old.set_array_id("kept");
  v1::DescribeArrayResponse there;
  EXPECT_TRUE(arrays_->Describe(Call(), old, &there).ok()) << "what was to be replaced is there still";
  const grpc::Status late = write(other);
  EXPECT_EQ(late.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(late.error_message(), HasSubstr("draining"));
  Call call;
  v1::ReadArrayRequest request;
  request.set_array_id(id);
  const auto reader = arrays_->Read(call, request);
  v1::ReadArrayResponse chunk;
  EXPECT_TRUE(reader->Read(&chunk));
  EXPECT_TRUE(reader->Finish().ok());
}

}  // namespace
}  // namespace hotplate::server
