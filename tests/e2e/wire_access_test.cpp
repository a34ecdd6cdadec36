// Who is let in, spoken with bare stubs: tokens, sessions and how many there may be.
#include <grpcpp/generic/generic_stub.h>

#include <string>
#include <vector>

#include "tests/e2e/wire_fixture.h"

namespace hotplate::e2e {
namespace {

using grpc::StatusCode;

TEST_F(WireTest, NoMethodOfAnyServiceAnswersWithoutTheToken) {
  std::vector<std::string> methods = {"/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch",
                                      "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"};
  for (const auto* method : AllMethods()) methods.push_back(PathOf(*method));
  ASSERT_GE(methods.size(), 25U);
  const std::string session(32, '7');
  for (const std::string& method : methods) {
    EXPECT_EQ(Raw(method, Caller("", session)).first.error_code(), StatusCode::UNAUTHENTICATED) << method;
    EXPECT_EQ(Raw(method, Caller(std::string(64, '0'), session)).first.error_code(), StatusCode::UNAUTHENTICATED)
        << method;
    const std::string almost = daemon_->record().token().substr(0, 63);
    EXPECT_EQ(Raw(method, Caller(almost, session)).first.error_code(), StatusCode::UNAUTHENTICATED) << method;
  }
  const std::string log = daemon_->Log();
  EXPECT_EQ(log.find(daemon_->record().token()), std::string::npos);
  EXPECT_EQ(log.find(daemon_->record().token().substr(0, 63)), std::string::npos);
}

TEST_F(WireTest, HealthAndReflectionAnswerWithTheToken) {
  const auto [health, answer] = Raw("/grpc.health.v1.Health/Check", *caller_);
  EXPECT_TRUE(health.ok()) << health.error_message();
  EXPECT_EQ(answer, std::string("\x08\x01"));  // status: SERVING
  // list_services: field 7, the empty text.
  const std::string services =
      Raw("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", *caller_, std::string("\x3a\x00", 2))
          .second;
  for (const char* name : {"hotplate.v1.Jobs", "hotplate.v1.Arrays", "hotplate.v1.Catalogue", "hotplate.v1.Server",
                           "hotplate.v1.Telemetry"}) {
    EXPECT_NE(services.find(name), std::string::npos) << name;
  }
}

TEST_F(WireTest, BytesThatAreNoMessageAreRefusedAsSuch) {
  const std::string junk(3, '\xff');
  int seen = 0;
  for (const auto* method : AllMethods()) {
    const grpc::Status status = Raw(PathOf(*method), *caller_, junk).first;
    EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT) << PathOf(*method) << ": " << status.error_message();
    EXPECT_FALSE(status.error_message().empty()) << PathOf(*method);
    if (status.error_message().find(method->input_type()->full_name()) != std::string::npos) ++seen;
    EXPECT_EQ(Raw(PathOf(*method), Caller("", std::string(32, '7')), junk).first.error_code(),
              StatusCode::UNAUTHENTICATED)
        << PathOf(*method);
  }
  EXPECT_GE(seen, 20);
}

TEST_F(WireTest, JunkAmongTheJobsOfAStreamEndsItWithTheReason) {
  // A good request before it is answered first.
  v1::RunJobsRequest request;
  request.add_start()->set_tag(7);
  *request.mutable_start(0)->mutable_job() = VectorAdd({1, 2});
  grpc::GenericStub stub(channel_);
  const auto context = caller_->Context();
  grpc::CompletionQueue queue;
  const auto done = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  const auto call = stub.PrepareCall(context.get(), "/hotplate.v1.Jobs/Run", &queue);
  call->StartCall(nullptr);
  ASSERT_TRUE(done());
  for (const std::string& bytes : {request.SerializeAsString(), std::string(3, '\xff')}) {
    const grpc::Slice slice(bytes);
    call->Write(grpc::ByteBuffer(&slice, 1), nullptr);
    ASSERT_TRUE(done());
    if (bytes.size() == 3) break;
    grpc::ByteBuffer answer;
    call->Read(&answer, nullptr);
    ASSERT_TRUE(done());
    EXPECT_GT(answer.Length(), 8U);
  }
  // The client goes on writing: the daemon says so now, not when it stops.
  grpc::ByteBuffer more;
  do call->Read(&more, nullptr);
  while (done());
  grpc::Status status;
  call->Finish(&status, nullptr);
  done();
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT) << status.error_message();
  EXPECT_NE(status.error_message().find("hotplate.v1.RunJobsRequest"), std::string::npos) << status.error_message();
  queue.Shutdown();
  while (done()) {
  }
}

