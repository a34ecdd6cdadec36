#include "client/cli/allocation/notes.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <utility>

#include "client/cli/allocation/follow_on.h"
#include "client/cli/allocation/private_folder.h"
#include "client/cli/allocation/records.h"
#include "client/cli/scheduler/lsf.h"
#include "client/cli/scheduler/slurm.h"
#include "client/cli/terminal/json.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"

namespace hotplate::cli {
namespace {

// A note is a few hundred bytes.
constexpr std::size_t kLongestNote = 64 * 1024;
// Number of notes kept of allocations that are over.
constexpr std::size_t kKeptNotes = 10;

std::string FolderOf(const std::string& directory) { return directory + "/allocations"; }
std::string PathOf(const std::string& directory, const std::string& name) {
  return FolderOf(directory) + "/" + name + ".json";
}

std::string Json(const AllocationNote& note) {
  JsonObject object;
  object.Raw("schema_version", "1")
      .Text("name", note.name)
      .Text("site", note.site)
      .Text("scheduler", note.scheduler == SchedulerKind::kLsf ? "lsf" : "slurm")
      .Text("cluster", note.job.cluster)
      .Text("cluster_name", note.job.home)
      .Text("job_id", note.job.id)
      .Text("output_file", note.output_file)
      .Raw("request", JsonTexts(note.request))
      .Raw("gpus", std::to_string(note.gpus))
      .Raw("follow_on", JsonTexts(note.follow_on))
      .Raw("earlier", JsonTexts(note.earlier))
      .Raw("submit_time", std::to_string(note.submit_time))
      .Raw("attached", note.attached ? "true" : "false")
      .Raw("was_ready", note.was_ready ? "true" : "false");
  if (note.over()) object.Text("end_state", note.end_state).Text("end_reason", note.end_reason);
  if (note.end_time) object.Raw("end_time", std::to_string(*note.end_time));
  return object.Json() + "\n";
}

class NoteFields {
 public:
  explicit NoteFields(const google::protobuf::Struct& all) : all_(all) {}
  std::string Text(const std::string& key) const {
    const auto found = all_.fields().find(key);
    return found == all_.fields().end() ? "" : found->second.string_value();
  }
  std::int64_t Number(const std::string& key) const {
    const auto found = all_.fields().find(key);
    const double number = found == all_.fields().end() ? 0 : found->second.number_value();
    return std::isfinite(number) && std::abs(number) < 1e15 ? static_cast<std::int64_t>(number) : 0;
  }
  bool Flag(const std::string& key) const {
    const auto found = all_.fields().find(key);
    return found != all_.fields().end() && found->second.bool_value();
  }
  std::vector<std::string> Words(const std::string& key) const {
    std::vector<std::string> words;
    const auto found = all_.fields().find(key);
    if (found != all_.fields().end())
      for (const auto& word : found->second.list_value().values()) words.push_back(word.string_value());
    return words;
  }

