// hotplate workers: the Pythons that are kept warm for scripts.
#include "client/cli/commands.h"
#include "client/cli/jobs/job_text.h"
#include "client/cli/terminal/json.h"
#include "client/cli/terminal/table.h"

namespace hotplate::cli {
namespace {

std::string StateText(v1::Worker::State state) {
  switch (state) {
    case v1::Worker::STARTING:
      return "starting";
    case v1::Worker::WARM:
      return "warm";
    case v1::Worker::ENDED:
      return "ended";
    case v1::Worker::FAILED:
      return "failed";
    default:
      return "-";
  }
}

std::string ModulesText(const v1::Worker& worker) {
  std::vector<std::string> modules;
  for (const v1::Worker::Module& module : worker.modules()) {
    modules.push_back(module.version() == "-" ? module.name() : module.name() + " " + module.version());
  }
  return modules.empty() ? "-" : Join(modules, ", ");
}

std::string FunctionWorkersText(const v1::ListWorkersResponse& list, int width) {
  if (list.function_workers().empty()) return "";
  Table table({"INTERPRETER", "DEVICE", "PID", "STATE", "REFS"});
  table.AlignRight(2).AlignRight(4).MayBeCut(0, 20);
  for (const v1::FunctionWorker& worker : list.function_workers()) {
    table.Row({Printable(worker.interpreter()), worker.device(), std::to_string(worker.pid()),
               std::string(worker.alone() ? "actor, " : "") + (worker.busy() ? "has a call" : "waits"),
               std::to_string(worker.refs())});
  }
  return "workers of functions\n" + table.Text(width);
}

std::string WorkersText(const v1::ListWorkersResponse& list, int width) {
  if (list.workers().empty()) return "no Python is warm: the first script in an environment starts one\n";
  Table table({"INTERPRETER", "PYTHON", "STATE", "PID", "SCRIPTS", "MODULES"});
  table.AlignRight(3).AlignRight(4).MayBeCut(5, 20).MayBeCut(0, 20);
  std::string notes;
  for (const v1::Worker& worker : list.workers()) {
    table.Row({Printable(worker.interpreter()), worker.version().empty() ? "-" : Printable(worker.version()),
               StateText(worker.state()), worker.pid() == 0 ? "-" : std::to_string(worker.pid()),
               std::to_string(worker.scripts()), Printable(ModulesText(worker))});
    if (!worker.why().empty()) notes += "  " + worker.interpreter() + " did not start: " + worker.why() + "\n";
    for (const v1::Worker::LeftOut& module : worker.left_out())
      notes += "  " + worker.interpreter() + " leaves out " + module.name() + ": " + module.why() + "\n";
  }
  return table.Text(width) + Fitted(Printable(notes), width);
}

absl::Status Restart(const Invocation& call) {
  auto client = call.Connect();
  if (!client.ok()) return client.status();
  const auto count = client->RestartWorkers();
  if (!count.ok()) return count.status();
  call.output.Answer(
      [&] {
        return *count == 0 ? std::string("there were none")
                           : Done(call.console, std::to_string(*count) + (*count == 1 ? " ends" : " end") +
                                                    "; the next script starts anew");
      },
      [&] { return JsonObject().Count("restarted", *count).Json(); }, "");
  return absl::OkStatus();
}

absl::Status Workers(const Invocation& call) {
  const std::vector<std::string>& words = call.arguments.words();
  if (!words.empty() && words[0] != "restart")
    return UsageError("workers " + words[0] + ": give restart, or nothing for a list");
  if (!words.empty()) return Restart(call);
  auto client = call.Connect();
  if (!client.ok()) return client.status();
  const auto list = client->ListWorkers();
  if (!list.ok()) return list.status();
  std::string pids;
  for (const v1::Worker& worker : list->workers())
    if (worker.pid() != 0) pids += std::to_string(worker.pid()) + "\n";
  call.output.Answer(
      [&] {
        const int width = WidthOf(call.console);
        const std::string functions = FunctionWorkersText(*list, width);
        return WorkersText(*list, width) + (functions.empty() ? "" : "\n") + functions;
      },
      [&] { return ToJson(*list); }, pids);
  return absl::OkStatus();
}

}  // namespace

Command WorkersCommand() {
  return {.name = "workers",
          .group = Group::kJobs,
          .summary = "list the Pythons that are kept warm for your scripts",
          .details =
              "Each is an environment: an interpreter, and the variables that it and its packages read. Lines\n"
              "below the table say which modules are left out, and why. A second table has the processes that\n"
              "run Python functions, and how many objects are left in each. restart ends them all, each when\n"
              "no script or call of it runs any more: after a change to a package that is not seen by its\n"
              "folder, or after failures.",
          .example = "hotplate workers",
          .positionals =
              {{.name = "ACTION", .help = "restart", .minimum = 0, .offer = Offer::kChoices, .choices = {"restart"}}},
          .run = Workers};
}

}  // namespace hotplate::cli
