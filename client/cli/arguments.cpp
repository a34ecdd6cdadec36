#include "client/cli/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "client/cli/ending.h"
#include "kernels/array/quoted.h"
#include "kernels/base/nearest_names.h"
#include "kernels/base/quantity.h"

namespace hotplate::cli {
namespace {

absl::Status UnknownOption(const std::string& word, const std::vector<OptionSpec>& options) {
  const std::string name = word.substr(0, word.find('='));
  // Without the dashes, which all of them begin with.
  std::vector<std::string> names;
  for (const OptionSpec& option : options)
    for (const std::string& known : option.AllNames())
      if (known.starts_with("--")) names.push_back(known.substr(2));
  std::vector<std::string> nearest =
      NearestNames(name.substr(std::min(name.find_first_not_of('-'), name.size())), names);
  for (std::string& one : nearest) one = "--" + one;
  return UsageError("no option " + Quoted(name) + (nearest.empty() ? "" : ". Nearest: " + Join(nearest, ", ")));
}

}  // namespace

std::string OptionSpec::LongName() const {
  for (const std::string& name : AllNames())
    if (name.rfind("--", 0) == 0) return name.substr(2);
  return "";
}

std::vector<std::string> OptionSpec::AllNames() const { return SplitAt(names, ','); }

bool Arguments::Flag(const std::string& name) const {
  const auto found = values_.find(name);
  return found != values_.end() && !found->second.empty() && found->second.back() != "false";
}

std::optional<std::string> Arguments::Text(const std::string& name) const {
  const auto found = values_.find(name);
  if (found == values_.end() || found->second.empty()) return std::nullopt;
  return found->second.back();
}

std::vector<std::string> Arguments::All(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::vector<std::string>{} : found->second;
}

absl::StatusOr<std::optional<nanoseconds>> Arguments::Duration(const std::string& name) const {
  const auto text = Text(name);
  if (!text) return std::optional<nanoseconds>();
  const auto span = ParseDuration(*text, std::chrono::seconds(1));
  if (!span) return UsageError("--" + name + ": \"" + *text + "\" is not a duration; write 500ms, 30s, 5m or 2h");
  return span;
}

absl::StatusOr<std::optional<std::int64_t>> Arguments::Integer(const std::string& name, std::int64_t minimum,
                                                               std::int64_t maximum) const {
  const auto text = Text(name);
  if (!text) return std::optional<std::int64_t>();
  const auto value = ParseInteger(*text);
  if (!value || *value < minimum || *value > maximum)
    return UsageError("--" + name + ": \"" + *text + "\" is not a whole number from " + std::to_string(minimum) +
                      " to " + std::to_string(maximum));
  return value;
}

absl::StatusOr<Arguments> ParseArguments(const std::vector<OptionSpec>& options, const std::vector<std::string>& words,
                                         bool keep_rest) {
  Arguments arguments;
  const auto dashes = std::find(words.begin(), words.end(), "--");

  // The parser would take the word behind it, "-o" say.
  for (auto word = words.begin(); word != dashes; ++word) {
    for (const OptionSpec& option : options) {
      const std::vector<std::string> names = option.IsFlag() ? std::vector<std::string>() : option.AllNames();
      const auto without = [&word](const std::string& name) { return *word == name + "="; };
      if (std::any_of(names.begin(), names.end(), without))
        return UsageError(word->substr(0, word->size() - 1) + ": its value is missing");
    }
  }

  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  std::vector<std::pair<std::string, CLI::Option*>> parsers;
  try {
    for (const OptionSpec& option : options) {
      std::string names = option.names;
      if (option.negatable)
        for (const std::string& name : option.AllNames())
          if (name.rfind("--", 0) == 0) names += ",!--no-" + name.substr(2);
      CLI::Option* parser = option.IsFlag() ? app.add_flag(names) : app.add_option(names);
      parser->multi_option_policy(option.repeatable ? CLI::MultiOptionPolicy::TakeAll
                                                    : CLI::MultiOptionPolicy::TakeLast);
      parsers.emplace_back(option.LongName(), parser);
    }
    app.parse(std::vector<std::string>(std::make_reverse_iterator(dashes), words.rend()));  // CLI11 pops from the back
  } catch (const CLI::ArgumentMismatch& error) {  // "--limit: 1 required …": none of our options takes two
    const std::string text = error.what();
    return UsageError(text.substr(0, text.find(':')) + ": its value is missing");
  } catch (const CLI::ParseError& error) {
    return UsageError(error.what());
  }
  for (const std::string& word : app.remaining()) {
    if (word.size() > 1 && word[0] == '-' && !ParseNumber(word)) return UnknownOption(word, options);
    arguments.words_.push_back(word);
  }
  if (dashes != words.end()) {
    std::vector<std::string>& behind = keep_rest ? arguments.rest_ : arguments.words_;
    behind.insert(behind.end(), dashes + 1, words.end());
  }
  for (const auto& [name, parser] : parsers)
    if (parser->count() > 0) arguments.values_[name] = parser->results();
  return arguments;
}

absl::Status CheckPositionals(const std::vector<PositionalSpec>& positionals, const std::vector<std::string>& words) {
  int minimum = 0, maximum = 0;
  for (const PositionalSpec& positional : positionals) {
    if (static_cast<int>(words.size()) < minimum + positional.minimum)
      return UsageError(positional.name + " is missing: " + positional.help);
    minimum += positional.minimum;
    maximum += positional.maximum;
  }
  if (static_cast<int>(words.size()) > maximum)
    return UsageError(Quoted(words[static_cast<std::size_t>(maximum)]) + " is one word too many");
  return absl::OkStatus();
}

std::size_t FirstWord(const std::vector<OptionSpec>& options, const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].size() < 2 || words[i][0] != '-') return i;
    if (words[i] == "--") return i + 1;
    for (const OptionSpec& option : options) {
      const std::vector<std::string> names = option.AllNames();
      if (!option.IsFlag() && std::find(names.begin(), names.end(), words[i]) != names.end()) {
        ++i;
        break;
      }
    }
  }
  return words.size();
}

}  // namespace hotplate::cli
