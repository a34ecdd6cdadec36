// hotplate journal: what daemons have written down of detached jobs, for those who look after it.
#include "server/journal/journal.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "client/cli/commands.h"
#include "client/cli/journals/journals.h"
#include "client/cli/journals/prune_journal.h"
#include "client/cli/journals/verify_journal.h"
#include "client/cli/terminal/json.h"
#include "hotplate/v1/jobs.pb.h"
#include "hotplate/v1/programs.pb.h"
#include "kernels/array/quoted.h"
#include "kernels/base/quantity.h"
#include "server/journal/export.h"

namespace hotplate::cli {
namespace {

using Places = std::vector<journal::Place>;

std::string Count(std::uint64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string ReportJson(const journal::Place& place, const journal::VerifyReport& report) {
  return JsonObject()
      .Text("name", place.name)
      .Text("folder", place.folder)
      .Text("spool", place.spool)
      .Count("unfinished", static_cast<std::int64_t>(report.unfinished))
      .Count("ended", static_cast<std::int64_t>(report.ended))
      .Count("files", static_cast<std::int64_t>(report.files))
      .Count("bytes", static_cast<std::int64_t>(report.bytes))
      .Raw("problems", JsonTexts(report.problems))
      .Raw("notes", JsonTexts(report.notes))
      .Json();
}

std::string ReportText(const Console& console, const journal::Place& place, const journal::VerifyReport& report) {
  const std::string files = Count(report.files, "file") + " (" + BytesText(report.bytes) + ")";
  std::string text =
      report.ok()
          ? Done(console, place.name + ": " + Count(report.unfinished, "unfinished job") + ", " +
                              Count(report.ended, "job") + " with results; " + files +
                              (report.notes.empty() ? ", all as written\n" : "; all that was synced is as written\n"))
          : place.name + ": " + Count(report.problems.size(), "problem") + "; " + files + " as written\n";
  for (const std::string& note : report.notes) text += "  " + Printable(note) + "\n";
  return text;
}

absl::Status Verify(const Invocation& call, const Places& places) {
  std::string text;
  std::vector<std::string> json, problems;
  for (const journal::Place& place : places) {
    auto report = VerifyJournal(call.settings, place);
    if (!report.ok()) {
      const std::string why =
          absl::IsNotFound(report.status()) ? "is gone" : "cannot be read: " + std::string(report.status().message());
      report = journal::VerifyReport{.problems = {"its journal in " + place.folder + " " + why}, .notes = {}};
    }
    text += ReportText(call.console, place, *report);
    json.push_back(ReportJson(place, *report));
    for (const std::string& problem : report->problems) problems.push_back(place.name + ": " + problem);
  }
  if (places.empty()) text = "there is no journal in " + call.settings.directory + "\n";
  call.output.Answer([&] { return Fitted(text, WidthOf(call.console)); },
                     [&] { return JsonObject().Raw("journals", JsonArray(json)).Json(); }, "");
  if (problems.empty()) return absl::OkStatus();
  return Answered(WithExitCode(absl::DataLossError(Join(problems, "\n")), kExitFailed));
}

// A message of the protocol in JSON; as it is, in base64, if it is none.
template <typename Message>
std::string MessageJson(std::string_view bytes) {
  Message message;
  if (message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return ToJson(message);
  return JsonText(absl::Base64Escape(std::string(bytes)));
}

std::vector<std::string> Texts(const google::protobuf::RepeatedPtrField<std::string>& bytes) {
  std::vector<std::string> texts;
  for (const std::string& one : bytes) texts.push_back(Printable(one));
  return texts;
}

// Shows only the names of a program's environment: values may be secret.
std::string RequestJson(const std::string& kernel, std::string_view bytes) {
  if (!journal::IsProgram(kernel)) return MessageJson<v1::JobSpec>(bytes);
  v1::Program program;
  if (!program.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return "null";
  for (std::string& variable : *program.mutable_environment())
    variable.resize(std::min(variable.find('='), variable.size()));
  return JsonObject()
      .Raw("arguments", JsonTexts(Texts(program.arguments())))
      .Raw("environmentNames", JsonTexts(Texts(program.environment())))
      .Text("folder", Printable(program.folder()))
      .Text("pythonEnvironment", program.python_environment())
      .Json();
}

std::string ExportedEndJson(const std::string& /*kernel*/, std::string_view bytes) {
  return MessageJson<v1::JobEnd>(bytes);
}

absl::Status Export(const Invocation& call, const Places& places) {
  const journal::ExportOptions options{.request_json = RequestJson,
                                       .end_json = ExportedEndJson,
                                       .jobs = {.limit = std::numeric_limits<std::int64_t>::max()}};
  std::ostream& out = call.console.out;
  Unread unread(call.console);
  for (const journal::Place& place : places) {
    const std::string begin = "{\"journal\":" + JsonText(place.name) + ",";
    const absl::Status done = journal::ReadCopy(place.folder, [&](journal::Index& index) {
      return journal::Export([&](absl::FunctionRef<absl::Status(journal::Index&)> work) { return work(index); },
                             options,
                             [&](const std::string& line) {
                               out << begin << line.substr(1) << "\n";
                               return out.good();
                             });
    });
    unread.Add(place, done);
    if (!out.good()) break;
  }
  return Answered(unread.status());
}

std::string PruneText(const std::string& name, const journal::PruneReport& report) {
  std::string text = name + ": " +
                     (report.released == 0 ? "nothing was removed"
                                           : "removed the files of " + Count(report.released, "job") + " (" +
                                                 BytesText(report.bytes) + ")");
  if (report.unread > 0)
    text += "; " + Count(report.unread, "unfetched result") + " (" + BytesText(report.unread_bytes) + ") kept";
  return text;
}

std::string PruneJson(const std::string& name, const journal::PruneReport& report) {
  return JsonObject()
      .Text("name", name)
      .Count("released", static_cast<std::int64_t>(report.released))
      .Count("bytes", static_cast<std::int64_t>(report.bytes))
      .Count("unread", static_cast<std::int64_t>(report.unread))
      .Count("unreadBytes", static_cast<std::int64_t>(report.unread_bytes))
      .Raw("notes", JsonTexts(report.notes))
      .Json();
}

absl::Status Prune(const Invocation& call, const Places& places) {
  const auto age = call.arguments.Duration("older-than");
  if (!age.ok()) return age.status();
  std::string text;
  std::vector<std::string> json;
  absl::Status failed;
  for (auto first = places.begin(); first != places.end();) {
    const auto last =
        std::find_if(first, places.end(), [&](const journal::Place& place) { return place.name != first->name; });
    journal::PruneReport report;
    const absl::Status pruned = PruneJournals(call, Places(first, last), age->value_or(nanoseconds(0)), report);
    if (failed.ok()) failed = pruned;
    if (pruned.ok() || report.released > 0) {
      text += Done(call.console, PruneText(first->name, report)) + "\n";
      for (const std::string& note : report.notes) text += "  " + Printable(note) + "\n";
      json.push_back(PruneJson(first->name, report));
    }
    first = last;
  }
  if (json.empty() && !failed.ok()) return failed;
  if (places.empty()) text = "there is no journal in " + call.settings.directory + "\n";
  call.output.Answer([&] { return Fitted(text, WidthOf(call.console)); },
                     [&] { return JsonObject().Raw("journals", JsonArray(json)).Json(); }, "");
  return Answered(failed);
}

constexpr std::pair<const char*, absl::Status (*)(const Invocation&, const Places&)> kActions[] = {
    {"verify", Verify}, {"export", Export}, {"prune", Prune}};

absl::Status Journal(const Invocation& call) {
  const std::string& word = call.arguments.words()[0];
  const auto action =
      std::find_if(std::begin(kActions), std::end(kActions), [&](const auto& one) { return word == one.first; });
  if (action == std::end(kActions)) return UsageError("journal " + Quoted(word) + ": give verify, export or prune");
  if (call.arguments.Text("older-than") && word != "prune") return UsageError("--older-than is for prune only");
  const auto places = FindJournals(call, NamedJournal(call.arguments, 1));
  if (!places.ok()) return places.status();
  return action->second(call, *places);
}

}  // namespace

Command JournalCommand() {
  return {
      .name = "journal",
      .group = Group::kDaemon,
      .summary = "check, export or prune the journals of jobs",
      .details =
          "Works on the journal of one daemon, or without NAME on all, whether the daemons live or not.\n"
          "verify reads every file of every job and compares its SHA-256. If anything that was acknowledged is lost\n"
          "or damaged, it prints a sentence for each problem and exits with 1.\n"
          "export writes everything as JSON, one object per line: daemons, jobs with requests and ends, sums.\n"
          "prune deletes inputs and results of ended jobs. It keeps unfetched results, and the history.",
      .example = "hotplate journal prune --older-than 7d",
      .positionals = {{.name = "ACTION",
                       .help = "verify, export or prune",
                       .offer = Offer::kChoices,
                       .choices = {"verify", "export", "prune"}},
                      {.name = "NAME", .help = "a daemon's name", .minimum = 0, .offer = Offer::kServer}},
      .options = {{.names = "--older-than",
                   .value = "TIME",
                   .help = "prune only jobs that ended longer ago than this: 12h, 7d (default: all)"}},
      .run = Journal};
}

}  // namespace hotplate::cli
