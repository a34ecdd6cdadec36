#include "client/cli/completion.h"

#include "client/cli/catalogue/catalogue.h"
#include "client/cli/catalogue/topics.h"
#include "client/cli/commands.h"
#include "client/cli/jobs/job_arguments.h"

namespace hotplate::cli {
namespace {

std::vector<std::string> NamesOf(const std::vector<OptionSpec>& options) {
  std::vector<std::string> names;
  for (const OptionSpec& option : options)
    for (const std::string& name : option.AllNames())
      if (name.find('_') == std::string::npos) {
        names.push_back(name);
        if (option.negatable) names.push_back("--no-" + name.substr(2));
      }
  return names;
}

std::vector<std::string> KernelNames(const std::vector<v1::KernelSpec>& kernels) {
  std::vector<std::string> names;
  for (const v1::KernelSpec& kernel : kernels) names.push_back(kernel.name());
  return names;
}

// Names come from our own tables and from the catalogue (lower_snake), so that quoting is for the summaries' sake.
std::string Quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string Alternatives(const std::vector<std::string>& names) { return Join(names, "|"); }

// A shell expression that gives the words to offer; empty: files.
std::string OfferedWords(Offer offer, const std::vector<std::string>& choices,
                         const std::vector<v1::KernelSpec>& kernels) {
  switch (offer) {
    case Offer::kCommand: {
      std::vector<std::string> names;
      for (const Command& command : Commands()) names.push_back(command.name);
      return Join(names, " ");
    }
    case Offer::kHelp: {
      std::vector<std::string> names;
      for (const Topic& topic : Topics())
        if (!FindCommand(topic.name)) names.push_back(topic.name);
      return OfferedWords(Offer::kCommand, choices, kernels) + " " + Join(names, " ");
    }
    case Offer::kKernel:
      return Join(KernelNames(kernels), " ");
    case Offer::kJob:
      return "$(hotplate jobs --quiet 2>/dev/null)";
    case Offer::kArray:
      return "$(hotplate arrays --quiet 2>/dev/null)";
    case Offer::kServer:
      return "$(hotplate use --quiet 2>/dev/null)";
    case Offer::kSite:
      return "$(hotplate sites --quiet 2>/dev/null)";
    case Offer::kToken:
      return "$(hotplate token list --quiet 2>/dev/null)";
    case Offer::kChoices:
      return Join(choices, " ");
    case Offer::kFile:
    case Offer::kNothing:
      break;
  }
  return "";
}

std::string FirstWords(const Command& command, const std::vector<v1::KernelSpec>& kernels) {
  if (command.positionals.empty()) return "";
  return OfferedWords(command.positionals[0].offer, command.positionals[0].choices, kernels);
}

// The words after the first one, where they are daemons or tokens.
std::string SecondWords(const Command& command, const std::vector<v1::KernelSpec>& kernels) {
  if (command.positionals.size() < 2) return "";
  const Offer offer = command.positionals[1].offer;
  return offer == Offer::kServer || offer == Offer::kToken ? OfferedWords(offer, {}, kernels) : "";
}

// Fish's command substitution has no dollar sign.
std::string FishWords(const std::string& words) { return words.rfind("$(", 0) == 0 ? words.substr(1) : words; }

// The names of its variables keep clear of zsh's special ones (words, options), since zsh runs it too.
std::string BashBody(const std::vector<v1::KernelSpec>& kernels) {
  std::string script =
      "_hotplate() {\n"
      "  local current=\"${COMP_WORDS[COMP_CWORD]}\" previous=\"${COMP_WORDS[COMP_CWORD-1]}\" verb='' kernel='' i\n"
      "  local offered_words='' offered_options='' offered_values=''\n"
      "  COMPREPLY=()\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    case \"${COMP_WORDS[i]}\" in\n"
      "      -*) ;;\n"
      "      *) if [ -z \"$verb\" ]; then verb=\"${COMP_WORDS[i]}\";"
      " elif [ -z \"$kernel\" ]; then kernel=\"${COMP_WORDS[i]}\"; fi ;;\n"
      "    esac\n"
      "  done\n"
      "  if [ -z \"$verb\" ]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -W \"" +
      OfferedWords(Offer::kCommand, {}, kernels) +
      " --help --version\" -- \"$current\")\n"
      "    return\n"
      "  fi\n"
      "  case \"$verb\" in\n";
  for (const Command& command : Commands()) {
    script += "    " + command.name + ") offered_options=\"" + Join(NamesOf(AllOptions(command)), " ") + "\"";
    const std::string words = FirstWords(command, kernels);
    if (command.takes_kernel_parameters)
      script += "; [ -z \"$kernel\" ] && offered_words=\"" + words + "\"";
    else if (!words.empty())
      script += "; offered_words=\"" + words + "\"";
    const std::string second = SecondWords(command, kernels);
    if (!second.empty()) script += "; [ -n \"$kernel\" ] && offered_words=\"" + second + "\"";
    script += " ;;\n";
  }
  script += "  esac\n  case \"$verb:$kernel\" in\n";
  for (const v1::KernelSpec& kernel : kernels) {
    const std::vector<std::string> names = NamesOf(ParameterOptions(kernel));
    if (!names.empty())
      script += "    run:" + kernel.name() + "|submit:" + kernel.name() + ") offered_options=\"$offered_options " +
                Join(names, " ") + "\" ;;\n";
  }
  script += "  esac\n  case \"$verb:$previous\" in\n";
  for (const Command& command : Commands())
    for (const OptionSpec& option : command.options) {
      const std::string words = OfferedWords(option.offer, option.choices, kernels);
      if (words.empty()) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : option.AllNames()) patterns.push_back(command.name + ":" + name);
      script += "    " + Alternatives(patterns) + ") offered_values=\"" + words + "\" ;;\n";
    }
  script += "    *:--server) offered_values=\"" + OfferedWords(Offer::kServer, {}, kernels) + "\" ;;\n";
  script += "  esac\n  case \"$verb:$kernel:$previous\" in\n";
  for (const v1::KernelSpec& kernel : kernels)
    for (const OptionSpec& option : ParameterOptions(kernel))
      if (!option.choices.empty())
        script += "    *:" + kernel.name() + ":" + option.AllNames()[0] + ") offered_values=\"" +
                  Join(option.choices, " ") + "\" ;;\n";
  // Bash splits words at colons: "array:A" comes as "array", ":" and "A", and only the text after the colon is
  // replaced. Zsh, and a bash configured otherwise, leave it whole.
  script +=
      "  esac\n"
      "  if [ \"$current\" = : ] && [ \"$previous\" = array ]; then\n"
      "    offered_values=\"" +
      OfferedWords(Offer::kArray, {}, kernels) +
      "\" current=''\n"
      "  elif [ \"$previous\" = : ] && [ \"${COMP_WORDS[COMP_CWORD-2]}\" = array ]; then\n"
      "    offered_values=\"" +
      OfferedWords(Offer::kArray, {}, kernels) +
      "\"\n"
      "  elif [[ \"$current\" == array:* ]]; then\n"
      "    offered_values=\"$(hotplate arrays --quiet 2>/dev/null | sed 's/^/array:/')\"\n"
      "  fi\n"
      "  if [ -n \"$offered_values\" ]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -W \"$offered_values\" -- \"$current\")\n"
      "  elif [[ \"$current\" == -* ]]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -W \"$offered_options\" -- \"$current\")\n"
      "  elif [ -n \"$offered_words\" ]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -W \"$offered_words\" -- \"$current\")\n"
      "  else\n"
      "    compopt -o filenames 2>/dev/null\n"
      "    mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
      "  fi\n"
      "}\n"
      "complete -F _hotplate hotplate\n";
  return script;
}

}  // namespace

