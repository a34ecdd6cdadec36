// Parts of inputs: subscripts, transposes, strides, and elements at computed places.
#include <algorithm>
#include <limits>
#include <utility>

#include "kernels/expression/checker.h"

namespace hotplate::expression {
namespace {

// A slice's bound beyond int64 is as good as its largest.
std::int64_t Clamped(WideInteger value) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::clamp<WideInteger>(value, -kMost, kMost));
}

}  // namespace

std::optional<std::int64_t> Checker::Integer(int at, const char* what) {
  const Value& value = At(at);
  if (value.kind == Value::Kind::kNumber && value.weak == Weak::kInt) {
    if (Side(value.number.integer, DType::kInt64) == 0) return static_cast<std::int64_t>(value.number.integer);
    Fail(Error::Kind::kLimit, at, TextOf(value.number) + " is too large for " + what);
    return std::nullopt;
  }
  Fail(Error::Kind::kType, at,
       "\"" + Written(at) + "\" stands where " + what + " is expected: integers that the text writes out");
  return std::nullopt;
}

std::optional<std::vector<std::int64_t>> Checker::Integers(int at, const char* what) {
  std::vector<std::int64_t> integers;
  const bool is_tuple = Tree(at).kind == SyntaxNode::Kind::kTuple;
  const int alone[] = {at};
  for (const int item : is_tuple ? syntax_.ChildrenOf(Tree(at)) : std::span<const int>(alone)) {
    const std::optional<std::int64_t> integer = Integer(item, what);
    if (!integer) return std::nullopt;
    integers.push_back(*integer);
  }
  return integers;
}

bool Checker::IsPartOfInput(int at, int operand, const std::string& what) {
  const Value& value = At(operand);
  if (value.kind == Value::Kind::kView) return true;
  if (value.kind == Value::Kind::kReduction || value.kind == Value::Kind::kPart || value.kind == Value::Kind::kDType) {
    return BecomeArray(operand);
  }
  const bool is_number = value.weak != Weak::kNo;
  return Fail(Error::Kind::kType, at,
              "only inputs have " + what + "; " + Written(operand) +
                  (is_number ? " is a number" : " is computed, so take the parts of its inputs"));
}

bool Checker::SubscriptOf(int at) {
  const std::span<const int> children = syntax_.ChildrenOf(Tree(at));
  const int operand = children.front();
  const std::span<const int> items = children.subspan(1);
  if (!IsPartOfInput(at, operand, "subscripts")) return false;
  bool any_computed = false, all_indices = true;
  for (const int item : items) {
    const Value::Kind kind = At(item).kind;
    any_computed = any_computed || kind == Value::Kind::kArray || kind == Value::Kind::kView;
    all_indices =
        all_indices && (kind == Value::Kind::kArray || kind == Value::Kind::kView || kind == Value::Kind::kNumber);
  }
  if (any_computed) {
    if (all_indices) return GatherFrom(at, items);
    return Fail(Error::Kind::kIndex, at,
                "indices that are expressions do not go with slices, None or \"...\"; index(n) is the index along an "
                "axis");
  }
  std::vector<Subscript> subscripts(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!ReadSubscript(items[i], subscripts[i])) return false;
  }
  Value value = At(operand);
  InputView view = views_[static_cast<std::size_t>(value.view)];
  if (const std::optional<ViewError> error = Take(view, subscripts)) return Fail(*error, items[error->place]);
  value.view = static_cast<int>(views_.size());
  value.shape = view.shape;
  views_.push_back(view);
  At(at) = value;
  return true;
}

bool Checker::ReadSubscript(int at, Subscript& subscript) {
  switch (Tree(at).kind) {
    case SyntaxNode::Kind::kNone:
      subscript.kind = Subscript::Kind::kNewAxis;
      return true;
    case SyntaxNode::Kind::kEllipsis:
      subscript.kind = Subscript::Kind::kEllipsis;
      return true;
    case SyntaxNode::Kind::kSlice:
      return ReadSlice(at, subscript);
    default:
      break;
  }
  const Value& value = At(at);
  if (value.kind != Value::Kind::kNumber || value.weak != Weak::kInt) {
    return Fail(Error::Kind::kIndex, at,
                "only integers, slices (`:`), ellipsis (`...`), None and expressions of integers are valid indices");
  }
  subscript.index = Clamped(value.number.integer);
  return true;
}

bool Checker::ReadSlice(int at, Subscript& subscript) {
  subscript.kind = Subscript::Kind::kSlice;
  std::optional<std::int64_t>* const parts[] = {&subscript.begin, &subscript.end, &subscript.step};
  const std::span<const int> children = syntax_.ChildrenOf(Tree(at));
  for (std::size_t i = 0; i < children.size(); ++i) {
    if (Tree(children[i]).kind == SyntaxNode::Kind::kNone) continue;
    const Value& value = At(children[i]);
    if (value.kind != Value::Kind::kNumber || value.weak != Weak::kInt) {
      return Fail(Error::Kind::kType, children[i], "slice indices must be integers or None, written out in the text");
    }
    *parts[i] = Clamped(value.number.integer);
  }
  if (subscript.step != 0) return true;
  return Fail(Error::Kind::kValue, children[2], "slice step cannot be zero");
}

