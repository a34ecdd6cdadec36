#include "client/cli/jobs/job_arguments.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "client/cli/catalogue/catalogue.h"
#include "client/cli/ending.h"
#include "client/cli/jobs/job_inputs.h"
#include "client/cli/jobs/numpy_words.h"
#include "client/cli/jobs/scalar_input.h"
#include "client/cli/jobs/standard_streams.h"
#include "client/cli/sweeps/sweep_words.h"
#include "kernels/array/quoted.h"
#include "kernels/expression/names.h"

namespace hotplate::cli {
namespace {

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::optional<std::string> After(const std::string& text, const std::string& prefix) {
  if (text.rfind(prefix, 0) != 0) return std::nullopt;
  return text.substr(prefix.size());
}

// "name=rest" where `name` is one of `names`; a file's own name may hold a '=' too.
std::optional<std::pair<std::string, std::string>> Named(const std::string& word,
                                                         const std::vector<std::string>& names) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos) return std::nullopt;
  const std::string name = word.substr(0, equals);
  if (std::find(names.begin(), names.end(), name) == names.end()) return std::nullopt;
  return std::make_pair(name, word.substr(equals + 1));
}

// The text before a '=' if it could be the name of an output; a path holds a slash, a dot or a dash there.
std::string NameBeforeEquals(const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  const bool is_name = name.size() < word.size() && !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
                         return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
                       });
  return is_name ? name : "";
}

std::string AbsolutePath(const std::string& path) {
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.lexically_normal().string();
}

// The hint for the first of `words` that is no option, if it is one of NumPy's function.
std::string HintForUnknown(const std::string& kernel, const std::vector<OptionSpec>& options,
                           const std::vector<std::string>& words) {
  const auto is_known = [&options](const std::string& name) {
    return std::any_of(options.begin(), options.end(), [&name](const OptionSpec& option) {
      const std::vector<std::string> names = option.AllNames();
      return std::find(names.begin(), names.end(), name) != names.end();
    });
  };
  for (auto word = words.begin(); word != words.end() && *word != "--"; ++word) {
    const std::string name = word->substr(0, word->find('='));
    if (name.rfind("--", 0) != 0 || is_known(name)) continue;
    const std::string value = name.size() < word->size() ? word->substr(name.size() + 1)
                              : word + 1 != words.end()  ? *(word + 1)
                                                         : "";
    return NumpyHint(kernel, name.substr(2), value);
  }
  return "";
}

class Planner {
 public:
  // `names`: those in the text of an expression, any of which may be swept over.
  Planner(const v1::KernelSpec& kernel, const Arguments& arguments, std::vector<std::string> names = {})
      : arguments_(arguments), names_(std::move(names)) {
    plan_.kernel = kernel;
  }

  absl::StatusOr<JobPlan> Plan(const std::vector<std::string>& inputs) {
    if (absl::Status status = Sweep(); !status.ok()) return status;
    Parameters();
    Inputs(inputs);
    plan_.outputs = PlanOutputs(plan_.kernel, arguments_.All("output"), violations_);
    if (!violations_.empty()) return absl::InvalidArgumentError(plan_.kernel.name() + ": " + Join(violations_, "\n"));
    if (const absl::Status status = Options(); !status.ok()) return status;
    return std::move(plan_);
  }

 private:
  absl::Status Sweep() {
    const bool is_expression = plan_.kernel.name() == expression::kKernel;
    const auto parse = [&](const std::string& name, const std::string& text) -> absl::StatusOr<client::ParamValue> {
      for (const v1::ParamSpec& param : plan_.kernel.params())
        if (param.name() == name) return ParseParameter(param, text);
      if (const auto integer = ParseInteger(text)) return client::ParamValue(*integer);
      if (const auto real = ParseNumber(text)) return client::ParamValue(*real);
      return absl::InvalidArgumentError(name + ": " + Quoted(text) + " is no number");
    };
    const std::string of = is_expression ? "the expression" : plan_.kernel.name();
    const std::vector<std::string> names = is_expression ? names_ : NamesOf(plan_.kernel.params());
    if (names.empty() && (!arguments_.All("each").empty() || arguments_.Text("each-file"))) {
      return absl::InvalidArgumentError(of + " has no parameters to sweep over: " + GivenSweepOption(arguments_) +
                                        " does not apply");
    }
    auto sweep = SweepFrom(arguments_, {of, names, parse});
    if (!sweep.ok()) return sweep.status();
    plan_.options.sweep = *std::move(sweep);
    return absl::OkStatus();
  }

