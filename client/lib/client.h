// The client library: finds a daemon, pins its certificate, sends work and fetches results.
//
//   absl::StatusOr<hotplate::client::Client> client = hotplate::client::Client::Connect();
//   auto result = client->Run("selu", {{"x", hotplate::client::View(x, {1'000'000})}});   // x: std::vector<float>
//   std::span<const float> y = result->Output<float>("y");
//
// A Client is a handle to one connection and one session. Copies share them. All calls are thread-safe. Statuses carry
// the daemon's code and message. Violations(status) lists the fields of a refusal, EndOf(status) returns the end of a
// job that began, and RetryAfter(status) says when to try again. UNAVAILABLE means that the daemon did not answer or
// the connection was lost, after the retries that ConnectOptions allows. A silent daemon is given up some seconds after
// kSilenceBound.
//
// A Run sends inputs of up to kInlineInputBytes together inside the request. With more, it checks the job first, then
// uploads the large inputs as arrays of the session, directly from the caller's memory, and frees them when the job
// ends. All threads share one open stream for jobs. Small outputs come back inline; large ones are read directly into
// buffers that the result owns. The library starts a thread or opens a stream only when it needs one: a program that
// makes one call pays for one call.
//
// Callbacks must not throw. A moved-from Client may only be assigned to or destroyed.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hotplate/v1/arrays.pb.h"
#include "hotplate/v1/catalogue.pb.h"
#include "hotplate/v1/endpoint.pb.h"
#include "hotplate/v1/jobs.pb.h"
#include "hotplate/v1/programs.pb.h"
#include "hotplate/v1/server.pb.h"
#include "hotplate/v1/telemetry.pb.h"
#include "hotplate/v1/tokens.pb.h"
#include "kernels/array/host_buffer.h"
#include "kernels/array/shape.h"

