// Operators and casts: NumPy's promotion and broadcasting.
#include <algorithm>
#include <array>
#include <utility>

#include "kernels/expression/checker.h"

namespace hotplate::expression {
namespace {

bool IsSigned(DType dtype) { return dtype >= DType::kInt8 && dtype <= DType::kInt64; }
bool IsComparison(Operator op) { return op >= Operator::kEqual && op <= Operator::kGreaterEqual; }

// a op b is b Mirrored(op) a.
Operator Mirrored(Operator op) {
  switch (op) {
    case Operator::kLess:
      return Operator::kGreater;
    case Operator::kLessEqual:
      return Operator::kGreaterEqual;
    case Operator::kGreater:
      return Operator::kLess;
    case Operator::kGreaterEqual:
      return Operator::kLessEqual;
    default:
      return op;
  }
}

// The value of `x op y` when every x is less than y.
bool HoldsBelow(Operator op) {
  return op == Operator::kLess || op == Operator::kLessEqual || op == Operator::kNotEqual;
}

constexpr std::size_t kMostArguments = 3;

}  // namespace

bool Checker::BecomeArray(int argument) {
  Value& value = At(argument);
  switch (value.kind) {
    case Value::Kind::kNumber:
    case Value::Kind::kArray:
      return true;
    case Value::Kind::kView:
      if (value.dtype == DType::kBFloat16) {
        return Fail(Error::Kind::kType, argument,
                    Written(argument) + " is bfloat16, which NumPy lacks and expressions do too; send float32");
      }
      value.kind = Value::Kind::kArray;
      value.node = builder_.View(views_[static_cast<std::size_t>(value.view)], value.dtype);
      return true;
    case Value::Kind::kReduction: {
      const int call = reductions_[static_cast<std::size_t>(value.node)].syntax;
      const std::string name(Tree(call).text);
      if (call != argument) {
        return Fail(Error::Kind::kValue, argument,
                    Written(argument) + " is a reduction, " + name +
                        "(...), and has its value only when all is computed; use it in another expression");
      }
      return Fail(Error::Kind::kValue, argument,
                  name + "(...) has to be the whole of a statement; give it a name and use that in another expression");
    }
    case Value::Kind::kDType:
      return Fail(Error::Kind::kType, argument, Written(argument) + " is a dtype where a value is expected");
    case Value::Kind::kPart:
      break;
  }
  const bool is_tuple = Tree(argument).kind == SyntaxNode::Kind::kTuple;
  return Fail(Error::Kind::kType, argument,
              (is_tuple ? "a tuple" : "\"" + Written(argument) + "\"") + " stands where a value is expected");
}

int Checker::As(int argument, DType dtype) {
  const Value& value = At(argument);
  if (value.kind == Value::Kind::kNumber) {
    const std::variant<Constant, NumberError> constant = Converted(value.number, dtype);
    if (const NumberError* const error = std::get_if<NumberError>(&constant)) {
      Fail(error->kind, argument, error->message);
      return kFailed;
    }
    return builder_.Constant(std::get<Constant>(constant), dtype);
  }
  // A given number is converted once, not at every place.
  const bool is_given = value.weak != Weak::kNo && builder_.IsScalar(value.node);
  const bool loses = value.weak == Weak::kFloat && (IsInteger(dtype) || dtype == DType::kBool);
  if (is_given && !loses) return builder_.Scalar(builder_.leaf(value.node), dtype);
  const bool bounded = value.weak == Weak::kInt && IsInteger(dtype);
  return bounded ? builder_.Bounded(value.node, dtype) : builder_.Cast(value.node, dtype);
}

bool Checker::BroadcastArguments(int at, std::span<const int> arguments, Value& result) {
  result.kind = Value::Kind::kArray;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Value& value = At(arguments[i]);
    result.places = result.places || value.places;
    const std::optional<Extent> both = Broadcast(result.shape, value.shape);
    if (!both) {
      const auto misfit =
          std::ranges::find_if(arguments.first(i), [&](int other) { return !Broadcast(At(other).shape, value.shape); });
      return Fail(Error::Kind::kValue, at,
                  "shapes do not broadcast: " + Described(*misfit) + ", " + Described(arguments[i]));
    }
    result.shape = *both;
  }
  return true;
}

