// Names, statements and the space: what all results run over.
#include "kernels/expression/check.h"

#include <algorithm>
#include <limits>
#include <numbers>
#include <utility>

#include "kernels/array/quoted.h"
#include "kernels/base/nearest_names.h"
#include "kernels/expression/checker.h"
#include "kernels/expression/lexer.h"
#include "kernels/expression/parse.h"

namespace hotplate::expression {
namespace {

constexpr std::string_view kIndexNames[] = {"i", "j", "k", "l"};
constexpr std::pair<std::string_view, double> kNumberNames[] = {{"pi", std::numbers::pi},
                                                                {"e", std::numbers::e},
                                                                {"inf", std::numeric_limits<double>::infinity()},
                                                                {"nan", std::numeric_limits<double>::quiet_NaN()}};
// Python's own types, where a dtype is expected.
constexpr std::pair<std::string_view, DType> kPythonTypes[] = {
    {"int", DType::kInt64}, {"float", DType::kFloat64}, {"complex", DType::kComplex128}};

}  // namespace

Checker::Checker(std::string_view text, const Syntax& syntax, std::span<const NamedInput> inputs,
                 std::span<const Scalar> scalars)
    : text_(text),
      syntax_(syntax),
      inputs_(inputs),
      scalars_(scalars),
      input_used_(inputs.size()),
      scalar_used_(scalars.size()),
      values_(syntax.nodes.size()) {}

std::variant<Program, Error> Checker::Run() {
  if (!CheckGiven()) return *error_;
  int at = 0;
  for (std::size_t i = 0; i < syntax_.statements.size(); ++i) {
    const Statement& statement = syntax_.statements[i];
    for (; at <= statement.root; ++at) {
      if (!Evaluate(at)) return *error_;
    }
    if (!FinishStatement(statement, i + 1 == syntax_.statements.size())) return *error_;
  }
  if (!CheckUsed() || !CheckSpace() || !AddOutputs()) return *error_;
  return std::move(program_);
}

bool Checker::Fail(Error::Kind kind, std::size_t offset, std::size_t length, std::string message) {
  error_ = Error{.kind = kind, .message = std::move(message), .offset = offset, .length = length};
  return false;
}

bool Checker::Fail(Error::Kind kind, int at, std::string message) {
  return Fail(kind, Tree(at).offset, Tree(at).length, std::move(message));
}

std::string Checker::Written(int at) const {
  constexpr std::size_t kLongest = 32;
  const SyntaxNode& node = Tree(at);
  std::string written(text_.substr(node.begin, std::min(node.end - node.begin, kLongest)));
  for (char& c : written) {
    if (c < ' ' || c > '~') c = ' ';
  }
  return node.end - node.begin > kLongest ? written + "..." : written;
}

std::string Checker::Described(int at) const { return Written(at) + " is " + At(at).shape.text(); }

bool Checker::CheckGivenName(const std::string& name, const char* what) {
  if (IsIdentifier(name)) return true;
  return Fail(Error::Kind::kName, 0, 0,
              Quoted(name) + " is no name for " + what +
                  (IsKeyword(name) ? ": Python has the word" : "; letters, digits and _ are"));
}

bool Checker::CheckGiven() {
  if (inputs_.size() > kMaxInputs || scalars_.size() > kMaxInputs) {
    return Fail(Error::Kind::kLimit, 0, 0,
                std::to_string(std::max(inputs_.size(), scalars_.size())) +
                    (inputs_.size() > kMaxInputs ? " inputs" : " scalars") + " are given; at most " +
                    std::to_string(kMaxInputs) + " are possible");
  }
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const std::string& name = inputs_[i].name;
    const Signature& signature = inputs_[i].signature;
    if (!CheckGivenName(name, "an input")) return false;
    const auto same = [&](const NamedInput& other) { return other.name == name; };
    if (std::ranges::any_of(inputs_.first(i), same)) {
      return Fail(Error::Kind::kName, 0, 0, "the input " + name + " is given twice");
    }
    if (signature.shape.size() > kMaxRank) {
      return Fail(Error::Kind::kLimit, 0, 0,
                  name + " is an array of " + std::to_string(signature.shape.size()) + " dimensions; at most " +
                      std::to_string(kMaxRank) + " are possible");
    }
    if (ByteSize(signature).value_or(kMaxArrayBytes + 1) > kMaxArrayBytes) {
      return Fail(Error::Kind::kLimit, 0, 0, name + " is " + ToString(signature) + "; no array can have this shape");
    }
  }
  for (std::size_t i = 0; i < scalars_.size(); ++i) {
    const std::string& name = scalars_[i].name;
    const DType dtype = scalars_[i].dtype;
    if (!CheckGivenName(name, "a number")) return false;
    const bool twice = std::ranges::any_of(inputs_, [&](const NamedInput& other) { return other.name == name; }) ||
                       std::ranges::any_of(scalars_.first(i), [&](const Scalar& other) { return other.name == name; });
    if (twice) return Fail(Error::Kind::kName, 0, 0, name + " is given twice");
    if (dtype != DType::kBool && dtype != DType::kInt64 && dtype != DType::kFloat64) {
      return Fail(Error::Kind::kType, 0, 0,
                  name + " is " + std::string(Name(dtype)) + "; a number is bool, int64 or float64");
    }
  }
  program_.scalars.assign(scalars_.begin(), scalars_.end());
  return true;
}

