// The client library: finds a hotplated, pins its certificate, sends work and brings back results.
//
//   absl::StatusOr<hotplate::client::Client> client = hotplate::client::Client::Connect();
//   auto result = client->Run("selu", {{"x", hotplate::client::View(x, {1'000'000})}});   // x: std::vector<float>
//   std::span<const float> y = result->Output<float>("y");
//
// A Client is a handle to one connection and one session; copies share them; all calls are thread-safe. Statuses
// carry the daemon's code and sentence; Violations(status) lists the fields of a refusal, EndOf(status) has the end of
// a job that began, RetryAfter(status) says when another attempt makes sense. UNAVAILABLE means that the daemon is not
// there or the connection was lost, after the retries that ConnectOptions allows; a daemon that goes silent is given up
// some seconds after kSilenceBound.
//
// How a Run goes: inputs of kInlineInputBytes together ride inside the request; with more, the job is checked, the
// large inputs are uploaded as arrays of the session, straight from the caller's memory, and freed when the job ends.
// The job itself goes over the one open stream that all threads share. Outputs come back inline or, when large, are
// read straight into the buffers that the result owns. No thread is started and no stream opened before it is needed:
// a program that makes one call pays for one call.
//
// No callback may throw: what it is called from cannot tell whom. A Client that was moved from may only be assigned to
// or destroyed.
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
#include "hotplate/v1/arrays.pb.h"
#include "hotplate/v1/catalogue.pb.h"
#include "hotplate/v1/endpoint.pb.h"
#include "hotplate/v1/jobs.pb.h"
#include "hotplate/v1/server.pb.h"
#include "hotplate/v1/telemetry.pb.h"
#include "kernels/array/host_buffer.h"
#include "kernels/array/shape.h"

