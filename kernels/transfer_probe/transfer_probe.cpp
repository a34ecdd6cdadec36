#include "kernels/transfer_probe/transfer_probe.h"

#include "kernels/spec.h"
#include "kernels/transfer_probe/probe_passes.h"

namespace hotplate::transfer_probe {
namespace {

// Each pass reads and writes every byte.
Cost CostOf(const BoundCall& call) {
  const double directions = call.Choice("direction") == "all" ? std::size(kDirections) : 1;
  return {.flop = 0, .bytes = directions * (kWarmPasses + kTimedPasses) * 2 * static_cast<double>(call.Int("bytes"))};
}

absl::Status Shapes(BoundCall& call) {
  const bool all = call.Choice("direction") == "all";
  call.outputs = {{.dtype = DType::kFloat64, .shape = {all ? static_cast<std::int64_t>(std::size(kDirections)) : 1}}};
  return absl::OkStatus();
}

}  // namespace

KernelSpecBuilder Spec() {
  std::vector<std::string> directions(std::begin(kDirections), std::end(kDirections));
  directions.emplace_back("all");
  return KernelSpecBuilder("transfer_probe", "how fast bytes are copied to, from and within the device, in GB/s")
      .Docs(
          "Copies so many bytes seven times in each direction asked for, and gives the median of the last five: 1e9 "
          "bytes copied a second count as 1, though a copy within a memory both reads and writes them there. A GPU "
          "copies from and to pinned memory in pieces of 4 MiB, as it does for jobs, whose arrays are also copied into "
          "that memory by the host; device_to_device is within one GPU. On the CPU, where arrays are used where they "
          "lie and no job copies anything, each direction is a memcpy by the job's threads. For the rate beyond caches "
          "ask for more bytes than they hold. What else runs on the device or the host at the time counts. Can be "
          "interrupted between two passes.")
      .Param({.name = "bytes",
              .type = ParamType::kInt,
              .default_value = std::int64_t{64} << 20,
              .minimum = 4096,
              .maximum = kMostBytes,
              .docs = "bytes of a pass"})
      .Param({.name = "direction",
              .type = ParamType::kChoice,
              .default_value = std::string("all"),
              .choices = directions,
              .docs = "all: host_to_device, device_to_host and device_to_device, in this order"})
      .Output("rates", "float64", "d", "GB/s of the one direction, or of all three")
      .CostModel("no FLOP; 14 * bytes for each direction: seven passes, each byte read and written", CostOf)
      .Numerics("a measurement, not deterministic; positive and finite")
      .SameBits(Determinism::kNever)
      .Shapes(Shapes)
      .Example("hotplate run transfer_probe --bytes 268435456 -o rates.npy");
}

}  // namespace hotplate::transfer_probe
