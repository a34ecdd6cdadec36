#include "client/cli/jobs/job_text.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>

#include "client/cli/catalogue/catalogue.h"
#include "client/cli/ending.h"
#include "client/cli/jobs/elements.h"
#include "client/cli/jobs/receipt.h"
#include "client/cli/sweeps/sweep_text.h"
#include "client/cli/terminal/console.h"
#include "client/cli/terminal/format.h"
#include "client/cli/terminal/json.h"
#include "client/cli/terminal/table.h"
#include "kernels/array/quoted.h"
#include "kernels/base/quantity.h"

namespace hotplate::cli {
namespace {

nanoseconds QueuedTime(const v1::Job& job) {
  if (job.has_start_time()) return Between(job.submit_time(), job.start_time());
  if (job.has_end_time()) return Between(job.submit_time(), job.end_time());
  return Between(job.submit_time(), NowOf(job));
}

std::string QueuedFor(const v1::Job& job) { return DurationText(QueuedTime(job)); }

std::string ParamsText(const v1::Job& job) {
  std::vector<std::string> params;
  for (const auto& [name, value] : job.params()) params.push_back(name + " = " + Text(value));
  std::sort(params.begin(), params.end());  // the map has no order of its own
  return Join(params, ", ");
}

int LongestKernelName() {
  static const int longest = [] {
    int columns = 0;
    for (const v1::KernelSpec& kernel : EmbeddedKernels()) columns = std::max(columns, DisplayWidth(kernel.name()));
    return columns;
  }();
  return longest;
}

std::string KernelTime(const v1::Job& job) {
  if (job.receipt().has_kernel_ns())
    return DurationText(nanoseconds(static_cast<std::int64_t>(job.receipt().kernel_ns())));
  if (job.state() == v1::RUNNING && job.has_tasks()) return CountsText(job.tasks());
  if (job.state() == v1::RUNNING && job.progress() > 0) return Percent(job.progress());
  return "-";
}

v1::Signature ToWire(const hotplate::Signature& signature) {
  v1::Signature wire;
  wire.set_dtype(static_cast<v1::DType>(signature.dtype));
  for (const std::int64_t size : signature.shape) wire.add_shape(size);
  return wire;
}

// For a DeviceFit or an ArrayMemory.
template <typename Message>
std::string RoomText(const Message& room) {
  return BytesText(room.bytes_needed()) + " needed, " + BytesText(room.bytes_free()) + " free of " +
         BytesText(room.bytes_total());
}

std::string WhenText(const v1::DeviceFit& fit) {
  if (fit.fit() == v1::DeviceFit::NOW) return "fits now";
  if (fit.fit() != v1::DeviceFit::LATER) return "never fits";
  if (!fit.has_after_job()) return "no job's end makes room";
  const std::string& kernel = fit.after_job().kernel();
  return "fits after job " + fit.after_job().job_id() + " (" + (kernel.empty() ? "not yours" : kernel) + ")";
}

// Empty while there is enough: a job does not wait for it.
std::string LackText(const v1::ArrayMemory& memory) {
  if (memory.bytes_needed() <= memory.bytes_free()) return "";
  const std::string lack = "of the memory for arrays (limit array-bytes) " + RoomText(memory);
  if (memory.bytes_needed() > memory.bytes_total()) return "  it can never run here: " + lack + "\n";
  return "  it would fail now: " + lack + "; free arrays or wait for jobs: hotplate arrays, hotplate jobs\n";
}

// The memory in use without any job: "; 1.2 GB held …".
std::string HeldText(const v1::DeviceFit& fit) {
  if (fit.fit() != v1::DeviceFit::LATER || fit.has_after_job()) return "";
  std::string text = "; " + BytesText(fit.bytes_held()) + " held";
  if (fit.bytes_of_arrays() > 0) text += ", " + BytesText(fit.bytes_of_arrays()) + " of it by arrays: hotplate arrays";
  return text;
}

std::string JobsText(const google::protobuf::RepeatedPtrField<std::string>& ids) {
  return (ids.size() == 1 ? "job " : "jobs ") + Join({ids.begin(), ids.end()}, ", ");
}

// Tasks of a sweep that has ended.
std::string FailedText(const v1::Job& job) {
  if (job.state() <= v1::RUNNING || job.tasks().failed() == 0) return "";
  return ", " + std::to_string(job.tasks().failed()) + " failed";
}

// Its device; of one that waits for other jobs, the first of these.
std::string WhereText(const v1::Job& job) {
  if (!job.device().empty()) return job.device();
  if (job.waits_for_size() == 0) return "-";
  return "after " + job.waits_for(0) + (job.waits_for_size() > 1 ? ", …" : "");
}

}  // namespace

std::string StateName(int state) {
  const std::string name = v1::JobState_Name(state);
  return name.empty() ? "state " + std::to_string(state) : name;
}

const std::vector<std::string>& JobStateNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (int state = v1::PENDING; v1::JobState_IsValid(state); ++state) all.push_back(StateName(state));
    return all;
  }();
  return names;
}

