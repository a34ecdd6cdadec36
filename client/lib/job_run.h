// One job from its inputs to its outputs, without the running: checks and uploads before, downloads and frees after.
// Run, RunAsync, Execute, Submit and Fetch are made of it.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "client/lib/client.h"
#include "client/lib/connection.h"
#include "client/lib/run_stream.h"
#include "client/lib/transfer.h"

namespace hotplate::client {

// How long to wait for arrays to be freed at the end of a call.
inline constexpr std::chrono::seconds kFreePatience(5);

// The closing of a client as a whole.
struct Closing {
  // A stop is requested when the last handle goes.
  std::stop_source source;
  // Set once the daemon has failed to free something since then. The rest is left to the end of the session.
  std::atomic<bool> gave_up{false};
};

class JobRun {
 public:
  JobRun(const Connection& connection, std::string kernel, std::map<std::string, Input> inputs, JobOptions options,
         std::stop_token stop, Deadline deadline);
  // When a call of these options that begins now is over.
  static Deadline DeadlineOf(const JobOptions& options);

  // The inputs are too large to ride in the request: Prepare will wait for the daemon.
  bool has_uploads() const;

  // The same job once more, from its beginning.
  JobRun Again(std::stop_token stop) const {
    return {connection_, kernel_, inputs_, options_, std::move(stop), deadline_};
  }

  // The job, ready to send. Large inputs are checked together with the whole job, then uploaded.
  absl::StatusOr<v1::JobSpec> Prepare();

  // Downloads the outputs that are arrays, then frees the uploads of Prepare.
  absl::StatusOr<JobResult> Complete(absl::StatusOr<EndedJob> ended);

  // Frees the uploads of Prepare. The daemon keeps arrays that a job still uses.
  absl::Status FreeUploads(nanoseconds patience = kFreePatience);

  const JobOptions& options() const { return options_; }
  const std::stop_token& stop() const { return stop_; }
  // For RunAsync, while no operation is under way: replaces the stop token by one that also fires with `closing`. If a
  // stop is requested, nobody waits for the result, and it is freed like the uploads.
  void LeaveNothingAfter(std::stop_token stop, Closing& closing) {
    stop_ = std::move(stop);
    closing_ = &closing;
  }
  Deadline deadline() const { return deadline_; }

 private:
  absl::StatusOr<v1::JobSpec> PrepareUploads();
  // The id of an array with the elements of a view or a source; with a request id, its name.
  absl::StatusOr<std::string> UploadInput(const std::string& name, const Input& input, std::uint64_t total);
  // Under a request id the same call must look the same, so an uploaded array's name is a digest of its content. The
  // digest includes the request id, so that no other call frees or replaces the array.
  absl::StatusOr<std::string> ArrayName(const Input& input) const;
  absl::StatusOr<v1::Array> ArrayFor(const Signature& signature, const std::string& array_name);
  std::vector<std::string> LargeInputs() const;
  // True if nobody can get the result after a stop: neither the same call made again, nor a caller that asked to keep
  // it.
  bool ResultIsForNobody() const;
  // The result's arrays that only the caller would know of.
  std::vector<std::string> ArraysToFree(const v1::JobResult& result) const;
  // FreeAll, except that the calls of a closing client do not all wait for a daemon that hangs.
  absl::Status Free(const std::vector<std::string>& ids, nanoseconds patience) const;

  const Connection& connection_;
  const std::string kernel_;
  const std::map<std::string, Input> inputs_;
  const JobOptions options_;
  std::stop_token stop_;
  Closing* closing_ = nullptr;
  const Clock::time_point begin_;
  const Deadline deadline_;
  std::vector<std::string> uploaded_;
  ClientTimings timings_;
};

// Whether an output stays on the daemon. Asked for each output that is an array there.
using IsKept = std::function<absl::StatusOr<bool>(const v1::JobResult::Output& output)>;

// Copies inline outputs, downloads arrays, and gives kept ones by id. Uses the options destinations, take_output and
// on_download. Adds to the result's timings. Frees nothing.
absl::Status CollectOutputs(const Connection& connection, const v1::JobResult& from, const IsKept& is_kept,
                            const JobOptions& options, const TransferRules& rules, JobResult& to);

// A new buffer with the bytes of an array on the daemon.
absl::StatusOr<std::shared_ptr<HostBuffer>> DownloadArray(const Connection& connection, const std::string& array_id,
                                                          const Signature& signature, const TransferRules& rules);

// Does not begin after a stop, and is not interrupted by one: otherwise an array could be left that nobody knows.
absl::StatusOr<v1::Array> CreateArray(const Connection& connection, const Signature& signature,
                                      const PutOptions& options, Deadline until, const std::stop_token& stop);

// Frees arrays made by the library itself, and returns the first error. What cannot be freed now is freed with the
// session or with its job. `patience`: how long to wait for a daemon that does not answer.
absl::Status FreeAll(const Connection& connection, const std::vector<std::string>& ids,
                     nanoseconds patience = kFreePatience);

}  // namespace hotplate::client
