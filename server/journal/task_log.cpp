#include "server/journal/task_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "server/journal/disk.h"
#include "server/journal/sha256.h"

namespace hotplate::journal {
namespace {

constexpr std::size_t kDigestBytes = 32;

void PutNumber(std::string& to, std::uint64_t number) {
  char bytes[sizeof(number)];
  for (std::size_t i = 0; i < sizeof(number); ++i) bytes[i] = static_cast<char>(number >> (8 * i));
  to.append(bytes, sizeof(bytes));
}

void PutText(std::string& to, const std::string& text) {
  PutNumber(to, text.size());
  to += text;
}

// The rest of a payload. Nothing more comes once it is short.
class Payload {
 public:
  explicit Payload(std::string_view rest) : rest_(rest) {}
  bool empty() const { return rest_.empty(); }
  bool good() const { return good_; }
  std::uint64_t Number() {
    std::uint64_t number = 0;
    const std::string_view bytes = Take(sizeof(number));
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      number |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    }
    return number;
  }
  std::string Text() { return std::string(Take(Number())); }

 private:
  std::string_view Take(std::uint64_t count) {
    good_ = good_ && count <= rest_.size();
    const std::string_view taken = rest_.substr(0, good_ ? count : 0);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  std::string_view rest_;
  bool good_ = true;
};

// So many bytes from there, or fewer at the file's end.
absl::StatusOr<std::string> ReadAt(const Descriptor& file, const std::string& path, std::uint64_t offset,
                                   std::uint64_t count) {
  std::string bytes(count, '\0');
  std::size_t done = 0;
  while (done < count) {
    const ssize_t got = pread(file.get(), bytes.data() + done, count - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return DiskError("reading " + path, errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

int WriteAt(const Descriptor& file, std::string_view bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t count = pwrite(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return 0;
}

// The payload of the batch at `offset`; nothing if there is no whole one.
absl::StatusOr<std::optional<std::string>> ReadBatch(const Descriptor& file, const std::string& path,
                                                     std::uint64_t offset, std::uint64_t end) {
  if (end - offset < sizeof(std::uint64_t) + kDigestBytes) return std::nullopt;
  const absl::StatusOr<std::string> head = ReadAt(file, path, offset, sizeof(std::uint64_t));
  if (!head.ok()) return head.status();
  const std::uint64_t length = Payload(*head).Number();
  const std::uint64_t room = end - offset - sizeof(std::uint64_t) - kDigestBytes;
  if (head->size() < sizeof(std::uint64_t) || length > room) return std::nullopt;
  absl::StatusOr<std::string> bytes = ReadAt(file, path, offset + sizeof(std::uint64_t), length + kDigestBytes);
  if (!bytes.ok()) return bytes.status();
  if (bytes->size() != length + kDigestBytes) return std::nullopt;
  const Sha256 digest = Sha256Of(std::string_view(*bytes).substr(0, length));
  if (std::memcmp(digest.bytes.data(), bytes->data() + length, kDigestBytes) != 0) return std::nullopt;
  bytes->resize(length);
  return std::optional<std::string>(*std::move(bytes));
}

}  // namespace

absl::StatusOr<TaskLog> TaskLog::Open(const std::string& path, std::optional<std::uint64_t> bytes) {
  if (!bytes) {
    const absl::StatusOr<TaskLogFacts> facts = ReadTaskLog(path, nullptr);
    if (!facts.ok() && !absl::IsNotFound(facts.status())) return facts.status();
    bytes = facts.ok() ? facts->bytes : 0;
  }
  Descriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file) return DiskError("opening " + path, errno);
  if (ftruncate(file.get(), static_cast<off_t>(*bytes)) != 0) return DiskError("cutting " + path, errno);
  return TaskLog(path, std::move(file), *bytes);
}

absl::Status TaskLog::Append(std::span<const TaskEnd> tasks) {
  std::string batch;
  PutNumber(batch, 0);  // its length, once it is known
  for (const TaskEnd& task : tasks) {
    PutNumber(batch, task.row);
    PutNumber(batch, task.task);
    PutNumber(batch, static_cast<std::uint64_t>(task.state));
    PutNumber(batch, static_cast<std::uint64_t>(task.code));
    PutText(batch, task.error);
    PutText(batch, task.data);
  }
  std::string length;
  PutNumber(length, batch.size() - length.size() - sizeof(std::uint64_t));
  batch.replace(0, length.size(), length);
  const Sha256 digest = Sha256Of(std::string_view(batch).substr(sizeof(std::uint64_t)));
  batch.append(reinterpret_cast<const char*>(digest.bytes.data()), kDigestBytes);
  int error = WriteAt(file_, batch, bytes_);
  if (error == 0 && fdatasync(file_.get()) != 0) error = errno;
  if (error != 0) return DiskError("writing " + path_, error);
  bytes_ += batch.size();
  return absl::OkStatus();
}

absl::StatusOr<TaskLogFacts> ReadTaskLog(const std::string& path, const std::function<void(TaskEnd)>& take) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return DiskError("opening " + path, errno);
  struct stat status {};
  if (fstat(file.get(), &status) != 0) return DiskError("reading " + path, errno);
  TaskLogFacts facts;
  while (true) {
    const auto batch = ReadBatch(file, path, facts.bytes, static_cast<std::uint64_t>(status.st_size));
    if (!batch.ok()) return batch.status();
    if (!*batch) return facts;
    facts.bytes += sizeof(std::uint64_t) + (*batch)->size() + kDigestBytes;
    facts.marks_since_last_task = (*batch)->empty() ? facts.marks_since_last_task + 1 : 0;
    for (Payload rest(**batch); !rest.empty() && rest.good();) {
      TaskEnd task;
      task.row = rest.Number();
      task.task = rest.Number();
      task.state = static_cast<int>(rest.Number());
      task.code = static_cast<int>(rest.Number());
      task.error = rest.Text();
      task.data = rest.Text();
      if (rest.good() && take) take(std::move(task));
    }
  }
}

}  // namespace hotplate::journal
