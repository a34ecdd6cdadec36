#include "client/cli/scheduler/scheduler.h"

#include "client/cli/ending.h"

namespace hotplate::cli {

std::string Trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

absl::Status NoAnswer(const absl::Status& status) {
  const std::string said(status.message());
  return WithExitCode(
      absl::UnavailableError(absl::IsNotFound(status) ? said + ": is this a login node of the cluster?" : said),
      kExitScheduler);
}

}  // namespace hotplate::cli
