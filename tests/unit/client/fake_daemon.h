// A daemon of a few hundred lines, for the client's tests: the generated services over a real socket, with TLS, a
// token, an endpoint record in a folder of its own, and faults on demand. It computes nothing but echoes.
#pragma once

#include <grpcpp/server.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hotplate/v1/arrays.grpc.pb.h"
#include "hotplate/v1/endpoint.pb.h"
#include "hotplate/v1/jobs.grpc.pb.h"
#include "hotplate/v1/server.grpc.pb.h"
#include "tests/temporary_folder.h"

namespace hotplate::client::testing {

struct Certificate {
  std::string certificate_pem, key_pem;
};
// Self-signed, for the name "hotplate".
Certificate MakeCertificate();
// What the clients of all fake daemons prove themselves with.
const Certificate& ClientCertificate();
// Into the record: a certificate of the daemon's, and the one for its clients.
void SetCertificates(v1::EndpointRecord& record, const Certificate& daemon,
                     const Certificate& client = ClientCertificate());

// Writes `record` to <directory>/servers/<its name>.json and makes `current` a link to it. Returns the file's path.
std::string WriteRecord(const std::string& directory, const v1::EndpointRecord& record);
// A record that passes every check, of a daemon that is not there.
v1::EndpointRecord SomeRecord();

// 1, 2, 3, …: what tests send to be echoed.
std::vector<float> Ramp(std::size_t count);

// Inputs with array data bigger than this come back as arrays.
inline constexpr std::size_t kFakeInlineBytes = 64 * 1024;

// Kernels: "echo" gives back its inputs as outputs of the same names; "hold" runs until it is cancelled; "stubborn"
// runs and does not care; "fail" ends FAILED; "refuse" is refused; "drop" breaks the connection's stream at the first
// time that its request_id is seen and is an echo from then on; "dropall" breaks it every time; "cut" runs, and breaks
// the stream having said so, quiet_breaks times, and is an echo from then on.
class FakeDaemon {
 public:
  struct Options {
    bool tls = true;
    bool unix_socket = false;
    // 0: one of the system's choice.
    int port = 0;
    std::optional<Certificate> certificate = std::nullopt;
  };

  FakeDaemon() : FakeDaemon(Options()) {}
  explicit FakeDaemon(Options options);
  ~FakeDaemon();

  const std::string& directory() const { return directory_.path(); }
  const v1::EndpointRecord& record() const { return record_; }
  int port() const { return port_; }
  // Breaks every connection; nobody listens any more.
  void Stop();

  // Faults: the next so many unary calls end UNAVAILABLE …
  std::atomic<int> unavailable{0};
  // … so many uploads or downloads break after so many bytes each.
  std::atomic<int> broken_transfers{0};
  // … so many uploads that go on where an array stands are refused: the stream before is taken to be still there.
  std::atomic<int> unnoticed_breaks{0};
  // Downloads, and the question what daemon it is, end with CANCELLED, as those of a daemon that shuts down do.
  std::atomic<bool> leaves{false};
  std::atomic<std::uint64_t> break_after{0};
  // Watch breaks after each update that is new …
  std::atomic<bool> broken_watch{false};
  // … and so many times after the first, before there is another.
  std::atomic<int> quiet_breaks{0};
  // An upload is taken this slowly: nothing is read before it is false.
  std::atomic<bool> stall_uploads{false};
  // A download sends its first piece, and the next ones when this is false.
  std::atomic<bool> stall_downloads{false};

  // What came in.
  std::atomic<int> jobs_started{0}, streams{0}, checks{0}, executes{0}, frees{0}, writes{0}, reads{0}, infos{0};
  std::atomic<std::uint64_t> bytes_written{0};
  std::set<std::string> request_ids() const;
  std::vector<std::string> running() const;
  std::size_t array_count() const;
  v1::JobSpec last_job() const;

 private:
  struct JobsService;
  struct ArraysService;
  struct ServerService;
  struct StoredArray {
    v1::Array array;
    std::string data;
  };

  grpc::Status Authorize(const grpc::ServerContext& context) const;
  grpc::Status UnaryFault();
  v1::JobEnd Compute(const v1::JobSpec& job);
  std::string Store(const v1::Signature& signature, std::string data);

  const Options options_;
  TemporaryFolder directory_;
  v1::EndpointRecord record_;
  int port_ = 0;
  mutable std::mutex mutex_;
  std::map<std::string, StoredArray> arrays_;
  std::set<std::string> request_ids_, dropped_, running_;
  v1::JobSpec last_job_;
  int next_id_ = 1;
  std::atomic<std::uint64_t> watched_{0};  // the last update that a watch has got
  std::unique_ptr<JobsService> jobs_;
  std::unique_ptr<ArraysService> arrays_service_;
  std::unique_ptr<ServerService> server_service_;
  std::unique_ptr<grpc::Server> server_;
};

// Waits, within a generous bound, until something holds. False when it never did.
bool Eventually(const std::function<bool()>& holds);

}  // namespace hotplate::client::testing
