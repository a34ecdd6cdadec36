#include "server/wire/job_ref.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/array/quoted.h"
#include "kernels/base/status.h"
#include "server/core/jobs/job_refs.h"

namespace hotplate::wire {

absl::StatusOr<core::JobRef> FromProto(const v1::JobRef& ref, const std::string& field) {
  const bool by_request = ref.job_case() == v1::JobRef::kRequestId;
  const std::string& text = by_request ? ref.request_id() : ref.job_id();
  if (text.empty() || text.size() > core::kMaxRequestIdBytes) {
    return InvalidField(field, absl::StrCat(field, " is ", Quoted(text.substr(0, core::kMaxRequestIdBytes)),
                                            ", which is no ", by_request ? "request id" : "job's id"));
  }
  return by_request ? core::JobRef{core::JobId(), text} : core::JobRef{core::JobId(text)};
}

absl::StatusOr<std::vector<core::JobRef>> FromProto(const google::protobuf::RepeatedPtrField<v1::JobRef>& after) {
  std::vector<core::JobRef> jobs;
  if (after.size() > core::kMaxAfter) {
    return InvalidField(
        "after", absl::StrCat("after names ", after.size(), " jobs; at most ", core::kMaxAfter, " are possible"));
  }
  for (const v1::JobRef& ref : after) {
    absl::StatusOr<core::JobRef> job = FromProto(ref, "after");
    if (!job.ok()) return job.status();
    jobs.push_back(*std::move(job));
  }
  return jobs;
}

bool DependsOnOthers(const v1::JobSpec& spec) {
  return !spec.after().empty() || std::any_of(spec.inputs().begin(), spec.inputs().end(),
                                              [](const v1::JobInput& input) { return input.has_job_output(); });
}

absl::Status CheckById(const core::JobRequest& request) {
  for (const core::NamedRef& ref : core::RefsOf(request)) {
    const std::string& id = ref.job->request_id;
    if (id.empty()) continue;
    return InvalidField(ref.field, absl::StrCat(ref.field, " names a job by its request id ", Quoted(id),
                                                ", which is for attached jobs; name it by its id"));
  }
  return absl::OkStatus();
}

}  // namespace hotplate::wire