TEST_F(WireTest, ASessionThatIsNoneIsRefusedWithItsValue) {
  for (const char* session : {"short", "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"}) {
    v1::ExecuteJobRequest request;
    *request.mutable_job() = Integral(10);
    v1::ExecuteJobResponse response;
    const grpc::Status status =
        jobs_->Execute(Caller(daemon_->record().token(), session).Context().get(), request, &response);
    EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT) << '"' << session << "\": " << status.error_message();
    EXPECT_NE(status.error_message().find("session"), std::string::npos) << status.error_message();
  }
}

TEST_F(WireTest, SessionsThatHoldNothingGiveWay) {
  // Every command of a shell script is a session of its own.
  Start({"--max-sessions", "3"});
  v1::ExecuteJobRequest request;
  *request.mutable_job() = Integral(10);
  v1::ExecuteJobResponse response;
  for (int i = 0; i < 10; ++i) {
    const grpc::Status status = jobs_->Execute(Caller::Of(*daemon_).Context().get(), request, &response);
    EXPECT_TRUE(status.ok()) << "session " << i << ": " << status.error_message();
  }
  v1::Array array;
  ASSERT_TRUE(Create({4}, array).ok());
  for (int i = 0; i < 10; ++i) jobs_->Execute(Caller::Of(*daemon_).Context().get(), request, &response);
  EXPECT_EQ(Describe(array.id()).id(), array.id()) << "the session that holds an array stays";
}

TEST_F(WireTest, ALimitOnSessions) {
  Start({"--max-sessions", "3"});
  v1::CreateArrayRequest request;
  request.mutable_signature()->set_dtype(v1::DTYPE_FLOAT32);
  v1::CreateArrayResponse response;
  grpc::Status status;
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(status.ok()) << status.error_message();
    status = arrays_->Create(Caller::Of(*daemon_).Context().get(), request, &response);
  }
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_NE(status.error_message().find("max-sessions"), std::string::npos) << status.error_message();
}

// Dead clients that held a byte each used to lock out the daemon's owner for ten minutes.
TEST_F(WireTest, TheOwnerIsNeverLockedOut) {
  Start({"--disconnect-grace", "1h"});  // however slow the machine is, they may come back
  v1::CreateArrayRequest request;
  request.mutable_signature()->set_dtype(v1::DTYPE_BOOL);
  request.mutable_signature()->add_shape(1);
  v1::CreateArrayResponse response;
  std::string of_another;
  grpc::Status status;
  for (int i = 0; i < 400 && status.ok(); ++i) {
    status = arrays_->Create(Caller::Of(*daemon_).Context().get(), request, &response);
    if (status.ok()) of_another = response.array().id();
  }
  ASSERT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  std::string job;
  const auto expect_ok = [](const grpc::Status& call) { EXPECT_TRUE(call.ok()) << call.error_message(); };
  v1::GetServerInfoResponse info;
  expect_ok(server_->GetInfo(Caller::Of(*daemon_).Context().get(), {}, &info));
  v1::ListArraysResponse arrays;
  expect_ok(arrays_->List(Caller::Of(*daemon_).Context().get(), {}, &arrays));
  EXPECT_GE(arrays.arrays_size(), 256);
  v1::FreeArrayRequest free;
  free.set_array_id(of_another);
  v1::FreeArrayResponse freed;
  expect_ok(arrays_->Free(Caller::Of(*daemon_).Context().get(), free, &freed));
  ASSERT_TRUE(Submit(Integral(kForHours), job).ok()) << "the place of one that holds nothing any more";
  v1::CancelJobRequest cancel;
  cancel.set_job_id(job);
  v1::CancelJobResponse cancelled;
  expect_ok(jobs_->Cancel(Caller::Of(*daemon_).Context().get(), cancel, &cancelled));
  v1::ListJobsResponse list;
  expect_ok(jobs_->List(Caller::Of(*daemon_).Context().get(), {}, &list));
  const auto context = Caller::Of(*daemon_).Context();
  v1::WatchJobRequest watch;
  watch.set_job_id(job);
  v1::WatchJobResponse update;
  const auto watching = jobs_->Watch(context.get(), watch);
  EXPECT_TRUE(watching->Read(&update));
  while (watching->Read(&update)) {
  }
  expect_ok(watching->Finish());
  v1::DrainResponse draining;
  expect_ok(server_->Drain(Caller::Of(*daemon_).Context().get(), {}, &draining));
}

