#include "client/cli/programs/program_call.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "client/cli/jobs/job_text.h"
#include "client/cli/jobs/receipt.h"
#include "client/cli/programs/program_streams.h"
#include "client/cli/programs/program_words.h"
#include "client/cli/sweeps/failed_tasks.h"
#include "client/cli/sweeps/sweep_words.h"
#include "client/cli/terminal/json.h"
#include "client/cli/terminal/raw_terminal.h"
#include "kernels/array/quoted.h"
#include "kernels/base/real_text.h"
#include "kernels/base/run_program.h"

namespace hotplate::cli {
namespace {

constexpr std::size_t kLongestLabel = 64;  // bytes
constexpr char kPython[] = "python3";

// Variables that programs need in any case.
constexpr std::string_view kAlways[] = {"HOME", "PATH", "USER", "LOGNAME", "SHELL", "LANG", "TERM"};

// The Python that the words do not name: of the environment that is active here, unless the daemon has one of its own.
void AddInterpreter(const Environment& environment, v1::Program& program) {
  if (const auto python = environment("HOTPLATE_PYTHON"); python && !python->empty()) {
    program.add_arguments(*python);
    return;
  }
  program.set_or_default_environment(true);
  for (const char* const active : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const auto folder = environment(active);
    if (!folder || folder->empty()) continue;
    program.add_arguments(*folder + "/bin/python");
    return;
  }
  program.add_arguments(kPython);
}

// The name to list the job by: the script's, or the program's.
std::string LabelOf(const std::vector<std::string>& words, bool python) {
  if (words.empty()) return "";
  if (python && words.front() == "-c") return "-c";
  const auto named =
      std::find_if(words.begin(), words.end(), [](const std::string& word) { return !word.empty() && word[0] != '-'; });
  if (named == words.end()) return "";
  // A file's name may be longer than a label, and no text.
  std::string label = Printable(std::filesystem::path(*named).filename().string());
  std::replace_if(
      label.begin(), label.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  while (label.size() > kLongestLabel || !IsUtf8(label)) label.pop_back();
  return label;
}

// Python is one to talk to as it would be here: without a script, and with -i before it.
bool IsInteractive(const std::vector<std::string>& words) {
  bool is_value = false;  // of the option before it
  for (const std::string& word : words) {
    if (std::exchange(is_value, false)) continue;
    if (word == "-i") return true;
    if (word.empty() || word[0] != '-' || word == "-" || word == "-c" || word == "-m") return false;
    is_value = word == "-X" || word == "-W" || word == "--check-hash-based-pycs";
  }
  return true;
}

absl::StatusOr<bool> HasTerminal(const Invocation& call, const ProgramWords& words) {
  const bool here = isatty(STDIN_FILENO) != 0;
  if (call.arguments.Flag("terminal")) {
    if (here) return true;
    return UsageError("--terminal is for a program that is called from a terminal: standard input is none");
  }
  return here && isatty(STDOUT_FILENO) != 0 && words.kind == "python" && IsInteractive(words.program);
}

// A program is told what was written: "007" and "3.10" are texts, since a number would come as "7" and "3.1".
client::ParamValue AsTold(const std::string& text) {
  const auto integer = ParseInteger(text);
  if (integer && std::to_string(*integer) == text) return *integer;
  const auto real = ParseNumber(text);
  if (real && RealText(*real) == text) return *real;
  return text;
}

// Its own exit code is the command's, and all that a script is told.
absl::Status EndedAs(int exit_code) {
  return exit_code == 0 ? absl::OkStatus() : Silent(static_cast<ExitCode>(exit_code));
}

absl::Status StatusOfEnd(const Invocation& call, const std::string& job_id, const v1::JobEnd& end) {
  const v1::Receipt& receipt = end.result().receipt();
  if (end.result().has_receipt() && call.console.err_terminal && call.output.talkative())
    WriteReceipt(call.console, receipt, end.state());
  const std::string& why = end.error().message();
  const bool by_itself = end.state() == v1::COMPLETED || end.state() == v1::FAILED;
  if (by_itself && receipt.process().has_exit_code() &&
      (receipt.process().exit_code() != 0 || end.state() == v1::COMPLETED))
    return EndedAs(receipt.process().exit_code());
  if (receipt.process().has_signal() && by_itself) {
    return WithExitCode(absl::AbortedError(why), static_cast<ExitCode>(128 + receipt.process().signal()));
  }
  const auto code = static_cast<absl::StatusCode>(end.error().code());
  return WithExitCode(absl::Status(code, why.empty() ? "job " + job_id + " did not complete" : why),
                      ExitCodeOf(code, end.state()));
}

}  // namespace

std::vector<std::string> ExportedEnvironment(const std::string& which, const std::vector<std::string>& own) {
  const std::vector<std::string> names =
      which == "ALL" || which == "NONE" ? std::vector<std::string>() : SplitAt(which, ',');
  const auto is_exported = [&](std::string_view name) {
    if (name.starts_with("HOTPLATE_") || name.starts_with("SSH_") || name == "DISPLAY" || name == "XDG_RUNTIME_DIR")
      return false;
    return which == "ALL" || std::find(std::begin(kAlways), std::end(kAlways), name) != std::end(kAlways) ||
           std::find(names.begin(), names.end(), name) != names.end();
  };
  std::vector<std::string> exported;
  for (const std::string& variable : own) {
    const std::size_t equals = variable.find('=');
    if (equals == std::string::npos || equals == 0) continue;
    if (is_exported(std::string_view(variable).substr(0, equals))) exported.push_back(variable);
  }
  return exported;
}

absl::StatusOr<v1::Program> ProgramFor(const Invocation& call, const ProgramWords& words) {
  const bool python = words.kind == "python";
  if (words.program.empty() && !python) return UsageError("PROGRAM is missing: the program to run");
  const auto time_limit = call.arguments.Duration("time-limit");
  if (!time_limit.ok()) return time_limit.status();
  const auto priority = call.arguments.Integer("priority", -100, 100);
  if (!priority.ok()) return priority.status();
  v1::Program program;
  program.set_kind(words.kind);
  program.set_label(call.arguments.Text("label").value_or(LabelOf(words.program, python)));
  const auto environment = call.arguments.Text("env");
  if (environment && environment->empty())
    return UsageError("--env is empty: give an environment's name (hotplate env)");
  program.set_python_environment(environment.value_or(""));
  if (python && environment) program.add_arguments(kPython);
  if (python && !environment) AddInterpreter(call.environment, program);
  for (const std::string& word : words.program) program.add_arguments(word);
  for (std::string& variable : ExportedEnvironment(call.arguments.Text("export").value_or("ALL"), OwnVariables()))
    program.add_environment(std::move(variable));
  if (const absl::StatusOr<bool> terminal = HasTerminal(call, words); !terminal.ok()) {
    return terminal.status();
  } else if (*terminal) {
    const TerminalSize size = SizeOfTerminal();
    program.mutable_terminal()->set_rows(static_cast<std::uint32_t>(size.lines));
    program.mutable_terminal()->set_columns(static_cast<std::uint32_t>(size.columns));
  }
  // Into a pipe Python would print by the block, and what it prints would come late.
  if (python && !program.has_terminal() && !call.environment("PYTHONUNBUFFERED"))
    program.add_environment("PYTHONUNBUFFERED=1");
  std::error_code error;
  program.set_folder(std::filesystem::current_path(error).string());
  if (error) return absl::NotFoundError("the current folder cannot be found: " + error.message());
  program.set_device(call.arguments.Text("device").value_or(""));
  program.set_priority(static_cast<int>(priority->value_or(0)));
  program.set_request_id(call.arguments.Text("request-id").value_or(""));
  program.set_no_rerun(call.arguments.Flag("no-rerun"));
  for (const std::string& id : SplitAt(call.arguments.All("after"), ',')) program.add_after()->set_job_id(id);
  const auto parse = [](const std::string&, const std::string& text) {
    return absl::StatusOr<client::ParamValue>(AsTold(text));
  };
  const auto sweep = SweepFrom(call.arguments, {"the program", {}, parse});
  if (!sweep.ok()) return sweep.status();
  if (*sweep) *program.mutable_sweep() = **sweep;
  if (*time_limit) {
    program.mutable_time_limit()->set_seconds((*time_limit)->count() / 1'000'000'000);
    program.mutable_time_limit()->set_nanos(static_cast<int>((*time_limit)->count() % 1'000'000'000));
  }
  return program;
}

absl::Status RunAttached(const Invocation& call, const v1::Program& program) {
  client::Cancellation cancellation;
  ProgramSignals signals([&cancellation] { cancellation.Cancel(); });
  if (!program.request_id().empty())
    return UsageError("--request-id is for a program in the background: hotplate submit " + program.kind() + " …");
  if (program.no_rerun())
    return UsageError("--no-rerun is for a program in the background: hotplate submit " + program.kind() + " …");
  if (program.has_sweep() || call.arguments.Text("failed-of"))
    return UsageError(GivenSweepOption(call.arguments) + " is for a program in the background: hotplate submit … " +
                      program.kind() + " …");
  if (program.after_size() > 0)
    return UsageError("--after is for a program in the background: hotplate submit " + program.kind() + " …");
  auto client = call.Connect();
  if (!client.ok()) return client.status();
  signals.Connected();
  RawTerminal terminal;
  std::string job_id;
  bool broken_pipe = false;
  const auto on_response = [&](const v1::RunProgramResponse& response) {
    if (!response.job_id().empty()) job_id = response.job_id();
    // Its output may come before the word that it runs.
    if (response.state_change().state() == v1::RUNNING || response.pieces_size() > 0) {
      signals.Running([&client, &job_id](int number) { client->SignalProgram(job_id, number).IgnoreError(); });
      // Not before: until it runs, Ctrl-C is for this command.
      if (program.has_terminal()) terminal.Begin();
    }
    for (const v1::ProgramPiece& piece : response.pieces()) {
      const bool written =
          piece.has_out() ? WriteOut(STDOUT_FILENO, piece.out()) : WriteOut(STDERR_FILENO, piece.err());
      if (written) continue;
      broken_pipe = true;
      cancellation.Cancel();
    }
    if (response.has_notice()) Remark(call.console, response.notice().text());
  };
  const absl::StatusOr<v1::JobEnd> end = client->RunProgram(
      program,
      [&](std::shared_ptr<client::ProgramInput> input) {
        if (program.has_terminal()) {
          signals.OnResize([input] {
            const TerminalSize size = SizeOfTerminal();
            input->Resize(static_cast<std::uint32_t>(size.lines), static_cast<std::uint32_t>(size.columns));
          });
        }
        PassInput(std::move(input));
      },
      on_response, &cancellation);
  terminal.End();
  signals.Running(nullptr);  // the client goes before the signals do
  signals.OnResize(nullptr);
  if (broken_pipe) return EndedAs(128 + SIGPIPE);
  if (end.ok()) return StatusOfEnd(call, job_id, *end);
  if (signals.last() != 0 && cancellation.cancelled())
    return WithExitCode(Interrupted(job_id.empty() ? "nothing was run" : "job " + job_id + " is cancelled"),
                        static_cast<ExitCode>(128 + signals.last()));
  return end.status();
}

absl::Status SubmitDetached(const Invocation& call, const v1::Program& program) {
  if (program.kind() == "python" && program.arguments_size() == 1)
    return UsageError("SCRIPT is missing: a file, -m MODULE or -c CODE");
  if (program.has_terminal())
    return UsageError("a program in the background has no terminal: without submit, hotplate " + program.kind() +
                      " gives it one");
  auto client = call.Connect();
  if (!client.ok()) return client.status();
  v1::Program asked = program;
  if (const auto word = call.arguments.Text("failed-of")) {
    const auto earlier = FindEarlier(*client, *word);
    if (!earlier.ok()) return earlier.status();
    if (const absl::Status kept = KeepIncomplete(*earlier, *asked.mutable_sweep()); !kept.ok()) return kept;
  }
  const absl::StatusOr<std::string> id = client->SubmitProgram(asked);
  if (!id.ok()) return id.status();
  call.output.Answer(
      [&] {
        const std::string tasks = asked.has_sweep() ? "   " + std::to_string(TasksOf(asked.sweep())) + " tasks" : "";
        return Done(call.console, "job " + *id + " queued" + tasks) + "\n  hotplate logs " +
               (asked.has_sweep() ? *id + " --task N" : "-f " + *id) + " · hotplate watch " + *id +
               " · hotplate cancel " + *id;
      },
      [&] {
        JsonObject json;
        json.Text("jobId", *id).Text("kernel", asked.kind());
        if (asked.has_sweep()) json.Count("tasks", static_cast<std::int64_t>(TasksOf(asked.sweep())));
        return json.Json();
      },
      *id);
  return absl::OkStatus();
}

}  // namespace hotplate::cli
