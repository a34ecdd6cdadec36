// The device functions that printed expressions call, as CUDA text in pieces. Standard library only; nothing of the
// CUDA Toolkit, neither here nor in the text: NVRTC's own functions are all that it calls, so that it compiles without
// headers, in 50 to 150 ms. Tests compile the same text for the host.
#pragma once

#include <string_view>

namespace hotplate::expression {

extern const std::string_view kPreludeTypes;      // always: Complex, bits, trouble
extern const std::string_view kPreludeIntegers;   // and bool
extern const std::string_view kPreludeFloats;     // float and double
extern const std::string_view kPreludeCasts;      // of floats to integers
extern const std::string_view kPreludeHalves;     // float16, which is computed as float
extern const std::string_view kPreludeBrains;     // bfloat16, the same
extern const std::string_view kPreludeComplex;    // arithmetic of complex numbers
extern const std::string_view kPreludeFunctions;  // their functions: exp, sqrt, arcsin; needs kPreludeComplex
extern const std::string_view kPreludeFolds;      // sums in two parts, extremes

}  // namespace hotplate::expression
