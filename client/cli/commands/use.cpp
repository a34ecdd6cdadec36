// hotplate use: which daemon the other commands talk to.
#include <algorithm>

#include "client/cli/allocation/notes.h"
#include "client/cli/allocation/records.h"
#include "client/cli/commands.h"
#include "client/cli/terminal/json.h"

namespace hotplate::cli {
namespace {

absl::Status Use(const Invocation& call) {
  if (const absl::Status status = client::CheckDirectory(call.settings.directory); !status.ok()) return status;
  if (call.arguments.words().empty()) {
    const std::vector<std::string> names = ServerNames(call.settings);
    const std::string current = ServerName(call.settings).value_or("");
    std::string text;
    std::vector<std::string> dead;
    for (const std::string& name : names) {
      const auto record = RecordOf(call.settings, name);
      const bool ended = record && client::KnownEnded(*record);
      text += (name == current ? "* " : "  ") + name;
      if (record && !record->guest().empty()) text += "   (you are its guest " + Printable(record->guest()) + ")";
      if (LeadsNowhere(call.settings, name))
        text += "   (its record is not there; forget it: hotplate join --remove " + name + ")";
      // The record of a guest is written anew by the next daemon of its owner.
      const bool guest = record && !record->guest().empty();
      text += !ended  ? "\n"
              : guest ? "   (dead; its owner may start it again)\n"
                      : "   (dead; clear it: hotplate down " + name + ")\n";
      if (ended) dead.push_back(name);
    }
    for (const AllocationNote& note : ReadNotes(call.settings.directory))
      if (!note.over() && std::find(names.begin(), names.end(), note.name) == names.end())
        text +=
            "  " + note.name + "   (job " + note.job.id + ", no daemon: hotplate status --server " + note.name + ")\n";
    if (text.empty()) text = "no daemon is known in " + call.settings.directory + "; start one: hotplate up\n";
    call.output.Answer([&] { return text; },
                       [&] {
                         return JsonObject()
                             .Text("current", current)
                             .Raw("servers", JsonTexts(names))
                             .Raw("dead", JsonTexts(dead))
                             .Json();
                       },
                       Join(names, "\n"));
    return absl::OkStatus();
  }
  const std::string& name = call.arguments.words()[0];
  const auto note = ReadNote(call.settings.directory, name);
  const auto record = client::IsServerName(name) ? RecordOf(call.settings, name) : std::nullopt;
  const bool is_to_come = note && !note->over();
  if (is_to_come && !record)
    return WithNextStep(absl::UnavailableError(name + " has no daemon yet (job " + note->job.id + ")"),
                        "wait for it, and use it then: hotplate up --name " + name);
  if (record && client::KnownEnded(*record) && !is_to_come)
    return WithNextStep(absl::UnavailableError("daemon " + name + " is dead, and has left its record"),
                        "clear it: hotplate down " + name + " · all daemons: hotplate use");
  if (const absl::Status status = SetCurrent(call.settings, name); !status.ok()) return status;
  call.output.Answer([&] { return Done(call.console, name + " is the current daemon"); },
                     [&] { return JsonObject().Text("current", name).Json(); }, name);
  return absl::OkStatus();
}

}  // namespace

Command UseCommand() {
  return {.name = "use",
          .group = Group::kDaemon,
          .summary = "choose the daemon that commands talk to; without NAME, list all daemons",
          .example = "hotplate use local",
          .positionals = {{.name = "NAME", .help = "a daemon's name", .minimum = 0, .offer = Offer::kServer}},
          .run = Use};
}

}  // namespace hotplate::cli
