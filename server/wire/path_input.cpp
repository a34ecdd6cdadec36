#include "server/wire/path_input.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <utility>

#include "kernels/array/quoted.h"
#include "kernels/base/descriptor.h"
#include "kernels/base/status.h"
#include "server/wire/job.h"
#include "server/wire/open_below.h"
#include "server/wire/values.h"

namespace hotplate::wire {
namespace {

constexpr std::size_t kLongestPath = 4096;

bool IsBelow(const std::string& path, const std::string& root) {
  return root == "/" || (path.starts_with(root) && path.size() > root.size() && path[root.size()] == '/');
}

absl::Status CannotOpen(const std::string& path, const std::string& field, int error) {
  const std::string sentence = field + ": " + Quoted(path) + ": " + std::strerror(error);
  if (error == EMFILE || error == ENFILE || error == ENOMEM) {
    return absl::ResourceExhaustedError(ToAbsl(sentence + "; try again later"));
  }
  const absl::StatusCode code = error == ENOENT || error == ENOTDIR ? absl::StatusCode::kNotFound
                                : error == EACCES || error == EPERM ? absl::StatusCode::kPermissionDenied
                                                                    : absl::StatusCode::kInvalidArgument;
  return Refused(code, {{field + ".path", sentence}});  // which tells it from an array that is not there
}

// An input or an output, counted while it is open.
template <typename File>
struct CountedFile {
  std::shared_ptr<const void> count;
  File file;
};

absl::Status GuestMayNotRead(const std::string& field, const std::string& path, const JobBounds& bounds) {
  const std::string token = "token \"" + bounds.guest + "\" may read ";
  std::string roots;
  for (const std::string& root : bounds.path_roots) roots += (roots.empty() ? "" : ", ") + root;
  return Refused(absl::StatusCode::kPermissionDenied,
                 {{field, field + ": " + Quoted(path) + ": " +
                              (roots.empty() ? token + "no files on the node; send the array"
                                             : token + ".npy files below " + roots +
                                                   " alone, by paths that begin so, "
                                                   "without \"..\"; else send the array")}});
}

// The root that the path begins with; else empty.
std::string RootOf(const std::string& path, const JobBounds& bounds) {
  const auto at = std::find_if(bounds.path_roots.begin(), bounds.path_roots.end(),
                               [&](const std::string& root) { return IsBelow(path, root); });
  return at == bounds.path_roots.end() ? "" : *at;
}

// Without a look at the file system.
bool GuestMayAsk(const std::string& path, const JobBounds& bounds) {
  const std::filesystem::path parts(path);
  return std::find(parts.begin(), parts.end(), "..") == parts.end() && !RootOf(path, bounds).empty();
}

absl::Status TooManyOpen(const std::string& field, const OpenInputs& open) {
  return absl::ResourceExhaustedError(ToAbsl(
      field + ": the jobs that wait or run have " + std::to_string(open.most()) +
      " inputs and outputs by path, the most for which the daemon has file descriptors (a quarter of ulimit -n); try "
      "again later, or give arrays (hotplate put)"));
}

}  // namespace

std::shared_ptr<OpenInputs> OpenInputs::AsManyAsMayBe() {
  rlimit limit{};
  const bool known = getrlimit(RLIMIT_NOFILE, &limit) == 0;
  return std::make_shared<OpenInputs>(known ? limit.rlim_cur / 4 : std::numeric_limits<std::size_t>::max());
}

std::shared_ptr<const void> OpenInputs::Count(const std::shared_ptr<OpenInputs>& inputs) {
  if (inputs->open_.fetch_add(1) < inputs->most_) {
    return {inputs.get(), [inputs](const void*) { --inputs->open_; }};
  }
  --inputs->open_;
  return nullptr;
}

std::vector<std::string> CanonicalRoots(const std::vector<std::string>& roots, std::vector<std::string>* missing) {
  std::vector<std::string> result;
  for (const std::string& root : roots) {
    std::error_code error;
    const std::string canonical = std::filesystem::canonical(root, error).string();
    if (error || !std::filesystem::is_directory(canonical, error)) {
      if (missing != nullptr) missing->push_back(root);
    } else if (std::find(result.begin(), result.end(), canonical) == result.end()) {
      result.push_back(canonical);
    }
  }
  return result;
}

absl::StatusOr<std::shared_ptr<const NpyFile>> OpenPathInput(const std::string& path, const std::string& field,
                                                             const JobBounds& bounds) {
  const std::vector<std::string>& roots = bounds.path_roots;
  const std::shared_ptr<OpenInputs>& open_inputs = bounds.open_inputs;
  const bool guest = !bounds.guest.empty();
  if (path.empty() || path.front() != '/' || path.size() > kLongestPath || path.find('\0') != std::string::npos) {
    return InvalidField(field, field + ": " + Quoted(path) + " is not an absolute path of a file");
  }
  if (guest && !GuestMayAsk(path, bounds)) return GuestMayNotRead(field, path, bounds);
  // An O_PATH descriptor never waits on a pipe, and its file cannot be swapped between check and use.
  Descriptor there;
  if (guest) {
    OpenedBelow opened = OpenBelow(RootOf(path, bounds), path);
    if (opened.leads_out) return GuestMayNotRead(field, path, bounds);
    errno = opened.error;
    there = std::move(opened.file);
  } else {
    there.Take(open(path.c_str(), O_PATH | O_CLOEXEC));
  }
  if (!there) return CannotOpen(path, field, errno);
  const std::string link = "/proc/self/fd/" + std::to_string(there.get());
  std::error_code error;
  const std::string real = std::filesystem::read_symlink(link, error).string();
  if (error && access("/proc/self/fd", F_OK) != 0) {
    return absl::FailedPreconditionError(ToAbsl(field + ": " + Quoted(path) +
                                                ": inputs by path need /proc, which is not mounted where hotplated "
                                                "runs; give the array itself (hotplate put)"));
  }
  if (error) return CannotOpen(path, field, error.value());
  if (std::none_of(roots.begin(), roots.end(), [&](const std::string& root) { return IsBelow(real, root); })) {
    if (guest) return GuestMayNotRead(field, path, bounds);  // a folder on the way was moved meanwhile
    std::string all;
    for (const std::string& root : roots) all += (all.empty() ? "" : ", ") + root;
    return Refused(absl::StatusCode::kPermissionDenied,
                   {{field, field + ": " + Quoted(real) +
                                " is outside the folders that the daemon may read; start it with "
                                "--path-root, which now names " +
                                (all.empty() ? "none that exists" : all)}});
  }
  struct stat facts {};
  if (fstat(there.get(), &facts) != 0) return CannotOpen(path, field, errno);
  if (!S_ISREG(facts.st_mode)) return InvalidField(field, field + ": " + Quoted(path) + " is not a regular file");

  std::shared_ptr<const void> count = OpenInputs::Count(open_inputs);
  if (count == nullptr) return TooManyOpen(field, *open_inputs);
  std::variant<NpyFile, NpyError> file = NpyFile::Open(link);
  if (const NpyError* wrong = std::get_if<NpyError>(&file)) {
    if (wrong->system_error != 0) return CannotOpen(path, field, wrong->system_error);
    return InvalidField(field, field + ": " + Quoted(path) + ": " + wrong->message);
  }
  const auto counted = std::make_shared<CountedFile<NpyFile>>(
      CountedFile<NpyFile>{std::move(count), std::get<NpyFile>(std::move(file))});
  return std::shared_ptr<const NpyFile>(counted, &counted->file);
}

absl::StatusOr<std::shared_ptr<PlacedFile>> OpenPathOutput(const std::string& path, bool replace,
                                                           const std::string& field, const JobBounds& bounds) {
  if (!bounds.guest.empty()) {
    return Refused(absl::StatusCode::kPermissionDenied,
                   {{field, field + ": token \"" + bounds.guest +
                                "\" may not write files on the node: take the output in the answer, or keep it as an "
                                "array"}});
  }
  if (path.front() != '/' || path.size() > kLongestPath || path.find('\0') != std::string::npos) {
    return InvalidField(field, field + ": " + Quoted(path) + " is not an absolute path of a file");
  }
  // The longest, so that no link lies between it and the file that need not be followed.
  std::string root, all;
  for (const std::vector<std::string>* roots : {&bounds.path_roots, &bounds.named_roots}) {
    for (const std::string& one : *roots) {
      if (roots == &bounds.path_roots) all += (all.empty() ? "" : ", ") + one;
      if (IsBelow(path, one) && one.size() > root.size()) root = one;
    }
  }
  if (root.empty()) {
    return Refused(
        absl::StatusCode::kPermissionDenied,
        {{field, field + ": " + Quoted(path) +
                     " is outside the folders that the daemon may write to; start it with --path-root, which "
                     "now names " +
                     (all.empty() ? "none that exists" : all)}});
  }
  std::shared_ptr<const void> count = OpenInputs::Count(bounds.open_inputs);
  if (count == nullptr) return TooManyOpen(field, *bounds.open_inputs);
  std::variant<PlacedFile, NpyError> file = PlacedFile::Open(root, path, replace, bounds.output_mode);
  if (const NpyError* wrong = std::get_if<NpyError>(&file)) {
    const int error = wrong->system_error;
    const std::string sentence = field + ": " + Quoted(path) + ": " + wrong->message + " (the root is " + root + ")";
    if (error == EMFILE || error == ENFILE || error == ENOMEM) {
      return absl::ResourceExhaustedError(ToAbsl(sentence + "; try again later"));
    }
    const bool forbidden = error == EACCES || error == EPERM || error == EROFS;
    const absl::StatusCode code = forbidden ? absl::StatusCode::kPermissionDenied : absl::StatusCode::kInvalidArgument;
    return Refused(code, {{field + ".path", sentence}});
  }
  const auto counted = std::make_shared<CountedFile<PlacedFile>>(
      CountedFile<PlacedFile>{std::move(count), std::get<PlacedFile>(std::move(file))});
  return std::shared_ptr<PlacedFile>(counted, &counted->file);
}

}  // namespace hotplate::wire
