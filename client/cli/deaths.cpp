#include "client/cli/deaths.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "client/cli/format.h"
#include "client/cli/local_daemon.h"
#include "client/cli/records.h"
#include "client/cli/scheduler/scheduler.h"
#include "client/lib/endpoint.h"

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

// The life that was told last of those that `wanted` takes: a daemon's newest block has it.
template <typename Wanted>
std::optional<v1::DaemonLife> NewestLife(const std::string& directory, const Wanted& wanted) {
  std::optional<v1::JobIdBlock> newest;
  std::error_code error;
  for (std::filesystem::directory_iterator at(directory + "/jobs", error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().extension() == ".new") continue;  // not whole yet, or never
    auto block = ReadBlock(at->path());
    if (!block || !wanted(block->daemon())) continue;
    const auto order = [](const v1::JobIdBlock& one) { return std::pair(one.first_job_id(), one.turn()); };
    if (!newest || order(*block) > order(*newest)) newest = std::move(block);
  }
  if (!newest) return std::nullopt;
  return newest->daemon();
}

}  // namespace

std::optional<v1::DaemonLife> LifeOf(const std::string& directory, const std::string& generation) {
  return NewestLife(directory, [&](const v1::DaemonLife& life) { return life.generation() == generation; });
}

std::string EndText(const v1::DaemonLife& life) {
  std::string text;
  if (!life.saved().empty()) text += "\n  saved: " + Printable(life.saved());
  if (!life.held().empty()) text += "\n  went with it: " + Printable(life.held());
  return text;
}

std::string LastEnd(const Settings& settings) {
  if (!client::CheckDirectory(settings.directory).ok()) return "";  // others could have written it
  const auto name = ServerName(settings);
  // Without a name, it is about a daemon whose record is there, if there is one.
  if (!name && !ServerNames(settings).empty()) return "";
  const auto life = NewestLife(
      settings.directory, [&](const v1::DaemonLife& one) { return name ? one.name() == *name : one.has_end_time(); });
  if (!life || !life->has_end_time()) return "";
  const std::string reason = life->end_reason().empty() ? "" : ": " + Printable(life->end_reason());
  const std::string text = EndText(*life);
  return life->name() + " ended " + Ago(life->end_time()) + reason + (text.empty() ? "; nothing was lost" : text);
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
