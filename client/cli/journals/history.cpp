#include "client/cli/journals/history.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "client/cli/jobs/job_text.h"
#include "client/cli/journals/start_forecasts.h"
#include "client/cli/terminal/format.h"
#include "client/cli/terminal/json.h"
#include "client/cli/terminal/table.h"
#include "hotplate/v1/jobs.pb.h"
#include "kernels/base/quantity.h"

namespace hotplate::cli {
namespace {

constexpr char kNone[] = "No jobs found. Daemons started with --journal off keep no history.\n";

std::string OrDash(const std::string& text) { return text.empty() ? "-" : Printable(text); }

std::string EnergyText(const std::optional<double>& joules) { return joules ? ScaledText(*joules, "J") : "-"; }

// RFC 4180. A terminal may show it, too.
std::string Field(const std::string& any) {
  const std::string text = Printable(any);
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char letter : text) quoted += letter == '"' ? std::string("\"\"") : std::string(1, letter);
  return quoted + "\"";
}

// "2026-11-27T02:12:22.123456Z"
std::string IsoText(journal::WallTime time) {
  const google::protobuf::Timestamp stamp = ToTimestamp(time);
  const std::string micros = std::to_string(1'000'000 + stamp.nanos() / 1000).substr(1);
  return UtcTime(stamp.seconds(), "%Y-%m-%dT%H:%M:%S.") + micros + "Z";
}

std::string SecondsField(nanoseconds span) { return Number(std::chrono::duration<double>(span).count()); }
std::string JoulesField(const std::optional<double>& joules) { return joules ? Number(*joules) : ""; }

}  // namespace

std::string JsonOf(const PastJob& job) {
  JsonObject json;
  json.Text("id", std::to_string(job.number)).Text("kernel", job.kernel).Text("label", job.label);
  json.Text("state", StateName(static_cast<int>(job.state))).Text("device", job.device);
  json.Text("daemon", job.daemon).Text("node", job.node).Raw("submitTime", ToJson(ToTimestamp(job.submitted)));
  if (job.started) json.Raw("startTime", ToJson(ToTimestamp(*job.started)));
  json.Raw("endTime", ToJson(ToTimestamp(job.ended))).Count("deviceNs", job.use.device_time.count());
  json.Count("gpuNs", job.use.gpu_time.count());
  if (job.use.energy_joules) json.Raw("energyJoules", JsonNumber(*job.use.energy_joules));
  v1::JobEnd end;
  if (!job.end.empty() && end.ParseFromString(job.end)) {
    if (end.has_error()) json.Raw("error", ToJson(end.error()));
    if (end.result().has_receipt()) json.Raw("receipt", ToJson(end.result().receipt()));
  }
  return json.Json();
}

std::string TextOf(const std::vector<PastJob>& jobs, bool colour, int width) {
  if (jobs.empty()) return kNone;
  const bool labels = std::any_of(jobs.begin(), jobs.end(), [](const auto& job) { return !job.label.empty(); });
  std::vector<std::string> heads = {"JOB", "KERNEL", "STATE", "DEVICE", "DAEMON", "ENDED", "DEVICE TIME", "ENERGY"};
  if (labels) heads.emplace_back("LABEL");
  Table table(heads);
  table.MayBeCut(labels ? 8 : 4).MayBeCut(4).MayBeCut(1, 12);
  for (const PastJob& job : jobs) {
    std::vector<std::string> row = {std::to_string(job.number),
                                    Printable(job.kernel),
                                    PaintedState(colour, static_cast<int>(job.state)),
                                    OrDash(job.device),
                                    Printable(job.daemon),
                                    DateText(job.ended),
                                    DurationText(job.use.device_time),
                                    EnergyText(job.use.energy_joules)};
    if (labels) row.push_back(OrDash(job.label));
    table.Row(std::move(row));
  }
  return table.Text(width);
}

std::string CsvHead() {
  return "id,kernel,label,state,device,daemon,node,submit_time,start_time,end_time,device_seconds,gpu_seconds,energy_"
         "joules,foretold_wait_seconds\n";
}

