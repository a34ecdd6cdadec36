#include "kernels/catalogue/expression/cpu/emit.h"

#include <algorithm>

namespace hotplate::expression {
namespace {

// The bytes of an element in a register.
std::size_t RegisterBytesOf(DType dtype) { return dtype == DType::kFloat16 ? sizeof(float) : SizeOf(dtype); }

bool IsSigned(DType dtype) { return dtype >= DType::kInt8 && dtype <= DType::kInt64; }

// Stores past the caches pay where memory is what a pass waits for. With exp(x) in it they took 1.2 times as long.
constexpr std::size_t kMostStreamedWeight = 8;

// About a quarter of a nanosecond each.
std::size_t WeightOf(Operator op, DType operands) {
  const bool function = (op >= Operator::kExp && op <= Operator::kArctanh) || op == Operator::kPower ||
                        op == Operator::kArctan2 || op == Operator::kHypot || op == Operator::kLogAddExp ||
                        op == Operator::kCbrt;
  if (IsComplex(operands)) return function || op == Operator::kSqrt || op == Operator::kAbsolute ? 200 : 4;
  if (op == Operator::kFloorDivide || op == Operator::kRemainder || op == Operator::kFmod) return 20;
  return function ? 8 : 1;
}

}  // namespace

Emitter::Emitter(const Program& program, Pass& pass, const std::vector<bool>& needed, const std::vector<int>& array_of)
    : program_(program), pass_(pass), array_of_(array_of), value_of_(program.nodes.size(), -1) {
  for (std::size_t i = 0; i < needed.size() && error_.empty(); ++i) {
    if (needed[i]) value_of_[i] = EmitNode(static_cast<int>(i));
  }
}

int Emitter::Make(Phase phase, std::size_t bytes) {
  values_.push_back({.phase = phase, .bytes = bytes});
  return static_cast<int>(values_.size()) - 1;
}

std::vector<Instruction>& Emitter::InstructionsOf(Phase phase) {
  return phase == kOnce ? pass_.once : phase == kLine ? pass_.per_line : pass_.per_block;
}

void Emitter::Emit(Phase phase, Instruction instruction) {
  std::vector<Instruction>& to = InstructionsOf(phase);
  if (phase == kBlockwise) {
    for (const int argument : {instruction.a, instruction.b, instruction.c}) {
      Value& value = At(argument);
      value.last_use = std::max(value.last_use, static_cast<int>(to.size()));
    }
  }
  to.push_back(instruction);
}

int Emitter::EmitLoop(Loop loop, std::size_t bytes, const std::vector<int>& arguments) {
  Phase phase = kOnce;
  for (const int argument : arguments) phase = std::max(phase, At(argument).phase);
  const int out = Make(phase, bytes);
  // The rest are arguments that the loop does not look at.
  const auto argument = [&](std::size_t i) { return i < arguments.size() ? arguments[i] : arguments.front(); };
  Emit(phase, {.kind = Instruction::Kind::kLoop,
               .out = out,
               .a = argument(0),
               .b = argument(1),
               .c = argument(2),
               .loop = loop});
  return out;
}

int Emitter::FromHalf(int raw) {
  const int value = EmitLoop(HalfFromBitsLoop, sizeof(float), {raw});
  At(value).on_grid = true;
  At(value).bits = raw;
  return value;
}

int Emitter::EmitNode(int node) {
  const Node& one = NodeOf(node);
  switch (one.kind) {
    case Node::Kind::kView:
    case Node::Kind::kIndex:
      return EmitLoad(node);
    case Node::Kind::kScalar:
    case Node::Kind::kConstant: {
      const int value = Make(kOnce, RegisterBytesOf(one.dtype));
      At(value).slot = NewSlot(true);
      At(value).on_grid = true;
      pass_.splats.push_back({.slot = At(value).slot, .node = node});
      return value;
    }
    case Node::Kind::kGather:
      return EmitGather(one);
    case Node::Kind::kCast:
    case Node::Kind::kBounded:
      return EmitCast(one);
    case Node::Kind::kOperator:
      return one.op == Operator::kPower ? EmitPower(one) : EmitOperator(one);
  }
  return -1;
}

Emitter::Phase Emitter::PhaseOf(const Array& array) const {
  const Geometry& geometry = pass_.geometry;
  const std::size_t last = static_cast<std::size_t>(geometry.rank) - 1;
  const auto& strides = array.access.strides;
  const bool line_only = std::all_of(strides.begin(), strides.begin() + static_cast<std::ptrdiff_t>(last),
                                     [](std::int64_t stride) { return stride == 0; });
  if (geometry.spanning) return line_only ? kOnce : kBlockwise;
  if (strides[last] != 0) return kBlockwise;
  return line_only ? kOnce : kLine;
}

int Emitter::EmitLoad(int node) {
  const int index = array_of_[static_cast<std::size_t>(node)];
  Array& array = pass_.arrays[static_cast<std::size_t>(index)];
  const Phase phase = PhaseOf(array);
  const int value = Make(phase, array.element_bytes);
  if (phase == kBlockwise && array.kind == Array::Kind::kInput && array.adjacent) {
    At(value).array = index;
    At(value).slot = array.slot = NewSlot(false);
  } else {
    Emit(phase, {.kind = Instruction::Kind::kLoad,
                 .element_bytes = array.element_bytes,
                 .out = value,
                 .a = value,
                 .b = value,
                 .c = value,
                 .leaf = index});
  }
  return NodeOf(node).dtype == DType::kFloat16 ? FromHalf(value) : value;
}

int Emitter::EmitGather(const Node& node) {
  int place = -1;
  for (std::size_t axis = 0; axis < node.arguments.size(); ++axis) {
    const int index = ValueOf(node.arguments[axis]);
    const int before = place >= 0 ? place : index;
    const Phase phase = std::max(At(index).phase, At(before).phase);
    place = Make(phase, sizeof(std::int64_t));
    Emit(phase, {.kind = Instruction::Kind::kLocate,
                 .first = axis == 0,
                 .out = place,
                 .a = before,
                 .b = index,
                 .c = index,
                 .leaf = node.leaf,
                 .axis = static_cast<int>(axis)});
  }
  const int value = Make(At(place).phase, SizeOf(node.dtype));
  Emit(At(place).phase, {.kind = Instruction::Kind::kFetch,
                         .element_bytes = static_cast<std::uint8_t>(SizeOf(node.dtype)),
                         .out = value,
                         .a = place,
                         .b = place,
                         .c = place,
                         .leaf = node.leaf});
  pass_.weight += 4 * node.arguments.size();
  return node.dtype == DType::kFloat16 ? FromHalf(value) : value;
}

int Emitter::Converted(int value, DType from, DType to) {
  if (from == DType::kBFloat16 || to == DType::kBFloat16) {
    if (from != to && error_.empty())
      error_ = "a cast from " + std::string(Name(from)) + " to " + std::string(Name(to));
    return value;
  }
  if (from == DType::kFloat16 && !At(value).on_grid) {
    value = EmitLoop(RoundToHalfLoop, sizeof(float), {value});
    At(value).on_grid = true;
  }
  if (from == to || (from == DType::kFloat16 && to == DType::kFloat32)) return value;
  value = EmitLoop(CastLoop(from, to), RegisterBytesOf(to), {value});
  At(value).on_grid = true;
  ++pass_.weight;
  return value;
}

int Emitter::EmitCast(const Node& node) {
  const int argument = node.arguments.front();
  if (node.kind == Node::Kind::kBounded) EmitCheck(Instruction::Kind::kCheckBounds, ValueOf(argument), node.dtype);
  return Converted(ValueOf(argument), NodeOf(argument).dtype, node.dtype);
}

int Emitter::EmitOperator(const Node& node) {
  const DType operands = NodeOf(node.arguments.back()).dtype;
  std::vector<int> arguments;
  for (const int argument : node.arguments) arguments.push_back(ValueOf(argument));
  const Loop loop = operands == DType::kBFloat16 ? nullptr : LoopFor(node.op, operands);
  if (loop == nullptr) {
    error_ = std::string(RowOf(node.op).name) + " of " + std::string(Name(operands));
    return arguments.front();
  }
  if (IsInteger(operands) &&
      (node.op == Operator::kFloorDivide || node.op == Operator::kRemainder || node.op == Operator::kFmod)) {
    CheckDivisors(node, operands);
  }
  pass_.weight += WeightOf(node.op, operands);
  return EmitLoop(loop, RegisterBytesOf(node.dtype), arguments);
}

// For the warning that NumPy gives.
void Emitter::CheckDivisors(const Node& node, DType dtype) {
  const Node& divisor = NodeOf(node.arguments[1]);
  if (divisor.kind == Node::Kind::kConstant && divisor.constant.integer != 0) return;
  EmitCheck(Instruction::Kind::kCheckDivisors, ValueOf(node.arguments[1]), dtype, static_cast<int>(node.op));
}

void Emitter::EmitCheck(Instruction::Kind kind, int value, DType dtype, int leaf) {
  Emit(At(value).phase, {.kind = kind, .dtype = dtype, .out = value, .a = value, .b = value, .c = value, .leaf = leaf});
}

// Constant exponents that have a better way, as in NumPy.
int Emitter::EmitPower(const Node& node) {
  const Node& exponent = NodeOf(node.arguments[1]);
  const DType dtype = exponent.dtype;
  const bool integers = IsInteger(dtype), constant = exponent.kind == Node::Kind::kConstant;
  if (IsSigned(dtype) && !(constant && exponent.constant.integer >= 0)) {
    EmitCheck(Instruction::Kind::kCheckExponents, ValueOf(node.arguments[1]), dtype);
  }
  if (!constant) return EmitOperator(node);
  const auto is = [&](double number) {
    return integers ? static_cast<double>(exponent.constant.integer) == number : exponent.constant.number == number;
  };
  const auto unary = [&](Operator op, int value) {
    pass_.weight += WeightOf(op, dtype);
    return EmitLoop(LoopFor(op, dtype), RegisterBytesOf(dtype), {value});
  };
  const int base = ValueOf(node.arguments[0]);
  if (is(1)) return base;
  if (is(2)) return unary(Operator::kSquare, base);
  if (is(3)) {
    ++pass_.weight;
    return EmitLoop(LoopFor(Operator::kMultiply, dtype), RegisterBytesOf(dtype),
                    {unary(Operator::kSquare, base), base});
  }
  if (!integers && is(0.5)) return unary(Operator::kSqrt, base);
  if (!integers && is(-1)) return unary(Operator::kReciprocal, base);
  return EmitOperator(node);
}

void Emitter::Keep(int output, bool stream) {
  if (!error_.empty()) return;
  const Output& one = program_.outputs[static_cast<std::size_t>(output)];
  DType dtype = NodeOf(one.node).dtype;
  int value = ValueOf(one.node);
  ++pass_.weight;
  if (one.reduction != Reduction::kNone) {
    // Any byte but 0 may lie in an array of bools for true.
    const bool compares = one.reduction == Reduction::kMin || one.reduction == Reduction::kMax ||
                          one.reduction == Reduction::kArgMin || one.reduction == Reduction::kArgMax;
    if (compares && dtype == DType::kBool) value = EmitLoop(CastLoop(DType::kUInt8, DType::kBool), 1, {value});
    const Accumulator* const accumulator = dtype == DType::kBFloat16 ? nullptr : AccumulatorFor(one.reduction, dtype);
    if (accumulator == nullptr) {
      error_ = "a reduction of " + std::string(Name(dtype));
      return;
    }
    At(value).last_use = kAlways;
    pass_.folds.push_back({.output = output, .slot = value, .accumulator = accumulator});
    return;
  }
  if (dtype == DType::kFloat16) {
    const int bits = At(value).bits;
    value = bits >= 0 ? bits : EmitLoop(HalfToBitsLoop, sizeof(std::uint16_t), {value});
  }
  const auto array = std::find_if(pass_.arrays.begin(), pass_.arrays.end(), [&](const Array& candidate) {
    return candidate.kind == Array::Kind::kOutput && candidate.index == output;
  });
  stream = stream && pass_.weight <= kMostStreamedWeight;
  if (At(value).phase == kBlockwise && At(value).slot < 0 && array->adjacent && !stream) {
    At(value).array = static_cast<int>(array - pass_.arrays.begin());
    At(value).slot = array->slot = NewSlot(false);
    return;
  }
  At(value).last_use = kAlways;
  pass_.stores.push_back({.array = static_cast<int>(array - pass_.arrays.begin()), .slot = value, .stream = stream});
}

int Emitter::NewSlot(bool is_register) {
  pass_.is_register.push_back(is_register);
  return static_cast<int>(pass_.is_register.size()) - 1;
}

void Emitter::AssignSlots() {
  std::size_t widest = 1;
  for (const Value& value : values_) widest = std::max(widest, value.bytes);
  pass_.register_bytes = (widest * pass_.geometry.block + 63) / 64 * 64;
  for (Value& value : values_) {
    if (value.phase != kBlockwise && value.slot < 0) value.slot = NewSlot(true);
  }
  AssignBlockwise();
  const auto to_slot = [&](int& value) { value = At(value).slot; };
  for (std::vector<Instruction>* instructions : {&pass_.once, &pass_.per_line, &pass_.per_block}) {
    for (Instruction& one : *instructions) to_slot(one.out), to_slot(one.a), to_slot(one.b), to_slot(one.c);
  }
  for (Store& store : pass_.stores) to_slot(store.slot);
  for (Folded& fold : pass_.folds) to_slot(fold.slot);
}

void Emitter::AssignBlockwise() {
  std::vector<bool> freed(values_.size());
  for (int i = 0; i < static_cast<int>(pass_.per_block.size()); ++i) {
    const Instruction& one = pass_.per_block[static_cast<std::size_t>(i)];
    Value& out = At(one.out);
    // An argument's register may be the result's if their elements are equally large; otherwise it is free only after.
    const auto free_arguments = [&](bool equal) {
      for (const int argument : {one.a, one.b, one.c}) {
        const Value& value = At(argument);
        if (argument == one.out || value.phase != kBlockwise || value.array >= 0 || value.last_use != i) continue;
        if (freed[static_cast<std::size_t>(argument)] || (equal && value.bytes != out.bytes)) continue;
        freed[static_cast<std::size_t>(argument)] = true;
        free_.push_back(value.slot);
      }
    };
    free_arguments(true);
    if (out.slot < 0) {
      if (free_.empty()) free_.push_back(NewSlot(true));
      out.slot = free_.back();
      free_.pop_back();
    }
    free_arguments(false);
  }
}

}  // namespace hotplate::expression
