// Calls with arrays that have no elements, made from what the specs say: nobody has to think of them for a new kernel.
// Memory that is not there is null here: a sanitizer finds what is read, copied or, Clang's, computed from its address.
#pragma once

#include <string>
#include <vector>

#include "kernels/devices/device.h"
#include "tests/conformance/case.h"

namespace hotplate::conformance {

// Calls that the spec accepts, at least one array of each being empty: with every dtype and every choice, and with each
// size that can be 0, alone and together; what is not empty is all zeros. None where no size can be 0.
std::vector<Case> EmptyArrayCases(const KernelSpec& spec);

// Runs them all. The first that does not end well, or is not as the verifier has it, and what is wrong with it; empty
// where all is well. Data may be refused: zeros that stand for a matrix, say, beside the array that is empty.
std::string TroubleWithEmptyArrays(const KernelSuite& suite, const Device& device, Lane& lane);

}  // namespace hotplate::conformance
