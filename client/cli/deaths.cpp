#include "client/cli/deaths.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "client/cli/format.h"
#include "client/cli/local_daemon.h"
#include "client/cli/scheduler/scheduler.h"

namespace hotplate::cli {
namespace {

constexpr std::size_t kLongestBlock = 64 << 10;

std::optional<v1::JobIdBlock> ReadBlock(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  std::string text(kLongestBlock, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  v1::JobIdBlock block;
  if (!google::protobuf::util::JsonStringToMessage(text, &block, options).ok()) return std::nullopt;
  return block;
}

std::string Ago(const google::protobuf::Timestamp& time) {
  return Span(std::chrono::seconds(std::max<EpochSeconds>(0, Now().seconds() - time.seconds()))) + " ago";
}

}  // namespace

std::optional<v1::DaemonLife> LifeOf(const std::string& directory, const std::string& generation) {
  std::optional<v1::JobIdBlock> newest;
  std::error_code error;
  for (std::filesystem::directory_iterator at(directory + "/jobs", error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().extension() == ".new") continue;  // not whole yet, or never
    auto block = ReadBlock(at->path());
    if (!block || block->daemon().generation() != generation) continue;
    if (!newest || block->first_job_id() > newest->first_job_id()) newest = std::move(block);
  }
  if (!newest) return std::nullopt;
  return newest->daemon();
}

std::string LossText(const std::string& who, const v1::DaemonLife& life) {
  const bool died = !life.has_end_time();
  if (!died && life.held().empty()) return "";
  return who + (died ? " died (last seen " + Ago(life.seen_time()) : " ended (" + Ago(life.end_time())) + ")" +
         (life.held().empty() ? "; it held nothing then" : "; with it went: " + life.held());
}

void TellLoss(const Invocation& call, const v1::GetServerInfoResponse& info) {
  if (!info.has_before() || !call.output.talkative()) return;
  const std::string text = LossText("the daemon before, " + info.before().name() + ",", info.before());
  if (!text.empty()) Remark(call.console, text);
}

Death DeathOf(const Settings& settings, const v1::EndpointRecord& record) {
  Death death;
  if (const auto life = LifeOf(settings.directory, record.generation())) {
    death.what = "it was last seen " + Ago(life->seen_time()) +
                 (life->held().empty() ? " and held nothing then" : "; with it went: " + life->held());
  }
  if (!record.log_file().empty()) death.last_words = LogTail(record.log_file(), 0, 1);
  return death;
}

}  // namespace hotplate::cli
