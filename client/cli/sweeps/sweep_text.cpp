#include "client/cli/sweeps/sweep_text.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "client/cli/catalogue/catalogue.h"
#include "client/cli/ending.h"
#include "client/cli/jobs/elements.h"
#include "client/cli/sweeps/sweep_words.h"
#include "client/cli/terminal/format.h"
#include "client/cli/terminal/json.h"
#include "client/cli/terminal/table.h"

namespace hotplate::cli {
namespace {

v1::ParamValue ValueAt(const v1::SweepAxis& axis, std::uint64_t i) {
  if (axis.has_list()) return axis.list().values(static_cast<int>(i));
  const v1::SweepRange& range = axis.range();
  v1::ParamValue value;
  if (range.first().has_int_value() && range.step().has_int_value()) {
    value.set_int_value(range.first().int_value() + range.step().int_value() * static_cast<std::int64_t>(i));
    return value;
  }
  const auto real = [](const v1::ParamValue& one) {
    return one.has_int_value() ? static_cast<double>(one.int_value()) : one.float_value();
  };
  value.set_float_value(real(range.first()) + real(range.step()) * static_cast<double>(i));
  return value;
}

std::string JsonOf(const v1::ParamValue& value) {
  if (value.has_int_value()) return std::to_string(value.int_value());
  if (value.has_float_value()) return JsonNumber(value.float_value());
  if (value.has_bool_value()) return value.bool_value() ? "true" : "false";
  return JsonText(value.string_value());
}

// Calls `visit` with the rows and the numbers of the tasks, in order, until it returns false.
void EachTask(const v1::SweepOutcome& outcome,
              const std::function<bool(std::uint64_t row, std::uint64_t task)>& visit) {
  const v1::Sweep& sweep = outcome.job().sweep();
  if (sweep.only().empty()) {
    for (std::uint64_t row = 0; row < outcome.counts().total(); ++row)
      if (!visit(row, row)) return;
    return;
  }
  std::uint64_t row = 0;
  for (const v1::TaskRange& range : sweep.only())
    for (std::uint64_t i = 0; i < range.count(); ++i)
      if (!visit(row++, range.first() + i)) return;
}

// Whether a task has no result. Asked in rising order.
class Incomplete {
 public:
  explicit Incomplete(const v1::SweepOutcome& outcome) : ranges_(outcome.incomplete()) {}
  bool Has(std::uint64_t task) {
    while (at_ < ranges_.size() && ranges_[at_].first() + ranges_[at_].count() <= task) ++at_;
    return at_ < ranges_.size() && ranges_[at_].first() <= task;
  }