bool Checker::Evaluate(int at) {
  const SyntaxNode& node = Tree(at);
  const std::span<const int> children = syntax_.ChildrenOf(node);
  switch (node.kind) {
    case SyntaxNode::Kind::kInteger:
      At(at) = Value::Of(Number::Int(node.integer));
      return true;
    case SyntaxNode::Kind::kFloat:
      At(at) = Value::Of(Number::Float(node.number));
      return true;
    case SyntaxNode::Kind::kImaginary:
      At(at) = Value::Of(Number::Complex({0, node.number}));
      return true;
    case SyntaxNode::Kind::kBool:
      At(at) = Value::Of(Number::Bool(node.integer != 0));
      return true;
    case SyntaxNode::Kind::kName:
      return EvaluateName(at);
    case SyntaxNode::Kind::kUnary:
    case SyntaxNode::Kind::kBinary:
      return Operate(at, node.op, children, /*is_sign=*/true);
    case SyntaxNode::Kind::kCall:
      return Call(at);
    case SyntaxNode::Kind::kSubscript:
      return SubscriptOf(at);
    case SyntaxNode::Kind::kTranspose:
      return TransposeOf(at, children.front(), {});
    case SyntaxNode::Kind::kNone:
    case SyntaxNode::Kind::kEllipsis:
    case SyntaxNode::Kind::kKeyword:
    case SyntaxNode::Kind::kTuple:
    case SyntaxNode::Kind::kSlice:
      return true;
  }
  return true;
}

// Looks names up in this order: results of the text, inputs and numbers of the call, built-in names.
bool Checker::EvaluateName(int at) {
  const std::string_view name = Tree(at).text;
  Value& value = At(at);
  for (NamedResult& result : results_) {
    if (result.name != name) continue;
    result.used = true;
    value = result.value;
    return true;
  }
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].name != name) continue;
    input_used_[i] = true;
    const InputView view = WholeInput(static_cast<int>(i), inputs_[i].signature.shape);
    value.kind = Value::Kind::kView;
    value.dtype = inputs_[i].signature.dtype;
    value.shape = view.shape;
    value.view = static_cast<int>(views_.size());
    views_.push_back(view);
    return true;
  }
  for (std::size_t i = 0; i < scalars_.size(); ++i) {
    if (scalars_[i].name != name) continue;
    scalar_used_[i] = true;
    const DType dtype = scalars_[i].dtype;
    value = Value::Array(builder_.Scalar(static_cast<int>(i), dtype), dtype, {}, false);
    value.weak = WeakOf(dtype);
    return true;
  }
  for (std::size_t axis = 0; axis < std::size(kIndexNames); ++axis) {
    if (kIndexNames[axis] == name) return IndexAlong(at, static_cast<int>(axis));
  }
  for (const auto& [known, number] : kNumberNames) {
    if (known != name) continue;
    value = Value::Of(Number::Float(number));
    return true;
  }
  std::optional<DType> dtype = ParseDType(name);
  for (const auto& [known, python] : kPythonTypes) {
    if (known == name) dtype = python;
  }
  if (!dtype) return UnknownName(at);
  value.kind = Value::Kind::kDType;
  value.dtype = *dtype;
  return true;
}

