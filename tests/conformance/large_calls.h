// A call of each kernel with 2^31 elements or more in some array: what its sizes do is seen without the memory for it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kernels/spec/spec.h"

namespace hotplate::conformance {

// More elements than an int counts; and a side whose square is more than 32 bits count.
inline constexpr std::int64_t kManyElements = (std::int64_t{1} << 31) + 4099, kLongSide = 65'537;

struct LargeCall {
  const char* kernel;
  std::map<std::string, ParamValue> params;
  std::map<std::string, Signature> inputs;
  Shape output;                            // the first one's
  std::uint64_t cpu_scratch, gpu_scratch;  // bytes: a plan has at least so many, and not many times more
};

// Of every kernel but those whose arrays are never large (integrate2d, transfer_probe).
std::vector<LargeCall> LargeCalls();

}  // namespace hotplate::conformance
