#include "server/saved/job_ids.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/base/quantity.h"
#include "kernels/base/status.h"
#include "proto/codec/json_file.h"
#include "proto/codec/name_lock.h"
#include "server/endpoint.h"
#include "server/wire/values.h"

namespace hotplate::server {
namespace {

using core::WallTime;

// Daemons that start at the same moment are in each other's way once each.
constexpr int kTries = 1000;
// Blocks are kept to answer questions about old jobs; the newest are always kept.
constexpr std::size_t kFilesKept = 500;
constexpr std::chrono::hours kAgeKept{24 * 30};
constexpr std::chrono::hours kLately{24};
// More than any daemon makes before its next note.
constexpr std::uint64_t kArraysOfASecond = 1'000'000;

template <typename Number>
bool IsNumber(std::string_view text, Number& number) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
}

// False: somebody else has `path`.
absl::StatusOr<bool> LinkTo(const std::string& written, const std::string& path) {
  if (link(written.c_str(), path.c_str()) == 0) return true;
  const int error = errno;
  // A network file system may repeat a completed request whose answer was lost.
  struct stat facts {};
  if (stat(written.c_str(), &facts) == 0 && facts.st_nlink == 2) return true;
  if (error == EEXIST) return false;
  if (error == EPERM || error == ENOTSUP || error == ENOSYS) {  // a file system without links
    if (renameat2(AT_FDCWD, written.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0) return true;
    if (errno == EEXIST) return false;
  } else {
    errno = error;
  }
  return SystemError("making " + path);
}

// Makes new names in a folder outlive a crash of the machine.
void SyncFolder(const std::string& folder) {
  const int open_ = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (open_ < 0) return;
  fsync(open_);
  close(open_);
}

// Which start of the daemon `name` its record is of; empty if there is none.
std::string RecordedGeneration(const std::string& directory, const std::string& name) {
  v1::EndpointRecord record;
  const bool found = codec::ReadJsonFile(directory + "/servers/" + name + ".json", record).ok();
  return found ? record.generation() : "";
}

bool IsLater(const google::protobuf::Timestamp& one, const google::protobuf::Timestamp& other) {
  return std::pair(one.seconds(), one.nanos()) > std::pair(other.seconds(), other.nanos());
}

}  // namespace

absl::StatusOr<std::vector<JobIds::Key>> JobIds::List() const {
  std::optional<std::vector<Key>> keys = codec::ListJobIdBlocks(folder_);
  if (!keys) return SystemError("reading folder " + folder_);
  return *std::move(keys);
}

JobIds::JobIds(std::string directory, v1::DaemonLife life)
    : directory_(std::move(directory)), folder_(directory_ + "/jobs"), life_(std::move(life)) {}

absl::StatusOr<std::unique_ptr<JobIds>> JobIds::Open(const std::string& directory, v1::DaemonLife life) {
  std::unique_ptr<JobIds> ids(new JobIds(directory, std::move(life)));
  if (absl::Status status = PrivateFolder(ids->folder_); !status.ok()) return status;
  ids->RemoveOld();
  ids->Refresh();
  const std::uint64_t first_array = ids->FirstArray();
  MutexLock lock(ids->mutex_);
  ids->life_.set_last_array(first_array - 1);
  return ids;
}

absl::StatusOr<core::NumberBlock> JobIds::Claim(std::uint64_t size) {
  if (size == 0) return absl::InvalidArgumentError("a block of 0 job ids was asked for");
  MutexLock writing(writing_);
  if (own_.daemon().has_end_time()) return absl::FailedPreconditionError("the daemon has ended");
  v1::JobIdBlock block;
  {
    MutexLock lock(mutex_);
    *block.mutable_daemon() = life_;
  }
  wire::ToProto(std::chrono::system_clock::now(), *block.mutable_daemon()->mutable_seen_time());
  const std::string written = folder_ + "/" + block.daemon().generation() + ".new";
  for (int attempt = 0; attempt < kTries; ++attempt) {
    const absl::StatusOr<std::vector<Key>> there = List();
    if (!there.ok()) return there.status();
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t first = 1, last = size;
    std::uint32_t turn = 0;
    if (!there->empty()) {
      const std::optional<v1::JobIdBlock> newest = codec::ReadJobIdBlock(folder_, there->back());
      if (!newest) {
        return absl::FailedPreconditionError(ToAbsl(
            FileOf(there->back()) +
            " is not a block of job ids, so that the next free one is not known; if no daemon of this folder runs, "
            "remove it, or use another HOTPLATE_DIR (--directory)"));
      }
      if (newest->last_job_id() > kMost - size) {
        return absl::ResourceExhaustedError(ToAbsl(FileOf(there->back()) + " ends with job id " +
                                                   std::to_string(newest->last_job_id()) + ": there are none beyond"));
      }
      first = newest->last_job_id() + 1, last = newest->last_job_id() + size;
      if (newest->daemon().has_end_time() && newest->last_used() < newest->last_job_id()) {
        first = newest->last_used() + 1, last = newest->last_job_id();
        if (first == newest->first_job_id()) turn = newest->turn() + 1;
      }
    }
    block.set_first_job_id(first);
    block.set_last_job_id(last);
    block.set_last_used(first - 1);
    block.set_turn(turn);
    if (absl::Status status = WriteWhole(written, codec::ToJson(block)); !status.ok()) return status;
    const absl::StatusOr<bool> taken = LinkTo(written, FileOf({first, turn}));
    unlink(written.c_str());
    if (!taken.ok()) return taken.status();
    if (!*taken) continue;
    SyncFolder(folder_);
    own_ = block;
    MutexLock lock(mutex_);
    blocks_[{first, turn}] = block;
    return core::NumberBlock{first, last};
  }
  return absl::UnavailableError(ToAbsl("no block of job ids could be had in " + folder_ + " in " +
                                       std::to_string(kTries) + " tries: others were faster each time"));
}

absl::Status JobIds::Rewrite(const std::optional<LastWords>& words, LastNumbers last, bool ended) {
  MutexLock writing(writing_);
  if (own_.first_job_id() == 0 || own_.daemon().has_end_time()) return absl::OkStatus();
  v1::DaemonLife& life = *own_.mutable_daemon();
  if (words) {
    life.set_held(words->held);
    life.set_saved(words->saved);
    life.set_end_reason(words->reason);
  }
  const WallTime now = std::chrono::system_clock::now();
  wire::ToProto(now, *life.mutable_seen_time());
  if (ended) wire::ToProto(now, *life.mutable_end_time());
  // A block that was claimed ahead has none yet.
  own_.set_last_used(std::max(last.job, own_.first_job_id() - 1));
  life.set_last_array(std::max(last.array, life.last_array()));
  {
    MutexLock lock(mutex_);
    life_ = life;
    blocks_[{own_.first_job_id(), own_.turn()}] = own_;
  }
  return WriteWhole(FileOf({own_.first_job_id(), own_.turn()}), codec::ToJson(own_));
}

absl::Status JobIds::Note(const std::string& held, LastNumbers last) {
  return Rewrite(LastWords{.held = held}, last, /*ended=*/false);
}

absl::Status JobIds::End(LastNumbers last, const std::optional<LastWords>& words) {
  return Rewrite(words, last, /*ended=*/true);
}

void JobIds::NoteAlone() {
  MutexLock writing(writing_);
  own_.mutable_daemon()->set_alone(true);
}

void JobIds::Refresh() {
  const absl::StatusOr<std::vector<Key>> there = List();
  if (!there.ok()) return;
  std::map<Key, v1::JobIdBlock> known;
  std::set<std::string> lived;  // when this was called last
  std::string own_name;         // no other daemon has it
  {
    MutexLock lock(mutex_);
    known = blocks_;
    lived = living_;
    own_name = life_.name();
  }
  const auto read = [&](const Key& key) {
    if (std::optional<v1::JobIdBlock> block = codec::ReadJobIdBlock(folder_, key)) known[key] = *std::move(block);
  };
  for (const Key& key : *there) {
    if (!known.contains(key)) read(key);
  }
  std::map<std::string, Key> newest;  // of each daemon: it writes to no other
  for (const auto& [key, block] : known) newest[block.daemon().generation()] = key;
  std::set<std::string> living;
  for (const auto& [generation, key] : newest) {
    const v1::DaemonLife& life = known[key].daemon();
    if (life.has_end_time() || life.name() == own_name) continue;
    if (codec::IsNameFree(directory_, life.name())) continue;
    const std::string recorded = RecordedGeneration(directory_, life.name());
    // Without a record it starts.
    if (recorded.empty() || recorded == generation) living.insert(generation);
  }
  // Afterwards, so that the last words of one that has just ended are among them.
  for (const auto& [generation, key] : newest) {
    if (lived.contains(generation) || living.contains(generation)) read(key);
  }
  MutexLock lock(mutex_);
  for (const auto& [key, block] : blocks_) {  // as they were claimed and written meanwhile
    if (block.daemon().generation() == life_.generation()) known[key] = block;
  }
  blocks_ = std::move(known);
  living_ = std::move(living);
}

v1::DaemonLife JobIds::LifeLocked(const v1::JobIdBlock& block) const {
  v1::DaemonLife life = block.daemon();
  for (const auto& [key, other] : blocks_) {
    if (other.daemon().generation() == life.generation()) life = other.daemon();
  }
  return life;
}

std::string JobIds::WhoseJob(const std::string& job_id) const {
  std::uint64_t number = 0;
  if (!IsNumber(job_id, number)) return "";
  v1::DaemonLife life;
  bool lives = false, given = false;  // given: that there was such a job is known
  {
    MutexLock lock(mutex_);
    const auto has = [number](const auto& at) {
      const v1::JobIdBlock& block = at.second;
      const std::uint64_t last = block.daemon().has_end_time() ? block.last_used() : block.last_job_id();
      return block.first_job_id() <= number && number <= last;
    };
    const auto at = std::find_if(blocks_.rbegin(), blocks_.rend(), has);
    if (at == blocks_.rend() || at->second.daemon().generation() == life_.generation()) return "";
    life = LifeLocked(at->second);
    given = std::any_of(blocks_.begin(), blocks_.end(), [&](const auto& other) {
      const v1::JobIdBlock& block = other.second;
      return block.daemon().generation() == life.generation() && number <= block.last_used() &&
             block.first_job_id() <= block.last_used();
    });
    // A later one of its name has what it left.
    lives = std::any_of(blocks_.begin(), blocks_.end(), [&](const auto& other) {
      mutex_.AssertHeld();
      const v1::DaemonLife& one = other.second.daemon();
      return one.name() == life.name() && living_.contains(one.generation());
    });
  }
  if (lives) {
    return "job " + job_id + (given ? "" : ", if there is one,") + " is of daemon \"" + life.name() +
           "\"; ask it: hotplate --server " + life.name();
  }
  const std::string journal = "; if it kept a journal, that may have the job: hotplate show " + job_id;
  const std::string who =
      "job " + job_id + (given ? "" : ", if there was one,") + " was of daemon \"" + life.name() + "\"";
  if (life.has_end_time()) return who + ", which ended at " + UtcText(wire::FromProto(life.end_time())) + journal;
  return who + ", which died: it was last seen at " + UtcText(wire::FromProto(life.seen_time())) + journal;
}

std::uint64_t JobIds::FirstArray() const {
  std::uint64_t first = 1;
  MutexLock lock(mutex_);
  for (const auto& [key, block] : blocks_) {
    const v1::DaemonLife& life = block.daemon();
    if (life.name() != life_.name() || life.generation() == life_.generation()) continue;
    // A killed one has not noted its last second.
    first = std::max(first, life.last_array() + 1 + (life.has_end_time() ? 0 : kArraysOfASecond));
  }
  return first;
}

std::optional<v1::DaemonLife> JobIds::Before() const {
  std::optional<v1::DaemonLife> before;
  const auto end_of = [](const v1::DaemonLife& life) {
    return life.has_end_time() ? life.end_time() : life.seen_time();
  };
  {
    MutexLock lock(mutex_);
    for (const auto& [key, block] : blocks_) {
      v1::DaemonLife life = LifeLocked(block);
      if (life.generation() == life_.generation() || living_.contains(life.generation())) continue;
      if (!before || IsLater(end_of(life), end_of(*before))) before = std::move(life);
    }
  }
  if (!before || WallTime::clock::now() - wire::FromProto(end_of(*before)) > kLately) return std::nullopt;
  if (before->has_end_time()) return before->held().empty() ? std::nullopt : before;
  // A death leaves the record behind, until `hotplate down` tells of it and removes it.
  return RecordedGeneration(directory_, before->name()) == before->generation() ? before : std::nullopt;
}

void JobIds::RemoveOld() {
  // The file that a killed daemon was writing: no writer takes an hour.
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, error)) {
    const auto written = entry.last_write_time(error);
    const bool old = !error && std::filesystem::file_time_type::clock::now() - written > std::chrono::hours(1);
    if (old && entry.path().extension() == ".new") std::filesystem::remove(entry.path(), error);
  }
  const absl::StatusOr<std::vector<Key>> there = List();
  if (!there.ok() || there->size() <= kFilesKept) return;
  const std::time_t oldest = std::time(nullptr) - std::chrono::seconds(kAgeKept).count();
  for (std::size_t i = 0; i < there->size() - kFilesKept; ++i) {
    struct stat facts {};
    if (stat(FileOf((*there)[i]).c_str(), &facts) == 0 && facts.st_mtime < oldest) unlink(FileOf((*there)[i]).c_str());
  }
}

}  // namespace hotplate::server
