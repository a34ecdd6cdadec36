#include "client/cli/catalogue/catalogue.h"

#include <algorithm>

#include "client/cli/arguments.h"
#include "client/cli/catalogue/catalogue_data.h"
#include "client/cli/terminal/console.h"
#include "client/cli/terminal/format.h"
#include "client/cli/terminal/table.h"
#include "kernels/base/nearest_names.h"

namespace hotplate::cli {
namespace {

std::string AlternativesOf(const v1::KernelSpec& kernel, const std::string& type) {
  for (const v1::TypeVariable& variable : kernel.type_variables()) {
    if (variable.name() != type) continue;
    std::vector<std::string> names;
    for (const int number : variable.dtypes())
      if (const auto dtype = DTypeFromNumber(number)) names.emplace_back(Name(*dtype));
    return Join(names, "|");
  }
  return type;
}

// Breaks `text` into lines of at most `width` columns, each after the first behind `indent` spaces.
std::string Filled(const std::string& text, std::size_t width, std::size_t indent) {
  std::string result, line, word;
  const auto flush = [&] {
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      result += line + "\n" + std::string(indent, ' ');
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
    word.clear();
  };
  for (const char c : text) {
    if (c != ' ' && c != '\n')
      word += c;
    else if (!word.empty())
      flush();
  }
  if (!word.empty()) flush();
  return result + line;
}

void AddParagraph(std::string& page, int columns, const std::string& head, const std::string& text) {
  if (text.empty()) return;
  constexpr int kMargin = 12, kLongest = 100, kShortest = 20;
  constexpr std::size_t kHead = 10;
  const auto width =
      static_cast<std::size_t>(columns > 0 ? std::clamp(columns - kMargin, kShortest, kLongest) : kLongest);
  page += "  " + head + std::string(kHead > head.size() ? kHead - head.size() : 1, ' ') +
          Filled(text, width, kHead + 2) + "\n";
}

// A table of several rows behind a head that stands in front of the first.
void AddRows(std::string& page, const std::string& head, const Table& table) {
  constexpr std::size_t kHead = 10;
  bool first = true;
  std::string line;
  for (const char c : table.Text()) {
    if (c != '\n') {
      line += c;
      continue;
    }
    page += "  " + (first ? head + std::string(kHead - head.size(), ' ') : std::string(kHead, ' ')) + line + "\n";
    first = false;
    line.clear();
  }
}

Table ArgumentRows(const v1::KernelSpec& kernel,
                   const google::protobuf::RepeatedPtrField<v1::ArgumentSpec>& arguments) {
  Table table;
  for (const v1::ArgumentSpec& argument : arguments) {
    std::string type = AlternativesOf(kernel, argument.type());
    if (type != argument.type()) type = argument.type() + ": " + type;
    table.Row(
        {argument.name(), type, argument.shape().empty() ? "scalar" : "[" + argument.shape() + "]", argument.docs()});
  }
  return table;
}

// NumPy's names for the work of kernels with another name.
struct Equivalent {
  const char* name;
  const char* here;             // the kernel first; empty: none computes it alone, nor does one of a similar name
  const char* near = "";        // what is nearest in meaning then
  const char* expression = "";  // or the words of hotplate eval that compute it
};
constexpr Equivalent kEquivalents[] = {
    {"dot", "matmul A B"},
    {"matvec", "batched_matvec A X"},
    {"inner", "matmul A B --transpose-b"},
    {"gemm", "matmul A B"},
    {"add", "vector_add A B"},
    {"sum", "reduce X --operation sum"},
    {"prod", "reduce X --operation prod"},
    {"mean", "reduce X --operation mean"},
    {"average", "reduce X --operation mean"},
    {"std", "reduce X --operation std"},
    {"min", "reduce X --operation min"},
    {"max", "reduce X --operation max"},
    {"argmin", "reduce X --operation argmin"},
    {"argmax", "reduce X --operation argmax"},
    {"zeros", "full --n N --value 0.0"},
    {"ones", "full --n N --value 1.0"},
    {"rand", "random --n N"},
    {"uniform", "random --n N"},
    {"randn", "random --n N --distribution normal"},
    {"normal", "random --n N --distribution normal"},
    {"randint", "random --n N --distribution integers --low LOW --high HIGH"},
    {"inv", "solve A I, with the identity as I"},
    {"inverse", "solve A I, with the identity as I"},
    {"eigvalsh", "eigh A --compute values"},
    {"eigvals", "eig A --compute values"},
    {"svdvals", "svd A --compute values"},
    {"cumsum", "scan X"},
    {"cumprod", "scan X --operation prod"},
    {"nonzero", "flatnonzero X"},
    {"ifft", "fft X --transform ifft"},
    {"rfft", "fft X --transform rfft"},
    {"irfft", "fft X --transform irfft"},
    {"fft2", "fft X --axes 2"},
    {"ifft2", "fft X --transform ifft --axes 2"},
    {"rfft2", "fft X --transform rfft --axes 2"},
    {"irfft2", "fft X --transform irfft --axes 2"},
    {"det", "", "slogdet A, its sign and the logarithm of its magnitude"},
    {"var", "", "reduce X --operation std, its square root"},
    {"transpose", "", "matmul A B --transpose-a, which takes a transpose without making it"},
    {"relu", "", "selu X"},
    {"exp", "", "", "'exp(x)' x=X"},
    {"log", "", "", "'log(x)' x=X"},
    {"sqrt", "", "", "'sqrt(x)' x=X"},
    {"abs", "", "", "'abs(x)' x=X"},
    {"sin", "", "", "'sin(x)' x=X"},
    {"cos", "", "", "'cos(x)' x=X"},
    {"tanh", "", "", "'tanh(x)' x=X"},
    {"mul", "", "", "'x*y' x=X y=Y"},
    {"multiply", "", "", "'x*y' x=X y=Y"},
    {"sub", "", "", "'x - y' x=X y=Y"},
    {"subtract", "", "", "'x - y' x=X y=Y"},
    {"eye", ""},
};

std::string DefaultText(const v1::ParamSpec& param) {
  if (!param.default_text().empty()) return "default: " + param.default_text();
  return param.has_default_value() ? Text(param.default_value()) : "must be given";
}

}  // namespace

const v1::CatalogueFile& EmbeddedCatalogue() {
  static const v1::CatalogueFile catalogue = [] {
    v1::CatalogueFile file;
    file.ParseFromArray(hotplate_catalogue_begin, static_cast<int>(hotplate_catalogue_end - hotplate_catalogue_begin));
    return file;
  }();
  return catalogue;
}

std::vector<v1::KernelSpec> EmbeddedKernels() {
  const v1::CatalogueFile& file = EmbeddedCatalogue();
  return {file.kernels().begin(), file.kernels().end()};
}

std::optional<std::string> EquivalentOf(const std::vector<v1::KernelSpec>& kernels, const std::string& name) {
  const auto is_here = [&kernels](const std::string& line) {
    const std::string first = line.substr(0, line.find(' '));
    return std::any_of(kernels.begin(), kernels.end(), [&](const v1::KernelSpec& one) { return one.name() == first; });
  };
  for (const Equivalent& equivalent : kEquivalents) {
    if (name != equivalent.name) continue;
    if (equivalent.expression != std::string()) return "Here: hotplate eval " + std::string(equivalent.expression);
    if (is_here(equivalent.here)) return "Here: hotplate run " + std::string(equivalent.here);
    const std::string none = "No kernel computes that alone";
    return is_here(equivalent.near) ? none + ". Nearest: hotplate run " + equivalent.near : none;
  }
  return std::nullopt;
}

absl::Status NoKernel(const std::vector<v1::KernelSpec>& kernels, const std::string& name) {
  const std::string no = "no kernel \"" + name + "\". ", all = "All: hotplate kernels";
  if (const auto equivalent = EquivalentOf(kernels, name)) return absl::NotFoundError(no + *equivalent + ". " + all);
  std::vector<std::string> names;
  for (const v1::KernelSpec& kernel : kernels) names.push_back(kernel.name());
  const std::vector<std::string> nearest = NearestNames(name, names);
  return absl::NotFoundError(no + (nearest.empty() ? "" : "Nearest: " + Join(nearest, ", ") + ". ") + all);
}

absl::StatusOr<v1::KernelSpec> FindKernel(const std::vector<v1::KernelSpec>& kernels, const std::string& name) {
  for (const v1::KernelSpec& kernel : kernels)
    if (kernel.name() == name) return kernel;
  return NoKernel(kernels, name);
}

std::string OptionName(const std::string& parameter) {
  std::string name = "--" + parameter;
  for (char& c : name)
    if (c == '_') c = '-';
  return name;
}

std::string TypeText(const v1::ParamSpec& param) {
  switch (param.type()) {
    case v1::PARAM_TYPE_INT:
      return "int";
    case v1::PARAM_TYPE_FLOAT:
      return "float";
    case v1::PARAM_TYPE_BOOL:
      return "flag";
    case v1::PARAM_TYPE_CHOICE:
      return Join({param.choices().begin(), param.choices().end()}, "|");
    default:
      return "?";
  }
}

std::string RangeText(const v1::ParamSpec& param) {
  if (param.type() != v1::PARAM_TYPE_INT && param.type() != v1::PARAM_TYPE_FLOAT) return "";
  if (param.has_minimum() && param.has_maximum()) return Number(param.minimum()) + " to " + Number(param.maximum());
  if (param.has_minimum()) return "from " + Number(param.minimum());
  if (param.has_maximum()) return "to " + Number(param.maximum());
  return param.type() == v1::PARAM_TYPE_FLOAT ? "finite" : "";
}

// Whether the same call has the same bits every time; empty if the daemon does not say.
std::string DeterminismText(v1::Determinism determinism) {
  switch (determinism) {
    case v1::DETERMINISM_ALWAYS:
      return "every time on one device";
    case v1::DETERMINISM_ON_REQUEST:
      return "every time on one device with --deterministic, which may take longer";
    case v1::DETERMINISM_NEVER:
      return "not: --deterministic is refused";
    default:
      return "";
  }
}

std::string DescribeKernel(const v1::KernelSpec& kernel, int columns) {
  std::string page = kernel.name() + "   " + kernel.summary() + "\n";
  if (kernel.inputs_size() > 0) AddRows(page, "inputs", ArgumentRows(kernel, kernel.inputs()));
  AddRows(page, "outputs", ArgumentRows(kernel, kernel.outputs()));
  Table params;
  for (const v1::ParamSpec& param : kernel.params())
    params.Row({OptionName(param.name()), TypeText(param), DefaultText(param), RangeText(param), param.docs()});
  AddRows(page, "params", params);
  AddParagraph(page, columns, "cost", kernel.cost());
  AddParagraph(page, columns, "numerics", kernel.numerics());
  AddParagraph(page, columns, "cancel",
               kernel.cancel_class() == v1::CANCEL_CLASS_CHUNKED
                   ? "within " + std::to_string(kernel.cancel_bound_ms()) + " ms, and reports progress"
                   : "takes effect when the kernel ends");
  AddParagraph(page, columns, "same bits", DeterminismText(kernel.determinism()));
  AddParagraph(page, columns, "docs", kernel.docs());
  for (const std::string& why : kernel.unavailable()) AddParagraph(page, columns, "note", Printable(why));
  AddParagraph(page, columns, "example", kernel.example());
  return page;
}

}  // namespace hotplate::cli
