#include "server/endpoint.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <sstream>
#include <thread>
#include <utility>

#include "kernels/base/status.h"
#include "proto/codec/json_file.h"
#include "proto/codec/name_lock.h"

namespace hotplate::server {
namespace {

// A file system that hangs may hold an Update this long before the daemon leaves without it.
constexpr std::chrono::seconds kPatience{1};
// By how much the clocks of two nodes may differ.
constexpr std::chrono::seconds kClocksApart{600};

}  // namespace

absl::Status SystemError(const std::string& what) {
  const int error = errno;
  const std::string sentence = what + ": " + std::strerror(error) + "; ";
  const std::string elsewhere = "HOTPLATE_DIR (--directory) names another place for records";
  if (error == EACCES || error == EPERM || error == EROFS)
    return absl::PermissionDeniedError(ToAbsl(sentence + elsewhere));
  const bool full = error == ENOSPC || error == EDQUOT;
  return absl::FailedPreconditionError(ToAbsl(sentence + (full ? "make room there, or " : "") + elsewhere));
}

absl::Status PrivateFolder(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return SystemError("making folder " + path);
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) return SystemError("looking at folder " + path);
  if (!S_ISDIR(facts.st_mode)) return absl::FailedPreconditionError(ToAbsl(path + " is not a folder"));
  if (facts.st_uid != geteuid()) {
    return absl::PermissionDeniedError(ToAbsl(path + " belongs to user " + std::to_string(facts.st_uid) +
                                              "; it must be your own: use another HOTPLATE_DIR"));
  }
  if ((facts.st_mode & 077) != 0) {
    char mode[8];
    std::snprintf(mode, sizeof mode, "%04o", static_cast<unsigned>(facts.st_mode & 07777));
    return absl::PermissionDeniedError(ToAbsl(
        path + " has mode " + mode + ": others could read the daemon's token; close it with: chmod 700 " + path));
  }
  return absl::OkStatus();
}

