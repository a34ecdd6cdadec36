#include "server/saved/saved_arrays.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "kernels/array/npy.h"
#include "kernels/base/free_space.h"
#include "kernels/base/quantity.h"
#include "server/config.h"
#include "server/service/auth.h"

namespace hotplate::server {
namespace {

// Between two looks at the clock.
constexpr std::size_t kPiece = std::size_t{4} << 20;
// Unwritten data that the kernel may hold of a file: the rest is waited for at the end, even past the deadline.
constexpr std::size_t kUnwritten = std::size_t{64} << 20;

}  // namespace

bool SavedArrays::Has(const core::ArrayId& id) const {
  return std::any_of(all.begin(), all.end(), [&](const One& one) { return one.id == id && !one.file.empty(); });
}

std::string SavedArrays::WhyNot(const core::ArrayId& id) const {
  const auto at = std::find_if(all.begin(), all.end(), [&id](const One& one) { return one.id == id; });
  return at == all.end() ? "" : at->why_not;
}

void ArraySaver::LookAtRoom() {
  std::filesystem::path folder = options_.folder;
  std::error_code error;
  // It is made when something is saved.
  while (!std::filesystem::exists(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
  const std::optional<std::uint64_t> free_bytes = FreeSpace(folder.string());
  const bool half = options_.bounds.bytes == kHalfOfTheRoom;
  room_ = free_bytes ? (half ? *free_bytes / 2 : *free_bytes) : kUnknown;
}

std::optional<std::uint64_t> ArraySaver::room() const {
  const std::uint64_t room = room_;
  return room == kUnknown ? std::nullopt : std::optional(room);
}

ArraySaver::~ArraySaver() {
  if (!thread_.joinable()) return;
  Shorten(core::SteadyTime());
  Finish();
}

void ArraySaver::Start(core::SteadyTime until) {
  started_ = true;
  until_ = until.time_since_epoch().count();
  thread_ = std::thread([this] { Run(); });
}

void ArraySaver::Shorten(core::SteadyTime until) {
  until_ = std::min<std::int64_t>(until_, until.time_since_epoch().count());
}

SavedArrays ArraySaver::Finish() {
  {
    MutexLock lock(mutex_);
    finish_ = true;
  }
  finish_called_.NotifyAll();
  if (thread_.joinable()) thread_.join();
  return std::move(saved_);
}

void ArraySaver::Run() {
  SaveNew();
  {
    MutexLock lock(mutex_);
    while (!finish_) finish_called_.Wait(mutex_);
  }
  SaveNew();
}

std::string ArraySaver::DropOld() {
  const auto dropped = [this](const std::string& file, const std::string& why) {
    if (options_.dropped) options_.dropped(file, why);
  };
  const std::string root = std::filesystem::path(options_.folder).parent_path().string();
  return DropOldSaved(root, options_.bounds, files_, dropped, [this] { return TimeIsOver(); });
}

bool ArraySaver::TimeIsOver() const {
  return std::chrono::steady_clock::now().time_since_epoch().count() >= until_.load();
}

void ArraySaver::SaveNew() {
  std::vector<core::ArraySnapshot> arrays = arrays_.List(core::Everybody());
  std::erase_if(arrays, [this](const core::ArraySnapshot& array) {
    return !array.lease_end || array.state != core::ArrayState::kReady || !seen_.insert(array.id.value()).second;
  });
  std::stable_sort(arrays.begin(), arrays.end(),
                   [](const core::ArraySnapshot& a, const core::ArraySnapshot& b) { return a.bytes < b.bytes; });
  {
    MutexLock lock(plan_mutex_);
    for (const core::ArraySnapshot& array : arrays) plan_.push_back(array.label());
  }
  for (const core::ArraySnapshot& array : arrays) Save(array);
}

// A disk or quota known to be too full need not be filled first. Unreported limits are noticed when they are hit.
std::string ArraySaver::LookForRoom(std::uint64_t bytes) const {
  const std::string& folder = options_.folder;
  if (options_.bounds.bytes == kHalfOfTheRoom && free_at_first_) {
    const std::uint64_t most = *free_at_first_ / 2;
    if (saved_bytes_ > most || bytes > most - saved_bytes_) {
      return "it has " + BytesText(bytes) + "; saved arrays take at most half of the " + BytesText(*free_at_first_) +
             " that were free in " + folder + ", and " + BytesText(saved_bytes_) +
             " are taken (--scratch names another place, --saved-bytes 0 lifts the bound)";
    }
  }
  const std::optional<std::uint64_t> free_bytes = FreeSpace(folder);
  if (!free_bytes || bytes <= *free_bytes) return "";
  return "it has " + BytesText(bytes) + ", and " + folder + " has " + BytesText(*free_bytes) + " free" +
         kAnotherScratch;
}

std::vector<std::string> ArraySaver::Abandon() {
  if (!plan_mutex_.TryLock()) return {};
  if (!temporary_.empty()) unlink(temporary_.c_str());
  std::vector<std::string> names = plan_;
  plan_mutex_.Unlock();
  return names;
}

void ArraySaver::SetTemporary(const std::string& file) {
  MutexLock lock(plan_mutex_);
  temporary_ = file;
}

void ArraySaver::Save(const core::ArraySnapshot& array) {
  SavedArrays::One one{array.id, array.label(), array.bytes, "", ""};
  const std::string there = options_.file_of ? options_.file_of(array.id) : "";
  if (!there.empty() && access(there.c_str(), F_OK) == 0) {
    one.file = there;
    files_.insert(there);
    return Settle(std::move(one));
  }
  const std::string file = FileFor(array);
  one.why_not = TimeIsOver() ? "there was no time left" : MakeSavedFolder(options_.folder);
  if (one.why_not.empty() && saved_.all.empty()) RemoveAbandoned(options_.folder, [this] { return TimeIsOver(); });
  if (one.why_not.empty() && saved_bytes_ == 0) free_at_first_ = FreeSpace(options_.folder);
  if (one.why_not.empty()) one.why_not = LookForRoom(array.bytes);
  if (one.why_not.empty()) {
    one.why_not = Write(
        array, file, [this] { return TimeIsOver(); }, [this](const std::string& partial) { SetTemporary(partial); });
  }
  if (one.why_not.empty()) {
    saved_bytes_ += array.bytes;
    one.file = file;
    files_.insert(file);
  }
  Settle(std::move(one));
}

void ArraySaver::Settle(SavedArrays::One one) {
  {
    MutexLock lock(plan_mutex_);
    temporary_.clear();
    plan_.erase(plan_.begin());
  }
  if (options_.log) options_.log(one);
  saved_.all.push_back(std::move(one));
}

std::string ArraySaver::StemOf(const core::ArraySnapshot& array) const {
  const std::string stem = options_.folder + "/" + array.label(), &token = array.owner.token;
  if (token == kOwnerToken) return stem;
  return stem + (array.name.empty() ? "" : "." + array.id.value()) + "@" + token;
}

std::string ArraySaver::FileFor(const core::ArraySnapshot& array) {
  const std::string stem = StemOf(array);
  std::string file = stem + ".npy";
  std::error_code error;
  const bool taken = array.name.empty() ? std::filesystem::exists(file, error) : files_.contains(file);
  // One of a name may have been saved before another replaced it.
  if (taken) file = stem + "." + (array.name.empty() ? options_.generation : array.id.value()) + ".npy";
  return file;
}

absl::StatusOr<std::string> ArraySaver::SaveNow(const core::ArraySnapshot& array) const {
  if (const std::optional<std::uint64_t> most = room(); most && array.bytes > *most) {
    return absl::ResourceExhaustedError("array " + array.label() + " has " + BytesText(array.bytes) + ", and " +
                                        options_.folder + " has room for " + BytesText(*most) + kAnotherScratch);
  }
  std::string file = StemOf(array) + ".npy";
  std::string why_not = MakeSavedFolder(options_.folder);
  if (why_not.empty()) {
    why_not = Write(
        array, file, [] { return false; }, [](const std::string&) {});
  }
  if (!why_not.empty()) return absl::FailedPreconditionError("array " + array.label() + " cannot be saved: " + why_not);
  return file;
}

std::string ArraySaver::Write(const core::ArraySnapshot& array, const std::string& file,
                              const std::function<bool()>& stop,
                              const std::function<void(const std::string&)>& begun) const {
  const absl::StatusOr<core::ArrayStore::Reader> reader = arrays_.Open(core::Everybody(), array.id.value());
  if (!reader.ok()) return std::string(reader.status().message());
  if (const absl::Status status = arrays_.Fetch(reader->buffer); !status.ok()) return std::string(status.message());
  std::variant<AtomicFile, NpyError> opened = AtomicFile::Create(file);
  // Another daemon, which found the folder empty, may have removed it.
  if (const auto* error = std::get_if<NpyError>(&opened); error != nullptr && error->system_error == ENOENT) {
    if (std::string why_not = MakeSavedFolder(options_.folder); !why_not.empty()) return why_not;
    opened = AtomicFile::Create(file);
  }
  if (const auto* error = std::get_if<NpyError>(&opened)) return file + ": " + error->message;
  AtomicFile& output = std::get<AtomicFile>(opened);
  begun(output.temporary());

  const std::string header = NpyHeaderFor(array.signature);
  std::optional<NpyError> error = output.Write(std::as_bytes(std::span(header)));
  std::span<const std::byte> rest = reader->buffer->bytes();
  std::size_t unwritten = 0;
  while (!error && !rest.empty()) {
    if (stop()) return "the time was over before it was written";
    const std::span<const std::byte> piece = rest.first(std::min(rest.size(), kPiece));
    error = output.Write(piece);
    rest = rest.subspan(piece.size());
    unwritten += piece.size();
    if (!error && unwritten >= kUnwritten) {
      error = output.Sync();
      unwritten = 0;
    }
  }
  if (!error) error = output.Commit();
  return error ? file + ": " + error->message : "";
}

}  // namespace hotplate::server
