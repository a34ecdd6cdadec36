// What a client may send that our own never would, and what the protocol promises to any client: spoken with bare
// stubs.
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "hotplate/v1/arrays.grpc.pb.h"
#include "hotplate/v1/catalogue.grpc.pb.h"
#include "hotplate/v1/jobs.grpc.pb.h"
#include "hotplate/v1/server.grpc.pb.h"
#include "hotplate/v1/telemetry.grpc.pb.h"
#include "tests/e2e/daemon_process.h"

namespace hotplate::e2e {
namespace {

using grpc::StatusCode;

std::string Floats(const std::vector<float>& elements) {
  return {reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(float)};
}

void AddInline(v1::JobSpec& job, const std::string& name, const std::vector<float>& elements) {
  v1::JobInput* input = job.add_inputs();
  input->set_name(name);
  v1::InlineArray* array = input->mutable_inline_();
  array->mutable_signature()->set_dtype(v1::DTYPE_FLOAT32);
  array->mutable_signature()->add_shape(static_cast<std::int64_t>(elements.size()));
  array->set_data(Floats(elements));
}

v1::JobSpec VectorAdd(const std::vector<float>& elements) {
  v1::JobSpec job;
  job.set_kernel("vector_add");
  AddInline(job, "a", elements);
  AddInline(job, "b", elements);
  return job;
}

v1::JobSpec Integral(std::int64_t n) {
  v1::JobSpec job;
  job.set_kernel("integrate2d");
  (*job.mutable_params())["n"].set_int_value(n);
  return job;
}
constexpr std::int64_t kForHours = 10'000'000;  // n of an integral that ends only by being cancelled

class WireTest : public ::testing::Test {
 protected:
  void Start(const std::vector<std::string>& flags = {}) {
    daemon_ = std::make_unique<DaemonProcess>(flags);
    if (!daemon_->serving()) return;
    channel_ = daemon_->Channel();
    caller_ = std::make_unique<Caller>(Caller::Of(*daemon_));
    jobs_ = v1::Jobs::NewStub(channel_);
    arrays_ = v1::Arrays::NewStub(channel_);
    server_ = v1::Server::NewStub(channel_);
    telemetry_ = v1::Telemetry::NewStub(channel_);
  }
  void SetUp() override {
    Start();
    ASSERT_TRUE(daemon_->serving());
  }
  void TearDown() override {
    if (!daemon_ || !daemon_->serving()) return;
    EXPECT_TRUE(daemon_->alive()) << daemon_->Log();
  }

  // The code and bytes of a call of any method, with a message that is empty unless told.
  std::pair<grpc::Status, std::string> Raw(const std::string& method, const Caller& caller,
                                           const std::string& message = "") {
    grpc::GenericStub stub(channel_);
    const auto context = caller.Context();
    grpc::CompletionQueue queue;
    const auto call = stub.PrepareCall(context.get(), method, &queue);
    const auto done = [&queue] {
      void* tag = nullptr;
      bool ok = false;
      return queue.Next(&tag, &ok) && ok;
    };
    std::string answer;
    call->StartCall(nullptr);
    if (done()) {
      const grpc::Slice slice(message);
      call->WriteLast(grpc::ByteBuffer(&slice, 1), grpc::WriteOptions(), nullptr);
      done();
      grpc::ByteBuffer buffer;
      call->Read(&buffer, nullptr);
      std::vector<grpc::Slice> slices;
      if (done() && buffer.Dump(&slices).ok()) {
        for (const grpc::Slice& part : slices) answer.append(reinterpret_cast<const char*>(part.begin()), part.size());
      }
    }
    grpc::Status status;
    call->Finish(&status, nullptr);
    done();
    queue.Shutdown();
    while (done()) {
    }
    return {status, answer};
  }

  grpc::Status Execute(const v1::JobSpec& job, v1::ExecuteJobResponse& response) {
    v1::ExecuteJobRequest request;
    *request.mutable_job() = job;
    return jobs_->Execute(caller_->Context().get(), request, &response);
  }

  grpc::Status Submit(const v1::JobSpec& job, std::string& job_id) {
    v1::SubmitJobRequest request;
    *request.mutable_job() = job;
    v1::SubmitJobResponse response;
    const grpc::Status status = jobs_->Submit(caller_->Context().get(), request, &response);
    job_id = response.job_id();
    return status;
  }

