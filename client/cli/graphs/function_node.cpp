#include "client/cli/graphs/function_node.h"

#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "client/cli/terminal/format.h"
#include "kernels/array/quoted.h"

namespace hotplate::cli {
namespace {

bool IsIdentifier(const std::string& text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) == 0 &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

// "a.b_c"
bool IsDotted(const std::string& text) {
  const std::vector<std::string> parts = SplitAt(text, '.');
  return !text.empty() && text.back() != '.' && std::all_of(parts.begin(), parts.end(), IsIdentifier);
}

// Python's pickle, protocol 4, as far as a call needs it: a stack machine's program.
class PickleText {
 public:
  PickleText() { text_ = "\x80\x04"; }

  void Text(const std::string& value) { text_ += "X" + LittleEndian(value.size(), 4) + value; }
  void Number(const GraphNumber& number) {
    if (const auto* integer = std::get_if<std::int64_t>(&number.value))
      text_ += "\x8a\x08" + LittleEndian(static_cast<std::uint64_t>(*integer), 8);
    else if (const auto* flag = std::get_if<bool>(&number.value))
      text_ += *flag ? "\x88" : "\x89";
    else if (const auto* word = std::get_if<std::string>(&number.value))
      Text(*word);
    else
      Real(std::get<double>(number.value));
  }
  // The array of that place among the inputs; in a tuple it stands for a number where it has no axes.
  void Array(std::size_t place) { text_ += "\x8a\x08" + LittleEndian(place, 8) + "\x85Q"; }
  void EmptyTuple() { text_ += ")"; }
  void EmptyDict() { text_ += "}"; }
  void SetItem() { text_ += "s"; }  // of the dict below a key and a value
  void Pair() { text_ += "\x86"; }  // of the two on top
  std::string Take() { return std::move(text_) + "."; }

 private:
  static std::string LittleEndian(std::uint64_t number, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) text += static_cast<char>(number >> (8 * i) & 0xff);
    return text;
  }
  void Real(double number) {
    std::string bytes = LittleEndian(std::bit_cast<std::uint64_t>(number), 8);
    std::reverse(bytes.begin(), bytes.end());
    text_ += "G" + bytes;
  }

  std::string text_;
};

}  // namespace

absl::StatusOr<FunctionNode> FunctionIn(const std::string& folder, const std::string& text) {
  const std::size_t colon = text.find(':');
  FunctionNode function;
  function.module = text.substr(0, colon);
  function.name = colon == std::string::npos ? "" : text.substr(colon + 1);
  if (!IsDotted(function.module) || !IsDotted(function.name))
    return absl::InvalidArgumentError("function is " + Quoted(text) + "; it is written \"MODULE:FUNCTION\"");
  std::string path = function.module;
  std::replace(path.begin(), path.end(), '.', '/');
  std::error_code error;
  for (const char* const end : {".py", "/__init__.py"}) {
    function.file = (std::filesystem::path(folder) / (path + end)).string();
    if (std::filesystem::is_regular_file(function.file, error)) return function;
  }
  return absl::InvalidArgumentError(absl::StrCat("function is ", Quoted(text), ", and there is no module ",
                                                 Quoted(function.module), " in ", folder, ": ", path, ".py"));
}

absl::StatusOr<std::string> PickledFunction(const FunctionNode& function) {
  struct stat facts {};
  if (stat(function.file.c_str(), &facts) != 0)
    return absl::NotFoundError(function.file + ": " + std::generic_category().message(errno));
  PickleText pickle;
  pickle.EmptyDict();
  pickle.Text("path");
  pickle.EmptyTuple();
  pickle.SetItem();
  pickle.Text("module");
  pickle.EmptyDict();
  const auto item = [&pickle](const std::string& key, const std::string& value) {
    pickle.Text(key);
    pickle.Text(value);
    pickle.SetItem();
  };
  item("name", function.module);
  item("function", function.name);
  // A worker keeps its modules: one that was edited has another stamp.
  item("stamp", absl::StrCat(function.file, " ", facts.st_size, " ", facts.st_mtim.tv_sec, ".", facts.st_mtim.tv_nsec));
  pickle.SetItem();
  return pickle.Take();
}

std::string PickledCall(const std::map<std::string, GraphNumber>& numbers, const std::vector<std::string>& arrays,
                        bool needs_array) {
  PickleText options;
  options.EmptyDict();
  options.Text("array");
  options.Text(needs_array ? "always" : "if it is one");
  options.SetItem();
  PickleText arguments;
  arguments.EmptyTuple();
  arguments.EmptyDict();
  for (const auto& [name, number] : numbers) {
    arguments.Text(name);
    arguments.Number(number);
    arguments.SetItem();
  }
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    arguments.Text(arrays[i]);
    arguments.Array(i);
    arguments.SetItem();
  }
  arguments.Pair();
  return options.Take() + arguments.Take();
}

}  // namespace hotplate::cli
