// hotplate free: the daemon forgets arrays.
#include "client/cli/commands.h"
#include "client/cli/terminal/json.h"

namespace hotplate::cli {
namespace {

absl::Status Free(const Invocation& call) {
  std::vector<std::string> names = call.arguments.words();
  const bool all = call.arguments.Flag("all");
  if (all && !names.empty()) return UsageError("--all and " + names[0] + ": give one or the other");
  if (!all && names.empty()) return UsageError("ARRAY is missing: names or ids of arrays, or --all");
  auto client = call.Connect();
  if (!client.ok()) return client.status();
  if (all) {
    const auto list = client->Arrays();
    if (!list.ok()) return list.status();
    for (const v1::Array& array : list->arrays()) {
      const bool is_result = !array.has_lease_expire_time() && array.owner_session().empty();
      if (!is_result) names.push_back(array.name().empty() ? array.id() : array.name());
    }
    if (names.empty()) call.output.Answer([] { return "there are no arrays"; }, [] { return ""; }, "");
  }
  for (std::string name : names) {
    if (name.rfind("array:", 0) == 0) name = name.substr(6);
    const absl::Status status = client->Free(name);
    if (all && absl::IsNotFound(status)) continue;  // somebody else was faster
    if (!status.ok()) return status;
    call.output.Answer([&] { return Done(call.console, "array:" + name + " freed"); },
                       [&] { return JsonObject().Text("freed", name).Json(); }, "");
  }
  return absl::OkStatus();
}

}  // namespace

Command FreeCommand() {
  return {.name = "free",
          .group = Group::kArrays,
          .summary = "free arrays",
          .details = "A job that uses an array keeps its elements until the job ends.",
          .example = "hotplate free A G",
          .positionals = {{.name = "ARRAY",
                           .help = "names or ids of arrays",
                           .minimum = 0,
                           .maximum = kAnyNumber,
                           .offer = Offer::kArray}},
          .options = {{.names = "--all",
                       .value = "",
                       .help = "free all arrays, except results of jobs that nobody has fetched"}},
          .run = Free};
}

}  // namespace hotplate::cli