namespace hotplate::client {

using std::chrono::nanoseconds;

// Inputs of one job travel inside its request up to this size in total.
inline constexpr std::size_t kInlineInputBytes = std::size_t{1} << 20;
// A daemon that has sent nothing for this long, not even an answer to a probe, counts as lost.
inline constexpr std::chrono::seconds kSilenceBound{30};
// How long a watch, a transfer or a wait tries to restore a broken connection.
inline constexpr std::chrono::seconds kReconnectBound{120};

struct ConnectOptions {
  // A daemon's name below $HOTPLATE_DIR/servers, or the path of a record; empty: HOTPLATE_SERVER, then `current`.
  std::string server = {};
  // "ADDRESS:PORT" or "localhost:PORT", in place of the record's addresses: the near end of a port forward (ssh -L) to
  // a daemon that cannot be reached directly. Its certificate stays pinned, so that no other listener there gets the
  // token; a record without a certificate is refused. Empty: HOTPLATE_ENDPOINT if `server` is empty too, else the
  // record's.
  std::string endpoint = {};
  // Overrides HOTPLATE_DIR (default ~/.hotplate).
  std::string directory = {};
  // 32 hexadecimal digits: join an existing session, to use its arrays. Empty: a new session.
  std::string session = {};
  // False: only read the record, and let the first call find problems with the daemon. Saves one round trip.
  bool contact = true;
  // For each unary call except Execute, and for a transfer that makes no progress.
  nanoseconds deadline = std::chrono::seconds(30);
  nanoseconds connect_timeout = std::chrono::seconds(5);
  // How often to repeat a call on UNAVAILABLE, with backoff, if repeating is safe (reads, and jobs with a request_id).
  int retries = 3;
  // If the connection breaks, a watch, a transfer and a wait for a job try to reconnect for this long. A watch
  // continues after its last update, a transfer after its last byte, a job under its request_id, so that one daemon
  // runs it once. They give up at once if the daemon is gone: its process on this host, its record, or its port. But if
  // it is started anew under its name, the client goes over to that start; and where a job of `hotplate up --follow-on`
  // is to bring it back, calls that are safe to repeat wait for it this long.
  nanoseconds reconnect = kReconnectBound;
  // Called with the error when the connection is lost and `retries` attempts have failed, and with OK when it is back.
  // Runs on the thread that waits for the call, or on the library's. It may use the client.
  std::function<void(const absl::Status&)> on_connection = {};
};

// An input that the caller owns: bytes with a signature. They must live until the call returns.
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

// An input that is read while it is uploaded, for example from a file: memory never holds all of it. It is always
// uploaded, however small.
struct ArraySource {
  Signature signature;
  // Fills `to` with the elements' bytes in C order, starting at byte `offset`. The uploading thread calls it with
  // increasing offsets; after a broken connection it may start again at an earlier byte. An error ends the call.
  std::function<absl::Status(std::uint64_t offset, std::span<std::byte> to)> read;
};

// Receives an array's bytes in pieces, in order, each byte once: memory never holds all of them. An empty array is one
// empty piece. The downloading thread calls it. An error ends the call.
using TakePiece =
    std::function<absl::Status(const Signature& signature, std::uint64_t offset, std::span<const std::byte> piece)>;

struct ArrayRef {
  std::string id_or_name;  // an array on the daemon
};
struct PathRef {
  std::string path;  // a .npy file that the daemon can read
};
// An output of another job of the same token, which need not have ended, nor begun: this one waits for it, and ends as
// it does if it does not complete.
struct OutputRef {
  std::string job_id;
  std::string output;
  // In place of job_id: of a job of this client, see JobOptions::on_sent. Not for Submit.
  std::string request_id = {};
};
using Input = std::variant<ArrayView, ArrayRef, PathRef, ArraySource, OutputRef>;
using ParamValue = std::variant<std::int64_t, double, bool, std::string>;

struct KeepOutput {
  std::string array_name;            // "" for none
  std::optional<nanoseconds> lease;  // none: the session's, as long as this client is there
};

// A .npy file that the daemon itself writes, below its path roots; nothing is downloaded. An existing file is refused
// (ALREADY_EXISTS) unless `replace` is set.
struct PlaceOutput {
  std::string path;  // absolute, or relative to this program's current folder
  bool replace = false;
};

struct PutOptions {
  std::string name = {};                  // "" for none
  std::optional<nanoseconds> lease = {};  // none: the session's, as long as this client is there
  bool replace = false;                   // an array of the same name
  // A device's id: jobs with the array run there, unless they ask for another. Empty: any.
  std::string device = {};
  std::function<void(std::uint64_t done, std::uint64_t total)> on_upload = {};  // bytes
};

struct JobOptions {
  std::map<std::string, ParamValue> params = {};
  std::map<std::string, KeepOutput> keep = {};    // outputs to leave on the daemon as arrays
  std::map<std::string, PlaceOutput> place = {};  // outputs that the daemon writes to files
  // Outputs that so many other jobs take (OutputRef), and nobody else: they stay on the device, come with no result,
  // and go when those jobs have them.
  std::map<std::string, std::uint32_t> for_jobs = {};
  // Ids of jobs that have to complete before this one begins. If one of them ends otherwise, so does this one.
  std::vector<std::string> after = {};
  // Likewise, by the request ids of jobs of this client (on_sent). Not for Submit.
  std::vector<std::string> after_requests = {};
  // A device's id. Empty: the daemon's GPUs, and where it has none its CPU; "any": a GPU that can run it, else the CPU.
  std::string device = {};
  v1::Precision precision = v1::PRECISION_UNSPECIFIED;
  // Give the same bits every time on the same device, whatever else it runs. Refused if the kernel's spec says that it
  // cannot.
  bool deterministic = false;
  int priority = 0;
  // Instead of the kernel, whose name is then "function". Its outputs "value", "a0", "a1", …, and "r0", … are the
  // daemon's to name.
  std::optional<v1::FunctionCall> function = {};
  // Instead of the kernel, whose name is then "expression": see Eval.
  std::string expression = {};
  std::string label = {};  // to find the job by: ListJobsRequest.label; at most 64 bytes
  // Many tasks in place of one (hotplate.v1.Sweep): each gives other values to the parameters that it names, which are
  // not in `params`. Each output is one array, with a row for each task.
  std::optional<v1::Sweep> sweep = {};
  // The graph that it belongs to (ListJobsRequest.graph), and its node there: your names, at most 64 bytes each.
  std::string graph = {}, node = {};
  std::optional<nanoseconds> time_limit = {};
  // For the whole call: transfers, queue, job. When it expires, the job is cancelled and the call returns
  // DEADLINE_EXCEEDED.
  std::optional<nanoseconds> deadline = {};
  // If empty, the library makes one, so that its own retries are safe. With yours, the daemon identifies large inputs
  // by their content: the same call finds its job again, and a call with other elements is refused.
  std::string request_id = {};
  // Leave the daemon's copies of large outputs there for Fetch, until Release or the end of the session.
  bool leave_result = false;
  bool detach_on_disconnect = false;
  // Of a detached job that runs when its daemon dies: it fails, where the next daemon would run it again.
  bool no_rerun = false;
  // Your memory for outputs, by output name. It must have exactly the output's size and live until the call returns. A
  // wrong size, an unknown output, or an output that is also in `keep` is an INVALID_ARGUMENT. After a failed call its
  // content is undefined.
  std::map<std::string, std::span<std::byte>> destinations = {};
  // Takes the bytes of downloaded outputs, by output name, instead of buffers. Outputs with a destination do not come
  // here, and small outputs that come inside a message still have a buffer.
  std::function<absl::Status(const std::string& output, const Signature& signature, std::uint64_t offset,
                             std::span<const std::byte> piece)>
      take_output = {};
  // Called by Fetch (only) with the job's result, before anything is downloaded. An error ends the call.
  std::function<absl::Status(const v1::JobResult&)> on_result = {};
  // Called for states, progress, notices and what a function prints: by Run on the calling thread, by RunAsync on the
  // library's thread. A slow callback misses progress. A short job may report nothing before its end.
  std::function<void(const v1::JobUpdate&)> on_update = {};
  // Called by RunAsync when the job is on its way: jobs that are started from now on can name it by this request id
  // (OutputRef). It must not start them itself.
  std::function<void(const std::string& request_id)> on_sent = {};
  // Called by Run on the calling thread about twenty times a second while it waits, so that the thread can look after
  // other things, as an interpreter does after signals. It may cancel the call. If it then returns false, Run does not
  // wait for the daemon to confirm the cancel.
  std::function<bool()> on_wait = {};
  // Called during transfers with the bytes done and the bytes in total.
  std::function<void(std::uint64_t, std::uint64_t)> on_upload = {}, on_download = {};
};

// An array that came back, or that stayed on the daemon (then `id` is set and `buffer` is null). Outputs with a
// destination, and outputs given to take_output, have no buffer either.
struct OutputArray {
  Signature signature;
  std::shared_ptr<HostBuffer> buffer;
  std::string id;
  std::string path = {};  // the file that the daemon wrote; then buffer and id are empty
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
  std::optional<v1::SweepOutcome> sweep = {};  // of a sweep: which tasks failed, and why
  std::vector<std::string> left;               // with leave_result: ids of the copies that stay on the daemon