  bool IsSwept(const std::string& name) const {
    if (!plan_.options.sweep) return false;
    const auto& axes = plan_.options.sweep->axes();
    return std::any_of(axes.begin(), axes.end(), [&name](const v1::SweepAxis& axis) { return axis.name() == name; });
  }

  void Parameters() {
    for (const v1::ParamSpec& param : plan_.kernel.params()) {
      const auto text = arguments_.Text(OptionName(param.name()).substr(2));
      if (IsSwept(param.name())) {
        if (text)
          violations_.push_back(OptionName(param.name()) + " is " + *text + " by itself, and swept over as well (" +
                                "--each): give it once");
        continue;
      }
      if (!text) {
        if (!param.has_default_value() && param.default_text().empty())
          violations_.push_back(OptionName(param.name()) + " must be given: " + param.docs());
        continue;
      }
      const auto value = ParseParameter(param, *text);
      if (value.ok())
        plan_.options.params[param.name()] = *value;
      else
        violations_.push_back(std::string(value.status().message()) +
                              NumpyHint(plan_.kernel.name(), param.name(), *text));
    }
  }

  void Inputs(const std::vector<std::string>& words) {
    const std::vector<std::string> names = NamesOf(plan_.kernel.inputs());
    std::map<std::string, std::string> given;
    std::vector<std::string> in_order;
    for (const std::string& word : words) {
      if (const auto named = Named(word, names)) {
        const auto [at, first] = given.insert(*named);
        if (!first)
          violations_.push_back("input " + named->first + " is given twice: " + at->second + " and " + named->second);
      } else
        in_order.push_back(word);
    }
    std::size_t next = 0;
    std::vector<std::string> missing;
    for (const std::string& name : names) {
      if (const auto found = given.find(name); found != given.end())
        plan_.inputs.push_back(Input(name, found->second));
      else if (next < in_order.size())
        plan_.inputs.push_back(Input(name, in_order[next++]));
      else
        missing.push_back(name);
    }
    if (!missing.empty())
      violations_.push_back("input" + std::string(missing.size() > 1 ? "s " : " ") + Join(missing, ", ") +
                            (missing.size() > 1 ? " are" : " is") + " missing: it takes " +
                            std::to_string(names.size()) + " (" + Join(names, ", ") + "), " +
                            std::to_string(words.size()) + (words.size() == 1 ? " was" : " were") + " given");
    if (next < in_order.size())
      violations_.push_back("\"" + in_order[next] + "\" is one input too many; it takes " +
                            (names.empty() ? "none" + NumpyHint(plan_.kernel.name(), words)
                                           : std::to_string(names.size()) + " (" + Join(names, ", ") + ")"));
  }

  InputArgument Input(const std::string& name, const std::string& word) {
    if (const auto array = After(word, "array:")) return {name, InputArgument::Kind::kArray, *array};
    if (const auto path = After(word, "path:")) return {name, InputArgument::Kind::kPath, AbsolutePath(*path)};
    if (const auto job = After(word, "job:")) return JobOutputInput(name, *job);
    if (word.empty()) violations_.push_back("input " + name + ": \"\" names no file");
    if (IsScalarWord(word)) return {name, InputArgument::Kind::kScalar, word};
    return {name, InputArgument::Kind::kFile, word};
  }

