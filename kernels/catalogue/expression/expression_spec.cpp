#include "kernels/catalogue/expression/expression_spec.h"

#include <utility>
#include <variant>
#include <vector>

#include "kernels/base/status.h"
#include "kernels/expression/check.h"
#include "kernels/expression/cost.h"

namespace hotplate::expression {
namespace {

constexpr char kSummary[] = "a line of NumPy, in one pass over memory";
constexpr int kCancelBoundMs = 20;

DType DTypeOfNumber(const ParamValue& value) {
  if (std::holds_alternative<bool>(value)) return DType::kBool;
  return std::holds_alternative<std::int64_t>(value) ? DType::kInt64 : DType::kFloat64;
}

std::string KeyOf(const std::string& text, const std::map<std::string, Signature>& inputs,
                  const std::map<std::string, ParamValue>& numbers) {
  std::string key = text;
  for (const auto& [name, signature] : inputs) {
    key.append(1, '\0').append(name).append(1, ' ').append(ToString(signature));
  }
  for (const auto& [name, value] : numbers) {
    key.append(1, '\0').append(name).append(1, '=').append(Name(DTypeOfNumber(value)));
  }
  return key;
}

// "3, 4"
std::string SizesText(const Shape& shape) {
  std::string text;
  for (const std::int64_t size : shape) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return text;
}

KernelSpecBuilder Builder() {
  KernelSpecBuilder builder(kKernel, kSummary);
  builder.ForOneCall().Chunked(kCancelBoundMs);
  return builder;
}

absl::Status About(const std::string& message) { return InvalidField("expression", "expression: " + message); }

absl::StatusOr<SharedSpec> Made(const std::string& text, const std::map<std::string, Signature>& inputs,
                                const std::map<std::string, ParamValue>& numbers) {
  std::vector<NamedInput> named;
  for (const auto& [name, signature] : inputs) named.push_back({name, signature});
  std::vector<Scalar> scalars;
  for (const auto& [name, value] : numbers) {
    if (name == kTextParam) return About("no number can have the name expression, which is the text's own");
    if (std::holds_alternative<std::string>(value)) {
      return InvalidField("params." + name, name + " is a text; an expression takes arrays, numbers, true and false");
    }
    scalars.push_back({name, DTypeOfNumber(value)});
  }
  const std::variant<Program, Error> checked = Check(text, named, scalars);
  if (const auto* error = std::get_if<Error>(&checked)) {
    return About(error->message + "\n" + WithCaret(*error, text));
  }
  const Program& program = std::get<Program>(checked);

  KernelSpecBuilder builder = Builder();
  builder.Param({.name = kTextParam, .type = ParamType::kChoice, .choices = {text}});
  for (const auto& [name, value] : numbers) {
    const ParamType type = std::holds_alternative<bool>(value)           ? ParamType::kBool
                           : std::holds_alternative<std::int64_t>(value) ? ParamType::kInt
                                                                         : ParamType::kFloat;
    builder.Param({.name = name, .type = type, .any_number = true});
  }
  for (const auto& [name, signature] : inputs) {
    builder.Input(name, std::string(Name(signature.dtype)), SizesText(signature.shape));
  }
  for (const Output& output : program.outputs) {
    builder.Output(output.name, std::string(Name(output.signature.dtype)), SizesText(output.signature.shape));
  }
  const Work work = WorkOf(program);
  builder.CostModel(
      "1 FLOP for each operation and 18 for each exp, sin and their like; each element read and written once",
      [work](const BoundCall& call) {
        return Cost{.flop = work.flop, .bytes = work.bytes_read + static_cast<double>(call.OutputBytes())};
      });
  builder.WorkBound([work](const BoundCall&) { return work.operations; });
  absl::StatusOr<KernelSpec> spec = builder.Build();
  if (!spec.ok()) return About(std::string(spec.status().message()));
  return std::make_shared<const KernelSpec>(*std::move(spec));
}

}  // namespace

const std::string& SpecHash() {
  static const std::string& hash = *new std::string([] {
    KernelSpecBuilder builder = Builder();
    return builder.Output("out", "float64", "").Build()->Hash();
  }());
  return hash;
}

absl::StatusOr<SharedSpec> ExpressionSpecs::For(const std::string& text, const std::map<std::string, Signature>& inputs,
                                                const std::map<std::string, ParamValue>& numbers) {
  if (text.size() > kMaxTextBytes) {
    return About("the text has " + std::to_string(text.size()) + " bytes; at most " + std::to_string(kMaxTextBytes) +
                 " are possible");
  }
  std::string key = KeyOf(text, inputs, numbers);
  if (SharedSpec kept = specs_.Find(key)) return kept;
  absl::StatusOr<SharedSpec> spec = Made(text, inputs, numbers);
  if (spec.ok()) specs_.Add(std::move(key), *spec);
  return spec;
}

}  // namespace hotplate::expression
