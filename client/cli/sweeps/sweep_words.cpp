#include "client/cli/sweeps/sweep_words.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "client/cli/ending.h"
#include "client/cli/sweeps/sweep_file.h"
#include "client/cli/terminal/format.h"
#include "client/lib/wire.h"
#include "kernels/array/quoted.h"
#include "kernels/base/nearest_names.h"

namespace hotplate::cli {
namespace {

constexpr std::uint64_t kMostRetries = 100;

absl::Status Wrong(const std::string& text) { return absl::InvalidArgumentError(text); }

std::optional<double> AsNumber(const client::ParamValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return std::nullopt;
}

std::string TooMany(const std::string& where, double count, const std::string& of) {
  char number[32];
  std::snprintf(number, sizeof number, "%.0f", count);
  return where + ": " + number + " " + of + " are too many; a sweep has at most " + std::to_string(kMostTasks) +
         " tasks";
}

// The parameter that a word names, as the kernel spells it.
absl::StatusOr<std::string> NameOf(const std::string& word, const std::string& where, const SweptNames& swept) {
  if (swept.names.empty()) {
    const bool is_name = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '_';
    }) && std::isdigit(static_cast<unsigned char>(word[0])) == 0;
    if (is_name && word != "task") return word;
    return Wrong(where + ": " + Quoted(word) + " is no name for a variable" +
                 (word == "task" ? ": HOTPLATE_TASK is the task's number" : ": letters, digits and _ make one"));
  }
  std::string name = word;
  std::replace(name.begin(), name.end(), '-', '_');
  if (std::find(swept.names.begin(), swept.names.end(), name) != swept.names.end()) return name;
  const std::vector<std::string> nearest = NearestNames(name, swept.names);
  return Wrong(
      where + ": " + swept.of + " has no parameter " + Quoted(word) +
      (nearest.empty() ? "; its parameters: " + Join(swept.names, ", ") : ". Nearest: " + Alternatives(nearest)));
}

// An integer range by whole numbers, so that none is lost.
absl::StatusOr<std::uint64_t> CountOf(const std::string& where, const client::ParamValue& first,
                                      const client::ParamValue& last, const client::ParamValue& step) {
  const double from = *AsNumber(first), to = *AsNumber(last), by = *AsNumber(step);
  if (by == 0) return Wrong(where + ": the step is 0");
  if ((to - from) * by < 0) {
    return Wrong(where + ": there is nothing from the first value to the last in steps of " +
                 (by == 1 ? std::string("1; for falling values give a negative step, as in 5..1:-1") : "that sign") +
                 ": the sweep has 0 tasks");
  }
  const auto *i = std::get_if<std::int64_t>(&first), *j = std::get_if<std::int64_t>(&last),
             *k = std::get_if<std::int64_t>(&step);
  if (i != nullptr && j != nullptr && k != nullptr) {
    const __int128 count = (static_cast<__int128>(*j) - *i) / *k + 1;
    if (count > static_cast<__int128>(kMostTasks)) return Wrong(TooMany(where, static_cast<double>(count), "values"));
    return static_cast<std::uint64_t>(count);
  }
  // The last value belongs to it although it is a rounding error away.
  const double count = std::floor((to - from) / by + 1e-9) + 1;
  if (count > static_cast<double>(kMostTasks)) return Wrong(TooMany(where, count, "values"));
  return static_cast<std::uint64_t>(count);
}

