#include "kernels/expression/promote.h"

#include <algorithm>

namespace hotplate::expression {
namespace {

bool IsSigned(DType dtype) { return dtype >= DType::kInt8 && dtype <= DType::kInt64; }
bool IsUnsigned(DType dtype) { return dtype >= DType::kUInt8 && dtype <= DType::kUInt64; }
bool IsBoolOrInteger(DType dtype) { return dtype == DType::kBool || IsInteger(dtype); }

// The smallest float that holds all of an integer's values, as far as NumPy cares: 8 bits in float16, 16 in float32,
// and 64 in float64.
DType FloatOf(DType dtype) {
  if (!IsBoolOrInteger(dtype)) return dtype;
  return SizeOf(dtype) == 1 ? DType::kFloat16 : SizeOf(dtype) == 2 ? DType::kFloat32 : DType::kFloat64;
}

DType SignedOfSize(std::size_t bytes) {
  return bytes == 1   ? DType::kInt8
         : bytes == 2 ? DType::kInt16
         : bytes == 4 ? DType::kInt32
         : bytes == 8 ? DType::kInt64
                      : DType::kFloat64;
}

DType LargerFloat(DType a, DType b) { return SizeOf(a) >= SizeOf(b) ? a : b; }

// A weak number beside a dtype leaves it alone if it is of the same kind or a lesser one.
DType PromoteWeak(DType dtype, Weak kind) {
  switch (kind) {
    case Weak::kNo:
    case Weak::kBool:
      return dtype;
    case Weak::kInt:
      return dtype == DType::kBool ? DType::kInt64 : dtype;
    case Weak::kFloat:
      return IsBoolOrInteger(dtype) ? DType::kFloat64 : dtype;
    case Weak::kComplex:
      if (IsComplex(dtype)) return dtype;
      return IsFloating(dtype) && SizeOf(dtype) <= 4 ? DType::kComplex64 : DType::kComplex128;
  }
  return dtype;
}

bool IsComparison(Operator op) { return op >= Operator::kEqual && op <= Operator::kGreaterEqual; }
bool IsOrdering(Operator op) { return op >= Operator::kLess && op <= Operator::kGreaterEqual; }

// Functions without a loop for integers take each argument to a float of its own before they look for a common dtype:
// arctan2(int8, uint8) is float16, though int8 and uint8 have int16 in common.
DType PromoteFloats(std::span<const Typed> arguments) {
  DType common = DType::kFloat16;
  Weak kind = Weak::kNo;
  bool all_integers = true, any_strong = false;
  for (const Typed& argument : arguments) {
    if (argument.weak != Weak::kNo) {
      kind = std::max(kind, argument.weak);
    } else {
      common = Promote(common, FloatOf(argument.dtype));
      all_integers = all_integers && IsBoolOrInteger(argument.dtype);
      any_strong = true;
    }
  }
  if (!any_strong || (all_integers && kind >= Weak::kInt)) return FloatOf(Promote(arguments));
  return PromoteWeak(common, kind);
}

}  // namespace

DType DefaultDType(Weak kind) {
  return kind == Weak::kBool    ? DType::kBool
         : kind == Weak::kInt   ? DType::kInt64
         : kind == Weak::kFloat ? DType::kFloat64
                                : DType::kComplex128;
}

Weak WeakOf(DType scalar) {
  return scalar == DType::kBool ? Weak::kBool : scalar == DType::kInt64 ? Weak::kInt : Weak::kFloat;
}

DType Promote(DType a, DType b) {
  if (a == b || b == DType::kBool) return a;
  if (a == DType::kBool) return b;
  if (IsComplex(a) || IsComplex(b)) {
    const DType parts = Promote(RealPart(a), RealPart(b));
    return FloatOf(parts) == DType::kFloat64 ? DType::kComplex128 : DType::kComplex64;
  }
  if (IsFloating(a) || IsFloating(b)) return LargerFloat(FloatOf(a), FloatOf(b));
  if (IsSigned(a) == IsSigned(b)) return SizeOf(a) >= SizeOf(b) ? a : b;
  const DType with_sign = IsSigned(a) ? a : b, without = IsUnsigned(a) ? a : b;
  return SizeOf(with_sign) > SizeOf(without) ? with_sign : SignedOfSize(2 * SizeOf(without));
}

DType Promote(std::span<const Typed> arguments) {
  std::optional<DType> common;
  Weak kind = Weak::kNo;
  for (const Typed& argument : arguments) {
    if (argument.weak != Weak::kNo) {
      kind = std::max(kind, argument.weak);
    } else {
      common = common ? Promote(*common, argument.dtype) : argument.dtype;
    }
  }
  return common ? PromoteWeak(*common, kind) : DefaultDType(kind);
}

std::optional<DType> OperandDType(Operator op, std::span<const Typed> arguments) {
  const Operands operands = RowOf(op).operands;
  if (operands == Operands::kBool) return DType::kBool;
  const bool floats = operands == Operands::kInexact || operands == Operands::kFloats;
  DType dtype = floats ? PromoteFloats(arguments) : Promote(arguments);
  switch (operands) {
    case Operands::kAny:
    case Operands::kInexact:
    case Operands::kBool:
      return dtype;
    case Operands::kNumbers:
      if (dtype == DType::kBool) return std::nullopt;
      return dtype;
    case Operands::kFloats:
    case Operands::kReal:
      if (IsComplex(dtype)) return std::nullopt;
      return dtype;
    case Operands::kIntegers:
      if (dtype == DType::kBool) return DType::kInt8;
      if (!IsInteger(dtype)) return std::nullopt;
      return dtype;
    case Operands::kBits:
      if (!IsBoolOrInteger(dtype)) return std::nullopt;
      return dtype;
    case Operands::kArithmetic:
    case Operands::kCountable:
      if (IsComplex(dtype) && operands == Operands::kCountable) return std::nullopt;
      return dtype == DType::kBool ? DType::kInt8 : dtype;
    case Operands::kQuotient:
      return IsBoolOrInteger(dtype) ? DType::kFloat64 : dtype;
    case Operands::kParts:
      if (IsComplex(dtype)) return std::nullopt;
      return dtype == DType::kFloat16 || dtype == DType::kFloat32 ? DType::kFloat32 : DType::kFloat64;
  }
  return std::nullopt;
}

DType ResultDType(Operator op, DType operand) {
  switch (RowOf(op).result) {
    case Result::kSame:
      return operand;
    case Result::kBool:
      return DType::kBool;
    case Result::kReal:
      return RealPart(operand);
    case Result::kComplex:
      return ComplexOf(operand);
  }
  return operand;
}

Weak WeakOperand(Operator op, std::span<const Weak> arguments) {
  const Weak kind = *std::ranges::max_element(arguments);
  if (op == Operator::kDivide) return std::max(kind, Weak::kFloat);
  const bool as_given = IsComparison(op) || RowOf(op).operands == Operands::kBits;
  return as_given ? kind : std::max(kind, Weak::kInt);
}

std::optional<Weak> WeakResult(Operator op, std::span<const Weak> arguments) {
  const Weak kind = WeakOperand(op, arguments);
  const Operands operands = RowOf(op).operands;
  const bool whole = operands == Operands::kBits || operands == Operands::kIntegers;
  if (whole && kind > Weak::kInt) return std::nullopt;
  const bool real = operands == Operands::kCountable || IsOrdering(op);
  if (real && kind == Weak::kComplex) return std::nullopt;
  if (RowOf(op).result == Result::kReal && kind == Weak::kComplex) return Weak::kFloat;
  return IsComparison(op) ? Weak::kBool : kind;
}

std::optional<ReducedDTypes> ReducedDTypesOf(Reduction reduction, DType dtype) {
  const auto wide = [](DType floating) { return floating == DType::kFloat16 ? DType::kFloat32 : floating; };
  switch (reduction) {
    case Reduction::kNone:
      return std::nullopt;
    case Reduction::kSum:
    case Reduction::kProd:
      if (IsUnsigned(dtype)) return ReducedDTypes{DType::kUInt64, DType::kUInt64};
      if (IsBoolOrInteger(dtype)) return ReducedDTypes{DType::kInt64, DType::kInt64};
      return ReducedDTypes{wide(dtype), dtype};
    case Reduction::kMean:
      if (IsBoolOrInteger(dtype)) return ReducedDTypes{DType::kFloat64, DType::kFloat64};
      return ReducedDTypes{wide(dtype), dtype};
    case Reduction::kVar:
    case Reduction::kStd:
      if (IsBoolOrInteger(dtype)) return ReducedDTypes{DType::kFloat64, DType::kFloat64};
      return ReducedDTypes{wide(dtype), RealPart(dtype)};
    case Reduction::kMin:
    case Reduction::kMax:
      if (IsComplex(dtype)) return std::nullopt;
      return ReducedDTypes{dtype, dtype};
    case Reduction::kArgMin:
    case Reduction::kArgMax:
      if (IsComplex(dtype)) return std::nullopt;
      return ReducedDTypes{dtype, DType::kInt64};
    case Reduction::kAny:
    case Reduction::kAll:
      return ReducedDTypes{DType::kBool, DType::kBool};
  }
  return std::nullopt;
}

}  // namespace hotplate::expression
