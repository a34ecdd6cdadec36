#include "server/durable/stored_results.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/array/npy.h"

namespace hotplate::server {
namespace {

absl::Status About(const journal::SpooledFile& file, const NpyError& error) {
  return absl::DataLossError(absl::StrCat(file.file, ": ", error.message));
}

}  // namespace

void StoredResults::Add(std::uint64_t number, std::vector<journal::SpooledFile> files) {
  MutexLock lock(mutex_);
  files_[number] = std::move(files);
}

bool StoredResults::Has(const core::JobId& id) const {
  MutexLock lock(mutex_);
  return files_.contains(core::JobTable::NumberOf(id.value()));
}

absl::Status StoredResults::Read(const std::vector<journal::SpooledFile>& files, const core::Principal& owner,
                                 core::JobEnd& end, std::vector<core::ArrayId>& made) {
  for (core::JobOutputValue& output : end.outputs) {
    const auto file =
        std::find_if(files.begin(), files.end(), [&](const auto& one) { return one.name == output.name; });
    if (!output.stored || file == files.end()) continue;
    const std::string path = spool_.PathOf(*file);
    if (absl::Status whole = journal::CheckFile(path, *file); !whole.ok()) return whole;
    std::variant<NpyFile, NpyError> opened = NpyFile::Open(path);
    if (const auto* error = std::get_if<NpyError>(&opened)) return About(*file, *error);
    absl::StatusOr<std::shared_ptr<HostBuffer>> buffer =
        engine_.arrays().AllocateArray(ByteSize(output.signature).value_or(0));
    if (!buffer.ok()) return buffer.status();
    if (const auto error = std::get<NpyFile>(opened).Read((*buffer)->bytes())) return About(*file, *error);
    absl::StatusOr<core::ArraySnapshot> array =
        engine_.arrays().Adopt(owner, output.signature, "", std::nullopt, *std::move(buffer));
    if (!array.ok()) return array.status();
    output.array = array->id;
    output.stored = false;
    made.push_back(array->id);
  }
  return absl::OkStatus();
}

absl::Status StoredResults::Load(const core::Principal& who, const core::JobId& id) {
  const absl::StatusOr<std::shared_ptr<core::Job>> job = engine_.Find(who, id);
  if (!job.ok()) return job.status();
  MutexLock loading(loading_);
  std::vector<journal::SpooledFile> files;
  {
    MutexLock lock(mutex_);
    const auto at = files_.find((*job)->sequence);
    if (at == files_.end()) return absl::OkStatus();
    files = at->second;
  }
  const absl::StatusOr<core::JobSnapshot> snapshot = engine_.Get(who, id);
  if (!snapshot.ok()) return snapshot.status();
  core::JobEnd end = *snapshot->end;
  core::Principal owner = (*job)->owner;
  owner.session = core::SessionId();  // they go with the job
  std::vector<core::ArrayId> made;
  const absl::Status read = Read(files, owner, end, made);
  if (!read.ok() || !engine_.Load(**job, std::make_shared<const core::JobEnd>(std::move(end)), made)) {
    for (const core::ArrayId& array : made) engine_.arrays().Free(core::Everybody(), array.value()).IgnoreError();
  }
  if (!read.ok()) {
    return absl::Status(read.code(), absl::StrCat("the result of job ", id.value(),
                                                  ", which was written to files, cannot be loaded: ", read.message()));
  }
  MutexLock lock(mutex_);
  files_.erase((*job)->sequence);
  return absl::OkStatus();
}

}  // namespace hotplate::server
