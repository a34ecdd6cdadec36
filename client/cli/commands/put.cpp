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
  const auto file = NpyFile::Open(path);
  if (const NpyError* error = std::get_if<NpyError>(&file)) return FileError(path, *error);
  const NpyFile& npy = std::get<NpyFile>(file);
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
  const auto bytes = ByteSize(npy.signature());
  const auto buffer = bytes ? HostBuffer::Allocate(*bytes) : nullptr;
  if (!buffer)
    return absl::ResourceExhaustedError(path + ": this machine does not have memory for " + ToString(npy.signature()));
  if (const auto error = npy.Read(buffer->bytes())) return FileError(path, *error);

  interrupt.Begin();
  Progress progress(call.console, call.output.talkative());
  const auto array = client->Put(
      {npy.signature(), buffer->bytes()}, name, lease, call.arguments.Flag("replace"),
      [&](std::uint64_t done, std::uint64_t total) { progress.Upload(done, total); }, &cancellation);
  progress.Clear();
  if (!array.ok()) {
    const std::string told = path + ": " + std::string(array.status().message());
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
      .summary = "upload a .npy file to the daemon as array:NAME",
      .details =
          "If the connection breaks, put tries to reach the daemon for 2 minutes and continues the upload. With\n"
          "--replace the old array stays until the new one is complete, so there must be room for both. Of several\n"
          "uploads at the same time, the last to be complete stays. If memory is short, a new upload takes that of an\n"
          "interrupted one.",
      .example = "hotplate put a.npy --name A && hotplate run matmul array:A array:A --transpose-b -o array:G",
      .positionals = {{.name = "FILE", .help = "a .npy file", .offer = Offer::kFile}},
      .options = {{.names = "--name", .value = "NAME", .help = "the array's name (default: the file's, without .npy)"},
                  {.names = "--lease", .value = "TIME", .help = "how long the daemon keeps it (default 8h)"},
                  {.names = "--replace",
                   .value = "",
                   .help = "replace the array of that name once this one is complete"}},
      .run = Put};
}

}  // namespace hotplate::cli
