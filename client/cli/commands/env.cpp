// hotplate env: Python environments of the node by name.
#include "client/cli/allocation/daemon_start.h"
#include "client/cli/commands.h"
#include "client/cli/jobs/job_text.h"
#include "client/cli/terminal/json.h"
#include "client/cli/terminal/table.h"
#include "kernels/array/quoted.h"

namespace hotplate::cli {
namespace {

constexpr char kOwn[] = "default";

std::string OrDash(const std::string& text) { return text.empty() ? "-" : Printable(text); }

// "Python 3.11.2, NumPy 1.24.2, no cloudpickle (functions bring their own)"
std::string VersionsText(const v1::PythonEnvironment& one) {
  return "Python " + Printable(one.python_version()) + ", " +
         (one.numpy().empty() ? "no NumPy" : "NumPy " + Printable(one.numpy())) + ", " +
         (one.cloudpickle().empty() ? "no cloudpickle (functions bring their own)"
                                    : "cloudpickle " + Printable(one.cloudpickle()));
}

std::string EnvironmentText(const v1::PythonEnvironment& one) {
  Table table;
  table.Indent(2);
  table.Row({"interpreter", OrDash(one.python())});
  table.Row({"versions", one.python_version().empty() ? "-" : VersionsText(one)});
  if (one.modules_size() > 0) table.Row({"modules", Join({one.modules().begin(), one.modules().end()}, " ")});
  if (one.variables_size() > 0) {
    table.Row({"they change", Join({one.variables().begin(), one.variables().end()}, " ")});
  }
  for (const std::string& note : one.notes()) table.Row({"note", Printable(note)});
  return Printable(one.name()) + "\n" + table.Text();
}

std::string ListText(const v1::ListEnvironmentsResponse& list, int width) {
  if (list.environments().empty()) {
    return Fitted("no environment has a name: hotplate env add NAME --python PATH\n", width);
  }
  Table table({"NAME", "PYTHON", "NUMPY", "CLOUDPICKLE", "INTERPRETER", "MODULES"});
  table.MayBeCut(5, 12).MayBeCut(4, 20);
  for (const v1::PythonEnvironment& one : list.environments()) {
    table.Row({Printable(one.name()), OrDash(one.python_version()), OrDash(one.numpy()), OrDash(one.cloudpickle()),
               OrDash(one.python()), OrDash(Join({one.modules().begin(), one.modules().end()}, " "))});
  }
  return table.Text(width);
}

absl::Status List(const Invocation& call) {
  auto client = call.Connect();
  if (!client.ok()) return client.status();
  const auto list = client->ListEnvironments();
  if (!list.ok()) return list.status();
  std::string names;
  for (const v1::PythonEnvironment& one : list->environments()) names += one.name() + "\n";
  call.output.Answer([&] { return ListText(*list, WidthOf(call.console)); }, [&] { return ToJson(*list); }, names);
  return absl::OkStatus();
}

absl::Status Show(const Invocation& call, const std::string& name) {
  auto client = call.Connect();
  if (!client.ok()) return client.status();
  const auto list = client->ListEnvironments();
  if (!list.ok()) return list.status();
  std::vector<std::string> names;
  for (const v1::PythonEnvironment& one : list->environments()) {
    names.push_back(one.name());
    if (one.name() != name) continue;
    call.output.Answer([&] { return Fitted(EnvironmentText(one), WidthOf(call.console)); }, [&] { return ToJson(one); },
                       one.python());
    return absl::OkStatus();
  }
  if (name == kOwn)
    return absl::NotFoundError("this daemon has no environment of its own: it was started without --python");
  return absl::NotFoundError("there is no environment " + Quoted(name) +
                             (names.empty() ? ", nor any other" : "; there are: " + Join(names, ", ")));
}

absl::Status Add(const Invocation& call, const std::string& name) {
  v1::AddEnvironmentRequest request;
  request.set_name(name);
  const auto python = call.arguments.Text("python");
  if (python) request.set_python(InterpreterPath(*python));
  for (const std::string& module : call.arguments.All("module")) request.add_modules(module);
  if ((!python || python->empty()) && request.modules().empty()) {
    return UsageError("env add " + name + ": --python PATH is missing: the interpreter on the node");
  }
  request.set_replace(call.arguments.Flag("force"));
  auto client = call.Connect();
  if (!client.ok()) return client.status();
  const auto added = client->AddEnvironment(request);
  if (!added.ok()) return added.status();
  const v1::PythonEnvironment& one = added->environment();
  for (const std::string& note : one.notes()) Remark(call.console, "! " + note);
  call.output.Answer(
      [&] {
        return Fitted(Done(call.console, "environment " + one.name() + (added->replaced() ? " replaced: " : ": ") +
                                             VersionsText(one)) +
                          "\n  " + Printable(one.python()) + "\n  hotplate python --env " + one.name() +
                          " SCRIPT · gpu.function(f, env=\"" + one.name() + "\")",
                      WidthOf(call.console));
      },
      [&] { return ToJson(*added); }, one.name());
  return absl::OkStatus();
}

absl::Status Remove(const Invocation& call, const std::string& name) {
  auto client = call.Connect();
  if (!client.ok()) return client.status();
  if (const absl::Status status = client->RemoveEnvironment(name); !status.ok()) return status;
  call.output.Answer([&] { return Done(call.console, "environment " + name + " removed; what runs in it goes on"); },
                     [&] { return JsonObject().Text("removed", name).Json(); }, "");
  return absl::OkStatus();
}

absl::Status Env(const Invocation& call) {
  const std::vector<std::string>& words = call.arguments.words();
  const std::string action = words.empty() ? "list" : words[0];
  if (action != "add") {
    for (const char* option : {"python", "module"})
      if (!call.arguments.All(option).empty())
        return UsageError("--" + std::string(option) + " is for env add, not for env " + action);
    if (call.arguments.Flag("force")) return UsageError("--force is for env add, not for env " + action);
  }
  if (action == "list" && words.size() < 2) return List(call);
  if (action == "list") return UsageError("env list: " + Quoted(words[1]) + " is one word too many");
  if (action != "add" && action != "show" && action != "remove") {
    return UsageError("env " + action + ": give list, add NAME, show NAME or remove NAME");
  }
  if (words.size() < 2) return UsageError("env " + action + ": NAME is missing: the environment's");
  return action == "add" ? Add(call, words[1]) : action == "show" ? Show(call, words[1]) : Remove(call, words[1]);
}

}  // namespace

Command EnvCommand() {
  return {.name = "env",
          .group = Group::kJobs,
          .summary = "give names to Python environments of the node",
          .details =
              "env add NAME --python PATH keeps an interpreter under a name, and with --module what `module load`\n"
              "changes: the modules are loaded once, in a login shell on the node, before the interpreter is asked\n"
              "for its versions. Without --python it is the python3 of the modules. The names outlive the daemon.\n"
              "python --env NAME, submit python --env NAME and gpu.function(f, env=\"NAME\") run in it. The name\n"
              "default is the daemon's own environment, of hotplate up --python.",
          .example = "hotplate env add torch --python ~/torch/bin/python --module CUDA/12.1.1",
          .positionals = {{.name = "ACTION",
                           .help = "list (the default), add, show or remove",
                           .minimum = 0,
                           .offer = Offer::kChoices,
                           .choices = {"list", "add", "show", "remove"}},
                          {.name = "NAME", .help = "of an environment", .minimum = 0}},
          .options = {{.names = "--python",
                       .value = "PATH",
                       .help = "with add: the interpreter, a path on the node or a program in PATH",
                       .offer = Offer::kFile},
                      {.names = "--module",
                       .value = "NAME",
                       .help = "with add: load this module for it; repeatable, in this order",
                       .repeatable = true},
                      {.names = "--force", .value = "", .help = "with add: replace an environment of this name"}},
          .run = Env};
}

}  // namespace hotplate::cli
