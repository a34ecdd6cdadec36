// Which jobs a command is about: "22", "last", "all", "20-24", "20,22".
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/lib/client.h"

namespace hotplate::cli {

// For help.
inline constexpr char kJobWords[] = "an id, last (the newest), all, or a range as 20-24";

// The jobs that "all" stands for in a command.
enum class AllJobs { kEveryOne, kThatGoOn };

// The ids of the jobs named by `words`, each once, in the order of the words and by age within one. Asks the daemon
// only for words that are not plain ids; the caller finds out whether an id exists. NOT_FOUND for an empty range and
// for "last" without jobs; "all" may be empty.
absl::StatusOr<std::vector<std::string>> SelectJobs(client::Client& client, const std::vector<std::string>& words,
                                                    AllJobs all);
// For commands that are about one job: INVALID_ARGUMENT where `word` names several.
absl::StatusOr<std::string> SelectJob(client::Client& client, const std::string& word);

}  // namespace hotplate::cli
