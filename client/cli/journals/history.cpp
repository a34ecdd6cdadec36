#include "client/cli/journals/history.h"

#include <algorithm>

#include "client/cli/jobs/job_text.h"
#include "client/cli/terminal/format.h"
#include "client/cli/terminal/json.h"
#include "client/cli/terminal/table.h"
#include "kernels/base/quantity.h"

namespace hotplate::cli {
namespace {

constexpr char kNone[] = "No jobs found. Only daemons started with --journal on keep a history.\n";

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
  if (job.use.energy_joules) json.Raw("energyJoules", JsonNumber(*job.use.energy_joules));
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
  return "id,kernel,label,state,device,daemon,node,submit_time,start_time,end_time,device_seconds,energy_joules\n";
}

std::string CsvOf(const PastJob& job) {
  return Join({std::to_string(job.number), Field(job.kernel), Field(job.label), StateName(static_cast<int>(job.state)),
               Field(job.device), Field(job.daemon), Field(job.node), IsoText(job.submitted),
               job.started ? IsoText(*job.started) : "", IsoText(job.ended), SecondsField(job.use.device_time),
               JoulesField(job.use.energy_joules)},
              ",") +
         "\n";
}

std::string NameOf(SumBy by) { return by == SumBy::kDay ? "day" : by == SumBy::kLabel ? "label" : "kernel"; }

PastSum TotalOf(const std::vector<PastSum>& sums) {
  PastSum total{.of = "total"};
  for (const PastSum& sum : sums) {
    total.jobs += sum.jobs;
    total.device_time += sum.device_time;
    if (sum.energy_joules) total.energy_joules = total.energy_joules.value_or(0) + *sum.energy_joules;
  }
  return total;
}

std::string TextOf(const std::vector<PastSum>& sums, const PastSum& total, SumBy by, int width) {
  if (sums.empty()) return kNone;
  Table table({by == SumBy::kDay ? "DAY" : by == SumBy::kLabel ? "LABEL" : "KERNEL", "JOBS", "DEVICE TIME", "ENERGY"});
  table.AlignRight(1).MayBeCut(0, 12);
  const auto add = [&](const std::string& of, const PastSum& sum) {
    table.Row({of, std::to_string(sum.jobs), DurationText(sum.device_time), EnergyText(sum.energy_joules)});
  };
  for (const PastSum& sum : sums) add(OrDash(sum.of), sum);
  if (sums.size() > 1) add(total.of, total);
  return table.Text(width);
}

std::string JsonOf(const std::vector<PastSum>& sums, SumBy by) {
  std::vector<std::string> rows;
  for (const PastSum& sum : sums) {
    JsonObject json;
    json.Text(NameOf(by), sum.of).Count("jobs", static_cast<std::int64_t>(sum.jobs));
    json.Count("deviceNs", sum.device_time.count());
    if (sum.energy_joules) json.Raw("energyJoules", JsonNumber(*sum.energy_joules));
    rows.push_back(json.Json());
  }
  return JsonArray(rows);
}

std::string CsvOf(const std::vector<PastSum>& sums, SumBy by) {
  std::string csv = NameOf(by) + ",jobs,device_seconds,energy_joules\n";
  for (const PastSum& sum : sums) {
    csv +=
        Join({Field(sum.of), std::to_string(sum.jobs), SecondsField(sum.device_time), JoulesField(sum.energy_joules)},
             ",") +
        "\n";
  }
  return csv;
}

}  // namespace hotplate::cli
