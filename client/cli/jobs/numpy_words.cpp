#include "client/cli/jobs/numpy_words.h"

#include <algorithm>

#include "client/cli/terminal/format.h"

namespace hotplate::cli {
namespace {

// `value` is a text, or has # for each number and -# for a negative one; empty: any. {} in `write` is the value, {1}
// its first number. The first row that fits counts.
struct NumpyRow {
  const char* kernel;
  const char* option;  // empty: words without one
  const char* value;
  const char* write;
};

constexpr const char* kSingular = "hotplate run svd X --compute values -o s=S.npy, then hotplate run reduce S.npy";
constexpr const char* kLastAxis =
    "hotplate eval 'x.T' x=X -o T.npy, and take T.npy: it goes along the last axis alone (transpose(x, …) has any "
    "order)";
constexpr const char* kNothing = "nothing: it is so already";

constexpr NumpyRow kRows[] = {
    {"norm", "ord", "none", "nothing: without --ord it is that norm"},
    {"norm", "ord", "nuc", kSingular},
    {"norm", "ord", "-2", kSingular},
    {"norm", "ord", "-#", "hotplate eval 'sum(abs(x) ** float64({}))' x=X, and raise it to 1 / {}"},
    {"norm", "ord", "#", "--ord p --p {}"},
    {"norm", "axis", "none", "--axis all"},
    {"norm", "axis", "#,#", "--axis matrices, for those in the last two axes"},
    {"reduce", "axis", "none", "--axis all"},
    {"reduce", "axis", "#,#", "hotplate eval 'sum(x, axis=({}))' x=X, or mean, max and so on"},
    {"reduce", "axis", "#,#,#", "hotplate eval 'sum(x, axis=({}))' x=X, or mean, max and so on"},
    {"argsort", "axis", "none", "--axis all"},
    {"argsort", "kind", "", "nothing: argsort is stable"},
    {"scan", "axis", "none", "--axis all"},
    {"sort", "axis", "-1", kNothing},
    {"sort", "axis", "#", kLastAxis},
    {"sort", "kind", "", "nothing: equal elements are the same in any order"},
    {"fft", "axis", "-1", kNothing},
    {"fft", "axis", "#,#", "--axes 2, for the last two axes"},
    {"fft", "axes", "#,#", "--axes 2, for the last two axes"},
    {"fft", "axis", "#", kLastAxis},
    {"svd", "full-matrices", "false", "--compute thin"},
    {"svd", "full-matrices", "", "--compute full"},
    {"svd", "compute-uv", "false", "--compute values"},
    {"svd", "compute-uv", "", kNothing},
    {"svd", "hermitian", "", "hotplate run eigh A --compute values: their magnitudes are the singular values"},
    {"qr", "mode", "r", "-o r=R.npy, without --mode"},
    {"eigh", "uplo", "u", "hotplate eval 'x.T' x=A -o T.npy, and take T.npy: eigh reads the lower triangle alone"},
    {"eigh", "uplo", "", "nothing: eigh reads the lower triangle"},
    {"cholesky", "upper", "", "hotplate eval 'x.T' x=L -o U.npy for the output: it is the lower factor"},
    {"histogram", "range", "#,#", "--range given --low {1} --high {2}"},
    {"histogram", "range", "#", "--range given --low LOW --high HIGH"},
    {"full", "fill-value", "", "--value {}"},
    {"full", "", "#,#,# #", "full --batch {1} --rows {2} --n {3} --value {4}"},
    {"full", "", "#,# #", "full --rows {1} --n {2} --value {3}"},
    {"full", "", "# #", "full --n {1} --value {2}"},
    {"full", "", "#", "full --n {1}"},
    {"full", "", "#,#", "full --rows {1} --n {2}"},
    {"random", "", "#", "random --n {1}"},
    {"random", "", "# #", "random --rows {1} --n {2}"},
    {"random", "", "#,#", "random --rows {1} --n {2}"},
    {"random", "", "#,#,#", "random --batch {1} --rows {2} --n {3}"},
    {"arange", "", "#", "arange --stop {1}"},
    {"arange", "", "# #", "arange --start {1} --stop {2}"},
    {"arange", "", "# # #", "arange --start {1} --stop {2} --step {3}"},
    {"linspace", "", "# #", "linspace --start {1} --stop {2}"},
    {"linspace", "", "# # #", "linspace --start {1} --stop {2} --num {3}"},
    {"linspace", "endpoint", "false", "--no-include-stop"},
    {"linspace", "endpoint", "true", kNothing},
};

// NumPy's shapes, whatever the option is called.
constexpr NumpyRow kShapes[] = {
    {"", "", "#", "--n {1}"},
    {"", "", "#,#", "--rows {1} --n {2}"},
    {"", "", "#,#,#", "--batch {1} --rows {2} --n {3}"},
};

// "(3, 3)", "[3,3]" and "False" in the form of the table.
std::string PlainWords(const std::string& value) {
  std::string plain;
  for (const char c : value) {
    if (c == '(' || c == ')' || c == '[' || c == ']') continue;
    if (c == ' ' && (plain.empty() || plain.back() == ',')) continue;
    plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  if (plain == "no" || plain == "off") return "false";
  if (plain == "yes" || plain == "on") return "true";
  return plain;
}

struct GivenWords {
  std::string text;
  std::string pattern;  // with # and -#
  std::vector<std::string> numbers;
};

GivenWords Understood(const std::string& text) {
  GivenWords value{.text = PlainWords(text), .pattern = {}, .numbers = {}};
  std::string token;
  const auto end = [&] {
    if (ParseNumber(token)) {
      value.pattern += token[0] == '-' ? "-#" : "#";
      value.numbers.push_back(token);
    } else {
      value.pattern += token;
    }
    token.clear();
  };
  for (const char c : value.text) {
    if (c != ',' && c != ' ') {
      token += c;
      continue;
    }
    end();
    value.pattern += c;
  }
  end();
  return value;
}

void ReplaceAll(std::string& text, const std::string& what, const std::string& with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
}

bool FitsRow(const NumpyRow& row, const GivenWords& value) {
  const std::string wanted = row.value;
  if (wanted.empty() || wanted == value.text || wanted == value.pattern) return true;
  if (value.numbers.size() == 1 &&
      ((wanted == "false" && value.text == "0") || (wanted == "true" && value.text == "1")))
    return true;
  std::string unsigned_pattern = value.pattern;
  ReplaceAll(unsigned_pattern, "-#", "#");
  return wanted == unsigned_pattern;
}

std::string WriteInstead(const NumpyRow& row, const std::string& option, const GivenWords& value) {
  std::string text = row.write;
  if (text == kSingular) text += option == "ord" && value.text == "nuc" ? " --operation sum" : " --operation min";
  for (std::size_t i = 0; i < value.numbers.size(); ++i)
    ReplaceAll(text, "{" + std::to_string(i + 1) + "}", value.numbers[i]);
  ReplaceAll(text, "{}", value.text);
  return "; write " + text;
}

}  // namespace

std::string NumpyHint(const std::string& kernel, const std::string& option, const std::string& value) {
  std::string name = PlainWords(option);
  std::replace(name.begin(), name.end(), '_', '-');
  GivenWords read = Understood(value);
  if (name.rfind("no-", 0) == 0) {
    name.erase(0, 3);
    read = Understood("false");
  }
  for (const NumpyRow& row : kRows)
    if (kernel == row.kernel && name == row.option && FitsRow(row, read)) return WriteInstead(row, name, read);
  const bool takes_shape = kernel == "full" || kernel == "random";
  if (takes_shape && (name == "shape" || name == "size" || name == "n"))
    for (const NumpyRow& row : kShapes)
      if (FitsRow(row, read)) return WriteInstead(row, name, read);
  return "";
}

std::string NumpyHint(const std::string& kernel, const std::vector<std::string>& words) {
  return NumpyHint(kernel, "", Join(words, " "));
}

}  // namespace hotplate::cli
