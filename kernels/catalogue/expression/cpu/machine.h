// The register machine: a Program as instructions over blocks of elements.
//
//   1. Compile cuts the Program into passes: all outputs that are reduced over the same axes, and those that are not
//      reduced with the first, are computed in one pass over the space.
//   2. A pass walks its places in blocks (geometry.h). For each block it runs its instructions: loads, loops (loops.h),
//      reads at computed indices; then it stores outputs and takes what is reduced into accumulators (accumulators.h).
//   3. Instructions whose value is the same in each block run once for each thread; those whose value is the same along
//      a line, once a line.
//
// Values are in slots. A slot is a register, a block of memory of the thread's own, or points into an array where the
// block's elements lie beside each other: such inputs are not copied, and such outputs are computed in place.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "kernels/catalogue/expression/cpu/accumulators.h"
#include "kernels/catalogue/expression/cpu/geometry.h"
#include "kernels/catalogue/expression/cpu/loops.h"
#include "kernels/expression/program.h"

namespace hotplate::expression {

// Elements of a block, and of a block where the registers would otherwise be larger than kRegisterBytes.
inline constexpr std::size_t kBlock = 256, kLeastBlock = 32;
inline constexpr std::size_t kRegisterBytes = std::size_t{1} << 20;

struct Instruction {
  enum class Kind : std::uint8_t {
    kLoop,            // loop(out, a, b, c)
    kLoad,            // out = the elements of arrays[leaf]
    kLocate,          // out = a * size + b for an axis of gathers[leaf], b an index that is checked; the first one: b
    kFetch,           // out = the elements of gathers[leaf] at a
    kCheckExponents,  // a: integers, of which none may be negative
    kCheckBounds,     // a: an int64, the same everywhere, that dtype has to hold
    kCheckDivisors,   // a: integers; a warning if one is 0. leaf: the Operator
  };

  Kind kind = Kind::kLoop;
  bool first = false;  // kLocate
  std::uint8_t element_bytes = 0;
  DType dtype = DType::kFloat64;  // of the checks
  int out = 0, a = 0, b = 0, c = 0;
  int leaf = 0, axis = 0;
  Loop loop = nullptr;
};

struct Array {
  enum class Kind : std::uint8_t { kInput, kIndex, kOutput };

  Kind kind = Kind::kInput;
  int index = 0;  // of the input or output
  std::uint8_t element_bytes = 0;
  Access access = {};
  bool adjacent = false;  // a block's elements lie beside each other
  int slot = -1;          // that points into it; -1: none
};

struct Splat {
  int slot = 0;
  int node = 0;  // kConstant or kScalar
};

struct Store {
  int array = 0, slot = 0;
  bool stream = false;
};

struct Folded {
  int output = 0, slot = 0;
  const Accumulator* accumulator = nullptr;
};

struct Pass {
  Geometry geometry;
  std::vector<Array> arrays = {};
  std::vector<Splat> splats = {};
  std::vector<Instruction> once = {}, per_line = {}, per_block = {};
  std::vector<Store> stores = {};
  std::vector<Folded> folds = {};
  std::vector<bool> is_register = {};  // of each slot
  std::size_t register_bytes = 0;      // of each register
  std::size_t weight = 1;              // of an element: about nanoseconds / 4
};

struct Machine {
  Program program;
  std::vector<Pass> passes;
};

// An error names the operator that this back-end lacks.
std::variant<Machine, std::string> Compile(Program program);

}  // namespace hotplate::expression
