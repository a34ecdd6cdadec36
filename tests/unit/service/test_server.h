// A whole server in this process: engine on the CPU, services, TLS, on a free port of the loopback.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "hotplate/v1/arrays.grpc.pb.h"
#include "hotplate/v1/catalogue.grpc.pb.h"
#include "hotplate/v1/jobs.grpc.pb.h"
#include "hotplate/v1/server.grpc.pb.h"
#include "hotplate/v1/telemetry.grpc.pb.h"
#include "kernels/devices/device.h"
#include "server/audit_log.h"
#include "server/service/grpc_server.h"
#include "tests/temporary_folder.h"

namespace hotplate::server {

class RecordedControl final : public DaemonControl {
 public:
  void RequestDrain(std::optional<core::nanoseconds> timeout, const std::string&) override {
    draining_ = true;
    drain_timeout = timeout;
  }
  void RequestShutdown(std::optional<core::nanoseconds> timeout, const std::string&) override {
    draining_ = true;
    shutdown_timeout = timeout;
  }
  bool draining() const override { return draining_; }

  std::optional<core::nanoseconds> drain_timeout, shutdown_timeout;

 private:
  std::atomic<bool> draining_{false};
};

// A GPU without kernels that says of itself what the test says.
class MadeUpGpu final : public Device {
 public:
  explicit MadeUpGpu(std::function<DeviceMetrics()> sample) : sample_(std::move(sample)) {
    info_.id = "gpu0";
    info_.backend = "cuda";
  }
  const DeviceInfo& info() const override { return info_; }
  absl::StatusOr<MemoryPlan> Plan(const BoundCall&) const override {
    return absl::FailedPreconditionError("no kernels");
  }
  absl::StatusOr<std::unique_ptr<Lane>> OpenLane() override { return std::make_unique<IdleLane>(); }
  std::uint64_t FreeBytes() const override { return 0; }
  DeviceMetrics Sample() override { return sample_(); }

 private:
  struct IdleLane final : Lane {
    Report Run(const Task&, TaskControl&) override { return {}; }
  };
  const std::function<DeviceMetrics()> sample_;
  DeviceInfo info_;
};

// A daemon's certificate, and one of a client of it.
void AddTls(ListenOptions& options);

class TestServer {
 public:
  struct Options {
    bool tls = true;
    std::string unix_socket;
    core::EngineOptions engine;
    core::ArrayLimits arrays{.total_bytes = std::uint64_t{256} << 20, .array_bytes = std::uint64_t{64} << 20};
    std::uint64_t message_bytes = std::uint64_t{8} << 20;
    bool cpu = true;                                // has the CPU's device
    std::function<std::unique_ptr<Device>()> more;  // a device beside it
    v1::Allocation allocation;
    std::function<std::optional<core::WallTime>()> allocation_end;
    bool audit = false;  // keeps an audit log
  };
  static Options OptionsWith(bool tls, const std::string& unix_socket = "",
                             std::uint64_t message_bytes = std::uint64_t{8} << 20) {
    Options options;
    options.tls = tls;
    options.unix_socket = unix_socket;
    options.message_bytes = message_bytes;
    return options;
  }
  explicit TestServer(Options options);
  ~TestServer();

  // With the certificates that the server was made with, or what a test makes of them.
  std::shared_ptr<grpc::Channel> Channel() const { return Channel(Credentials()); }
  std::shared_ptr<grpc::Channel> Channel(const grpc::SslCredentialsOptions& tls) const;
  grpc::SslCredentialsOptions Credentials() const;
  std::string target() const;
  std::string unix_socket() const;  // without TLS there always is one

  core::Engine& engine() { return *engine_; }
  core::ArrayStore& arrays() { return arrays_; }
  RecordedControl& control() { return control_; }
  GrpcServer& server() { return *server_; }
  const ServiceContext& context() const { return *context_; }
  const std::string& folder() const { return folder_.path(); }
  // All that the audit log has until now, sums too.
  std::string AuditText() const;

  static const std::string kToken, kWatcherToken, kSession;

 private:
  const Options options_;
  TemporaryFolder folder_;  // the root of inputs by path
  core::Clock clock_;
  core::ArrayStore arrays_;
  std::unique_ptr<core::Engine> engine_;
  std::unique_ptr<core::TelemetrySampler> telemetry_;
  RecordedControl control_;
  std::unique_ptr<AuditLog> audit_;
  std::optional<Identity> identity_, client_identity_;
  std::shared_ptr<const Authenticator> authenticator_;
  std::unique_ptr<ServiceContext> context_;
  std::unique_ptr<GrpcServer> server_;
};

// A client's context with token, session and a deadline that only a hang reaches.
class Call {
 public:
  explicit Call(const std::string& token = TestServer::kToken, const std::string& session = TestServer::kSession) {
    if (!token.empty()) context_.AddMetadata("authorization", "Bearer " + token);
    if (!session.empty()) context_.AddMetadata("hotplate-session", session);
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(300));
  }
  operator grpc::ClientContext*() { return &context_; }
  grpc::ClientContext* operator->() { return &context_; }

 private:
  grpc::ClientContext context_;
};

class ServerTest : public testing::Test {
 protected:
  ServerTest() : ServerTest(TestServer::Options{}) {}
  explicit ServerTest(TestServer::Options options);

  // A job that ends at once: vector_add of four float32.
  static v1::JobSpec TinyJob();
  // One that goes on until it is cancelled or a minute is over.
  static v1::JobSpec LongJob();
  // Checks the outputs of TinyJob.
  static void ExpectTinyResult(const v1::JobResult& result);

  // Polls until `condition` holds, for at most a minute. False if it never did.
  static bool Eventually(const std::function<bool()>& condition);
  v1::Job WaitFor(const std::string& job_id, const std::function<bool(const v1::Job&)>& condition);

  TestServer server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Catalogue::Stub> catalogue_;
  std::unique_ptr<v1::Arrays::Stub> arrays_;
  std::unique_ptr<v1::Jobs::Stub> jobs_;
  std::unique_ptr<v1::Telemetry::Stub> telemetry_;
  std::unique_ptr<v1::Server::Stub> daemon_;
};

}  // namespace hotplate::server
