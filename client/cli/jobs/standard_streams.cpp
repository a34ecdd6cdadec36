#include "client/cli/jobs/standard_streams.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <vector>

namespace hotplate::cli {
namespace {

constexpr std::size_t kCopyPiece = std::size_t{1} << 20;

std::optional<NpyError> WriteAllOf(int file, std::span<const std::byte> bytes, const std::string& what) {
  while (!bytes.empty()) {
    const ssize_t count = write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EAGAIN) {  // whoever shares it may have set it so
      pollfd room{file, POLLOUT, 0};
      poll(&room, 1, -1);
    } else if (count < 0 && errno != EINTR) {
      return SystemError(what, errno);
    }
    if (count > 0) bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return std::nullopt;
}

// Copies the rest of standard input into a file; returns an open descriptor.
std::variant<int, NpyError> Spooled() {
  const char* chosen = std::getenv("TMPDIR");
  const std::string folder = chosen != nullptr && *chosen != '\0' ? chosen : "/tmp";
  const std::string cannot = "standard input cannot be kept in " + folder + " (TMPDIR names another place)";
  const int file = NamelessFile(folder);
  if (file < 0) return SystemError(cannot, errno);
  std::vector<std::byte> piece(kCopyPiece);
  std::optional<NpyError> error;
  while (!error) {
    const ssize_t count = read(STDIN_FILENO, piece.data(), piece.size());
    if (count == 0) return file;
    if (count < 0 && errno != EINTR) error = SystemError("cannot read standard input", errno);
    if (count > 0) error = WriteAllOf(file, std::span(piece).first(static_cast<std::size_t>(count)), cannot);
  }
  close(file);
  return *std::move(error);
}

}  // namespace

int NamelessFile(const std::string& folder) {
  const int file = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return file;
  std::string path = folder + "/.hotplate-XXXXXX";
  const int named = mkostemp(path.data(), O_CLOEXEC);
  if (named >= 0) unlink(path.c_str());
  return named;
}

std::variant<NpyFile, NpyError> OpenInput(const std::string& path) {
  if (path != kStandardStream) return NpyFile::Open(path);
  struct stat facts {};
  if (fstat(STDIN_FILENO, &facts) != 0) return SystemError("standard input cannot be read", errno);
  if (S_ISREG(facts.st_mode)) return NpyFile::Open("/proc/self/fd/0");
  if (isatty(STDIN_FILENO))
    return NpyError{.message = "standard input is a terminal: pipe a .npy file in, or name one"};
  const std::variant<int, NpyError> spooled = Spooled();
  if (const auto* error = std::get_if<NpyError>(&spooled)) return *error;
  const int file = std::get<int>(spooled);
  std::variant<NpyFile, NpyError> opened = NpyFile::Open("/proc/self/fd/" + std::to_string(file));
  close(file);
  return opened;
}

absl::Status CheckStandardOutput() {
  if (!isatty(STDOUT_FILENO)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "-o -: standard output is a terminal, which cannot show a .npy file: pipe it, or name a file");
}

std::optional<NpyError> WriteStandardOutput(std::span<const std::byte> bytes) {
  return WriteAllOf(STDOUT_FILENO, bytes, "cannot write to standard output");
}

}  // namespace hotplate::cli
