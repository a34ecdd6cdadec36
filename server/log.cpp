#include "server/log.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "kernels/status.h"

namespace hotplate::server {

absl::StatusOr<std::shared_ptr<spdlog::logger>> OpenLog(const std::string& file, const std::string& level) {
  spdlog::sink_ptr sink;
  try {
    if (file.empty()) {
      sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    } else {
      sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(file);
    }
  } catch (const spdlog::spdlog_ex& error) {
    return absl::PermissionDeniedError(ToAbsl("log_file is \"" + file + "\": " + error.what()));
  }
  auto log = std::make_shared<spdlog::logger>("hotplated", std::move(sink));
  log->set_level(spdlog::level::from_str(level));
  // Lines are rare (a job that ends well is one at level debug), and a daemon that is killed must not lose them.
  log->flush_on(spdlog::level::info);
  log->set_formatter(
      std::make_unique<spdlog::pattern_formatter>("%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc));
  return log;
}

}  // namespace hotplate::server