bool Checker::UnknownName(int at) {
  const std::string name(Tree(at).text);
  for (const Statement& statement : syntax_.statements) {
    if (statement.name == name) {
      return Fail(Error::Kind::kName, at, name + " is used before the statement that computes it");
    }
  }
  if (FindFunction(name) != nullptr) {
    return Fail(Error::Kind::kName, at, name + " is a function; write " + name + "(...)");
  }
  std::vector<std::string> known;
  for (const NamedInput& input : inputs_) known.push_back(input.name);
  for (const Scalar& scalar : scalars_) known.push_back(scalar.name);
  for (const NamedResult& result : results_) known.emplace_back(result.name);
  const std::vector<std::string> nearest = NearestNames(name, known);
  std::string message = "there is no name " + Quoted(name);
  if (!nearest.empty()) message += "; nearest: " + Alternatives(nearest);
  return Fail(Error::Kind::kName, at, std::move(message));
}

bool Checker::FinishStatement(const Statement& statement, bool is_last) {
  if (statement.name.empty() && !is_last) {
    return Fail(Error::Kind::kSyntax, statement.offset, 1,
                "only the last statement may be without a name; write name = ...");
  }
  NamedResult result{.name = statement.name.empty() ? "out" : statement.name,
                     .offset = statement.offset,
                     .length = std::max<std::size_t>(statement.name.size(), 1),
                     .root = statement.root,
                     .value = {}};
  const std::string name(result.name);
  const auto fail = [&](std::string message) {
    return Fail(Error::Kind::kName, result.offset, result.length, std::move(message));
  };
  if (!statement.name.empty()) {
    for (const NamedInput& input : inputs_) {
      if (input.name == name) return fail(name + " is an input; give the result another name");
    }
    for (const Scalar& scalar : scalars_) {
      if (scalar.name == name) return fail(name + " is a number that is given; give the result another name");
    }
  }
  for (const NamedResult& other : results_) {
    if (other.name == name) return fail(name + " is the name of two results");
  }
  // The name of a view stands for the view, which has parts; that of a number for the number, which is weak.
  result.value = At(statement.root);
  if (result.value.kind != Value::Kind::kReduction && !BecomeArray(statement.root)) return false;
  // A part runs over whatever the outputs do that use it.
  if (!result.IsPart() && !JoinSpace(result)) return false;
  results_.push_back(result);
  return true;
}

bool Checker::JoinSpace(const NamedResult& result) {
  const auto shape_of = [&](const Value& value) -> const Extent& {
    return value.kind == Value::Kind::kReduction ? reductions_[static_cast<std::size_t>(value.node)].argument.shape
                                                 : value.shape;
  };
  const Extent& shape = shape_of(result.value);
  if (const std::optional<Extent> both = Broadcast(space_, shape)) {
    space_ = *both;
    return true;
  }
  for (const NamedResult& other : results_) {
    if (other.IsPart() || Broadcast(shape_of(other.value), shape)) continue;
    return Fail(Error::Kind::kValue, result.offset, result.length,
                "outputs of one expression run over one shape, but " + std::string(other.name) + " runs over " +
                    shape_of(other.value).text() + " and " + std::string(result.name) + " over " + shape.text() +
                    "; send them apart");
  }
  return true;
}

