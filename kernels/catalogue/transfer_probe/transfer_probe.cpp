#include "kernels/catalogue/transfer_probe/transfer_probe.h"

#include "kernels/catalogue/transfer_probe/probe_passes.h"
#include "kernels/spec/spec.h"

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
  return KernelSpecBuilder("transfer_probe", "rates of copies to, from and within the device, in GB/s")
      .Docs(
          "Copies the bytes seven times in each direction and returns the median rate of the last five passes. 1 GB/s "
          "is 1e9 bytes copied per second, although a copy within one memory both reads and writes them there. A GPU "
          "copies from and to pinned memory in pieces of 4 MiB, as it does for jobs; for jobs, the host also copies "
          "arrays into that memory. device_to_device is within one GPU. On the CPU, where jobs use arrays in place, "
          "each direction is a memcpy by the threads of the job. To measure beyond the caches, ask for more bytes than "
          "they hold. Other work on the device or host at the time affects the result. A cancel takes effect between "
          "two passes.")
      .Param({.name = "bytes",
              .type = ParamType::kInt,
              .default_value = std::int64_t{64} << 20,
              .minimum = 4096,
              .maximum = kMostBytes,
              .docs = "bytes per pass"})
      .Param({.name = "direction",
              .type = ParamType::kChoice,
              .default_value = std::string("all"),
              .choices = directions,
              .docs = "all: host_to_device, device_to_host and device_to_device, in this order"})
      .Output("rates", "float64", "d", "GB/s in the chosen direction, or in all three")
      .CostModel("no FLOP; 14 * bytes per direction: seven passes, each byte read and written", CostOf)
      .Numerics("a measurement, not deterministic; positive and finite")
      .SameBits(Determinism::kNever)
      .Shapes(Shapes)
      .Example("hotplate run transfer_probe --bytes 268435456 -o rates.npy");
}

}  // namespace hotplate::transfer_probe
