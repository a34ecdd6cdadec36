// Options as data: one list serves parsing, help, completion and the manual page.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/terminal/format.h"

namespace hotplate::cli {

// The kinds of words that a shell can complete.
enum class Offer { kNothing, kFile, kCommand, kHelp, kKernel, kJob, kArray, kServer, kSite, kToken, kChoices };

struct OptionSpec {
  std::string names;  // "-o,--output": it is asked for by its first long one
  std::string value;  // "PATH", for help; empty: a flag
  std::string help;
  bool repeatable = false;  // else the last one given counts
  bool negatable = false;   // a flag that --no-NAME takes back and that =true or =false may follow
  Offer offer = Offer::kNothing;
  std::vector<std::string> choices = {};  // completed by shells; checked by the command itself

  std::string LongName() const;               // "output"
  std::vector<std::string> AllNames() const;  // "-o", "--output", …
  bool IsFlag() const { return value.empty(); }
};

struct PositionalSpec {
  std::string name;  // "JOB"
  std::string help;
  int minimum = 1;
  int maximum = 1;  // kAnyNumber: as many as there are
  Offer offer = Offer::kNothing;
  std::vector<std::string> choices = {};  // as for an option
};
inline constexpr int kAnyNumber = 1 << 20;

// The parsed command line. Options are looked up by their long names. Looking up an option that the command does not
// have is a defect and finds nothing.
class Arguments {
 public:
  bool Flag(const std::string& name) const;
  std::optional<std::string> Text(const std::string& name) const;
  std::vector<std::string> All(const std::string& name) const;
  const std::vector<std::string>& words() const { return words_; }
  // The words behind "--", where the command takes them for itself.
  const std::vector<std::string>& rest() const { return rest_; }

  // Nothing if the option was not given; a usage error that names an invalid value.
  absl::StatusOr<std::optional<nanoseconds>> Duration(const std::string& name) const;
  absl::StatusOr<std::optional<std::int64_t>> Integer(const std::string& name, std::int64_t minimum,
                                                      std::int64_t maximum) const;

 private:
  friend absl::StatusOr<Arguments> ParseArguments(const std::vector<OptionSpec>& options,
                                                  const std::vector<std::string>& words, bool keep_rest);

  std::map<std::string, std::vector<std::string>> values_;
  std::vector<std::string> words_, rest_;
};

// An unknown option is refused with the nearest one. Words that are no options are kept in order, followed by all words
// after "--", whatever they look like; with `keep_rest` those are kept apart.
absl::StatusOr<Arguments> ParseArguments(const std::vector<OptionSpec>& options, const std::vector<std::string>& words,
                                         bool keep_rest = false);

// Refuses too few or too many words.
absl::Status CheckPositionals(const std::vector<PositionalSpec>& positionals, const std::vector<std::string>& words);

// The index of the first of `words` that is neither an option nor an option's value; words.size() if there is none.
// An unknown option counts as a flag; no options follow "--".
std::size_t FirstWord(const std::vector<OptionSpec>& options, const std::vector<std::string>& words);

}  // namespace hotplate::cli
