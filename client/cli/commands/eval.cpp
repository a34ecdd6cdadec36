// hotplate eval: one expression, from files to files, in the foreground.
#include "client/cli/commands.h"
#include "client/cli/jobs/foreground_job.h"

namespace hotplate::cli {
namespace {

absl::Status Eval(const Invocation& call) {
  return RunInForeground(call, [&call] { return PrepareExpression(call, JobOptionsOfEval(), call.words); });
}

}  // namespace

Command EvalCommand() {
  return {
      .name = "eval",
      .group = Group::kJobs,
      .summary = "compute a line of NumPy over arrays, in one pass",
      .details =
          "EXPRESSION has NumPy's operators and functions: 'where(x > 0, x, a*exp(x) - a)', 'sum(x*y, axis=1)'. Each\n"
          "name in it is a NAME=INPUT: a .npy file, a number, array:NAME on the daemon, or path:FILE.npy, which the\n"
          "daemon reads itself. Several statements, with ; between them, have several outputs. The page expressions\n"
          "(hotplate help expressions) has the whole language. Without -o, prints a scalar or the summary of an array.",
      .example = "hotplate eval '2*x + exp(y)' x=x.npy y=array:Y -o z.npy",
      .positionals = {{.name = "EXPRESSION", .help = "the text; quote it for the shell"},
                      {.name = "NAME=INPUT",
                       .help = "an array or a number for each name in the text: files, array:NAME, path:FILE, numbers",
                       .minimum = 0,
                       .maximum = kAnyNumber,
                       .offer = Offer::kFile}},
      .options = JobOptionsOfEval(),
      .run = Eval};
}

}  // namespace hotplate::cli