  // The elements of an output in C order; empty if T is not its dtype or the output did not come back.
  template <typename T>
  std::span<const T> Output(const std::string& name) const {
    const auto found = outputs.find(name);
    if (found == outputs.end() || !found->second.buffer || found->second.signature.dtype != DTypeOf<T>()) return {};
    return {reinterpret_cast<const T*>(found->second.buffer->data()), found->second.buffer->size() / sizeof(T)};
  }
};

// The end of a job that began and did not complete: state, error, and receipt if there is one.
std::optional<v1::JobEnd> EndOf(const absl::Status& status);
// The id of the job that an error is about; empty if the daemon had not sent it. Errors with an end always have it;
// deadlines, unconfirmed cancels and lost connections have it if it came in time.
std::string JobIdOf(const absl::Status& status);
// True if UNAVAILABLE means that nobody answered or the connection broke: the fate of the call is then unknown. False
// if the daemon itself said so because it drains.
bool ConnectionLost(const absl::Status& status);
// The fields named by a refusal.
std::vector<v1::FieldViolation> Violations(const absl::Status& status);
// How long to wait before another attempt, if the daemon said so.
std::optional<nanoseconds> RetryAfter(const absl::Status& status);

// Stops a blocking call from another thread: cancels the job and makes the call return.
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

// The way to the standard input of a program that runs. Thread-safe.
class ProgramInput {
 public:
  virtual ~ProgramInput() = default;
  // Returns when the bytes are on their way, which takes as long as the program does not read; false: it takes no more.
  virtual bool Write(std::string_view bytes) = 0;
  virtual void End() = 0;
  // The new size of the program's terminal.
  virtual void Resize(std::uint32_t rows, std::uint32_t columns) = 0;
};

struct JobCall;
class JobHandle;

class Client {
 public:
  // UNAVAILABLE: there is no record, nobody answers (the message says how to start a daemon), or the daemon hung up, as
  // it does on a wrong client certificate. PERMISSION_DENIED: others can read the record. UNAUTHENTICATED: the daemon
  // refused the token or showed a certificate that is not the record's. INVALID_ARGUMENT: an option is wrong; the
  // message names it.
  static absl::StatusOr<Client> Connect(const ConnectOptions& options = {}, const Cancellation* cancellation = nullptr);

