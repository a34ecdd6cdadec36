#include "server/audit_log.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <utility>

#include "kernels/array/quoted.h"
#include "kernels/base/descriptor.h"
#include "kernels/base/status.h"
#include "server/journal/json.h"
#include "server/log.h"
#include "server/service/auth.h"

namespace hotplate::server {
namespace {

// A text from the wire is read no further: it is shortened anyway.
constexpr std::size_t kReadOfText = 4096;

// One visible line of bounded length. A client may have sent a secret in the place of a name.
std::string Harmless(std::string_view text) { return Shortened(WithoutSecrets(Beginning(text, kReadOfText))); }

std::string WithMilliseconds(AuditLog::Time time) {
  const auto rounded = std::chrono::floor<std::chrono::milliseconds>(time);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(rounded);
  const std::time_t stamp = seconds.time_since_epoch().count();
  std::tm utc{};
  gmtime_r(&stamp, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
  return std::string(text) + "." + std::to_string(1000 + (rounded - seconds).count()).substr(1) + "Z";
}

absl::Status FileTrouble(const std::string& file, const std::string& what) {
  const int error = errno;
  const std::string sentence = file + what + ": " + std::strerror(error);
  const bool forbidden = error == EACCES || error == EPERM || error == EROFS;
  return forbidden ? absl::PermissionDeniedError(sentence) : absl::FailedPreconditionError(sentence);
}

absl::StatusOr<Descriptor> OpenOnce(const std::string& file) {
  constexpr int kHow = O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  Descriptor opened(open(file.c_str(), kHow, 0600));
  if (!opened) return FileTrouble(file, " cannot be opened");
  struct stat facts {};
  if (fstat(opened.get(), &facts) != 0) return FileTrouble(file, " cannot be looked at");
  if (!S_ISREG(facts.st_mode)) return absl::FailedPreconditionError(file + " is no regular file");
  if (facts.st_uid != geteuid() || (facts.st_mode & 077) != 0) {
    return absl::PermissionDeniedError(file + " must be yours, and nobody else may read or change it: chmod 600 " +
                                       file);
  }
  return opened;
}

// In a folder that others may write to, they could put another file in the place of this one.
absl::Status CheckFolderOf(const std::string& file) {
  const std::string folder = std::filesystem::absolute(file).parent_path();
  struct stat facts {};
  if (stat(folder.c_str(), &facts) != 0) return FileTrouble(folder, " cannot be looked at");
  if ((facts.st_mode & 022) == 0 || (facts.st_mode & S_ISVTX) != 0) return absl::OkStatus();
  return absl::PermissionDeniedError(folder + " can be written by others, who could replace " + file +
                                     " in it: chmod go-w " + folder);
}

// Opened anew for each write: it may have been moved away meanwhile, even while this waited for its lock. Another
// daemon may have the same file; a file system without locks takes that risk.
absl::StatusOr<Descriptor> OpenToAppend(const std::string& file, std::uint64_t& size) {
  constexpr int kTries = 100;
  for (int attempt = 1;; ++attempt) {
    absl::StatusOr<Descriptor> opened = OpenOnce(file);
    if (!opened.ok()) return opened;
    [[maybe_unused]] const int locked = flock(opened->get(), LOCK_EX);
    struct stat mine {};
    if (fstat(opened->get(), &mine) != 0) return FileTrouble(file, " cannot be looked at");
    struct stat there {};
    const bool same = stat(file.c_str(), &there) == 0 && there.st_ino == mine.st_ino && there.st_dev == mine.st_dev;
    if (!same && attempt < kTries) continue;
    size = static_cast<std::uint64_t>(mine.st_size);
    return opened;
  }
}

// Under the file's lock, to the end. All or nothing, as far as the file system lets it.
absl::Status AppendLines(const std::string& file, std::string text, std::uint64_t limit) {
  std::uint64_t size = 0;
  absl::StatusOr<Descriptor> opened = OpenToAppend(file, size);
  if (opened.ok() && size > 0 && size + text.size() > limit) {
    if (rename(file.c_str(), (file + ".1").c_str()) != 0) return FileTrouble(file, " cannot be renamed");
    opened = OpenToAppend(file, size);
  }
  if (!opened.ok()) return opened.status();
  // A daemon that was killed may have left half a line.
  char last = '\n';
  if (size > 0 && pread(opened->get(), &last, 1, static_cast<off_t>(size) - 1) == 1 && last != '\n')
    text.insert(0, "\n");
  for (std::string_view rest = text; !rest.empty();) {
    const ssize_t count = write(opened->get(), rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      const absl::Status trouble = FileTrouble(file, " cannot be written");
      [[maybe_unused]] const int cut = ftruncate(opened->get(), static_cast<off_t>(size));
      return trouble;
    }
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
  // Over a network this is where a full disk shows.
  return close(opened->Release()) == 0 ? absl::OkStatus() : FileTrouble(file, " cannot be written");
}

}  // namespace

absl::StatusOr<std::unique_ptr<AuditLog>> AuditLog::Open(Options options) {
  if (absl::Status folder = CheckFolderOf(options.file); !folder.ok()) return folder;
  if (absl::Status opened = AppendLines(options.file, "", options.bytes); !opened.ok()) return opened;
  return std::unique_ptr<AuditLog>(new AuditLog(std::move(options)));
}

AuditLog::AuditLog(Options options)
    : options_(std::move(options)), span_(options_.now()), thread_([this] { Work(); }) {}

AuditLog::~AuditLog() {
  {
    MutexLock lock(mutex_);
    closing_ = true;
    more_.NotifyAll();
  }
  thread_.join();
  Write(Sums::kAll);
}

void AuditLog::Note(const Act& act) {
  const std::string line = Line(options_.now(), act, nullptr);
  MutexLock lock(mutex_);
  // The daemon's own are few. Strangers have no name either, but are only counted.
  if (!act.token.empty()) {
    std::uint32_t& lines = lines_of_[std::string(act.token)];
    if (lines >= kLinesOfToken) {
      Act any = act;
      any.object = {};
      return Add(std::move(any));
    }
    ++lines;
  }
  const bool always = act.token.empty() || act.token == kOwnerToken;
  if (!always && pending_.size() + line.size() > options_.pending_bytes) {
    ++lost_;
  } else {
    pending_ += line;
  }
  more_.NotifyOne();
}

void AuditLog::Count(const Act& act) {
  MutexLock lock(mutex_);
  Add(act);
}

AuditLog::Act AuditLog::ActIn(const Sum& sum) {
  return {sum.act, sum.token, sum.peer, sum.object, sum.name, sum.result, sum.certificate};
}

AuditLog::Key AuditLog::KeyOf(const Act& act) {
  return {act.act, act.token, act.peer, act.object, act.name, act.certificate, act.result.code()};
}

bool AuditLog::Increment(const Act& act) {
  const auto sum = sums_.find(KeyOf(act));
  if (sum == sums_.end()) return false;
  ++sum->second->count;
  return true;
}

void AuditLog::Add(Act act) {
  if (Increment(act)) return;
  // A client that sends another's token, or a wrong one, has only its own share.
  std::uint32_t& lines = lines_of_[std::string(act.certificate.empty() ? act.token : act.certificate)];
  if (lines >= kLinesOfToken) {
    act.peer = act.object = act.name = {};
    if (Increment(act)) return;
  }
  if (sums_.size() >= kMostSums && act.token != kOwnerToken) {
    ++lost_;
  } else {
    ++lines;
    const std::string why = Harmless(ToStd(act.result.message()));
    auto sum = std::make_unique<Sum>(Sum{std::string(act.act), std::string(act.token), std::string(act.peer),
                                         std::string(act.object), std::string(act.name), std::string(act.certificate),
                                         absl::Status(act.result.code(), ToAbsl(why)), 1, options_.now()});
    const Key key = KeyOf(ActIn(*sum));
    sums_.emplace(key, std::move(sum));
  }
  more_.NotifyOne();
}

std::chrono::nanoseconds AuditLog::UntilDue(Time now) const {
  // A clock that was put back begins the time anew.
  return now < span_ ? std::chrono::nanoseconds(0) : std::max<std::chrono::nanoseconds>(span_ + kSpan - now, {});
}

void AuditLog::Work() {
  MutexLock lock(mutex_);
  while (!closing_) {
    if (pending_.empty()) {
      const bool later = lost_ > 0 || !sums_.empty() || !lines_of_.empty();
      const auto now = std::chrono::steady_clock::now();
      more_.WaitUntil(mutex_, later ? now + UntilDue(options_.now()) : std::chrono::steady_clock::time_point::max());
    }
    MutexGap gap(mutex_);
    Write(Sums::kWhenDue);
  }
}

void AuditLog::Write(Sums which) {
  MutexLock alone(writing_);
  const Time now = options_.now();
  std::string text;
  AllSums sums;
  std::uint64_t lost = 0;
  {
    MutexLock lock(mutex_);
    text.swap(pending_);
    lost = std::exchange(lost_, 0);
    if (which == Sums::kAll || UntilDue(now).count() == 0) {
      sums.swap(sums_);
      lines_of_.clear();
      span_ = now;
    }
  }
  for (const auto& [key, sum] : sums) {
    text += Line(now, ActIn(*sum), sum.get());
  }
  const auto lines = static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
  if (lost > 0) {
    journal::JsonObject line;
    line.Text("time", WithMilliseconds(now)).Text("generation", options_.generation).Text("act", "lost");
    text.insert(0, line.Number("count", lost).Str() + "\n");
  }
  if (text.empty()) return;
  const absl::Status written = AppendLines(options_.file, std::move(text), options_.bytes);
  const bool failed_before = std::exchange(failing_, !written.ok());
  if (!written.ok()) {  // counted before anybody else writes, who is to tell
    MutexLock lock(mutex_);
    lost_ += lost + lines;
  }
  alone.Unlock();
  if (!written.ok() && !failed_before)
    options_.warn("the audit log loses lines, and counts them: " + std::string(written.message()));
}

std::string AuditLog::Line(Time time, const Act& act, const Sum* sum) const {
  journal::JsonObject line;
  line.Text("time", WithMilliseconds(time)).Text("generation", options_.generation);
  line.Text("token", act.token).Text("peer", act.peer);
  if (!act.certificate.empty()) line.Text("certificate", act.certificate);
  line.Text("act", act.act).Text("object", Harmless(act.object));
  if (!act.name.empty()) line.Text("name", Harmless(act.name));
  if (sum != nullptr) line.Number("count", sum->count).Text("since", WithMilliseconds(sum->since));
  line.Text("result", absl::StatusCodeToString(act.result.code()));
  if (!act.result.ok()) line.Text("why", Harmless(ToStd(act.result.message())));
  return line.Str() + "\n";
}

}  // namespace hotplate::server
