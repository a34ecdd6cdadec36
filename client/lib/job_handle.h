// Jobs put together by what follows them:
//
//   const JobHandle gram = client->Submit({"matmul", {{"a", View(x, {n, n})}, {"b", View(x, {n, n})}}});
//   const auto svd = [](const JobHandle& job) {
//     return JobCall{"svd", {{"a", job.Output("c")}}};
//   };
//   const auto sum = [](const std::vector<JobHandle>& jobs) {
//     return JobCall{"vector_add", {{"a", jobs[0].Output("s")}, {"b", jobs[1].Output("s")}}};
//   };
//   const JobHandle total = WhenAll({gram.Then(svd), other}).Then(sum);
//   const absl::StatusOr<JobResult> result = total.Wait();
//
// Then and WhenAll do not wait: they submit the job that follows at once, and the daemon has it begin when the others
// have completed, also if this program has ended by then. Outputs are passed on there (OutputRef).
//
// A handle of a job that was refused has the refusal as its status. What would follow it is not submitted, and has the
// same status, so that one look at the end of a chain is enough. A job that fails when it runs takes along those that
// follow it, and is a refusal of those that are put behind it later: Wait of each says which it was, and why.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/lib/client.h"

namespace hotplate::client {

// A call of a kernel. For an expression the kernel is "expression" and options.expression its text.
struct JobCall {
  std::string kernel;
  std::map<std::string, Input> inputs = {};
  JobOptions options = {};
};

// A submitted job. Copies mean the same job. All calls are thread-safe.
class JobHandle {
 public:
  JobHandle(Client client, absl::StatusOr<std::string> id) : client_(std::move(client)), id_(std::move(id)) {}
  explicit JobHandle(absl::Status refusal) : id_(std::move(refusal)) {}

  // OK once the job is queued, whatever becomes of it; else why it was not.
  absl::Status status() const { return id_.status(); }
  bool ok() const { return id_.ok(); }
  // Empty if it was refused.
  std::string id() const { return id_.ok() ? *id_ : ""; }
  // As an input of another job; see JobOptions::for_jobs for one that nobody else needs.
  OutputRef Output(const std::string& name) const { return {id(), name}; }

  // Submits what `next` returns for this job, a JobCall, to begin when this job has completed.
  template <typename Next>
  JobHandle Then(Next&& next) const {
    return ok() ? Follow({*this}, std::forward<Next>(next)(*this)) : *this;
  }

  // The job's end, with its outputs. Cancelling stops the wait, not the job.
  absl::StatusOr<JobResult> Wait(const Cancellation* cancellation = nullptr) const;
  // Asks the daemon to end the job. Those that follow it end as well.
  absl::Status Cancel() const;

 private:
  friend class JobGroup;
  // A job that begins after all of these, of which there is one at least. INVALID_ARGUMENT: they are of several
  // clients.
  static JobHandle Follow(const std::vector<JobHandle>& before, JobCall call);

  std::optional<Client> client_;  // none: nothing was submitted
  absl::StatusOr<std::string> id_;
};

// Several jobs of one client.
class JobGroup {
 public:
  explicit JobGroup(std::vector<JobHandle> jobs) : jobs_(std::move(jobs)) {}

  const std::vector<JobHandle>& jobs() const { return jobs_; }
  // OK, the first refusal, or that there is no job.
  absl::Status status() const;

  // Submits what `next` returns for these jobs, a JobCall, to begin when all of them have completed: 1024 at most.
  template <typename Next>
  JobHandle Then(Next&& next) const {
    if (absl::Status refusal = status(); !refusal.ok()) return JobHandle(std::move(refusal));
    return JobHandle::Follow(jobs_, std::forward<Next>(next)(jobs_));
  }

  // Waits for all of them: their results, in order, or the error of the first that has none.
  absl::StatusOr<std::vector<JobResult>> Wait(const Cancellation* cancellation = nullptr) const;

 private:
  std::vector<JobHandle> jobs_;
};

inline JobGroup WhenAll(std::vector<JobHandle> jobs) { return JobGroup(std::move(jobs)); }

}  // namespace hotplate::client