bool WriteWhole(const std::string& path, const std::string& text, absl::FunctionRef<bool(int file)> prepare) {
  const std::string draft = path + "." + std::to_string(getpid()) + ".new";
  unlink(draft.c_str());
  const int file = open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return false;
  bool good = fchmod(file, 0600) == 0 && prepare(file);
  for (std::size_t done = 0; good && done < text.size();) {
    const ssize_t count = write(file, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    good = count > 0;
    done += good ? static_cast<std::size_t>(count) : 0;
  }
  good = good && fsync(file) == 0;
  const int saved = errno;
  close(file);
  errno = saved;
  if (good && rename(draft.c_str(), path.c_str()) == 0) return true;
  const int error = errno;
  unlink(draft.c_str());
  errno = error;
  return false;
}

absl::Status WriteWhole(const std::string& path, const std::string& text) {
  const bool written = WriteWhole(path, text, [](int) { return true; });
  return written ? absl::OkStatus() : SystemError("writing " + path);
}

namespace {

absl::Status PointAt(const std::string& link, const std::string& target, const std::string& temporary) {
  unlink(temporary.c_str());
  if (symlink(target.c_str(), temporary.c_str()) != 0) return SystemError("making link " + temporary);
  if (rename(temporary.c_str(), link.c_str()) == 0) return absl::OkStatus();
  const absl::Status status = SystemError("making link " + link);
  unlink(temporary.c_str());
  return status;
}

// The holder of a lock, as the lock file names it.
struct Holder {
  std::string pid = "unknown";
  Tenancy tenancy;

  bool IsEarlierRunOf(const Tenancy& other) const {
    return !other.allocation.empty() && tenancy.allocation == other.allocation &&
           tenancy.restart_count < other.restart_count;
  }
};

Holder ReadHolder(int lock) {
  char text[256] = {};
  Holder holder;
  if (pread(lock, text, sizeof text - 1, 0) <= 0) return holder;
  std::istringstream lines(text);
  std::getline(lines, holder.pid);
  if (holder.pid.empty()) holder.pid = "unknown";
  lines >> holder.tenancy.allocation;
  if (holder.tenancy.allocation != codec::kPrunes && !(lines >> holder.tenancy.restart_count))
    holder.tenancy = Tenancy();
  return holder;
}

std::string ReadLink(const std::string& link) {
  std::error_code error;
  return std::filesystem::read_symlink(link, error).string();
}

// Whether the daemon of a record in `directory` has ended without withdrawing it. False if unknown.
bool IsGone(const std::string& directory, const std::string& record_file) {
  v1::EndpointRecord record;
  if (!codec::ReadJsonFile(directory + "/" + record_file, record).ok()) return true;
  const std::int64_t end = record.has_allocation_end_time() ? record.allocation_end_time().seconds() : 0;
  if (end > 0 && end + kClocksApart.count() < std::time(nullptr)) return true;
  return codec::IsNameFree(directory, std::filesystem::path(record_file).stem().string());
}

std::string DraftOfCurrent(const std::string& directory, const std::string& name) {
  return directory + "/current." + name + ".new";
}

// Removes what killed daemons of this name were writing: the record and the link.
void RemoveDrafts(const std::string& directory, const std::string& name) {
  unlink(DraftOfCurrent(directory, name).c_str());
  const std::string begin = name + ".json.", end = ".new";
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(directory + "/servers", ignored)) {
    const std::string file = entry.path().filename();
    if (!file.starts_with(begin) || !file.ends_with(end)) continue;
    // Only a process id is between them; "a.json.b" is another daemon's name.
    if (file.find_first_not_of("0123456789", begin.size()) == file.size() - end.size()) unlink(entry.path().c_str());
  }
}

// Takes the lock. Who looks whether a daemon is gone has it for a moment, hence a second try; who prunes its journal
// has it a little longer.
bool TakeLock(int lock) {
  constexpr int kTries = 200;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    if (flock(lock, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return true;
    if (attempt > 0 && ReadHolder(lock).tenancy.allocation != codec::kPrunes) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return false;
}

}  // namespace

EndpointSlot::EndpointSlot(std::string directory, std::string name, int lock)
    : directory_(std::move(directory)),
      name_(std::move(name)),
      record_path_(directory_ + "/servers/" + name_ + ".json"),
      lock_(lock) {}

EndpointSlot::EndpointSlot(EndpointSlot&& other) noexcept
    : directory_(std::move(other.directory_)),
      name_(std::move(other.name_)),
      record_path_(std::move(other.record_path_)),
      generation_(std::exchange(other.generation_, {})),
      lock_(std::exchange(other.lock_, -1)) {}

EndpointSlot::~EndpointSlot() {
  Withdraw();
  if (lock_ >= 0) close(lock_);
}

absl::StatusOr<EndpointSlot> EndpointSlot::Claim(const std::string& directory, const std::string& name,
                                                 const Tenancy& tenancy) {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(directory).parent_path(), ignored);
  for (const std::string& folder : {directory, directory + "/servers", directory + "/logs"}) {
    if (absl::Status status = PrivateFolder(folder); !status.ok()) return status;
  }
  const std::string path = codec::NameLockFile(directory, name);
  for (bool again = false;; again = true) {
    const int lock = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (lock < 0) return SystemError("opening " + path);
    EndpointSlot slot(directory, name, lock);
    // Some network file systems have no locks: the record's generation then tells two daemons apart.
    if (!TakeLock(lock)) {
      const Holder holder = ReadHolder(lock);
      if (!again && holder.IsEarlierRunOf(tenancy)) {
        // The lock stays with the removed file, which nobody else will look at.
        if (unlink(path.c_str()) != 0 && errno != ENOENT) return SystemError("removing " + path);
        continue;
      }
      return absl::AlreadyExistsError(ToAbsl("daemon \"" + name + "\" is already running with pid " + holder.pid +
                                             " (" + path +
                                             "); stop it with \"hotplate down\" or choose another --name"));
    }
    std::string text = std::to_string(getpid()) + "\n";
    if (!tenancy.allocation.empty()) {
      text += tenancy.allocation + " " + std::to_string(tenancy.restart_count) + "\n";
    }
    if (ftruncate(lock, 0) != 0 || pwrite(lock, text.data(), text.size(), 0) < 0) return SystemError("writing " + path);
    RemoveDrafts(directory, name);
    return slot;
  }
}

absl::Status EndpointSlot::Publish(const v1::EndpointRecord& record) {
  const MutexLock lock(mutex_);
  if (absl::Status written = WriteWhole(record_path_, codec::ToJson(record)); !written.ok()) return written;
  generation_ = record.generation();
  const std::string own = "servers/" + name_ + ".json", there = ReadLink(directory_ + "/current");
  if (!there.empty() && there != own && !IsGone(directory_, there)) return absl::OkStatus();
  return PointAt(directory_ + "/current", own, DraftOfCurrent(directory_, name_));
}

absl::Status EndpointSlot::Update(const v1::EndpointRecord& record) {
  const MutexLock lock(mutex_);
  if (generation_.empty()) return absl::OkStatus();
  v1::EndpointRecord there;
  if (codec::ReadJsonFile(record_path_, there).ok() && there.generation() != generation_) {
    return absl::FailedPreconditionError(
        ToAbsl(record_path_ + " is another daemon's by now, generation " + there.generation()));
  }
  return WriteWhole(record_path_, codec::ToJson(record));
}

void EndpointSlot::Withdraw() {
  if (!mutex_.TryLockUntil(std::chrono::system_clock::now() + kPatience)) return;
  const MutexLock lock(mutex_, std::adopt_lock);
  if (generation_.empty()) return;
  v1::EndpointRecord there;
  if (codec::ReadJsonFile(record_path_, there).ok() && there.generation() == generation_) {
    if (ReadLink(directory_ + "/current") == "servers/" + name_ + ".json") unlink((directory_ + "/current").c_str());
    unlink(record_path_.c_str());
  }
  generation_.clear();
}

}  // namespace hotplate::server
