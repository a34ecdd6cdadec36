// One job from its inputs to its outputs, apart from the running itself: what is checked and uploaded before, what is
// downloaded and freed after. Run, RunAsync, Execute, Submit and Fetch are made of it.
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

// For what is freed on the way out.
inline constexpr std::chrono::seconds kFreePatience(5);

// Of a client as a whole.
struct Closing {
  // Asked to stop when its last handle goes.
  std::stop_source source;
  // Once: the daemon did not let something be freed since then. The rest goes with the session, unasked.
  std::atomic<bool> gave_up{false};
};

class JobRun {
 public:
  JobRun(const Connection& connection, std::string kernel, std::map<std::string, Input> inputs, JobOptions options,
         std::stop_token stop);

  // The inputs are too large to ride in the request: Prepare will wait for the daemon.
  bool has_uploads() const;

  // The job as it is to be sent. Large inputs are checked together with the whole job, then uploaded.
  absl::StatusOr<v1::JobSpec> Prepare();

  // The outputs of what ended, downloaded where they are arrays; then frees what Prepare has uploaded.
  absl::StatusOr<JobResult> Complete(absl::StatusOr<EndedJob> ended);

  // Frees what Prepare has uploaded; the daemon keeps what a job still uses.
  absl::Status FreeUploads(nanoseconds patience = kFreePatience);

  const JobOptions& options() const { return options_; }
  const std::stop_token& stop() const { return stop_; }
  // For RunAsync, while nothing goes on: another stop for what comes, that of `closing` among its sources. Where it is
  // asked for nobody waits for the result, which is freed like the uploads.
  void LeaveNothingAfter(std::stop_token stop, Closing& closing) {
    stop_ = std::move(stop);
    closing_ = &closing;
  }
  Deadline deadline() const { return deadline_; }

 private:
  absl::StatusOr<v1::JobSpec> PrepareUploads();
  // The id of an array with the elements of a view or a source; its name where a request id asks for arrays that tell
  // their content.
  absl::StatusOr<std::string> UploadInput(const std::string& name, const Input& input, std::uint64_t total);
  absl::StatusOr<v1::Array> ArrayFor(const Signature& signature, const std::string& array_name);
  std::vector<std::string> LargeInputs() const;
  // After a stop nobody can have the result any more: neither by the same call again nor because it asked for that.
  bool ResultIsForNobody() const;
  // Arrays of a result that only its caller would know of.
  std::vector<std::string> ArraysToFree(const v1::JobResult& result) const;
  // FreeAll, but that a closing client's calls do not all wait for a daemon that hangs.
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

// Which outputs are not to be downloaded: asked for each that is an array of the daemon's.
using IsKept = std::function<absl::StatusOr<bool>(const v1::JobResult::Output& output)>;

// Copies inline outputs out, downloads arrays, names kept ones by id. Of the options: destinations, take_output and
// on_download. Adds to the result's timings. Frees nothing.
absl::Status CollectOutputs(const Connection& connection, const v1::JobResult& from, const IsKept& is_kept,
                            const JobOptions& options, const TransferRules& rules, JobResult& to);

// A new buffer with the bytes of an array of the daemon's.
absl::StatusOr<std::shared_ptr<HostBuffer>> DownloadArray(const Connection& connection, const std::string& array_id,
                                                          const Signature& signature, const TransferRules& rules);

// Not begun after a stop, and not broken off by one: an array that nobody knows would be left.
absl::StatusOr<v1::Array> CreateArray(const Connection& connection, const Signature& signature, const std::string& name,
                                      std::optional<nanoseconds> lease, bool replace, Deadline until,
                                      const std::stop_token& stop);

// For what the library itself has made. What cannot be freed now goes with the session or with its job; the first
// error. `patience`: with a daemon that does not answer.
absl::Status FreeAll(const Connection& connection, const std::vector<std::string>& ids,
                     nanoseconds patience = kFreePatience);

}  // namespace hotplate::client
