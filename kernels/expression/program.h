// An expression that was parsed and checked: what the back-ends compute. Standard library only.
//
//   1. Parse turns a text into a tree of names, operators and numbers (parse.h), or says where it is wrong.
//   2. Check gives every node its dtype by NumPy 2's rules and the whole its shape (check.h): a Program, or an error.
//   3. A back-end computes the Program: a register machine on the CPU, one printed kernel on a GPU.
//
// A Program computes every node for each place of its space, an index per axis in C order. All inputs are read through
// views, which have the rank of the space; a broadcast axis has the stride 0.
#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/array/dtype.h"
#include "kernels/array/shape.h"
#include "kernels/expression/operators.h"

namespace hotplate::expression {

// Told in errors. A text that is longer, or nests deeper, is refused before it is parsed any further.
inline constexpr std::size_t kMaxTextBytes = 64 << 10;
inline constexpr std::size_t kMaxNodes = 1024;
inline constexpr int kMaxDepth = 200;
inline constexpr std::size_t kMaxInputs = 64, kMaxOutputs = 64;

// Elements of an input, as a function of the place: offset + sum of index[axis] * strides[axis], in elements of the
// input in C order. Never outside the input for any place of the space.
struct View {
  int input = 0;  // in the order in which the inputs were given
  std::int64_t offset = 0;
  std::vector<std::int64_t> strides;  // one to each axis of the space; may be negative or 0

  friend bool operator==(const View&, const View&) = default;
};

// A number that is the same at every place. Integers are in `integer` (uint64 by its bits), floats and complex numbers
// in `number`, a bool is the integer 0 or 1; the node's dtype says which.
struct Constant {
  std::int64_t integer = 0;
  std::complex<double> number = 0;

  friend bool operator==(const Constant&, const Constant&) = default;
};

struct Node {
  enum class Kind : std::uint8_t {
    kView,      // an element of views[leaf]
    kScalar,    // scalars[leaf], converted to dtype: the same at every place
    kConstant,  // constant
    kIndex,     // the place's index along axis `leaf`: int64
    kGather,    // the element of gathers[leaf] at the indices `arguments` (int64 each)
    kCast,      // arguments[0] as dtype
    kBounded,   // arguments[0], an int64 made of numbers alone, as dtype. Does not fit: an error; CUDA wraps around
    kOperator,  // op of the arguments
  };

  Kind kind = Kind::kConstant;
  Operator op = Operator::kAdd;
  // The type of the value. float16 is computed as float32 and rounded where it is stored or cast.
  DType dtype = DType::kFloat64;
  int leaf = 0;
  // Nodes before this one. All arguments of an operator have one dtype, its operand dtype, but for kWhere (the first is
  // bool). Check has put casts where they were needed.
  std::vector<int> arguments;
  Constant constant;

  friend bool operator==(const Node&, const Node&) = default;
};

// An input that is read at computed indices. A negative index counts from the end; one outside is an error that names
// the input, the index, the axis and its size.
struct Gather {
  int input = 0;
  Shape shape;  // the input's

  friend bool operator==(const Gather&, const Gather&) = default;
};

// A number by name that came with the call. It is weak, as Python's numbers are to NumPy 2, and so the kind of number,
// not its size, decides the dtypes of what it is combined with.
struct Scalar {
  std::string name;
  DType dtype = DType::kFloat64;  // as given: kBool, kInt64 or kFloat64

  friend bool operator==(const Scalar&, const Scalar&) = default;
};

enum class Reduction : std::uint8_t { kNone, kSum, kProd, kMin, kMax, kAny, kAll, kArgMin, kArgMax, kMean, kVar, kStd };

struct Output {
  std::string name;
  int node = 0;  // for a reduction: what is reduced, of the dtype that it is accumulated in
  Reduction reduction = Reduction::kNone;
  // The axes of the space that a reduction goes over, ascending. For kArgMin and kArgMax one, or all: the index
  // is then that of the space in C order.
  std::vector<int> axes;
  double ddof = 0;      // kVar, kStd: the divisor is the number of elements minus this
  Signature signature;  // of the result; without axes that were reduced, or with 1 for them

  friend bool operator==(const Output&, const Output&) = default;
};

struct Program {
  Shape space;
  std::vector<View> views;
  std::vector<Gather> gathers;
  std::vector<Scalar> scalars;  // those that the text names, in the order in which they were given
  std::vector<Node> nodes;      // each after its arguments; equal ones are one node; each is needed for an output
  std::vector<Output> outputs;  // all over the whole space

  friend bool operator==(const Program&, const Program&) = default;
};

}  // namespace hotplate::expression
