#include "server/core/sweeps/sweep_plan.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "kernels/array/quoted.h"
#include "kernels/base/status.h"

namespace hotplate::core {
namespace {

constexpr std::size_t kMostAxes = 16;

absl::Status Wrong(const std::string& text) { return InvalidField("sweep", text); }

double AsDouble(const std::variant<std::int64_t, double>& value) {
  const auto* const integer = std::get_if<std::int64_t>(&value);
  return integer != nullptr ? static_cast<double>(*integer) : std::get<double>(value);
}

absl::Status CheckRange(const std::string& name, const SweepRange& range) {
  const auto* const first = std::get_if<std::int64_t>(&range.first);
  const auto* const step = std::get_if<std::int64_t>(&range.step);
  if (AsDouble(range.step) == 0 && range.count > 1) return Wrong(absl::StrCat(name, ": its step is 0"));
  if (range.count > kMostTasks) return absl::OkStatus();  // said of all tasks together
  std::int64_t way = 0, last = 0;
  const auto steps = static_cast<std::int64_t>(range.count == 0 ? 0 : range.count - 1);
  if (first != nullptr && step != nullptr &&
      (__builtin_mul_overflow(*step, steps, &way) || __builtin_add_overflow(*first, way, &last))) {
    return Wrong(absl::StrCat(name, ": ", range.count, " values from ", *first, " in steps of ", *step,
                              " leave the whole numbers of 64 bits"));
  }
  if (!std::isfinite(AsDouble(range.first)) || !std::isfinite(AsDouble(range.step))) {
    return Wrong(absl::StrCat(name, ": ", AsDouble(range.first), " in steps of ", AsDouble(range.step),
                              " is no range: both have to be finite"));
  }
  return absl::OkStatus();
}

}  // namespace

std::uint64_t SweepAxis::size() const {
  const auto* const range = std::get_if<SweepRange>(&values);
  return range != nullptr ? range->count : std::get<std::vector<ParamValue>>(values).size();
}

ParamValue SweepAxis::At(std::uint64_t i) const {
  const auto* const range = std::get_if<SweepRange>(&values);
  if (range == nullptr) return std::get<std::vector<ParamValue>>(values)[i];
  const auto* const first = std::get_if<std::int64_t>(&range->first);
  const auto* const step = std::get_if<std::int64_t>(&range->step);
  if (first != nullptr && step != nullptr) return *first + *step * static_cast<std::int64_t>(i);
  return AsDouble(range->first) + AsDouble(range->step) * static_cast<double>(i);
}

absl::StatusOr<std::shared_ptr<const SweepPlan>> SweepPlan::Make(Parts parts) {
  std::shared_ptr<SweepPlan> plan(new SweepPlan(std::move(parts)));
  if (absl::Status status = plan->Count(); !status.ok()) return status;
  return std::shared_ptr<const SweepPlan>(std::move(plan));
}

absl::Status SweepPlan::Count() {
  const std::vector<SweepAxis>& axes = parts_.axes;
  if (axes.empty()) return Wrong("a sweep of no parameter has no tasks; name one and its values");
  if (axes.size() > kMostAxes) {
    return Wrong(absl::StrCat("a sweep over ", axes.size(), " parameters; at most ", kMostAxes, " are possible"));
  }
  std::set<std::string> names;
  tasks_ = 1;
  for (const SweepAxis& axis : axes) {
    if (axis.name.empty()) return Wrong(absl::StrCat("parameter ", names.size() + 1, " of the sweep has no name"));
    if (!names.insert(axis.name).second) return Wrong(absl::StrCat(axis.name, " is swept twice"));
    if (axis.size() == 0) return Wrong(absl::StrCat(axis.name, " has no values: the sweep has 0 tasks"));
    if (const auto* const range = std::get_if<SweepRange>(&axis.values)) {
      if (absl::Status status = CheckRange(axis.name, *range); !status.ok()) return status;
    }
    if (parts_.is_table && axis.size() != axes.front().size()) {
      return Wrong(absl::StrCat("the columns of a table are equally long; ", axes.front().name, " has ",
                                axes.front().size(), " values, ", axis.name, " has ", axis.size()));
    }
    if (parts_.is_table) {
      tasks_ = axis.size();
    } else if (__builtin_mul_overflow(tasks_, axis.size(), &tasks_)) {
      tasks_ = std::numeric_limits<std::uint64_t>::max();
    }
  }
  if (tasks_ > kMostTasks) {
    return Refused(absl::StatusCode::kInvalidArgument,
                   {{"sweep", absl::StrCat("the sweep has ", tasks_, " tasks; at most ", kMostTasks,
                                           " are possible: submit it in parts")}});
  }
  if (parts_.retries > kMostRetries) {
    return Wrong(absl::StrCat("retries is ", parts_.retries, "; at most ", kMostRetries, " are possible"));
  }
  if (parts_.only.empty()) parts_.only = {{0, tasks_}};
  std::uint64_t next = 0;
  for (const TaskRange& range : parts_.only) {
    if (range.count == 0 || range.first < next || range.first >= tasks_ || range.count > tasks_ - range.first) {
      return Wrong(absl::StrCat("only: ", range.count, " tasks from ", range.first,
                                " on are not among those that may follow, ", next, " to ", tasks_ - 1));
    }
    first_rows_.push_back(rows_);
    rows_ += range.count;
    next = range.first + range.count;
  }
  return absl::OkStatus();
}

std::uint64_t SweepPlan::TaskOf(std::uint64_t row) const {
  const auto after = std::upper_bound(first_rows_.begin(), first_rows_.end(), row);
  const auto at = static_cast<std::size_t>(after - first_rows_.begin()) - 1;
  return parts_.only[at].first + (row - first_rows_[at]);
}

SweepPlan::Values SweepPlan::ValuesOf(std::uint64_t task) const {
  Values values(parts_.axes.size());
  for (std::size_t i = parts_.axes.size(); i-- > 0;) {
    const SweepAxis& axis = parts_.axes[i];
    values[i] = {axis.name, axis.At(parts_.is_table ? task : task % axis.size())};
    if (!parts_.is_table) task /= axis.size();
  }
  return values;
}

std::vector<std::string> SweepPlan::Words() const {
  std::vector<std::string> words;
  for (const SweepAxis& axis : parts_.axes) {
    const auto* const range = std::get_if<SweepRange>(&axis.values);
    if (range == nullptr) {
      words.push_back(absl::StrCat(axis.name, "=", axis.size(), " values"));
      continue;
    }
    const double step = AsDouble(range->step);
    const auto text = [&](std::uint64_t i) {
      const ParamValue value = axis.At(i);
      const auto* const real = std::get_if<double>(&value);
      return real != nullptr ? absl::StrCat(*real) : hotplate::ToString(value);  // "1", not "1.0"
    };
    std::string word = absl::StrCat(axis.name, "=", text(0), "..", text(axis.size() - 1));
    if (step != 1) absl::StrAppend(&word, ":", step);
    words.push_back(std::move(word));
  }
  return words;
}

std::string TaskText(std::uint64_t task, const SweepPlan::Values& values) {
  std::string text = absl::StrCat("task ", task, " (");
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto* const word = std::get_if<std::string>(&values[i].second);
    absl::StrAppend(&text, i == 0 ? "" : ", ", values[i].first, "=",
                    word != nullptr ? Quoted(*word) : hotplate::ToString(values[i].second));
  }
  return text + ")";
}

}  // namespace hotplate::core