  absl::Status Options() {
    client::JobOptions& options = plan_.options;
    options.device = arguments_.Text("device").value_or("");
    if (const auto precision = arguments_.Text("precision")) {
      if (*precision == "tf32")
        options.precision = v1::PRECISION_TF32;
      else if (*precision == "bf16")
        options.precision = v1::PRECISION_BF16;
      else if (*precision == "f16")
        options.precision = v1::PRECISION_F16;
      else
        return UsageError("--precision: \"" + *precision + "\" is none of tf32, bf16, f16");
    }
    options.deterministic = arguments_.Flag("deterministic");
    const auto priority = arguments_.Integer("priority", -100, 100);
    if (!priority.ok()) return priority.status();
    options.priority = static_cast<int>(priority->value_or(0));
    const auto time_limit = arguments_.Duration("time-limit");
    if (!time_limit.ok()) return time_limit.status();
    options.time_limit = *time_limit;
    const auto timeout = arguments_.Duration("timeout");
    if (!timeout.ok()) return timeout.status();
    options.deadline = *timeout;
    const auto lease = arguments_.Duration("lease");
    if (!lease.ok()) return lease.status();
    plan_.lease = lease->value_or(kDefaultLease);
    plan_.replace_files = arguments_.Flag("force");
    const bool any_path = std::any_of(plan_.outputs.begin(), plan_.outputs.end(), [](const OutputArgument& output) {
      return output.kind == OutputArgument::Kind::kPath;
    });
    if (plan_.replace_files && !any_path)
      return UsageError("--force is for -o path:FILE.npy; other outputs replace a file without it");
    if (!LackNames(plan_.outputs)) AskForOutputs(plan_);
    options.label = arguments_.Text("label").value_or("");
    options.request_id = arguments_.Text("request-id").value_or("");
    options.detach_on_disconnect = arguments_.Flag("detach-on-disconnect");
    options.no_rerun = arguments_.Flag("no-rerun");
    options.after = SplitAt(arguments_.All("after"), ',');
    plan_.dry_run = arguments_.Flag("dry-run");
    plan_.failed_of = arguments_.Text("failed-of").value_or("");
    return absl::OkStatus();
  }

  const Arguments& arguments_;
  const std::vector<std::string> names_;
  JobPlan plan_;
  std::vector<std::string> violations_;
};

std::vector<OptionSpec> SharedJobOptions() {
  std::vector<OptionSpec> options = {
      {.names = "-o,--output",
       .value = "[NAME=]PLACE",
       .help = "write an output to a .npy file, a .png picture, - (standard output), array:NAME on the daemon, or "
               "path:FILE.npy, which the daemon writes itself",
       .repeatable = true,
       .offer = Offer::kFile},
      {.names = "--force", .value = "", .help = "let -o path:FILE.npy replace an existing file"},
      {.names = "--device",
       .value = "ID",
       .help = "run on this device (hotplate devices); any: on the CPU if no GPU can"},
      {.names = "--precision",
       .value = "MODE",
       .help = "compute with tf32, bf16 or f16 inside the kernel",
       .offer = Offer::kChoices,
       .choices = {"tf32", "bf16", "f16"}},
      {.names = "--deterministic",
       .value = "",
       .help = "give the same bits every time on one device, with any number of threads; may be slower"},
      {.names = "--label", .value = "TEXT", .help = "a label to find the job by: hotplate jobs --label TEXT"},
      {.names = "--after",
       .value = "JOB",
       .help = "begin when these jobs (ids, with commas) have completed; if one does not, this job does not run",
       .repeatable = true,
       .offer = Offer::kJob},
      {.names = "--priority", .value = "N", .help = "-100 to 100; higher runs first (default 0)"},
      {.names = "--time-limit", .value = "TIME", .help = "end the job with TIMEOUT after this long on its device"},
      {.names = "--lease", .value = "TIME", .help = "how long the daemon keeps array:NAME (default 8h)"},
      {.names = "--request-id",
       .value = "ID",
       .help =
           "run the job once, however often the call is repeated while the daemon keeps results (1 hour by default); "
           "large outputs stay some minutes for that"},
      {.names = "--dry-run", .value = "", .help = "check the job, say what it needs and where it fits; run nothing"},
  };
  for (OptionSpec& option : SweepOptions()) options.push_back(std::move(option));
  return options;
}

}  // namespace

const std::vector<PositionalSpec>& JobPositionals() {
  static const std::vector<PositionalSpec> positionals = {
      {.name = "KERNEL", .help = "the kernel (hotplate kernels lists all)", .offer = Offer::kKernel},
      {.name = "INPUT",
       .help = "the kernel's inputs, in the order that describe shows: files, array:NAME, path:FILE, job:ID "
               "(what another job makes, job:ID.OUTPUT where it makes several), numbers",
       .minimum = 0,
       .maximum = kAnyNumber,
       .offer = Offer::kFile},
  };
  return positionals;
}

std::vector<OptionSpec> JobOptionsOfRun() {
  std::vector<OptionSpec> options = SharedJobOptions();
  options.push_back(
      {.names = "--timeout", .value = "TIME", .help = "cancel the job and give up after this long in total"});
  options.push_back(
      {.names = "--detach-on-disconnect", .value = "", .help = "keep the job running if the connection breaks"});
  return options;
}

