#include "client/cli/programs/program_call.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "client/cli/jobs/job_text.h"
#include "client/cli/jobs/receipt.h"
#include "client/cli/programs/program_streams.h"
#include "client/cli/terminal/json.h"
#include "kernels/base/quantity.h"

extern char** environ;

namespace hotplate::cli {
namespace {

// What a program can hardly do without.
constexpr std::string_view kAlways[] = {"HOME", "PATH", "USER", "LOGNAME", "SHELL", "LANG", "TERM"};

std::vector<std::string> OwnEnvironment() {
  std::vector<std::string> own;
  for (char** variable = environ; *variable != nullptr; ++variable) own.emplace_back(*variable);
  return own;
}

// The Python that the words do not name: of the environment that is active here.
std::string Interpreter(const Environment& environment) {
  if (const auto python = environment("HOTPLATE_PYTHON"); python && !python->empty()) return *python;
  for (const char* const active : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const auto folder = environment(active); folder && !folder->empty()) return *folder + "/bin/python";
  }
  return "python3";
}

// A label has at most 64 bytes, and what a file's name has may be no text in UTF-8.
std::string Label(const std::string& name) {
  std::string label;
  for (std::size_t at = 0; at < name.size();) {
    const auto first = static_cast<unsigned char>(name[at]);
    std::size_t size = first < 0x80 ? 1 : first >= 0xC2 && first < 0xE0 ? 2 : first >= 0xE0 && first < 0xF0 ? 3 : 0;
    for (std::size_t i = 1; i < size; ++i)
      if (at + i >= name.size() || (static_cast<unsigned char>(name[at + i]) & 0xC0) != 0x80) size = 0;
    // Overlong forms and halves of pairs of UTF-16 are none either.
    if (size == 3 && ((first == 0xE0 && static_cast<unsigned char>(name[at + 1]) < 0xA0) ||
                      (first == 0xED && static_cast<unsigned char>(name[at + 1]) >= 0xA0)))
      size = 0;
    const std::string one = size == 0 || first < 0x20 || first == 0x7F ? "?" : name.substr(at, size);
    if (label.size() + one.size() > 64) break;
    label += one;
    at += std::max<std::size_t>(size, 1);
  }
  return label;
}

// The name to list the job by: the script's, or the program's.
std::string LabelOf(const std::vector<std::string>& words) {
  const auto named =
      std::find_if(words.begin(), words.end(), [](const std::string& word) { return !word.empty() && word[0] != '-'; });
  if (named == words.end()) return "";
  return Label(std::filesystem::path(*named).filename().string());
}

// Its own exit code is the command's, and all that a script is told.
absl::Status EndedAs(int exit_code) {
  return exit_code == 0 ? absl::OkStatus() : Silent(static_cast<ExitCode>(exit_code));
}

absl::Status StatusOfEnd(const Invocation& call, const std::string& job_id, const v1::JobEnd& end) {
  const v1::Receipt& receipt = end.result().receipt();
  if (end.result().has_receipt() && call.console.err_terminal && call.output.talkative())
    call.console.err << ReceiptText(receipt, end.state());
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

absl::StatusOr<v1::Program> ProgramFor(const Invocation& call, const std::string& kind,
                                       std::vector<std::string> words) {
  if (kind == "exec" && words.empty()) return UsageError("PROGRAM is missing: the program to run");
  if (kind == "python" && words.empty()) return UsageError("SCRIPT is missing: a file, -m MODULE or -c CODE");
  const auto time_limit = call.arguments.Duration("time-limit");
  if (!time_limit.ok()) return time_limit.status();
  const auto priority = call.arguments.Integer("priority", -100, 100);
  if (!priority.ok()) return priority.status();
  v1::Program program;
  program.set_kind(kind);
  program.set_label(call.arguments.Text("label").value_or(LabelOf(words)));
  if (kind == "python") program.add_arguments(Interpreter(call.environment));
  for (std::string& word : words) program.add_arguments(std::move(word));
  for (std::string& variable : ExportedEnvironment(call.arguments.Text("export").value_or("ALL"), OwnEnvironment()))
    program.add_environment(std::move(variable));
  // Into a pipe Python would print by the block, and what it prints would come late.
  if (kind == "python" && !call.environment("PYTHONUNBUFFERED")) program.add_environment("PYTHONUNBUFFERED=1");
  std::error_code error;
  program.set_folder(std::filesystem::current_path(error).string());
  if (error) return absl::NotFoundError("the current folder cannot be found: " + error.message());
  program.set_device(call.arguments.Text("device").value_or(""));
  program.set_priority(static_cast<int>(priority->value_or(0)));
  program.set_request_id(call.arguments.Text("request-id").value_or(""));
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
  auto client = call.Connect();
  if (!client.ok()) return client.status();
  signals.Connected();
  std::string job_id;
  bool broken_pipe = false;
  const auto on_response = [&](const v1::RunProgramResponse& response) {
    if (!response.job_id().empty()) job_id = response.job_id();
    for (const v1::ProgramPiece& piece : response.pieces()) {
      const bool written =
          piece.has_out() ? WriteOut(STDOUT_FILENO, piece.out()) : WriteOut(STDERR_FILENO, piece.err());
      if (written) continue;
      broken_pipe = true;
      cancellation.Cancel();
    }
    if (response.state_change().state() == v1::RUNNING)
      signals.Running([&client, &job_id](int number) { client->SignalProgram(job_id, number).IgnoreError(); });
    if (response.has_notice()) Remark(call.console, response.notice().text());
  };
  const absl::StatusOr<v1::JobEnd> end = client->RunProgram(
      program, [](std::shared_ptr<client::ProgramInput> input) { PassInput(std::move(input)); }, on_response,
      &cancellation);
  signals.Running(nullptr);  // the client goes before the signals do
  if (broken_pipe) return EndedAs(128 + SIGPIPE);
  if (end.ok()) return StatusOfEnd(call, job_id, *end);
  if (signals.last() != 0 && cancellation.cancelled())
    return WithExitCode(Interrupted(job_id.empty() ? "nothing was run" : "job " + job_id + " is cancelled"),
                        static_cast<ExitCode>(128 + signals.last()));
  return end.status();
}

absl::Status SubmitDetached(const Invocation& call, const v1::Program& program) {
  auto client = call.Connect();
  if (!client.ok()) return client.status();
  const absl::StatusOr<std::string> id = client->SubmitProgram(program);
  if (!id.ok()) return id.status();
  call.output.Answer(
      [&] {
        return Done(call.console, "job " + *id + " queued") + "\n  hotplate logs -f " + *id + " · hotplate watch " +
               *id + " · hotplate cancel " + *id;
      },
      [&] { return JsonObject().Text("jobId", *id).Text("kernel", program.kind()).Json(); }, *id);
  return absl::OkStatus();
}

}  // namespace hotplate::cli
