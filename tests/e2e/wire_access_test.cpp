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

}  // namespace
}  // namespace hotplate::e2e