  // Catalogue.
  absl::StatusOr<std::vector<v1::KernelSpec>> Kernels(const Cancellation* cancellation = nullptr);
  absl::StatusOr<v1::KernelSpec> Describe(const std::string& kernel, const Cancellation* cancellation = nullptr);

  // Arrays.
  absl::StatusOr<v1::Array> Put(const ArrayView& array, const PutOptions& options = {},
                                const Cancellation* cancellation = nullptr);
  absl::StatusOr<v1::Array> Put(const ArraySource& array, const PutOptions& options = {},
                                const Cancellation* cancellation = nullptr);
  absl::StatusOr<OutputArray> Get(const std::string& id_or_name,
                                  const std::function<void(std::uint64_t, std::uint64_t)>& on_download = nullptr,
                                  const Cancellation* cancellation = nullptr);
  // Hands the array over in pieces; the result has no buffer.
  absl::StatusOr<OutputArray> GetPieces(const std::string& id_or_name, const TakePiece& take,
                                        const std::function<void(std::uint64_t, std::uint64_t)>& on_download = nullptr,
                                        const Cancellation* cancellation = nullptr);
  // Reads into your memory, which must have exactly the array's size.
  absl::Status GetInto(const std::string& id_or_name, std::span<std::byte> destination,
                       const std::function<void(std::uint64_t, std::uint64_t)>& on_download = nullptr,
                       const Cancellation* cancellation = nullptr);
  // Reads a part: as many bytes as the destination has, from byte `offset`.
  absl::Status GetRange(const std::string& id_or_name, std::uint64_t offset, std::span<std::byte> destination,
                        const std::function<void(std::uint64_t, std::uint64_t)>& on_download = nullptr,
                        const Cancellation* cancellation = nullptr);
  absl::StatusOr<v1::Array> DescribeArray(const std::string& id_or_name, const Cancellation* cancellation = nullptr);
  absl::StatusOr<v1::ListArraysResponse> Arrays(const Cancellation* cancellation = nullptr);
  absl::Status Free(const std::string& id_or_name, const Cancellation* cancellation = nullptr);
  absl::StatusOr<v1::Array> Renew(const std::string& id_or_name, nanoseconds lease,
                                  const Cancellation* cancellation = nullptr);
  // Has the daemon write a named array with a lease to a file, from which the next daemon of its name has it. Returns
  // the file, a path on the daemon's node, when it is on the disk.
  absl::StatusOr<std::string> SaveArray(const std::string& id_or_name, const Cancellation* cancellation = nullptr);

