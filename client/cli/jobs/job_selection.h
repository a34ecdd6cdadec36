// Which jobs a command is about: "22", "last", "all", "20-24", "20,22", or a graph by its name.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/lib/client.h"

namespace hotplate::cli {

// For help.
inline constexpr char kJobWords[] = "an id, last (the newest), all, a range as 20-24, or a graph's name";

// The jobs that "all" stands for in a command.
enum class AllJobs { kEveryOne, kThatGoOn };

// A word that can only be the name of a graph.
bool IsGraphWord(const std::string& word);

// The ids of the jobs named by `words`, each once, in the order of the words and by age within one. Asks the daemon
// only for words that are not plain ids; the caller finds out whether an id exists. NOT_FOUND for an empty range and
// for "last" without jobs; "all" may be empty.
absl::StatusOr<std::vector<std::string>> SelectJobs(client::Client& client, const std::vector<std::string>& words,
                                                    AllJobs all);
// For commands that are about one job: INVALID_ARGUMENT where `word` names several.
absl::StatusOr<std::string> SelectJob(client::Client& client, const std::string& word);

}  // namespace hotplate::cli
