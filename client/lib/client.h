// The client library: finds a hotplated, pins its certificate, sends work and brings back results.
//
//   absl::StatusOr<hotplate::client::Client> client = hotplate::client::Client::Connect();
//   auto result = client->Run("selu", {{"x", hotplate::client::View(x, {1'000'000})}});   // x: std::vector<float>
//   std::span<const float> y = result->Output<float>("y");
//
// A Client is a handle to one connection and one session; copies share them; all calls are thread-safe. Statuses
// carry the daemon's code and sentence; Violations(status) (kernels-free copy here) lists the fields of a refusal.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hotplate/v1/catalogue.pb.h"
#include "hotplate/v1/jobs.pb.h"
#include "hotplate/v1/server.pb.h"
#include "hotplate/v1/telemetry.pb.h"
#include "hotplate/v1/arrays.pb.h"
#include "kernels/array/host_buffer.h"
#include "kernels/array/shape.h"

namespace hotplate::client {

using std::chrono::nanoseconds;

struct ConnectOptions {
  // A daemon's name below $HOTPLATE_DIR/servers, or the path of a record; empty: HOTPLATE_SERVER, then `current`.
  std::string server;
  // Overrides HOTPLATE_DIR (default ~/.hotplate).
  std::string directory;
  // Deadline of each unary call; of a stream only where it makes no progress.
  nanoseconds deadline = std::chrono::seconds(30);
  nanoseconds connect_timeout = std::chrono::seconds(5);
  // Repeat calls that are safe to repeat (reads, and jobs with a request_id) on UNAVAILABLE, with backoff.
  int retries = 3;
};

// An input that the caller owns: bytes with a signature. Must live until the call returns.
struct ArrayView {
  Signature signature;
  std::span<const std::byte> bytes;
};

template <typename T>
ArrayView View(std::span<const T> elements, Shape shape) {
  return {{DTypeOf<T>(), std::move(shape)}, std::as_bytes(elements)};
}
template <typename T>
ArrayView View(const std::vector<T>& elements, Shape shape) {
  return View(std::span<const T>(elements), std::move(shape));
}

struct ArrayRef {
  std::string id_or_name;  // an array that the daemon holds
};
struct PathRef {
  std::string path;  // a .npy file that the daemon can read
};
using Input = std::variant<ArrayView, ArrayRef, PathRef>;
using ParamValue = std::variant<std::int64_t, double, bool, std::string>;

struct KeepOutput {
  std::string array_name;                    // "" for none
  std::optional<nanoseconds> lease;          // none: the session's
};

struct JobOptions {
  std::map<std::string, ParamValue> params;
  std::map<std::string, KeepOutput> keep;  // outputs to leave on the daemon as arrays
  std::string device;
  v1::Precision precision = v1::PRECISION_UNSPECIFIED;
  int priority = 0;
  std::optional<nanoseconds> time_limit;
  // Made by the library where empty, so that its own retries are safe.
  std::string request_id;
  bool detach_on_disconnect = false;
  // Called on a thread of the library for states and progress.
  std::function<void(const v1::JobUpdate&)> on_update;
  // Called while inputs go up and outputs come down: bytes done, bytes in all.
  std::function<void(std::uint64_t, std::uint64_t)> on_upload, on_download;
};

// An array that came back, or that was left on the daemon (then `id` is set and `buffer` null).
struct OutputArray {
  Signature signature;
  std::shared_ptr<HostBuffer> buffer;
  std::string id;
};

// The client's own part of a receipt, on the client's monotonic clock.
struct ClientTimings {
  nanoseconds upload{}, download{}, total{};
  std::uint64_t bytes_up = 0, bytes_down = 0;
};

struct JobResult {
  std::string job_id;
  std::map<std::string, OutputArray> outputs;
  v1::Receipt receipt;
  ClientTimings timings;

  // The elements of an output in C order. T must be its dtype, and the output must have come back: else empty.
  template <typename T>
  std::span<const T> Output(const std::string& name) const {
    const auto found = outputs.find(name);
    if (found == outputs.end() || !found->second.buffer || found->second.signature.dtype != DTypeOf<T>()) return {};
    return {reinterpret_cast<const T*>(found->second.buffer->data()), found->second.buffer->size() / sizeof(T)};
  }
};

// The error of a job that began and did not complete carries its end: state, error, receipt where there is one.
std::optional<v1::JobEnd> EndOf(const absl::Status& status);
// The fields that a refusal names.
std::vector<v1::FieldViolation> Violations(const absl::Status& status);

// Stops a blocking call from another thread or a signal handler's helper: the job is cancelled, the call returns.
class Cancellation {
 public:
  Cancellation();
  void Cancel();
  bool cancelled() const;