bool Checker::FailOperands(int at, Operator op, std::span<const int> arguments) {
  const std::string sign =
      Tree(at).kind == SyntaxNode::Kind::kCall ? std::string(Tree(at).text) : "\"" + std::string(Tree(at).text) + "\"";
  std::vector<std::string> dtypes;
  bool any_complex = false, any_bool = true, all_integers = true;
  for (const int argument : arguments) {
    const Value& value = At(argument);
    const DType dtype = value.weak == Weak::kNo ? value.dtype : DefaultDType(value.weak);
    any_complex = any_complex || IsComplex(dtype);
    any_bool = any_bool && dtype == DType::kBool;
    all_integers = all_integers && IsInteger(dtype);
    const std::string name(Name(dtype));
    if (std::ranges::find(dtypes, name) == dtypes.end()) dtypes.push_back(name);
  }
  std::string message = sign + " is not for " + dtypes.front() + (dtypes.size() > 1 ? " and " + dtypes.back() : "");
  const Operands operands = RowOf(op).operands;
  if (operands == Operands::kNumbers && any_bool) {
    message += op == Operator::kNegative   ? "; \"~\" and logical_not are"
               : op == Operator::kSubtract ? "; \"^\" and logical_xor are"
                                           : "";
  } else if (all_integers && dtypes.size() > 1) {
    message += ": no integer dtype holds both; cast one";
  } else if (any_complex && operands == Operands::kReal) {
    message += "; complex numbers have no order here, but real(x) and abs(x) have";
  }
  return Fail(Error::Kind::kType, at, std::move(message));
}

// Signs are Python's own operators, which compute with numbers before NumPy sees them.
bool Checker::Operate(int at, Operator op, std::span<const int> arguments, bool is_sign) {
  bool all_weak = true;
  for (const int argument : arguments) {
    if (!BecomeArray(argument)) return false;
    all_weak = all_weak && At(argument).weak != Weak::kNo;
  }
  if (op == Operator::kWhere) return Choose(at, arguments);
  // NumPy's real and imag are Python's for what is no array.
  const bool is_python = is_sign || op == Operator::kReal || op == Operator::kImag;
  if (all_weak && is_python) return OperateOnWeak(at, op, arguments);
  Value result;
  if (!BroadcastArguments(at, arguments, result)) return false;
  if (IsComparison(op)) {
    bool is_apart = false;
    if (!CompareApart(at, op, arguments[0], arguments[1], result, is_apart)) return false;
    if (is_apart) return true;
  }
  std::array<Typed, kMostArguments> typed;
  for (std::size_t i = 0; i < arguments.size(); ++i) typed[i] = At(arguments[i]).typed();
  const std::optional<DType> operand = OperandDType(op, std::span(typed).first(arguments.size()));
  if (!operand) return FailOperands(at, op, arguments);
  if (op == Operator::kPower && IsInteger(*operand)) {
    const Value& exponent = At(arguments[1]);
    if (exponent.kind == Value::Kind::kNumber && exponent.number.integer < 0) {
      return Fail(Error::Kind::kValue, at, "Integers to negative integer powers are not allowed.");
    }
  }
  std::array<int, 2> nodes = {};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    nodes[i] = As(arguments[i], *operand);
    if (nodes[i] == kFailed) return false;
  }
  result.dtype = ResultDType(op, *operand);
  result.node = arguments.size() == 1 ? builder_.Operate(op, {nodes[0]}, result.dtype)
                                      : builder_.Operate(op, {nodes[0], nodes[1]}, result.dtype);
  At(at) = result;
  return true;
}

