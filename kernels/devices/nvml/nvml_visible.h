// Explains why CUDA shows fewer devices than exist, or none, which CUDA never does itself: CUDA_VISIBLE_DEVICES, and
// MIG. Also checks whether the shown devices are the intended ones.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/devices/nvml/nvml.h"

namespace hotplate {

// One sentence, or nothing if CUDA accepts the whole text. `gpus`: the node's; if they are not known, only the form of
// the text is judged.
std::optional<std::string> WhatIsWrongWithVisibleDevices(const std::string& text,
                                                         const std::optional<std::vector<NvmlGpu>>& gpus);

// Explains, a sentence each, how MIG hides a part of the node's GPUs from CUDA: a GPU in MIG mode without instances;
// and, if CUDA shows something (`shown`: its devices' UUIDs), the instances not among it: a process gets one at most.
// `text`: CUDA_VISIBLE_DEVICES, if set; devices that it omits are hidden on purpose.
std::vector<std::string> WhatMigHides(const std::optional<std::string>& text, const std::vector<NvmlGpu>& gpus,
                                      const std::vector<std::string>& shown);

// An open device, by CUDA's index and its UUID.
struct OpenGpu {
  int index = 0;
  std::string uuid;
};

// The devices that were meant, for comparison.
struct GivenGpus {
  std::optional<std::string> visible;  // CUDA_VISIBLE_DEVICES, if set
  bool bus_order = false;              // CUDA counts in bus order, and so like NVML (CUDA_DEVICE_ORDER)
  std::vector<int> slurm;              // Slurm's own numbers of the job's GPUs; empty: unknown
};

// An open device that seems not to have been given.
struct WrongGpu {
  int index = 0;
  std::string why;
  bool not_slurms = false;  // by no interpretation of Slurm's numbers is it one of them
};

// Each open device that differs from the one in its place in CUDA_VISIBLE_DEVICES, or is none of those that Slurm gave,
// with a sentence that has both UUIDs. Undecidable cases are left alone: an index while CUDA has its own order, or with
// MIG; and numbers of Slurm that are no index of a GPU, since a job may see only its own GPUs. Such a number is an
// index on one site and a minor number on another: the better fit is reported. CUDA_VISIBLE_DEVICES alone proves
// nothing: an MPS server that sees fewer GPUs counts those from 0.
std::vector<WrongGpu> WhatIsOpenInstead(const GivenGpus& given, const std::vector<NvmlGpu>& gpus,
                                        const std::vector<OpenGpu>& open);

}  // namespace hotplate