absl::StatusOr<std::vector<v1::JobState>> ParseStates(const std::vector<std::string>& words,
                                                      const std::vector<std::string>& names) {
  std::vector<v1::JobState> states;
  for (const std::string& one : SplitAt(words, ',')) {
    std::string name = one;
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
    v1::JobState state = v1::JOB_STATE_UNSPECIFIED;
    if (std::find(names.begin(), names.end(), name) == names.end() || !v1::JobState_Parse(name, &state))
      return UsageError("--state: " + Quoted(one) + " is none of " + Join(names, ", "));
    states.push_back(state);
  }
  return states;
}

std::string PaintedState(bool colour, int state) {
  const std::string name = StateName(state);
  switch (state) {
    case v1::RUNNING:
      return Paint(colour, Tone::kBold, name);
    case v1::COMPLETED:
      return Paint(colour, Tone::kGood, name);
    case v1::FAILED:
    case v1::TIMEOUT:
      return Paint(colour, Tone::kBad, name);
    case v1::CANCELLED:
      return Paint(colour, Tone::kDim, name);
    default:
      return name;
  }
}

const std::vector<std::string>& JobOrders() {
  static const std::vector<std::string> orders = {"id", "kernel", "state", "label", "queued", "time"};
  return orders;
}

void SortJobs(const std::string& order, std::vector<v1::Job>& jobs) {
  const auto by = [&](auto key, auto before) {
    std::stable_sort(jobs.begin(), jobs.end(),
                     [&](const v1::Job& a, const v1::Job& b) { return before(key(a), key(b)); });
  };
  if (order == "kernel") by([](const v1::Job& job) { return job.kernel(); }, std::less<>());
  if (order == "label") by([](const v1::Job& job) { return job.label(); }, std::less<>());
  if (order == "state") by([](const v1::Job& job) { return static_cast<int>(job.state()); }, std::less<>());
  if (order == "queued") by(QueuedTime, std::greater<>());
  if (order == "time") by([](const v1::Job& job) { return job.receipt().kernel_ns(); }, std::greater<>());
}

std::string JobTable(const std::vector<v1::Job>& jobs, const JobTableStyle& style) {
  const bool labels =
      style.wide || std::any_of(jobs.begin(), jobs.end(), [](const v1::Job& job) { return !job.label().empty(); });
  std::vector<std::string> heads = {"JOB", "KERNEL", "STATE", "DEVICE", "QUEUED", "KERNEL TIME", "SUBMITTED"};
  if (labels) heads.emplace_back("LABEL");
  heads.emplace_back("BY");
  if (style.wide) heads.insert(heads.end(), {"PRIORITY", "DETACHED", "PARAMETERS"});
  Table table(heads);
  if (labels) table.MayBeCut(7);
  table.MayBeCut(labels ? 8 : 7).MayBeCut(1, LongestKernelName());  // a job is known by its kernel
  for (const v1::Job& job : jobs) {
    std::vector<std::string> row = {job.id(),
                                    job.kernel(),
                                    PaintedState(style.colour, job.state()) + FailedText(job),
                                    WhereText(job),
                                    QueuedFor(job),
                                    KernelTime(job),
                                    Clock(job.submit_time())};
    if (labels) row.push_back(job.label().empty() ? "-" : Printable(job.label()));
    row.push_back(style.wide ? job.session() : job.session().substr(0, 8));
    if (style.wide)
      row.insert(row.end(), {std::to_string(job.priority()), job.detached() ? "yes" : "no", ParamsText(job)});
    table.Row(std::move(row));
  }
  return table.Text(style.wide ? 0 : style.width);
}

std::string JobPage(const v1::Job& job, bool colour, bool from_daemon) {
  std::string page = "job " + job.id() + "  " + job.kernel() + "  " + PaintedState(colour, job.state());
  if (job.cancel_requested() && job.state() <= v1::RUNNING) page += " (cancel requested)";
  page += "\n";
  Table table;
  table.Indent(2);
  if (!job.label().empty()) table.Row({"label", Printable(job.label())});
  if (job.params_size() > 0) table.Row({"params", ParamsText(job)});
  if (job.swept_size() > 0) table.Row({"sweep", Printable(Join({job.swept().begin(), job.swept().end()}, ", "))});
  if (job.has_tasks()) table.Row({"tasks", CountsText(job.tasks())});
  if (!job.device().empty()) table.Row({"device", job.device()});
  table.Row({"submitted", Clock(job.submit_time()) + " by session " + job.session().substr(0, 8) +
                              (job.detached() ? ", detached" : ", attached")});
  if (job.priority() != 0) table.Row({"priority", std::to_string(job.priority())});
  if (!job.graph().empty())
    table.Row({"graph", Printable(job.graph() + (job.node().empty() ? "" : ", node " + job.node()))});
  if (job.depends_on_size() > 0) table.Row({"depends on", JobsText(job.depends_on())});
  if (from_daemon && job.waits_for_size() > 0)
    table.Row({"waits for", JobsText(job.waits_for())});
  else if (from_daemon && job.state() == v1::PENDING)
    table.Row({"queue", std::to_string(job.queue_position()) + " jobs before it"});
  if (job.has_start_time()) table.Row({"started", Clock(job.start_time()) + " after " + QueuedFor(job)});
  if (from_daemon && job.state() == v1::RUNNING) table.Row({"progress", Percent(job.progress())});
  if (job.has_end_time()) table.Row({"ended", Clock(job.end_time())});
  page += table.Text();
  if (!job.error().message().empty()) page += "  error      " + Printable(job.error().message()) + "\n";
  for (const v1::TaskFailure& failure : job.task_failures())
    page += "  failed     " + Printable(FailureText(failure)) + "\n";
  if (static_cast<std::uint64_t>(job.task_failures_size()) < job.tasks().failed() && job.task_failures_size() > 0)
    page += "  failed     … and " +
            std::to_string(job.tasks().failed() - static_cast<std::uint64_t>(job.task_failures_size())) + " more\n";
  if (job.has_receipt()) page += "receipt  " + ReceiptText(job.receipt(), job.state());
  return page;
}

