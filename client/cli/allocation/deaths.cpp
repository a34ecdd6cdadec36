#include "client/cli/allocation/deaths.h"

#include <algorithm>
#include <chrono>

#include "client/cli/allocation/local_daemon.h"
#include "client/cli/allocation/records.h"
#include "client/cli/scheduler/scheduler.h"
#include "client/cli/terminal/format.h"
#include "client/lib/endpoint.h"
#include "kernels/base/quantity.h"
#include "proto/codec/job_id_block.h"

namespace hotplate::cli {
namespace {

std::string Ago(const google::protobuf::Timestamp& time) {
  return DurationText(std::chrono::seconds(std::max<EpochSeconds>(0, Now().seconds() - time.seconds()))) + " ago";
}

// "last seen 6 s ago, when it held nothing". What came after its last note is not known.
std::string LastSeen(const v1::DaemonLife& life) {
  return "last seen " + Ago(life.seen_time()) + ", when it held" +
         (life.held().empty() ? " nothing" : ": " + life.held());
}

// The newest life for which `wanted` is true. A daemon's newest block holds its life.
template <typename Wanted>
std::optional<v1::DaemonLife> NewestLife(const std::string& directory, const Wanted& wanted) {
  const std::string folder = directory + "/jobs";
  const auto keys = codec::ListJobIdBlocks(folder);
  if (!keys) return std::nullopt;
  for (auto key = keys->rbegin(); key != keys->rend(); ++key) {
    const auto block = codec::ReadJobIdBlock(folder, *key);
    if (block && wanted(block->daemon())) return block->daemon();
  }
  return std::nullopt;
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
  // Without a name, a daemon whose record is there comes first.
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
  if (died) return who + " died; it was " + LastSeen(life);
  return who + " ended (" + Ago(life.end_time()) + "); with it went: " + life.held();
}

void TellLoss(const Invocation& call, const v1::GetServerInfoResponse& info) {
  if (!info.has_before() || !call.output.talkative()) return;
  const std::string text = LossText("the daemon before, " + info.before().name() + ",", info.before());
  if (!text.empty()) Remark(call.console, text);
}

Death DeathOf(const Settings& settings, const v1::EndpointRecord& record) {
  Death death;
  if (const auto life = LifeOf(settings.directory, record.generation())) death.what = "it was " + LastSeen(*life);
  if (!record.log_file().empty()) death.last_words = LogTail(record.log_file(), 0, 1);
  return death;
}

}  // namespace hotplate::cli