  // Jobs. Large inputs travel as arrays, and are checked (Check) before they are uploaded.
  absl::StatusOr<v1::CheckJobResponse> Check(const std::string& kernel, const std::map<std::string, Input>& inputs,
                                             const JobOptions& options = {},
                                             const Cancellation* cancellation = nullptr);
  // Uploads, runs and downloads, on the client's one open stream, which all threads share.
  absl::StatusOr<JobResult> Run(const std::string& kernel, const std::map<std::string, Input>& inputs,
                                const JobOptions& options = {}, const Cancellation* cancellation = nullptr);
  // Runs an expression: NumPy's operators and functions over arrays and numbers, by name ("2*x + exp(y)"; the page
  // expressions.md has all of it). `inputs` are the arrays that the text names, options.params its numbers: bool,
  // integer or float. INVALID_ARGUMENT shows the place in the text.
  //   auto result = client->Eval("a*x + 1", {{"x", View(x, {1000})}}, {.params = {{"a", 2.0}}});
  absl::StatusOr<JobResult> Eval(const std::string& text, const std::map<std::string, Input>& inputs,
                                 const JobOptions& options = {}, const Cancellation* cancellation = nullptr);
  // The same without waiting. The inputs' memory must live until the future is ready.
  std::future<absl::StatusOr<JobResult>> RunAsync(const std::string& kernel, std::map<std::string, Input> inputs,
                                                  JobOptions options = {});
  // The same with a callback on a thread of the library, for many jobs in flight. A cancelled job is reported like any
  // other end, once the daemon has confirmed it. Its result, if one was on its way, is freed, except with a request_id
  // of yours, with leave_result or with detach_on_disconnect. No copy of the callback is destroyed under a lock of the
  // library. When the last handle goes away, jobs in flight that do not detach are cancelled; that takes a second at
  // most.
  void RunAsync(const std::string& kernel, std::map<std::string, Input> inputs, JobOptions options,
                std::function<void(absl::StatusOr<JobResult>)> done, const Cancellation* cancellation = nullptr);
  // One unary call instead of the stream, for a single small job. There are no updates, and no job id after a cancel
  // from here.
  absl::StatusOr<JobResult> Execute(const std::string& kernel, const std::map<std::string, Input>& inputs,
                                    const JobOptions& options = {}, const Cancellation* cancellation = nullptr);
  // Detached: returns the job's id once it is queued. Cancelling stops the uploads; a job that was sent continues.
  absl::StatusOr<std::string> Submit(const std::string& kernel, const std::map<std::string, Input>& inputs,
                                     const JobOptions& options = {}, const Cancellation* cancellation = nullptr);
  // The same as a handle, behind which other jobs can be put: see job_handle.h. A refusal is the handle's status.
  JobHandle Submit(const JobCall& call, const Cancellation* cancellation = nullptr);
  // Calls `on_update` on this thread for every update from the start to the job's end, which it also returns. Survives
  // a broken connection (resumes after the last sequence number). Cancelling stops the watch, not the job.
  absl::StatusOr<v1::JobEnd> Watch(const std::string& job_id,
                                   const std::function<void(const v1::JobUpdate&)>& on_update,
                                   const Cancellation* cancellation = nullptr);
  absl::StatusOr<v1::Job> Job(const std::string& job_id, const Cancellation* cancellation = nullptr);
  // The tasks of a sweep: how many have ended, which have not completed. INVALID_ARGUMENT: the job is no sweep.
  absl::StatusOr<v1::SweepOutcome> Sweep(const std::string& job_id, const Cancellation* cancellation = nullptr);
  absl::StatusOr<std::vector<v1::Job>> Jobs(const v1::ListJobsRequest& request = {},
                                            const Cancellation* cancellation = nullptr);
  // Why it waits, behind whom, and when it will probably start or end.
  absl::StatusOr<v1::WhyJobResponse> Why(const std::string& job_id, const Cancellation* cancellation = nullptr);
  absl::StatusOr<v1::Job> Cancel(const std::string& job_id, const Cancellation* cancellation = nullptr);
  // Waits for the job's end, then fetches. Cancelling stops the wait, not the job.
  absl::StatusOr<JobResult> Wait(const std::string& job_id, const Cancellation* cancellation = nullptr);
  // Fetches the outputs of an ended job, as often as you like until the daemon's retention time is over. Outputs that
  // were kept as arrays under a name or a lease come as ids. FAILED_PRECONDITION: the job has not ended. NOT_FOUND: a
  // large output was freed, or went with the session that ran the job.
  absl::StatusOr<JobResult> Fetch(const std::string& job_id,
                                  const std::function<void(std::uint64_t, std::uint64_t)>& on_download = nullptr,
                                  const Cancellation* cancellation = nullptr);
  // With the options' destinations, take_output and on_download; the others have no effect.
  absl::StatusOr<JobResult> Fetch(const std::string& job_id, const JobOptions& options,
                                  const Cancellation* cancellation = nullptr);
  // Frees the copies that leave_result left on the daemon.
  void Release(JobResult& result);

  // Programs of your own, in the allocation (hotplate.v1.Programs). Runs one with its standard streams here: calls
  // `on_begin` once the daemon has taken it, and `on_response` with what it prints and becomes, on this thread. Returns
  // its end, whose receipt tells the exit code. A connection that breaks ends the program; so does cancelling.
  absl::StatusOr<v1::JobEnd> RunProgram(const v1::Program& program,
                                        const std::function<void(std::shared_ptr<ProgramInput>)>& on_begin,
                                        const std::function<void(const v1::RunProgramResponse&)>& on_response,
                                        const Cancellation* cancellation = nullptr);
  // To the process group of a program that runs.
  absl::Status SignalProgram(const std::string& job_id, int number);
  // Detached, without standard input: returns the job's id.
  absl::StatusOr<std::string> SubmitProgram(const v1::Program& program, const Cancellation* cancellation = nullptr);
  // Reads its output from byte `from` on, counted over both streams, as far as the daemon keeps it.
  // `task`: of a sweep, whose output is meant.
  absl::StatusOr<v1::ProgramOutputResponse> ProgramOutput(const std::string& job_id, std::uint64_t from,
                                                          std::uint64_t task = 0,
                                                          const Cancellation* cancellation = nullptr);
  // The Pythons that are kept warm; and the end of them, also of what they have learned. Returns how many there were.
  absl::StatusOr<v1::ListWorkersResponse> ListWorkers(const Cancellation* cancellation = nullptr);
  absl::StatusOr<std::uint32_t> RestartWorkers();

