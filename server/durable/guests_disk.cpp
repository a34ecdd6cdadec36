#include "server/durable/guests_disk.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "kernels/base/status.h"

namespace hotplate::server {
namespace {

absl::Status NoRoomOnDisk(const std::string& token, std::uint64_t has, std::uint64_t wants, std::uint64_t quota) {
  const std::string text = absl::StrCat("token \"", token, "\" has ", has, " bytes of detached jobs on the disk, and ",
                                        "this job needs ", wants, " more; its limit quota-bytes is ", quota);
  if (wants > quota) {
    return Refused(absl::StatusCode::kResourceExhausted,
                   {{"quota-bytes",
                     absl::StrCat(text, "; run it attached (hotplate run), or ask the daemon's owner ", "for more")}});
  }
  return absl::ResourceExhaustedError(
      absl::StrCat(text, "; fetch results that wait (hotplate result JOB), or run it attached (hotplate run)"));
}

}  // namespace

absl::Status GuestsDisk::Take(const Wanted& wanted, std::uint64_t quota) {
  MutexLock lock(mutex_);
  const auto use = use_of_.find(wanted.token);
  std::set<journal::Sha256> seen;
  std::uint64_t wants = wanted.request + wanted.results;
  for (const journal::SpooledFile& file : wanted.inputs) {
    const bool there = use != use_of_.end() && use->second.jobs.contains(file.sha256);
    if (!there && seen.insert(file.sha256).second) wants += file.bytes;
  }
  const std::uint64_t has = use == use_of_.end() ? 0 : use->second.bytes;
  if (quota != 0 && (wants > quota || has > quota - wants)) return NoRoomOnDisk(wanted.token, has, wants, quota);
  Job& job = jobs_.try_emplace(wanted.job, Job{wanted.token}).first->second;
  for (const journal::SpooledFile& file : wanted.inputs) AddInput(job, file.sha256, file.bytes);
  AddRequest(job, wanted.request);
  Set(job, wanted.results, job.fetched);
  return absl::OkStatus();
}

void GuestsDisk::Add(const journal::PartOfJob& part) {
  MutexLock lock(mutex_);
  Job& job = jobs_.try_emplace(part.job, Job{part.owner}).first->second;
  if (!part.file) {
    AddRequest(job, part.bytes);
  } else if (*part.file == journal::FileRole::kInput) {
    AddInput(job, part.sha256, part.bytes);
  } else {
    return Set(job, job.results + part.bytes, part.fetched);
  }
  Set(job, job.results, part.fetched);
}

void GuestsDisk::AddInput(Job& job, const journal::Sha256& content, std::uint64_t bytes) {
  Use& use = use_of_[job.token];
  job.inputs.emplace_back(content, bytes);
  if (use.jobs[content]++ == 0) use.bytes += bytes;
}

void GuestsDisk::AddRequest(Job& job, std::uint64_t bytes) {
  use_of_[job.token].bytes += bytes;
  job.request += bytes;
}

void GuestsDisk::Set(Job& job, std::uint64_t results, bool fetched) {
  Use& use = use_of_[job.token];
  use.bytes += results - job.results;
  if (job.fetched) use.fetched -= job.results;
  if (fetched) use.fetched += results;
  job.results = results;
  job.fetched = fetched;
}

void GuestsDisk::SetResults(std::uint64_t job, const std::string& token, std::uint64_t bytes) {
  MutexLock lock(mutex_);
  Set(jobs_.try_emplace(job, Job{token}).first->second, bytes, /*fetched=*/false);
}

void GuestsDisk::SetResults(std::uint64_t job, std::uint64_t bytes) {
  MutexLock lock(mutex_);
  if (const auto at = jobs_.find(job); at != jobs_.end()) Set(at->second, bytes, at->second.fetched);
}

absl::Status GuestsDisk::CheckResults(std::uint64_t job, std::uint64_t quota) const {
  MutexLock lock(mutex_);
  const auto at = jobs_.find(job);
  if (quota == 0 || at == jobs_.end()) return absl::OkStatus();
  const auto use = use_of_.find(at->second.token);
  const std::uint64_t has = use == use_of_.end() ? 0 : use->second.bytes - use->second.fetched;
  if (has <= quota) return absl::OkStatus();
  return NoRoomOnDisk(at->second.token, has - at->second.results, at->second.results, quota);
}

void GuestsDisk::Fetched(std::uint64_t job) {
  MutexLock lock(mutex_);
  if (const auto at = jobs_.find(job); at != jobs_.end()) Set(at->second, at->second.results, /*fetched=*/true);
}

bool GuestsDisk::IsFetched(std::uint64_t job) const {
  MutexLock lock(mutex_);
  const auto at = jobs_.find(job);
  return at != jobs_.end() && at->second.fetched;
}

void GuestsDisk::Release(std::uint64_t job) {
  MutexLock lock(mutex_);
  const auto at = jobs_.find(job);
  if (at == jobs_.end()) return;
  Job& gone = at->second;
  Set(gone, 0, /*fetched=*/false);
  Use& use = use_of_[gone.token];
  use.bytes -= gone.request;
  for (const auto& [content, bytes] : gone.inputs) {
    const auto jobs = use.jobs.find(content);
    if (--jobs->second > 0) continue;
    use.jobs.erase(jobs);
    use.bytes -= bytes;
  }
  if (use.bytes == 0 && use.jobs.empty()) use_of_.erase(gone.token);
  jobs_.erase(at);
}

std::uint64_t GuestsDisk::BytesOf(const std::string& token) const {
  MutexLock lock(mutex_);
  const auto at = use_of_.find(token);
  return at == use_of_.end() ? 0 : at->second.bytes;
}

std::vector<std::string> GuestsDisk::WithFetched() const {
  std::vector<std::string> tokens;
  MutexLock lock(mutex_);
  for (const auto& [token, use] : use_of_) {
    if (use.fetched > 0) tokens.push_back(token);
  }
  return tokens;
}

}  // namespace hotplate::server
