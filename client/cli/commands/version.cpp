// hotplate version: the versions of this program and of its daemon.
#include "client/cli/app.h"
#include "client/cli/catalogue/daemon_catalogue.h"
#include "client/cli/commands.h"
#include "client/cli/terminal/json.h"

namespace hotplate::cli {
namespace {

absl::Status Version(const Invocation& call) {
  std::string daemon, name;
  if (auto client = ConnectBriefly(call); client.ok())
    if (const auto info = client->Info(); info.ok()) {
      daemon = info->versions().hotplate();
      name = info->name();
    }
  if (const std::string skew = daemon.empty() ? "" : SkewText(name, daemon); !skew.empty()) Remark(call.console, skew);
  const std::string own = "hotplate " + std::string(kVersion);
  call.output.Answer(
      [&] { return own + (daemon.empty() ? "\nno daemon answers" : "\nhotplated " + daemon + "   " + name); },
      [&] {
        JsonObject json;
        json.Text("version", kVersion);
        if (!daemon.empty()) json.Text("server", name).Text("serverVersion", daemon);
        return json.Json();
      },
      own);
  return absl::OkStatus();
}

}  // namespace

Command VersionCommand() {
  return {.name = "version",
          .group = Group::kShell,
          .summary = "print this program's version and the daemon's",
          .details =
              "Warns if they differ. hotplate --version does not ask a daemon; with -v it prints the versions of "
              "this program's libraries, too.",
          .example = "hotplate version",
          .works_anywhere = true,
          .run = Version};
}

}  // namespace hotplate::cli