namespace hotplate::client {

using std::chrono::nanoseconds;

// Inputs of one job that are not larger than this together travel inside its request.
inline constexpr std::size_t kInlineInputBytes = std::size_t{1} << 20;
// A daemon from which nothing has come for so long, probes included, counts as lost.
inline constexpr std::chrono::seconds kSilenceBound{30};
// How long a watch, a transfer or a job that is waited for outlives the connection to its daemon.
inline constexpr std::chrono::seconds kReconnectBound{120};

struct ConnectOptions {
  // A daemon's name below $HOTPLATE_DIR/servers, or the path of a record; empty: HOTPLATE_SERVER, then `current`.
  std::string server = {};
  // "ADDRESS:PORT" or "localhost:PORT", in place of the record's addresses: the near end of a port forward (ssh -L) to
  // a daemon that cannot be reached directly. Its certificate stays pinned, so that nobody else who listens there gets
  // the token; a record without one is refused. Empty: HOTPLATE_ENDPOINT where `server` is empty too, else the
  // record's.
  std::string endpoint = {};
  // Overrides HOTPLATE_DIR (default ~/.hotplate).
  std::string directory = {};
  // 32 hexadecimal digits: take part in a session that exists, to use its arrays. Empty: a new one.
  std::string session = {};
  // False: only read the record; the first call meets what is wrong with the daemon. Saves one round trip.
  bool contact = true;
  // Of each unary call but Execute; of a transfer where it makes no progress for so long.
  nanoseconds deadline = std::chrono::seconds(30);
  nanoseconds connect_timeout = std::chrono::seconds(5);
  // Repeat calls that are safe to repeat (reads, and jobs with a request_id) on UNAVAILABLE, with backoff.
  int retries = 3;
  // A watch, a transfer and a job that is waited for go on when their connection breaks and the daemon cannot be
  // reached: another is tried again and again for so long, a watch from its last update, a transfer from its last byte,
  // a job under its request_id, so that it runs once. Not where the daemon is known to be gone: its process on this
  // host, its record, its port.
  nanoseconds reconnect = kReconnectBound;
  // Told of that, once `retries` attempts have failed: the error when the connection is lost, OK when it is there
  // again. On the thread that waits for the call, or the library's; it may use the client.
  std::function<void(const absl::Status&)> on_connection = {};
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

// An input that is read while it goes up, from a file say, in place of memory that holds all of it. It is uploaded
// whatever its size.
struct ArraySource {
  Signature signature;
  // Fills `to` with the elements' bytes in C order, from byte `offset` on. Called by the thread that uploads: forward,
  // and again from an earlier byte where a connection broke. Its error ends the call.
  std::function<absl::Status(std::uint64_t offset, std::span<std::byte> to)> read;
};

// Takes an array's bytes as they come, in place of memory that holds all of them: in order, each once; of an array
// without bytes one empty piece. Called by the thread that downloads. Its error ends the call.
using TakePiece =
    std::function<absl::Status(const Signature& signature, std::uint64_t offset, std::span<const std::byte> piece)>;

struct ArrayRef {
  std::string id_or_name;  // an array that the daemon holds
};
struct PathRef {
  std::string path;  // a .npy file that the daemon can read
};
using Input = std::variant<ArrayView, ArrayRef, PathRef, ArraySource>;
using ParamValue = std::variant<std::int64_t, double, bool, std::string>;

struct KeepOutput {
  std::string array_name;            // "" for none
  std::optional<nanoseconds> lease;  // none: the session's
};

// A .npy file that the daemon writes itself, below its roots for paths; nothing comes here. One that is there already
// is refused (ALREADY_EXISTS) unless it is to be replaced.
struct PlaceOutput {
  std::string path;  // absolute, or from this program's current folder on
  bool replace = false;
};

struct JobOptions {
  std::map<std::string, ParamValue> params = {};
  std::map<std::string, KeepOutput> keep = {};    // outputs to leave on the daemon as arrays
  std::map<std::string, PlaceOutput> place = {};  // outputs that the daemon writes to files
  std::string device = {};
  v1::Precision precision = v1::PRECISION_UNSPECIFIED;
  // The same bits every time on the same device, whatever else it does. Refused where the kernel cannot (its spec
  // says).
  bool deterministic = false;
  int priority = 0;
  std::optional<nanoseconds> time_limit = {};
  // For the whole call, from its start: transfers, queue, job. When it is over the job is cancelled and the call
  // returns DEADLINE_EXCEEDED.
  std::optional<nanoseconds> deadline = {};
  // Made by the library where empty, so that its own retries are safe. With one of the caller's, large inputs are known
  // to the daemon by their content: the same call again finds its job, one with other elements is refused.
  std::string request_id = {};
  // Leave the daemon's copies of large outputs where they are, for Fetch, until Release or the session's end.
  bool leave_result = false;
  bool detach_on_disconnect = false;
  // Memory of the caller's that outputs land in, by output: of exactly its bytes, and there until the call is over.
  // One of another size, of an output that there is none of, or of one that is in `keep` is an INVALID_ARGUMENT; of a
  // call that fails nobody knows what is there.
  std::map<std::string, std::span<std::byte>> destinations = {};
  // Takes the bytes of outputs that are downloaded, by output, in place of buffers; not of those that have a
  // destination. What comes inside a message, being small, has a buffer all the same.
  std::function<absl::Status(const std::string& output, const Signature& signature, std::uint64_t offset,
                             std::span<const std::byte> piece)>
      take_output = {};
  // Called for states, progress and notices: by Run on the thread that called it, by RunAsync on the library's thread.
  // A slow callback misses progress, and a short job may have nothing to say before its end.
  std::function<void(const v1::JobUpdate&)> on_update = {};
  // Called by Run on the thread that called it, some twenty times a second while it waits for the job's end, for bytes
  // of an output, or for a connection to go on with these: for what that thread has to look after, as an interpreter
  // has after signals. It may cancel the call; false after that: the daemon's word that it has cancelled the job is not
  // waited for.
  std::function<bool()> on_wait = {};
  // Called by Run, and by it alone, on the thread that called it, once, when the job is on its way: what is done there
  // costs a small call nothing, since it would wait meanwhile. Not called where there is nothing to wait for. It must
  // not throw.
  std::function<void()> meanwhile = {};
  // Called while inputs go up and outputs come down: bytes done, bytes in all.
  std::function<void(std::uint64_t, std::uint64_t)> on_upload = {}, on_download = {};
};

// An array that came back, or that was left on the daemon (then `id` is set and `buffer` null). In a destination of the
// caller's, and where its pieces were taken, it has no buffer either.
struct OutputArray {
  Signature signature;
  std::shared_ptr<HostBuffer> buffer;
  std::string id;
  std::string path = {};  // of the file that the daemon wrote it to; then there is neither buffer nor id
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
  std::vector<std::string> left;  // with leave_result: ids of the daemon's copies of what came back

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
// The id of the job that an error is about, where the daemon has told it: always with an end, also in the errors of a
// deadline, of a cancel that was not confirmed and of a lost connection if the id came before. Else empty.
std::string JobIdOf(const absl::Status& status);
// UNAVAILABLE because nobody answered or the connection broke, and not by the daemon's own word (it drains): what
// became of the call is not known.
bool ConnectionLost(const absl::Status& status);
// The fields that a refusal names.
std::vector<v1::FieldViolation> Violations(const absl::Status& status);
// How long to wait before another attempt, where the daemon said so.
std::optional<nanoseconds> RetryAfter(const absl::Status& status);

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
  // UNAVAILABLE: no record, nobody answers at it (the message says how to start one), or it hung up, as it does on
  // a client certificate that is not its own. PERMISSION_DENIED: the record is readable by others. UNAUTHENTICATED:
  // the daemon refused the token, or showed another certificate than the record's.
  // INVALID_ARGUMENT: an option that makes no sense, named.
  static absl::StatusOr<Client> Connect(const ConnectOptions& options = {}, const Cancellation* cancellation = nullptr);

