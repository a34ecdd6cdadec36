#include "kernels/expression/cuda_text_nodes.h"

#include <algorithm>

namespace hotplate::expression {
namespace {

using Kind = Node::Kind;

std::string Text(std::size_t number) { return std::to_string(number); }

bool IsSigned(DType dtype) { return dtype >= DType::kInt8 && dtype <= DType::kInt64; }

bool IsFunction(Operator op) {
  return (op >= Operator::kSqrt && op <= Operator::kArctanh && op != Operator::kReciprocal) || op == Operator::kPower ||
         op == Operator::kArctan2 || op == Operator::kHypot || op == Operator::kLogAddExp;
}

}  // namespace

NodePrinter::NodePrinter(const Program& program, const CudaLayout& layout, CudaText& text)
    : program_(program), layout_(layout), text_(text) {
  double operations = 1;
  for (std::size_t i = 0; i < program.nodes.size(); ++i) {
    const Node& node = program.nodes[i];
    const int number = static_cast<int>(text.checks.size());
    uses_.insert(node.dtype);
    operations += node.kind == Kind::kOperator && IsFunction(node.op) ? (IsComplex(node.dtype) ? 300 : 50) : 2;
    if (node.kind == Kind::kGather) {
      checks_.push_back({static_cast<int>(i), number});
      for (int axis = 0; axis < static_cast<int>(node.arguments.size()); ++axis) {
        text.checks.push_back({.gather = node.leaf, .axis = axis});
      }
    } else if (IsCheckedPower(node)) {
      checks_.push_back({static_cast<int>(i), number});
      text.checks.push_back({});
    }
  }
  for (const Output& output : program.outputs) {
    uses_.insert(output.signature.dtype);
    if (output.reduction != Reduction::kNone) operations += 8;
  }
  text.operations = operations;
}

std::string NodePrinter::Slot(const std::string& name, const std::string& type, const CudaSlot& slot) {
  if (slots_.insert(name).second) {
    declarations_ += "  alignas(8) " + type + " " + name + ";\n";
    text_.slots.push_back(slot);
  }
  return "p." + name;
}

std::string NodePrinter::Size(int axis) {
  return Value("n" + std::to_string(axis), "U",
               static_cast<std::uint64_t>(layout_.sizes[static_cast<std::size_t>(axis)]));
}

std::string NodePrinter::PlaceStride(int axis) {
  return Value("q" + std::to_string(axis), "U64", layout_.place_strides[static_cast<std::size_t>(axis)]);
}

bool NodePrinter::UsesComplexFunctions() const {
  return std::any_of(program_.nodes.begin(), program_.nodes.end(), [this](const Node& node) {
    return node.kind == Kind::kOperator && IsFunction(node.op) && IsComplex(node.dtype);
  });
}

std::vector<bool> NodePrinter::Needed(const std::vector<int>& roots) const {
  std::vector<bool> needed(program_.nodes.size());
  for (const int root : roots) needed[static_cast<std::size_t>(root)] = true;
  for (std::size_t i = program_.nodes.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (const int argument : program_.nodes[i].arguments) needed[static_cast<std::size_t>(argument)] = true;
  }
  return needed;
}

std::vector<bool> NodePrinter::NeededByChecks() const {
  std::vector<int> roots;
  for (const Check& check : checks_) roots.push_back(check.node);
  return Needed(roots);
}

int NodePrinter::CountOf(const std::vector<bool>& wanted) const {
  return static_cast<int>(std::count(wanted.begin(), wanted.end(), true));
}

unsigned NodePrinter::ViewBytes(const std::vector<bool>& wanted) const {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] && program_.nodes[i].kind == Kind::kView) bytes += SizeOf(program_.nodes[i].dtype);
  }
  return static_cast<unsigned>(bytes);
}

