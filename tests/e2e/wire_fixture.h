// A real daemon and bare stubs: for tests that send what a client may, and our own never would.
#pragma once

#include <google/protobuf/descriptor.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hotplate/v1/arrays.grpc.pb.h"
#include "hotplate/v1/catalogue.grpc.pb.h"
#include "hotplate/v1/jobs.grpc.pb.h"
#include "hotplate/v1/server.grpc.pb.h"
#include "hotplate/v1/telemetry.grpc.pb.h"
#include "tests/e2e/daemon_process.h"

namespace hotplate::e2e {

// The bytes of an array.
std::string Floats(const std::vector<float>& elements);
// A job that adds the elements, inline, to themselves.
v1::JobSpec VectorAdd(const std::vector<float>& elements);
v1::JobSpec Integral(std::int64_t n);
inline constexpr std::int64_t kForHours = 10'000'000;  // n of an integral that ends only by being cancelled

// Of all services of hotplate.v1, and how a call names one.
std::vector<const google::protobuf::MethodDescriptor*> AllMethods();
std::string PathOf(const google::protobuf::MethodDescriptor& method);

// Each test has a daemon, and fails if that does not outlive it.
class WireTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;
  // Another daemon in place of the first.
  void Start(const std::vector<std::string>& flags = {});

  // The code and bytes of a call of any method, with a message that is empty unless told.
  std::pair<grpc::Status, std::string> Raw(const std::string& method, const Caller& caller,
                                           const std::string& message = "");

  grpc::Status Execute(const v1::JobSpec& job, v1::ExecuteJobResponse& response);
  grpc::Status Submit(const v1::JobSpec& job, std::string& job_id);
  v1::JobState StateOf(const std::string& job_id);
  void Cancel(const std::string& job_id);

  // Of float32.
  grpc::Status Create(const std::vector<std::int64_t>& shape, v1::Array& array);
  // One message of `bytes` at `offset`.
  grpc::Status Write(const std::string& id, std::uint64_t offset, std::size_t bytes);
  v1::Array Describe(const std::string& id);
  // What the arrays of all sessions hold. Asked by another session, so that the asking keeps nothing alive.
  std::uint64_t ArrayBytes();

  std::unique_ptr<DaemonProcess> daemon_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<Caller> caller_;
  std::unique_ptr<v1::Jobs::Stub> jobs_;
  std::unique_ptr<v1::Arrays::Stub> arrays_;
  std::unique_ptr<v1::Server::Stub> server_;
  std::unique_ptr<v1::Telemetry::Stub> telemetry_;
};

}  // namespace hotplate::e2e