std::vector<OptionSpec> JobOptionsOfSubmit() {
  std::vector<OptionSpec> options = SharedJobOptions();
  options.push_back({.names = "--no-rerun",
                     .value = "",
                     .help = "let the job fail if its daemon dies while it runs; the next daemon would run it again"});
  options.push_back(FailedOfOption());
  return options;
}

std::vector<OptionSpec> JobOptionsOfEval() {
  std::vector<OptionSpec> options = JobOptionsOfRun();
  std::erase_if(options,
                [](const OptionSpec& one) { return one.names == "--precision" || one.names == "--deterministic"; });
  return options;
}

std::vector<OptionSpec> ParameterOptions(const v1::KernelSpec& kernel) {
  std::vector<OptionSpec> options;
  for (const v1::ParamSpec& param : kernel.params()) {
    OptionSpec option;
    option.names = OptionName(param.name());
    // The spelling of the spec works too; the one with dashes comes first, so that it is the one asked for.
    if (const std::string spec_name = "--" + param.name(); spec_name != option.names)
      option.names = option.names + "," + spec_name;
    option.help = param.docs();
    if (param.type() == v1::PARAM_TYPE_BOOL) {
      option.negatable = true;
    } else {
      option.value = param.type() == v1::PARAM_TYPE_CHOICE ? "CHOICE" : param.type() == v1::PARAM_TYPE_INT ? "N" : "X";
      option.choices = {param.choices().begin(), param.choices().end()};
      if (!option.choices.empty()) option.offer = Offer::kChoices;
    }
    options.push_back(std::move(option));
  }
  return options;
}

absl::StatusOr<std::string> KernelWord(const std::vector<OptionSpec>& options, const std::vector<std::string>& words) {
  const std::size_t first = FirstWord(options, words);
  if (first == words.size()) return UsageError("KERNEL is missing: the name of a kernel (hotplate kernels)");
  for (std::size_t i = 0; i < first; ++i) {
    if (words[i].size() < 2 || words[i][0] != '-' || words[i] == "--") continue;
    const std::string name = words[i].substr(0, words[i].find('='));
    const bool known = std::any_of(options.begin(), options.end(), [&name](const OptionSpec& option) {
      const std::vector<std::string> names = option.AllNames();
      return std::any_of(names.begin(), names.end(), [&name](const std::string& own) {
        return own == name || (own.size() == 2 && name.rfind(own, 0) == 0);
      });
    });
    if (!known) return UsageError("the kernel comes before its parameters: found " + words[i] + " first");
  }
  return words[first];
}

std::vector<OutputArgument> PlanOutputs(const v1::KernelSpec& kernel, const std::vector<std::string>& words,
                                        std::vector<std::string>& violations) {
  const std::vector<std::string> names = NamesOf(kernel.outputs());
  const std::string all = "its outputs: " + Join(names, ", ");
  std::vector<OutputArgument> outputs;
  for (const std::string& word : words) {
    OutputArgument output;
    std::string target = word;
    if (const auto named = Named(word, names)) {
      output.name = named->first;
      target = named->second;
    } else if (const std::string wrong = NameBeforeEquals(word); !wrong.empty()) {
      violations.push_back("-o " + word + ": no output \"" + wrong + "\"; " + all + ". For a file of that name: -o ./" +
                           word);
      continue;
    } else if (word.rfind('=', 0) == 0) {
      violations.push_back("-o " + word + ": no output is named before the =; " + all +
                           ". For a file of that name: -o ./" + word);
      continue;
    } else if (names.size() == 1 && outputs.empty()) {
      output.name = names[0];
    }
    const bool twice = !output.name.empty() && std::any_of(outputs.begin(), outputs.end(), [&](const auto& other) {
      return other.name == output.name;
    });
    if (twice) violations.push_back("-o " + word + ": output " + output.name + " has a place already; " + all);
    if (!twice && outputs.size() == names.size()) {
      violations.push_back("-o " + word + " is one output too many; " + all);
      continue;
    }
    output.text = target;
    if (const auto array = After(target, "array:")) {
      for (const OutputArgument& other : outputs)
        if (other.kind == OutputArgument::Kind::kArray && other.text == *array)
          violations.push_back("-o " + word + ": another output is to be array:" + *array + " already");
      output.kind = OutputArgument::Kind::kArray;
      output.text = *array;
    } else if (const auto path = After(target, "path:")) {
      output.kind = OutputArgument::Kind::kPath;
      output.text = AbsolutePath(*path);
      if (!EndsWith(*path, ".npy")) violations.push_back("-o " + word + ": \"" + *path + "\" does not end in .npy");
      for (const OutputArgument& other : outputs)
        if (other.kind == OutputArgument::Kind::kPath && other.text == output.text)
          violations.push_back("-o " + word + ": another output is to go to " + output.text + " already");
    } else if (EndsWith(target, ".png")) {
      output.kind = OutputArgument::Kind::kPicture;
    } else if (!EndsWith(target, ".npy") && target != kStandardStream) {
      violations.push_back("-o " + word + ": \"" + target +
                           "\" ends in neither .npy nor .png, and is no array:NAME or path:FILE.npy");
    }
    outputs.push_back(output);
  }
  return outputs;
}

