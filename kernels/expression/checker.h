// Walks a text's tree once, node by node, and asks what each is: a number, a part of an input, something computed. Its
// functions are in the files check*.cpp, by subject. Standard library only.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kernels/expression/check.h"
#include "kernels/expression/functions.h"
#include "kernels/expression/input_view.h"
#include "kernels/expression/node_builder.h"
#include "kernels/expression/number.h"
#include "kernels/expression/program.h"
#include "kernels/expression/promote.h"
#include "kernels/expression/syntax.h"

namespace hotplate::expression {

// The meaning of one node of the tree.
struct Value {
  enum class Kind : std::uint8_t {
    kNumber,     // `number`: the text writes it out
    kArray,      // `node` computes it
    kView,       // `view`: a part of an input that nothing was computed from yet
    kReduction,  // reductions_[node]
    kDType,      // `dtype`
    kPart,       // None, "...", a slice, a tuple, a named argument: whatever it is part of reads the tree
  };

  Kind kind = Kind::kPart;
  DType dtype = DType::kFloat64;
  Weak weak = Weak::kNo;  // of kArray: it was computed from scalars and numbers alone, by Python's operators
  bool places = false;    // it contains the index of a place, and so runs over the whole space
  int node = 0;
  int view = 0;  // in views_
  Number number = {};
  Extent shape = {};  // of kArray and kView

  static Value Of(const Number& number) { return {.kind = Kind::kNumber, .weak = number.kind, .number = number}; }
  static Value Array(int node, DType dtype, const Extent& shape, bool places) {
    return {.kind = Kind::kArray, .dtype = dtype, .places = places, .node = node, .shape = shape};
  }
  Typed typed() const { return {dtype, weak}; }
};

class Checker {
 public:
  Checker(std::string_view text, const Syntax& syntax, std::span<const NamedInput> inputs,
          std::span<const Scalar> scalars);

  std::variant<Program, Error> Run();

 private:
  // Functions that return bool are false, and those that return a number kFailed, when there is an error.
  static constexpr int kFailed = -1;

  struct PendingReduction {
    Reduction reduction = Reduction::kNone;
    int syntax = 0;  // of the call
    Value argument = {};
    std::optional<std::vector<std::int64_t>> axes;  // as given; nothing: all
    int axes_syntax = 0;
    int argument_syntax = 0;
    int node = 0;  // the argument, in the dtype that is accumulated in
    DType result = DType::kFloat64;
    bool keepdims = false;
    double ddof = 0;
    std::optional<DType> dtype;
  };

  // A statement's.
  struct NamedResult {
    std::string_view name;
    std::size_t offset = 0, length = 1;
    int root = 0;
    Value value = {};
    bool used = false;

    bool IsPart() const { return name.starts_with('_'); }
  };

  // check.cpp: names, statements, and the whole
  bool CheckGiven();
  bool CheckGivenName(const std::string& name, const char* what);
  bool Evaluate(int at);
  bool EvaluateName(int at);
  bool UnknownName(int at);
  bool FinishStatement(const Statement& statement, bool is_last);
  bool JoinSpace(const NamedResult& result);
  bool CheckUsed();
  bool AddOutputs();
  bool AddOutput(const NamedResult& result);
  bool CheckSpace();
  bool CheckRunsOverSpace(const NamedResult& result, const Value& value);

  // check_operators.cpp: promotion, casts and broadcasting
  bool Operate(int at, Operator op, std::span<const int> arguments, bool is_sign);
  bool OperateOnWeak(int at, Operator op, std::span<const int> arguments);
  // Comparisons of integers that no one dtype holds; false if it is none. NumPy compares the values.
  bool CompareApart(int at, Operator op, int left, int right, const Value& result, bool& is_apart);
  bool Choose(int at, std::span<const int> arguments);
  bool Clip(int at, std::span<const int> arguments);
  bool Round(int at, int argument);
  bool Convert(int at, int argument, DType dtype);
  // The node of a number or an array in the dtype, to which it can be promoted.
  int As(int argument, DType dtype);
  // A view becomes an array; numbers and arrays stay what they are, and everything else is refused.
  bool BecomeArray(int argument);
  // Gives `result` the shape of all.
  bool BroadcastArguments(int at, std::span<const int> arguments, Value& result);
  bool FailOperands(int at, Operator op, std::span<const int> arguments);

  // check_calls.cpp: functions that are not operators
  bool Call(int at);
  bool UnknownFunction(int at);
  bool CheckArguments(int at, std::size_t least, std::size_t most);
  bool BroadcastTo(int at, std::span<const int> arguments);
  bool IndexOf(int at, std::span<const int> arguments);
  bool IndexAlong(int at, int axis);
  std::optional<DType> DTypeArgument(int at);
  bool CheckShape(int at, std::span<const std::int64_t> shape);

  // check_reductions.cpp
  bool Reduce(int at, Reduction reduction, std::span<const int> arguments);
  bool ReadAxis(PendingReduction& pending, int at);
  bool FindReducedNode(PendingReduction& pending);
  bool ReadReductionOption(PendingReduction& pending, int at);
  bool FinishReduction(const PendingReduction& pending, Output& output);

  // check_parts.cpp: parts of inputs
  bool SubscriptOf(int at);
  bool ReadSubscript(int at, Subscript& subscript);
  bool ReadSlice(int at, Subscript& subscript);
  bool GatherFrom(int at, std::span<const int> indices);
  bool TransposeOf(int at, int operand, std::span<const int> axes);
  bool StridedOf(int at, std::span<const int> arguments);
  bool IsPartOfInput(int at, int operand, const std::string& what);
  // An integer that the text writes out, or a tuple of such.
  std::optional<std::int64_t> Integer(int at, const char* what);
  std::optional<std::vector<std::int64_t>> Integers(int at, const char* what);

  bool Fail(Error::Kind kind, std::size_t offset, std::size_t length, std::string message);
  bool Fail(Error::Kind kind, int at, std::string message);
  bool Fail(const ViewError& error, int at) { return Fail(error.kind, at, error.message); }
  // A node's text, cut.
  std::string Written(int at) const;
  std::string Described(int at) const;  // "x is [3, 4]"
  const SyntaxNode& Tree(int at) const { return syntax_.nodes[static_cast<std::size_t>(at)]; }
  Value& At(int at) { return values_[static_cast<std::size_t>(at)]; }
  const Value& At(int at) const { return values_[static_cast<std::size_t>(at)]; }

  std::string_view text_;
  const Syntax& syntax_;
  std::span<const NamedInput> inputs_;
  std::span<const Scalar> scalars_;
  std::vector<bool> input_used_, scalar_used_;

  NodeBuilder builder_;
  std::vector<Value> values_;  // by node of the tree
  std::vector<InputView> views_;
  std::vector<PendingReduction> reductions_;
  std::vector<NamedResult> results_;
  Extent space_;
  std::vector<int> fixed_spaces_;  // each broadcast_to that contains places: its shape has to be the space
  std::optional<int> last_axis_;   // the node of the tree with the largest axis that an index runs along
  int axes_needed_ = 0;            // by it
  Program program_;
  std::optional<Error> error_;
};

}  // namespace hotplate::expression
