// Why CUDA shows fewer devices than there are, or none, which it never says itself: CUDA_VISIBLE_DEVICES, and MIG.
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

// What of MIG keeps CUDA from a part of the node's GPUs, a sentence each: a GPU in MIG mode without instances; and
// where CUDA shows something (`shown`: its devices' UUIDs), the instances that are not among it: a process gets one at
// most. `text`: CUDA_VISIBLE_DEVICES, where it is set; what it does not name is hidden on purpose.
std::vector<std::string> WhatMigHides(const std::optional<std::string>& text, const std::vector<NvmlGpu>& gpus,
                                      const std::vector<std::string>& shown);

}  // namespace hotplate