  // Python environments by name. To add one takes as long as its modules do.
  absl::StatusOr<v1::AddEnvironmentResponse> AddEnvironment(const v1::AddEnvironmentRequest& request,
                                                            const Cancellation* cancellation = nullptr);
  absl::StatusOr<v1::ListEnvironmentsResponse> ListEnvironments(const Cancellation* cancellation = nullptr);
  absl::Status RemoveEnvironment(const std::string& name);

  // Tokens for guests: other people who may use the daemon, each within bounds. For its owner alone: PERMISSION_DENIED
  // on a guest's connection. The daemon writes the guest's endpoint record to record_file, a path on its node.
  // ALREADY_EXISTS: a living token has the name. A call whose answer was lost is not repeated: ListTokens tells whether
  // it was done.
  absl::StatusOr<v1::CreateTokenResponse> CreateToken(const v1::CreateTokenRequest& request,
                                                      const Cancellation* cancellation = nullptr);
  // By name, with those that have ended since the daemon started.
  absl::StatusOr<v1::ListTokensResponse> ListTokens(const Cancellation* cancellation = nullptr);
  // Refuses the guest's calls from now on, cancels its jobs and removes its record. NOT_FOUND names the nearest token.
  absl::StatusOr<v1::RevokeTokenResponse> RevokeToken(const std::string& name);

  // Functions of your own (JobOptions.function): what names the environment and the function of a call. The same
  // content has the same id.
  absl::StatusOr<v1::OpenEnvironmentResponse> OpenEnvironment(const v1::Program& python,
                                                              const Cancellation* cancellation = nullptr);
  absl::StatusOr<std::string> PutFunction(const std::string& name, std::string_view code,
                                          const Cancellation* cancellation = nullptr);

  // Telemetry and the daemon.
  absl::StatusOr<v1::TelemetrySnapshotResponse> Telemetry(std::uint32_t history = 1,
                                                          const Cancellation* cancellation = nullptr);
  // Runs until `on_sample` returns false or until cancelled. Survives a broken connection.
  absl::Status WatchTelemetry(nanoseconds interval, const std::function<bool(const v1::TelemetrySample&)>& on_sample,
                              const Cancellation* cancellation = nullptr);
  absl::StatusOr<v1::GetServerInfoResponse> Info(const Cancellation* cancellation = nullptr);
  // Folders of compiled code on the daemon's node. Those of these names are emptied, or all if there is none.
  absl::StatusOr<v1::ListCachesResponse> ListCaches(const Cancellation* cancellation = nullptr);
  absl::StatusOr<v1::ClearCachesResponse> ClearCaches(const std::vector<std::string>& names);
  // Deletes the files of detached jobs that ended longer ago than that, but no result that nobody has fetched.
  absl::StatusOr<v1::PruneJournalResponse> PruneJournal(nanoseconds older_than);
  absl::Status Drain(std::optional<nanoseconds> timeout = std::nullopt);
  absl::Status Shutdown(std::optional<nanoseconds> drain_timeout = std::nullopt);
  // Frees the session's arrays and cancels its attached jobs now, instead of when the session expires.
  absl::Status CloseSession();

  // The record of the daemon's start that this client is with, as it was read, with ConnectOptions::endpoint in place
  // of its addresses if given; and the name in it.
  const v1::EndpointRecord& record() const;
  const std::string& server_name() const;
  // How often this client has gone over to another start of its daemon. Earlier arrays went with the start that had
  // them, but those with a name and a lease.
  std::size_t moves() const;
  const std::string& session() const;

 private:
  friend class JobHandle;  // which tells one client from another
  class Impl;
  struct Flight;
  static void Begin(Impl& impl, const std::shared_ptr<Flight>& flight, const std::stop_token& stop);
  explicit Client(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

}  // namespace hotplate::client