std::string BashCompletion(const std::vector<v1::KernelSpec>& kernels) {
  return "# bash completion for hotplate: eval \"$(hotplate completion bash)\"\n" + BashBody(kernels);
}

// Zsh runs bash's script through its own bashcompinit, which lacks mapfile: a word list without blanks does as well.
std::string ZshCompletion(const std::vector<v1::KernelSpec>& kernels) {
  std::string body = BashBody(kernels);
  const std::string mapfile = "mapfile -t COMPREPLY < <(";
  for (std::size_t at = 0; (at = body.find(mapfile, at)) != std::string::npos;) {
    const std::size_t end = body.find('\n', at);
    std::string line = body.substr(at, end - at);
    line = "COMPREPLY=($(" + line.substr(mapfile.size()) + ")";
    body.replace(at, end - at, line);
    at += line.size();
  }
  return "#compdef hotplate\n# zsh completion for hotplate: eval \"$(hotplate completion zsh)\", after compinit\n"
         "autoload -U +X bashcompinit && bashcompinit\n" +
         body +
         // In a folder of $fpath the file is the body of _hotplate, and runs first when something is to be completed.
         "if [ \"${funcstack[1]-}\" = _hotplate ]; then _bash_complete -F _hotplate; fi\n";
}

std::string FishCompletion(const std::vector<v1::KernelSpec>& kernels) {
  std::string script =
      "# fish completion for hotplate: hotplate completion fish > ~/.config/fish/completions/hotplate.fish\n";
  // No files after the beginning of an array's name, even for an option that takes a file.
  script +=
      "function __hotplate_array; string match -q 'array:*' -- (commandline -ct); end\n"
      "complete -c hotplate -n __hotplate_array -f -a "
      "'(hotplate arrays --quiet 2>/dev/null | string replace -r \"^\" \"array:\")'\n";
  const auto option_line = [&](const std::string& condition, const OptionSpec& option) {
    const bool file = option.offer == Offer::kFile;
    std::string line = "complete -c hotplate -n " + Quoted(file ? condition + "; and not __hotplate_array" : condition);
    for (const std::string& name : option.AllNames()) {
      if (name.find('_') != std::string::npos) continue;
      line += name.rfind("--", 0) == 0 ? " -l " + name.substr(2) : " -s " + name.substr(1);
    }
    if (!option.IsFlag()) line += file ? " -r -F" : " -x";
    const std::string words = OfferedWords(option.offer, option.choices, kernels);
    if (!words.empty()) line += " -a " + Quoted(FishWords(words));
    return line + " -d " + Quoted(option.help) + "\n";
  };
  for (const Command& command : Commands()) {
    script +=
        "complete -c hotplate -n __fish_use_subcommand -f -a " + command.name + " -d " + Quoted(command.summary) + "\n";
    const std::string seen = "__fish_seen_subcommand_from " + command.name;
    for (const OptionSpec& option : command.options) script += option_line(seen, option);
    if (command.positionals.empty()) continue;
    const std::string words = FirstWords(command, kernels);
    // Nothing else can stand there, unless inputs follow a kernel.
    const std::string only = command.positionals.size() == 1 && !command.takes_kernel_parameters ? " -f" : "";
    if (!words.empty())
      script += "complete -c hotplate -n " + Quoted(seen) + only + " -a " + Quoted(FishWords(words)) + "\n";
    const std::string second = SecondWords(command, kernels);
    if (!second.empty())
      script += "complete -c hotplate -n " + Quoted(seen) + " -f -a " + Quoted(FishWords(second)) + "\n";
  }
  for (const OptionSpec& option : CommonOptions()) script += option_line("true", option);
  for (const v1::KernelSpec& kernel : kernels)
    for (const OptionSpec& option : ParameterOptions(kernel))
      script += option_line("__fish_seen_subcommand_from run submit; and __fish_seen_subcommand_from " + kernel.name(),
                            option);
  return script;
}

}  // namespace hotplate::cli
