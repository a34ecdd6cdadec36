// hotplate get: an array of the daemon's becomes a .npy file.
#include <variant>

#include "client/cli/commands.h"
#include "client/cli/interrupt.h"
#include "client/cli/jobs/elements.h"
#include "client/cli/jobs/job_call.h"
#include "client/cli/jobs/job_files.h"
#include "client/cli/jobs/picture.h"
#include "client/cli/jobs/progress.h"
#include "client/cli/terminal/json.h"

namespace hotplate::cli {
namespace {

absl::Status Get(const Invocation& call) {
  client::Cancellation cancellation;
  InterruptWatch interrupt([&] { cancellation.Cancel(); });
  std::string name = call.arguments.words()[0];
  if (name.rfind("array:", 0) == 0) name = name.substr(6);
  const auto path = call.arguments.Text("output");
  if (path && path->rfind('=', 0) == 0)
    return UsageError("-o " + *path + ": no name is before the =; write -o FILE, or -o ./" + *path +
                      " for a file of that name");
  auto client = call.Connect();
  if (!client.ok()) return client.status();
  interrupt.Begin();

  // The place is checked before a byte comes down.
  JobOutputs files;
  if (path) {
    std::vector<std::string> violations;
    v1::KernelSpec one_output;
    one_output.add_outputs()->set_name(name);
    const auto places = PlanOutputs(one_output, {name + "=" + *path}, violations);
    if (!violations.empty()) return absl::InvalidArgumentError(Join(violations, "\n"));
    if (!places[0].IsFileHere()) return UsageError("-o takes a .npy file or a .png picture");
    auto opened = JobOutputs::Open(places);
    if (!opened.ok()) return opened.status();
    files = *std::move(opened);
    if (const absl::Status status = CheckAnswer(call, files); !status.ok()) return status;
    if (files.HasPicture()) {
      const auto array = client->DescribeArray(name);
      if (!array.ok()) return array.status();
      if (const auto signature = FromWire(array->signature()))
        if (const auto why = WhyNoPicture(*signature)) return absl::InvalidArgumentError(*path + ": " + *why);
    }
  }
  Progress progress(call.console, call.output.talkative());
  const auto take = [&](const Signature& signature, std::uint64_t offset, std::span<const std::byte> piece) {
    return files.Take(name, signature, offset, piece);
  };
  const auto array = client->GetPieces(
      name, take, [&](std::uint64_t done, std::uint64_t total) { progress.Download(done, total); }, &cancellation);
  progress.Clear();
  if (!files.take_error().ok()) return files.take_error();
  if (!array.ok()) {
    if (!interrupt.interrupted()) return array.status();
    return Interrupted(array.status(), "the download was stopped", files.NotWritten());
  }
  if (const absl::Status status = files.Write(name, array->signature); !status.ok()) return status;
  if (files.TakesStandardOutput()) return absl::OkStatus();
  call.output.Answer(
      [&] {
        return Fitted(
            path ? Done(call.console, *path + "   " + ToString(array->signature)) : files.SummaryOf(name)->Text(),
            WidthOf(call.console));
      },
      [&] {
        return JsonObject()
            .Text("name", name)
            .Text("signature", ToString(array->signature))
            .Count("bytes", static_cast<std::int64_t>(ByteSize(array->signature).value_or(0)))
            .Text("path", path.value_or(""))
            .Json();
      },
      "");
  return absl::OkStatus();
}

}  // namespace

Command GetCommand() {
  return {.name = "get",
          .group = Group::kArrays,
          .summary = "fetch an array from the daemon; without -o, print a summary",
          .example = "hotplate get G -o g.npy",
          .positionals = {{.name = "ARRAY", .help = "an array's name or id", .offer = Offer::kArray}},
          .options = {{.names = "-o,--output",
                       .value = "FILE",
                       .help = "write it to a .npy file, a .png picture, or - (standard output)",
                       .offer = Offer::kFile}},
          .run = Get};
}

}  // namespace hotplate::cli
