#include "server/journal/spool.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "kernels/array/npy.h"
#include "kernels/base/descriptor.h"
#include "kernels/base/quantity.h"
#include "server/journal/manifest.h"
#include "server/journal/spool_mark.h"

namespace hotplate::journal {
namespace {

constexpr char kInputs[] = "inputs.json";
constexpr char kResults[] = "results.json";

std::uint64_t FileBytes(const SpoolItem& item) {
  return item.bytes.size() + (item.signature ? NpyHeaderFor(*item.signature).size() : 0);
}

// Bytes of the files that belong to the job alone.
std::uint64_t OwnBytes(std::span<const SpoolItem> items) {
  std::uint64_t total = 0;
  for (const SpoolItem& item : items) total += item.shared ? 0 : FileBytes(item);
  return total;
}

bool IsResult(const std::string& name) {
  return name.starts_with("result-") || name == kResults || name == "receipt.json";
}

}  // namespace

std::string FileNameOf(FileRole role, const SpoolItem& item) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string file = role == FileRole::kInput ? "input-" : "result-";
  for (const char letter : item.name) {
    const bool plain = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                       (letter >= '0' && letter <= '9') || letter == '_' || letter == '-';
    const auto byte = static_cast<unsigned char>(letter);
    plain ? file += letter : file += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return file + (item.signature ? ".npy" : item.text ? ".txt" : ".bin");
}

absl::Status CheckFile(const std::string& path, const SpooledFile& file) {
  const Descriptor open_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!open_) return DiskError(absl::StrCat("opening ", path), errno);
  std::vector<std::byte> piece(std::size_t{1} << 20);
  Sha256Stream digest;
  std::uint64_t bytes = 0;
  while (true) {
    const ssize_t count = read(open_.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return DiskError(absl::StrCat("reading ", path), errno);
    if (count == 0) break;
    bytes += static_cast<std::uint64_t>(count);
    digest.Add(std::span(piece).first(static_cast<std::size_t>(count)));
  }
  if (bytes != file.bytes) {
    return absl::DataLossError(
        absl::StrCat(path, " has ", bytes, " bytes, and had ", file.bytes, " when it was written"));
  }
  const Sha256 sha = digest.Finish();
  if (sha == file.sha256) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(path, " has changed since it was written: its SHA-256 is ", sha.Hex(), ", not ", file.sha256.Hex()));
}

absl::StatusOr<std::unique_ptr<Spool>> Spool::Open(SpoolOptions options) {
  std::unique_ptr<Spool> spool(new Spool(std::move(options)));
  if (absl::Status ready = spool->Prepare(); !ready.ok()) return ready;
  return spool;
}

absl::Status Spool::Prepare() {
  Disk& disk = *options_.disk;
  const std::string& root = options_.root;
  if (absl::Status made = MakeLastingFolder(disk, root); !made.ok()) return made;
  const SpoolMark mark{.id = options_.journal_id, .folder = "", .root = ""};
  absl::StatusOr<SpoolMark> there = ReadMark(disk, root);
  if (absl::IsNotFound(there.status())) {
    const absl::StatusOr<std::vector<std::string>> names = disk.List(root);
    if (!names.ok()) return names.status();
    for (const std::string& name : *names) {
      if (!name.starts_with(kSpoolMark)) {
        return absl::FailedPreconditionError(
            absl::StrCat(root, " has other files in it (", name, "), and is no spool"));
      }
    }
    if (absl::Status made = WriteMark(disk, root, mark); !made.ok()) return made;
    there = mark;
  }
  if (!there.ok()) return there.status();
  if (there->id != options_.journal_id) {
    return absl::FailedPreconditionError(absl::StrCat(root, " is the spool of another journal"));
  }
  for (const char* const folder : {"/jobs", "/shared", "/linked"}) {
    if (absl::Status made = disk.MakeFolder(root + folder); !made.ok()) return made;
  }
  return disk.SyncFolder(root);
}

absl::Status Spool::Claim(const std::string& folder, bool replace) {
  const std::string& root = options_.root;
  const absl::Status claimed = [&]() -> absl::Status {
    const absl::StatusOr<SpoolMark> mark = ReadMark(*options_.disk, root);
    if (!mark.ok()) return mark.status();
    const bool mine = AreOneFolder(mark->folder, folder), here = AreOneFolder(mark->root, root);
    if (mine && (here || !replace)) return absl::OkStatus();
    const bool gone = IsGone(mark->folder), copied = !here && IsFolder(mark->root);
    if (!mine && !(replace && (gone || copied))) return OwnedBy(*mark, root, folder);
    absl::Status written = WriteMark(*options_.disk, root,
                                     {.id = options_.journal_id, .folder = RealPath(folder), .root = RealPath(root)});
    if (written.ok()) written = options_.disk->SyncFolder(root);
    return mine ? absl::OkStatus() : written;  // a full disk does not take it away
  }();
  MutexLock lock(mutex_);
  health_ = claimed;
  return claimed;
}

absl::Status Spool::health() const {
  MutexLock lock(mutex_);
  return health_;
}

