#include "kernels/expression/node_builder.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace hotplate::expression {
namespace {

bool IsUnsigned(DType dtype) { return dtype >= DType::kUInt8 && dtype <= DType::kUInt64; }

// The operator computes nothing: its result is its argument.
bool IsIdentity(Operator op, DType dtype) {
  const bool is_whole = dtype == DType::kBool || IsInteger(dtype);
  switch (op) {
    case Operator::kPositive:
      return true;
    case Operator::kReal:
    case Operator::kConjugate:
      return !IsComplex(dtype);
    case Operator::kAbsolute:
      return dtype == DType::kBool || IsUnsigned(dtype);
    case Operator::kFloor:
    case Operator::kCeil:
    case Operator::kTrunc:
      return is_whole;
    default:
      return false;
  }
}

Operator ForBools(Operator op) {
  switch (op) {
    case Operator::kAdd:
    case Operator::kMaximum:
    case Operator::kFmax:
      return Operator::kBitOr;
    case Operator::kMultiply:
    case Operator::kMinimum:
    case Operator::kFmin:
      return Operator::kBitAnd;
    case Operator::kInvert:
      return Operator::kLogicalNot;
    default:
      return op;
  }
}

// By bits: -0.0 is not 0.0, and NaN is NaN.
bool SameBits(const Constant& a, const Constant& b) {
  const auto same = [](double x, double y) {
    return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
  };
  return a.integer == b.integer && same(a.number.real(), b.number.real()) && same(a.number.imag(), b.number.imag());
}

bool SameNode(const Node& a, const Node& b) {
  return a.kind == b.kind && a.op == b.op && a.dtype == b.dtype && a.leaf == b.leaf && a.arguments == b.arguments &&
         SameBits(a.constant, b.constant);
}

std::uint64_t HashOf(const Node& node) {
  std::uint64_t hash = 0;
  const auto mix = [&](std::uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  };
  mix(static_cast<std::uint64_t>(node.kind) | static_cast<std::uint64_t>(node.op) << 8 |
      static_cast<std::uint64_t>(node.dtype) << 16 | static_cast<std::uint64_t>(node.leaf) << 32);
  for (const int argument : node.arguments) mix(static_cast<std::uint64_t>(argument));
  if (node.kind == Node::Kind::kConstant) {
    mix(static_cast<std::uint64_t>(node.constant.integer));
    mix(std::bit_cast<std::uint64_t>(node.constant.number.real()));
    mix(std::bit_cast<std::uint64_t>(node.constant.number.imag()));
  }
  return hash;
}

// Over the whole space: leading axes that the view lacks have the stride 0.
View Spread(const InputView& from, std::size_t rank) {
  View view{.input = from.input, .offset = from.offset, .strides = std::vector<std::int64_t>(rank)};
  const std::size_t missing = rank - static_cast<std::size_t>(from.shape.rank);
  std::copy_n(from.strides.begin(), from.shape.rank, view.strides.begin() + static_cast<std::ptrdiff_t>(missing));
  return view;
}

template <typename Leaf>
int PlaceOf(std::vector<Leaf>& all, Leaf leaf) {
  const auto found = std::ranges::find(all, leaf);
  if (found != all.end()) return static_cast<int>(found - all.begin());
  all.push_back(std::move(leaf));
  return static_cast<int>(all.size()) - 1;
}

// The nodes of a program, by what they are.
class NodeTable {
 public:
  NodeTable(std::vector<Node>& nodes, std::size_t most) : nodes_(nodes), slots_(std::bit_ceil(2 * most + 1), kEmpty) {}

  int PlaceOf(Node node) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = static_cast<std::size_t>(HashOf(node)) & mask;
    for (; slots_[slot] != kEmpty; slot = (slot + 1) & mask) {
      if (SameNode(nodes_[static_cast<std::size_t>(slots_[slot])], node)) return slots_[slot];
    }
    slots_[slot] = static_cast<int>(nodes_.size());
    nodes_.push_back(std::move(node));
    return slots_[slot];
  }

 private:
  static constexpr int kEmpty = -1;
  std::vector<Node>& nodes_;
  std::vector<int> slots_;
};

}  // namespace