TEST_F(WireTest, OpenRunStreamsLeaveRoomForARun) {
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReaderWriter<v1::RunJobsRequest, v1::RunJobsResponse>>> streams;
  v1::RunJobsRequest request;
  request.add_start()->set_tag(1);
  *request.mutable_start(0)->mutable_job() = VectorAdd({1, 2});
  for (int i = 0; i < 300; ++i) {
    contexts.push_back(Caller::Of(*daemon_).Context());
    streams.push_back(jobs_->Run(contexts.back().get()));
    v1::RunJobsResponse response;
    const bool runs = streams.back()->Write(request) && streams.back()->Read(&response);
    if (!runs) ADD_FAILURE() << "stream " << i << ": " << streams.back()->Finish().error_message();
    if (!runs) return;
    bool ended = false;
    do {
      for (const v1::JobUpdate& one : response.updates()) ended = ended || one.has_end();
    } while (!ended && streams.back()->Read(&response));
    ASSERT_TRUE(ended) << i;
  }
}

// A client that was killed used to keep its memory for ten minutes, whoever else needed it.
TEST_F(WireTest, WhatNobodyIsThereForMakesRoomForOthers) {
  Start({"--array-bytes", "1MB", "--disconnect-grace", "300ms"});
  v1::Array left, wanted;
  ASSERT_TRUE(Create({200'000}, left).ok());
  ASSERT_TRUE(Write(left.id(), 0, 800'000).ok());
  const Caller other = Caller::Of(*daemon_);
  v1::CheckJobRequest check;
  check.mutable_job()->set_kernel("vector_add");
  for (const char* name : {"a", "b"}) {
    v1::JobInput* input = check.mutable_job()->add_inputs();
    input->set_name(name);
    input->mutable_signature()->set_dtype(v1::DTYPE_FLOAT32);
    input->mutable_signature()->add_shape(50'000);
  }
  EXPECT_TRUE(WaitUntil([&] {
    v1::CheckJobResponse report;
    const grpc::Status status = jobs_->Check(other.Context().get(), check, &report);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return report.array_memory().bytes_free() == 1'000'000;
  })) << "the dry run counts it";
  v1::CreateArrayRequest request;
  request.mutable_signature()->set_dtype(v1::DTYPE_FLOAT32);
  request.mutable_signature()->add_shape(200'000);
  v1::CreateArrayResponse response;
  const grpc::Status status = arrays_->Create(other.Context().get(), request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  v1::DescribeArrayRequest describe;
  describe.set_array_id(left.id());
  v1::DescribeArrayResponse gone;
  EXPECT_EQ(arrays_->Describe(other.Context().get(), describe, &gone).error_code(), StatusCode::NOT_FOUND);
}

}  // namespace
}  // namespace hotplate::e2e