std::vector<bool> NodePrinter::AxesOfViews(const std::vector<bool>& wanted, bool linear) const {
  std::vector<bool> used(layout_.sizes.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const Node& node = program_.nodes[i];
    if (!wanted[i] || node.kind != Kind::kView) continue;
    const auto view = static_cast<std::size_t>(node.leaf);
    if (linear && layout_.IsLinear(view)) continue;
    for (std::size_t axis = 0; axis < used.size(); ++axis) {
      if (layout_.strides[view][axis] != 0) used[axis] = true;
    }
  }
  return used;
}

std::vector<bool> NodePrinter::AxesOfIndices(const std::vector<bool>& wanted) const {
  std::vector<bool> used(layout_.sizes.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const Node& node = program_.nodes[i];
    if (!wanted[i] || node.kind != Kind::kIndex) continue;
    const int axis = layout_.axis_of[static_cast<std::size_t>(node.leaf)];
    if (axis >= 0) used[static_cast<std::size_t>(axis)] = true;
  }
  return used;
}

std::string NodePrinter::Coordinates(const std::string& indent, const std::vector<bool>& used) {
  const auto first = std::find(used.begin(), used.end(), true);
  if (first == used.end()) return "";
  const int last = static_cast<int>(used.size()) - 1, top = static_cast<int>(first - used.begin());
  std::string text = indent + "U rest = (U)at;\n";
  for (int axis = last; axis >= top; --axis) {
    const std::string c = "c" + std::to_string(axis);
    if (axis == 0) {
      text += indent + "const S c0 = (S)rest;\n";
      continue;
    }
    if (used[static_cast<std::size_t>(axis)]) text += indent + "const S " + c + " = (S)(rest % " + Size(axis) + ");\n";
    if (axis > top) text += indent + "rest /= " + Size(axis) + ";\n";
  }
  return text;
}

std::string NodePrinter::Walk(std::size_t view, const std::vector<bool>& axes) {
  std::string text;
  for (int axis = 0; axis < layout_.rank(); ++axis) {
    const std::int64_t stride = layout_.strides[view][static_cast<std::size_t>(axis)];
    if (!axes[static_cast<std::size_t>(axis)] || stride == 0) continue;
    text += " + c" + std::to_string(axis);
    if (stride == 1) continue;
    text += " * " + Value("s" + Text(view) + "_" + std::to_string(axis), "S", static_cast<std::uint64_t>(stride));
  }
  return text;
}

std::string NodePrinter::Base(std::size_t view, const std::vector<bool>& kept) {
  return Value("o" + Text(view), "S", static_cast<std::uint64_t>(program_.views[view].offset)) + Walk(view, kept);
}

std::string NodePrinter::ViewText(const Node& node, const NodeText& how) {
  const auto view = static_cast<std::size_t>(node.leaf);
  const int input = program_.views[view].input;
  const std::string memory = Slot("x" + std::to_string(input), std::string("const ") + MemoryType(node.dtype) + "*",
                                  {.kind = CudaSlot::Kind::kInput, .index = input});
  const std::vector<bool> all(layout_.sizes.size(), true);
  if (!how.bases.empty()) return "At(" + memory + " + (" + how.bases + Text(view) + Walk(view, how.walked) + "))";
  if (how.linear && layout_.IsLinear(view))
    return "At(" + memory + " + (" + Base(view, std::vector<bool>(all.size())) + " + (S)at))";
  return "At(" + memory + " + (" + Base(view, all) + "))";
}

std::string NodePrinter::DeclareLoads(const std::vector<bool>& wanted, unsigned count) const {
  std::string text;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i] || program_.nodes[i].kind != Kind::kView) continue;
    text += std::string("    ") + ValueType(program_.nodes[i].dtype) + " l" + Text(i) + "[" + std::to_string(count) +
            "];\n";
  }
  return text;
}

std::string NodePrinter::Loads(const std::vector<bool>& wanted, const NodeText& how) {
  std::string text;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i] || program_.nodes[i].kind != Kind::kView) continue;
    text += how.indent + "l" + Text(i) + "[u] = " + ViewText(program_.nodes[i], how) + ";\n";
  }
  return text;
}

