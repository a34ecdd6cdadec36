#include "client/cli/journals/journals.h"

#include <sys/stat.h>

#include "client/cli/ending.h"
#include "client/cli/terminal/format.h"
#include "client/lib/endpoint.h"
#include "kernels/array/quoted.h"

namespace hotplate::cli {

void Unread::Add(const journal::Place& place, const absl::Status& read) {
  if (absl::IsNotFound(read)) {
    Remark(console_, "there is no journal of " + place.name + " in " + place.folder + " any more");
  } else if (!read.ok()) {
    failures_.push_back("the journal of " + place.name + " in " + place.folder +
                        " cannot be read: " + std::string(read.message()));
  }
}

absl::Status Unread::status() const {
  if (failures_.empty()) return absl::OkStatus();
  return WithExitCode(absl::DataLossError(Join(failures_, "\n")), kExitFailed);
}

absl::StatusOr<std::vector<journal::Place>> FindJournals(const Invocation& call, const std::string& name) {
  const std::string& directory = call.settings.directory;
  if (const absl::Status status = client::CheckDirectory(directory); !status.ok()) return status;
  std::vector<std::string> copies;
  auto all = journal::FindPlaces(journal::Disk::Real(), directory, name, &copies);
  if (!all.ok()) return all;
  for (const std::string& folder : copies)
    Remark(call.console, "the journal in " + folder + " is an older copy of another one, and does not count");
  std::erase_if(*all, [&](const journal::Place& place) {
    struct stat facts {};
    const bool stray = stat(place.folder.c_str(), &facts) == 0 && !S_ISDIR(facts.st_mode);
    if (stray && name.empty()) Remark(call.console, place.folder + " is no journal");
    return stray;
  });
  if (!all->empty() || name.empty()) return all;
  const auto others = FindJournals(call, "");
  if (!others.ok()) return others.status();
  std::vector<std::string> names;
  for (const journal::Place& place : *others)
    if (names.empty() || names.back() != place.name) names.push_back(place.name);
  return absl::NotFoundError("no daemon " + Quoted(name) + " has a journal in " + directory +
                             (names.empty() ? "; none has" : ". There are: " + Join(names, ", ")));
}

std::string NamedJournal(const Arguments& arguments, std::size_t word) {
  return arguments.words().size() > word ? arguments.words()[word] : arguments.Text("server").value_or("");
}

google::protobuf::Timestamp ToTimestamp(journal::WallTime time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  google::protobuf::Timestamp stamp;
  stamp.set_seconds(seconds.time_since_epoch().count());
  stamp.set_nanos(static_cast<std::int32_t>(nanoseconds(time - seconds).count()));
  return stamp;
}

std::string DateText(journal::WallTime time) { return LocalTime(ToTimestamp(time).seconds(), "%Y-%m-%d %H:%M:%S"); }

}  // namespace hotplate::cli
