#include "tests/e2e/wire_fixture.h"

#include <grpcpp/generic/generic_stub.h>

#include "hotplate/v1/tokens.pb.h"

namespace hotplate::e2e {
namespace {

void AddInline(v1::JobSpec& job, const std::string& name, const std::vector<float>& elements) {
  v1::JobInput* input = job.add_inputs();
  input->set_name(name);
  v1::InlineArray* array = input->mutable_inline_();
  array->mutable_signature()->set_dtype(v1::DTYPE_FLOAT32);
  array->mutable_signature()->add_shape(static_cast<std::int64_t>(elements.size()));
  array->set_data(Floats(elements));
}

}  // namespace

std::string Floats(const std::vector<float>& elements) {
  return {reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(float)};
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

std::vector<const google::protobuf::MethodDescriptor*> AllMethods() {
  std::vector<const google::protobuf::MethodDescriptor*> methods;
  for (const auto* file : {v1::ArrayState_descriptor()->file(), v1::JobState_descriptor()->file(),
                           v1::DaemonState_descriptor()->file(), v1::ParamType_descriptor()->file(),
                           v1::TelemetrySample::descriptor()->file(), v1::Token::descriptor()->file()}) {
    for (int s = 0; s < file->service_count(); ++s) {
      for (int m = 0; m < file->service(s)->method_count(); ++m) methods.push_back(file->service(s)->method(m));
    }
  }
  return methods;
}

std::string PathOf(const google::protobuf::MethodDescriptor& method) {
  return "/" + method.service()->full_name() + "/" + method.name();
}

void WireTest::Start(const std::vector<std::string>& flags) {
  daemon_ = std::make_unique<DaemonProcess>(flags);
  if (!daemon_->serving()) return;
  channel_ = daemon_->Channel();
  caller_ = std::make_unique<Caller>(Caller::Of(*daemon_));
  jobs_ = v1::Jobs::NewStub(channel_);
  arrays_ = v1::Arrays::NewStub(channel_);
  server_ = v1::Server::NewStub(channel_);
  telemetry_ = v1::Telemetry::NewStub(channel_);
}

void WireTest::SetUp() {
  Start();
  ASSERT_TRUE(daemon_->serving());
}

void WireTest::TearDown() {
  if (!daemon_ || !daemon_->serving()) return;
  EXPECT_TRUE(daemon_->alive()) << daemon_->Log();
}

std::pair<grpc::Status, std::string> WireTest::Raw(const std::string& method, const Caller& caller,
                                                   const std::string& message) {
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
    // The first of a stream's, which ends only when all are read.
    for (bool first = true;; first = false) {
      grpc::ByteBuffer buffer;
      call->Read(&buffer, nullptr);
      if (!done()) break;
      std::vector<grpc::Slice> slices;
      if (!first || !buffer.Dump(&slices).ok()) continue;
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

grpc::Status WireTest::Execute(const v1::JobSpec& job, v1::ExecuteJobResponse& response) {
  v1::ExecuteJobRequest request;
  *request.mutable_job() = job;
  return jobs_->Execute(caller_->Context().get(), request, &response);
}

grpc::Status WireTest::Submit(const v1::JobSpec& job, std::string& job_id) {
  v1::SubmitJobRequest request;
  *request.mutable_job() = job;
  v1::SubmitJobResponse response;
  const grpc::Status status = jobs_->Submit(caller_->Context().get(), request, &response);
  job_id = response.job_id();
  return status;
}

grpc::Status WireTest::Create(const std::vector<std::int64_t>& shape, v1::Array& array) {
  v1::CreateArrayRequest request;
  request.mutable_signature()->set_dtype(v1::DTYPE_FLOAT32);
  for (const std::int64_t size : shape) request.mutable_signature()->add_shape(size);
  v1::CreateArrayResponse response;
  const grpc::Status status = arrays_->Create(caller_->Context().get(), request, &response);
  array = response.array();
  return status;
}

grpc::Status WireTest::Write(const std::string& id, std::uint64_t offset, std::size_t bytes) {
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

v1::Array WireTest::Describe(const std::string& id) {
  v1::DescribeArrayRequest request;
  request.set_array_id(id);
  v1::DescribeArrayResponse response;
  const grpc::Status status = arrays_->Describe(caller_->Context().get(), request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response.array();
}

std::uint64_t WireTest::ArrayBytes() {
  v1::ListArraysResponse response;
  const grpc::Status status = arrays_->List(Caller::Of(*daemon_).Context().get(), {}, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response.bytes_held();
}

v1::JobState WireTest::StateOf(const std::string& job_id) {
  v1::GetJobRequest request;
  request.set_job_id(job_id);
  v1::GetJobResponse response;
  const grpc::Status status = jobs_->Get(caller_->Context().get(), request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response.job().state();
}

void WireTest::Cancel(const std::string& job_id) {
  v1::CancelJobRequest request;
  request.set_job_id(job_id);
  v1::CancelJobResponse response;
  EXPECT_TRUE(jobs_->Cancel(caller_->Context().get(), request, &response).ok());
}

}  // namespace hotplate::e2e
