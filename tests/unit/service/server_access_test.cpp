// Who gets in: tokens, scopes, certificates, plaintext on this machine only; and what everybody is told.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <grpcpp/generic/generic_stub.h>
#include <signal.h>

#include <thread>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpc/reflection/v1alpha/reflection.grpc.pb.h"
#include "tests/unit/service/test_server.h"

namespace hotplate::server {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A unary call of any method with any bytes.
grpc::Status CallRaw(const std::shared_ptr<grpc::Channel>& channel, const std::string& method, const std::string& bytes,
                     Call& call, std::string* answer = nullptr) {
  grpc::GenericStub stub(channel);
  grpc::CompletionQueue queue;
  const grpc::Slice slice(bytes);
  const grpc::ByteBuffer request(&slice, 1);
  const auto reader = stub.PrepareUnaryCall(call, method, request, &queue);
  reader->StartCall();
  grpc::ByteBuffer response;
  grpc::Status status;
  reader->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  if (status.ok() && answer != nullptr) {
    std::vector<grpc::Slice> slices;
    if (response.Dump(&slices).ok()) {
      for (const grpc::Slice& one : slices) answer->append(reinterpret_cast<const char*>(one.begin()), one.size());
    }
  }
  return status;
}

constexpr char kHealth[] = "/grpc.health.v1.Health/Check";
constexpr char kReflection[] = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";

class AccessTest : public ServerTest, public testing::WithParamInterface<bool> {
 protected:
  AccessTest() : ServerTest(TestServer::OptionsWith(GetParam())) {}
};
INSTANTIATE_TEST_SUITE_P(Transport, AccessTest, testing::Bool(),
                         [](const auto& param) { return param.param ? "Tls" : "Plaintext"; });

TEST_P(AccessTest, NoServiceIsOutsideTheToken) {
  const std::vector<std::string> methods = {
      kHealth,
      kReflection,
      "/hotplate.v1.Catalogue/ListKernels",
      "/hotplate.v1.Arrays/Create",
      "/hotplate.v1.Arrays/Write",
      "/hotplate.v1.Arrays/Read",
      "/hotplate.v1.Jobs/Execute",
      "/hotplate.v1.Jobs/Run",
      "/hotplate.v1.Jobs/Watch",
      "/hotplate.v1.Telemetry/Watch",
      "/hotplate.v1.Server/Shutdown",
  };
  for (const std::string& method : methods) {
    for (const std::string& token : {std::string(), std::string(64, 'c'), std::string("a")}) {
      Call call(token);
      EXPECT_EQ(CallRaw(channel_, method, "", call).error_code(), grpc::StatusCode::UNAUTHENTICATED)
          << method << " with token \"" << token << "\"";
    }
  }
  EXPECT_FALSE(server_.control().shutdown_timeout.has_value());
}

TEST_P(AccessTest, HealthAndReflectionAnswerWithIt) {
  Call call;
  std::string answer;
  const grpc::Status health = CallRaw(channel_, kHealth, "", call, &answer);
  EXPECT_TRUE(health.ok()) << health.error_message();
  EXPECT_EQ(answer, std::string("\x08\x01", 2));  // SERVING
  server_.server().SetServing(false);
  Call later;
  answer.clear();
  EXPECT_TRUE(CallRaw(channel_, kHealth, "", later, &answer).ok());
  EXPECT_EQ(answer, std::string("\x08\x02", 2));  // NOT_SERVING
  Call list;
  answer.clear();
  const grpc::Status reflection = CallRaw(channel_, kReflection, "\x3a\x01*", list, &answer);
  EXPECT_TRUE(reflection.ok()) << reflection.error_message();
  EXPECT_THAT(answer, testing::AllOf(HasSubstr("hotplate.v1.Jobs"), HasSubstr("hotplate.v1.Arrays")));
}

class HealthTest : public ServerTest {
 protected:
  explicit HealthTest(bool cpu = true) : ServerTest(WithALosableGpu(cpu)) {}