bool Checker::CheckUsed() {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (!input_used_[i]) return Fail(Error::Kind::kName, 0, 0, "the input " + inputs_[i].name + " is not in the text");
  }
  for (std::size_t i = 0; i < scalars_.size(); ++i) {
    if (!scalar_used_[i]) {
      return Fail(Error::Kind::kName, 0, 0, "the number " + scalars_[i].name + " is not in the text");
    }
  }
  for (const NamedResult& result : results_) {
    if (!result.IsPart() || result.used) continue;
    return Fail(Error::Kind::kName, result.offset, result.length,
                "nothing uses " + std::string(result.name) + ", and a result whose name begins with _ is no output");
  }
  return true;
}

bool Checker::CheckSpace() {
  if (!ElementCount(space_.span())) {
    return Fail(Error::Kind::kLimit, 0, 1, "the results run over " + space_.text() + ", which is too large");
  }
  for (const int fixed : fixed_spaces_) {
    if (At(fixed).shape == space_) continue;
    return Fail(Error::Kind::kValue, fixed,
                Described(fixed) + " and contains indices, but the results run over " + space_.text());
  }
  if (axes_needed_ > space_.rank) {
    return Fail(Error::Kind::kIndex, *last_axis_,
                Written(*last_axis_) + " is the index along axis " + std::to_string(axes_needed_ - 1) +
                    ", but the results run over " + space_.text() + "; broadcast_to(..., shape) gives them a shape");
  }
  program_.space.assign(space_.span().begin(), space_.span().end());
  return true;
}

bool Checker::AddOutputs() {
  for (const NamedResult& result : results_) {
    if (!result.IsPart() && !AddOutput(result)) return false;
  }
  std::vector<const Signature*> signatures;
  for (const NamedInput& input : inputs_) signatures.push_back(&input.signature);
  if (builder_.Finish(program_, signatures)) return true;
  return Fail(Error::Kind::kLimit, 0, 1,
              "the expression needs more than " + std::to_string(kMaxNodes) + " operations; send it in parts");
}

bool Checker::AddOutput(const NamedResult& result) {
  if (program_.outputs.size() >= kMaxOutputs) {
    return Fail(Error::Kind::kLimit, result.offset, result.length,
                "there are more than " + std::to_string(kMaxOutputs) + " outputs");
  }
  Output output{.name = std::string(result.name), .axes = {}, .signature = {}};
  if (result.value.kind == Value::Kind::kReduction) {
    const PendingReduction& pending = reductions_[static_cast<std::size_t>(result.value.node)];
    if (!CheckRunsOverSpace(result, pending.argument) || !FinishReduction(pending, output)) return false;
  } else {
    if (!CheckRunsOverSpace(result, result.value)) return false;
    const Value& value = At(result.root);
    const DType dtype = value.weak == Weak::kNo ? value.dtype : DefaultDType(value.weak);
    output.node = As(result.root, dtype);
    if (output.node == kFailed) return false;
    output.signature = {.dtype = dtype, .shape = program_.space};
  }
  if (ByteSize(output.signature).value_or(kMaxArrayBytes + 1) > kMaxArrayBytes) {
    return Fail(Error::Kind::kLimit, result.root,
                output.name + " would be " + ToString(output.signature) + ", more than the " +
                    std::to_string(kMaxArrayBytes) + " bytes that an array may have");
  }
  program_.outputs.push_back(std::move(output));
  return true;
}

bool Checker::CheckRunsOverSpace(const NamedResult& result, const Value& value) {
  if (value.places || value.shape == space_) return true;
  return Fail(Error::Kind::kValue, result.offset, result.length,
              "outputs of one expression run over one shape, here " + space_.text() + ", but " +
                  std::string(result.name) + " runs over " + value.shape.text() + "; send them apart");
}

std::variant<Program, Error> Check(std::string_view text, std::span<const NamedInput> inputs,
                                   std::span<const Scalar> scalars) {
  const std::variant<Syntax, Error> parsed = Parse(text);
  if (const Error* const error = std::get_if<Error>(&parsed)) return *error;
  return Checker(text, std::get<Syntax>(parsed), inputs, scalars).Run();
}

}  // namespace hotplate::expression
