#include "kernels/spec/spec.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "kernels/array/quoted.h"
#include "kernels/base/nearest_names.h"
#include "kernels/base/real_text.h"
#include "kernels/base/status.h"
#include "kernels/spec/argument_rules.h"

namespace hotplate {
namespace {

// A name that the spec does not have is a defect of the kernel, not of the request.
[[noreturn]] void NoSuchName(const KernelSpec& spec, const char* what, std::string_view name) {
  std::fprintf(stderr, "hotplate: kernel %s asked for %s \"%.*s\", which its spec does not have\n", spec.name().c_str(),
               what, static_cast<int>(name.size()), name.data());
  std::abort();
}

// Preceded by its length, so that two different lists of texts never look the same.
void AppendText(std::string& canonical, std::string_view text) {
  canonical += std::to_string(text.size());
  canonical += ':';
  canonical += text;
}

void AppendValue(std::string& canonical, const std::optional<ParamValue>& value) {
  AppendText(canonical, value ? std::to_string(value->index()) + ToString(*value) : "");
}

void AppendBound(std::string& canonical, const std::optional<double>& bound) {
  AppendText(canonical, bound ? ToString(ParamValue(*bound)) : "");
}

void AppendArguments(std::string& canonical, const std::vector<ArgumentSpec>& arguments,
                     const std::vector<ArgumentRules>& rules) {
  AppendText(canonical, std::to_string(arguments.size()));
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    AppendText(canonical, arguments[i].name);
    AppendText(canonical, arguments[i].type);
    AppendText(canonical, ToString(rules[i].shape));
  }
}

std::string Fnv1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

std::size_t TotalBytes(const std::vector<Signature>& arrays) {
  std::size_t bytes = 0;
  for (const Signature& array : arrays) bytes += ByteSize(array).value_or(0);
  return bytes;
}

// Where a kernel of this name stands among sorted ones, or would.
std::vector<SharedSpec>::const_iterator NotBefore(const std::vector<SharedSpec>& specs, const std::string& name) {
  return std::lower_bound(specs.begin(), specs.end(), name,
                          [](const SharedSpec& spec, const std::string& key) { return spec->name() < key; });
}

}  // namespace

std::string ToString(const ParamValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&value)) return RealText(*real);
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  return std::get<std::string>(value);
}

double BoundCall::Float(std::string_view name) const {
  const ParamValue& value = Param(name);
  const auto* integer = std::get_if<std::int64_t>(&value);
  return integer != nullptr ? static_cast<double>(*integer) : std::get<double>(value);
}

const ParamValue& BoundCall::Param(std::string_view name) const {
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (spec->params()[i].name == name) return params[i];
  }
  NoSuchName(*spec, "parameter", name);
}

const Signature& BoundCall::Input(std::string_view name) const {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (spec->inputs()[i].name == name) return inputs[i];
  }
  NoSuchName(*spec, "input", name);
}

std::size_t BoundCall::InputBytes() const { return TotalBytes(inputs); }

std::size_t BoundCall::OutputBytes() const { return TotalBytes(outputs); }

std::string KernelSpec::HashOfAll() const {
  std::string canonical;
  AppendText(canonical, name_);
  AppendText(canonical, version_);
  if (for_one_call_) return Fnv1a(canonical);
  AppendText(canonical, std::to_string(type_variables_.size()));
  for (const TypeVariable& variable : type_variables_) {
    AppendText(canonical, variable.name);
    AppendText(canonical, std::to_string(variable.dtypes.size()));
    for (const DType dtype : variable.dtypes) AppendText(canonical, Name(dtype));
  }
  AppendText(canonical, std::to_string(params_.size()));
  for (const ParamSpec& param : params_) {
    AppendText(canonical, param.name);
    AppendText(canonical, std::to_string(static_cast<int>(param.type)));
    AppendValue(canonical, param.default_value);
    AppendBound(canonical, param.minimum);
    AppendBound(canonical, param.maximum);
    AppendText(canonical, std::to_string(param.choices.size()));
    for (const std::string& choice : param.choices) AppendText(canonical, choice);
  }
  AppendArguments(canonical, inputs_, input_rules_);
  AppendArguments(canonical, outputs_, output_rules_);
  return Fnv1a(canonical);
}

Cost KernelSpec::CostOf(const BoundCall& call) const {
  if (cost_) return cost_(call);
  return {.flop = 0, .bytes = static_cast<double>(call.InputBytes()) + static_cast<double>(call.OutputBytes())};
}

std::optional<double> KernelSpec::WorkBoundOf(const BoundCall& call) const {
  if (!work_bound_) return std::nullopt;
  return work_bound_(call);
}

absl::StatusOr<Catalog> Catalog::Of(std::vector<KernelSpecBuilder> kernels) {
  Catalog catalog;
  for (KernelSpecBuilder& kernel : kernels) {
    absl::StatusOr<KernelSpec> spec = kernel.Build();
    if (!spec.ok()) return spec.status();
    absl::StatusOr<Catalog> more = catalog.With(std::make_shared<const KernelSpec>(*std::move(spec)));
    if (!more.ok()) return more.status();
    catalog = *std::move(more);
  }
  return catalog;
}

absl::StatusOr<Catalog> Catalog::With(SharedSpec spec) const {
  Catalog more = *this;
  const auto at = NotBefore(more.specs_, spec->name());
  if (at != more.specs_.end() && (*at)->name() == spec->name()) {
    return absl::InvalidArgumentError("the catalogue has two kernels \"" + spec->name() + "\"");
  }
  more.specs_.insert(at, std::move(spec));
  return more;
}

absl::StatusOr<SharedSpec> Catalog::Find(const std::string& name) const {
  const auto found = NotBefore(specs_, name);
  if (found != specs_.end() && (*found)->name() == name) return *found;

  std::vector<std::string> names;
  for (const SharedSpec& spec : specs_) names.push_back(spec->name());
  std::string message = "no kernel " + Quoted(name) + ".";
  const std::vector<std::string> nearest = NearestNames(name, names);
  for (std::size_t i = 0; i < nearest.size(); ++i) message += (i == 0 ? " Nearest: " : ", ") + nearest[i];
  if (!nearest.empty()) message += ".";
  return Refused(absl::StatusCode::kNotFound, {{"kernel", message}});
}

}  // namespace hotplate
