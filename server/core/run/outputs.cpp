#include "server/core/run/outputs.h"

#include <cerrno>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/named_status.h"

namespace hotplate::core {
namespace {

absl::Status FileError(const std::string& output, const PlacedFile& file, const NpyError& error) {
  const std::string message = absl::StrCat(output, ": ", file.path(), ": ", error.message);
  switch (error.system_error) {
    case ENOSPC:
    case EDQUOT:
      return absl::ResourceExhaustedError(message);
    case EEXIST:
      return absl::AlreadyExistsError(absl::StrCat(message, "; it came there while the job ran (--force replaces it)"));
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::PermissionDeniedError(message);
    default:
      return absl::FailedPreconditionError(message);
  }
}

absl::Status MakeArrays(Job& job, const Jobs::Standing& standing, bool all, bool session_ended, ArrayStore& arrays,
                        std::vector<JobOutputValue>& outputs, std::vector<ArrayId>& owned) {
  std::vector<ArrayId> made;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    BoundOutput& wanted = job.bound.outputs[i];
    if (outputs[i].data == nullptr) continue;  // it is in a file
    if (!wanted.stays() && !all) continue;
    outputs[i].for_jobs = wanted.for_jobs;
    // An array of no session is freed with the job: nobody else would free it.
    const bool for_nobody = session_ended || wanted.for_jobs || (!wanted.keep && !standing.attached);
    const bool goes_with_job = !wanted.lease && for_nobody;
    Principal owner = job.owner;
    if (goes_with_job) owner.session = SessionId();
    absl::StatusOr<ArraySnapshot> array =
        arrays.Adopt(owner, outputs[i].signature, std::move(wanted.name), wanted.lease, std::move(outputs[i].data),
                     wanted.keep ? job.bound.device : "");
    if (!array.ok()) {
      for (const ArrayId& id : made) arrays.Free(job.owner, id.value()).IgnoreError();
      owned.clear();
      return Named(outputs[i].name, array.status());
    }
    outputs[i].data = nullptr;
    outputs[i].array = array->id;
    made.push_back(array->id);
    if (goes_with_job) owned.push_back(array->id);
    // Whoever waits for the job comes for it, and a drain for them.
    if (!wanted.stays() && standing.attached && standing.watched) arrays.MarkUnread(array->id);
  }
  return absl::OkStatus();
}

}  // namespace

std::uint64_t ArrayBytesOf(const BoundJob& bound, std::uint64_t inline_bytes) {
  std::uint64_t stay = 0, others = 0;
  for (std::size_t i = 0; i < bound.outputs.size(); ++i) {
    const BoundOutput& output = bound.outputs[i];
    if (output.file != nullptr || bound.call.spec->output_rules()[i].shape.at_most) continue;
    (output.stays() ? stay : others) += output.bytes;
  }
  return others > inline_bytes ? stay + others : stay;
}

absl::Status PlaceOutputs(Job& job, const Jobs::Standing& standing, std::uint64_t inline_bytes,
                          const Sessions& sessions, ArrayStore& arrays, std::vector<JobOutputValue>& outputs,
                          std::vector<ArrayId>& owned) {
  std::uint64_t bytes = 0;
  bool any_kept = false;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (job.bound.outputs[i].stays()) {
      any_kept = true;
    } else if (outputs[i].data != nullptr) {
      bytes += outputs[i].data->size();
    }
  }
  const bool too_large = bytes > inline_bytes;
  if (!any_kept && !too_large) return absl::OkStatus();
  absl::Status status;
  sessions.WhetherEnded(*job.session, [&](bool ended) {
    status = MakeArrays(job, standing, /*all=*/too_large, ended, arrays, outputs, owned);
  });
  return status;
}

absl::Status WriteFiles(const BoundJob& bound, TaskControl& control, std::vector<JobOutputValue>& outputs) {
  const auto cancelled = [&control] { return control.cancel_requested(); };
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    PlacedFile* const file = bound.outputs[i].file.get();
    if (file == nullptr) continue;
    if (const auto error = file->Write(outputs[i].signature, outputs[i].data->bytes(), cancelled)) {
      if (error->system_error == ECANCELED && cancelled()) return absl::CancelledError(error->message);
      return FileError(outputs[i].name, *file, *error);
    }
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    PlacedFile* const file = bound.outputs[i].file.get();
    if (file == nullptr) continue;
    if (const auto error = file->Commit()) return FileError(outputs[i].name, *file, *error);
    outputs[i].path = file->path();
    outputs[i].data = nullptr;
  }
  return absl::OkStatus();
}

}  // namespace hotplate::core
