// hotplate free: the daemon forgets arrays.
#include "client/cli/commands.h"
#include "client/cli/json.h"

namespace hotplate::cli {
namespace {

absl::Status Free(const Invocation& call) {
  auto client = call.Connect();
  if (!client.ok()) return client.status();
  for (std::string name : call.arguments.words()) {
    if (name.rfind("array:", 0) == 0) name = name.substr(6);
    if (const absl::Status status = client->Free(name); !status.ok()) return status;
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
          .positionals =
              {{.name = "ARRAY", .help = "names or ids of arrays", .maximum = kAnyNumber, .offer = Offer::kArray}},
          .run = Free};
}

}  // namespace hotplate::cli
