#include "server/saved_arrays.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "kernels/array/npy.h"
#include "server/quantity.h"

namespace hotplate::server {
namespace {

// Between two looks at the clock.
constexpr std::size_t kPiece = std::size_t{4} << 20;
// What the kernel may hold of a file: what it still has at the end is waited for, whatever the clock says then.
constexpr std::size_t kUnwritten = std::size_t{64} << 20;
// Nobody writes to a partial file any more that has not changed for so long.
constexpr std::chrono::hours kAbandoned{1};

std::string NameOf(const core::ArraySnapshot& array) { return array.name.empty() ? array.id.value() : array.name; }

constexpr char kElsewhere[] = " (--scratch names another place)";

// With those above it that are missing, for the user alone. Empty, or why not.
std::string MakeFolders(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return "";
  const std::string parent = std::filesystem::path(path).parent_path().string();
  if (!parent.empty() && parent != path) {
    if (std::string why = MakeFolders(parent); !why.empty()) return why;
  }
  if (mkdir(path.c_str(), 0700) == 0) return "";
  const int why = errno;
  // Another daemon may have made it at the same moment.
  if (why == EEXIST && std::filesystem::is_directory(path, error)) return "";
  return "the folder " + path + " cannot be made: " + std::strerror(why) + kElsewhere;
}

// Partial files of daemons that were killed.
void RemoveAbandoned(const std::string& folder) {
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with('.') || !name.ends_with(".part") || name.find(".npy.") == std::string::npos) continue;
    std::error_code gone;
    const auto changed = std::filesystem::last_write_time(at->path(), gone);
    if (gone || std::filesystem::file_time_type::clock::now() - changed < kAbandoned) continue;
    std::filesystem::remove(at->path(), gone);
  }
}

// A folder that is there, and that nobody else writes to: who could, could have the data written elsewhere.
std::string MakeOwnFolder(const std::string& path) {
  if (std::string why = MakeFolders(path); !why.empty()) return why;
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) return "the folder " + path + ": " + std::strerror(errno) + kElsewhere;
  if (facts.st_uid == geteuid() && (facts.st_mode & 022) == 0) return "";
  return "the folder " + path + " is another user's, or others may write to it" + kElsewhere;
}

// A disk that is known to be too full need not be filled first. Quotas are not seen here, but when they are hit.
std::string LookForRoom(const std::string& folder, std::uint64_t bytes) {
  struct statvfs facts {};
  if (statvfs(folder.c_str(), &facts) != 0) return "";
  const std::uint64_t free_bytes = std::uint64_t{facts.f_bavail} * facts.f_frsize;
  if (bytes <= free_bytes) return "";
  return "it has " + FormatBytes(bytes) + ", and " + folder + " has " + FormatBytes(free_bytes) + " free" + kElsewhere;
}

}  // namespace

bool SavedArrays::Has(const core::ArrayId& id) const {
  return std::any_of(all.begin(), all.end(), [&](const One& one) { return one.id == id && !one.file.empty(); });
}

ArraySaver::ArraySaver(const core::ArrayStore& arrays, std::string folder, std::string generation, Log log)
    : arrays_(arrays), folder_(std::move(folder)), generation_(std::move(generation)), log_(std::move(log)) {}

ArraySaver::~ArraySaver() {
  if (!thread_.joinable()) return;
  Shorten(core::SteadyTime());
  Finish();
}

void ArraySaver::Start(core::SteadyTime until) {
  until_ = until.time_since_epoch().count();
  thread_ = std::thread([this] { Run(); });
}

void ArraySaver::Shorten(core::SteadyTime until) {
  until_ = std::min<std::int64_t>(until_, until.time_since_epoch().count());
}

SavedArrays ArraySaver::Finish() {
  {
    const std::scoped_lock lock(mutex_);
    finish_ = true;
  }
  finish_called_.notify_all();
  if (thread_.joinable()) thread_.join();
  return std::move(saved_);
}

