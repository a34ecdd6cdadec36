#include "client/cli/pipe/answer_lines.h"

#include <algorithm>
#include <optional>
#include <span>

#include "client/cli/ending.h"
#include "client/cli/jobs/elements.h"
#include "client/cli/jobs/job_text.h"
#include "client/cli/jobs/standard_streams.h"
#include "client/cli/terminal/json.h"

namespace hotplate::cli {
namespace {

// An empty array may have many empty lists.
bool HasValues(const client::OutputArray& output) {
  if (!output.buffer || output.signature.shape.empty()) return false;
  std::size_t lists = 1;
  for (const std::int64_t size : output.signature.shape) {
    if (static_cast<std::uint64_t>(size) > kMostValues) return false;
    lists *= static_cast<std::size_t>(std::max<std::int64_t>(size, 1));
    if (lists > kMostValues) return false;
  }
  return true;
}

std::string OutputAnswer(const std::string& name, const PlacedResult& placed, const JobOutputs& files) {
  const client::OutputArray& output = placed.result.outputs.at(name);
  if (const auto path = placed.paths.find(name); path != placed.paths.end())
    return OutputJson(name, output, path->second);
  if (HasValues(output))
    return JsonObject(OutputJson(name, output, ""))
        .Raw("values", ElementsJson(output.signature, output.buffer->bytes()))
        .Json();
  std::optional<Summary> summary;
  if (const Summariser* summariser = files.SummaryOf(name); summariser != nullptr)
    summary = summariser->Get();
  else if (output.buffer)
    summary = Summarise(output.signature, output.buffer->bytes());
  return OutputJson(name, output, "", summary);
}

JsonObject Begun(const Ticket& ticket) { return JsonObject().Raw("tag", ticket.tag); }

}  // namespace

std::string UpdateLine(const Ticket& ticket, const v1::JobUpdate& update) {
  if (update.has_progress())
    return Begun(ticket).Raw("progress", JsonNumber(std::clamp(update.progress().fraction(), 0.0, 1.0))).Json();
  if (!update.has_state_change()) return "";
  const v1::StateChange& change = update.state_change();
  JsonObject json = Begun(ticket).Text("job", update.job_id()).Text("state", StateName(change.state()));
  if (!change.device().empty()) json.Text("device", change.device());
  return json.Json();
}

std::string CompletedLine(const Ticket& ticket, const PlacedResult& placed, const JobOutputs& files) {
  JsonObject outputs;
  for (const std::string& name : placed.names) outputs.Raw(name, OutputAnswer(name, placed, files));
  return Begun(ticket)
      .Text("job", placed.result.job_id)
      .Text("state", StateName(v1::COMPLETED))
      .Raw("outputs", outputs.Json())
      .Raw("receipt", ToJson(placed.result.receipt))
      .Raw("client", TimingsJson(placed.result.timings))
      .Json();
}

std::string FailedLine(const Ticket& ticket, const absl::Status& status, const absl::Status& of_job) {
  JsonObject json = Begun(ticket);
  const std::string known = client::JobIdOf(of_job), job_id = known.empty() ? client::JobIdOf(status) : known;
  const auto end = client::EndOf(of_job);
  if (!job_id.empty()) json.Text("job", job_id);
  if (end) json.Text("state", StateName(end->state()));
  json.Count("line", static_cast<std::int64_t>(ticket.line)).Raw("error", ErrorMembers(status));
  if (end && end->result().has_receipt()) json.Raw("receipt", ToJson(end->result().receipt()));
  return json.Json();
}

bool AnswerLines::Write(const std::string& json) {
  const MutexLock lock(mutex_);
  if (broken_) return false;
  line_ = json + "\n";
  if (WriteStandardOutput(std::as_bytes(std::span<const char>(line_)))) broken_ = true;
  return !broken_;
}

}  // namespace hotplate::cli
