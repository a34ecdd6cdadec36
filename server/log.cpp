#include "server/log.h"

#include <grpc/support/log.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "kernels/array/quoted.h"
#include "kernels/base/mutex.h"
#include "kernels/base/status.h"

namespace hotplate::server {
namespace {

// gRPC gives its log function no pointer of ours, so that the log, and how much of it is gRPC's, must be found by
// itself.
Mutex grpc_mutex;
LineLimit grpc_errors ABSL_GUARDED_BY(grpc_mutex);

// Strangers can cause gRPC's errors: anybody who reaches the port makes a line with each connection, which includes
// data from the network. Lines that end the process are always shown.
LineLimit::Verdict Judge(const gpr_log_func_args& line) {
  const bool fatal = std::string_view(line.message).starts_with("assertion failed");
  if (line.severity != GPR_LOG_SEVERITY_ERROR || fatal) return {.shown = true};
  MutexLock lock(grpc_mutex);
  return grpc_errors.Take(LineLimit::Clock::now());
}

void TakeGrpcLine(gpr_log_func_args* line) {
  const spdlog::level::level_enum level = line->severity == GPR_LOG_SEVERITY_ERROR  ? spdlog::level::err
                                          : line->severity == GPR_LOG_SEVERITY_INFO ? spdlog::level::info
                                                                                    : spdlog::level::debug;
  spdlog::logger* log = spdlog::default_logger_raw();
  if (log == nullptr || !log->should_log(level)) return;
  const LineLimit::Verdict verdict = Judge(*line);
  if (!verdict.shown) return;
  if (verdict.missed > 0) log->log(level, "grpc: {} more lines were not shown", verdict.missed);
  const std::string_view file(line->file);
  log->log(level, "grpc: {} ({}:{})", Shortened(WithoutSecrets(line->message)), file.substr(file.rfind('/') + 1),
           line->line);
  if (verdict.last) log->log(level, "grpc: no more of its errors are shown in this minute");
}

// A secret has that many digits.
constexpr std::size_t kShortestSecret = 32;
bool IsHexDigit(char letter) { return std::isxdigit(static_cast<unsigned char>(letter)) != 0; }

}  // namespace

spdlog::level::level_enum LevelOf(core::LogLevel level) {
  switch (level) {
    case core::LogLevel::kDebug:
      return spdlog::level::debug;
    case core::LogLevel::kInfo:
      return spdlog::level::info;
    case core::LogLevel::kWarning:
      return spdlog::level::warn;
    case core::LogLevel::kError:
      break;
  }
  return spdlog::level::err;
}

core::LogLevel LevelOf(spdlog::level::level_enum level) {
  if (level <= spdlog::level::debug) return core::LogLevel::kDebug;
  if (level == spdlog::level::info) return core::LogLevel::kInfo;
  return level == spdlog::level::warn ? core::LogLevel::kWarning : core::LogLevel::kError;
}

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

LineLimit::Verdict LineLimit::Take(Clock::time_point now) {
  if (lines_ == 0 || now - begin_ >= kSpan) {
    begin_ = now;
    lines_ = 0;
  }
  if (lines_ == kLines) {
    ++missed_;
    return {};
  }
  ++lines_;
  return {.shown = true, .last = lines_ == kLines, .missed = std::exchange(missed_, 0)};
}

void RouteGrpcLog(std::shared_ptr<spdlog::logger> log) {
  {
    MutexLock lock(grpc_mutex);
    grpc_errors = LineLimit();
  }
  spdlog::set_default_logger(std::move(log));
  gpr_set_log_function(TakeGrpcLine);
}

std::string_view Beginning(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t digits = 0;  // before the cut
  while (digits < std::min(most, kShortestSecret) && IsHexDigit(text[most - digits - 1])) ++digits;
  const bool part = digits < kShortestSecret && IsHexDigit(text[most]);
  return text.substr(0, part ? most - digits : most);
}

std::string WithoutSecrets(std::string_view text) {
  const std::string line = Visible(text, ' ');
  std::string result;
  for (std::size_t at = 0; at < line.size();) {
    std::size_t digits = 0;
    while (at + digits < line.size() && IsHexDigit(line[at + digits])) ++digits;
    if (digits >= kShortestSecret) {
      result += "[...]";
    } else {
      result.append(line, at, std::max<std::size_t>(digits, 1));
    }
    at += std::max<std::size_t>(digits, 1);
  }
  return result;
}

}  // namespace hotplate::server
