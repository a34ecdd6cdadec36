#include "server/journal/export.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/base/status.h"
#include "server/journal/json.h"
#include "server/journal/manifest.h"

namespace hotplate::journal {
namespace {

constexpr std::size_t kPage = 1000;
constexpr const char* kStates[] = {"?", "PENDING", "RUNNING", "COMPLETED", "FAILED", "CANCELLED", "TIMEOUT"};

const char* NameOf(JobState state) {
  const auto number = static_cast<std::size_t>(state);
  return kStates[number < std::size(kStates) ? number : 0];
}

void AddTime(JsonObject& json, const char* key, const std::optional<WallTime>& time) {
  if (time) json.Number(key, ToNs(*time));
}

void AddBytes(JsonObject& json, const char* key, const KeptJob& job, const std::string& bytes,
              const ExportOptions::ToJson& to_json) {
  if (bytes.empty()) return;
  if (to_json) {
    json.Raw(key, to_json(job.accepted.kernel, bytes));
  } else {
    json.Text(absl::StrCat(key, "_base64"), absl::Base64Escape(bytes));
  }
}

std::string FilesJson(const std::vector<SpooledFile>& files) {
  return absl::StrCat(
      "[",
      absl::StrJoin(files, ",",
                    [](std::string* out, const SpooledFile& file) { absl::StrAppend(out, FileJson(file, file.file)); }),
      "]");
}

std::string DaemonJson(const KeptDaemon& daemon) {
  JsonObject json;
  json.Text("type", "daemon").Number("epoch", daemon.epoch).Text("generation", daemon.life.generation);
  json.Text("name", daemon.life.name).Text("node", daemon.life.node).Text("slurm_job", daemon.life.slurm_job);
  json.Number("start_ns", ToNs(daemon.start));
  AddTime(json, "end_ns", daemon.end);
  if (!daemon.end_reason.empty()) json.Text("end_reason", daemon.end_reason);
  AddTime(json, "last_seen_ns", daemon.seen);
  json.Number("gpus", std::int64_t{daemon.gpus});
  return json.Str();
}

std::string SumJson(const SumKey& key, const Sum& sum) {
  JsonObject json;
  json.Text("type", "sum").Number("minute_ns", nanoseconds(std::chrono::minutes(key.minute)).count());
  json.Text("kernel", key.kernel).Text("label", key.label).Text("state", NameOf(key.state)).Number("jobs", sum.jobs);
  json.Number("device_ns", std::int64_t{sum.device_time.count()}).Number("gpu_ns", std::int64_t{sum.gpu_time.count()});
  json.Real("energy_joules", sum.energy_joules);
  return json.Str();
}

}  // namespace

std::string JobJson(const KeptJob& job, const ExportOptions& options) {
  const JobAccepted& accepted = job.accepted;
  JsonObject json;
  json.Text("type", "job").Text("id", std::to_string(accepted.number)).Number("epoch", job.epoch);
  json.Text("kernel", accepted.kernel).Text("label", accepted.label).Text("state", NameOf(job.state));
  json.Bool("attached", job.attached).Text("owner", accepted.owner).Text("session", accepted.session);
  json.Number("priority", std::int64_t{accepted.priority});
  if (accepted.time_limit) json.Number("time_limit_ns", std::int64_t{accepted.time_limit->count()});
  if (!job.device.empty()) json.Text("device", job.device);
  json.Number("submit_ns", ToNs(accepted.time));
  AddTime(json, "start_ns", job.start_time);
  AddTime(json, "end_ns", job.end_time);
  AddTime(json, "fetch_ns", job.fetch_time);
  AddTime(json, "release_ns", job.release_time);
  if (job.end_time) {
    json.Number("device_ns", std::int64_t{job.use.device_time.count()});
    json.Number("gpu_ns", std::int64_t{job.use.gpu_time.count()});
  }
  if (job.use.energy_joules) json.Real("energy_joules", *job.use.energy_joules);
  if (!accepted.inputs.empty()) json.Raw("inputs", FilesJson(accepted.inputs));
  if (!job.results.empty()) json.Raw("results", FilesJson(job.results));
  AddBytes(json, "request", job, accepted.request, options.request_json);
  AddBytes(json, "end", job, job.end, options.end_json);
  return json.Str();
}

absl::Status Export(WithIndex with, const ExportOptions& options,
                    absl::FunctionRef<bool(const std::string& line)> line) {
  Recovered all;
  Sums sums;
  absl::Status read = with([&](Index& index) -> absl::Status {
    absl::StatusOr<Recovered> recovered = Recover(index, {.most_ended = 0});
    absl::StatusOr<Sums> of_attached = SumsSince(index, options.jobs.ended_since);
    if (!recovered.ok()) return recovered.status();
    if (!of_attached.ok()) return of_attached.status();
    all = *std::move(recovered);
    sums = *std::move(of_attached);
    return absl::OkStatus();
  });
  if (!read.ok()) return read;
  for (const KeptDaemon& daemon : all.daemons) {
    if (!line(DaemonJson(daemon))) return absl::OkStatus();
  }
  JobQuery query = options.jobs;
  query.requests = true;
  std::size_t left = query.limit;
  while (left > 0) {
    query.limit = std::min(left, kPage);
    std::vector<KeptJob> page;
    read = with([&](Index& index) -> absl::Status {
      absl::StatusOr<std::vector<KeptJob>> jobs = EndedJobs(index, query);
      if (!jobs.ok()) return jobs.status();
      page = *std::move(jobs);
      return absl::OkStatus();
    });
    if (!read.ok()) return read;
    for (const KeptJob& job : page) {
      if (!line(JobJson(job, options))) return absl::OkStatus();
    }
    if (page.size() < query.limit) break;
    left -= page.size();
    query.before = JobPlace::Of(page.back());
  }
  for (const KeptJob& job : all.unfinished) {
    if (!line(JobJson(job, options))) return absl::OkStatus();
  }
  for (const auto& [key, sum] : sums) {
    if (!line(SumJson(key, sum))) return absl::OkStatus();
  }
  return absl::OkStatus();
}

}  // namespace hotplate::journal
