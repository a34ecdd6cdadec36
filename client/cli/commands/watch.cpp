// hotplate watch: follow a job to its end.
#include "client/cli/allocation/regain.h"
#include "client/cli/commands.h"
#include "client/cli/jobs/job_selection.h"
#include "client/cli/jobs/job_text.h"
#include "client/cli/jobs/progress.h"
#include "client/cli/jobs/receipt.h"
#include "client/cli/sweeps/sweep_text.h"
#include "client/cli/terminal/json.h"
#include "client/lib/status.h"

namespace hotplate::cli {
namespace {

// When the job ended: it may be long ago. The receipt knows; one that never began has none, and is asked for.
google::protobuf::Timestamp EndTime(client::Client& client, const v1::JobUpdate& update) {
  if (update.end().result().has_receipt()) return update.end().result().receipt().seal_time();
  const auto job = client.Job(update.job_id());
  return job.ok() && job->has_end_time() ? job->end_time() : Now();
}

std::string Line(client::Client& client, const v1::JobUpdate& update) {
  switch (update.kind_case()) {
    case v1::JobUpdate::kStateChange: {
      const v1::StateChange& change = update.state_change();
      return Clock(change.time()) + "  job " + update.job_id() + "  " + StateName(change.state()) +
             (change.device().empty() ? "" : "  on " + change.device());
    }
    case v1::JobUpdate::kEnd:
      return Clock(EndTime(client, update)) + "  job " + update.job_id() + "  " + StateName(update.end().state()) +
             (update.end().has_sweep() ? "  " + CountsText(update.end().sweep().counts()) : "");
    case v1::JobUpdate::kNotice:
      return Clock(Now()) + "  " + Printable(update.notice().text());
    default:
      return "";  // progress is for terminals
  }
}

absl::Status Watch(const Invocation& call) {
  auto client = call.Connect();
  if (!client.ok()) return client.status();
  const auto selected = SelectJob(*client, call.arguments.words()[0]);
  if (!selected.ok()) return selected.status();
  const std::string& id = *selected;
  Progress progress(call.console, call.output.talkative());
  int last_state = v1::JOB_STATE_UNSPECIFIED;
  const auto end = WatchOn(call, *client, id, [&](const v1::JobUpdate& update) {
    // The change into the last state and the end say the same to a reader.
    const int state = update.has_end()            ? update.end().state()
                      : update.has_state_change() ? update.state_change().state()
                                                  : 0;
    const bool news = state == 0 || state != last_state;
    if (state != 0) last_state = state;
    const std::string line = news ? Line(*client, update) : "";
    if (!line.empty()) progress.Clear();
    call.output.Answer([&] { return line; }, [&] { return ToJson(update); }, "");
    progress.Update(update);
  });
  progress.Clear();
  if (!end.ok()) return end.status();
  if (call.output.talkative() && end->result().has_receipt())
    WriteReceipt(call.console, end->result().receipt(), end->state());
  if (end->state() == v1::COMPLETED && end->has_sweep()) return Answered(TasksFailed(id, end->sweep()));
  return Answered(client::FromJobEnd(*end, id));
}

}  // namespace

Command WatchCommand() {
  return {
      .name = "watch",
      .group = Group::kJobs,
      .summary = "follow a job until it ends",
      .details =
          "Prints each change of state, and on a terminal the progress. --json prints one update per line. Ctrl-C\n"
          "stops watching; the job continues. The exit code tells how the job ended. If the connection breaks, watch\n"
          "tries to reach the daemon for 2 minutes.",
      .example = "hotplate watch 22",
      .positionals = {{.name = "JOB", .help = "the id of a job, or last", .offer = Offer::kJob}},
      .options = {},
      .run = Watch};
}

}  // namespace hotplate::cli
