// The instructions of a pass, and the slots of their values.
#pragma once

#include <string>
#include <vector>

#include "kernels/catalogue/expression/cpu/machine.h"

namespace hotplate::expression {

// Goes through the nodes once and emits instructions on values; then gives each value a slot. Registers of values that
// are no longer needed are used again.
class Emitter {
 public:
  Emitter(const Program& program, Pass& pass, const std::vector<bool>& needed, const std::vector<int>& array_of);

  // Stores or folds an output.
  void Keep(int output, bool stream);
  // Names an operator that has no loop; empty if all have one.
  const std::string& error() const { return error_; }
  void AssignSlots();

 private:
  // How often a value is made.
  enum Phase { kOnce, kLine, kBlockwise };
  struct Value {
    Phase phase = kOnce;
    std::size_t bytes = 0;  // of an element
    int last_use = -1;      // the instruction of per_block; kAlways if it is needed to the end
    int array = -1;         // where it lies, in place
    int slot = -1;
    bool on_grid = false;  // of float16: rounded
    int bits = -1;         // of float16: the value that has its bits, if it was read
  };
  static constexpr int kAlways = 1 << 30;

  Value& At(int value) { return values_[static_cast<std::size_t>(value)]; }
  const Node& NodeOf(int node) const { return program_.nodes[static_cast<std::size_t>(node)]; }
  int ValueOf(int node) const { return value_of_[static_cast<std::size_t>(node)]; }

  int Make(Phase phase, std::size_t bytes);
  // Emits an instruction whose slots are values as yet.
  void Emit(Phase phase, Instruction instruction);
  int EmitLoop(Loop loop, std::size_t bytes, const std::vector<int>& arguments);
  int EmitNode(int node);
  int EmitLoad(int node);
  int EmitGather(const Node& node);
  int EmitCast(const Node& node);
  int EmitOperator(const Node& node);
  int EmitPower(const Node& node);
  void CheckDivisors(const Node& node, DType dtype);
  void EmitCheck(Instruction::Kind kind, int value, DType dtype, int leaf = 0);
  // The value of a node of this dtype as what a cast to `dtype` makes of it.
  int Converted(int value, DType from, DType to);
  int FromHalf(int raw);

  Phase PhaseOf(const Array& array) const;
  std::vector<Instruction>& InstructionsOf(Phase phase);
  int NewSlot(bool is_register);
  void AssignBlockwise();

  const Program& program_;
  Pass& pass_;
  const std::vector<int>& array_of_;
  std::vector<Value> values_;
  std::vector<int> value_of_;  // of each node
  std::vector<int> free_;      // slots of registers
  std::string error_;
};

}  // namespace hotplate::expression
