// What is wrong with CUDA_VISIBLE_DEVICES, which CUDA itself never says: it shows fewer devices, or none.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/cuda/nvml.h"

namespace hotplate {

// One sentence, or nothing if CUDA takes the text whole. `gpus`: those of the node; nothing if they are not known, and
// then only the text's form is judged.
std::optional<std::string> WhatIsWrongWithVisibleDevices(const std::string& text,
                                                         const std::optional<std::vector<NvmlGpu>>& gpus);

}  // namespace hotplate
