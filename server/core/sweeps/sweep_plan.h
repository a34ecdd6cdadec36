// The tasks of a sweep: which values each of them gives to the parameters. Pure.
//
// Tasks are numbered from 0, over all combinations of the axes' values: the last axis varies fastest. Where the axes
// are the columns of a table, task i has the i-th value of each. A plan may have only some of these tasks, as one has
// that runs failed ones again: each keeps its number, and has the next free row of the results.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/spec/spec.h"

namespace hotplate::core {

inline constexpr std::uint64_t kMostTasks = 1'000'000;
inline constexpr std::uint32_t kMostRetries = 100;

// first, first + step, and so on.
struct SweepRange {
  std::variant<std::int64_t, double> first, step;
  std::uint64_t count = 0;
};

struct SweepAxis {
  std::string name;  // of the parameter
  std::variant<SweepRange, std::vector<ParamValue>> values;

  std::uint64_t size() const;
  ParamValue At(std::uint64_t i) const;  // i < size()
};

// Tasks from `first` on.
struct TaskRange {
  std::uint64_t first = 0, count = 0;
  friend bool operator==(const TaskRange&, const TaskRange&) = default;
};

class SweepPlan {
 public:
  struct Parts {
    std::vector<SweepAxis> axes;
    bool is_table = false;        // the axes are its columns
    std::vector<TaskRange> only;  // rising; empty: all tasks
    // More failed tasks end the sweep. None: any number may fail, but not all.
    std::optional<std::uint64_t> most_failed;
    std::uint32_t retries = 0;  // of each task that fails
    std::string spec;           // the request as the wire layer will read it again, without the inputs. Opaque here
  };
  // INVALID_ARGUMENT, with the field "sweep" and the value.
  static absl::StatusOr<std::shared_ptr<const SweepPlan>> Make(Parts parts);

  using Values = std::vector<std::pair<std::string, ParamValue>>;  // in the axes' order
  std::uint64_t rows() const { return rows_; }
  std::uint64_t TaskOf(std::uint64_t row) const;
  Values ValuesOf(std::uint64_t task) const;
  std::vector<std::string> Words() const;  // for each axis: "n=1..1000", "alpha=0..1:0.25", "mode=2 values"
  const Parts& parts() const { return parts_; }

 private:
  explicit SweepPlan(Parts parts) : parts_(std::move(parts)) {}
  absl::Status Count();

  Parts parts_;
  std::uint64_t tasks_ = 0, rows_ = 0;
  std::vector<std::uint64_t> first_rows_;  // of each range in `only`
};

// "task 7 (n=8, alpha=0.5)"
std::string TaskText(std::uint64_t task, const SweepPlan::Values& values);

}  // namespace hotplate::core
