// A Program as CUDA C++ for NVRTC. Standard library only.
//
// The text has no word of the user's: all names are made here. Sizes, offsets, strides, numbers and addresses are in a
// block of parameters, so that expressions of one form have one text, and one cubin. The form: operators and dtypes,
// axes after merging, strides that are 0 or 1, and whether 32 bits suffice for indices.
//
// The functions of the text, in the order in which they are launched; each takes (parameters, begin, end):
//   prepare      if there are checks: one thread
//   expression   if there are outputs that are no reductions: the places [begin, end), in blocks of kThreads
//   fold_0       one for each of `folds`: the pieces [begin, end) of outputs * splits, lanes threads to each; then
//   merge_0      if splits > 1: the outputs [begin, end), merge_lanes threads to each
//   explain      if there are checks: one thread
// Results have the same bits each time, for the same splits and lanes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/array/dtype.h"
#include "kernels/expression/program.h"

namespace hotplate::expression {

// 8 bytes of the block of parameters.
struct CudaSlot {
  enum class Kind : std::uint8_t {
    kValue,     // `value`
    kInput,     // address of inputs[index]
    kOutput,    // address of outputs[index]
    kScalar,    // scalars[index] as `dtype`, or its real part
    kTrouble,   // address of kTroubleWords
    kPartials,  // address of fold `index`'s outputs * splits * state_bytes
    kMeans,     // address of fold `index`'s means: outputs * means numbers of float64
    kLanes,
    kSplits,
    kMergeLanes,  // of fold `index`
  };
  Kind kind = Kind::kValue;
  int index = 0;
  DType dtype = DType::kFloat64;
  std::uint64_t value = 0;
};

// A pass over the space that makes reductions of the same axes.
struct CudaFold {
  std::uint64_t outputs = 1;  // elements of each result
  std::uint64_t count = 1;    // places that each is made of; 0 is possible
  bool inner = false;         // the innermost axis is one of those reduced
  std::uint64_t state_bytes = 0;
  int means = 0;  // numbers for each output that this pass writes for the next one (var and std)
};

// How a fold is spread over threads.
struct FoldGeometry {
  unsigned lanes = 1, merge_lanes = 1;  // powers of two, at most kThreads
  std::uint64_t splits = 1;
};

// A check of values that may fail.
struct CudaCheck {
  int gather = -1, axis = 0;  // an index outside; gather -1: an integer to a negative power
};

struct CudaText {
  static constexpr unsigned kThreads = 256;
  static constexpr std::uint64_t kTroubleWords = 3;  // the first place (all ones: none), number of the check, index
  static constexpr std::size_t kMostByValue = 4000;  // bytes of parameters; CUDA takes 4096
  static constexpr std::uint64_t kNoTrouble = ~std::uint64_t{0};

  std::string source;
  std::vector<CudaSlot> slots;
  // The parameters lie in device memory, and their address is passed.
  bool by_pointer = false;
  std::uint64_t places = 1;  // of the space
  bool each = false;         // there is the function `expression`
  unsigned per_thread = 1;   // places of it that a thread works on at a time
  std::vector<CudaFold> folds;
  std::vector<CudaCheck> checks;
  double operations = 1;  // of a place, to cut the work: 1 is a float64 addition, and the functions are about 50
};

CudaText PrintCuda(const Program& program);

// So that a device of so many multiprocessors is busy.
FoldGeometry GeometryOf(const CudaFold& fold, int multiprocessors);

// The bits of a number in its slot: as `dtype`, little-endian; the real part of a complex dtype.
std::uint64_t SlotBits(DType dtype, std::int64_t integer, double number, bool is_integer);

}  // namespace hotplate::expression
