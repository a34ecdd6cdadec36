// hotplate logs: the daemon's log, also of one that is gone.
#include <poll.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "client/cli/allocation/absence.h"
#include "client/cli/allocation/notes.h"
#include "client/cli/allocation/records.h"
#include "client/cli/commands.h"
#include "client/cli/jobs/job_selection.h"
#include "client/cli/journals/kept_job.h"
#include "client/cli/sweeps/sweep_words.h"
#include "client/cli/terminal/json.h"

namespace hotplate::cli {
namespace {

// Where the last `lines` lines of the file begin.
std::streamoff TailStart(std::ifstream& file, std::int64_t lines) {
  file.seekg(0, std::ios::end);
  std::streamoff at = file.tellg();
  constexpr std::streamoff kBlock = 65'536;
  char last = '\0';
  if (at > 0) file.seekg(at - 1).get(last);
  std::int64_t found = last == '\n' ? -1 : 0;  // a newline at the very end closes the last line
  while (at > 0) {
    const std::streamoff begin = std::max<std::streamoff>(0, at - kBlock);
    std::string block(static_cast<std::size_t>(at - begin), '\0');
    file.seekg(begin);
    file.read(block.data(), static_cast<std::streamsize>(block.size()));
    for (std::size_t i = block.size(); i-- > 0;)
      if (block[i] == '\n' && ++found == lines) return begin + static_cast<std::streamoff>(i) + 1;
    at = begin;
  }
  return 0;
}

// Prints what a program has printed.
class Printer {
 public:
  explicit Printer(const Invocation& call) : call_(call) {}

  void LeftOut(std::uint64_t bytes) {
    if (bytes > 0) Remark(call_.console, std::to_string(bytes) + " bytes are not kept");
  }
  // Returns how many bytes there were.
  template <typename Pieces>
  std::uint64_t Print(const Pieces& pieces) {
    std::uint64_t bytes = 0;
    for (const v1::ProgramPiece& piece : pieces) {
      const std::string& text = piece.has_out() ? piece.out() : piece.err();
      bytes += text.size();
      if (call_.console.json) {
        call_.output.Answer(
            [] { return ""; },
            [&] { return JsonObject().Text("stream", piece.has_out() ? "out" : "err").Text("text", text).Json(); }, "");
      } else {
        Print(piece.has_out(), text);
      }
    }
    call_.console.out.flush();
    call_.console.err.flush();
    return bytes;
  }

 private:
  void Print(bool out, const std::string& text) {
    std::ostream& stream = out ? call_.console.out : call_.console.err;
    const bool terminal = out ? call_.console.out_terminal : call_.console.err_terminal;
    std::string& begun = out ? begun_out_ : begun_err_;
    begun += text;
    const std::size_t whole = terminal ? WholeCharacters(begun) : begun.size();
    stream << (terminal ? Printable(begun.substr(0, whole)) : begun);
    begun.erase(0, whole);
  }

