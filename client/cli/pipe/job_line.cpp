#include "client/cli/pipe/job_line.h"

#include <algorithm>
#include <variant>

#include "client/cli/catalogue/catalogue.h"
#include "client/cli/jobs/job_arguments.h"
#include "client/cli/jobs/job_ending.h"
#include "client/cli/jobs/standard_streams.h"
#include "client/cli/terminal/json.h"
#include "client/cli/terminal/json_reader.h"
#include "kernels/array/quoted.h"
#include "kernels/base/nearest_names.h"
#include "kernels/expression/names.h"

namespace hotplate::cli {
namespace {

using JsonKind = JsonValue::Kind;

std::string MemberName(const OptionSpec& option) {
  std::string name = option.LongName();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// 'no key "devise". Nearest: device'
std::string Unknown(const std::string& what, const std::string& name, const std::vector<std::string>& known) {
  const std::vector<std::string> nearest = NearestNames(name, known);
  return "no " + what + " " + Quoted(name) + (nearest.empty() ? "" : ". Nearest: " + Join(nearest, ", "));
}

// A text, a number or a boolean as the word for it.
absl::Status TakeWord(const std::string& key, const JsonValue& value, bool boolean, std::string& word) {
  if (value.kind != JsonKind::kText && value.kind != JsonKind::kNumber && !(boolean && value.kind == JsonKind::kBool))
    return absl::InvalidArgumentError(key + ": it is " + KindName(value.kind) + "; give a string or a number" +
                                      (boolean ? ", or a boolean" : ""));
  word = value.text;
  return absl::OkStatus();
}

// {"x": "x.npy", …}
absl::Status TakeWords(const std::string& key, const JsonValue& value, bool boolean, NamedWords& words) {
  if (value.kind != JsonKind::kObject)
    return absl::InvalidArgumentError(key + ": it is " + KindName(value.kind) + "; give an object, {\"NAME\": …}");
  for (const auto& [name, member] : value.members) {
    // In a word the name would end at its first "=".
    if (name.empty() || name.find('=') != std::string::npos)
      return absl::InvalidArgumentError(key + ": " + Quoted(name) + " is no name");
    words.emplace_back(name, "");
    const std::string path = key + "." + name;
    if (absl::Status status = TakeWord(path, member, boolean, words.back().second); !status.ok()) return status;
    if (!boolean && words.back().second == kStandardStream)
      return absl::InvalidArgumentError(path + ": standard input and output are for the lines; name a file");
  }
  return absl::OkStatus();
}

// A text that must not be empty.
absl::Status TakeText(const std::string& key, const JsonValue& value, std::string& text) {
  if (value.kind != JsonKind::kText || value.text.empty())
    return absl::InvalidArgumentError(
        key + ": " +
        (value.kind == JsonKind::kText ? "it is empty" : "it is " + KindName(value.kind) + ", and no string"));
  text = value.text;
  return absl::OkStatus();
}

absl::Status TakeOption(const std::string& key, const OptionSpec& option, const JsonValue& value,
                        std::vector<std::string>& options) {
  const std::string name = "--" + option.LongName();
  if (option.IsFlag()) {
    if (value.kind != JsonKind::kBool) return absl::InvalidArgumentError(key + ": give true or false");
    if (value.text == "true") options.push_back(name);
    return absl::OkStatus();
  }
  std::string word;
  if (absl::Status status = TakeWord(key, value, /*boolean=*/false, word); !status.ok()) return status;
  if (!word.empty()) options.push_back(name + "=" + word);  // "" as without it
  return absl::OkStatus();
}

absl::Status TakeTag(const JsonValue& value, std::string& tag) {
  if (value.kind != JsonKind::kText && value.kind != JsonKind::kNumber)
    return absl::InvalidArgumentError("tag: it is " + KindName(value.kind) + "; give a number or a string");
  tag = value.kind == JsonKind::kText ? JsonText(value.text) : value.text;
  return absl::OkStatus();
}

// Refuses the first of `given` that the kernel does not have, by the nearest one that it has.
absl::Status CheckNames(const std::string& kernel, const std::string& where, const std::string& what,
                        const NamedWords& given, const std::vector<std::string>& names) {
  for (const auto& [name, word] : given) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::string all = names.empty() ? "it has no " + what + "s" : "its " + what + "s: " + Join(names, ", ");
    return absl::InvalidArgumentError(kernel + ": " + Unknown(what, name, names) + "\n" + all + "; " + where);
  }
  return absl::OkStatus();
}

// Options, then everything else behind "--": a text may begin with a dash.
std::vector<std::string> WordsBehindDashes(const JobLine& line, const std::string& first) {
  std::vector<std::string> words = line.options;
  for (const auto& [name, place] : line.outputs) words.push_back("--output=" + name + "=" + place);
  for (const auto& [name, value] : line.params) words.push_back(OptionName(name) + "=" + value);
  words.insert(words.end(), {"--", first});
  for (const auto& [name, input] : line.inputs) words.push_back(name + "=" + input);
  return words;
}

}  // namespace

std::vector<OptionSpec> LineOptions(bool of_expression) {
  std::vector<OptionSpec> options = of_expression ? JobOptionsOfEval() : JobOptionsOfRun();
  std::erase_if(options, [](const OptionSpec& one) {
    const std::string name = one.LongName();
    // Each line is a job of one task.
    const std::vector<OptionSpec> of_sweeps = SweepOptions();
    const bool of_sweep = std::any_of(of_sweeps.begin(), of_sweeps.end(),
                                      [&name](const OptionSpec& other) { return other.LongName() == name; });
    return name == "output" || name == "dry-run" || of_sweep;
  });
  return options;
}

absl::Status ReadJobLine(std::string_view text, JobLine& line) {
  JsonValue read;
  const absl::Status is_json = ReadJsonObject(text, read);
  const auto has = [&read](const std::string& name) {
    return std::any_of(read.members.begin(), read.members.end(),
                       [&name](const auto& one) { return one.first == name; });
  };
  for (const auto& [key, value] : read.members)
    if (key == "tag")
      if (absl::Status status = TakeTag(value, line.tag); !status.ok()) return is_json.ok() ? status : is_json;
  if (!is_json.ok()) return is_json;
  if (has("kernel") == has("expression"))
    return absl::InvalidArgumentError(has("kernel") ? "it has both kernel and expression; give one of them"
                                                    : "it has neither kernel nor expression");

  const bool of_expression = has("expression");
  const std::vector<OptionSpec> options = LineOptions(of_expression);
  std::vector<std::string> known = {"tag", of_expression ? "expression" : "kernel", "inputs", "outputs"};
  if (!of_expression) known.push_back("params");
  for (const OptionSpec& option : options) known.push_back(MemberName(option));
  for (const auto& [key, value] : read.members) {
    const auto option = std::find_if(options.begin(), options.end(),
                                     [key = std::string_view(key)](const auto& one) { return MemberName(one) == key; });
    absl::Status status;
    if (key == "kernel")
      status = TakeText(key, value, line.kernel);
    else if (key == "expression")
      status = TakeText(key, value, line.expression);
    else if (key == "params" && !of_expression)
      status = TakeWords(key, value, /*boolean=*/true, line.params);
    else if (key == "inputs")
      status = TakeWords(key, value, /*boolean=*/false, line.inputs);
    else if (key == "outputs")
      status = TakeWords(key, value, /*boolean=*/false, line.outputs);
    else if (option != options.end())
      status = TakeOption(key, *option, value, line.options);
    else if (key == "params")
      status = absl::InvalidArgumentError("params: an expression has none; its numbers are inputs");
    else if (key != "tag")
      status = absl::InvalidArgumentError(Unknown("key", key, known) + "\nthe keys of " +
                                          (of_expression ? "an expression" : "a kernel") + ": " + Join(known, ", "));
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> WordsOf(const JobLine& line, const v1::KernelSpec& kernel) {
  const std::string& name = kernel.name();
  const std::string where = WhereDescribed(kernel);
  absl::Status status = CheckNames(name, where, "parameter", line.params, NamesOf(kernel.params()));
  if (status.ok()) status = CheckNames(name, where, "input", line.inputs, NamesOf(kernel.inputs()));
  if (status.ok()) status = CheckNames(name, where, "output", line.outputs, NamesOf(kernel.outputs()));
  if (!status.ok()) return status;
  return WordsBehindDashes(line, name);
}

absl::StatusOr<std::vector<std::string>> WordsOfExpression(const JobLine& line) {
  const auto names = expression::NamesIn(line.expression);
  // A text that cannot be read is refused with the place, by whoever plans the job.
  if (const auto* found = std::get_if<expression::Names>(&names)) {
    const auto& [taken, given] = *found;
    const std::string where = WhereDescribed(ExpressionAsKernel(given));
    absl::Status status = CheckNames(expression::kKernel, where, "input", line.inputs, taken);
    if (status.ok()) status = CheckNames(expression::kKernel, where, "output", line.outputs, given);
    if (!status.ok()) return status;
  }
  return WordsBehindDashes(line, line.expression);
}

}  // namespace hotplate::cli