int NodeBuilder::Add(Draft draft, std::span<const int> arguments) {
  draft.first_argument = static_cast<int>(arguments_.size());
  draft.arguments = static_cast<int>(arguments.size());
  arguments_.insert(arguments_.end(), arguments.begin(), arguments.end());
  nodes_.push_back(draft);
  return static_cast<int>(nodes_.size()) - 1;
}

int NodeBuilder::View(const InputView& view, DType dtype) {
  views_.push_back(view);
  return Add({.kind = Node::Kind::kView, .dtype = dtype, .leaf = static_cast<int>(views_.size()) - 1});
}

int NodeBuilder::Scalar(int scalar, DType dtype) {
  return Add({.kind = Node::Kind::kScalar, .dtype = dtype, .leaf = scalar});
}

int NodeBuilder::Constant(const expression::Constant& constant, DType dtype) {
  return Add({.kind = Node::Kind::kConstant, .dtype = dtype, .constant = constant});
}

int NodeBuilder::Index(int axis) { return Add({.kind = Node::Kind::kIndex, .dtype = DType::kInt64, .leaf = axis}); }

int NodeBuilder::Gather(int input, std::span<const int> indices, DType dtype) {
  return Add({.kind = Node::Kind::kGather, .dtype = dtype, .leaf = input}, indices);
}

int NodeBuilder::Cast(int node, DType dtype) {
  if (At(node).dtype == dtype) return node;
  const int arguments[] = {node};
  return Add({.kind = Node::Kind::kCast, .dtype = dtype}, arguments);
}

int NodeBuilder::Bounded(int node, DType dtype) {
  if (At(node).dtype == dtype) return node;
  const int arguments[] = {node};
  return Add({.kind = Node::Kind::kBounded, .dtype = dtype}, arguments);
}

int NodeBuilder::Operate(Operator op, std::initializer_list<int> arguments, DType result) {
  const int first = *arguments.begin();
  const DType operand = At(first).dtype;
  if (IsIdentity(op, operand)) return first;
  if (op == Operator::kImag && !IsComplex(operand)) return Constant({}, result);
  return Add({.kind = Node::Kind::kOperator,
              .op = operand == DType::kBool ? ForBools(op) : op,
              .dtype = result,
              .constant = {}},
             std::span(arguments.begin(), arguments.size()));
}

bool NodeBuilder::Finish(Program& program, std::span<const Signature* const> inputs) const {
  constexpr int kUnneeded = -1, kNeeded = -2;
  std::vector<int> places(nodes_.size(), kUnneeded);
  for (const Output& output : program.outputs) places[static_cast<std::size_t>(output.node)] = kNeeded;
  std::size_t needed = 0;
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    if (places[i] != kNeeded) continue;
    ++needed;
    for (const int argument : ArgumentsOf(nodes_[i])) places[static_cast<std::size_t>(argument)] = kNeeded;
  }
  program.nodes.reserve(std::min(needed, kMaxNodes));
  NodeTable table(program.nodes, needed);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (places[i] != kNeeded) continue;
    const Draft& draft = nodes_[i];
    Node node{.kind = draft.kind,
              .op = draft.op,
              .dtype = draft.dtype,
              .leaf = draft.leaf,
              .arguments = {},
              .constant = draft.constant};
    if (draft.kind == Node::Kind::kView) {
      node.leaf = PlaceOf(program.views, Spread(views_[static_cast<std::size_t>(draft.leaf)], program.space.size()));
    } else if (draft.kind == Node::Kind::kGather) {
      node.leaf =
          PlaceOf(program.gathers, {.input = draft.leaf, .shape = inputs[static_cast<std::size_t>(draft.leaf)]->shape});
    }
    node.arguments.reserve(static_cast<std::size_t>(draft.arguments));
    for (const int argument : ArgumentsOf(draft)) node.arguments.push_back(places[static_cast<std::size_t>(argument)]);
    places[i] = table.PlaceOf(std::move(node));
    if (program.nodes.size() > kMaxNodes) return false;
  }
  for (Output& output : program.outputs) output.node = places[static_cast<std::size_t>(output.node)];
  return true;
}

}  // namespace hotplate::expression
