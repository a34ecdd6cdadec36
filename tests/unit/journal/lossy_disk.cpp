#include "tests/unit/journal/lossy_disk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "tests/unit/journal/lossy_vfs.h"

namespace hotplate::journal {
namespace {

namespace fs = std::filesystem;
using Lock = std::lock_guard<std::recursive_mutex>;

std::string FolderOf(const std::string& path) { return path.substr(0, path.rfind('/')); }

bool IsThere(const std::string& path) {
  struct stat facts {};
  return lstat(path.c_str(), &facts) == 0;
}

std::int64_t SizeOf(int file) {
  struct stat facts {};
  return fstat(file, &facts) == 0 ? static_cast<std::int64_t>(facts.st_size) : 0;
}

absl::Status Refusal(const std::string& path, int error) { return DiskError("the test's disk: " + path, error); }

}  // namespace

LossyDisk& LossyDisk::Get() {
  static LossyDisk* const disk = new LossyDisk;  // threads of a process that ends may still be at it
  return *disk;
}

LossyDisk::LossyDisk() { RegisterLossyVfs(); }

void LossyDisk::Reset(const std::string& stash) {
  const Lock lock(mutex_);
  files_.clear();
  names_.clear();
  stash_ = stash;
  operations_ = cut_at_ = 0;
  error_ = sync_error_ = 0;
  fail_only_.clear();
  fs::create_directories(stash);
}

void LossyDisk::CutAt(std::uint64_t operation, Loss loss, std::uint64_t seed) {
  const Lock lock(mutex_);
  cut_at_ = operations_ + operation, loss_ = loss, seed_ = seed;
}

void LossyDisk::CutNow(Loss loss, std::uint64_t seed) {
  mutex_.lock();
  if (loss == Loss::kPower) LosePower(seed);
  _exit(kCutExit);
}

std::uint64_t LossyDisk::operations() {
  const Lock lock(mutex_);
  return operations_;
}

void LossyDisk::Fail(int error) {
  const Lock lock(mutex_);
  error_ = error;
}

void LossyDisk::FailSyncs(int error) {
  const Lock lock(mutex_);
  sync_error_ = error;
}

void LossyDisk::FailOnly(const std::string& part) {
  const Lock lock(mutex_);
  fail_only_ = part;
}

int LossyDisk::Operation(const std::string& path) {
  if (++operations_ == cut_at_) CutNow(loss_, seed_);
  return path.find(fail_only_) != std::string::npos ? error_ : 0;
}

std::shared_ptr<LossyDisk::File> LossyDisk::Track(const std::string& path) {
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) return nullptr;
  std::shared_ptr<File>& file = files_[{facts.st_dev, facts.st_ino}];
  if (file == nullptr) {
    file = std::make_shared<File>();
    file->descriptor.Take(open(path.c_str(), O_RDWR | O_CLOEXEC));
    file->synced_size = facts.st_size;
  }
  return file;
}

void LossyDisk::NoteMade(const std::string& path) { names_.push_back({NameUndo::Kind::kMade, path, "", ""}); }

void LossyDisk::NoteWrite(File& file, std::int64_t offset, std::int64_t bytes) {
  File::Undo undo{.offset = offset, .old = std::string(static_cast<std::size_t>(bytes), '\0'), .bytes = bytes};
  const ssize_t have = pread(file.descriptor.get(), undo.old.data(), undo.old.size(), offset);
  undo.old.resize(static_cast<std::size_t>(std::max<ssize_t>(have, 0)));
  std::erase_if(file.doomed, [&](const File::Undo& doomed) {
    return doomed.offset >= offset && doomed.offset + doomed.bytes <= offset + bytes;
  });
  file.undo.push_back(std::move(undo));
}

void LossyDisk::NoteTruncate(File& file, std::int64_t size) {
  const std::int64_t now = SizeOf(file.descriptor.get());
  if (size < now) NoteWrite(file, size, now - size);
}

int LossyDisk::NoteSync(File& file) {
  if (sync_error_ != 0) {
    file.doomed.insert(file.doomed.end(), file.undo.begin(), file.undo.end());
    file.undo.clear();
    return sync_error_;
  }
  file.undo.clear();
  file.synced_size = SizeOf(file.descriptor.get());
  return 0;
}

void LossyDisk::NoteNameSync(const std::string& path) {
  std::erase_if(names_, [&](const NameUndo& undo) { return undo.path == path || undo.from == path; });
}

std::string LossyDisk::Stash(const std::string& path) {
  std::string stashed = absl::StrCat(stash_, "/", ++stashed_);
  return link(path.c_str(), stashed.c_str()) == 0 ? stashed : "";
}

