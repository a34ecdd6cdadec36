// hotplate arrays: the arrays on the daemon.
#include <set>

#include "client/cli/commands.h"
#include "client/cli/terminal/json.h"
#include "client/cli/terminal/table.h"
#include "kernels/base/quantity.h"

namespace hotplate::cli {
namespace {

// How long an array is kept: until its lease expires, its session ends, or its job's result is forgotten.
std::string KeptFor(const v1::Array& array, const google::protobuf::Timestamp& now) {
  if (array.has_lease_expire_time()) return DurationText(Between(now, array.lease_expire_time()));
  return array.owner_session().empty() ? "its job's result" : "its session";
}

std::string StateOf(const v1::Array& array) {
  if (!array.lost().empty()) return "LOST";
  if (array.state() == v1::ARRAY_STATE_READY) return "READY";
  const double share =
      array.bytes() > 0 ? static_cast<double>(array.bytes_written()) / static_cast<double>(array.bytes()) : 1;
  return "WRITING " + Percent(share);
}

std::string PlaceOf(const v1::Array& array) {
  if (array.location().empty()) return "-";
  if (array.device().empty() || array.device() == array.location()) return array.location();
  return array.location() + ", for " + array.device();
}

absl::Status Arrays(const Invocation& call) {
  auto client = call.Connect();
  if (!client.ok()) return client.status();
  const auto list = client->Arrays();
  if (!list.ok()) return list.status();
  std::string names;
  std::set<std::string> losses;  // many arrays go with one device
  Table table({"ID", "NAME", "TYPE AND SHAPE", "BYTES", "STATE", "WHERE", "KEPT FOR"});
  table.AlignRight(3);
  std::uint64_t in_arrays = 0;
  for (const v1::Array& array : list->arrays()) {
    names += (array.name().empty() ? array.id() : array.name()) + "\n";
    if (array.lost().empty()) in_arrays += array.bytes();
    if (!array.lost().empty()) losses.insert("LOST: " + Printable(array.lost()) + "\n");
    table.Row({array.id(), array.name().empty() ? "-" : array.name(), Describe(array.signature()),
               BytesText(array.bytes()), StateOf(array), PlaceOf(array), KeptFor(array, NowOf(*list))});
  }
  call.output.Answer(
      [&] {
        std::string text = table.empty() ? std::string() : table.Text(WidthOf(call.console));
        for (const std::string& loss : losses) text += Fitted(loss, WidthOf(call.console));
        text += BytesText(list->bytes_held()) + " of " + BytesText(list->bytes_limit()) + " held\n";
        // Else the memory of results that nobody fetched is nowhere.
        if (list->bytes_held() > in_arrays)
          text += Fitted(BytesText(list->bytes_held() - in_arrays) +
                             " of it by results that are kept, and by jobs that run: hotplate jobs\n",
                         WidthOf(call.console));
        return text;
      },
      [&] { return ToJson(*list); }, names);
  return absl::OkStatus();
}

}  // namespace

Command ArraysCommand() {
  return {.name = "arrays",
          .group = Group::kArrays,
          .summary = "list the arrays on the daemon",
          .details =
              "WHERE is where its elements are. \"host, for gpu1\": jobs with it run on gpu1, and copy it there at "
              "first use.\n"
              "A LOST array went with the device that alone had it; lines below the table say why.",
          .example = "hotplate arrays",
          .run = Arrays};
}

}  // namespace hotplate::cli
