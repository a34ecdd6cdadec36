#include <cstring>

#include "kernels/catalogue/transfer_probe/probe_passes.h"
#include "kernels/catalogue/transfer_probe/transfer_probe.h"
#include "kernels/devices/cpu/cpu_context.h"
#include "kernels/devices/device.h"

namespace hotplate::transfer_probe {
namespace {

// Fewer bytes than this are copied by one thread: waking others takes as long.
constexpr std::size_t kSerialBelow = 262'144;

}  // namespace

// Where the bytes are, and where they go.
MemoryPlan PlanCpu(const BoundCall& call) {
  return {.scratch_bytes = 2 * static_cast<std::uint64_t>(call.Int("bytes"))};
}

Outcome RunCpu(const Call& call, CpuContext& context) {
  const auto bytes = static_cast<std::size_t>(call.Int("bytes"));
  std::byte* const from = call.scratch().data();
  std::byte* const to = from + bytes;
  // Memory that was never written is one page of zeros, which a cache holds.
  context.ParallelFor(bytes, kSerialBelow,
                      [=](std::size_t begin, std::size_t end) { std::memset(from + begin, 0x5a, end - begin); });
  return Measure(call, call.Output<double>("rates").data(), [&](Direction) {
    if (context.cancelled()) return Outcome::Cancelled();
    context.ParallelFor(bytes, kSerialBelow, [=](std::size_t begin, std::size_t end) {
      std::memcpy(to + begin, from + begin, end - begin);
    });
    return Outcome::Ok();
  });
}

}  // namespace hotplate::transfer_probe
