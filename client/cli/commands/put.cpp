// hotplate put: .npy files become arrays that the daemon holds.
#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <variant>

#include "client/cli/commands.h"
#include "client/cli/interrupt.h"
#include "client/cli/jobs/job_call.h"
#include "client/cli/jobs/job_ending.h"
#include "client/cli/jobs/job_files.h"
#include "client/cli/jobs/progress.h"
#include "client/cli/jobs/standard_streams.h"
#include "client/cli/terminal/json.h"
#include "kernels/base/quantity.h"

namespace hotplate::cli {
namespace {

struct Upload {
  std::string path, name;
  client::ArraySource source;
};

// The words, with patterns that the shell has left alone replaced by the matching files.
std::vector<std::string> Matched(const std::vector<std::string>& words) {
  std::vector<std::string> paths;
  for (const std::string& word : words) {
    glob_t found{};
    const bool pattern = word.find_first_of("*?[") != std::string::npos && access(word.c_str(), F_OK) != 0;
    if (pattern && glob(word.c_str(), 0, nullptr, &found) == 0) {
      paths.insert(paths.end(), found.gl_pathv, found.gl_pathv + found.gl_pathc);
    } else {
      paths.push_back(word);
    }
    globfree(&found);
  }
  return paths;
}

// Every file is looked at before the first is sent.
absl::StatusOr<std::vector<Upload>> OpenAll(const Invocation& call) {
  const std::vector<std::string> paths = Matched(call.arguments.words());
  const auto name = call.arguments.Text("name");
  if (name && name->empty()) return UsageError("--name: an array's name is not empty");
  if (name && paths.size() > 1) return UsageError("--name is for one file; of several, each is named after its file");
  std::vector<Upload> uploads;
  std::map<std::string, std::string> names;
  std::string errors;
  absl::Status first;
  for (const std::string& path : paths) {
    if (path == kStandardStream && !name) return UsageError("--name NAME is missing: standard input has no name");
    const std::string array = name.value_or(std::filesystem::path(path).stem().string());
    const auto [taken, is_new] = names.try_emplace(array, path);
    if (!is_new)
      return absl::InvalidArgumentError(taken->second + " and " + path + " would both be array:" + array +
                                        "; put them one by one, with --name");
    auto file = OpenInput(path);
    if (const NpyError* error = std::get_if<NpyError>(&file)) {
      const absl::Status status = FileError(path, *error);
      first.Update(status);
      errors += (errors.empty() ? "" : "\n") + std::string(status.message());
    } else {
      uploads.push_back({path, array, SourceOf(std::get<NpyFile>(std::move(file)), path)});
    }
  }
  if (!first.ok()) return absl::Status(first.code(), errors + (paths.size() > 1 ? "\nnothing was sent" : ""));
  return uploads;
}

absl::Status Put(const Invocation& call) {
  client::Cancellation cancellation;
  InterruptWatch interrupt([&] { cancellation.Cancel(); });
  const auto asked = call.arguments.Duration("lease");
  if (!asked.ok()) return asked.status();
  const auto uploads = OpenAll(call);
  if (!uploads.ok()) return uploads.status();
  auto client = call.Connect();
  if (!client.ok()) return client.status();

  // The session ends with this program, so that its arrays need a lease. The default lease is cut to the daemon's
  // longest; a longer one that the user asked for is refused.
  nanoseconds lease = asked->value_or(kDefaultLease);
  if (!*asked) {
    const auto info = client->Info();
    if (!info.ok()) return Settled(info.status());
    if (info->limits().has_longest_lease() && info->limits().longest_lease().seconds() > 0)
      lease = std::min<nanoseconds>(lease, std::chrono::seconds(info->limits().longest_lease().seconds()));
  }

  interrupt.Begin();
  Progress progress(call.console, call.output.talkative());
  std::string text, essentials;
  std::vector<std::string> json;
  absl::Status status;
  for (const Upload& upload : *uploads) {
    const auto array =
        client->Put(upload.source,
                    {.name = upload.name,
                     .lease = lease,
                     .replace = call.arguments.Flag("replace"),
                     .device = call.arguments.Text("device").value_or(""),
                     .on_upload = [&](std::uint64_t done, std::uint64_t total) { progress.Upload(done, total); }},
                    &cancellation);
    progress.Clear();
    if (!array.ok()) {
      std::string told(array.status().message());
      const std::vector<v1::FieldViolation> violations = client::Violations(array.status());
      const bool no_name = !call.arguments.Text("name") && !violations.empty() && violations[0].field() == "name";
      if (told.rfind(upload.path + ": ", 0) != 0) told = upload.path + ": " + told;  // an error of the file names it
      status = interrupt.interrupted() ? Interrupted(told)
               : absl::IsAlreadyExists(array.status())
                   ? WithNextStep(array.status(), "--replace puts the new one in its place; --name gives another name")
               : no_name ? WithNextStep(Worded(array.status(), told), "another name: --name NAME")
                         : Worded(Settled(array.status()), told);
      break;
    }
    const bool durable = call.arguments.Flag("durable");
    const absl::StatusOr<std::string> file = durable ? client->SaveArray(array->id(), &cancellation) : std::string();
    if (!file.ok()) {
      status = Worded(Settled(file.status()), "array:" + array->name() + " is on the daemon, and in no file: " +
                                                  std::string(file.status().message()));
      break;
    }
    text += Done(call.console, "array:" + array->name() + "   " + Describe(array->signature()) + "   " +
                                   BytesText(array->bytes()) + ", kept for " + DurationText(lease) +
                                   (durable ? ", also in " + Printable(*file) : "")) +
            "\n";
    essentials += (array->name().empty() ? array->id() : array->name()) + "\n";
    json.push_back(durable ? JsonObject(ToJson(*array)).Text("file", *file).Json() : ToJson(*array));
  }
  // If one of several files fails, report those already sent.
  if (status.ok() || !json.empty())
    call.output.Answer([&] { return text; }, [&] { return uploads->size() == 1 ? json[0] : JsonArray(json); },
                       essentials);
  return status;
}

}  // namespace

Command PutCommand() {
  return {
      .name = "put",
      .group = Group::kArrays,
      .summary = "upload .npy files to the daemon as array:NAME",
      .details =
          "Each array is named after its file. A pattern that the shell left alone ('*.npy') stands for the files\n"
          "that match. - is standard input and needs --name. If the connection breaks, put tries to reach the daemon\n"
          "for 2 minutes and continues the upload. With --replace the old array stays until the new one is complete,\n"
          "so there must be room for both. Of several uploads at the same time, the last to be complete stays. If\n"
          "memory is short, a new upload takes that of an interrupted one.\n"
          "--durable needs a daemon with a journal, which --journal off has not. Without it, arrays are saved when the "
          "daemon ends in time.\n"
          "Submitted jobs share such a file, and keep no copy of the array.",
      .example = "hotplate put a.npy --name A && hotplate run matmul array:A array:A --transpose-b -o array:G",
      .positionals = {{.name = "FILE",
                       .help = "a .npy file, a pattern such as '*.npy', or -",
                       .maximum = kAnyNumber,
                       .offer = Offer::kFile}},
      .options = {{.names = "--name",
                   .value = "NAME",
                   .help = "the array's name, for one file (default: the file's name without .npy)"},
                  {.names = "--lease", .value = "TIME", .help = "how long the daemon keeps it (default 8h)"},
                  {.names = "--durable",
                   .value = "",
                   .help = "write it to a file too, so that the next daemon of this name has it"},
                  {.names = "--device", .value = "ID", .help = "jobs with it run there, unless they ask for another"},
                  {.names = "--replace",
                   .value = "",
                   .help = "replace the array of that name once this one is complete"}},
      .run = Put};
}

}  // namespace hotplate::cli
