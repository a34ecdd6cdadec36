// hotplate top: devices and jobs, redrawn.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "client/cli/allocation/regain.h"
#include "client/cli/allocation/text.h"
#include "client/cli/commands.h"
#include "client/cli/interrupt.h"
#include "client/cli/jobs/device_text.h"
#include "client/cli/jobs/job_text.h"
#include "client/cli/jobs/progress.h"
#include "client/cli/terminal/json.h"
#include "client/cli/terminal/table.h"
#include "kernels/base/quantity.h"

namespace hotplate::cli {
namespace {

constexpr std::uint32_t kHistory = 80;  // samples: eight seconds
constexpr int kSparks = 8;
constexpr std::uint32_t kMostJobs = 20;

struct Picture {
  v1::GetServerInfoResponse info;
  v1::TelemetrySnapshotResponse telemetry;
  std::vector<v1::Job> jobs;
};

absl::StatusOr<Picture> Look(client::Client& client) {
  Picture picture;
  auto info = client.Info();
  if (!info.ok()) return info.status();
  auto telemetry = client.Telemetry(kHistory);
  if (!telemetry.ok()) return telemetry.status();
  v1::ListJobsRequest request;
  request.set_page_size(kMostJobs);
  auto jobs = client.Jobs(request);
  if (!jobs.ok()) return jobs.status();
  picture.info = *std::move(info);
  picture.telemetry = *std::move(telemetry);
  picture.jobs = *std::move(jobs);
  return picture;
}

// The utilisation of the last seconds, one block per group of samples.
std::string Sparkline(const Picture& picture, const std::string& device) {
  static const char* const kLevels[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::vector<double> values;
  for (const v1::TelemetrySample& sample : picture.telemetry.samples())
    for (const v1::DeviceSample& of_device : sample.devices())
      if (of_device.device() == device && of_device.has_utilisation()) values.push_back(of_device.utilisation());
  std::string line;
  for (int i = 0; i < kSparks && !values.empty(); ++i) {
    const std::size_t begin = values.size() * static_cast<std::size_t>(i) / kSparks;
    const std::size_t end = std::max(begin + 1, values.size() * (static_cast<std::size_t>(i) + 1) / kSparks);
    double sum = 0;
    for (std::size_t k = begin; k < end; ++k) sum += values[k];
    const double mean = std::clamp(sum / static_cast<double>(end - begin), 0.0, 1.0);
    line += kLevels[std::min<std::size_t>(7, static_cast<std::size_t>(mean * 8))];
  }
  return line;
}

std::vector<std::string> DeviceRow(const Picture& picture, const v1::Device& device, const v1::DeviceSample* sample) {
  std::vector<std::string> row = {device.id() + " " + device.name()};
  if (!sample) return row;
  row.push_back(sample->has_utilisation()
                    ? "util " + Sparkline(picture, device.id()) + " " + Percent(sample->utilisation())
                    : "");
  row.push_back(sample->has_memory_used_bytes()
                    ? "mem " + BytesText(sample->memory_used_bytes()) + " of " + BytesText(sample->memory_total_bytes())
                    : "");
  std::vector<std::string> rest = DeviceWords(*sample);
  if (!device.mode().empty() && device.mode() != "default") rest.push_back(device.mode());
  if (!device.lost().empty()) rest.push_back("LOST: " + device.lost());
  row.push_back(Join(rest, "   "));
  return row;
}

std::string JobRows(const std::vector<v1::Job>& jobs, bool colour) {
  Table table({"JOB", "KERNEL", "STATE", "PROGRESS", "RUNS FOR", "H→D", "KERNEL", "D→H"});
  const auto ns = [](bool has, std::uint64_t value) {
    return has ? DurationText(nanoseconds(static_cast<std::int64_t>(value))) : "-";
  };
  for (const v1::Job& job : jobs) {
    const v1::Receipt& receipt = job.receipt();
    std::string runs = "-";
    if (job.has_start_time())
      runs = DurationText(Between(job.start_time(), job.has_end_time() ? job.end_time() : NowOf(job)));
    table.Row({job.id(), job.kernel(), PaintedState(colour, job.state()),
               job.state() == v1::RUNNING ? Bar(job.progress(), 10) + " " + Percent(job.progress()) : "-", runs,
               ns(receipt.has_host_to_device_ns(), receipt.host_to_device_ns()),
               ns(receipt.has_kernel_ns(), receipt.kernel_ns()),
               ns(receipt.has_device_to_host_ns(), receipt.device_to_host_ns())});
  }
  return table.Text();
}

std::string Draw(const Picture& picture, bool colour) {
  const v1::GetServerInfoResponse& info = picture.info;
  const v1::TelemetrySample* newest =
      picture.telemetry.samples().empty() ? nullptr : &*picture.telemetry.samples().rbegin();
  std::string text = Paint(colour, Tone::kBold, info.name()) + "  " + info.node();
  if (info.allocation().has_end_time())
    text += "   ends in " + DurationText(Between(NowOf(info), info.allocation().end_time()));
  if (newest) {
    const v1::DaemonSample& daemon = newest->daemon();
    text += "   " + std::to_string(daemon.jobs_running()) + " running, " + std::to_string(daemon.jobs_pending()) +
            " queued, " + std::to_string(daemon.jobs_ended()) + " ended";
    text += "   arrays " + BytesText(daemon.array_bytes()) + " of " + BytesText(daemon.array_bytes_limit());
    if (daemon.idle_seconds() > 0) text += "   idle " + SecondsText(daemon.idle_seconds());
  }
  text += "\n";
  Table devices;
  for (const v1::Device& device : info.devices()) {
    const v1::DeviceSample* sample = nullptr;
    if (newest) sample = SampleOf(*newest, device.id());
    devices.Row(DeviceRow(picture, device, sample));
  }
  return text + devices.Text() + "\n" + JobRows(picture.jobs, colour);
}

std::string Json(const Picture& picture) {
  v1::ListJobsResponse jobs;
  for (const v1::Job& job : picture.jobs) *jobs.add_jobs() = job;
  const std::string sample = picture.telemetry.samples().empty() ? "{}" : ToJson(*picture.telemetry.samples().rbegin());
  return JsonObject().Raw("info", ToJson(picture.info)).Raw("sample", sample).Raw("jobs", ToJson(jobs)).Json();
}

// A pipe by which Ctrl-C ends a wait.
struct Wake {
  ~Wake() {
    for (const int end : ends) {
      if (end >= 0) close(end);
    }
  }
  int ends[2] = {-1, -1};
};

absl::Status Top(const Invocation& call) {
  const auto interval = call.arguments.Duration("interval");
  if (!interval.ok()) return interval.status();
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(interval->value_or(std::chrono::seconds(1)));
  if (wait < std::chrono::milliseconds(100)) return UsageError("--interval: at least 100ms");
  const bool screen = call.console.out_terminal && call.output.talkative();
  const bool quiet = call.arguments.Flag("quiet") && !call.arguments.Flag("json");
  const bool go_on = call.console.out_terminal || interval->has_value();
  const bool once = call.arguments.Flag("once") || quiet || !go_on;  // quiet: whether there is anything to see, no more

  Wake wake;  // until nobody watches for Ctrl-C any more
  if (pipe(wake.ends) != 0) return absl::ResourceExhaustedError("no more file descriptors");
  InterruptWatch interrupt([&wake] { [[maybe_unused]] const ssize_t n = write(wake.ends[1], "x", 1); });
  interrupt.Begin();
  auto client = call.Connect();
  absl::Status status = client.status();
  const bool live = screen && !once && status.ok();
  if (live) call.console.out << "\033[?1049h\033[?25l" << std::flush;
  const auto interrupted = [&](std::chrono::milliseconds pause) {
    pollfd stop{wake.ends[0], POLLIN, 0};
    return poll(&stop, 1, static_cast<int>(pause.count())) > 0 || interrupt.interrupted();
  };
  while (status.ok()) {
    const auto picture = Look(*client);
    status = picture.status();
    if (!status.ok()) {
      if (once || !MayAnswerLater(status)) break;
      client = Regain(call, client->server_name(), status, interrupted);
      status = interrupt.interrupted() ? absl::OkStatus() : client.status();
      if (!client.ok()) break;
      continue;
    }
    if (live) {
      // Overwrites line by line, then clears below: clearing first would flicker.
      std::string text = "\033[H";
      TerminalSize room = SizeOfTerminal();
      room.lines = std::max(1, room.lines - 2);  // for the last two
      for (const char c : Clipped(Draw(*picture, call.console.out_colour), room))
        text += c == '\n' ? std::string("\033[K\n") : std::string(1, c);
      call.console.out << text << "\033[K\nCtrl-C ends this\033[K\033[J" << std::flush;
    } else {
      call.output.Answer([&] { return Draw(*picture, call.console.out_colour); }, [&] { return Json(*picture); }, "");
    }
    if (once || !call.console.out) break;
    if (interrupted(wait)) break;
  }
  if (live) call.console.out << "\033[?25h\033[?1049l" << std::flush;
  return status;
}

}  // namespace

Command TopCommand() {
  return {.name = "top",
          .group = Group::kDevices,
          .summary = "show devices and jobs, live; in a pipe, once",
          .details = "In a pipe, --interval makes it repeat. --json prints one object per line.",
          .example = "hotplate top --once",
          .options = {{.names = "--once", .value = "", .help = "print once and exit"},
                      {.names = "--interval",
                       .value = "TIME",
                       .help = "time between updates (default 1s, at least 100ms)"}},
          .run = Top};
}

}  // namespace hotplate::cli