  const Invocation& call_;
  std::string begun_out_, begun_err_;  // a character of which a part has come
};

// From the journals. NOT_FOUND if they lack the job.
absl::Status LogsOfKept(const Invocation& call, const std::string& word) {
  if (call.arguments.Text("task"))
    return WithNextStep(
        absl::FailedPreconditionError(word + ", --task " + *call.arguments.Text("task") +
                                      ": only its daemon, or the next one of that name, has what one task printed"),
        "hotplate up");
  auto kept = KeptJobs::Open(call);
  if (!kept.ok()) return absl::NotFoundError(kept.status().message());
  const auto ids = kept->Select({word}, call.arguments.Text("server").value_or(""));
  if (!ids.ok()) return ids.status();
  if (ids->size() != 1) return absl::InvalidArgumentError(word + " names several jobs: give one");
  const auto job = kept->Find(ids->front());
  if (!job.ok()) return job.status();
  if (!journal::IsProgram(job->job.kernel())) {
    return absl::InvalidArgumentError("job " + ids->front() + " runs the kernel " + job->job.kernel() +
                                      ", which prints nothing");
  }
  if (!job->job.has_end_time())
    return absl::FailedPreconditionError("job " + ids->front() + " has not ended: daemon " + job->place.name +
                                         " has it, or the next one of that name (hotplate logs " + ids->front() +
                                         " --server " + job->place.name + ")");
  if (!job->release_time.empty()) Remark(call.console, "what it printed was deleted at " + job->release_time);
  Printer printer(call);
  printer.Print(job->printed.first());
  printer.LeftOut(job->printed.left_out());
  printer.Print(job->printed.last());
  return absl::OkStatus();
}

// Prints the output of a program from its beginning; with --follow until it has ended.
absl::Status LogsOfJob(const Invocation& call, const std::string& word) {
  if (call.arguments.Text("lines"))
    return UsageError("--lines is for the daemon's log: logs JOB shows all that is kept");
  const auto task = call.arguments.Integer("task", 0, static_cast<std::int64_t>(kMostTasks) - 1);
  if (!task.ok()) return task.status();
  auto client = call.TryConnect();
  if (!client.ok()) {
    if (!absl::IsUnavailable(client.status())) return WhyNoDaemon(call, client.status());
    const absl::Status printed = LogsOfKept(call, word);
    return absl::IsNotFound(printed) ? WhyNoDaemon(call, client.status()) : printed;
  }
  const auto id = SelectJob(*client, word);
  if (!id.ok()) return id.status();
  Printer printer(call);
  for (std::uint64_t from = 0;;) {
    const auto output = client->ProgramOutput(*id, from, static_cast<std::uint64_t>(task->value_or(0)));
    if (absl::IsNotFound(output.status()) && from == 0) {
      const absl::Status printed = LogsOfKept(call, *id);
      return absl::IsNotFound(printed) ? output.status() : printed;
    }
    if (!output.ok()) return output.status();
    printer.LeftOut(output->begin() - std::min(from, output->begin()));
    from = output->begin() + printer.Print(output->pieces());
    if (output->ended() || !call.console.out) return absl::OkStatus();
    if (!output->pieces().empty()) continue;
    if (!call.arguments.Flag("follow")) return absl::OkStatus();
    poll(nullptr, 0, 200);
  }
}

absl::Status Logs(const Invocation& call) {
  if (!call.arguments.words().empty()) return LogsOfJob(call, call.arguments.words().front());
  if (call.arguments.Text("task")) return UsageError("--task is for a job: hotplate logs JOB --task N");
  const auto lines = call.arguments.Integer("lines", 0, 1'000'000'000);
  if (!lines.ok()) return lines.status();
  const auto note = NoteFor(call.settings);
  auto name = ServerName(call.settings);
  if (!name && note) name = note->name;
  if (const auto chosen = name ? std::nullopt : ChosenRecord(call.settings)) name = chosen->name();
  std::string path = LogPath(call.settings, name.value_or("local"));
  const auto record = name ? RecordOf(call.settings, *name) : std::nullopt;
  if (record && !record->log_file().empty())
    path = record->log_file();
  else if (note)
    path = note->output_file;  // the scheduler's output of a start, even a failed one
  std::error_code kind;
  const std::filesystem::file_type type = std::filesystem::status(path, kind).type();
  if (std::filesystem::exists(path, kind) && type != std::filesystem::file_type::regular)
    return absl::InvalidArgumentError("the log " + path + " is not a regular file: its text went elsewhere, and " +
                                      "reading it could wait for ever");
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    // Uses the exit code of all other commands for a wrong name and for a missing daemon.
    if (note && !note->over())
      return WithExitCode(WithNextStep(absl::NotFoundError("job " + note->job.id + " (" + note->name +
                                                           ") has written nothing yet: no " + path),
                                       "hotplate status"),
                          kExitNoDaemon);
    if (record && record->log_file().empty())
      return WithNextStep(absl::NotFoundError("daemon \"" + *name + "\" logs to its standard error, not to a file"),
                          "start it with --log-file FILE");
    return WithExitCode(WithNextStep(absl::NotFoundError("no log at " + path),
                                     "start a daemon: hotplate up (on this machine: hotplate up --local)"),
                        kExitNoDaemon);
  }
  std::streamoff at = TailStart(file, lines->value_or(50));
  std::vector<char> block(65'536);
  std::string begun;  // a line without its end yet
  // A terminal obeys control characters, and the log may hold strangers' text. Files and programs get it unchanged.
  const auto print = [&call](const std::string& line) {
    const std::string text = (call.console.out_terminal ? Printable(line) : line) + "\n";
    call.output.Answer([&] { return text; }, [&] { return JsonObject().Text("line", line).Json(); }, text);
  };
  for (;;) {
    std::error_code error;
    if (const auto size = std::filesystem::file_size(path, error); !error && static_cast<std::streamoff>(size) < at) {
      file = std::ifstream(path, std::ios::binary);  // it was begun anew
      at = 0;
    }
    file.clear();
    file.seekg(at);
    while (file.read(block.data(), static_cast<std::streamsize>(block.size())), file.gcount() > 0) {
      begun.append(block.data(), static_cast<std::size_t>(file.gcount()));
      at += file.gcount();
      for (std::size_t end; (end = begun.find('\n')) != std::string::npos; begun.erase(0, end + 1))
        print(begun.substr(0, end));
    }
    if (!call.arguments.Flag("follow") || !call.console.out) break;
    poll(nullptr, 0, 200);
  }
  if (!begun.empty()) print(begun);
  return absl::OkStatus();
}

}  // namespace

Command LogsCommand() {
  return {
      .name = "logs",
      .group = Group::kDaemon,
      .summary = "show the daemon's log, even after it has ended, or what a program of yours prints",
      .details =
          "Without JOB, the daemon's log; if a batch job's daemon did not become ready, the batch job's output. With "
          "JOB, what\n"
          "that program has printed: the first 64 KiB and the last 192 are kept. Of a job that the daemon does\n"
          "not have any more, or whose daemon has ended, they come from the journals (hotplate history). --json prints "
          "one\n"
          "object per line.",
      .example = "hotplate logs -f",
      .positionals = {{.name = "JOB", .help = "a program's job: its id, or last", .minimum = 0, .offer = Offer::kJob}},
      .options = {{.names = "-f,--follow", .value = "", .help = "keep printing new lines"},
                  {.names = "--task",
                   .value = "N",
                   .help = "of a sweep (submit --each), what task N has printed (default 0)"},
                  {.names = "-n,--lines", .value = "N", .help = "show the last N lines (default 50)"}},
      .run = Logs};
}

}  // namespace hotplate::cli
