// Why CUDA shows fewer devices than there are, or none, which it never says itself: CUDA_VISIBLE_DEVICES, and MIG. And
// whether those that it shows are those that were meant.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/devices/nvml/nvml.h"

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

// What is open, by CUDA's index and by its UUID.
struct OpenGpu {
  int index = 0;
  std::string uuid;
};

// What there is to compare it with.
struct GivenGpus {
  std::optional<std::string> visible;  // CUDA_VISIBLE_DEVICES, where it is set
  bool bus_order = false;              // CUDA counts as the bus does, and so as NVML does (CUDA_DEVICE_ORDER)
  std::vector<int> slurm;              // Slurm's own numbers of the job's GPUs; empty: not known
};

// One that is open and seems not to have been given.
struct WrongGpu {
  int index = 0;
  std::string why;
  bool not_slurms = false;  // by no reading of Slurm's numbers is it one of them
};

// With a sentence that has both UUIDs, each device that is open and is another than CUDA_VISIBLE_DEVICES has in its
// place, or none of those that Slurm gave. What NVML cannot tell is left alone: an index while CUDA has its own order,
// or while there is MIG; numbers of Slurm's that are no index of a GPU, since a job may see its own GPUs alone. Such a
// number is an index on one site and a minor number on another: what fits better is told. CUDA_VISIBLE_DEVICES alone
// proves nothing: an MPS server that sees fewer GPUs counts those from 0.
std::vector<WrongGpu> WhatIsOpenInstead(const GivenGpus& given, const std::vector<NvmlGpu>& gpus,
                                        const std::vector<OpenGpu>& open);

}  // namespace hotplate
