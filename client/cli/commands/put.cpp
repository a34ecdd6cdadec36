// hotplate put: a .npy file becomes an array that the daemon holds.
#include <algorithm>
#include <filesystem>
#include <variant>

#include "client/cli/commands.h"
#include "client/cli/interrupt.h"
#include "client/cli/job_call.h"
#include "client/cli/job_files.h"
#include "client/cli/json.h"
#include "client/cli/progress.h"

namespace hotplate::cli {
namespace {

absl::Status Put(const Invocation& call) {
  client::Cancellation cancellation;
  InterruptWatch interrupt([&] { cancellation.Cancel(); });
  const std::string& path = call.arguments.words()[0];
  const std::string name = call.arguments.Text("name").value_or(std::filesystem::path(path).stem().string());
  const auto asked = call.arguments.Duration("lease");
  if (!asked.ok()) return asked.status();
  auto file = NpyFile::Open(path);
  if (const NpyError* error = std::get_if<NpyError>(&file)) return FileError(path, *error);
  const client::ArraySource source = SourceOf(std::get<NpyFile>(std::move(file)), path);
  auto client = call.Connect();
  if (!client.ok()) return client.status();

  // This program's session ends with it, so that what it puts needs a lease: the default one gives way to the daemon's
  // longest, one that was asked for is refused if it is longer.
  nanoseconds lease = asked->value_or(kDefaultLease);
  if (!*asked) {
    const auto info = client->Info();
    if (!info.ok()) return Settled(info.status());
    if (info->limits().has_longest_lease() && info->limits().longest_lease().seconds() > 0)
      lease = std::min<nanoseconds>(lease, std::chrono::seconds(info->limits().longest_lease().seconds()));
  }

  interrupt.Begin();
  Progress progress(call.console, call.output.talkative());
  const auto array = client->Put(
      source, name, lease, call.arguments.Flag("replace"),
      [&](std::uint64_t done, std::uint64_t total) { progress.Upload(done, total); }, &cancellation);
  progress.Clear();
  if (!array.ok()) {
    std::string told(array.status().message());
    if (told.rfind(path + ": ", 0) != 0) told = path + ": " + told;  // an error of the file names it
    if (interrupt.interrupted()) return Interrupted(told);
    if (absl::IsAlreadyExists(array.status()))
      return WithNextStep(array.status(), "--replace puts the new one in its place; --name gives another name");
    return Worded(Settled(array.status()), told);
  }
  call.output.Answer(
      [&] {
        return Done(call.console, "array:" + array->name() + "   " + Describe(array->signature()) + "   " +
                                      Bytes(static_cast<double>(array->bytes())) + ", kept for " + Span(lease));
      },
      [&] { return ToJson(*array); }, array->name().empty() ? array->id() : array->name());
  return absl::OkStatus();
}

}  // namespace

Command PutCommand() {
  return {
      .name = "put",
      .group = Group::kArrays,
      .summary = "send a .npy file to the daemon, to be used as array:NAME",
      .details =
          "Where the connection breaks the daemon is tried again for 2 minutes, and the upload goes on where it was.\n"
          "With --replace the old array stays as it is until the last byte is there: there must be room for both.\n"
          "Of several at once the last to be whole stays. Where room is short, a new one takes that of one cut off.",
      .example = "hotplate put a.npy --name A && hotplate run matmul array:A array:A --transpose-b -o array:G",
      .positionals = {{.name = "FILE", .help = "a .npy file", .offer = Offer::kFile}},
      .options = {{.names = "--name", .value = "NAME", .help = "the array's name (default: the file's, without .npy)"},
                  {.names = "--lease", .value = "TIME", .help = "how long the daemon keeps it (default 8h)"},
                  {.names = "--replace",
                   .value = "",
                   .help = "take the place of an array of that name, once this one is whole"}},
      .run = Put};
}

}  // namespace hotplate::cli