void ArraySaver::Run() {
  SaveNew();
  {
    std::unique_lock lock(mutex_);
    finish_called_.wait(lock, [this] { return finish_; });
  }
  SaveNew();
}

bool ArraySaver::TimeIsOver() const {
  return std::chrono::steady_clock::now().time_since_epoch().count() >= until_.load();
}

void ArraySaver::SaveNew() {
  std::vector<core::ArraySnapshot> arrays = arrays_.List({"", core::SessionId(), core::Scope::kAdmin});
  std::erase_if(arrays, [this](const core::ArraySnapshot& array) {
    return !array.lease_end || array.state != core::ArrayState::kReady || !seen_.insert(array.id.value()).second;
  });
  std::stable_sort(arrays.begin(), arrays.end(),
                   [](const core::ArraySnapshot& a, const core::ArraySnapshot& b) { return a.bytes < b.bytes; });
  {
    const std::scoped_lock lock(plan_mutex_);
    for (const core::ArraySnapshot& array : arrays) plan_.push_back(NameOf(array));
  }
  for (const core::ArraySnapshot& array : arrays) Save(array);
}

std::vector<std::string> ArraySaver::Abandon() {
  const std::unique_lock lock(plan_mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return {};
  if (!temporary_.empty()) unlink(temporary_.c_str());
  return plan_;
}

void ArraySaver::SetTemporary(const std::string& file) {
  const std::scoped_lock lock(plan_mutex_);
  temporary_ = file;
}

void ArraySaver::Save(const core::ArraySnapshot& array) {
  SavedArrays::One one{array.id, NameOf(array), "", "", array.bytes};
  const std::string file = FileFor(array);
  one.why_not = TimeIsOver() ? "there was no time left" : MakeOwnFolder(folder_);
  if (one.why_not.empty() && saved_.all.empty()) RemoveAbandoned(folder_);
  if (one.why_not.empty()) one.why_not = LookForRoom(folder_, array.bytes);
  if (one.why_not.empty()) one.why_not = Write(array, file);
  if (one.why_not.empty()) {
    one.file = file;
    files_.insert(file);
  }
  {
    const std::scoped_lock lock(plan_mutex_);
    temporary_.clear();
    plan_.erase(plan_.begin());
  }
  if (log_) log_(one);
  saved_.all.push_back(std::move(one));
}

std::string ArraySaver::FileFor(const core::ArraySnapshot& array) {
  const std::string stem = folder_ + "/" + NameOf(array);
  std::string file = stem + ".npy";
  std::error_code error;
  const bool taken = array.name.empty() ? std::filesystem::exists(file, error) : files_.contains(file);
  // Two arrays of one name belong to two tokens.
  if (taken) file = stem + "." + (array.name.empty() ? generation_ : array.id.value()) + ".npy";
  return file;
}

// Empty, or why it is not there.
std::string ArraySaver::Write(const core::ArraySnapshot& array, const std::string& file) {
  const core::Principal all{"", core::SessionId(), core::Scope::kAdmin};
  const absl::StatusOr<core::ArrayStore::Reader> reader = arrays_.Open(all, array.id.value());
  if (!reader.ok()) return std::string(reader.status().message());
  std::variant<AtomicFile, NpyError> opened = AtomicFile::Create(file);
  if (const auto* error = std::get_if<NpyError>(&opened)) return file + ": " + error->message;
  AtomicFile& output = std::get<AtomicFile>(opened);
  SetTemporary(output.temporary());

  const std::string header = NpyHeaderFor(array.signature);
  std::optional<NpyError> error = output.Write(std::as_bytes(std::span(header)));
  std::span<const std::byte> rest = reader->buffer->bytes();
  std::size_t unwritten = 0;
  while (!error && !rest.empty()) {
    if (TimeIsOver()) return "the time was over before it was written";
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