  // Catalogue.
  absl::StatusOr<std::vector<v1::KernelSpec>> Kernels(const Cancellation* cancellation = nullptr);
  absl::StatusOr<v1::KernelSpec> Describe(const std::string& kernel, const Cancellation* cancellation = nullptr);

  // Arrays.
  absl::StatusOr<v1::Array> Put(const ArrayView& array, const std::string& name = "",
                                std::optional<nanoseconds> lease = std::nullopt, bool replace = false,
                                const std::function<void(std::uint64_t, std::uint64_t)>& on_upload = nullptr,
                                const Cancellation* cancellation = nullptr);
  absl::StatusOr<v1::Array> Put(const ArraySource& array, const std::string& name = "",
                                std::optional<nanoseconds> lease = std::nullopt, bool replace = false,
                                const std::function<void(std::uint64_t, std::uint64_t)>& on_upload = nullptr,
                                const Cancellation* cancellation = nullptr);
  absl::StatusOr<OutputArray> Get(const std::string& id_or_name,
                                  const std::function<void(std::uint64_t, std::uint64_t)>& on_download = nullptr,
                                  const Cancellation* cancellation = nullptr);
  // The same without memory for all of it: what comes back has no buffer.
  absl::StatusOr<OutputArray> GetPieces(const std::string& id_or_name, const TakePiece& take,
                                        const std::function<void(std::uint64_t, std::uint64_t)>& on_download = nullptr,
                                        const Cancellation* cancellation = nullptr);
  // Into memory of the caller's: exactly the array's bytes.
  absl::Status GetInto(const std::string& id_or_name, std::span<std::byte> destination,
                       const std::function<void(std::uint64_t, std::uint64_t)>& on_download = nullptr,
                       const Cancellation* cancellation = nullptr);
  // A part of it: as many bytes as the destination has, from byte `offset` on.
  absl::Status GetRange(const std::string& id_or_name, std::uint64_t offset, std::span<std::byte> destination,
                        const std::function<void(std::uint64_t, std::uint64_t)>& on_download = nullptr,
                        const Cancellation* cancellation = nullptr);
  absl::StatusOr<v1::Array> DescribeArray(const std::string& id_or_name, const Cancellation* cancellation = nullptr);
  absl::StatusOr<v1::ListArraysResponse> Arrays(const Cancellation* cancellation = nullptr);
  absl::Status Free(const std::string& id_or_name, const Cancellation* cancellation = nullptr);
  absl::StatusOr<v1::Array> Renew(const std::string& id_or_name, nanoseconds lease,
                                  const Cancellation* cancellation = nullptr);

