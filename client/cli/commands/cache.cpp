// hotplate cache: compiled code that the daemon's node keeps in files.
#include "client/cli/commands.h"
#include "client/cli/terminal/json.h"
#include "client/cli/terminal/table.h"
#include "kernels/base/quantity.h"

namespace hotplate::cli {
namespace {

absl::Status Clear(const Invocation& call, const std::vector<std::string>& names) {
  auto client = call.Connect();
  if (!client.ok()) return client.status();
  const auto cleared = client->ClearCaches(names);
  if (!cleared.ok()) return cleared.status();
  std::uint64_t files = 0, bytes = 0;
  for (const v1::Cache& cache : cleared->removed()) files += cache.files(), bytes += cache.bytes();
  call.output.Answer(
      [&] {
        return files == 0
                   ? std::string("nothing was removed")
                   : Done(call.console, std::to_string(files) + (files == 1 ? " file is gone, " : " files are gone, ") +
                                            BytesText(bytes));
      },
      [&] { return ToJson(*cleared); }, "");
  return absl::OkStatus();
}

absl::Status Cache(const Invocation& call) {
  const std::vector<std::string>& words = call.arguments.words();
  if (!words.empty() && words[0] != "clear")
    return UsageError("cache " + words[0] + ": give clear, or nothing for a list");
  if (!words.empty()) return Clear(call, {words.begin() + 1, words.end()});
  auto client = call.Connect();
  if (!client.ok()) return client.status();
  const auto list = client->ListCaches();
  if (!list.ok()) return list.status();
  Table table({"CACHE", "FILES", "BYTES", "AT MOST", "UNUSED FOR", "FOLDER"});
  table.AlignRight(1).AlignRight(2).AlignRight(3).MayBeCut(5, 20);
  std::string folders;
  for (const v1::Cache& cache : list->caches()) {
    folders += cache.folder() + "\n";
    table.Row({cache.name(), std::to_string(cache.files()), BytesText(cache.bytes()), BytesText(cache.bytes_limit()),
               DurationText(std::chrono::seconds(cache.age_limit().seconds())), Printable(cache.folder())});
  }
  call.output.Answer([&] { return table.empty() ? std::string("there is none") : table.Text(WidthOf(call.console)); },
                     [&] { return ToJson(*list); }, folders);
  return absl::OkStatus();
}

}  // namespace

Command CacheCommand() {
  return {
      .name = "cache",
      .group = Group::kDevices,
      .summary = "list or clear what was compiled and is kept in files",
      .details =
          "expressions: expressions, compiled for GPUs (hotplate help cuda). packages: what CuPy, Numba and JAX\n"
          "compiled in your scripts and functions. Both are on the daemon's node. Files unused for longer than UNUSED\n"
          "FOR are removed, and beyond AT MOST those unused for longest. clear removes all files, or those of the\n"
          "caches that are named, but for what packages wrote within the last minute. Code in use keeps running.",
      .example = "hotplate cache clear expressions",
      .positionals = {{.name = "ACTION", .help = "clear", .minimum = 0, .offer = Offer::kChoices, .choices = {"clear"}},
                      {.name = "CACHE",
                       .help = "expressions or packages",
                       .minimum = 0,
                       .maximum = kAnyNumber,
                       .offer = Offer::kChoices,
                       .choices = {"expressions", "packages"}}},
      .run = Cache};
}

}  // namespace hotplate::cli