  static TestServer::Options WithALosableGpu(bool cpu) {
    lost_ = false;
    TestServer::Options options;
    options.cpu = cpu;
    options.more = [] {
      return std::make_unique<MadeUpGpu>([] {
        DeviceMetrics metrics;
        if (lost_) metrics.lost = "the driver says: GPU is lost";
        return metrics;
      });
    };
    return options;
  }
  // As grpc.health.v1 numbers it: 1 SERVING, 2 NOT_SERVING; 0 if the check is refused.
  int Health(const std::string& service) {
    Call call;
    std::string answer;
    const std::string request =
        service.empty() ? "" : "\x0a" + std::string(1, static_cast<char>(service.size())) + service;
    const grpc::Status status = CallRaw(channel_, kHealth, request, call, &answer);
    return status.ok() && answer.size() == 2 ? answer[1] : 0;
  }
  void LoseDevice(std::size_t index) {
    lost_ = true;
    server_.engine().SampleDevice(index);
    server_.server().RefreshHealth();
  }

  static inline std::atomic<bool> lost_;
};

TEST_F(HealthTest, WhoeverWatchesIsToldTheNews) {
  const auto stub = grpc::health::v1::Health::NewStub(channel_);
  grpc::health::v1::HealthCheckRequest request;
  grpc::health::v1::HealthCheckResponse response;
  Call of_daemon, of_gpu, of_none, stranger("");
  const auto daemon = stub->Watch(of_daemon, request);
  request.set_service("hotplate.device.gpu0");
  const auto gpu = stub->Watch(of_gpu, request);
  request.set_service("hotplate.device.gpu7");
  const auto none = stub->Watch(of_none, request);
  using Answer = grpc::health::v1::HealthCheckResponse;
  ASSERT_TRUE(daemon->Read(&response));
  EXPECT_EQ(response.status(), Answer::SERVING);
  ASSERT_TRUE(gpu->Read(&response));
  EXPECT_EQ(response.status(), Answer::SERVING);
  ASSERT_TRUE(none->Read(&response));
  EXPECT_EQ(response.status(), Answer::SERVICE_UNKNOWN);
  LoseDevice(1);
  ASSERT_TRUE(gpu->Read(&response));
  EXPECT_EQ(response.status(), Answer::NOT_SERVING);
  server_.server().SetServing(false);  // the first news of the daemon
  ASSERT_TRUE(daemon->Read(&response));
  EXPECT_EQ(response.status(), Answer::NOT_SERVING);
  EXPECT_EQ(stub->Watch(stranger, request)->Finish().error_code(), grpc::StatusCode::UNAUTHENTICATED);
  for (Call* call : {&of_daemon, &of_gpu}) (*call)->TryCancel();
  EXPECT_EQ(gpu->Finish().error_code(), grpc::StatusCode::CANCELLED);
}  // one is still open when the server ends

TEST_P(AccessTest, ReflectionTellsTheWholeProtocol) {
  const auto stub = grpc::reflection::v1alpha::ServerReflection::NewStub(channel_);
  Call call;
  const auto stream = stub->ServerReflectionInfo(call);
  const auto ask = [&](const grpc::reflection::v1alpha::ServerReflectionRequest& request) {
    grpc::reflection::v1alpha::ServerReflectionResponse response;
    EXPECT_TRUE(stream->Write(request) && stream->Read(&response));
    return response;
  };
  grpc::reflection::v1alpha::ServerReflectionRequest request;
  request.set_file_containing_symbol("hotplate.v1.Jobs.Submit");
  google::protobuf::DescriptorPool pool;
  const auto jobs = ask(request).file_descriptor_response();
  for (int round = 0; round < 100; ++round) {
    // A file can be built once those that it imports are there.
    bool all = true;
    for (const std::string& bytes : jobs.file_descriptor_proto()) {
      google::protobuf::FileDescriptorProto file;
      ASSERT_TRUE(file.ParseFromString(bytes));
      if (pool.FindFileByName(file.name()) != nullptr) continue;
      bool ready = true;
      for (const std::string& name : file.dependency()) ready = ready && pool.FindFileByName(name) != nullptr;
      all = ready && pool.BuildFile(file) != nullptr && all;
    }
    if (all) break;
  }
  ASSERT_NE(pool.FindServiceByName("hotplate.v1.Jobs"), nullptr);
  request.set_file_by_filename("hotplate/v1/server.proto");
  EXPECT_GT(ask(request).file_descriptor_response().file_descriptor_proto_size(), 1);
  request.set_file_containing_symbol("no.such.Thing");
  const auto error = ask(request).error_response();
  EXPECT_EQ(error.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(error.error_message(), HasSubstr("no.such.Thing"));
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

class OneDeviceHealthTest : public HealthTest {
 protected:
  OneDeviceHealthTest() : HealthTest(/*cpu=*/false) {}
};

TEST_F(HealthTest, EveryDeviceHasItsOwn) {
  EXPECT_EQ(Health("hotplate.device.gpu0"), 1);
  EXPECT_EQ(Health("hotplate.device.cpu0"), 1);
  EXPECT_EQ(Health("hotplate.device.gpu7"), 0) << "there is none";
  LoseDevice(1);
  EXPECT_EQ(Health("hotplate.device.gpu0"), 2);
  EXPECT_EQ(Health("hotplate.device.cpu0"), 1);
  EXPECT_EQ(Health(""), 1) << "one is left";
  server_.server().SetServing(false);
  EXPECT_EQ(Health(""), 2);
  EXPECT_EQ(Health("hotplate.device.cpu0"), 1) << "draining, and well";
}

TEST_F(OneDeviceHealthTest, ADaemonWithoutADeviceIsNotHealthy) {
  EXPECT_EQ(Health(""), 1);
  LoseDevice(0);
  EXPECT_EQ(Health(""), 2);
  server_.server().SetServing(true);
  EXPECT_EQ(Health(""), 2);
}

TEST_P(AccessTest, ATokenMayNoMoreThanItsScope) {
  Call observe(TestServer::kWatcherToken);
  v1::ListKernelsResponse kernels;
  EXPECT_TRUE(catalogue_->ListKernels(observe, {}, &kernels).ok());
  Call submit(TestServer::kWatcherToken);
  v1::ExecuteJobRequest request;
  *request.mutable_job() = TinyJob();
  v1::ExecuteJobResponse response;
  const grpc::Status status = jobs_->Execute(submit, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(status.error_message(), HasSubstr("submit"));
  Call admin(TestServer::kWatcherToken);
  v1::ShutdownResponse shutdown;
  EXPECT_EQ(daemon_->Shutdown(admin, {}, &shutdown).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  Call run(TestServer::kWatcherToken);
  EXPECT_EQ(jobs_->Run(run)->Finish().error_code(), grpc::StatusCode::PERMISSION_DENIED);
}

TEST_P(AccessTest, CatalogueAndInfo) {
  v1::ListKernelsResponse kernels;
  ASSERT_TRUE(catalogue_->ListKernels(Call(), {}, &kernels).ok());
  EXPECT_EQ(static_cast<std::size_t>(kernels.kernels_size()), BuiltinCatalog().specs().size());
  EXPECT_EQ(kernels.generation(), "g1");
  v1::DescribeKernelRequest request;
  request.set_kernel("mandlebrot");
  v1::DescribeKernelResponse described;
  const grpc::Status status = catalogue_->DescribeKernel(Call(), request, &described);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(status.error_message(), HasSubstr("mandelbrot"));
  v1::GetServerInfoResponse info;
  ASSERT_TRUE(daemon_->GetInfo(Call(), {}, &info).ok());
  EXPECT_EQ(info.state(), v1::SERVING);
  ASSERT_EQ(info.devices_size(), 1);
  EXPECT_EQ(info.devices(0).id(), "cpu0");
}

TEST_P(AccessTest, DrainingRefusesJobsAndSaysSo) {
  v1::DrainRequest drain;
  drain.mutable_timeout()->set_seconds(3);
  v1::DrainResponse drained;
  ASSERT_TRUE(daemon_->Drain(Call(), drain, &drained).ok());
  EXPECT_EQ(server_.control().drain_timeout, std::chrono::seconds(3));
  v1::SubmitJobRequest request;
  *request.mutable_job() = TinyJob();
  v1::SubmitJobResponse response;
  const grpc::Status status = jobs_->Submit(Call(), request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(status.error_message(), HasSubstr("draining"));
  google::rpc::Status details;
  ASSERT_TRUE(details.ParseFromString(status.error_details()));
  EXPECT_EQ(details.details_size(), 1);
  v1::GetServerInfoResponse info;
  ASSERT_TRUE(daemon_->GetInfo(Call(), {}, &info).ok());
  EXPECT_EQ(info.state(), v1::DRAINING);
}

class CertificateTest : public ServerTest {
 protected:
  grpc::Status Ask(const grpc::SslCredentialsOptions& tls) {
    v1::GetServerInfoResponse info;
    return v1::Server::NewStub(server_.Channel(tls))->GetInfo(Call(), {}, &info);
  }
};

TEST_F(CertificateTest, AnotherDaemonsCertificateIsRefusedByTheClient) {
  grpc::SslCredentialsOptions tls = server_.Credentials();
  tls.pem_root_certs = MakeDaemonIdentity().value().certificate_pem;
  EXPECT_EQ(Ask(tls).error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(CertificateTest, AClientWithoutItsCertificateIsRefusedWhateverElseItHas) {
  grpc::SslCredentialsOptions tls = server_.Credentials();
  EXPECT_TRUE(Ask(tls).ok());
  tls.pem_cert_chain.clear();
  tls.pem_private_key.clear();
  EXPECT_EQ(Ask(tls).error_code(), grpc::StatusCode::UNAVAILABLE);
  // Another daemon's client, and a daemon.
  for (const Identity& others : {ClientAuthority::Make()->MakeClient("owner").value(), MakeDaemonIdentity().value()}) {
    tls.pem_cert_chain = others.certificate_pem;
    tls.pem_private_key = others.key_pem;
    EXPECT_EQ(Ask(tls).error_code(), grpc::StatusCode::UNAVAILABLE);
    tls.pem_cert_chain += server_.Credentials().pem_cert_chain;  // the right one, without its key
    EXPECT_EQ(Ask(tls).error_code(), grpc::StatusCode::UNAVAILABLE);
  }
}

TEST_F(CertificateTest, PlaintextDoesNotReachATlsServer) {
  const auto channel = grpc::CreateChannel(server_.target(), grpc::InsecureChannelCredentials());
  v1::GetServerInfoResponse info;
  EXPECT_EQ(v1::Server::NewStub(channel)->GetInfo(Call(), {}, &info).error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST(UnixSocketTest, ServesWithAndWithoutTls) {
  for (const bool tls : {false, true}) {
    const TemporaryFolder folder;
    TestServer server(TestServer::OptionsWith(tls, folder.path() + "/socket"));
    const auto stub = v1::Server::NewStub(server.Channel());
    v1::GetServerInfoResponse info;
    const grpc::Status status = stub->GetInfo(Call(), {}, &info);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(stub->GetInfo(Call(""), {}, &info).error_code(), grpc::StatusCode::UNAUTHENTICATED);
  }
}

// What a server says that is started alone.
absl::Status StatusOfStart(const ListenOptions& options) {
  core::Clock clock;
  core::ArrayStore arrays({}, clock);
  DeviceSet devices;
  devices.devices.push_back(OpenCpuDevice({}));
  core::Engine engine({}, BuiltinCatalog(), std::move(devices), arrays, clock);
  ServiceContext::Parts parts{};
  parts.engine = &engine;
  const ServiceContext context(std::move(parts));
  return GrpcServer::Start(context, options).status();
}

TEST(ListenTest, TwoServersDoNotShareAPort) {
  TestServer first({});
  ListenOptions options;
  options.port = first.server().port();
  AddTls(options);
  const absl::Status second = StatusOfStart(options);
  EXPECT_EQ(second.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.message()), HasSubstr(std::to_string(options.port)));
}

// gRPC starts without the TLS context that it could not make: clients were left to wait.
TEST(ListenTest, AServerThatTakesNoClientDoesNotStart) {
  signal(SIGPIPE, SIG_IGN);  // as the daemon does
  ListenOptions options;
  AddTls(options);
  EXPECT_TRUE(StatusOfStart(options).ok());
  options.handshake = std::chrono::milliseconds(200);
  options.identity->key_pem = MakeDaemonIdentity()->key_pem;
  const absl::Status silent = StatusOfStart(options);
  EXPECT_EQ(silent.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(silent.message()), AllOf(HasSubstr("no client could connect"), HasSubstr("within 200 ms")));
  AddTls(options);
  options.client = MakeDaemonIdentity().value();  // no client's certificate
  EXPECT_EQ(StatusOfStart(options).code(), absl::StatusCode::kInternal);
}

TEST(AllocationInfoTest, TheEndIsTheLatestAndGpusThatNobodyOpenedArePaidForToo) {
  std::atomic<std::int64_t> end{1'790'000'000};
  TestServer::Options options;
  options.allocation.set_job_id("17");
  options.allocation.set_gpus_on_node(2);
  options.allocation_end = [&end] { return core::WallTime(std::chrono::seconds(end.load())); };
  TestServer server(std::move(options));
  const auto stub = v1::Server::NewStub(server.Channel());
  v1::GetServerInfoResponse first, second;
  ASSERT_TRUE(stub->GetInfo(Call(), {}, &first).ok());
  EXPECT_EQ(first.allocation().end_time().seconds(), 1'790'000'000);
  end = 1'790'000'600;
  ASSERT_TRUE(stub->GetInfo(Call(), {}, &second).ok());
  EXPECT_EQ(second.allocation().end_time().seconds(), 1'790'000'600);
  EXPECT_GT(first.allocation().gpu_minutes_used(), 0);
  EXPECT_GT(second.allocation().gpu_minutes_used(), first.allocation().gpu_minutes_used());
  EXPECT_EQ(second.allocation().gpu_minutes_idle(), second.allocation().gpu_minutes_used());
}

TEST_F(ServerTest, ByHandThereIsNoAllocation) {
  v1::GetServerInfoResponse info;
  ASSERT_TRUE(daemon_->GetInfo(Call(), {}, &info).ok());
  EXPECT_FALSE(info.allocation().has_end_time());
  EXPECT_EQ(info.allocation().gpu_minutes_used(), 0);
}

class FewStreamsTest : public ServerTest {
 protected:
  static TestServer::Options Few() {
    TestServer::Options options;
    options.engine.max_streams = 2;
    options.engine.max_sessions = 2;
    return options;
  }
  FewStreamsTest() : ServerTest(Few()) {}

  std::vector<std::unique_ptr<Call>> calls_;
  std::vector<std::unique_ptr<grpc::ClientReaderWriter<v1::RunJobsRequest, v1::RunJobsResponse>>> streams_;
};

TEST_F(FewStreamsTest, StreamsAndSessionsHaveTheirLimit) {
  Call first, second, third;
  const auto one = jobs_->Run(first), two = jobs_->Run(second);
  v1::RunJobsRequest request;
  request.add_start()->set_tag(1);
  *request.mutable_start(0)->mutable_job() = LongJob();
  v1::RunJobsResponse response;
  ASSERT_TRUE(one->Write(request) && one->Read(&response));
  ASSERT_TRUE(two->Write(request) && two->Read(&response));
  const grpc::Status status = jobs_->Run(third)->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), AllOf(HasSubstr("2"), HasSubstr("max-streams")));
  first->TryCancel();
  one->Finish();
  // The place of the closed stream is free soon after, and a second session takes it.
  const std::string second_session(32, '2');
  bool open = false;
  for (int i = 0; i < 6000 && !open; ++i) {
    calls_.push_back(std::make_unique<Call>(TestServer::kToken, second_session));
    streams_.push_back(jobs_->Run(*calls_.back()));
    open = streams_.back()->Write(request) && streams_.back()->Read(&response);
    if (!open) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(open);
  // A third one has no place to leave anything in; it may look, and stop what others do.
  const std::string third_session(32, '3');
  v1::CreateArrayRequest create;
  create.mutable_signature()->set_dtype(v1::DTYPE_FLOAT32);
  v1::CreateArrayResponse created;
  const grpc::Status full = arrays_->Create(Call(TestServer::kToken, third_session), create, &created);
  EXPECT_EQ(full.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(full.error_message(), HasSubstr("max-sessions"));
  v1::GetServerInfoResponse info;
  EXPECT_TRUE(daemon_->GetInfo(Call(TestServer::kToken, third_session), {}, &info).ok());
  v1::ListJobsResponse jobs;
  ASSERT_TRUE(jobs_->List(Call(TestServer::kToken, third_session), {}, &jobs).ok());
  for (const v1::Job& job : jobs.jobs()) {
    v1::CancelJobRequest cancel;
    cancel.set_job_id(job.id());
    v1::CancelJobResponse cancelled;
    EXPECT_TRUE(jobs_->Cancel(Call(TestServer::kToken, third_session), cancel, &cancelled).ok());
  }
}

TEST_F(FewStreamsTest, ARunStreamWithoutAJobMakesRoom) {
  v1::RunJobsRequest request;
  request.add_start()->set_tag(1);
  *request.mutable_start(0)->mutable_job() = TinyJob();
  v1::RunJobsResponse response;
  Call first, second, third;
  const auto one = jobs_->Run(first), two = jobs_->Run(second);
  for (const auto* stream : {&one, &two}) {  // the first is idle longer
    ASSERT_TRUE((*stream)->Write(request));
    while ((*stream)->Read(&response) && !response.updates(response.updates_size() - 1).has_end()) {
    }
  }
  const auto three = jobs_->Run(third);
  EXPECT_TRUE(three->Write(request) && three->Read(&response));
  EXPECT_FALSE(one->Read(&response));
  const grpc::Status status = one->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << "a library tries again, on another stream";
  EXPECT_THAT(status.error_message(), HasSubstr("had no job"));
  EXPECT_TRUE(two->Write(request) && two->Read(&response));
}

// By its stream the daemon knows that somebody is there, for whom it keeps the arrays.
TEST_F(FewStreamsTest, ARunStreamOfASessionWithArraysDoesNot) {
  v1::CreateArrayRequest create;
  create.mutable_signature()->set_dtype(v1::DTYPE_FLOAT32);
  v1::CreateArrayResponse created;
  ASSERT_TRUE(arrays_->Create(Call(), create, &created).ok());
  v1::RunJobsRequest request;
  request.add_start()->set_tag(1);
  *request.mutable_start(0)->mutable_job() = TinyJob();
  v1::RunJobsResponse response;
  Call first, second, third;
  const auto one = jobs_->Run(first), two = jobs_->Run(second);
  ASSERT_TRUE(one->Write(request) && one->Read(&response) && two->Write(request) && two->Read(&response));
  EXPECT_EQ(jobs_->Run(third)->Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

}  // namespace
}  // namespace hotplate::server