  grpc::Status Create(const std::vector<std::int64_t>& shape, v1::Array& array) {
    v1::CreateArrayRequest request;
    request.mutable_signature()->set_dtype(v1::DTYPE_FLOAT32);
    for (const std::int64_t size : shape) request.mutable_signature()->add_shape(size);
    v1::CreateArrayResponse response;
    const grpc::Status status = arrays_->Create(caller_->Context().get(), request, &response);
    array = response.array();
    return status;
  }

  // One message of `bytes` at `offset`.
  grpc::Status Write(const std::string& id, std::uint64_t offset, std::size_t bytes) {
    const auto context = caller_->Context();
    v1::WriteArrayResponse response;
    const auto writer = arrays_->Write(context.get(), &response);
    v1::WriteArrayRequest request;
    request.set_array_id(id);
    request.set_offset(offset);
    request.set_data(std::string(bytes, '\1'));
    writer->Write(request);
    writer->WritesDone();
    return writer->Finish();
  }

  v1::Array Describe(const std::string& id) {
    v1::DescribeArrayRequest request;
    request.set_array_id(id);
    v1::DescribeArrayResponse response;
    const grpc::Status status = arrays_->Describe(caller_->Context().get(), request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.array();
  }

  // Asked by another session, so that the asking keeps nothing alive.
  std::uint64_t ArrayBytes() {
    v1::TelemetrySnapshotResponse response;
    const grpc::Status status = telemetry_->Snapshot(Caller::Of(*daemon_).Context().get(), {}, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.samples().empty() ? ~std::uint64_t{0} : response.samples().rbegin()->daemon().array_bytes();
  }

  v1::JobState StateOf(const std::string& job_id) {
    v1::GetJobRequest request;
    request.set_job_id(job_id);
    v1::GetJobResponse response;
    const grpc::Status status = jobs_->Get(caller_->Context().get(), request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.job().state();
  }

  void Cancel(const std::string& job_id) {
    v1::CancelJobRequest request;
    request.set_job_id(job_id);
    v1::CancelJobResponse response;
    EXPECT_TRUE(jobs_->Cancel(caller_->Context().get(), request, &response).ok());
  }

  std::unique_ptr<DaemonProcess> daemon_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<Caller> caller_;
  std::unique_ptr<v1::Jobs::Stub> jobs_;
  std::unique_ptr<v1::Arrays::Stub> arrays_;
  std::unique_ptr<v1::Server::Stub> server_;
  std::unique_ptr<v1::Telemetry::Stub> telemetry_;
};

std::vector<std::string> AllMethods() {
  std::vector<std::string> methods = {"/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch",
                                      "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"};
  for (const auto* file :
       {v1::ArrayState_descriptor()->file(), v1::JobState_descriptor()->file(), v1::DaemonState_descriptor()->file(),
        v1::ParamType_descriptor()->file(), v1::TelemetrySample::descriptor()->file()}) {
    for (int s = 0; s < file->service_count(); ++s) {
      for (int m = 0; m < file->service(s)->method_count(); ++m) {
        methods.push_back("/" + file->service(s)->full_name() + "/" + file->service(s)->method(m)->name());
      }
    }
  }
  return methods;
}

TEST_F(WireTest, NoMethodOfAnyServiceAnswersWithoutTheToken) {
  const std::vector<std::string> methods = AllMethods();
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

TEST_F(WireTest, EveryAnswerNamesTheStartOfTheDaemon) {
  v1::ExecuteJobResponse executed;
  ASSERT_TRUE(Execute(VectorAdd({1, 2, 3, 4}), executed).ok());
  EXPECT_EQ(executed.generation(), daemon_->record().generation());
  ASSERT_EQ(executed.end().state(), v1::COMPLETED);
  ASSERT_EQ(executed.end().result().outputs_size(), 1);
  EXPECT_EQ(executed.end().result().outputs(0).inline_(), Floats({2, 4, 6, 8}));
  EXPECT_EQ(executed.end().result().receipt().job_id(), executed.job_id());
  v1::GetServerInfoResponse info;
  ASSERT_TRUE(server_->GetInfo(caller_->Context().get(), {}, &info).ok());
  EXPECT_EQ(info.generation(), daemon_->record().generation());
  EXPECT_EQ(info.pid(), daemon_->record().pid());
}

TEST_F(WireTest, TheSameRequestIdRunsOnce) {
  v1::JobSpec job = Integral(100);
  job.set_request_id("the-same");
  std::string first, second;
  ASSERT_TRUE(Submit(job, first).ok());
  ASSERT_TRUE(Submit(job, second).ok());
  EXPECT_EQ(first, second);

  v1::JobSpec other = Integral(101);
  other.set_request_id("the-same");
  const grpc::Status status = Submit(other, second);
  EXPECT_EQ(status.error_code(), StatusCode::ALREADY_EXISTS);
  EXPECT_NE(status.error_message().find("the-same"), std::string::npos) << status.error_message();

  job.set_request_id(std::string(65, 'x'));
  EXPECT_EQ(Submit(job, second).error_code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(WireTest, AMessageOverTheLimitIsRefusedAndTheConnectionLives) {
  v1::ExecuteJobResponse response;
  const grpc::Status too_long = Execute(VectorAdd(std::vector<float>(2'500'000)), response);  // 20 MB
  EXPECT_EQ(too_long.error_code(), StatusCode::RESOURCE_EXHAUSTED) << too_long.error_message();
  EXPECT_NE(too_long.error_message().find("message-bytes is 8388608"), std::string::npos) << too_long.error_message();
  EXPECT_TRUE(Execute(VectorAdd({1}), response).ok());
}

TEST_F(WireTest, InlineDataMustBeWhatTheSignatureSays) {
  v1::ExecuteJobResponse response;
  for (const std::size_t bytes : {0U, 15U, 17U}) {
    v1::JobSpec job = VectorAdd({1, 2, 3, 4});
    job.mutable_inputs(0)->mutable_inline_()->set_data(std::string(bytes, 'x'));
    EXPECT_EQ(Execute(job, response).error_code(), StatusCode::INVALID_ARGUMENT) << bytes;
  }
  v1::JobSpec job = VectorAdd({1, 2, 3, 4});
  job.mutable_inputs(0)->mutable_inline_()->mutable_signature()->set_shape(0, std::int64_t{1} << 61);
  EXPECT_FALSE(Execute(job, response).ok());
  job.mutable_inputs(0)->mutable_inline_()->mutable_signature()->set_dtype(static_cast<v1::DType>(99));
  EXPECT_EQ(Execute(job, response).error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Execute({}, response).error_code(), StatusCode::INVALID_ARGUMENT);  // no kernel
}

TEST_F(WireTest, ArraysOfAbsurdShapesAreRefusedBeforeMemoryIsTaken) {
  v1::Array array;
  const std::int64_t large = std::int64_t{1} << 60;
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{large},
                                                 {large, large, large},
                                                 {-1},
                                                 {0, large, large, large},
                                                 {4, -4},
                                                 {1, 1, 1, 1, 1, 1, 1, 1, 1}}) {
    const grpc::Status status = Create(shape, array);
    EXPECT_TRUE(status.error_code() == StatusCode::INVALID_ARGUMENT ||
                status.error_code() == StatusCode::RESOURCE_EXHAUSTED)
        << status.error_code() << ": " << status.error_message();
  }
  EXPECT_EQ(ArrayBytes(), 0U);
}

TEST_F(WireTest, AnUploadIsBoundedByItsArray) {
  v1::Array array;
  ASSERT_TRUE(Create({1024}, array).ok());
  EXPECT_FALSE(Write(array.id(), 0, 4097).ok());
  EXPECT_FALSE(Write(array.id(), 8, 16).ok()) << "offset 8 of an array without a byte";
  EXPECT_FALSE(Write(array.id(), ~std::uint64_t{0}, 16).ok());
  EXPECT_EQ(Write("no-such-array", 0, 16).error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(Describe(array.id()).state(), v1::ARRAY_STATE_WRITING);

  v1::ReadArrayRequest read;
  read.set_array_id(array.id());
  const auto context = caller_->Context();
  const auto reader = arrays_->Read(context.get(), read);
  v1::ReadArrayResponse chunk;
  EXPECT_FALSE(reader->Read(&chunk));
  EXPECT_EQ(reader->Finish().error_code(), StatusCode::FAILED_PRECONDITION);

  const std::uint64_t there = Describe(array.id()).bytes_written();
  ASSERT_TRUE(Write(array.id(), there, 4096 - there).ok());
  EXPECT_EQ(Describe(array.id()).state(), v1::ARRAY_STATE_READY);
  EXPECT_FALSE(Write(array.id(), 0, 16).ok()) << "a READY array is not written again";
}

TEST_F(WireTest, AnUploadThatIsCutOffGoesOnWhereItStopped) {
  v1::Array array;
  ASSERT_TRUE(Create({1 << 20}, array).ok());  // 4 MiB
  {
    const auto context = caller_->Context();
    v1::WriteArrayResponse response;
    const auto writer = arrays_->Write(context.get(), &response);
    v1::WriteArrayRequest request;
    request.set_array_id(array.id());
    request.set_data(std::string(1 << 20, 'h'));
    ASSERT_TRUE(writer->Write(request));
    ASSERT_TRUE(WaitUntil([&] { return Describe(array.id()).bytes_written() > 0; }));
    context->TryCancel();
    EXPECT_EQ(writer->Finish().error_code(), StatusCode::CANCELLED);
  }
  std::uint64_t offset = 0;
  // The cut may still be on its way when the next call comes.
  ASSERT_TRUE(WaitUntil([&] {
    offset = Describe(array.id()).bytes_written();
    return Write(array.id(), offset, 1 << 20).ok();
  }));
  EXPECT_EQ(offset, std::uint64_t{1} << 20);
  for (offset += 1 << 20; offset < 4U << 20; offset += 1 << 20) ASSERT_TRUE(Write(array.id(), offset, 1 << 20).ok());
  EXPECT_EQ(Describe(array.id()).state(), v1::ARRAY_STATE_READY);
}

TEST_F(WireTest, AnUploadThatIsCutOffIsFreedWithItsSession) {
  Start({"--session-timeout", "1s"});
  v1::Array array;
  ASSERT_TRUE(Create({1 << 20}, array).ok());
  ASSERT_TRUE(Write(array.id(), 0, 1 << 20).ok());
  EXPECT_TRUE(WaitUntil([&] { return ArrayBytes() == 4U << 20; })) << "telemetry is sampled now and then";
  EXPECT_TRUE(WaitUntil([&] { return ArrayBytes() == 0; })) << daemon_->Log();
}

TEST_F(WireTest, ClosingASessionFreesItsArraysAndCancelsItsJobs) {
  v1::Array array;
  ASSERT_TRUE(Create({1024}, array).ok());
  v1::CloseSessionResponse closed;
  ASSERT_TRUE(server_->CloseSession(caller_->Context().get(), {}, &closed).ok());
  EXPECT_TRUE(WaitUntil([&] { return ArrayBytes() == 0; }));
}

TEST_F(WireTest, ManyJobsOnOneStreamAreToldApartByTheirTags) {
  constexpr int kJobs = 200;
  const auto context = caller_->Context();
  const auto stream = jobs_->Run(context.get());
  v1::RunJobsRequest request;
  for (int tag = 1; tag <= kJobs; ++tag) {
    v1::RunJobsRequest::Start* start = request.add_start();
    start->set_tag(static_cast<std::uint64_t>(tag));
    *start->mutable_job() = VectorAdd({static_cast<float>(tag), 1});
    if (tag % 50 == 0) start->mutable_job()->set_kernel("no_such_kernel");
    if (tag % 7 == 0) {
      ASSERT_TRUE(stream->Write(request));
      request.Clear();
    }
  }
  ASSERT_TRUE(stream->Write(request));
  std::set<std::uint64_t> ended, refused;
  v1::RunJobsResponse response;
  while (ended.size() + refused.size() < kJobs && stream->Read(&response)) {
    for (const v1::JobUpdate& update : response.updates()) {
      if (update.has_refused()) {
        EXPECT_TRUE(refused.insert(update.tag()).second);
        EXPECT_TRUE(update.job_id().empty());
        EXPECT_EQ(update.tag() % 50, 0U);
      }
      if (!update.has_end()) continue;
      EXPECT_TRUE(ended.insert(update.tag()).second) << "two ends of " << update.tag();
      ASSERT_EQ(update.end().state(), v1::COMPLETED) << update.end().error().message();
      EXPECT_EQ(update.end().result().outputs(0).inline_(), Floats({2.0F * static_cast<float>(update.tag()), 2}));
    }
  }
  EXPECT_EQ(ended.size(), 196U);
  EXPECT_EQ(refused.size(), 4U);
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(WireTest, AJobIsCancelledByItsTag) {
  const auto context = caller_->Context();
  const auto stream = jobs_->Run(context.get());
  v1::RunJobsRequest request;
  request.add_start()->set_tag(5);
  *request.mutable_start(0)->mutable_job() = Integral(kForHours);
  ASSERT_TRUE(stream->Write(request));
  v1::RunJobsResponse response;
  v1::JobState last = v1::JOB_STATE_UNSPECIFIED;
  bool asked = false;
  while (last != v1::CANCELLED && stream->Read(&response)) {
    for (const v1::JobUpdate& update : response.updates()) {
      if (update.has_end()) last = update.end().state();
      if (update.has_state_change() && update.state_change().state() == v1::RUNNING && !asked) {
        asked = true;
        v1::RunJobsRequest cancel;
        cancel.add_cancel(5);
        ASSERT_TRUE(stream->Write(cancel));
      }
    }
  }
  EXPECT_EQ(last, v1::CANCELLED);
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(WireTest, AWatchBeginsAtAnySequenceNumber) {
  std::string id;
  ASSERT_TRUE(Submit(Integral(100), id).ok());
  const auto watch = [&](std::uint64_t from) {
    v1::WatchJobRequest request;
    request.set_job_id(id);
    request.set_from_sequence(from);
    const auto context = caller_->Context();
    const auto reader = jobs_->Watch(context.get(), request);
    std::vector<v1::JobUpdate> kept;
    v1::WatchJobResponse response;
    while (reader->Read(&response)) {
      for (const v1::JobUpdate& update : response.updates()) {
        if (update.sequence() > 0) kept.push_back(update);
      }
    }
    EXPECT_TRUE(reader->Finish().ok());
    return kept;
  };
  const std::vector<v1::JobUpdate> all = watch(0);
  ASSERT_GE(all.size(), 2U);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].sequence(), i + 1);
  EXPECT_TRUE(all.back().has_end());
  EXPECT_EQ(all.back().end().state(), v1::COMPLETED);
  const std::vector<v1::JobUpdate> later = watch(all.size());
  ASSERT_EQ(later.size(), 1U);
  EXPECT_TRUE(later.back().has_end());
}

TEST_F(WireTest, CheckRunsNothing) {
  v1::CheckJobRequest request;
  request.mutable_job()->set_kernel("vector_add");
  for (const char* name : {"a", "b"}) {
    v1::JobInput* input = request.mutable_job()->add_inputs();
    input->set_name(name);
    input->mutable_signature()->set_dtype(v1::DTYPE_FLOAT64);
    input->mutable_signature()->add_shape(1000);
  }
  v1::CheckJobResponse response;
  const grpc::Status status = jobs_->Check(caller_->Context().get(), request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(response.outputs_size(), 1);
  EXPECT_EQ(response.outputs(0).signature().dtype(), v1::DTYPE_FLOAT64);
  EXPECT_EQ(response.outputs(0).signature().shape(0), 1000);
  EXPECT_EQ(response.flop(), 1000);
  ASSERT_GE(response.devices_size(), 1);
  EXPECT_EQ(response.devices(0).fit(), v1::DeviceFit::NOW);
  v1::ListJobsResponse jobs;
  ASSERT_TRUE(jobs_->List(caller_->Context().get(), {}, &jobs).ok());
  EXPECT_EQ(jobs.jobs_size(), 0);

  std::string id;
  EXPECT_FALSE(Submit(request.job(), id).ok()) << "a signature alone is nothing to run";
}

TEST_F(WireTest, AttachedJobsEndWithTheirStreamUnlessTheyDetach) {
  Start({"--disconnect-grace", "100ms"});
  std::vector<std::string> ids;
  for (const v1::DisconnectPolicy policy : {v1::DISCONNECT_POLICY_CANCEL, v1::DISCONNECT_POLICY_DETACH}) {
    const auto context = caller_->Context();
    const auto stream = jobs_->Run(context.get());
    v1::RunJobsRequest request;
    request.add_start()->set_tag(1);
    *request.mutable_start(0)->mutable_job() = Integral(kForHours);
    request.mutable_start(0)->mutable_job()->set_disconnect_policy(policy);
    ASSERT_TRUE(stream->Write(request));
    v1::RunJobsResponse response;
    std::string id;
    while (id.empty() && stream->Read(&response)) {
      for (const v1::JobUpdate& update : response.updates()) id = update.job_id();
    }
    ASSERT_FALSE(id.empty());
    ids.push_back(id);
    ASSERT_TRUE(WaitUntil([&] { return StateOf(id) == v1::RUNNING; }));
    context->TryCancel();
    stream->Finish();
  }
  EXPECT_TRUE(WaitUntil([&] { return StateOf(ids[0]) == v1::CANCELLED; }));
  EXPECT_EQ(StateOf(ids[1]), v1::RUNNING);
  Cancel(ids[1]);
  EXPECT_TRUE(WaitUntil([&] { return StateOf(ids[1]) == v1::CANCELLED; }));
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