  // Jobs. Big inputs are checked (Check) before a byte is uploaded, and travel as arrays.
  absl::StatusOr<v1::CheckJobResponse> Check(const std::string& kernel, const std::map<std::string, Input>& inputs,
                                             const JobOptions& options = {},
                                             const Cancellation* cancellation = nullptr);
  // Uploads, runs, downloads; returns when all is done. Uses the client's one open stream, shared by all threads.
  absl::StatusOr<JobResult> Run(const std::string& kernel, const std::map<std::string, Input>& inputs,
                                const JobOptions& options = {}, const Cancellation* cancellation = nullptr);
  // The same, on the stream, without waiting. The inputs' memory must live until the future is ready.
  std::future<absl::StatusOr<JobResult>> RunAsync(const std::string& kernel, std::map<std::string, Input> inputs,
                                                  JobOptions options = {});
  // The same with a callback, on a thread of the library: for many jobs in flight. A cancelled one is told like any
  // other end, once the daemon has confirmed it; a result that was on its way is freed, but under a request_id of the
  // caller's, with leave_result and with detach_on_disconnect. No copy of the callback is destroyed under a lock of
  // ours. The end of the last handle cancels what is in flight and does not detach, and waits for the daemon's word for
  // it no longer than a second.
  void RunAsync(const std::string& kernel, std::map<std::string, Input> inputs, JobOptions options,
                std::function<void(absl::StatusOr<JobResult>)> done, const Cancellation* cancellation = nullptr);
  // One unary call instead of the stream: for a single small job. Without updates, and without the job's id when it is
  // cancelled from here.
  absl::StatusOr<JobResult> Execute(const std::string& kernel, const std::map<std::string, Input>& inputs,
                                    const JobOptions& options = {}, const Cancellation* cancellation = nullptr);
  // Detached: returns the job's id once it is queued. Cancelling ends the uploads; a job that was sent stays.
  absl::StatusOr<std::string> Submit(const std::string& kernel, const std::map<std::string, Input>& inputs,
                                     const JobOptions& options = {}, const Cancellation* cancellation = nullptr);
  // Calls `on_update`, on this thread, for every update from the start until the job's end, which it returns as well.
  // Survives a broken connection (resumes after the last sequence number). Cancelling ends the watch, not the job.
  absl::StatusOr<v1::JobEnd> Watch(const std::string& job_id,
                                   const std::function<void(const v1::JobUpdate&)>& on_update,
                                   const Cancellation* cancellation = nullptr);
  absl::StatusOr<v1::Job> Job(const std::string& job_id, const Cancellation* cancellation = nullptr);
  absl::StatusOr<std::vector<v1::Job>> Jobs(const v1::ListJobsRequest& request = {},
                                            const Cancellation* cancellation = nullptr);
  absl::StatusOr<v1::Job> Cancel(const std::string& job_id, const Cancellation* cancellation = nullptr);
  // Waits for the job's end, then fetches. Cancelling ends the wait, not the job.
  absl::StatusOr<JobResult> Wait(const std::string& job_id, const Cancellation* cancellation = nullptr);
  // Brings the outputs of an ended job, as often as wanted until the daemon's retention time is over; those that were
  // to be kept as arrays under a name or a lease stay there and come as ids. FAILED_PRECONDITION while the job goes on;
  // NOT_FOUND when a large output has been freed, or went with the session that ran the job.
  absl::StatusOr<JobResult> Fetch(const std::string& job_id,
                                  const std::function<void(std::uint64_t, std::uint64_t)>& on_download = nullptr,
                                  const Cancellation* cancellation = nullptr);
  // With the options' destinations, take_output and on_download; the others mean nothing here.
  absl::StatusOr<JobResult> Fetch(const std::string& job_id, const JobOptions& options,
                                  const Cancellation* cancellation = nullptr);
  // Frees what leave_result has left.
  void Release(JobResult& result);

  // Telemetry and the daemon.
  absl::StatusOr<v1::TelemetrySnapshotResponse> Telemetry(std::uint32_t history = 1,
                                                          const Cancellation* cancellation = nullptr);
  // Until `on_sample` returns false, or the cancellation; survives a broken connection.
  absl::Status WatchTelemetry(nanoseconds interval, const std::function<bool(const v1::TelemetrySample&)>& on_sample,
                              const Cancellation* cancellation = nullptr);
  absl::StatusOr<v1::GetServerInfoResponse> Info(const Cancellation* cancellation = nullptr);
  absl::Status Drain(std::optional<nanoseconds> timeout = std::nullopt);
  absl::Status Shutdown(std::optional<nanoseconds> drain_timeout = std::nullopt);
  // Frees the session's arrays and cancels its attached jobs now, instead of when the daemon misses it.
  absl::Status CloseSession();

  // The daemon's record as it was read (with ConnectOptions::endpoint in place of its addresses, where that was given),
  // and its name in it.
  const v1::EndpointRecord& record() const;
  const std::string& server_name() const;
  const std::string& session() const;

 private:
  class Impl;
  explicit Client(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

}  // namespace hotplate::client
