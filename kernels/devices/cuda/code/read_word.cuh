// How many results there are, which only the device knows: the host waits for the number.
#pragma once

#include "kernels/devices/cuda/code/launch.h"

namespace hotplate {

// Waits for the stream and reads a number in device memory. `what`, for an error: "copy of the number of keys".
inline Outcome ReadWord(CudaContext& context, const std::uint64_t* word, const char* what, std::uint64_t& value) {
  const Outcome copied = ToOutcome(cudaMemcpyAsync(const_cast<std::uint64_t*>(context.host_words()), word, sizeof *word,
                                                   cudaMemcpyDeviceToHost, context.stream()),
                                   what);
  if (!copied.ok()) return copied;
  if (const Outcome o = context.Wait(); !o.ok()) return o;
  value = context.host_words()[0];
  return Outcome::Ok();
}

}  // namespace hotplate
