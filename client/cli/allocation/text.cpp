#include "client/cli/allocation/text.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <map>
#include <string_view>
#include <vector>

#include "client/cli/terminal/format.h"
#include "client/cli/terminal/json.h"
#include "kernels/base/quantity.h"

namespace hotplate::cli {
namespace {

// A note on the daemon's CPU lanes, which is no reason for a missing GPU.
bool IsOfTheCpu(std::string_view note) { return note.starts_with("threads: ") || note.starts_with("memory: "); }

// The meaning of Slurm's word for an end.
std::string_view Meaning(std::string_view state) {
  struct Word {
    std::string_view state, meaning;
  };
  static constexpr Word kWords[] = {{"TIMEOUT", "its time limit"},
                                    {"COMPLETED", "the daemon ended by itself"},
                                    {"CANCELLED", "by scancel or by an administrator"},
                                    {"NODE_FAIL", "its node failed"},
                                    {"PREEMPTED", "a job of higher priority replaced it"},
                                    {"OUT_OF_MEMORY", "it used more memory than it had requested"},
                                    {"BOOT_FAIL", "its node did not start"},
                                    {"DEADLINE", "it could not finish before its deadline"}};
  for (const Word& word : kWords)
    if (word.state == state) return word.meaning;
  return "";
}

std::string Minutes(double minutes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", minutes);
  return text;
}

}  // namespace

std::string TimeText(EpochSeconds time) {
  const std::time_t then = time, now = std::time(nullptr);
  std::tm then_parts{}, now_parts{};
  localtime_r(&then, &then_parts);
  localtime_r(&now, &now_parts);
  const bool today = then_parts.tm_year == now_parts.tm_year && then_parts.tm_yday == now_parts.tm_yday;
  char text[32];
  std::strftime(text, sizeof text, today ? "%H:%M" : "%b %e %H:%M", &then_parts);
  return text;
}

std::string StateText(const SchedulerJob& job, const JobStatus& status) {
  std::string text = "job " + job.id + "  " + status.state;
  if (status.phase == JobStatus::Phase::kForgotten) return "job " + job.id + "  is not known (any more)";
  if (status.phase != JobStatus::Phase::kRunning && !status.reason.empty()) text += "  (" + status.reason + ")";
  if (status.phase == JobStatus::Phase::kPending && status.start)
    text += "  estimated start " + TimeText(*status.start);
  if (status.phase == JobStatus::Phase::kRunning && !status.nodes.empty()) text += "  on " + status.nodes;
  return text;
}

std::string EndText(const AllocationNote& note) {
  std::string text = note.name + (note.end_time ? " ended at " + TimeText(*note.end_time) : " is over");
  const std::string job = "job " + note.job.id;
  if (note.end_state == "UNKNOWN" || !note.over()) return text + " (" + job + " is not known any more)";
  if (note.end_reason == kEndedByDown) return text + " (" + job + ": " + kEndedByDown + ")";
  text += " (" + job + ": " + note.end_state;
  const std::string_view meaning = Meaning(note.end_state);
  if (!meaning.empty()) return text + ", " + std::string(meaning) + ")";
  return text + (note.end_reason.empty() ? "" : ", " + note.end_reason) + ")";
}

std::string DevicesText(const v1::GetServerInfoResponse& info) {
  std::vector<std::string> kinds;  // in the daemon's order
  std::map<std::string, int> count;
  for (const v1::Device& device : info.devices()) {
    const bool cpu = device.backend() == "cpu";
    std::string kind = cpu ? device.id() + " " + device.name() : device.name() + " " + BytesText(device.memory_bytes());
    if (count[kind]++ == 0) kinds.push_back(std::move(kind));
  }
  std::vector<std::string> parts;
  for (const std::string& kind : kinds)
    parts.push_back(kind.rfind("cpu", 0) == 0 ? kind : std::to_string(count[kind]) + " × " + kind);
  return Join(parts, ", ");
}

int UsableGpus(const v1::GetServerInfoResponse& info) {
  return static_cast<int>(std::count_if(info.devices().begin(), info.devices().end(), [](const v1::Device& device) {
    return device.backend() != "cpu" && device.lost().empty();
  }));
}

bool ChoseCpu(const std::vector<std::string>& words) {
  bool cpu = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--device" && i + 1 < words.size()) cpu = words[i + 1] == "cpu";
    if (words[i].starts_with("--device=")) cpu = words[i] == "--device=cpu";
  }
  return cpu;
}

std::string MissingGpusText(int asked, const v1::GetServerInfoResponse& info) {
  const int usable = UsableGpus(info);
  if (usable >= asked) return "";
  std::string text = std::to_string(asked) + (asked == 1 ? " GPU was" : " GPUs were") + " asked for, and " +
                     (usable == 0 ? "none" : std::to_string(usable)) + " can be used";
  std::vector<std::string> reasons;
  for (const v1::Device& device : info.devices())
    if (!device.lost().empty()) reasons.push_back(device.id() + " is lost: " + device.lost());
  for (const std::string& note : info.device_notes())
    if (!IsOfTheCpu(note)) reasons.push_back(note);
  if (reasons.empty()) return text + "; why: hotplate logs";
  return text + ":\n  " + Join(reasons, "\n  ");
}

std::string UnavailableText(const v1::GetServerInfoResponse& info) {
  std::vector<std::string> lines;
  for (const v1::UnavailableKernels& one : info.unavailable_kernels()) {
    lines.push_back(Join({one.devices().begin(), one.devices().end()}, ", ") + " cannot run " +
                    Join({one.kernels().begin(), one.kernels().end()}, ", ") + ": " + one.reason());
  }
  if (lines.empty()) return "";
  const auto cpu = std::find_if(info.devices().begin(), info.devices().end(),
                                [](const v1::Device& device) { return device.backend() == "cpu"; });
  if (cpu != info.devices().end())
    lines.push_back("such jobs are refused; to run them on the CPU: --device " + cpu->id() + " or --device any");
  return Join(lines, "\n  ");
}

std::string UnavailableJson(const v1::GetServerInfoResponse& info) {
  std::vector<std::string> json;
  for (const v1::UnavailableKernels& one : info.unavailable_kernels()) json.push_back(ToJson(one));
  return JsonArray(json);
}

std::string EndsText(const v1::GetServerInfoResponse& info) {
  const nanoseconds left = Between(NowOf(info), info.allocation().end_time());
  const google::protobuf::Timestamp now = Now();
  const nanoseconds end = std::chrono::seconds(now.seconds()) + nanoseconds(now.nanos()) + left;
  return "ends " + TimeText(std::chrono::floor<std::chrono::seconds>(end).count()) + " (in " + DurationText(left) + ")";
}

std::string UsageText(const v1::Allocation& allocation) {
  if (allocation.gpu_minutes_used() <= 0) return "";
  return Minutes(allocation.gpu_minutes_used()) + " GPU-minutes, " + Minutes(allocation.gpu_minutes_idle()) + " idle";
}

}  // namespace hotplate::cli
