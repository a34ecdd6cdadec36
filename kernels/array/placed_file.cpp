#include "kernels/array/placed_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>
#include <vector>

namespace hotplate {
namespace {

constexpr std::size_t kPiece = std::size_t{16} << 20;

NpyError Refusal(std::string message, int error) { return {.message = std::move(message), .system_error = error}; }

// The components of `path` below `root`; nothing if it is not below it.
std::optional<std::vector<std::string>> ComponentsBelow(const std::string& root, const std::string& path) {
  if (!path.starts_with(root)) return std::nullopt;
  std::vector<std::string> components;
  std::size_t begin = root.size();
  if (root != "/" && (begin >= path.size() || path[begin] != '/')) return std::nullopt;
  while (begin < path.size()) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    if (end > begin) components.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  if (components.empty() || path.back() == '/') return std::nullopt;
  return components;
}

bool IsLink(int folder, const std::string& name) {
  struct stat facts {};
  return fstatat(folder, name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(facts.st_mode);
}

// The reason why no file can be put there, or nothing.
std::optional<NpyError> Examine(int folder, const std::string& name, bool replace) {
  struct stat facts {};
  if (fstatat(folder, name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno != ENOENT) return SystemError("cannot examine " + name, errno);
  } else if (!S_ISREG(facts.st_mode)) {
    return Refusal(name + (S_ISLNK(facts.st_mode)   ? " is a link, and links are not followed"
                           : S_ISDIR(facts.st_mode) ? " is a folder"
                                                    : " is a device, a pipe or a socket"),
                   EINVAL);
  } else if (replace && faccessat(folder, name.c_str(), W_OK, AT_EACCESS) != 0) {
    return SystemError("cannot replace it", errno);
  }
  if (faccessat(folder, ".", W_OK | X_OK, AT_EACCESS) != 0) return SystemError("cannot write to its folder", errno);
  return std::nullopt;
}

}  // namespace

std::variant<PlacedFile, NpyError> PlacedFile::Open(const std::string& root, const std::string& path, bool replace,
                                                    mode_t mode) {
  const std::optional<std::vector<std::string>> components = ComponentsBelow(root, path);
  if (!components) return Refusal("it is no file below " + root, EINVAL);
  for (const std::string& component : *components) {
    if (component.front() == '.') return Refusal(component + " begins with a dot; nothing is written there", EINVAL);
  }
  const std::string& name = components->back();
  if (!name.ends_with(".npy")) return Refusal(name + " does not end in .npy", EINVAL);

  PlacedFile file(open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC), path, name, replace, mode);
  if (file.folder_ < 0) return SystemError("cannot open the folder " + root, errno);
  for (std::size_t i = 0; i + 1 < components->size(); ++i) {
    const std::string& component = (*components)[i];
    const int next = openat(file.folder_, component.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const int error = errno;
    if (next < 0 && IsLink(file.folder_, component)) {
      return Refusal(component + " is a link, and links are not followed below " + root, EINVAL);
    }
    if (next < 0) return SystemError("cannot open the folder " + component, error);
    close(std::exchange(file.folder_, next));
  }
  if (std::optional<NpyError> error = Examine(file.folder_, name, replace)) return *std::move(error);
  return file;
}

PlacedFile::PlacedFile(PlacedFile&& other) noexcept
    : folder_(std::exchange(other.folder_, -1)),
      path_(std::move(other.path_)),
      name_(std::move(other.name_)),
      replace_(other.replace_),
      mode_(other.mode_),
      unfinished_(std::exchange(other.unfinished_, {})),
      file_(std::exchange(other.file_, -1)) {}

PlacedFile& PlacedFile::operator=(PlacedFile&& other) noexcept {
  std::swap(folder_, other.folder_);
  std::swap(path_, other.path_);
  std::swap(name_, other.name_);
  std::swap(replace_, other.replace_);
  std::swap(mode_, other.mode_);
  std::swap(unfinished_, other.unfinished_);
  std::swap(file_, other.file_);
  return *this;
}

PlacedFile::~PlacedFile() {
  if (!unfinished_.empty()) unlinkat(folder_, unfinished_.c_str(), 0);
  for (const int descriptor : {file_, folder_})
    if (descriptor >= 0) close(descriptor);
}

std::optional<NpyError> PlacedFile::Taken() const {
  struct stat facts {};
  if (replace_ || fstatat(folder_, name_.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  return Refusal("the file is there already", EEXIST);
}

std::optional<NpyError> PlacedFile::Write(const Signature& signature, std::span<const std::byte> elements,
                                          const std::function<bool()>& stop) {
  AtomicFile::RemoveAbandoned("/proc/self/fd/" + std::to_string(folder_));
  Unfinished unfinished = MakeUnfinished(folder_, name_, 0600);
  if (unfinished.descriptor < 0) return SystemError("cannot write to its folder", errno);
  file_ = unfinished.descriptor;
  unfinished_ = std::move(unfinished.path);
  struct stat old {};
  const bool replaces = replace_ && fstatat(folder_, name_.c_str(), &old, AT_SYMLINK_NOFOLLOW) == 0;
  const mode_t mode = replaces && S_ISREG(old.st_mode) ? old.st_mode & 0777 : mode_;
  if (mode != 0600 && fchmod(file_, mode) != 0) return SystemError("cannot set its permissions", errno);
  const std::string header = NpyHeaderFor(signature);
  std::optional<NpyError> error;
  for (std::span<const std::byte> rest : {std::as_bytes(std::span(header)), elements}) {
    while (!error && !rest.empty()) {
      if (stop && stop()) {
        error = SystemError("the file was given up", ECANCELED);
        break;
      }
      const ssize_t count = write(file_, rest.data(), std::min(rest.size(), kPiece));
      if (count >= 0) rest = rest.subspan(static_cast<std::size_t>(count));
      if (count < 0 && errno != EINTR) error = SystemError("cannot write it", errno);
    }
  }
  if (!error && fsync(file_) != 0) error = SystemError("cannot write it", errno);
  return error;
}

std::optional<NpyError> PlacedFile::Commit() {
  const char* from = unfinished_.c_str();
  int failed = 0;
  if (replace_) {
    failed = renameat(folder_, from, folder_, name_.c_str());
  } else {
    failed = renameat2(folder_, from, folder_, name_.c_str(), RENAME_NOREPLACE);
    // Network file systems have no such call. Creating a second link also fails if the name exists.
    if (failed != 0 && (errno == EINVAL || errno == ENOSYS)) {
      failed = linkat(folder_, from, folder_, name_.c_str(), 0);
      if (failed == 0) unlinkat(folder_, from, 0);
    }
  }
  if (failed != 0) return SystemError("cannot put it in place", errno);
  unfinished_.clear();
  close(std::exchange(file_, -1));
  // The file is there and whole; this makes its name last through a power cut, where the file system can.
  const int folder = openat(folder_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    fsync(folder);
    close(folder);
  }
  return std::nullopt;
}

}  // namespace hotplate