 private:
  friend class Client;
  struct State;
  std::shared_ptr<State> state_;
};

class Client {
 public:
  // UNAVAILABLE: no record, or nobody answers at it (the message says how to start one). PERMISSION_DENIED: the
  // record is readable by others. UNAUTHENTICATED: the daemon refused the token or showed another certificate.
  static absl::StatusOr<Client> Connect(const ConnectOptions& options = {});

  // Catalogue.
  absl::StatusOr<std::vector<v1::KernelSpec>> Kernels();
  absl::StatusOr<v1::KernelSpec> Describe(const std::string& kernel);

  // Arrays.
  absl::StatusOr<v1::Array> Put(const ArrayView& array, const std::string& name = "",
                                std::optional<nanoseconds> lease = std::nullopt, bool replace = false,
                                const std::function<void(std::uint64_t, std::uint64_t)>& on_upload = nullptr);
  absl::StatusOr<OutputArray> Get(const std::string& id_or_name,
                                  const std::function<void(std::uint64_t, std::uint64_t)>& on_download = nullptr);
  // Into memory of the caller's: exactly the array's bytes.
  absl::Status GetInto(const std::string& id_or_name, std::span<std::byte> destination,
                       const std::function<void(std::uint64_t, std::uint64_t)>& on_download = nullptr);
  absl::StatusOr<v1::Array> DescribeArray(const std::string& id_or_name);
  absl::StatusOr<v1::ListArraysResponse> Arrays();
  absl::Status Free(const std::string& id_or_name);
  absl::StatusOr<v1::Array> Renew(const std::string& id_or_name, nanoseconds lease);

  // Jobs. Big inputs are checked (Check) before a byte is uploaded, and travel as arrays.
  absl::StatusOr<v1::CheckJobResponse> Check(const std::string& kernel, const std::map<std::string, Input>& inputs,
                                             const JobOptions& options = {});
  // Uploads, runs, downloads; returns when all is done. Uses the client's one open stream, shared by all threads.
  absl::StatusOr<JobResult> Run(const std::string& kernel, const std::map<std::string, Input>& inputs,
                                const JobOptions& options = {}, const Cancellation* cancellation = nullptr);
  // The same, on the stream, without waiting. The inputs' memory must live until the future is ready.
  std::future<absl::StatusOr<JobResult>> RunAsync(const std::string& kernel, std::map<std::string, Input> inputs,
                                                  JobOptions options = {});
  // The same with a callback, on a thread of the library: for many jobs in flight.
  void RunAsync(const std::string& kernel, std::map<std::string, Input> inputs, JobOptions options,
                std::function<void(absl::StatusOr<JobResult>)> done);
  // One unary call instead of the stream: for a single small job.
  absl::StatusOr<JobResult> Execute(const std::string& kernel, const std::map<std::string, Input>& inputs,
                                    const JobOptions& options = {});
  // Detached: returns the job's id once it is queued.
  absl::StatusOr<std::string> Submit(const std::string& kernel, const std::map<std::string, Input>& inputs,
                                     const JobOptions& options = {});
  // Calls `on_update` for every update from the start until the job ends. Survives a broken connection (resumes from
  // the last sequence number). Returns the end.
  absl::StatusOr<v1::JobEnd> Watch(const std::string& job_id, const std::function<void(const v1::JobUpdate&)>& on_update,
                                   const Cancellation* cancellation = nullptr);
  absl::StatusOr<v1::Job> Job(const std::string& job_id);
  absl::StatusOr<std::vector<v1::Job>> Jobs(const v1::ListJobsRequest& request = {});
  absl::StatusOr<v1::Job> Cancel(const std::string& job_id);
  // Waits for the job's end, then brings its outputs.
  absl::StatusOr<JobResult> Wait(const std::string& job_id);
  // FAILED_PRECONDITION while the job goes on.
  absl::StatusOr<JobResult> Fetch(const std::string& job_id);

  // Telemetry and the daemon.
  absl::StatusOr<v1::TelemetrySnapshotResponse> Telemetry(std::uint32_t history = 1);
  absl::Status WatchTelemetry(nanoseconds interval, const std::function<bool(const v1::TelemetrySample&)>& on_sample);
  absl::StatusOr<v1::GetServerInfoResponse> Info();
  absl::Status Drain(std::optional<nanoseconds> timeout = std::nullopt);
  absl::Status Shutdown(std::optional<nanoseconds> drain_timeout = std::nullopt);

  // The daemon's name and start, from its record.
  const std::string& server_name() const;
  const std::string& session() const;

 private:
  class Impl;
  explicit Client(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

}  // namespace hotplate::client