bool LackNames(const std::vector<OutputArgument>& outputs) {
  return std::any_of(outputs.begin(), outputs.end(), [](const OutputArgument& one) { return one.name.empty(); });
}

absl::Status NameOutputs(const std::vector<std::string>& filled, std::vector<OutputArgument>& outputs) {
  std::vector<std::string> left, places;
  for (const std::string& name : filled)
    if (std::none_of(outputs.begin(), outputs.end(), [&name](const OutputArgument& one) { return one.name == name; }))
      left.push_back(name);
  for (const OutputArgument& output : outputs)
    if (output.name.empty())
      places.push_back((output.kind == OutputArgument::Kind::kArray  ? "array:"
                        : output.kind == OutputArgument::Kind::kPath ? "path:"
                                                                     : "") +
                       output.text);
  if (places.size() != left.size())
    return absl::InvalidArgumentError("-o " + Join(places, " -o ") + ": which output? This call gives " +
                                      Join(filled, ", ") + ". Name what you want, as in -o " + filled[0] + "=" +
                                      places[0]);
  auto name = left.begin();
  for (OutputArgument& output : outputs)
    if (output.name.empty()) output.name = *name++;
  return absl::OkStatus();
}

void AskForOutputs(JobPlan& plan) {
  for (const OutputArgument& output : plan.outputs)
    if (output.kind == OutputArgument::Kind::kArray)
      plan.options.keep[output.name] = {output.text, plan.lease};
    else if (output.kind == OutputArgument::Kind::kPath)
      plan.options.place[output.name] = {output.text, plan.replace_files};
}

absl::StatusOr<client::ParamValue> ParseParameter(const v1::ParamSpec& param, const std::string& text) {
  const std::string name = OptionName(param.name());
  const auto refuse = [&name, &text](const std::string& why) {
    return absl::InvalidArgumentError(name + ": \"" + text + "\" " + why);
  };
  const auto in_range = [&param](double value) {
    return !(param.has_minimum() && value < param.minimum()) && !(param.has_maximum() && value > param.maximum());
  };
  switch (param.type()) {
    case v1::PARAM_TYPE_INT: {
      const auto value = ParseInteger(text);
      if (!value) return refuse("is not a whole number");
      if (!in_range(static_cast<double>(*value))) return refuse("is out of range: " + RangeText(param));
      return client::ParamValue(*value);
    }
    case v1::PARAM_TYPE_FLOAT: {
      const auto value = ParseNumber(text);
      if (!value) return refuse("is no number");
      if (!std::isfinite(*value)) return refuse("is not finite");
      if (!in_range(*value)) return refuse("is out of range: " + RangeText(param));
      // 3 is an integer, 3.0 and 3e0 are not: NumPy's dtypes go by that.
      const auto integer = text.find_first_of(".eE") == std::string::npos ? ParseInteger(text) : std::nullopt;
      return integer ? client::ParamValue(*integer) : client::ParamValue(*value);
    }
    case v1::PARAM_TYPE_BOOL:
      if (text == "true" || text == "1" || text == "yes" || text == "on") return client::ParamValue(true);
      if (text == "false" || text == "0" || text == "no" || text == "off") return client::ParamValue(false);
      return refuse("is neither true nor false");
    case v1::PARAM_TYPE_CHOICE: {
      const std::vector<std::string> choices(param.choices().begin(), param.choices().end());
      if (std::find(choices.begin(), choices.end(), text) == choices.end())
        return refuse("is none of " + Join(choices, ", "));
      return client::ParamValue(text);
    }
    default:
      return refuse("cannot be given: this hotplate does not know the parameter's type; use a newer one");
  }
}

