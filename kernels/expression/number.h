// The numbers that a text writes out, and Python's arithmetic on them: in 2*3*x, NumPy never sees the 2. Standard
// library only.
#pragma once

#include <complex>
#include <cstdint>
#include <span>
#include <string>
#include <variant>

#include "kernels/expression/check.h"
#include "kernels/expression/program.h"
#include "kernels/expression/promote.h"

namespace hotplate::expression {

// Python's integers have no bounds; these are refused from 2^64 on.
__extension__ using WideInteger = __int128;

struct Number {
  Weak kind = Weak::kInt;
  WideInteger integer = 0;          // kBool and kInt
  std::complex<double> number = 0;  // kFloat and kComplex

  static Number Bool(bool value) { return {Weak::kBool, value ? 1 : 0, 0}; }
  static Number Int(WideInteger value) { return {Weak::kInt, value, 0}; }
  static Number Float(double value) { return {Weak::kFloat, 0, value}; }
  static Number Complex(std::complex<double> value) { return {Weak::kComplex, 0, value}; }
};

struct NumberError {
  Error::Kind kind = Error::Kind::kValue;
  std::string message;
};

// The result of a Python operator, or of real or imag, of one or two numbers of kinds that it takes (WeakResult).
std::variant<Number, NumberError> Compute(Operator op, std::span<const Number> arguments);

// The number beside an array of the dtype. Its kind has to be one that `dtype` can have beside it, or lesser: integers
// are checked for the dtype's bounds, floats are rounded.
std::variant<Constant, NumberError> ConstantOf(const Number& number, DType dtype);

// The number as dtype(number) converts it: a float loses its fraction, and everything may become a bool.
std::variant<Constant, NumberError> Converted(const Number& number, DType dtype);

// The number in the words of an error.
std::string TextOf(const Number& number);

// Whether an integer lies below (-1), in (0) or above (1) the range of an integer dtype.
int Side(WideInteger integer, DType dtype);

}  // namespace hotplate::expression