std::string CsvOf(const PastJob& job) {
  const std::optional<ForetoldWait> wait = ForetoldWaitOf(job);
  return Join({std::to_string(job.number), Field(job.kernel), Field(job.label), StateName(static_cast<int>(job.state)),
               Field(job.device), Field(job.daemon), Field(job.node), IsoText(job.submitted),
               job.started ? IsoText(*job.started) : "", IsoText(job.ended), SecondsField(job.use.device_time),
               SecondsField(job.use.gpu_time), JoulesField(job.use.energy_joules),
               wait ? SecondsField(wait->foretold) : ""},
              ",") +
         "\n";
}

std::string TextOf(const std::vector<PastSum>& sums, const PastSum& total, const std::vector<SumBy>& by, int width) {
  if (sums.empty()) return kNone;
  const bool gpus = total.use.gpu_time > nanoseconds{} || total.gpu_idle.value_or(nanoseconds{}) > nanoseconds{};
  std::vector<std::string> heads;
  for (const SumBy one : by) heads.push_back(absl::AsciiStrToUpper(NameOf(one)));
  heads.insert(heads.end(), {"JOBS", "DEVICE TIME"});
  if (gpus) heads.emplace_back("GPU TIME");
  if (gpus && total.gpu_idle) heads.emplace_back("GPU IDLE");
  heads.emplace_back("ENERGY");
  Table table(heads);
  table.AlignRight(by.size());
  for (std::size_t i = 0; i < by.size(); ++i) table.MayBeCut(i, 12);
  const auto add = [&](std::vector<std::string> row, const PastSum& sum) {
    row.insert(row.end(), {std::to_string(sum.jobs), DurationText(sum.use.device_time)});
    if (gpus) row.push_back(DurationText(sum.use.gpu_time));
    if (gpus && total.gpu_idle) row.push_back(DurationText(sum.gpu_idle.value_or(nanoseconds{})));
    row.push_back(EnergyText(sum.use.energy_joules));
    table.Row(std::move(row));
  };
  for (const PastSum& sum : sums) {
    std::vector<std::string> row;
    for (const std::string& of : sum.of) row.push_back(OrDash(of));
    add(std::move(row), sum);
  }
  if (sums.size() > 1) {
    std::vector<std::string> row(by.size());
    row.front() = "total";
    add(std::move(row), total);
  }
  return table.Text(width);
}

std::string JsonOf(const std::vector<PastSum>& sums, const std::vector<SumBy>& by) {
  std::vector<std::string> rows;
  for (const PastSum& sum : sums) {
    JsonObject json;
    for (std::size_t i = 0; i < by.size(); ++i) json.Text(NameOf(by[i]), sum.of[i]);
    json.Count("jobs", static_cast<std::int64_t>(sum.jobs)).Count("deviceNs", sum.use.device_time.count());
    json.Count("gpuNs", sum.use.gpu_time.count());
    if (sum.gpu_idle) json.Count("gpuIdleNs", sum.gpu_idle->count());
    if (sum.use.energy_joules) json.Raw("energyJoules", JsonNumber(*sum.use.energy_joules));
    rows.push_back(json.Json());
  }
  return JsonArray(rows);
}

std::string CsvOf(const std::vector<PastSum>& sums, const std::vector<SumBy>& by) {
  std::string csv;
  for (const SumBy one : by) csv += NameOf(one) + ",";
  csv += "jobs,device_seconds,gpu_seconds,gpu_idle_seconds,energy_joules\n";
  for (const PastSum& sum : sums) {
    for (const std::string& of : sum.of) csv += Field(of) + ",";
    csv += Join({std::to_string(sum.jobs), SecondsField(sum.use.device_time), SecondsField(sum.use.gpu_time),
                 sum.gpu_idle ? SecondsField(*sum.gpu_idle) : "", JoulesField(sum.use.energy_joules)},
                ",") +
           "\n";
  }
  return csv;
}

}  // namespace hotplate::cli
