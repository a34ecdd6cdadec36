// hotplate jobs: what is queued, runs, and has ended.
#include "client/cli/commands.h"
#include "client/cli/deaths.h"
#include "client/cli/job_text.h"
#include "client/cli/json.h"

namespace hotplate::cli {
namespace {

absl::Status Jobs(const Invocation& call) {
  const auto limit = call.arguments.Integer("limit", 1, 1000);
  if (!limit.ok()) return limit.status();
  auto client = call.Connect();
  if (!client.ok()) return client.status();
  v1::ListJobsRequest request;
  request.set_active_only(call.arguments.Flag("active"));
  request.set_page_size(static_cast<std::uint32_t>(limit->value_or(100)));
  const auto jobs = client->Jobs(request);
  if (!jobs.ok()) return jobs.status();
  std::string ids;
  for (const v1::Job& job : *jobs) ids += job.id() + "\n";
  call.output.Answer([&] { return JobTable(*jobs); },
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
          .details = "",
          .example = "hotplate jobs --active",
          .positionals = {},
          .options = {{.names = "--active", .value = "", .help = "only jobs that have not ended"},
                      {.names = "--limit", .value = "N", .help = "at most so many (default 100)"}},
          .run = Jobs};
}

}  // namespace hotplate::cli
