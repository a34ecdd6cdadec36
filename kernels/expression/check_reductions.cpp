// Reductions: their options, their dtypes, and the axes that are left.
#include <algorithm>
#include <utility>

#include "kernels/expression/checker.h"

namespace hotplate::expression {
namespace {

bool TakesDType(Reduction reduction) { return reduction == Reduction::kSum || reduction == Reduction::kProd; }
bool TakesDdof(Reduction reduction) { return reduction == Reduction::kVar || reduction == Reduction::kStd; }
bool IsArg(Reduction reduction) { return reduction == Reduction::kArgMin || reduction == Reduction::kArgMax; }
bool IsExtreme(Reduction reduction) { return reduction == Reduction::kMin || reduction == Reduction::kMax; }

}  // namespace

// The axes are looked at when the space is known, which is the shape of what is reduced.
bool Checker::Reduce(int at, Reduction reduction, std::span<const int> arguments) {
  const std::string name(Tree(at).text);
  const auto is_keyword = [&](int argument) { return Tree(argument).kind == SyntaxNode::Kind::kKeyword; };
  const auto positional = static_cast<std::size_t>(std::ranges::find_if(arguments, is_keyword) - arguments.begin());
  if (positional == 0 || positional > 2) {
    return Fail(Error::Kind::kType, at,
                name + " reduces one array, along an axis; " + std::to_string(positional) +
                    (positional == 1 ? " argument without a name is given" : " arguments without a name are given"));
  }
  PendingReduction pending{.reduction = reduction, .syntax = at, .axes = {}, .dtype = {}};
  bool has_axis = false;
  if (positional == 2) {
    const Value::Kind kind = At(arguments[1]).kind;
    if (IsExtreme(reduction) && (kind == Value::Kind::kArray || kind == Value::Kind::kView)) {
      const std::string other = reduction == Reduction::kMin ? "minimum" : "maximum";
      return Fail(Error::Kind::kType, at, name + " reduces one array; " + other + "(x, y) takes two");
    }
    if (!ReadAxis(pending, arguments[1])) return false;
    has_axis = true;
  }
  std::vector<std::string_view> seen;
  if (has_axis) seen.push_back("axis");
  for (const int option : arguments.subspan(positional)) {
    if (std::ranges::find(seen, Tree(option).text) != seen.end()) {
      return Fail(Error::Kind::kType, option, std::string(Tree(option).text) + " is given twice");
    }
    seen.push_back(Tree(option).text);
    if (!ReadReductionOption(pending, option)) return false;
  }
  if (!BecomeArray(arguments[0])) return false;
  pending.argument = At(arguments[0]);
  pending.argument_syntax = arguments[0];
  Value& value = At(at);
  value.kind = Value::Kind::kReduction;
  value.node = static_cast<int>(reductions_.size());
  reductions_.push_back(std::move(pending));
  return FindReducedNode(reductions_.back());
}

bool Checker::ReadAxis(PendingReduction& pending, int at) {
  pending.axes_syntax = at;
  if (Tree(at).kind == SyntaxNode::Kind::kNone) return true;
  pending.axes = Integers(at, "an axis");
  if (!pending.axes) return false;
  if (IsArg(pending.reduction) && Tree(at).kind == SyntaxNode::Kind::kTuple) {
    return Fail(Error::Kind::kType, at, "argmin and argmax take one axis, or all without axis=");
  }
  if (!pending.axes->empty()) return true;
  return Fail(Error::Kind::kValue, at, "an empty tuple of axes reduces nothing");
}

bool Checker::ReadReductionOption(PendingReduction& pending, int at) {
  const std::string name(Tree(at).text.substr(0, 40));
  const int given = syntax_.ChildrenOf(Tree(at)).front();
  const Value& value = At(given);
  if (name == "axis") return ReadAxis(pending, given);
  if (name == "keepdims") {
    if (value.kind != Value::Kind::kNumber || value.weak != Weak::kBool) {
      return Fail(Error::Kind::kType, given, "keepdims is True or False");
    }
    pending.keepdims = value.number.integer != 0;
    return true;
  }
  if ((name == "ddof" || name == "correction") && TakesDdof(pending.reduction)) {
    if (value.kind != Value::Kind::kNumber || value.weak == Weak::kComplex) {
      return Fail(Error::Kind::kType, given, name + " is a number that the text writes out");
    }
    pending.ddof = value.weak == Weak::kFloat ? value.number.number.real() : static_cast<double>(value.number.integer);
    return true;
  }
  if (name == "dtype" && TakesDType(pending.reduction)) {
    pending.dtype = DTypeArgument(given);
    return pending.dtype.has_value();
  }
  return Fail(Error::Kind::kType, at,
              std::string(Tree(pending.syntax).text) + " has no argument by the name " + name + "; it has axis" +
                  (TakesDdof(pending.reduction)    ? ", keepdims and ddof"
                   : TakesDType(pending.reduction) ? ", keepdims and dtype"
                                                   : " and keepdims"));
}

// Converts the argument to the dtype that is accumulated in.
bool Checker::FindReducedNode(PendingReduction& pending) {
  const Value& argument = pending.argument;
  DType dtype = argument.weak == Weak::kNo ? argument.dtype : DefaultDType(argument.weak);
  std::optional<ReducedDTypes> reduced = ReducedDTypesOf(pending.reduction, dtype);
  if (!reduced) {
    return Fail(Error::Kind::kType, pending.syntax,
                std::string(Tree(pending.syntax).text) + " is not for " + std::string(Name(dtype)) +
                    "; complex numbers have no order here, but real(x) and abs(x) have");
  }
  if (pending.dtype) {
    const bool to_bool = *pending.dtype == DType::kBool;
    if (IsComplex(dtype) && !IsComplex(*pending.dtype) && !to_bool) {
      return Fail(Error::Kind::kType, pending.syntax,
                  std::string(Name(*pending.dtype)) + " of a complex number loses its imaginary part; write real(x)");
    }
    // The sum of bools as bools is whether there is any.
    if (to_bool) pending.reduction = pending.reduction == Reduction::kSum ? Reduction::kAny : Reduction::kAll;
    const bool is_half = *pending.dtype == DType::kFloat16;
    reduced = ReducedDTypes{is_half ? DType::kFloat32 : *pending.dtype, *pending.dtype};
    // Values are rounded to the dtype before they are added up.
    if (is_half && dtype != DType::kFloat16) {
      const int rounded = As(pending.argument_syntax, DType::kFloat16);
      pending.node = rounded == kFailed ? kFailed : builder_.Cast(rounded, DType::kFloat32);
      pending.result = DType::kFloat16;
      return pending.node != kFailed;
    }
  }
  pending.node = As(pending.argument_syntax, reduced->accumulator);
  pending.result = reduced->result;
  return pending.node != kFailed;
}

bool Checker::FinishReduction(const PendingReduction& pending, Output& output) {
  const int rank = space_.rank;
  std::vector<bool> is_reduced(static_cast<std::size_t>(rank), !pending.axes.has_value());
  for (std::int64_t axis : pending.axes.value_or(std::vector<std::int64_t>())) {
    if (rank == 0 && (axis == 0 || axis == -1)) continue;  // as NumPy allows
    if (axis < -rank || axis >= rank) {
      return Fail(Error::Kind::kValue, pending.axes_syntax,
                  "axis " + std::to_string(axis) + " is out of bounds for array of dimension " + std::to_string(rank));
    }
    if (axis < 0) axis += rank;
    if (is_reduced[static_cast<std::size_t>(axis)]) {
      return Fail(Error::Kind::kValue, pending.axes_syntax, "duplicate value in 'axis'");
    }
    is_reduced[static_cast<std::size_t>(axis)] = true;
  }
  output.reduction = pending.reduction;
  output.node = pending.node;
  output.ddof = pending.ddof;
  output.signature.dtype = pending.result;
  bool none_reduced = false;
  for (int axis = 0; axis < rank; ++axis) {
    const std::int64_t size = space_.sizes[static_cast<std::size_t>(axis)];
    if (is_reduced[static_cast<std::size_t>(axis)]) {
      output.axes.push_back(axis);
      none_reduced = none_reduced || size == 0;
      if (pending.keepdims) output.signature.shape.push_back(1);
    } else {
      output.signature.shape.push_back(size);
    }
  }
  const std::string name(Tree(pending.syntax).text);
  if (IsArg(pending.reduction) && none_reduced) {
    return Fail(Error::Kind::kValue, pending.syntax, "attempt to get " + name + " of an empty sequence");
  }
  if (IsExtreme(pending.reduction) && none_reduced) {
    return Fail(Error::Kind::kValue, pending.syntax,
                "zero-size array to reduction operation " +
                    std::string(pending.reduction == Reduction::kMin ? "minimum" : "maximum") +
                    " which has no identity");
  }
  return true;
}

}  // namespace hotplate::expression
