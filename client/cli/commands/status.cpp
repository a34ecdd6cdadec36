// hotplate status: the daemon at a glance.
#include "client/cli/commands.h"
#include "client/cli/json.h"
#include "client/cli/records.h"
#include "client/cli/table.h"

namespace hotplate::cli {
namespace {

// The daemon's SERVING is what people call ready.
std::string StateWord(v1::DaemonState state) { return state == v1::SERVING ? "READY" : v1::DaemonState_Name(state); }

std::string SecondsText(double seconds) { return Span(nanoseconds(static_cast<std::int64_t>(seconds * 1e9))); }

std::string Page(const Invocation& call, const v1::GetServerInfoResponse& info, const v1::ListArraysResponse& arrays,
                 std::size_t active_jobs) {
  std::string page = Paint(call.console.out_colour, Tone::kBold, info.name()) + "  " + StateWord(info.state()) +
                     "  pid " + std::to_string(info.pid()) + " on " + info.node() + "  up " +
                     Span(Between(info.start_time(), Now())) + "\n";
  Table table;
  table.Indent(2);
  table.Row({"version", "hotplated " + info.versions().hotplate() +
                            (info.versions().cuda().empty()
                                 ? ""
                                 : ", CUDA " + info.versions().cuda() + ", driver " + info.versions().driver())});
  if (!info.allocation().job_id().empty())
    table.Row({"allocation",
               info.allocation().cluster() + " " + info.allocation().job_id() +
                   (info.allocation().has_end_time() ? ", ends in " + Span(Between(Now(), info.allocation().end_time()))
                                                     : "")});
  for (const v1::Device& device : info.devices())
    table.Row(
        {"device", device.id() + "  " + device.name() + (device.lost().empty() ? "" : "  LOST: " + device.lost())});
  table.Row({"jobs", std::to_string(active_jobs) + " queued or running, at most " +
                         std::to_string(info.limits().queued_jobs()) + " queued"});
  table.Row({"arrays", std::to_string(arrays.arrays_size()) + ", " + Bytes(static_cast<double>(arrays.bytes_held())) +
                           " of " + Bytes(static_cast<double>(arrays.bytes_limit()))});
  std::string idle = SecondsText(info.idle_seconds());
  if (info.has_idle_timeout() && info.idle_timeout().seconds() > 0)
    idle += "; ends itself after " + SecondsText(static_cast<double>(info.idle_timeout().seconds()));
  table.Row({"idle", idle});
  return page + table.Text();
}

absl::Status Status(const Invocation& call) {
  auto client = call.Connect();
  if (!client.ok()) return client.status();
  const auto info = client->Info();
  if (!info.ok()) return info.status();
  v1::ListJobsRequest active;
  active.set_active_only(true);
  active.set_page_size(1000);
  const auto jobs = client->Jobs(active);
  if (!jobs.ok()) return jobs.status();
  const auto arrays = client->Arrays();
  if (!arrays.ok()) return arrays.status();
  call.output.Answer([&] { return Page(call, *info, *arrays, jobs->size()); }, [&] { return ToJson(*info); },
                     StateWord(info->state()));
  return absl::OkStatus();
}

}  // namespace

Command StatusCommand() {
  return {.name = "status",
          .group = Group::kDaemon,
          .summary = "show the daemon: state, process, devices, load",
          .details = "Exit code 3 if none answers. With --json all that the daemon says of itself, pid included.",
          .example = "hotplate status --json | jq .pid",
          .run = Status};
}

}  // namespace hotplate::cli