bool Checker::OperateOnWeak(int at, Operator op, std::span<const int> arguments) {
  std::array<Weak, 2> kinds = {};
  std::array<Number, 2> numbers = {};
  bool all_numbers = true;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    kinds[i] = At(arguments[i]).weak;
    numbers[i] = At(arguments[i]).number;
    all_numbers = all_numbers && At(arguments[i]).kind == Value::Kind::kNumber;
  }
  // Python's integers become floats here.
  const bool divides = op == Operator::kPower && kinds[0] == Weak::kInt && kinds[1] == Weak::kInt &&
                       At(arguments[1]).kind == Value::Kind::kNumber && numbers[1].integer < 0;
  if (divides && !all_numbers) kinds[1] = Weak::kFloat;
  const std::span<const Weak> given = std::span(kinds).first(arguments.size());
  const std::optional<Weak> kind = WeakResult(op, given);
  if (!kind) return FailOperands(at, op, arguments);
  if (all_numbers) {
    const std::variant<Number, NumberError> number = Compute(op, std::span(numbers).first(arguments.size()));
    if (const NumberError* const error = std::get_if<NumberError>(&number)) {
      return Fail(error->kind, at, error->message);
    }
    At(at) = Value::Of(std::get<Number>(number));
    return true;
  }
  const DType operand = DefaultDType(WeakOperand(op, given));
  std::array<int, 2> nodes = {};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    nodes[i] = As(arguments[i], operand);
    if (nodes[i] == kFailed) return false;
  }
  const DType dtype = DefaultDType(*kind);
  const int node = arguments.size() == 1 ? builder_.Operate(op, {nodes[0]}, dtype)
                                         : builder_.Operate(op, {nodes[0], nodes[1]}, dtype);
  At(at) = Value::Array(node, dtype, {}, false);
  At(at).weak = *kind;
  return true;
}

bool Checker::CompareApart(int at, Operator op, int left, int right, const Value& result, bool& is_apart) {
  is_apart = true;
  // The array, and what it is compared with, on the right.
  if (At(left).weak != Weak::kNo) {
    std::swap(left, right);
    op = Mirrored(op);
  }
  if (At(left).weak == Weak::kNo && IsInteger(At(left).dtype)) {
    const Value& other = At(right);
    if (other.kind == Value::Kind::kNumber && other.weak == Weak::kInt) {
      // A number that the dtype cannot hold lies below or above all that it can.
      const int side = Side(other.number.integer, At(left).dtype);
      if (side != 0) {
        const bool holds = HoldsBelow(side > 0 ? op : Mirrored(op));
        At(at) = Value::Array(builder_.Constant({.integer = holds}, DType::kBool), DType::kBool, result.shape,
                              result.places);
        return true;
      }
    }
    // A number that is not known yet is compared as int64.
    const bool is_given = other.weak == Weak::kInt && other.kind == Value::Kind::kArray;
    const DType right_dtype = is_given ? DType::kInt64 : other.dtype;
    if (is_given || (other.weak == Weak::kNo && IsInteger(right_dtype))) {
      if (IsSigned(At(left).dtype)) {
        std::swap(left, right);
        op = Mirrored(op);
      }
      const auto dtype_of = [&](int side) { return At(side).weak == Weak::kNo ? At(side).dtype : DType::kInt64; };
      if (dtype_of(left) == DType::kUInt64 && IsSigned(dtype_of(right))) {
        // Below 0 the signed side is less than all that the other may be; elsewhere uint64 holds both.
        const int with_sign = As(right, DType::kInt64);
        const int zero = builder_.Constant({}, DType::kInt64);
        const int compared =
            builder_.Operate(op, {As(left, DType::kUInt64), builder_.Cast(with_sign, DType::kUInt64)}, DType::kBool);
        const bool holds_below = HoldsBelow(Mirrored(op));
        const int is_below =
            builder_.Operate(holds_below ? Operator::kLess : Operator::kGreaterEqual, {with_sign, zero}, DType::kBool);
        const int node =
            builder_.Operate(holds_below ? Operator::kBitOr : Operator::kBitAnd, {is_below, compared}, DType::kBool);
        At(at) = Value::Array(node, DType::kBool, result.shape, result.places);
        return true;
      }
      if (is_given) {
        const int node = builder_.Operate(op, {As(left, DType::kInt64), As(right, DType::kInt64)}, DType::kBool);
        At(at) = Value::Array(node, DType::kBool, result.shape, result.places);
        return true;
      }
    }
  }
  is_apart = false;
  return true;
}

