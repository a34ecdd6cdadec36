#include "server/journal/fence.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "kernels/array/quoted.h"
#include "kernels/base/quantity.h"
#include "kernels/base/status.h"

namespace hotplate::journal {
namespace {

// Daemons that start at the same moment are in each other's way once each.
constexpr int kTries = 100;
constexpr std::size_t kLongestRecord = 1 << 16;
// A living writer touches its record every few seconds (Journal); one that was not touched for so long has died, or is
// cut off.
constexpr std::chrono::seconds kSilent{60};
constexpr char kFence[] = "fence";
constexpr char kOwner[] = "owner-";

std::string RecordName(std::uint64_t epoch) { return absl::StrCat(kOwner, epoch); }

std::string DraftName(const Owner& owner) {
  return absl::StrCat(".", RecordName(owner.epoch), ".", owner.pid, ".", owner.life.generation);
}

// Fixed in width, so that a new number covers the old one.
std::string FenceText(std::uint64_t epoch) {
  std::string digits = std::to_string(epoch);
  return std::string(20 - digits.size(), '0') + digits + "\n";
}

std::string BootId() {
  const absl::StatusOr<std::string> text = Disk::Real().Read("/proc/sys/kernel/random/boot_id", 64);
  return text.ok() ? text->substr(0, text->find('\n')) : "";
}

std::string ToText(const Owner& owner) {
  const auto line = [](const char* key, const std::string& value) {
    return absl::StrCat(key, " ", Visible(value, '?'), "\n");
  };
  return absl::StrCat(line("epoch", std::to_string(owner.epoch)), line("generation", owner.life.generation),
                      line("name", owner.life.name), line("node", owner.life.node),
                      line("slurm-job", owner.life.slurm_job), line("pid", std::to_string(owner.pid)),
                      line("boot", owner.boot),
                      line("since-ns", std::to_string(nanoseconds(owner.since.time_since_epoch()).count())),
                      line("ended", owner.ended ? "1" : "0"), line("index", owner.index),
                      line("copy-of", owner.copy_of), "complete \n");
}

// A name of a file beside the record, which must not lead elsewhere.
bool IsPlain(absl::string_view name) { return !absl::StrContains(name, '/') && !absl::StartsWith(name, "."); }

std::optional<Owner> FromText(const std::string& text) {
  Owner owner;
  std::int64_t since = 0;
  bool complete = false;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits(' ', 1));
    const auto& [key, value] = parts;
    bool good = true;
    if (key == "epoch") good = absl::SimpleAtoi(value, &owner.epoch);
    if (key == "generation") owner.life.generation = std::string(value);
    if (key == "name") owner.life.name = std::string(value);
    if (key == "node") owner.life.node = std::string(value);
    if (key == "slurm-job") owner.life.slurm_job = std::string(value);
    if (key == "pid") good = absl::SimpleAtoi(value, &owner.pid);
    if (key == "boot") owner.boot = std::string(value);
    if (key == "since-ns") good = absl::SimpleAtoi(value, &since);
    if (key == "ended") owner.ended = value == "1";
    if (key == "index") owner.index = std::string(value), good = IsPlain(value);
    if (key == "copy-of") owner.copy_of = std::string(value), good = IsPlain(value);
    if (key == "complete") complete = true;
    if (!good) return std::nullopt;
  }
  if (!complete || owner.index.empty()) return std::nullopt;
  owner.since = WallTime(std::chrono::duration_cast<WallTime::duration>(nanoseconds(since)));
  return owner;
}