absl::StatusOr<JobPlan> PlanJob(const v1::KernelSpec& kernel, const std::vector<OptionSpec>& options,
                                const std::vector<std::string>& words) {
  std::vector<OptionSpec> all = options;
  const std::vector<OptionSpec> parameters = ParameterOptions(kernel);
  all.insert(all.end(), parameters.begin(), parameters.end());
  const auto arguments = ParseArguments(all, words);
  if (!arguments.ok()) {
    // A word that could be a misspelt parameter: the kernel refuses it, as it would refuse one in a program.
    if (std::string message(arguments.status().message()); message.rfind("no option", 0) == 0) {
      std::vector<std::string> names;
      for (const v1::ParamSpec& param : kernel.params()) names.push_back(OptionName(param.name()));
      const std::string hint = HintForUnknown(kernel.name(), all, words);
      // What NumPy calls so may be spelt like another option here.
      if (!hint.empty()) message = message.substr(0, message.find(". Nearest: ")) + hint;
      return absl::InvalidArgumentError(
          kernel.name() + ": no parameter or" + message.substr(2) + "\n" +
          (names.empty() ? "it has no parameters" : "its parameters: " + Join(names, " ")) + "; hotplate describe " +
          kernel.name());
    }
    return arguments.status();
  }
  std::vector<std::string> inputs = arguments->words();
  if (!inputs.empty()) inputs.erase(inputs.begin());  // the kernel
  return Planner(kernel, *arguments).Plan(inputs);
}

v1::KernelSpec ExpressionAsKernel(const std::vector<std::string>& outputs) {
  v1::KernelSpec kernel;
  kernel.set_name(expression::kKernel);
  for (const std::string& name : outputs) kernel.add_outputs()->set_name(name);
  return kernel;
}

absl::StatusOr<JobPlan> PlanExpression(const std::vector<OptionSpec>& options, const std::vector<std::string>& words) {
  const auto arguments = ParseArguments(options, words);
  if (!arguments.ok()) return arguments.status();
  if (arguments->words().empty()) return UsageError("EXPRESSION is missing: hotplate eval '2*x + 1' x=x.npy");
  const std::string& text = arguments->words().front();
  const auto names = expression::NamesIn(text);
  if (const auto* error = std::get_if<expression::Error>(&names))
    return absl::InvalidArgumentError("expression: " + error->message + "\n" + expression::WithCaret(*error, text));
  const auto& [taken, given] = std::get<expression::Names>(names);

  v1::KernelSpec kernel = ExpressionAsKernel(given);
  std::vector<std::string> inputs(arguments->words().begin() + 1, arguments->words().end());
  for (const std::string& word : inputs) {
    const std::string name = NameBeforeEquals(word);
    if (name.empty())
      return UsageError("\"" + word + "\" is no NAME=INPUT; the names in the expression: " +
                        (taken.empty() ? "none" : Join(taken, ", ")));
    if (std::find(taken.begin(), taken.end(), name) == taken.end())
      return absl::InvalidArgumentError("expression: it has no name " + Quoted(name) + ", which is given as " + word +
                                        "; the names in it: " + (taken.empty() ? "none" : Join(taken, ", ")));
    const auto same = [&name](const v1::ArgumentSpec& input) { return input.name() == name; };
    if (std::none_of(kernel.inputs().begin(), kernel.inputs().end(), same)) kernel.add_inputs()->set_name(name);
  }
  auto plan = Planner(kernel, *arguments, taken).Plan(inputs);
  if (!plan.ok()) return plan;
  plan->options.expression = text;
  for (const InputArgument& input : plan->inputs) {
    if (input.kind != InputArgument::Kind::kScalar) continue;
    if (const auto integer = ParseInteger(input.text))
      plan->options.params[input.name] = *integer;
    else
      plan->options.params[input.name] = *ParseNumber(input.text);
  }
  std::erase_if(plan->inputs, [](const InputArgument& one) { return one.kind == InputArgument::Kind::kScalar; });
  return plan;
}

}  // namespace hotplate::cli
