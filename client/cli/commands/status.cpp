// hotplate status: the daemon at a glance.
#include <algorithm>
#include <map>

#include "client/cli/allocation/absence.h"
#include "client/cli/allocation/deaths.h"
#include "client/cli/allocation/forwarding.h"
#include "client/cli/allocation/records.h"
#include "client/cli/allocation/text.h"
#include "client/cli/allocation/up_wait.h"
#include "client/cli/commands.h"
#include "client/cli/terminal/json.h"
#include "client/cli/terminal/table.h"
#include "kernels/base/quantity.h"

namespace hotplate::cli {
namespace {

// READY is the users' word for SERVING.
std::string StateWord(v1::DaemonState state) { return state == v1::SERVING ? "READY" : v1::DaemonState_Name(state); }

// "fake 12 on gpu1, partition gpu, ends 10:12 (in 30 m)"
std::string AllocationWords(const v1::GetServerInfoResponse& info) {
  const v1::Allocation& allocation = info.allocation();
  std::string text = (allocation.cluster().empty() ? "job" : allocation.cluster()) + " " + allocation.job_id();
  if (!allocation.node_list().empty()) text += " on " + allocation.node_list();
  if (!allocation.partition().empty()) text += ", partition " + allocation.partition();
  if (allocation.has_end_time()) text += ", " + EndsText(info);
  if (allocation.restart_count() > 0) text += ", requeued " + std::to_string(allocation.restart_count()) + " ×";
  return text;
}

std::string VersionsText(const v1::Versions& versions) {
  std::string text = "hotplated " + versions.hotplate();
  if (!versions.cuda().empty()) text += ", CUDA " + versions.cuda();
  if (!versions.driver().empty()) text += ", driver " + versions.driver();
  const std::map<std::string, std::string> libraries(versions.libraries().begin(), versions.libraries().end());
  for (const auto& [name, version] : libraries) text += ", " + name + " " + version;
  return text;
}

std::string StatusPage(const Invocation& call, const v1::GetServerInfoResponse& info,
                       const v1::ListArraysResponse& arrays, std::size_t active_jobs, const std::string& guest) {
  std::string page =
      Paint(call.console.out_colour, Tone::kBold, info.name()) + "  " +
      Paint(call.console.out_colour, info.state() == v1::SERVING ? Tone::kGood : Tone::kBold, StateWord(info.state())) +
      "  pid " + std::to_string(info.pid()) + " on " + info.node() + "  up " +
      DurationText(Between(info.start_time(), NowOf(info))) + "\n";
  Table table;
  table.Indent(2);
  if (!guest.empty()) table.Row({"you are", "guest " + Printable(guest)});
  table.Row({"version", VersionsText(info.versions())});
  if (!info.allocation().job_id().empty()) {
    table.Row({"allocation", AllocationWords(info)});
    if (const std::string usage = UsageText(info.allocation()); !usage.empty()) table.Row({"used", usage});
  }
  for (const v1::Device& device : info.devices())
    table.Row(
        {"device", device.id() + "  " + device.name() + (device.lost().empty() ? "" : "  LOST: " + device.lost())});
  table.Row({"jobs", std::to_string(active_jobs) + " queued or running, at most " +
                         std::to_string(info.limits().queued_jobs()) + " queued"});
  table.Row({"arrays", std::to_string(arrays.arrays_size()) + ", " + BytesText(arrays.bytes_held()) + " of " +
                           BytesText(arrays.bytes_limit())});
  std::string idle = SecondsText(info.idle_seconds());
  const double timeout =
      static_cast<double>(info.idle_timeout().seconds()) + static_cast<double>(info.idle_timeout().nanos()) * 1e-9;
  idle += timeout > 0 ? "; ends itself after " + SecondsText(timeout) : "; never ends itself";
  table.Row({"idle", idle});
  page += table.Text();
  const std::string unavailable = UnavailableText(info);
  if (!unavailable.empty()) page += "! " + Printable(unavailable) + "\n";
  return Fitted(page, WidthOf(call.console));
}

// The record's daemon, if it is known to have died. It is shown while its record is there.
std::optional<v1::EndpointRecord> DeadDaemon(const Invocation& call) {
  auto record = ChosenRecord(call.settings);
  if (!record || !client::KnownDead(*record)) return std::nullopt;
  return record;
}

absl::Status ShowDead(const Invocation& call, const v1::EndpointRecord& record) {
  const Death death = DeathOf(call.settings, record);
  const std::string node = record.endpoints(0).node();
  call.output.Answer(
      [&] {
        Table table;
        table.Indent(2);
        table.Row({"process", "that process is gone" + (death.what.empty() ? "" : "; " + death.what)});
        if (!death.last_words.empty()) table.Row({"last words", Printable(death.last_words)});
        table.Row({"next", "clear it: hotplate down " + record.name() + " · hotplate logs --server " + record.name() +
                               " · another: hotplate up"});
        return Paint(call.console.out_colour, Tone::kBold, record.name()) + "  DEAD  pid " +
               std::to_string(record.pid()) + " on " + node + "\n" + table.Text();
      },
      [&] {
        return JsonObject()
            .Text("name", record.name())
            .Text("state", "DEAD")
            .Raw("pid", std::to_string(record.pid()))
            .Text("node", node)
            .Text("what", death.what)
            .Text("lastWords", death.last_words)
            .Json();
      },
      "DEAD");
  return Silent(kExitNoDaemon);
}

// Adds the last daemon's account of its end, if there is one.
absl::Status WithLastEnd(const Invocation& call, const absl::Status& why) {
  const std::string end = absl::IsUnavailable(why) ? LastEnd(call.settings) : "";
  return end.empty() ? why : Worded(why, std::string(why.message()) + "\n" + end);
}

// Shows the page of an allocation whose daemon does not answer. The exit code is still 3, by which scripts wait.
absl::Status WithoutDaemon(const Invocation& call, const absl::Status& why) {
  const auto found = absl::IsUnavailable(why) ? LookForAllocation(call) : std::nullopt;
  if (!found && absl::IsUnavailable(why) && call.settings.endpoint.empty())
    if (const auto dead = DeadDaemon(call)) return ShowDead(call, *dead);
  if (!found || found->note.over() || !found->status.ok() || found->has_record || found->daemon_ended)
    return WithLastEnd(call, WhyNoDaemon(call, why));
  const AllocationNote& note = found->note;
  const JobStatus& status = *found->status;
  const bool pending = status.phase == JobStatus::Phase::kPending;
  const bool ending = status.phase == JobStatus::Phase::kEnding;
  const std::string state = pending ? "PENDING" : ending ? "ENDING" : "STARTING";
  call.output.Answer(
      [&] {
        Table table;
        table.Indent(2);
        table.Row({"allocation", StateText(note.job, status)});
        if (const std::string advice = pending ? WhatToDoAboutReason(status.reason) : ""; !advice.empty())
          table.Row({"", advice});
        if (!note.site.empty()) table.Row({"asked for", Join(note.request, " ")});
        table.Row({"submitted", TimeText(note.submit_time) + ", " +
                                    DurationText(std::chrono::seconds(
                                        std::max<EpochSeconds>(0, Now().seconds() - note.submit_time))) +
                                    " ago"});
        table.Row({"output", note.output_file});
        if (!ending)
          table.Row(
              {"next", "wait for it: hotplate up --name " + note.name + " · give it up: hotplate down " + note.name});
        return Paint(call.console.out_colour, Tone::kBold, note.name) + "  " + state + "\n" + table.Text();
      },
      [&] {
        JsonObject json = AllocationJson(note, state);
        json.Text("reason", status.reason).Text("nodes", status.nodes);
        if (status.start) json.Raw(pending ? "estimatedStart" : "startTime", std::to_string(*status.start));
        return json.Json();
      },
      state);
  return Silent(kExitNoDaemon);
}

absl::Status Status(const Invocation& call) {
  if (call.arguments.Flag("forward")) return ShowForwarding(call);
  auto client = call.TryConnect();
  if (!client.ok()) return WithoutDaemon(call, client.status());
  const auto info = client->Info();
  if (!info.ok()) return info.status();
  v1::ListJobsRequest active;
  active.set_active_only(true);
  active.set_page_size(1000);
  const auto jobs = client->Jobs(active);
  if (!jobs.ok()) return jobs.status();
  const auto arrays = client->Arrays();
  if (!arrays.ok()) return arrays.status();
  call.output.Answer([&] { return StatusPage(call, *info, *arrays, jobs->size(), client->record().guest()); },
                     [&] { return ToJson(*info); }, StateWord(info->state()));
  return absl::OkStatus();
}

}  // namespace

Command StatusCommand() {
  return {
      .name = "status",
      .group = Group::kDaemon,
      .summary = "show the daemon: state, process, devices, load",
      .details =
          "If the allocation has no daemon yet, shows its place in the queue. The exit code is 3 until a daemon\n"
          "answers. After a daemon has ended, shows what it saved and what was lost. --json shows everything that the\n"
          "daemon reports, such as its pid.",
      .example = "hotplate status --json | jq .pid",
      .options = {{.names = "--forward",
                   .value = "",
                   .help = "print the ssh command that forwards its port to this host"}},
      .run = Status};
}

}  // namespace hotplate::cli