bool Checker::Choose(int at, std::span<const int> arguments) {
  Value result;
  if (!BroadcastArguments(at, arguments, result)) return false;
  const std::array<Typed, 2> typed = {At(arguments[1]).typed(), At(arguments[2]).typed()};
  result.dtype = Promote(typed);
  const int condition = As(arguments[0], DType::kBool);
  const int chosen = As(arguments[1], result.dtype);
  if (chosen == kFailed) return false;
  const int otherwise = As(arguments[2], result.dtype);
  if (otherwise == kFailed) return false;
  result.node = builder_.Operate(Operator::kWhere, {condition, chosen, otherwise}, result.dtype);
  At(at) = result;
  return true;
}

// minimum(maximum(x, low), high), but in the dtype of all three, and without a bound that says None.
bool Checker::Clip(int at, std::span<const int> arguments) {
  const auto is_none = [&](int argument) { return Tree(argument).kind == SyntaxNode::Kind::kNone; };
  std::array<int, 3> given = {};
  std::size_t count = 0;
  for (const int argument : arguments) {
    if (count > 0 && is_none(argument)) continue;
    if (!BecomeArray(argument)) return false;
    given[count++] = argument;
  }
  const std::span<const int> all = std::span(given).first(count);
  Value result;
  if (!BroadcastArguments(at, all, result)) return false;
  std::array<Typed, 3> typed;
  for (std::size_t i = 0; i < count; ++i) typed[i] = At(all[i]).typed();
  // NumPy treats the first argument of clip as an array, even a number.
  if (typed[0].weak != Weak::kNo) typed[0] = {DefaultDType(typed[0].weak), Weak::kNo};
  const std::optional<DType> dtype = OperandDType(Operator::kMaximum, std::span(typed).first(count));
  if (!dtype) return FailOperands(at, Operator::kMaximum, all);
  result.dtype = *dtype;
  result.node = As(arguments[0], *dtype);
  if (result.node == kFailed) return false;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    if (is_none(arguments[i])) continue;
    const Value& bound = At(arguments[i]);
    // As NumPy does, a bound that the integer dtype cannot pass is left out, though the dtype cannot hold it.
    if (At(arguments[0]).weak == Weak::kNo && IsInteger(At(arguments[0]).dtype) && bound.weak == Weak::kInt &&
        bound.kind == Value::Kind::kNumber && Side(bound.number.integer, *dtype) == (i == 1 ? -1 : 1)) {
      continue;
    }
    const int node = As(arguments[i], *dtype);
    if (node == kFailed) return false;
    result.node = builder_.Operate(i == 1 ? Operator::kMaximum : Operator::kMinimum, {result.node, node}, *dtype);
  }
  At(at) = result;
  return true;
}

bool Checker::Round(int at, int argument) {
  if (!BecomeArray(argument)) return false;
  const Typed typed = At(argument).typed();
  const DType dtype = Promote(std::span(&typed, 1));
  if (!IsInteger(dtype)) return Operate(at, Operator::kRint, std::span(&argument, 1), /*is_sign=*/false);
  return Convert(at, argument, dtype);
}

bool Checker::Convert(int at, int argument, DType dtype) {
  if (!BecomeArray(argument)) return false;
  const Value& value = At(argument);
  if (dtype == DType::kBFloat16) return Fail(Error::Kind::kType, at, "expressions have no bfloat16; float32 holds it");
  const bool is_complex = value.weak == Weak::kNo ? IsComplex(value.dtype) : value.weak == Weak::kComplex;
  if (is_complex && !IsComplex(dtype) && dtype != DType::kBool) {
    return Fail(Error::Kind::kType, at,
                std::string(Name(dtype)) + " of a complex number loses its imaginary part; write real(x)");
  }
  Value result = Value::Array(As(argument, dtype), dtype, value.shape, value.places);
  if (result.node == kFailed) return false;
  At(at) = result;
  return true;
}

}  // namespace hotplate::expression