std::string Spool::JobFolder(std::uint64_t number) const { return absl::StrCat(options_.root, "/jobs/", number); }

std::uint64_t Spool::used_bytes() const {
  MutexLock lock(mutex_);
  return used_;
}

absl::Status Spool::Reserve(std::uint64_t bytes) {
  const SpoolLimits& limits = options_.limits;
  const std::optional<std::uint64_t> free = options_.disk->FreeSpace(options_.root);
  if (free && *free < bytes + limits.free_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("only ", BytesText(*free), " are free in ", options_.root, " for ",
                                                     BytesText(bytes), ", and ", BytesText(limits.free_bytes),
                                                     " stay free"));
  }
  MutexLock lock(mutex_);
  if (limits.bytes != 0 && used_ + bytes > limits.bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("the spool ", options_.root, " may have ", BytesText(limits.bytes),
                                                     ", and has ", BytesText(used_),
                                                     "; fetch results that wait there"));
  }
  used_ += bytes;
  return absl::OkStatus();
}

void Spool::GiveBack(std::uint64_t bytes) {
  MutexLock lock(mutex_);
  used_ -= std::min(used_, bytes);
}

absl::Status Spool::Clear(const std::string& folder, const std::function<bool(const std::string&)>& which) {
  const absl::StatusOr<std::vector<std::string>> names = options_.disk->List(folder);
  if (absl::IsNotFound(names.status())) return absl::OkStatus();
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    if (!which(name)) continue;
    if (absl::Status removed = options_.disk->Remove(absl::StrCat(folder, "/", name)); !removed.ok()) return removed;
  }
  return absl::OkStatus();
}

absl::Status Spool::WriteTexts(const std::string& folder, std::span<const SpoolText> texts, Disk::Sync sync) {
  for (const SpoolText& text : texts) {
    const std::array<Disk::Bytes, 1> pieces = {BytesOf(text.text)};
    absl::Status written = options_.disk->Write(absl::StrCat(folder, "/", text.file), pieces, sync);
    if (!written.ok()) return written;
  }
  return absl::OkStatus();
}

namespace {

// A file's pieces: the header of an .npy file, and the elements.
struct Content {
  explicit Content(const SpoolItem& item)
      : header(item.signature ? NpyHeaderFor(*item.signature) : ""), pieces{BytesOf(header), item.bytes} {}
  Content(const Content&) = delete;
  Content& operator=(const Content&) = delete;

  SpooledFile Describe(FileRole role, const SpoolItem& item) const {
    Sha256Stream digest;
    for (const Disk::Bytes piece : pieces) digest.Add(piece);
    SpooledFile file;
    file.role = role;
    file.name = item.name;
    file.sha256 = digest.Finish();
    file.bytes = pieces[0].size() + pieces[1].size();
    file.signature = item.signature;
    return file;
  }

  const std::string header;
  const std::array<Disk::Bytes, 2> pieces;
};

}  // namespace

absl::Status Spool::StoreOne(std::uint64_t number, std::span<const Disk::Bytes> pieces, const SpoolItem& item,
                             SpooledFile& file, Disk::Sync sync) {
  file.file = absl::StrCat("jobs/", number, "/", FileNameOf(file.role, item));
  file.synced = sync == Disk::Sync::kNow;
  return options_.disk->Write(PathOf(file), pieces, sync);
}

absl::StatusOr<Spool::Stored> Spool::StoreInputs(std::uint64_t number, std::span<const SpoolItem> items,
                                                 std::span<const SpoolText> texts, const Admit& admit) {
  if (absl::Status mine = health(); !mine.ok()) return mine;
  Disk& disk = *options_.disk;
  std::deque<Content> contents;  // which do not move
  std::vector<SpooledFile> files;
  for (const SpoolItem& item : items) {
    files.push_back(contents.emplace_back(item).Describe(FileRole::kInput, item));
    files.back().shared = item.shared;
  }
  if (absl::Status admitted = admit ? admit(files) : absl::OkStatus(); !admitted.ok()) return admitted;
  const std::uint64_t bytes = OwnBytes(items);
  if (absl::Status room = Reserve(bytes); !room.ok()) return room;
  Stored stored(*this, number);
  stored.bytes_ = bytes;
  const std::string folder = JobFolder(number);
  absl::Status done = disk.MakeFolder(folder);
  // Of a daemon that died before the index knew of the job.
  if (done.ok()) done = Clear(folder, [](const std::string&) { return true; });
  if (!done.ok()) return done;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const SpoolItem& item = items[i];
    SpooledFile& file = files[i];
    done = item.shared ? StoreShared(contents[i].pieces, item.file, file, stored)
                       : StoreOne(number, contents[i].pieces, item, file, Disk::Sync::kNow);
    if (!done.ok()) return done;
    // For people alone.
    if (item.shared)
      disk.Link(PathOf(file), absl::StrCat(folder, "/", FileNameOf(FileRole::kInput, item))).IgnoreError();
    stored.files_.push_back(std::move(file));
  }
  done = WriteTexts(folder, texts, Disk::Sync::kNow);
  const std::array<SpoolText, 1> manifest = {{{kInputs, ManifestOf(number, stored.files_)}}};
  if (done.ok()) done = WriteTexts(folder, manifest, Disk::Sync::kNow);
  if (done.ok()) done = disk.SyncFolder(folder);
  if (done.ok()) done = disk.SyncFolder(options_.root + "/jobs");
  if (!done.ok()) return done;
  return stored;
}

