// hotplate exec: a program of the user's, in the allocation.
#include "client/cli/commands.h"
#include "client/cli/programs/program_call.h"
#include "client/cli/programs/program_words.h"

namespace hotplate::cli {
namespace {

absl::Status Exec(const Invocation& call) {
  const absl::StatusOr<v1::Program> program = ProgramFor(call, *call.program);
  return program.ok() ? RunAttached(call, *program) : program.status();
}

}  // namespace

Command ExecCommand() {
  return {
      .name = "exec",
      .group = Group::kJobs,
      .summary = "run a program of yours in the allocation",
      .details =
          "Runs it on the daemon's node, in this folder, with this environment and these standard streams, as soon as "
          "a\n"
          "device has a lane for it. It sees that device alone. Signals go to it, and its exit code is this command's\n"
          "(128 + n if signal n ended it). Whatever it leaves behind is ended with it.",
      .example = "hotplate exec ./a.out 1000",
      .positionals = {{.name = "PROGRAM",
                       .help = "the program, and its arguments behind it",
                       .minimum = 0,
                       .maximum = kAnyNumber,
                       .offer = Offer::kFile}},
      .options = ProgramOptions(),
      .rest = "Words after -- are the program and its arguments.",
      .run = Exec};
}

}  // namespace hotplate::cli
