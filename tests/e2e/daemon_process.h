// A real hotplated in a folder of its own, for tests that speak to it as a program would.
#pragma once

#include <grpcpp/grpcpp.h>
#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hotplate/v1/endpoint.pb.h"
#include "tests/temporary_folder.h"

namespace hotplate::e2e {

class DaemonProcess {
 public:
  // Starts `hotplated FLAGS` on the CPU and waits for its record. A test that cannot have its daemon fails.
  explicit DaemonProcess(const std::vector<std::string>& flags = {});
  DaemonProcess(const DaemonProcess&) = delete;
  DaemonProcess& operator=(const DaemonProcess&) = delete;
  ~DaemonProcess();

  // False where it did not start; what it said is then part of the test's failure.
  bool serving() const { return serving_; }
  bool alive() const;
  pid_t pid() const { return pid_; }
  // SIGTERM; its exit status.
  int Stop();
  void Kill();

  const std::string& folder() const { return folder_.path(); }  // HOTPLATE_DIR
  const v1::EndpointRecord& record() const { return record_; }
  std::string Log() const;

  // A new connection, with the daemon's certificate pinned.
  std::shared_ptr<grpc::Channel> Channel() const;

 private:
  TemporaryFolder folder_;
  pid_t pid_ = 0;
  bool serving_ = false;
  v1::EndpointRecord record_;
};

// What a well-behaved client sends with every call: the token and a session.
class Caller {
 public:
  Caller(std::string token, std::string session) : token_(std::move(token)), session_(std::move(session)) {}
  // A session that nobody else has.
  static Caller Of(const DaemonProcess& daemon);

  // With a generous deadline: a call that hangs is a failure, not a hang.
  std::unique_ptr<grpc::ClientContext> Context() const;

 private:
  std::string token_, session_;
};

// Polls until `condition` holds, for at most two minutes. False if it never did.
bool WaitUntil(const std::function<bool()>& condition);

}  // namespace hotplate::e2e