bool Checker::GatherFrom(int at, std::span<const int> indices) {
  const int operand = syntax_.ChildrenOf(Tree(at)).front();
  const Value& value = At(operand);
  const InputView& view = views_[static_cast<std::size_t>(value.view)];
  const Shape& shape = inputs_[static_cast<std::size_t>(view.input)].signature.shape;
  if (view != WholeInput(view.input, shape)) {
    return Fail(Error::Kind::kIndex, at,
                "indices that are expressions are for a whole input, and " + Written(operand) + " is a part");
  }
  if (indices.size() > shape.size()) {
    return Fail(Error::Kind::kIndex, indices.front(),
                "too many indices for array: array is " + std::to_string(shape.size()) + "-dimensional, but " +
                    std::to_string(indices.size()) + " were indexed");
  }
  if (indices.size() < shape.size()) {
    return Fail(Error::Kind::kIndex, at,
                Described(operand) + " and has to have an index for each of its axes, where one is an expression");
  }
  if (value.dtype == DType::kBFloat16) return BecomeArray(operand);
  std::vector<int> nodes;
  for (std::size_t axis = 0; axis < indices.size(); ++axis) {
    const int index = indices[axis];
    if (!BecomeArray(index)) return false;
    const Value& given = At(index);
    const DType dtype = given.weak == Weak::kNo ? given.dtype : DefaultDType(given.weak);
    if (dtype == DType::kBool) {
      return Fail(Error::Kind::kIndex, index,
                  Written(index) +
                      " is bool; how many elements a mask takes is not known before: write where(mask, x, "
                      "y)");
    }
    if (!IsInteger(dtype)) {
      return Fail(
          Error::Kind::kIndex, index,
          "arrays used as indices must be of integer type, and " + Written(index) + " is " + std::string(Name(dtype)));
    }
    if (given.kind == Value::Kind::kNumber &&
        (given.number.integer >= shape[axis] || given.number.integer < -shape[axis])) {
      return Fail(Error::Kind::kIndex, index,
                  "index " + TextOf(given.number) + " is out of bounds for axis " + std::to_string(axis) +
                      " with size " + std::to_string(shape[axis]));
    }
    nodes.push_back(As(index, DType::kInt64));
    if (nodes.back() == kFailed) return false;
  }
  Value result;
  if (!BroadcastArguments(at, indices, result)) return false;
  result.dtype = value.dtype;
  result.node = builder_.Gather(view.input, nodes, value.dtype);
  At(at) = result;
  return true;
}

bool Checker::TransposeOf(int at, int operand, std::span<const int> axes) {
  if (!IsPartOfInput(at, operand, "a transpose")) return false;
  std::vector<std::int64_t> order;
  for (const int axis : axes) {
    const std::optional<std::vector<std::int64_t>> given = Integers(axis, "an axis");
    if (!given) return false;
    order.insert(order.end(), given->begin(), given->end());
  }
  Value value = At(operand);
  InputView view = views_[static_cast<std::size_t>(value.view)];
  if (const std::optional<ViewError> error = Transpose(view, order)) {
    return Fail(*error, axes.size() > error->place ? axes[error->place] : axes.empty() ? at : axes.front());
  }
  value.view = static_cast<int>(views_.size());
  value.shape = view.shape;
  views_.push_back(view);
  At(at) = value;
  return true;
}

bool Checker::StridedOf(int at, std::span<const int> arguments) {
  if (!IsPartOfInput(at, arguments[0], "strides")) return false;
  Value value = At(arguments[0]);
  InputView view = views_[static_cast<std::size_t>(value.view)];
  const Shape& whole = inputs_[static_cast<std::size_t>(view.input)].signature.shape;
  if (view != WholeInput(view.input, whole)) {
    return Fail(Error::Kind::kValue, arguments[0],
                "strided is for a whole input, and " + Written(arguments[0]) + " is a part");
  }
  const std::optional<std::int64_t> offset = Integer(arguments[1], "an offset");
  if (!offset) return false;
  const std::optional<std::vector<std::int64_t>> shape = Integers(arguments[2], "a shape");
  if (!shape || !CheckShape(arguments[2], *shape)) return false;
  const std::optional<std::vector<std::int64_t>> strides = Integers(arguments[3], "a stride");
  if (!strides) return false;
  if (strides->size() != shape->size()) {
    return Fail(Error::Kind::kValue, arguments[3],
                std::to_string(strides->size()) + " strides for a shape of " + std::to_string(shape->size()) + " axes");
  }
  const auto elements = static_cast<std::int64_t>(*ElementCount(whole));
  if (const std::optional<ViewError> error = Stride(view, elements, *offset, Extent::Of(*shape), *strides)) {
    return Fail(*error, at);
  }
  value.view = static_cast<int>(views_.size());
  value.shape = view.shape;
  views_.push_back(view);
  At(at) = value;
  return true;
}

}  // namespace hotplate::expression
