// hotplate completion: the script with which a shell completes this program's words.
#include "client/cli/completion.h"

#include "client/cli/catalogue/catalogue.h"
#include "client/cli/commands.h"

namespace hotplate::cli {
namespace {

absl::Status Completion(const Invocation& call) {
  const std::string& shell = call.arguments.words()[0];
  if (shell == "bash")
    AnswerText(call.output, BashCompletion(EmbeddedKernels()));
  else if (shell == "zsh")
    AnswerText(call.output, ZshCompletion(EmbeddedKernels()));
  else if (shell == "fish")
    AnswerText(call.output, FishCompletion(EmbeddedKernels()));
  else
    return UsageError("no completion for \"" + shell + "\"; there is bash, zsh and fish");
  return absl::OkStatus();
}

}  // namespace

Command CompletionCommand() {
  return {.name = "completion",
          .group = Group::kShell,
          .summary = "print a shell's completion script",
          .details =
              "bash: eval \"$(hotplate completion bash)\" in ~/.bashrc\n"
              "zsh:  eval \"$(hotplate completion zsh)\" in ~/.zshrc, after compinit\n"
              "fish: hotplate completion fish > ~/.config/fish/completions/hotplate.fish",
          .example = "eval \"$(hotplate completion bash)\"",
          .positionals = {{.name = "SHELL",
                           .help = "bash, zsh or fish",
                           .offer = Offer::kChoices,
                           .choices = {"bash", "zsh", "fish"}}},
          .works_anywhere = true,
          .run = Completion};
}

}  // namespace hotplate::cli