void LossyDisk::LosePower(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  // All goes, nothing does, or some.
  const int lost_percent = seed % 3 == 0 ? 100 : static_cast<int>(random() % 101);
  for (auto& [id, file] : files_) {
    const int descriptor = file->descriptor.get();
    std::int64_t size = file->synced_size;
    for (auto undo = file->undo.rbegin(); undo != file->undo.rend(); ++undo) {
      if (static_cast<int>(random() % 100) >= lost_percent) {
        size = std::max(size, undo->offset + undo->bytes);
        continue;
      }
      std::string old = undo->old;
      old.resize(static_cast<std::size_t>(undo->bytes), '\0');
      if (pwrite(descriptor, old.data(), old.size(), undo->offset) < 0) _exit(1);
    }
    for (auto doomed = file->doomed.rbegin(); doomed != file->doomed.rend(); ++doomed) {
      std::string old = doomed->old;
      old.resize(static_cast<std::size_t>(doomed->bytes), '\0');
      if (pwrite(descriptor, old.data(), old.size(), doomed->offset) < 0) _exit(1);
    }
    if (!file->undo.empty() && ftruncate(descriptor, std::min(size, SizeOf(descriptor))) != 0) _exit(1);
  }
  std::size_t kept = seed % 3 == 0 ? 0 : random() % (names_.size() + 1);
  for (; names_.size() > kept; names_.pop_back()) {
    const NameUndo& undo = names_.back();
    std::error_code ignored;
    switch (undo.kind) {
      case NameUndo::Kind::kMade:
        fs::remove(undo.path, ignored);
        break;
      case NameUndo::Kind::kMadeFolder:
        fs::remove_all(undo.path, ignored);
        break;
      case NameUndo::Kind::kRenamed:
        fs::rename(undo.path, undo.from, ignored);
        [[fallthrough]];
      case NameUndo::Kind::kRemoved:
        if (!undo.stashed.empty()) fs::rename(undo.stashed, undo.path, ignored);
        break;
    }
  }
}

absl::Status LossyDisk::Put(const std::string& path, std::string_view content, bool sync) {
  if (const int error = Operation(path)) return Refusal(path, error);
  const bool is_new = !IsThere(path);
  {
    const Descriptor made(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    if (!made) return DiskError("making " + path, errno);
  }
  const std::shared_ptr<File> file = Track(path);
  if (is_new) NoteMade(path), file->synced_size = 0;
  const auto put = [&](std::size_t from, std::size_t to) {
    NoteWrite(*file, static_cast<std::int64_t>(from), static_cast<std::int64_t>(to - from));
    return pwrite(file->descriptor.get(), content.data() + from, to - from, static_cast<off_t>(from)) >= 0;
  };
  const std::size_t half = content.size() / 2;
  int error = Operation(path);
  bool good = error == 0 && put(0, half);
  if (good) error = Operation(path), good = error == 0 && put(half, content.size());
  if (good && sync) error = Operation(path), good = error == 0;
  if (!good) {
    if (is_new) RemoveLocked(path).IgnoreError();
    return Refusal(path, error != 0 ? error : EIO);
  }
  if (sync) error = NoteSync(*file);
  return error == 0 ? absl::OkStatus() : Refusal(path, error);
}

absl::Status LossyDisk::Write(const std::string& path, std::span<const Bytes> pieces, Sync sync) {
  std::string content;
  for (const Bytes piece : pieces) content.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  const Lock lock(mutex_);
  if (IsThere(path)) return DiskError("making " + path, EEXIST);
  return Put(path, content, sync == Sync::kNow);
}

absl::Status LossyDisk::Overwrite(const std::string& path, Bytes bytes) {
  const Lock lock(mutex_);
  return Put(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, true);
}

absl::Status LossyDisk::Copy(const std::string& from, const std::string& to) {
  const Lock lock(mutex_);
  const absl::StatusOr<std::string> content = Read(from, std::size_t{1} << 30);
  if (!content.ok()) return content.status();
  if (IsThere(to)) return DiskError("making " + to, EEXIST);
  return Put(to, *content, true);
}

absl::Status LossyDisk::Rename(const std::string& from, const std::string& to) {
  const Lock lock(mutex_);
  if (const int error = Operation(to)) return Refusal(to, error);
  const std::string stashed = IsThere(to) ? Stash(to) : "";
  if (absl::Status renamed = Disk::Rename(from, to); !renamed.ok()) return renamed;
  names_.push_back({NameUndo::Kind::kRenamed, to, from, stashed});
  return absl::OkStatus();
}

absl::Status LossyDisk::Link(const std::string& from, const std::string& to) {
  const Lock lock(mutex_);
  if (const int error = Operation(to)) return Refusal(to, error);
  const bool is_new = !IsThere(to);
  if (absl::Status linked = Disk::Link(from, to); !linked.ok()) return linked;
  if (is_new) NoteMade(to);
  return absl::OkStatus();
}

absl::Status LossyDisk::Remove(const std::string& path) {
  const Lock lock(mutex_);
  if (IsThere(path)) {
    if (const int error = Operation(path)) return Refusal(path, error);
  }
  return RemoveLocked(path);
}

absl::Status LossyDisk::RemoveLocked(const std::string& path) {
  if (!IsThere(path)) return absl::OkStatus();
  const std::string stashed = Stash(path);
  if (absl::Status removed = Disk::Remove(path); !removed.ok()) return removed;
  names_.push_back({NameUndo::Kind::kRemoved, path, "", stashed});
  return absl::OkStatus();
}

absl::Status LossyDisk::MakeFolder(const std::string& path) {
  const Lock lock(mutex_);
  if (IsThere(path)) return Disk::MakeFolder(path);
  if (const int error = Operation(path)) return Refusal(path, error);
  if (absl::Status made = Disk::MakeFolder(path); !made.ok()) return made;
  names_.push_back({NameUndo::Kind::kMadeFolder, path, "", ""});
  return absl::OkStatus();
}

absl::Status LossyDisk::RemoveFolder(const std::string& path) {
  const Lock lock(mutex_);
  if (const int error = Operation(path)) return Refusal(path, error);
  return Disk::RemoveFolder(path);
}

absl::Status LossyDisk::SyncFolder(const std::string& path) {
  const Lock lock(mutex_);
  if (const int error = Operation(path)) return Refusal(path, error);
  std::erase_if(names_, [&](const NameUndo& undo) { return FolderOf(undo.path) == path; });
  return absl::OkStatus();
}

}  // namespace hotplate::journal
