// The tasks of a sweep that have ended, with what they left, so that the next daemon need not run them again. One file
// of a job in the spool (jobs/31/tasks.log), which only grows, by batches:
//   length of the payload (8 bytes), the payload, its SHA-256
//   payload: for each task its row, number, state, error and data, lengths before what has any (little-endian)
// A batch counts when it is whole: the one that a killed daemon was writing is cut off by the next. A batch without
// tasks marks that the sweep began to run under another daemon.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "kernels/base/descriptor.h"

namespace hotplate::journal {

struct TaskEnd {
  std::uint64_t row = 0, task = 0;
  int state = 0;  // JobState
  int code = 0;   // of the error; 0: none
  std::string error = {};
  std::string data = {};  // what it left, opaque here
};

// One user at a time. Each call waits for the disk.
class TaskLog {
 public:
  // Makes the file, or goes on behind its last whole batch. `bytes`: of whole batches, where it was read before.
  static absl::StatusOr<TaskLog> Open(const std::string& path, std::optional<std::uint64_t> bytes = std::nullopt);
  // They are on the disk when this returns. An empty batch is a mark.
  absl::Status Append(std::span<const TaskEnd> tasks);

 private:
  TaskLog(std::string path, Descriptor file, std::uint64_t bytes)
      : path_(std::move(path)), file_(std::move(file)), bytes_(bytes) {}
  std::string path_;
  Descriptor file_;
  std::uint64_t bytes_ = 0;  // of whole batches
};

struct TaskLogFacts {
  std::uint64_t bytes = 0;  // of whole batches
  std::uint64_t marks_since_last_task = 0;
};
// Calls `take` for each task of the whole batches, in their order. NOT_FOUND if there is no such file.
absl::StatusOr<TaskLogFacts> ReadTaskLog(const std::string& path, const std::function<void(TaskEnd)>& take);

}  // namespace hotplate::journal
