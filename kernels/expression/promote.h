// NumPy 2's promotion: the dtype in which an operator computes, and that of its result. Standard library only.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "kernels/array/dtype.h"
#include "kernels/expression/program.h"

namespace hotplate::expression {

// A number of Python's: its kind takes part in promotion, its size does not.
enum class Weak : std::uint8_t { kNo, kBool, kInt, kFloat, kComplex };

// An argument's type for promotion: a dtype, or a kind if `weak` is not kNo.
struct Typed {
  DType dtype = DType::kFloat64;
  Weak weak = Weak::kNo;
};

// bool, int64, float64 or complex128.
DType DefaultDType(Weak kind);
// The kind of a Scalar of dtype bool, int64 or float64.
Weak WeakOf(DType scalar);

// NumPy's promote_types. uint64 and a signed integer have float64 in common. Not of bfloat16, which NumPy lacks.
DType Promote(DType a, DType b);
// NumPy's result_type. With weak arguments alone it is the default dtype of the largest kind.
DType Promote(std::span<const Typed> arguments);

// The dtype that all arguments of a function are converted to; nothing where NumPy raises a TypeError. kWhere's
// condition is not among the arguments.
std::optional<DType> OperandDType(Operator op, std::span<const Typed> arguments);
DType ResultDType(Operator op, DType operand);

// The kind of a result of Python's own operators, as 2*3 has, and of real and imag; nothing where Python raises a
// TypeError. ~ of a bool is a bool here.
std::optional<Weak> WeakResult(Operator op, std::span<const Weak> arguments);
// The kind that Python converts the arguments of such an operator to.
Weak WeakOperand(Operator op, std::span<const Weak> arguments);

// The dtypes of a reduction. Nothing if there is no such reduction.
struct ReducedDTypes {
  DType accumulator = DType::kFloat64;
  DType result = DType::kFloat64;
};
std::optional<ReducedDTypes> ReducedDTypesOf(Reduction reduction, DType dtype);

}  // namespace hotplate::expression