bool IsThere(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

// 1970 if it is not known.
WallTime TouchTime(const std::string& record) {
  struct stat facts {};
  if (stat(record.c_str(), &facts) != 0) return {};
  const nanoseconds since_1970 = std::chrono::seconds(facts.st_mtim.tv_sec) + nanoseconds(facts.st_mtim.tv_nsec);
  return WallTime(std::chrono::duration_cast<WallTime::duration>(since_1970));
}

enum class Life { kGone, kMayLive, kLives };

struct Sight {
  Life life = Life::kMayLive;
  bool has_locks = true;
  std::string seen = {};  // of one that may live: when it was last seen
};

Sight Look(const Owner& owner, const std::string& record, const std::string& node, bool locks) {
  if (owner.ended) return {.life = Life::kGone};
  Sight sight;
  const Descriptor file(open(record.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  const int failed = !locks ? ENOSYS : !file ? errno : flock(file.get(), LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
  if (failed == EWOULDBLOCK) return {.life = Life::kLives};
  sight.has_locks = failed == 0;
  const std::string boot = BootId();
  const bool same_machine = !boot.empty() && owner.boot == boot;
  if (same_machine && failed == 0) return {.life = Life::kGone};
  if (same_machine && kill(static_cast<pid_t>(owner.pid), 0) != 0 && errno == ESRCH) {
    return {.life = Life::kGone, .has_locks = sight.has_locks};
  }
  // The node has been started again since.
  if (!boot.empty() && !owner.boot.empty() && !same_machine && owner.life.node == node) {
    return {.life = Life::kGone, .has_locks = sight.has_locks};
  }
  if (const WallTime seen = TouchTime(record); seen != WallTime()) {
    const nanoseconds silent = WallTime::clock::now() - seen;
    sight.seen = DurationText(silent);
    // On this machine nothing tells a process that is stopped from one that works.
    if (silent >= kSilent && !same_machine) sight.life = Life::kGone;
  }
  return sight;
}

}  // namespace

std::string Owner::Text() const {
  return absl::StrCat("daemon ", Quoted(life.name), " (pid ", pid, " on ", life.node,
                      life.slurm_job.empty() ? "" : ", Slurm job ", life.slurm_job, ", since ", UtcText(since), ")");
}

absl::StatusOr<Owner> Fence::Newest(const std::string& folder, const Disk& disk) {
  const absl::StatusOr<std::vector<std::string>> names = disk.List(folder);
  if (!names.ok()) return names.status();
  std::uint64_t newest = 0, epoch = 0;
  for (const std::string& name : *names) {
    if (name.starts_with(kOwner) && absl::SimpleAtoi(name.substr(sizeof kOwner - 1), &epoch)) {
      newest = std::max(newest, epoch);
    }
  }
  if (newest == 0) return absl::NotFoundError(absl::StrCat("there is no journal in ", folder));
  const std::string path = absl::StrCat(folder, "/", RecordName(newest));
  const absl::StatusOr<std::string> text = disk.Read(path, kLongestRecord);
  // It was there: whoever has the next epoch removed it.
  if (absl::IsNotFound(text.status())) return absl::AbortedError(text.status().message());
  if (!text.ok()) return text.status();
  std::optional<Owner> owner = FromText(*text);
  if (!owner || owner->epoch != newest) {
    return absl::DataLossError(absl::StrCat(path, " is not a record of a journal's owner"));
  }
  owner->seen = TouchTime(path);
  return *std::move(owner);
}

absl::StatusOr<std::unique_ptr<Fence>> Fence::Claim(FenceOptions options) {
  if (absl::Status made = MakeLastingFolder(*options.disk, options.folder); !made.ok()) return made;
  std::unique_ptr<Fence> fence(new Fence(std::move(options)));
  for (int attempt = 0; attempt < kTries; ++attempt) {
    const absl::StatusOr<bool> claimed = fence->Try();
    if (!claimed.ok()) return claimed.status();
    if (*claimed) return fence;
  }
  return absl::UnavailableError(
      absl::StrCat("the journal in ", fence->options_.folder, " could not be had in ", kTries, " tries"));
}

absl::StatusOr<bool> Fence::Try() {
  Disk& disk = *options_.disk;
  before_.reset();
  self_ = {.epoch = 1, .life = options_.life, .pid = getpid(), .boot = BootId(), .since = WallTime::clock::now()};
  absl::StatusOr<Owner> newest = Newest(options_.folder, disk);
  if (absl::IsAborted(newest.status())) return false;
  if (!newest.ok() && !absl::IsNotFound(newest.status())) return newest.status();
  bool gone = true;
  has_locks_ = options_.locks;
  if (newest.ok()) {
    Sight sight = Look(*newest, Path(RecordName(newest->epoch)), options_.life.node, options_.locks);
    has_locks_ = has_locks_ && sight.has_locks;
    const bool known_gone = sight.life == Life::kMayLive && options_.is_gone && options_.is_gone(*newest);
    if (!options_.take_over && !known_gone && sight.life != Life::kGone) {
      return absl::FailedPreconditionError(absl::StrCat(
          "the journal in ", options_.folder, " belongs to ", newest->Text(),
          sight.life == Life::kLives ? ", which is running"
                                     : absl::StrCat(", which may be running: it was last seen ", sight.seen, " ago")));
    }
    // A writer is certainly gone if it said so, or if its lock on this machine is free.
    gone = newest->ended || (sight.life == Life::kGone && sight.has_locks && newest->boot == self_.boot);
    before_ = *std::move(newest);
    self_.epoch = before_->epoch + 1;
  }
  const std::string current = !before_                          ? ""
                              : IsThere(Path(before_->index))   ? before_->index
                              : IsThere(Path(before_->copy_of)) ? before_->copy_of
                                                                : before_->index;
  // The epoch before may have died before it had its copy.
  gone = gone && (!before_ || current == before_->index);
  self_.index = gone && before_ ? current : absl::StrCat("index-", self_.epoch, ".sqlite");
  self_.copy_of = gone ? "" : current;

  const std::string written = Path(DraftName(self_));
  const std::string text = ToText(self_);
  const std::array<Disk::Bytes, 1> pieces = {BytesOf(text)};
  if (absl::Status removed = disk.Remove(written); !removed.ok()) return removed;
  if (absl::Status done = disk.Write(written, pieces, Disk::Sync::kNow); !done.ok()) return done;
  // Locked before it has its name: nobody finds it without a lock.
  Descriptor lock(open(written.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (options_.locks && (!lock || flock(lock.get(), LOCK_EX | LOCK_NB) != 0)) has_locks_ = false;
  absl::Status linked = disk.Link(written, Path(RecordName(self_.epoch)));
  if (absl::IsUnimplemented(linked)) {  // a file system without links
    const int renamed =
        renameat2(AT_FDCWD, written.c_str(), AT_FDCWD, Path(RecordName(self_.epoch)).c_str(), RENAME_NOREPLACE);
    linked = renamed == 0 ? absl::OkStatus() : DiskError("making " + Path(RecordName(self_.epoch)), errno);
  }
  disk.Remove(written).IgnoreError();
  // NOT_FOUND: a daemon that has this epoch, or a later one, removed the draft.
  if (absl::IsAlreadyExists(linked) || absl::IsNotFound(linked)) return false;
  if (!linked.ok()) return linked;
  lock_ = std::move(lock);
  if (absl::Status raised = Raise(); !raised.ok()) return raised;
  if (absl::Status synced = disk.SyncFolder(options_.folder); !synced.ok()) return synced;
  // Somebody may have taken it over meanwhile, and this may have lowered the fence again: Check puts that right there.
  newest = Newest(options_.folder, disk);
  if (absl::IsAborted(newest.status())) return false;
  if (!newest.ok()) return newest.status();
  if (newest->epoch != self_.epoch) return false;
  RemoveOld();
  return true;
}

absl::Status Fence::Raise() const { return options_.disk->Overwrite(Path(kFence), BytesOf(FenceText(self_.epoch))); }

void Fence::RemoveOld() const {
  const absl::StatusOr<std::vector<std::string>> names = options_.disk->List(options_.folder);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    absl::string_view digits = name;
    const bool is_draft = absl::ConsumePrefix(&digits, ".");
    if (!absl::ConsumePrefix(&digits, kOwner)) continue;
    if (is_draft) digits = digits.substr(0, digits.find('.'));
    std::uint64_t epoch = 0;
    // A draft of this epoch is too late as well.
    const bool old = absl::SimpleAtoi(digits, &epoch) && (epoch < self_.epoch || (is_draft && epoch == self_.epoch));
    if (old) options_.disk->Remove(Path(name)).IgnoreError();
  }
}

absl::Status Fence::Check() const {
  const absl::StatusOr<std::string> text = options_.disk->Read(Path(kFence), 64);
  if (!text.ok()) return absl::UnavailableError(text.status().message());
  std::uint64_t epoch = 0;
  if (!absl::SimpleAtoi(text->substr(0, text->find('\n')), &epoch)) {
    return absl::UnavailableError(absl::StrCat(Path(kFence), " has no number"));
  }
  if (epoch == self_.epoch) return absl::OkStatus();
  // One that lost against this daemon wrote its number late.
  if (epoch < self_.epoch) {
    const absl::Status raised = Raise();
    return raised.ok() ? raised : absl::UnavailableError(raised.message());
  }
  const absl::StatusOr<Owner> newest = Newest(options_.folder, *options_.disk);
  return absl::FailedPreconditionError(absl::StrCat("the journal in ", options_.folder, " was taken over by ",
                                                    newest.ok() ? newest->Text() : "another daemon"));
}

void Fence::Beat() const {
  if (lock_) futimens(lock_.get(), nullptr);
}

absl::Status Fence::End() {
  if (absl::Status mine = Check(); !mine.ok()) return mine;
  self_.ended = true;
  return options_.disk->Overwrite(Path(RecordName(self_.epoch)), BytesOf(ToText(self_)));
}

}  // namespace hotplate::journal
