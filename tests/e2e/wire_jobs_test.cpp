// Jobs: what the protocol promises to any client, and messages that our own would never send.
#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/e2e/wire_fixture.h"

namespace hotplate::e2e {
namespace {

using grpc::StatusCode;

std::unique_ptr<google::protobuf::Message> MessageOf(const google::protobuf::Descriptor& type) {
  return std::unique_ptr<google::protobuf::Message>(
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(&type)->New());
}

// The text that an answer of this type has in the field.
std::string FieldOf(const google::protobuf::Descriptor& type, const std::string& bytes, const std::string& name) {
  const auto answer = MessageOf(type);
  const google::protobuf::FieldDescriptor* field = type.FindFieldByName(name);
  if (field == nullptr || !answer->ParseFromString(bytes)) return "none in a " + type.full_name();
  return answer->GetReflection()->GetString(*answer, field);
}

TEST_F(WireTest, EveryAnswerNamesTheStartOfTheDaemon) {
  Start();
  const std::string job = "job { kernel: 'integrate2d' params { key: 'n' value { int_value: 100 } } }";
  std::string id;
  ASSERT_TRUE(Submit(Integral(100), id).ok());
  ASSERT_TRUE(WaitUntil([&] { return StateOf(id) == v1::COMPLETED; }));
  v1::Array written, freed;
  ASSERT_TRUE(Create({4}, written).ok() && Create({4}, freed).ok());
  v1::CreateArrayRequest create;
  *create.mutable_signature() = written.signature();
  create.mutable_signature()->set_shape(0, 0);  // READY at once
  create.set_name("empty");
  create.mutable_lease()->set_seconds(60);
  v1::CreateArrayResponse named;
  ASSERT_TRUE(arrays_->Create(caller_->Context().get(), create, &named).ok());
  const std::string of_job = "job_id: '" + id + "'", of_array = "array_id: '" + written.id() + "'";
  // What a call needs to be answered with OK; an empty message is enough for the others.
  const std::map<std::string, std::string> requests = {
      {"/hotplate.v1.Arrays/Create", "signature { dtype: DTYPE_FLOAT32 }"},
      {"/hotplate.v1.Arrays/Write", of_array + " data: '0123456789abcdef'"},
      {"/hotplate.v1.Arrays/Describe", of_array},
      {"/hotplate.v1.Arrays/Free", "array_id: '" + freed.id() + "'"},
      {"/hotplate.v1.Arrays/Renew", of_array + " lease { seconds: 60 }"},
      {"/hotplate.v1.Arrays/Save", "array_id: 'empty'"},
      {"/hotplate.v1.Jobs/Check", job},
      {"/hotplate.v1.Jobs/Execute", job},
      {"/hotplate.v1.Jobs/Run", "start { tag: 1 " + job + " }"},
      {"/hotplate.v1.Jobs/Submit", job},
      {"/hotplate.v1.Jobs/Watch", of_job},
      {"/hotplate.v1.Jobs/Get", of_job},
      {"/hotplate.v1.Jobs/Cancel", of_job},
      {"/hotplate.v1.Jobs/Why", of_job},
      {"/hotplate.v1.Jobs/FetchResult", of_job},
      {"/hotplate.v1.Catalogue/DescribeKernel", "kernel: 'selu'"},
      {"/hotplate.v1.Tokens/Create",
       "token { name: 'anna' scope: TOKEN_SCOPE_SUBMIT record_file: '" + daemon_->folder() + "/anna.json' }"},
      {"/hotplate.v1.Tokens/Revoke", "name: 'anna'"},
  };
  const auto expect_named = [&](const google::protobuf::MethodDescriptor& method) {
    const std::string path = PathOf(method);
    const auto request = MessageOf(*method.input_type());
    const auto found = requests.find(path);
    ASSERT_TRUE(found == requests.end() || google::protobuf::TextFormat::ParseFromString(found->second, request.get()))
        << path;
    const auto [status, answer] = Raw(path, *caller_, request->SerializeAsString());
    EXPECT_TRUE(status.ok()) << path << ": " << status.error_message();
    EXPECT_EQ(FieldOf(*method.output_type(), answer, "generation"), daemon_->record().generation()) << path;
  };
  const google::protobuf::MethodDescriptor* shutdown = nullptr;
  for (const auto* method : AllMethods()) {
    const std::string path = PathOf(*method);
    if (path == "/hotplate.v1.Arrays/Read") continue;      // chunks, without it
    if (path == "/hotplate.v1.Telemetry/Watch") continue;  // without an end: below
    if (path == "/hotplate.v1.Server/Shutdown") {
      shutdown = method;
    } else {
      expect_named(*method);
    }
  }
  const auto context = caller_->Context();
  const auto samples = telemetry_->Watch(context.get(), {});
  v1::WatchTelemetryResponse sample;
  ASSERT_TRUE(samples->Read(&sample));
  EXPECT_EQ(sample.generation(), daemon_->record().generation());
  context->TryCancel();
  samples->Finish();
  ASSERT_NE(shutdown, nullptr);
  expect_named(*shutdown);
  EXPECT_TRUE(WaitUntil([&] { return !daemon_->alive(); }));
  daemon_.reset();
}

TEST_F(WireTest, AnExecutedJobIsAnsweredWithItsResultAndReceipt) {
  v1::ExecuteJobResponse executed;
  ASSERT_TRUE(Execute(VectorAdd({1, 2, 3, 4}), executed).ok());
  ASSERT_EQ(executed.end().state(), v1::COMPLETED);
  ASSERT_EQ(executed.end().result().outputs_size(), 1);
  EXPECT_EQ(executed.end().result().outputs(0).inline_(), Floats({2, 4, 6, 8}));
  EXPECT_EQ(executed.end().result().receipt().job_id(), executed.job_id());
  v1::GetServerInfoResponse info;
  ASSERT_TRUE(server_->GetInfo(caller_->Context().get(), {}, &info).ok());
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

// Beyond 256 MiB of inline results the oldest used to go within seconds, with their request ids: of 400 jobs of 960 KB
// that were accepted, 121 results were never to be had.
TEST_F(WireTest, EveryJobThatWasAcceptedHasItsResult) {
  v1::JobSpec job;
  job.set_kernel("random");
  (*job.mutable_params())["rows"].set_int_value(1);
  (*job.mutable_params())["n"].set_int_value(120'000);
  (*job.mutable_params())["seed"].set_int_value(1);
  std::vector<std::string> ids;
  int refused = 0;
  for (int i = 0; i < 400; ++i) {
    job.set_request_id(std::to_string(i));
    job.set_forget_when_delivered(i % 2 == 0);
    std::string id;
    const grpc::Status status = Submit(job, id);
    if (status.ok()) {
      ids.push_back(id);
      continue;
    }
    ++refused;
    ASSERT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED) << status.error_message();
    ASSERT_NE(status.error_message().find("--retained-bytes"), std::string::npos) << status.error_message();
  }
  EXPECT_EQ(ids.size(), (std::uint64_t{256} << 20) / (120'000 * sizeof(double)));
  EXPECT_GT(refused, 100);
  std::string again;
  job.set_request_id("0");
  job.set_forget_when_delivered(true);
  ASSERT_TRUE(Submit(job, again).ok());
  EXPECT_EQ(again, ids[0]) << "the same id ran twice";
  for (const std::string& id : ids) {
    ASSERT_TRUE(WaitUntil([&] { return StateOf(id) == v1::COMPLETED; })) << id;
    v1::FetchResultRequest request;
    request.set_job_id(id);
    v1::FetchResultResponse response;
    const grpc::Status status = jobs_->FetchResult(caller_->Context().get(), request, &response);
    ASSERT_TRUE(status.ok()) << "job " << id << ": " << status.error_message();
    ASSERT_EQ(response.result().outputs(0).inline_().size(), 120'000 * sizeof(double));
  }
  // Half of them were fetched for good.
  for (int i = 0; i < 100; ++i) {
    job.set_request_id("more" + std::to_string(i));
    EXPECT_TRUE(Submit(job, again).ok());
  }
}

TEST_F(WireTest, TinyCallsPushOutNoResultAndNoRequestId) {
  Start({"--retained-jobs", "20"});
  std::string detached;
  ASSERT_TRUE(Submit(VectorAdd({1}), detached).ok());
  v1::JobSpec mine = VectorAdd({2});
  mine.set_request_id("mine");
  v1::ExecuteJobResponse first, second, response;
  ASSERT_TRUE(Execute(mine, first).ok());
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(Execute(VectorAdd({3}), response).ok());
  ASSERT_TRUE(Execute(mine, second).ok());
  EXPECT_EQ(first.job_id(), second.job_id());
  v1::FetchResultRequest request;
  request.set_job_id(detached);
  v1::FetchResultResponse result;
  const grpc::Status status = jobs_->FetchResult(caller_->Context().get(), request, &result);
  EXPECT_TRUE(status.ok()) << status.error_message();
  request.set_job_id("3");  // the first of the tiny ones
  const grpc::Status gone = jobs_->FetchResult(caller_->Context().get(), request, &result);
  EXPECT_EQ(gone.error_code(), StatusCode::NOT_FOUND);
  EXPECT_NE(gone.error_message().find("retained-jobs"), std::string::npos) << gone.error_message();
}

}  // namespace
}  // namespace hotplate::e2e
