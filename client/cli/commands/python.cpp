// hotplate python: a Python script of the user's, in the allocation.
#include "client/cli/commands.h"
#include "client/cli/programs/program_call.h"
#include "client/cli/programs/program_words.h"

namespace hotplate::cli {
namespace {

absl::Status Python(const Invocation& call) {
  const absl::StatusOr<v1::Program> program = ProgramFor(call, *call.program);
  return program.ok() ? RunAttached(call, *program) : program.status();
}

}  // namespace

Command PythonCommand() {
  return {.name = "python",
          .group = Group::kJobs,
          .summary = "run a Python script of yours in the allocation",
          .details =
              "As exec does, with the Python of --env, else $HOTPLATE_PYTHON, else the daemon's own (hotplate up\n"
              "--python), else of the virtual environment or conda environment that is active here, else python3.\n"
              "Options that are not Hotplate's, and all words from the script on, are Python's:\n"
              "-m MODULE and -c CODE work, too. On a terminal, Python without a script or with -i is interactive.",
          .example = "hotplate python train.py --epochs 3",
          .positionals = {{.name = "SCRIPT",
                           .help = "the script, and its arguments behind it",
                           .minimum = 0,
                           .maximum = kAnyNumber,
                           .offer = Offer::kFile}},
          .options = ProgramOptions(),
          .rest = "Words after -- are Python's.",
          .run = Python};
}

}  // namespace hotplate::cli
