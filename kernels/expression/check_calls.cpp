// Calls of functions: their arguments, and those that are no operators.
#include <algorithm>
#include <utility>

#include "kernels/base/nearest_names.h"
#include "kernels/expression/checker.h"

namespace hotplate::expression {
namespace {

std::string Count(std::size_t count) { return std::to_string(count) + (count == 1 ? " argument" : " arguments"); }

}  // namespace

bool Checker::CheckArguments(int at, std::size_t least, std::size_t most) {
  const std::span<const int> arguments = syntax_.ChildrenOf(Tree(at));
  const std::string name(Tree(at).text);
  for (const int argument : arguments) {
    if (Tree(argument).kind != SyntaxNode::Kind::kKeyword) continue;
    return Fail(Error::Kind::kType, argument,
                name + " has no argument by the name " + std::string(Tree(argument).text.substr(0, 40)));
  }
  if (arguments.size() >= least && arguments.size() <= most) return true;
  return Fail(Error::Kind::kType, at,
              name + " takes " +
                  (least == most             ? ""
                   : arguments.size() > most ? "at most "
                                             : "at least ") +
                  Count(arguments.size() > most ? most : least) + ", but " + std::to_string(arguments.size()) +
                  (arguments.size() == 1 ? " is given" : " are given"));
}

bool Checker::Call(int at) {
  using Kind = Function::Kind;
  const std::string_view name = Tree(at).text;
  const std::span<const int> arguments = syntax_.ChildrenOf(Tree(at));
  const Function* const function = FindFunction(name);
  if (function == nullptr) return UnknownFunction(at);
  switch (function->kind) {
    case Kind::kOperator: {
      const auto count = static_cast<std::size_t>(RowOf(function->op).arguments);
      return CheckArguments(at, count, count) && Operate(at, function->op, arguments, /*is_sign=*/false);
    }
    case Kind::kReduction:
      return Reduce(at, function->reduction, arguments);
    case Kind::kCast:
      return CheckArguments(at, 1, 1) && Convert(at, arguments[0], function->dtype);
    case Kind::kAstype: {
      if (!CheckArguments(at, 2, 2)) return false;
      const std::optional<DType> dtype = DTypeArgument(arguments[1]);
      return dtype && Convert(at, arguments[0], *dtype);
    }
    case Kind::kRound:
      return CheckArguments(at, 1, 1) && Round(at, arguments[0]);
    case Kind::kClip:
      return CheckArguments(at, 3, 3) && Clip(at, arguments);
    case Kind::kTranspose:
      return CheckArguments(at, 1, 1 + kMaxRank) && TransposeOf(at, arguments[0], arguments.subspan(1));
    case Kind::kStrided:
      return CheckArguments(at, 4, 4) && StridedOf(at, arguments);
    case Kind::kBroadcastTo:
      return CheckArguments(at, 2, 2) && BroadcastTo(at, arguments);
    case Kind::kIndex:
      return CheckArguments(at, 1, 1) && IndexOf(at, arguments);
  }
  return false;
}

bool Checker::UnknownFunction(int at) {
  const std::string name(Tree(at).text.substr(0, 60));
  const auto is_given = [&](const auto& given) { return given.name == name; };
  if (std::ranges::any_of(inputs_, is_given) || std::ranges::any_of(scalars_, is_given) ||
      std::ranges::any_of(results_, is_given)) {
    return Fail(Error::Kind::kType, at, name + " is no function; \"*\" multiplies, \"[\" takes a part");
  }
  const std::vector<std::string> nearest = NearestNames(name, FunctionNames());
  std::string message = "there is no function \"" + name + "\"";
  if (!nearest.empty()) message += "; nearest: " + Alternatives(nearest);
  return Fail(Error::Kind::kName, at, std::move(message));
}

std::optional<DType> Checker::DTypeArgument(int at) {
  const Value& value = At(at);
  if (value.kind != Value::Kind::kDType) {
    Fail(Error::Kind::kType, at, "\"" + Written(at) + "\" is no dtype; float32, int64 and so on are");
    return std::nullopt;
  }
  if (value.dtype == DType::kBFloat16) {
    Fail(Error::Kind::kType, at, "expressions have no bfloat16; float32 holds it");
    return std::nullopt;
  }
  return value.dtype;
}

bool Checker::BroadcastTo(int at, std::span<const int> arguments) {
  if (!BecomeArray(arguments[0])) return false;
  const std::optional<std::vector<std::int64_t>> shape = Integers(arguments[1], "a shape");
  if (!shape) return false;
  if (!CheckShape(arguments[1], *shape)) return false;
  const Extent extent = Extent::Of(*shape);
  Value value = At(arguments[0]);
  const std::optional<Extent> both = Broadcast(value.shape, extent);
  if (!both || *both != extent) {
    return Fail(Error::Kind::kValue, at, Described(arguments[0]) + " and does not broadcast to " + extent.text());
  }
  if (value.kind == Value::Kind::kNumber || value.weak != Weak::kNo) {
    const DType dtype = DefaultDType(value.weak);
    value = Value::Array(As(arguments[0], dtype), dtype, {}, false);
    if (value.node == kFailed) return false;
  }
  value.shape = extent;
  // An index runs over the space, whatever shape this has.
  if (value.places) fixed_spaces_.push_back(at);
  At(at) = value;
  return true;
}

bool Checker::CheckShape(int at, std::span<const std::int64_t> shape) {
  if (shape.size() > kMaxRank) {
    return Fail(
        Error::Kind::kLimit, at,
        "a shape of " + std::to_string(shape.size()) + " axes; at most " + std::to_string(kMaxRank) + " are possible");
  }
  if (std::ranges::any_of(shape, [](std::int64_t size) { return size < 0; })) {
    return Fail(Error::Kind::kValue, at, ToString(shape) + " is no shape; a size cannot be negative");
  }
  if (ElementCount(shape)) return true;
  return Fail(Error::Kind::kLimit, at, ToString(shape) + " is too large a shape");
}

bool Checker::IndexOf(int at, std::span<const int> arguments) {
  const std::optional<std::int64_t> axis = Integer(arguments[0], "an axis");
  if (!axis) return false;
  if (*axis < 0 || *axis >= static_cast<std::int64_t>(kMaxRank)) {
    return Fail(Error::Kind::kIndex, arguments[0],
                Written(arguments[0]) + " is no axis; that of an index is from 0 to " + std::to_string(kMaxRank - 1));
  }
  return IndexAlong(at, static_cast<int>(*axis));
}

bool Checker::IndexAlong(int at, int axis) {
  At(at) = Value::Array(builder_.Index(axis), DType::kInt64, {}, true);
  if (axis + 1 > axes_needed_) {
    axes_needed_ = axis + 1;
    last_axis_ = at;
  }
  return true;
}

}  // namespace hotplate::expression
