// The table of verbs, in the order of help. One file each in commands/.
#pragma once

#include <vector>

#include "client/cli/command.h"

namespace hotplate::cli {

const std::vector<Command>& Commands();
// Null if there is none.
const Command* FindCommand(const std::string& name);

// A usage error with the command that the word stands for elsewhere, or the nearest names. `topics` of help are names
// too.
absl::Status UnknownCommand(const std::string& word, const std::vector<std::string>& topics = {});

Command UpCommand();
Command DownCommand();
Command StatusCommand();
Command UseCommand();
Command TokenCommand();
Command JoinCommand();
Command LogsCommand();
Command SitesCommand();
Command PartitionsCommand();
Command KernelsCommand();
Command DescribeCommand();
Command RunCommand();
Command EvalCommand();
Command SubmitCommand();
Command GraphCommand();
Command ExecCommand();
Command PythonCommand();
Command WorkersCommand();
Command EnvCommand();
Command JobsCommand();
Command HistoryCommand();
Command JournalCommand();
Command ShowCommand();
Command WhyCommand();
Command WatchCommand();
Command WaitCommand();
Command CancelCommand();
Command ResultCommand();
Command PutCommand();
Command GetCommand();
Command ArraysCommand();
Command FreeCommand();
Command DevicesCommand();
Command TopCommand();
Command MetricsCommand();
Command CacheCommand();
Command CompletionCommand();
Command HelpCommand();
Command VersionCommand();

}  // namespace hotplate::cli