bool NodePrinter::IsExact(int node) const { return At(node).kind != Kind::kOperator; }

bool NodePrinter::IsCheckedPower(const Node& node) const {
  if (node.kind != Kind::kOperator || node.op != Operator::kPower || !IsSigned(node.dtype)) return false;
  const Node& exponent = At(node.arguments[1]);
  return exponent.kind != Kind::kConstant || exponent.constant.integer < 0;
}

const NodePrinter::Check* NodePrinter::CheckOf(int node) const {
  const auto found =
      std::find_if(checks_.begin(), checks_.end(), [node](const Check& one) { return one.node == node; });
  return found == checks_.end() ? nullptr : &*found;
}

std::string NodePrinter::OperatorText(const Node& node) {
  const auto argument = [&](std::size_t i) { return Name(node.arguments[i]); };
  switch (node.op) {
    case Operator::kGreater:
      return "Less(" + argument(1) + ", " + argument(0) + ")";
    case Operator::kGreaterEqual:
      return "LessEqual(" + argument(1) + ", " + argument(0) + ")";
    case Operator::kNotEqual:
      return "!Equal(" + argument(0) + ", " + argument(1) + ")";
    case Operator::kLogicalAnd:
      return argument(0) + " && " + argument(1);
    case Operator::kLogicalOr:
      return argument(0) + " || " + argument(1);
    case Operator::kLogicalXor:
      return argument(0) + " != " + argument(1);
    case Operator::kLogicalNot:
      return "!" + argument(0);
    case Operator::kPositive:
      return argument(0);
    case Operator::kWhere:
      return argument(0) + " ? " + argument(1) + " : " + argument(2);
    default:
      break;
  }
  // Constant powers are short-cut as in NumPy: pow is slow, and rounds no better.
  if (node.op == Operator::kPower && At(node.arguments[1]).kind == Kind::kConstant) {
    const Constant& power = At(node.arguments[1]).constant;
    const bool floating = !IsInteger(node.dtype);
    const double number = floating ? power.number.real() : static_cast<double>(power.integer);
    if (power.number.imag() == 0) {
      if (number == 2) return "Square(" + argument(0) + ")";
      if (number == 1) return argument(0);
      if (floating && !IsComplex(node.dtype) && number == 0.5) return "Sqrt(" + argument(0) + ")";
      if (floating && number == -1) return "Reciprocal(" + argument(0) + ")";
    }
  }
  std::string text = FunctionOf(node.op);
  text += "(" + argument(0);
  for (std::size_t i = 1; i < node.arguments.size(); ++i) text += ", " + argument(i);
  return text + ")";
}

std::string NodePrinter::GatherText(int index, const NodeText& how) {
  const Node& node = At(index);
  const std::string name = std::to_string(index);
  const auto which = static_cast<std::size_t>(node.leaf);
  const Gather& gather = program_.gathers[which];
  const int first = CheckOf(index)->first;
  std::string text = how.indent + "bool ok" + name + " = true;\n", offset;
  for (std::size_t axis = 0; axis < node.arguments.size(); ++axis) {
    const std::string size =
        Value("g" + Text(which) + "_" + Text(axis), "I64", static_cast<std::uint64_t>(gather.shape[axis]));
    const std::string a = "a" + name + "_" + Text(axis);
    const std::string given = Name(node.arguments[axis]);
    text += how.indent + "const I64 " + a + " = Inside(" + given + ", " + size + ", ok" + name + ");\n";
    if (how.explain) {
      text += how.indent + "if (!ok" + name + ") { " + Trouble() +
              "[1] = " + std::to_string(first + static_cast<int>(axis)) + "; " + Trouble() + "[2] = (U64)" + given +
              "; return; }\n";
    }
    offset = axis == 0 ? a : "(" + offset + ") * " + size + " + " + a;
  }
  if (!how.explain) text += how.indent + "if (!ok" + name + ") Trouble(" + Trouble() + ", " + how.place + ");\n";
  const std::string memory =
      Slot("x" + std::to_string(gather.input), std::string("const ") + MemoryType(node.dtype) + "*",
           {.kind = CudaSlot::Kind::kInput, .index = gather.input});
  const std::string type = ValueType(node.dtype);
  text += how.indent + type + " " + Name(index) + " = " + type + "();\n";
  text += how.indent + "if (ok" + name + ") " + Name(index) + " = At(" + memory + " + (" +
          (offset.empty() ? "0" : offset) + "));\n";
  return text;
}