 private:
  const google::protobuf::Struct& all_;
};

std::optional<AllocationNote> Parse(const std::string& json) {
  google::protobuf::Struct all;
  if (!google::protobuf::util::JsonStringToMessage(json, &all).ok()) return std::nullopt;
  const NoteFields fields(all);
  AllocationNote note;
  note.name = fields.Text("name");
  note.site = fields.Text("site");
  note.scheduler = fields.Text("scheduler") == "lsf" ? SchedulerKind::kLsf : SchedulerKind::kSlurm;
  note.job = {fields.Text("job_id"), fields.Text("cluster"), fields.Text("cluster_name"), UserNumber()};
  note.output_file = fields.Text("output_file");
  note.request = fields.Words("request");
  note.follow_on = fields.Words("follow_on");
  note.earlier = fields.Words("earlier");
  note.gpus = static_cast<int>(std::clamp<std::int64_t>(fields.Number("gpus"), 0, 1'000'000));
  note.submit_time = fields.Number("submit_time");
  note.attached = fields.Flag("attached");
  note.was_ready = fields.Flag("was_ready");
  note.end_state = fields.Text("end_state");
  note.end_reason = fields.Text("end_reason");
  if (const std::int64_t end = fields.Number("end_time"); end > 0) note.end_time = end;
  // These become words of the scheduler's commands, and parts of paths.
  const auto are_ids = [](const auto& ids) { return std::all_of(ids.begin(), ids.end(), IsJobId); };
  if (fields.Number("schema_version") != 1 || !are_ids(note.follow_on) || !are_ids(note.earlier) ||
      !client::IsServerName(note.name) || !IsJobId(note.job.id) ||
      (!note.job.cluster.empty() && !client::IsServerName(note.job.cluster)) ||
      (!note.job.home.empty() && !client::IsServerName(note.job.home)))
    return std::nullopt;
  return note;
}

void RemoveOldNotes(const std::string& directory) {
  std::size_t over = 0;
  for (const AllocationNote& note : ReadNotes(directory))
    if (note.over() && ++over > kKeptNotes) RemoveNote(directory, note.name);
}

}  // namespace

absl::Status PrepareNotes(const std::string& directory) {
  if (const absl::Status status = client::CheckDirectory(directory); !status.ok()) return status;
  if (const absl::Status status = MakePrivateFolder(FolderOf(directory)); !status.ok()) return status;
  const std::string probe = FolderOf(directory) + "/.probe";
  if (const absl::Status status = WritePrivateFile(probe, std::string(4096, '\n')); !status.ok()) return status;
  unlink(probe.c_str());
  return absl::OkStatus();
}

absl::Status WriteNote(const std::string& directory, const AllocationNote& note) {
  if (const absl::Status status = MakePrivateFolder(FolderOf(directory)); !status.ok()) return status;
  const absl::Status status = WritePrivateFile(PathOf(directory, note.name), Json(note));
  if (status.ok()) RemoveOldNotes(directory);
  return status;
}

std::optional<AllocationNote> ReadNote(const std::string& directory, const std::string& name) {
  if (!client::IsServerName(name) || !client::CheckDirectory(directory).ok()) return std::nullopt;
  const auto text = ReadPrivateFile(PathOf(directory, name), kLongestNote);
  auto note = text ? Parse(*text) : std::nullopt;
  if (note && note->name != name) note.reset();
  return note;
}

std::vector<AllocationNote> ReadNotes(const std::string& directory) {
  std::vector<AllocationNote> notes;
  DIR* folder = opendir(FolderOf(directory).c_str());
  if (folder == nullptr) return notes;
  while (const dirent* entry = readdir(folder)) {
    const std::string file = entry->d_name;
    if (file.size() <= 5 || file.compare(file.size() - 5, 5, ".json") != 0) continue;
    if (auto note = ReadNote(directory, file.substr(0, file.size() - 5))) notes.push_back(*std::move(note));
  }
  closedir(folder);
  std::sort(notes.begin(), notes.end(), [](const AllocationNote& a, const AllocationNote& b) {
    return std::pair(a.submit_time, a.name) > std::pair(b.submit_time, b.name);
  });
  return notes;
}

void RemoveNote(const std::string& directory, const std::string& name) { unlink(PathOf(directory, name).c_str()); }

std::optional<AllocationNote> NoteFor(const Settings& settings) {
  auto name = ServerName(settings);
  if (!settings.server.empty()) return ReadNote(settings.directory, *name);
  if (!name)
    if (std::vector<std::string> records = ServerNames(settings); !records.empty()) {
      if (records.size() > 1)
        std::erase_if(records, [&](const std::string& record) {
          const auto note = ReadNote(settings.directory, record);
          return note && note->over();
        });
      if (records.size() > 1) return std::nullopt;  // the user has to choose
      if (!records.empty()) name = records.front();
    }
  std::optional<AllocationNote> over;
  if (name) {
    const auto note = ReadNote(settings.directory, *name);
    if (note ? !note->over() : access(RecordPath(settings, *name).c_str(), F_OK) == 0) return note;
    over = note;
  }
  // An allocation that is over must not hide one that waits.
  const std::vector<AllocationNote> notes = ReadNotes(settings.directory);
  for (const AllocationNote& note : notes)
    if (!note.over()) return note;
  return over || notes.empty() ? over : std::optional(notes.front());
}

std::optional<std::string> RecordedName(const std::string& directory, const AllocationNote& note,
                                        std::set<std::string>* others) {
  const Settings settings{.directory = directory};
  // Reading the folder first has a network file system look whether there is news.
  for (const std::string& name : ServerNames(settings)) {
    const bool named = name == note.name;
    if (!named && (note.scheduler == SchedulerKind::kLsf || (others != nullptr && others->count(name) > 0))) continue;
    const auto record = RecordOf(settings, name);
    // An unreadable record counts; using it reports the error.
    if (named && (!record || note.scheduler == SchedulerKind::kLsf)) return name;
    if (!record) continue;
    const bool elsewhere = !record->cluster().empty() && !note.job.home.empty() && record->cluster() != note.job.home;
    if (record->slurm_job_id() == note.job.id && !elsewhere) return name;
    if (!named && others != nullptr) others->insert(name);
  }
  return std::nullopt;
}

std::string UserNumber() { return std::to_string(geteuid()); }

AllocationNote WithEnd(AllocationNote note, const JobStatus& status) {
  note.end_state = status.state.empty() ? "UNKNOWN" : status.state;
  note.end_reason = status.reason;
  note.end_time = status.end;
  return note;
}

void NoteTheEnd(const std::string& directory, const AllocationNote& note, const JobStatus& status) {
  // A daemon that did not live to withdraw its record would stay the current one for good.
  const Settings settings{.directory = directory};
  if (note.follow_on.empty() && ServerName(settings) == note.name)
    if (const auto record = RecordOf(settings, note.name); !record || record->slurm_job_id() == note.job.id)
      unlink((directory + "/current").c_str());
  // Only a convenience: where it cannot be written, the scheduler is asked again.
  WriteNote(directory, NextOf(directory, note).value_or(WithEnd(note, status))).IgnoreError();
}

std::unique_ptr<Scheduler> SchedulerFor(SchedulerKind kind, const std::string& cluster, const Environment& environment,
                                        std::stop_token stop) {
  const ProgramRunner run = [environment](const ProgramCall& call) { return RunProgram(call, environment); };
  if (kind == SchedulerKind::kLsf) return MakeLsf(run);
  return MakeSlurm(run, cluster, std::move(stop));
}

}  // namespace hotplate::cli
