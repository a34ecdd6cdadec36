// Puts a spec together and sees to it that it does not contradict itself.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "kernels/spec/argument_rules.h"
#include "kernels/spec/bind.h"
#include "kernels/spec/spec.h"

namespace hotplate {
namespace {

// Remembers the first thing that is wrong with a spec.
class Proof {
 public:
  explicit Proof(const std::string& kernel) : kernel_(kernel) {}

  bool Require(bool holds, const std::string& otherwise) {
    if (!holds && status_.ok()) {
      status_ = absl::InvalidArgumentError("the spec of kernel \"" + kernel_ + "\" is wrong: " + otherwise);
    }
    return holds;
  }
  const absl::Status& status() const { return status_; }

 private:
  const std::string kernel_;
  absl::Status status_;
};

template <typename Named>
void RequireNames(Proof& proof, const std::vector<Named>& all, const std::string& what,
                  bool (*is_name)(std::string_view)) {
  std::set<std::string> names;
  for (const Named& one : all) {
    proof.Require(is_name(one.name), what + " \"" + one.name + "\" is not a name");
    proof.Require(names.insert(one.name).second, what + " \"" + one.name + "\" is there twice");
  }
}

void RequireParam(Proof& proof, const ParamSpec& param) {
  const std::string it = "parameter \"" + param.name + "\" ";
  const bool number = param.type == ParamType::kInt || param.type == ParamType::kFloat;
  proof.Require(number || (!param.minimum && !param.maximum), it + "has bounds but is no number");
  for (const std::optional<double>& bound : {param.minimum, param.maximum}) {
    proof.Require(!bound || std::isfinite(*bound), it + "has a bound that is not finite; leave it out");
  }
  proof.Require(!param.minimum || !param.maximum || *param.minimum <= *param.maximum, it + "has its bounds swapped");
  proof.Require(param.choices.empty() == (param.type != ParamType::kChoice), it + "has choices, or none, wrongly");
  proof.Require(param.default_text.empty() || param.default_value, it + "has words for a default but no default");
  if (!param.default_value || !param.default_text.empty() || !proof.status().ok()) return;
  const std::variant<ParamValue, std::string> accepted = AcceptValue(param, *param.default_value);
  proof.Require(std::holds_alternative<ParamValue>(accepted), it + "has a default that it does not accept");
}

}  // namespace

KernelSpecBuilder::KernelSpecBuilder(std::string name, std::string summary) {
  spec_.name_ = std::move(name);
  spec_.summary_ = std::move(summary);
}

KernelSpecBuilder& KernelSpecBuilder::Version(std::string version) {
  spec_.version_ = std::move(version);
  return *this;
}

KernelSpecBuilder& KernelSpecBuilder::Docs(std::string docs) {
  spec_.docs_ = std::move(docs);
  return *this;
}

KernelSpecBuilder& KernelSpecBuilder::Type(std::string variable, std::vector<DType> dtypes) {
  spec_.type_variables_.push_back({std::move(variable), std::move(dtypes)});
  return *this;
}

KernelSpecBuilder& KernelSpecBuilder::Param(ParamSpec param) {
  spec_.params_.push_back(std::move(param));
  return *this;
}

KernelSpecBuilder& KernelSpecBuilder::Input(std::string name, std::string type, std::string shape, std::string docs) {
  spec_.inputs_.push_back({std::move(name), std::move(type), std::move(shape), std::move(docs)});
  return *this;
}

KernelSpecBuilder& KernelSpecBuilder::Output(std::string name, std::string type, std::string shape, std::string docs) {
  spec_.outputs_.push_back({std::move(name), std::move(type), std::move(shape), std::move(docs)});
  return *this;
}

KernelSpecBuilder& KernelSpecBuilder::CostModel(std::string text, std::function<Cost(const BoundCall&)> cost) {
  spec_.cost_text_ = std::move(text);
  spec_.cost_ = std::move(cost);
  return *this;
}

KernelSpecBuilder& KernelSpecBuilder::WorkBound(std::function<double(const BoundCall&)> operations) {
  spec_.work_bound_ = std::move(operations);
  return *this;
}

KernelSpecBuilder& KernelSpecBuilder::Numerics(std::string text) {
  spec_.numerics_ = std::move(text);
  return *this;
}

KernelSpecBuilder& KernelSpecBuilder::Chunked(int cancel_bound_ms) {
  spec_.cancel_class_ = CancelClass::kChunked;
  spec_.cancel_bound_ms_ = cancel_bound_ms;
  return *this;
}

KernelSpecBuilder& KernelSpecBuilder::Example(std::string command_line) {
  spec_.example_ = std::move(command_line);
  return *this;
}

KernelSpecBuilder& KernelSpecBuilder::CpuOnly() {
  spec_.cpu_only_ = true;
  return *this;
}

KernelSpecBuilder& KernelSpecBuilder::TakesPrecision() {
  spec_.takes_precision_ = true;
  return *this;
}

KernelSpecBuilder& KernelSpecBuilder::SameBits(Determinism determinism) {
  spec_.determinism_ = determinism;
  return *this;
}

KernelSpecBuilder& KernelSpecBuilder::Shapes(std::function<absl::Status(BoundCall&)> shapes) {
  spec_.shapes_ = std::move(shapes);
  return *this;
}

KernelSpecBuilder& KernelSpecBuilder::ForOneCall() {
  spec_.for_one_call_ = true;
  return *this;
}

KernelSpecBuilder& KernelSpecBuilder::NoOutputs() {
  no_outputs_ = true;
  return *this;
}

absl::StatusOr<KernelSpec> KernelSpecBuilder::Build() {
  Proof proof(spec_.name_);
  proof.Require(IsLowerSnake(spec_.name_), "its name is not lower_snake");
  proof.Require(!spec_.version_.empty(), "it has no version");
  const auto is_name = spec_.for_one_call_ ? IsIdentifier : IsLowerSnake;
  RequireNames(proof, spec_.params_, "parameter", is_name);
  RequireNames(proof, spec_.inputs_, "input", is_name);
  RequireNames(proof, spec_.outputs_, "output", is_name);
  RequireNames(proof, spec_.type_variables_, "type variable", IsIdentifier);
  proof.Require(no_outputs_ || !spec_.outputs_.empty(), "it has no output");
  proof.Require(spec_.cancel_class_ != CancelClass::kChunked || spec_.cancel_bound_ms_ > 0,
                "its bound for cancelling is not positive");

  std::set<std::string> variables, bound_variables, symbols;
  bool rest_bound = false;
  std::set<bool> broadcasts;  // of the inputs that have a "..."
  for (const TypeVariable& variable : spec_.type_variables_) {
    proof.Require(!variable.dtypes.empty(), "type variable \"" + variable.name + "\" has no dtypes");
    proof.Require(!ParseDType(variable.name), "type variable \"" + variable.name + "\" is a dtype's name");
    variables.insert(variable.name);
  }
  for (const ParamSpec& param : spec_.params_) {
    RequireParam(proof, param);
    if (param.type == ParamType::kInt) symbols.insert(param.name);
  }
  for (const ArgumentSpec& input : spec_.inputs_) {
    const std::optional<TypeRule> type = ParseTypeRule(input.type);
    const std::optional<ShapeRule> shape = ParseShapeRule(input.shape);
    const std::string it = "input \"" + input.name + "\" ";
    if (!proof.Require(
            type && type->change == TypeRule::Change::kNone && (type->fixed || variables.contains(type->variable)),
            it + "has the unknown type \"" + input.type + "\"") ||
        !proof.Require(shape && !shape->at_most, it + "has the unreadable shape \"" + input.shape + "\"")) {
      return proof.status();
    }
    bound_variables.insert(type->variable);
    rest_bound = rest_bound || shape->rest;
    if (shape->rest) broadcasts.insert(shape->broadcasts);
    for (const Dimension& dimension : shape->dimensions) symbols.insert(dimension.symbol);
    spec_.input_rules_.push_back({*type, *shape});
  }
  proof.Require(broadcasts.size() < 2, "some inputs have \"broadcast ...\" and others \"...\"");
  const auto chosen = [&](const std::string& variable) {
    const auto param = std::find_if(spec_.params_.begin(), spec_.params_.end(),
                                    [&](const ParamSpec& one) { return one.name == variable; });
    return param != spec_.params_.end() && param->type == ParamType::kChoice &&
           (spec_.shapes_ || std::all_of(param->choices.begin(), param->choices.end(),
                                         [](const std::string& choice) { return ParseDType(choice).has_value(); }));
  };
  for (const ArgumentSpec& output : spec_.outputs_) {
    const std::string it = "output \"" + output.name + "\" ";
    const std::optional<TypeRule> type = ParseTypeRule(output.type);
    const std::optional<ShapeRule> shape = ParseShapeRule(output.shape);
    if (!proof.Require(
            type && (type->fixed || bound_variables.contains(type->variable) || chosen(type->variable)),
            it + "has the type \"" + output.type + "\", which no input and no choice of dtypes determines") ||
        !proof.Require(shape.has_value(), it + "has the unreadable shape \"" + output.shape + "\"")) {
      return proof.status();
    }
    for (const TypeVariable& variable : spec_.type_variables_) {
      if (type->change != TypeRule::Change::kComplex || variable.name != type->variable) continue;
      for (const DType dtype : variable.dtypes) {
        proof.Require(IsComplex(ComplexOf(dtype)), it + "has the type \"" + output.type +
                                                       "\", and there are no complex numbers of " +
                                                       std::string(Name(dtype)));
      }
    }
    proof.Require(!shape->broadcasts, it + "has \"broadcast ...\"; what the inputs become is \"...\"");
    spec_.output_rules_.push_back({*type, *shape});
    if (spec_.shapes_) continue;  // the symbols then only document
    proof.Require(!shape->rest || rest_bound, it + "has a \"...\" that no input has");
    for (const Dimension& dimension : shape->dimensions) {
      proof.Require(dimension.kind != Dimension::Kind::kSymbol || symbols.contains(dimension.symbol),
                    it + "has the size \"" + dimension.symbol + "\", which no input and no parameter determines");
    }
  }
  if (!proof.status().ok()) return proof.status();
  static std::atomic<std::uint64_t> last_number{0};
  spec_.number_ = last_number.fetch_add(1, std::memory_order_relaxed) + 1;
  spec_.hash_ = spec_.HashOfAll();
  return std::move(spec_);
}

}  // namespace hotplate