absl::StatusOr<v1::SweepAxis> RangeFrom(const std::string& name, const std::string& values, std::size_t dots,
                                        const SweptNames& swept) {
  const std::string where = "--each " + name + "=" + values;
  const std::size_t colon = values.find(':', dots);
  std::vector<std::pair<std::string, client::ParamValue>> parts = {
      {values.substr(0, dots), {}},
      {values.substr(dots + 2, colon == std::string::npos ? colon : colon - dots - 2), {}}};
  for (auto& [text, value] : parts) {
    auto parsed = swept.parse(name, text);
    if (!parsed.ok()) return Wrong(where + ": " + std::string(parsed.status().message()));
    // A program is told texts as they are ("0.50"), and ranges in numbers.
    const auto number = AsNumber(*parsed) ? std::nullopt : ParseNumber(text);
    if (number && swept.names.empty()) parsed = client::ParamValue(*number);
    if (!AsNumber(*parsed)) {
      return Wrong(where + ": " + Quoted(text) +
                   " is no number, so there is no range; name the values, separated by commas");
    }
    value = *std::move(parsed);
  }
  // A step need not be a value that the parameter can have.
  client::ParamValue step = std::int64_t{1};
  if (colon != std::string::npos) {
    const std::string text = values.substr(colon + 1);
    const auto integer = ParseInteger(text);
    const auto real = ParseNumber(text);
    if (!real || !std::isfinite(*real)) return Wrong(where + ": the step " + Quoted(text) + " is no number");
    const bool whole = integer && text.find_first_of(".eE") == std::string::npos;
    step = whole ? client::ParamValue(*integer) : client::ParamValue(*real);
    const bool integers = std::holds_alternative<std::int64_t>(parts[0].second);
    if (integers && !whole && !swept.parse(name, "0.5").ok())
      return Wrong(where + ": the step " + Quoted(text) + " is not a whole number, and " + name + " takes such alone");
  }
  const auto count = CountOf(where, parts[0].second, parts[1].second, step);
  if (!count.ok()) return count.status();
  v1::SweepAxis axis;
  axis.set_name(name);
  client::ToWire(parts[0].second, *axis.mutable_range()->mutable_first());
  client::ToWire(step, *axis.mutable_range()->mutable_step());
  axis.mutable_range()->set_count(*count);
  return axis;
}

// One axis: "1..10", "0..1:0.25", "10..1:-3", "2,3,5".
absl::StatusOr<v1::SweepAxis> AxisFrom(const std::string& name, const std::string& values, const SweptNames& swept) {
  if (values.empty()) return Wrong("--each " + name + "=: it has no values");
  if (const std::size_t dots = values.find(".."); dots != std::string::npos) {
    return RangeFrom(name, values, dots, swept);
  }
  v1::SweepAxis axis;
  axis.set_name(name);
  for (const std::string& text : SplitAt(values, ',')) {
    const auto value = swept.parse(name, text);
    if (!value.ok())
      return Wrong("--each " + name + "=" + Quoted(values) + ": " + std::string(value.status().message()));
    client::ToWire(*value, *axis.mutable_list()->add_values());
  }
  return axis;
}

absl::StatusOr<v1::Sweep> FromAxes(const std::vector<std::string>& words, const SweptNames& swept) {
  v1::Sweep sweep;
  std::set<std::string> seen;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) {
      return UsageError("--each " + word + ": write NAME=FIRST..LAST, NAME=FIRST..LAST:STEP or NAME=VALUE,VALUE");
    }
    const auto name = NameOf(word.substr(0, equals), "--each " + word, swept);
    if (!name.ok()) return name.status();
    if (!seen.insert(*name).second) return Wrong("--each " + word + ": " + *name + " is swept over already");
    auto axis = AxisFrom(*name, word.substr(equals + 1), swept);
    if (!axis.ok()) return axis.status();
    *sweep.add_axes() = *std::move(axis);
  }
  return sweep;
}

absl::StatusOr<v1::Sweep> FromTable(const std::string& path, const SweptNames& swept) {
  const auto table = ReadCsv(path);
  if (!table.ok()) return table.status();
  v1::Sweep sweep;
  sweep.set_is_table(true);
  const std::string where = "--each-file " + path;
  std::set<std::string> seen;
  for (const std::string& head : table->heads) {
    const auto name = NameOf(head, where, swept);
    if (!name.ok()) return name.status();
    if (!seen.insert(*name).second) return Wrong(where + ": there are two columns " + *name);
    sweep.add_axes()->set_name(*name);
  }
  for (const CsvRow& row : table->rows) {
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      v1::SweepAxis& axis = *sweep.mutable_axes(static_cast<int>(i));
      const auto value = swept.parse(axis.name(), row.cells[i]);
      if (!value.ok()) {
        return Wrong(where + ", line " + std::to_string(row.line) + ": " + std::string(value.status().message()));
      }
      client::ToWire(*value, *axis.mutable_list()->add_values());
    }
  }
  return sweep;
}

absl::StatusOr<v1::Sweep> FromLines(const std::string& path) {
  const auto lines = ReadLines(path);
  if (!lines.ok()) return lines.status();
  v1::Sweep sweep;
  v1::SweepAxis& axis = *sweep.add_axes();
  axis.set_name("line");
  for (const std::string& line : *lines) axis.mutable_list()->add_values()->set_string_value(line);
  return sweep;
}

