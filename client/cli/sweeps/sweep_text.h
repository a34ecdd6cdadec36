// A sweep in words: how far it is, which tasks failed, and its results as a table.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/lib/client.h"
#include "hotplate/v1/jobs.pb.h"

namespace hotplate::cli {

// "412/1000", "412/1000, 3 failed"
std::string CountsText(const v1::TaskCounts& counts);
// "task 7 (n=8): its error"
std::string FailureText(const v1::TaskFailure& failure);
// Not OK, with the first failure, if tasks of a job that COMPLETED have failed.
absl::Status TasksFailed(const std::string& job_id, const v1::SweepOutcome& outcome);

// The values of one task, in the axes' order.
std::vector<v1::ParamValue> ValuesOf(const v1::Sweep& sweep, std::uint64_t task);

// Whether each task left one element of each output, and all of them are here.
bool IsTable(const client::JobResult& result, const std::vector<std::string>& outputs);
// A row a task: its number, its values, its outputs. Of many rows, the first ones; 0: all.
std::string ResultTable(const client::JobResult& result, const std::vector<std::string>& outputs, std::size_t most);
// {"counts": …, "failures": […], "incomplete": […], "tasks": […]}: the last, with each task's number, values and
// outputs, where IsTable says so.
std::string SweepJson(const client::JobResult& result, const std::vector<std::string>& outputs);

}  // namespace hotplate::cli