std::string CheckText(const v1::CheckJobResponse& check) {
  Table table;
  table.Indent(2);
  for (const v1::NamedSignature& output : check.outputs()) table.Row({"output", output.name(), Describe(output)});
  for (const v1::DeviceFit& fit : check.devices())
    table.Row({"device", fit.device(), WhenText(fit), RoomText(fit) + HeldText(fit)});
  // A kernel whose work depends on the data states no total.
  std::vector<std::string> costs;
  if (check.flop() > 0) costs.push_back(Number(check.flop()) + " FLOP");
  if (check.bytes_moved() > 0) costs.push_back(BytesText(check.bytes_moved()) + " moved");
  const std::string cost = costs.empty() ? "" : "  cost    " + Join(costs, ", ") + "\n";
  return table.Text() + cost + LackText(check.array_memory());
}

bool CanNeverRun(const v1::CheckJobResponse& check) {
  const auto never = [](const v1::DeviceFit& fit) { return fit.fit() == v1::DeviceFit::NEVER; };
  const bool no_device = check.devices_size() > 0 && std::all_of(check.devices().begin(), check.devices().end(), never);
  return no_device || check.array_memory().bytes_needed() > check.array_memory().bytes_total();
}

std::string SummaryJson(const Summary& summary) {
  const bool none = summary.numbers == 0;
  return JsonObject()
      .Raw("minimum", JsonNumber(none ? NAN : summary.minimum))
      .Raw("maximum", JsonNumber(none ? NAN : summary.maximum))
      .Raw("mean", JsonNumber(summary.mean))
      .Count("notNumbers", static_cast<std::int64_t>(summary.not_numbers))
      .Json();
}

std::string OutputJson(const std::string& name, const client::OutputArray& output, const std::string& path,
                       const std::optional<Summary>& summary) {
  JsonObject json;
  json.Text("name", name).Raw("signature", ToJson(ToWire(output.signature)));
  if (!output.id.empty()) json.Text("arrayId", output.id);
  if (!path.empty()) json.Text("path", path);
  if (!output.path.empty()) json.Text("daemonPath", output.path);
  if (output.signature.shape.empty() && output.buffer)
    json.Raw("value", ElementJson(output.signature.dtype, output.buffer->bytes(), 0));
  else if (summary)
    json.Raw("summary", SummaryJson(*summary));
  return json.Json();
}

std::string TimingsJson(const client::ClientTimings& timings) {
  return JsonObject()
      .Count("uploadNs", timings.upload.count())
      .Count("downloadNs", timings.download.count())
      .Count("totalNs", timings.total.count())
      .Count("bytesUp", static_cast<std::int64_t>(timings.bytes_up))
      .Count("bytesDown", static_cast<std::int64_t>(timings.bytes_down))
      .Json();
}

std::string ResultJson(const client::JobResult& result, const std::vector<std::string>& names,
                       const std::map<std::string, std::string>& paths,
                       const std::map<std::string, Summary>& summaries) {
  std::vector<std::string> outputs;
  for (const std::string& name : names) {
    const auto path = paths.find(name);
    const auto summary = summaries.find(name);
    outputs.push_back(OutputJson(name, result.outputs.at(name), path == paths.end() ? "" : path->second,
                                 summary == summaries.end() ? std::nullopt : std::optional(summary->second)));
  }
  JsonObject json;
  json.Text("jobId", result.job_id)
      .Text("state", "COMPLETED")
      .Raw("outputs", JsonArray(outputs))
      .Raw("receipt", ToJson(result.receipt))
      .Raw("client", TimingsJson(result.timings));
  if (result.sweep) json.Raw("sweep", SweepJson(result, names));
  return json.Json();
}

std::string EndJson(const std::string& job_id, const v1::JobEnd& end) {
  JsonObject json;
  json.Text("jobId", job_id).Text("state", StateName(end.state()));
  if (end.has_error()) json.Raw("error", ToJson(end.error()));
  if (end.result().has_receipt()) json.Raw("receipt", ToJson(end.result().receipt()));
  if (end.has_sweep()) json.Raw("counts", ToJson(end.sweep().counts()));
  return json.Json();
}

}  // namespace hotplate::cli
