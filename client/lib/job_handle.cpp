#include "client/lib/job_handle.h"

#include "absl/strings/str_cat.h"
#include "client/lib/impl.h"

namespace hotplate::client {

JobHandle Client::Submit(const JobCall& call, const Cancellation* cancellation) {
  return {*this, Submit(call.kernel, call.inputs, call.options, cancellation)};
}

JobHandle JobHandle::Follow(const std::vector<JobHandle>& before, JobCall call) {
  Client client = *before.front().client_;
  for (const JobHandle& job : before) {
    if (job.client_->impl_ != client.impl_) {
      return JobHandle(absl::InvalidArgumentError(
          absl::StrCat("jobs ", *before.front().id_, " and ", *job.id_,
                       " are of two clients: a job follows jobs of one client alone; submit them all by the same")));
    }
    call.options.after.push_back(*job.id_);
  }
  return client.Submit(call);
}

absl::StatusOr<JobResult> JobHandle::Wait(const Cancellation* cancellation) const {
  if (!ok()) return status();
  Client client = *client_;
  return client.Wait(*id_, cancellation);
}

absl::Status JobHandle::Cancel() const {
  if (!ok()) return status();
  Client client = *client_;
  return client.Cancel(*id_).status();
}

absl::Status JobGroup::status() const {
  if (jobs_.empty()) return absl::InvalidArgumentError("WhenAll of no job: there is nothing to wait for");
  for (const JobHandle& job : jobs_)
    if (!job.ok()) return job.status();
  return absl::OkStatus();
}

absl::StatusOr<std::vector<JobResult>> JobGroup::Wait(const Cancellation* cancellation) const {
  if (absl::Status refusal = status(); !refusal.ok()) return refusal;
  std::vector<JobResult> results;
  absl::Status first;
  for (const JobHandle& job : jobs_) {
    absl::StatusOr<JobResult> result = job.Wait(cancellation);
    if (result.ok()) {
      results.push_back(*std::move(result));
    } else if (first.ok()) {
      first = result.status();
    }
  }
  if (!first.ok()) return first;
  return results;
}

}  // namespace hotplate::client