std::string NodePrinter::CheckPower(int index, const NodeText& how) {
  const Node& node = At(index);
  const std::string given = Name(node.arguments[1]), number = std::to_string(CheckOf(index)->first);
  const std::string then =
      how.explain ? "{ " + Trouble() + "[1] = " + number + "; " + Trouble() + "[2] = (U64)" + given + "; return; }"
                  : "Trouble(" + Trouble() + ", " + how.place + ");";
  return how.indent + "if (" + given + " < 0) " + then + "\n";
}

std::string NodePrinter::Compute(const std::vector<bool>& wanted, const NodeText& how) {
  std::string text;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i]) continue;
    const Node& node = program_.nodes[i];
    const int index = static_cast<int>(i);
    const std::string type = ValueType(node.dtype), k = "k" + Text(i);
    if (node.kind == Kind::kGather) {
      text += GatherText(index, how);
      continue;
    }
    if (CheckOf(index) != nullptr) text += CheckPower(index, how);
    std::string value;
    switch (node.kind) {
      case Kind::kView:
        value = how.loaded ? "l" + Text(i) + "[u]" : ViewText(node, how);
        break;
      case Kind::kScalar:
      case Kind::kConstant: {
        const bool scalar = node.kind == Kind::kScalar;
        const CudaSlot given{.kind = CudaSlot::Kind::kScalar, .index = node.leaf, .dtype = node.dtype};
        const Constant& constant = node.constant;
        const DType part = RealPart(node.dtype);
        const bool integer = !IsFloating(part);
        const CudaSlot real{.value = SlotBits(part, constant.integer, constant.number.real(), integer)};
        value = Slot(k, ValueType(part), scalar ? given : real);
        if (IsComplex(node.dtype)) {
          const std::uint64_t imaginary =
              scalar ? SlotBits(part, 0, 0, false) : SlotBits(part, 0, constant.number.imag(), false);
          value = "Pair(" + value + ", " + Value(k + "i", ValueType(part), imaginary) + ")";
        }
        break;
      }
      case Kind::kIndex: {
        const int axis = layout_.axis_of[static_cast<std::size_t>(node.leaf)];
        value = axis < 0 ? "0" : "(I64)c" + std::to_string(axis);
        break;
      }
      case Kind::kCast:
      case Kind::kBounded:  // not checked here
        value = CastText(At(node.arguments[0]).dtype, node.dtype, Name(node.arguments[0]), IsExact(node.arguments[0]));
        break;
      default:
        value = OperatorText(node);
    }
    text += how.indent + "const " + type + " " + Name(index) + " = " + value + ";\n";
  }
  return text;
}

std::string NodePrinter::Store(int output, const std::string& at) {
  const Output& out = program_.outputs[static_cast<std::size_t>(output)];
  const DType from = At(out.node).dtype, to = out.signature.dtype;
  const std::string memory = Slot("y" + std::to_string(output), std::string(MemoryType(to)) + "*",
                                  {.kind = CudaSlot::Kind::kOutput, .index = output});
  // Put rounds a float16.
  const std::string value = from == to ? Name(out.node) : CastText(from, to, Name(out.node), IsExact(out.node));
  return "Put(" + memory + " + " + at + ", " + value + ");\n";
}

}  // namespace hotplate::expression
