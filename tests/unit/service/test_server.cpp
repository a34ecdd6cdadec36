#include "tests/unit/service/test_server.h"

#include <cstring>
#include <thread>
#include <vector>

#include "kernels/devices/device.h"
#include "kernels/spec/spec.h"

namespace hotplate::server {

const std::string TestServer::kToken(64, 'a');
const std::string TestServer::kWatcherToken(64, 'b');
const std::string TestServer::kSession(32, '1');

TestServer::TestServer(Options options)
    : options_(std::move(options)), arrays_(options_.arrays, clock_, options_.engine.allowances) {
  DeviceSet devices;
  CpuOptions cpu;
  cpu.lanes = 2;
  cpu.memory_bytes = std::uint64_t{1} << 30;
  if (options_.cpu) devices.devices.push_back(OpenCpuDevice(cpu));
  if (options_.more) devices.devices.push_back(options_.more());
  engine_ = std::make_unique<core::Engine>(options_.engine, BuiltinCatalog(), std::move(devices), arrays_, clock_);
  telemetry_ = std::make_unique<core::TelemetrySampler>(*engine_, clock_);
  authenticator_ = std::make_shared<const Authenticator>(
      std::vector<Token>{{"owner", kToken, core::Scope::kAdmin}, {"watcher", kWatcherToken, core::Scope::kObserve}});

  if (options_.audit) {
    AuditLog::Options audit;
    audit.file = folder_.File("audit.jsonl");
    audit.generation = "g1";
    audit.warn = [](const std::string& line) { ADD_FAILURE() << line; };
    audit_ = AuditLog::Open(std::move(audit)).value();
  }
  ServiceContext::Parts parts;
  parts.audit = audit_.get();
  parts.engine = engine_.get();
  parts.telemetry = telemetry_.get();
  parts.authenticator = authenticator_;
  parts.guest_streams = std::make_shared<GuestStreams>(options_.engine.allowances);
  parts.control = &control_;
  parts.bounds.max_array_bytes = options_.arrays.array_bytes;
  parts.bounds.path_roots = wire::CanonicalRoots({folder_.path()});
  for (const auto& device : engine_->devices()) {
    parts.facts.devices[device->info().id] = device->info();
    wire::ToProto(device->info(), "", *parts.info.add_devices());
  }
  parts.info.set_generation("g1");
  parts.info.set_name("test");
  *parts.info.mutable_allocation() = options_.allocation;
  parts.allocation_end = options_.allocation_end;
  parts.info.mutable_limits()->set_message_bytes(options_.message_bytes);
  context_ = std::make_unique<ServiceContext>(std::move(parts));

  ListenOptions listen;
  listen.unix_socket = unix_socket();
  listen.message_bytes = options_.message_bytes;
  if (options_.tls) {
    AddTls(listen);
    identity_ = listen.identity;
    client_identity_ = listen.client;
  }
  absl::StatusOr<std::unique_ptr<GrpcServer>> server = GrpcServer::Start(*context_, listen);
  if (!server.ok()) {
    ADD_FAILURE() << server.status().ToString();
    std::abort();
  }
  server_ = *std::move(server);
  server_->SetServing(true);
}

void AddTls(ListenOptions& options) {
  const ClientAuthority authority = ClientAuthority::Make().value();
  options.identity = MakeDaemonIdentity().value();
  options.client_roots = authority.certificate_pem();
  options.client = authority.MakeClient("owner").value();
}

std::string TestServer::AuditText() const {
  audit_->Write(AuditLog::Sums::kAll);
  return ReadText(folder_.File("audit.jsonl"));
}

TestServer::~TestServer() { server_->Shutdown(std::chrono::system_clock::now()); }

std::string TestServer::unix_socket() const {
  return options_.tls || !options_.unix_socket.empty() ? options_.unix_socket : folder_.path() + "/plain";
}

std::string TestServer::target() const {
  return unix_socket().empty() ? "127.0.0.1:" + std::to_string(server_->port()) : "unix:" + unix_socket();
}

grpc::SslCredentialsOptions TestServer::Credentials() const {
  if (!identity_) return {};
  return {identity_->certificate_pem, client_identity_->key_pem, client_identity_->certificate_pem};
}

std::shared_ptr<grpc::Channel> TestServer::Channel(const grpc::SslCredentialsOptions& tls) const {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(-1);
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  if (identity_) {
    credentials = grpc::SslCredentials(tls);
    arguments.SetSslTargetNameOverride(kCertificateName);
  }
  return grpc::CreateCustomChannel(target(), credentials, arguments);
}

ServerTest::ServerTest(TestServer::Options options)
    : server_(std::move(options)),
      channel_(server_.Channel()),
      catalogue_(v1::Catalogue::NewStub(channel_)),
      arrays_(v1::Arrays::NewStub(channel_)),
      jobs_(v1::Jobs::NewStub(channel_)),
      telemetry_(v1::Telemetry::NewStub(channel_)),
      daemon_(v1::Server::NewStub(channel_)) {}

v1::JobSpec ServerTest::TinyJob() {
  v1::JobSpec job;
  job.set_kernel("vector_add");
  const std::vector<float> values = {1, 2, 3, 4};
  for (const char* name : {"a", "b"}) {
    v1::JobInput& input = *job.add_inputs();
    input.set_name(name);
    input.mutable_inline_()->mutable_signature()->set_dtype(v1::DTYPE_FLOAT32);
    input.mutable_inline_()->mutable_signature()->add_shape(4);
    input.mutable_inline_()->set_data(values.data(), 16);
  }
  return job;
}

void ServerTest::ExpectTinyResult(const v1::JobResult& result) {
  ASSERT_EQ(result.outputs_size(), 1);
  EXPECT_EQ(result.outputs(0).name(), "c");
  ASSERT_EQ(result.outputs(0).inline_().size(), 16u);
  float values[4];
  std::memcpy(values, result.outputs(0).inline_().data(), 16);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(values[i], 2.0f * static_cast<float>(i + 1));
  EXPECT_EQ(result.receipt().kernel(), "vector_add");
  EXPECT_EQ(result.receipt().device(), "cpu0");
  EXPECT_GT(result.receipt().total_ns(), 0u);
}

// Points inside the set, which run through all their iterations.
v1::JobSpec ServerTest::LongJob() {
  v1::JobSpec job;
  job.set_kernel("mandelbrot");
  for (const auto& [name, value] : {std::pair{"x_min", -0.1}, {"x_max", 0.1}, {"y_min", -0.1}, {"y_max", 0.1}}) {
    (*job.mutable_params())[name].set_float_value(value);
  }
  (*job.mutable_params())["max_iterations"].set_int_value(2'000'000'000);
  (*job.mutable_params())["resolution"].set_int_value(1000);
  return job;
}

bool ServerTest::Eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 6000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

v1::Job ServerTest::WaitFor(const std::string& job_id, const std::function<bool(const v1::Job&)>& condition) {
  v1::GetJobRequest request;
  request.set_job_id(job_id);
  v1::GetJobResponse response;
  for (int i = 0; i < 6000; ++i) {
    const grpc::Status status = jobs_->Get(Call(), request, &response);
    if (!status.ok()) {
      ADD_FAILURE() << status.error_message();
      return {};
    }
    if (condition(response.job())) return response.job();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ADD_FAILURE() << "waited a minute for a state of job " << job_id << ", which is "
                << response.job().ShortDebugString();
  return response.job();
}

}  // namespace hotplate::server