 private:
  const google::protobuf::RepeatedPtrField<v1::TaskRange>& ranges_;
  int at_ = 0;
};

}  // namespace

std::string CountsText(const v1::TaskCounts& counts) {
  std::string text = std::to_string(counts.completed() + counts.failed()) + "/" + std::to_string(counts.total());
  if (counts.failed() > 0) text += ", " + std::to_string(counts.failed()) + " failed";
  return text;
}

std::string FailureText(const v1::TaskFailure& failure) {
  std::map<std::string, std::string> values;  // the message's map has no order
  for (const auto& [name, value] : failure.values()) values[name] = Text(value);
  std::string text;
  for (const auto& [name, value] : values) text += (text.empty() ? "" : ", ") + name + "=" + value;
  return "task " + std::to_string(failure.task()) + " (" + text + "): " + failure.error().message();
}

absl::Status TasksFailed(const std::string& job_id, const v1::SweepOutcome& outcome) {
  if (outcome.counts().failed() == 0) return absl::OkStatus();
  std::string text =
      std::to_string(outcome.counts().failed()) + " of " + std::to_string(outcome.counts().total()) + " tasks failed";
  if (outcome.failures_size() > 0) text += "; " + Printable(FailureText(outcome.failures(0)));
  return WithExitCode(WithNextStep(absl::AbortedError("job " + job_id + ": " + text),
                                   "hotplate show " + job_id + " · hotplate submit --failed-of " + job_id),
                      kExitFailed);
}

std::vector<v1::ParamValue> ValuesOf(const v1::Sweep& sweep, std::uint64_t task) {
  std::vector<v1::ParamValue> values(static_cast<std::size_t>(sweep.axes_size()));
  for (int i = sweep.axes_size(); i-- > 0;) {
    const v1::SweepAxis& axis = sweep.axes(i);
    values[static_cast<std::size_t>(i)] = ValueAt(axis, sweep.is_table() ? task : task % SizeOf(axis));
    if (!sweep.is_table()) task /= SizeOf(axis);
  }
  return values;
}

bool IsTable(const client::JobResult& result, const std::vector<std::string>& outputs) {
  return std::all_of(outputs.begin(), outputs.end(), [&result](const std::string& name) {
    const client::OutputArray& output = result.outputs.at(name);
    return output.buffer != nullptr && output.signature.shape.size() == 1;
  });
}

std::string ResultTable(const client::JobResult& result, const std::vector<std::string>& outputs, std::size_t most) {
  const v1::SweepOutcome& outcome = *result.sweep;
  const v1::Sweep& sweep = outcome.job().sweep();
  std::vector<std::string> heads = {"TASK"};
  for (const v1::SweepAxis& axis : sweep.axes()) heads.push_back(axis.name());
  heads.insert(heads.end(), outputs.begin(), outputs.end());
  Table table(heads);
  for (std::size_t i = 0; i < heads.size(); ++i) table.AlignRight(i);
  Incomplete incomplete(outcome);
  std::uint64_t shown = 0;
  EachTask(outcome, [&](std::uint64_t row, std::uint64_t task) {
    if (most > 0 && row >= most) return false;
    std::vector<std::string> cells = {std::to_string(task)};
    for (const v1::ParamValue& value : ValuesOf(sweep, task)) cells.push_back(Text(value));
    const bool failed = incomplete.Has(task);
    for (const std::string& name : outputs) {
      const client::OutputArray& output = result.outputs.at(name);
      cells.push_back(failed ? "failed" : ElementText(output.signature.dtype, output.buffer->bytes(), row));
    }
    table.Row(std::move(cells));
    ++shown;
    return true;
  });
  std::string text = table.Text();
  if (shown < outcome.counts().total()) {
    text += "… and " + std::to_string(outcome.counts().total() - shown) +
            " more tasks: into a file by -o FILE.npy, all here by --json\n";
  }
  return text;
}

std::string SweepJson(const client::JobResult& result, const std::vector<std::string>& outputs) {
  const v1::SweepOutcome& outcome = *result.sweep;
  const v1::Sweep& sweep = outcome.job().sweep();
  JsonObject json;
  json.Raw("counts", ToJson(outcome.counts()));
  std::vector<std::string> failures, ranges;
  for (const v1::TaskFailure& failure : outcome.failures()) failures.push_back(ToJson(failure));
  for (const v1::TaskRange& range : outcome.incomplete()) ranges.push_back(ToJson(range));
  json.Raw("failures", JsonArray(failures)).Raw("incomplete", JsonArray(ranges));
  if (!IsTable(result, outputs)) return json.Json();
  std::vector<std::string> tasks;
  Incomplete incomplete(outcome);
  EachTask(outcome, [&](std::uint64_t row, std::uint64_t task) {
    JsonObject values, results, one;
    const std::vector<v1::ParamValue> given = ValuesOf(sweep, task);
    for (int i = 0; i < sweep.axes_size(); ++i)
      values.Raw(sweep.axes(i).name(), JsonOf(given[static_cast<std::size_t>(i)]));
    const bool failed = incomplete.Has(task);
    for (const std::string& name : outputs) {
      const client::OutputArray& output = result.outputs.at(name);
      results.Raw(name, failed ? "null" : ElementJson(output.signature.dtype, output.buffer->bytes(), row));
    }
    tasks.push_back(one.Count("task", static_cast<std::int64_t>(task))
                        .Raw("values", values.Json())
                        .Raw("outputs", results.Json())
                        .Json());
    return true;
  });
  return json.Raw("tasks", JsonArray(tasks)).Json();
}

}  // namespace hotplate::cli