absl::StatusOr<std::vector<SpooledFile>> Spool::StoreResults(std::uint64_t number, std::span<const SpoolItem> items,
                                                             std::span<const SpoolText> texts, Disk::Sync sync) {
  if (absl::Status mine = health(); !mine.ok()) return mine;
  Disk& disk = *options_.disk;
  const std::uint64_t bytes = OwnBytes(items);
  // The job has been promised its result: of the limits only the disk's own counts.
  {
    MutexLock lock(mutex_);
    used_ += bytes;
  }
  std::vector<SpooledFile> files;
  const auto store = [&]() -> absl::Status {
    const std::string folder = JobFolder(number);
    absl::Status done = disk.MakeFolder(folder);
    if (done.ok()) done = Clear(folder, IsResult);
    if (!done.ok()) return done;
    for (const SpoolItem& item : items) {
      const Content content(item);
      SpooledFile& file = files.emplace_back(content.Describe(FileRole::kResult, item));
      done = StoreOne(number, content.pieces, item, file, sync);
      if (!done.ok()) return done;
    }
    done = WriteTexts(folder, texts, sync);
    const std::array<SpoolText, 1> manifest = {{{kResults, ManifestOf(number, files)}}};
    if (done.ok()) done = WriteTexts(folder, manifest, sync);
    if (done.ok() && sync == Disk::Sync::kNow) done = disk.SyncFolder(folder);
    if (done.ok() && sync == Disk::Sync::kNow) done = disk.SyncFolder(options_.root + "/jobs");
    return done;
  };
  if (absl::Status stored = store(); !stored.ok()) {
    Clear(JobFolder(number), IsResult).IgnoreError();
    GiveBack(bytes);
    return stored;
  }
  return files;
}

absl::Status Spool::MakeFolder(std::uint64_t number) {
  if (absl::Status mine = health(); !mine.ok()) return mine;
  absl::Status made = options_.disk->MakeFolder(JobFolder(number));
  return made.ok() ? options_.disk->SyncFolder(options_.root + "/jobs") : made;
}

absl::Status Spool::SyncFolder(std::uint64_t number) { return options_.disk->SyncFolder(JobFolder(number)); }

absl::Status Spool::RemoveFile(std::uint64_t number, const std::string& file) {
  if (absl::Status mine = health(); !mine.ok()) return mine;
  return options_.disk->Remove(absl::StrCat(JobFolder(number), "/", file));
}

absl::Status Spool::Remove(std::uint64_t number, std::uint64_t bytes) {
  if (absl::Status mine = health(); !mine.ok()) return mine;
  const std::string folder = JobFolder(number);
  absl::Status removed = Clear(folder, [](const std::string&) { return true; });
  if (removed.ok()) removed = options_.disk->RemoveFolder(folder);
  if (removed.ok()) GiveBack(bytes);
  return removed;
}

absl::StatusOr<Spool::Swept> Spool::Sweep(const std::function<bool(std::uint64_t)>& is_known,
                                          const std::function<bool(const Sha256&)>& is_shared) {
  if (absl::Status mine = health(); !mine.ok()) return mine;
  Swept swept;
  const absl::StatusOr<std::vector<std::string>> folders = options_.disk->List(options_.root + "/jobs");
  if (!folders.ok()) return folders.status();
  for (const std::string& name : *folders) {
    std::uint64_t number = 0;
    if (!absl::SimpleAtoi(name, &number) || is_known(number)) continue;
    if (absl::Status removed = Remove(number, 0); !removed.ok()) return removed;
    ++swept.folders;
  }
  for (const char* const folder : kSharedFolders) {
    const std::string path = absl::StrCat(options_.root, "/", folder, "/");
    const absl::StatusOr<std::vector<std::string>> files = options_.disk->List(path);
    if (!files.ok()) return files.status();
    for (const std::string& name : *files) {
      const std::optional<Sha256> sha = Sha256::FromHex(name.substr(0, name.find('.')));
      const bool unfinished = name.starts_with('.') && name.ends_with(".new");
      if (!unfinished && (!sha || is_shared(*sha))) continue;
      if (absl::Status removed = options_.disk->Remove(path + name); !removed.ok()) return removed;
      ++swept.shared;
    }
  }
  return swept;
}

Spool::Stored::Stored(Stored&& other) noexcept
    : spool_(other.spool_),
      number_(std::exchange(other.number_, 0)),
      files_(std::move(other.files_)),
      pins_(std::exchange(other.pins_, {})),
      bytes_(other.bytes_) {}

Spool::Stored::~Stored() {
  if (number_ != 0) spool_->Remove(number_, bytes_).IgnoreError();
  spool_->Unpin(pins_);
}

}  // namespace hotplate::journal
