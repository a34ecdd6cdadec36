// hotplate jobs: queued, running and ended jobs.
#include <algorithm>

#include "client/cli/allocation/deaths.h"
#include "client/cli/commands.h"
#include "client/cli/jobs/job_text.h"
#include "client/cli/terminal/json.h"
#include "kernels/array/quoted.h"

namespace hotplate::cli {
namespace {

constexpr std::int64_t kMostListed = 1000;

absl::StatusOr<v1::ListJobsRequest> RequestOf(const Arguments& arguments) {
  v1::ListJobsRequest request;
  request.set_active_only(arguments.Flag("active"));
  const auto states = ParseStates(arguments.All("state"), JobStateNames());
  if (!states.ok()) return states.status();
  for (const v1::JobState state : *states) request.add_states(state);
  request.set_kernel(arguments.Text("kernel").value_or(""));
  request.set_label(arguments.Text("label").value_or(""));
  request.set_graph(arguments.Text("graph").value_or(""));
  const auto since = arguments.Duration("since");
  if (!since.ok()) return since.status();
  if (*since && (*since)->count() <= 0)
    return UsageError("--since: " + Quoted(*arguments.Text("since")) + " must be longer than 0; write 10m or 2h");
  if (*since) {
    request.mutable_submitted_within()->set_seconds((*since)->count() / 1'000'000'000);
    request.mutable_submitted_within()->set_nanos(static_cast<std::int32_t>((*since)->count() % 1'000'000'000));
  }
  const auto limit = arguments.Integer("limit", 1, kMostListed);
  if (!limit.ok()) return limit.status();
  request.set_page_size(static_cast<std::uint32_t>(limit->value_or(100)));
  return request;
}

absl::Status Jobs(const Invocation& call) {
  const auto request = RequestOf(call.arguments);
  if (!request.ok()) return request.status();
  const std::string order = call.arguments.Text("sort").value_or("id");
  const std::vector<std::string>& orders = JobOrders();
  if (std::find(orders.begin(), orders.end(), order) == orders.end())
    return UsageError("--sort: " + Quoted(order) + " is none of " + Join(orders, ", "));
  auto client = call.Connect();
  if (!client.ok()) return client.status();
  auto jobs = client->Jobs(*request);
  if (!jobs.ok()) return jobs.status();
  SortJobs(order, *jobs);
  std::string ids;
  for (const v1::Job& job : *jobs) ids += job.id() + "\n";
  call.output.Answer(
      [&] {
        return JobTable(*jobs, {call.arguments.Flag("wide"), call.console.out_colour, WidthOf(call.console)});
      },
      [&] {
        v1::ListJobsResponse list;
        for (const v1::Job& job : *jobs) *list.add_jobs() = job;
        return ToJson(list);
      },
      ids);
  if (call.output.talkative())
    if (const auto info = client->Info(); info.ok() && !info->before().has_end_time()) TellLoss(call, *info);
  return absl::OkStatus();
}

}  // namespace

Command JobsCommand() {
  return {.name = "jobs",
          .group = Group::kJobs,
          .summary = "list jobs, newest first",
          .details = "Lists jobs that meet all conditions.",
          .example = "hotplate jobs --state failed,timeout --since 1h",
          .positionals = {},
          .options =
              {{.names = "--active", .value = "", .help = "show only jobs that have not ended"},
               {.names = "--state",
                .value = "STATE",
                .help = "show only jobs in this state; repeat it or use commas for several",
                .repeatable = true,
                .offer = Offer::kChoices,
                .choices = JobStateNames()},
               {.names = "--kernel", .value = "NAME", .help = "show only jobs of this kernel", .offer = Offer::kKernel},
               {.names = "--label", .value = "TEXT", .help = "show only jobs with this label (run --label)"},
               {.names = "--graph", .value = "GRAPH", .help = "show only jobs of this graph (hotplate graph)"},
               {.names = "--since", .value = "TIME", .help = "show only jobs submitted within this time: 10m, 2h"},
               {.names = "--sort",
                .value = "ORDER",
                .help = Join(JobOrders(), ", ") + "; times and ids in descending order (default id)",
                .offer = Offer::kChoices,
                .choices = JobOrders()},
               {.names = "--wide", .value = "", .help = "show more columns, and cut none to the terminal's width"},
               {.names = "--limit", .value = "N", .help = "show at most N jobs (default 100)"}},
          .run = Jobs};
}

}  // namespace hotplate::cli
