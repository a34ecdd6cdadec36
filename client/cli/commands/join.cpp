// hotplate join: a daemon of somebody else, as its guest.
#include <filesystem>

#include "client/cli/allocation/records.h"
#include "client/cli/allocation/text.h"
#include "client/cli/commands.h"
#include "client/cli/terminal/json.h"
#include "kernels/array/quoted.h"
#include "proto/codec/json_file.h"

namespace hotplate::cli {
namespace {

constexpr char kHowToBeAGuest[] =
    "its owner makes a record for a guest: hotplate token create --for NAME --scope submit -o FILE";

// `refused`: why it is not used.
absl::Status NotToBeJoined(const std::string& path, const absl::Status& refused) {
  v1::EndpointRecord any;
  if (!absl::IsUnavailable(refused) && absl::IsFailedPrecondition(codec::ReadJsonFile(path, any)))
    return WithNextStep(absl::InvalidArgumentError(path + " is not an endpoint record"), kHowToBeAGuest);
  const absl::Status told =
      WithNextStep(Worded(refused, client::WithoutHowToStart(std::string(refused.message()))), kHowToBeAGuest);
  return absl::IsFailedPrecondition(refused) ? WithExitCode(told, kExitInvalid) : told;
}

absl::StatusOr<client::FoundRecord> GuestsRecord(const std::string& path) {
  const auto found = client::ReadRecord(path);
  if (!found.ok()) return NotToBeJoined(path, found.status());
  if (!found->record.guest().empty()) return found;
  return WithNextStep(absl::InvalidArgumentError("record " + path + " is the one of daemon " + found->record.name() +
                                                 "'s owner, not a guest's: it allows everything, and is not to be "
                                                 "passed on"),
                      std::string("your own daemon: hotplate use ") + found->record.name() + " · " + kHowToBeAGuest);
}

absl::StatusOr<std::string> NameToJoin(const Invocation& call, const v1::EndpointRecord& record) {
  const auto given = call.arguments.Text("name");
  const std::string name = given ? *given : record.name();
  if (client::IsServerName(name)) return name;
  const std::string message = Quoted(name) + " is not a daemon's name (letters, digits, '.', '_', '-')";
  if (given) return UsageError("--name: " + message);
  return WithNextStep(absl::InvalidArgumentError("the record's name " + message), "give it one: --name NAME");
}

absl::Status JoinDaemon(const Invocation& call, const std::string& file) {
  std::error_code error;
  const auto absolute = std::filesystem::absolute(file, error);
  if (error || file.empty()) return UsageError(Quoted(file) + " is not the path of a record");
  const std::string path = absolute.lexically_normal().string();
  const auto found = GuestsRecord(path);
  if (!found.ok()) return found.status();
  const v1::EndpointRecord& record = found->record;
  const auto name = NameToJoin(call, record);
  if (!name.ok()) return name.status();
  const auto before = LinkRecord(call.settings, *name, path);
  if (absl::IsAlreadyExists(before.status()))
    return WithNextStep(before.status(), "join this one under another name: hotplate join " + file + " --name OTHER");
  if (!before.ok()) return before.status();
  if (const absl::Status status = SetCurrent(call.settings, *name); !status.ok()) return status;
  if (client::KnownEnded(record)) Remark(call.console, "this daemon has ended; the next one of its name will answer");
  call.output.Answer(
      [&] {
        std::string text = "you are guest " + Quoted(record.guest()) + " of " + *name + ", the current daemon now";
        text += record.has_allocation_end_time() ? ", until " + TimeText(record.allocation_end_time().seconds()) +
                                                       " at most, when its allocation ends"
                                                 : ", until your token expires or is revoked";
        if (!before->empty()) text += "\n  " + *name + " led to " + Printable(*before) + " before";
        return Fitted(Done(call.console, text) +
                          "\n  hotplate status · hotplate kernels · forget it: hotplate join --remove " + *name,
                      WidthOf(call.console));
      },
      [&] {
        JsonObject json;
        json.Text("current", *name).Text("guest", record.guest()).Text("record", path);
        if (record.has_allocation_end_time()) json.Count("allocationEndTime", record.allocation_end_time().seconds());
        return json.Json();
      },
      *name);
  return absl::OkStatus();
}

absl::Status LeaveDaemon(const Invocation& call, const std::string& name) {
  const absl::Status status = UnlinkRecord(call.settings, name);
  if (absl::IsInvalidArgument(status)) return WithNextStep(status, "to end that daemon: hotplate down " + name);
  if (!status.ok()) return status;
  call.output.Answer([&] { return Done(call.console, name + " is forgotten here; the token stays valid"); },
                     [&] { return JsonObject().Text("removed", name).Json(); }, "");
  return absl::OkStatus();
}

absl::Status JoinOrLeave(const Invocation& call) {
  const std::vector<std::string>& words = call.arguments.words();
  const auto removed = call.arguments.Text("remove");
  if (removed && (!words.empty() || call.arguments.Text("name")))
    return UsageError("join --remove " + *removed + " takes no FILE and no --name");
  if (removed) return LeaveDaemon(call, *removed);
  if (words.empty()) return UsageError("FILE is missing: the record that a daemon's owner made for you");
  return JoinDaemon(call, words[0]);
}

}  // namespace

Command JoinCommand() {
  return {
      .name = "join",
      .group = Group::kDaemon,
      .summary = "use a daemon of somebody else, as its guest",
      .details =
          "FILE is the record that the daemon's owner made for you with hotplate token create. join checks it, and\n"
          "makes a link to it among your records; the commands and hotplate.connect() follow the link. A daemon that\n"
          "starts anew writes FILE anew, so one join is enough. Nobody but you and its owner may be able to read "
          "FILE,\n"
          "and nobody else to change it or its folder. --remove removes the link alone. More: hotplate help guests.",
      .example = "hotplate join /shared/course/ana.json",
      .positionals = {{.name = "FILE", .help = "a guest's record", .minimum = 0, .offer = Offer::kFile}},
      .options =
          {{.names = "--name", .value = "NAME", .help = "what to call the daemon here (default: its own name)"},
           {.names = "--remove", .value = "NAME", .help = "forget a daemon that was joined", .offer = Offer::kServer}},
      .run = JoinOrLeave};
}

}  // namespace hotplate::cli