// The option of a sweep that was given without one; empty if none was.
std::string LoneOption(const Arguments& arguments) {
  for (const char* const name : {"max-fails", "retries", "failed-of"})
    if (arguments.Text(name)) return std::string("--") + name;
  return "";
}

}  // namespace

std::vector<OptionSpec> SweepOptions() {
  return {
      {.names = "--each",
       .value = "NAME=VALUES",
       .help = "run a task for each value of a parameter: n=1..1000, x=0..1:0.25 (steps of 0.25), n=2,3,5. Given more "
               "than once: for all combinations, the last one varying fastest",
       .repeatable = true},
      {.names = "--each-file",
       .value = "FILE.csv",
       .help = "run a task for each row: its first line has the parameters' names",
       .offer = Offer::kFile},
      {.names = "--max-fails",
       .value = "N",
       .help = "with --each: end the job FAILED when more than N tasks have failed (default: when all have)"},
      {.names = "--retries",
       .value = "N",
       .help = "with --each: run a task that fails up to N times again (default 0)"},
  };
}

OptionSpec FailedOfOption() {
  return {.names = "--failed-of",
          .value = "JOB",
          .help = "run the tasks of a sweep (--each) again that did not complete: alone, or with the words of before",
          .offer = Offer::kJob};
}

OptionSpec EachLineOption() {
  return {.names = "--each-line",
          .value = "FILE",
          .help = "submitted: run the program once for each line, which is in HOTPLATE_LINE and replaces {line}",
          .offer = Offer::kFile};
}

absl::StatusOr<std::optional<v1::Sweep>> SweepFrom(const Arguments& arguments, const SweptNames& swept) {
  const std::vector<std::string> axes = arguments.All("each");
  const auto file = arguments.Text("each-file"), lines = arguments.Text("each-line");
  const int kinds = (axes.empty() ? 0 : 1) + (file ? 1 : 0) + (lines ? 1 : 0);
  if (kinds > 1) return UsageError("--each, --each-file and --each-line: give one kind of them");
  if (kinds == 0) {
    const std::string lone = LoneOption(arguments);
    if (!lone.empty()) return UsageError(lone + " is for a job of many tasks: give --each as well");
    return std::nullopt;
  }
  absl::StatusOr<v1::Sweep> sweep = file ? FromTable(*file, swept) : lines ? FromLines(*lines) : FromAxes(axes, swept);
  if (!sweep.ok()) return sweep.status();
  if (TasksOf(*sweep) > kMostTasks) {
    double tasks = 1;
    for (const v1::SweepAxis& axis : sweep->axes()) tasks *= static_cast<double>(SizeOf(axis));
    return Wrong(TooMany("--each", tasks, "combinations"));
  }
  const auto most_failed = arguments.Integer("max-fails", 0, static_cast<std::int64_t>(kMostTasks));
  if (!most_failed.ok()) return most_failed.status();
  if (*most_failed) sweep->set_most_failed(static_cast<std::uint64_t>(**most_failed));
  const auto retries = arguments.Integer("retries", 0, kMostRetries);
  if (!retries.ok()) return retries.status();
  sweep->set_retries(static_cast<std::uint32_t>(retries->value_or(0)));
  return std::optional<v1::Sweep>(*std::move(sweep));
}

std::string GivenSweepOption(const Arguments& arguments) {
  for (const char* const name : {"each-file", "each-line", "failed-of"})
    if (arguments.Text(name)) return std::string("--") + name;
  return "--each";
}

std::uint64_t SizeOf(const v1::SweepAxis& axis) {
  return axis.has_range() ? axis.range().count() : static_cast<std::uint64_t>(axis.list().values_size());
}

std::uint64_t TasksOf(const v1::Sweep& sweep) {
  std::uint64_t tasks = 0;
  for (const v1::TaskRange& range : sweep.only()) tasks += range.count();
  if (tasks > 0) return tasks;
  tasks = 1;
  for (const v1::SweepAxis& axis : sweep.axes()) {
    const std::uint64_t size = SizeOf(axis);
    if (sweep.is_table()) return size;
    tasks = std::min(kMostTasks + 1, tasks * std::min(size, kMostTasks + 1));
  }
  return tasks;
}

}  // namespace hotplate::cli
