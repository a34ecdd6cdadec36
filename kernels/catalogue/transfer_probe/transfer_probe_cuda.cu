#include "kernels/catalogue/transfer_probe/probe_passes.h"
#include "kernels/catalogue/transfer_probe/transfer_probe.h"
#include "kernels/devices/cuda/code/launch.h"

namespace hotplate::transfer_probe {

// Device memory for the source, and for a copy that stays on the device.
std::uint64_t ScratchCuda(const Call& call, const CudaTraits&) {
  return 2 * RoundUp(static_cast<std::uint64_t>(call.Int("bytes")), kArenaAlignment);
}

Outcome RunCuda(const Call& call, CudaContext& context) {
  const auto bytes = static_cast<std::size_t>(call.Int("bytes"));
  const std::span<std::byte> pinned = context.pinned();
  std::byte* const from = call.scratch().data();
  std::byte* const to = from + RoundUp(bytes, kArenaAlignment);
  const auto copy = [&](void* target, const void* source, std::size_t count, cudaMemcpyKind kind) {
    return ToOutcome(cudaMemcpyAsync(target, source, count, kind, context.stream()), "copying");
  };
  const Outcome filled = ToOutcome(cudaMemsetAsync(from, 0x5a, bytes, context.stream()), "memset");
  if (!filled.ok()) return filled;
  double rates[std::size(kDirections)] = {};
  const Outcome measured = Measure(call, rates, [&](Direction direction) {
    if (context.CancelRequested()) return Outcome::Cancelled();
    const std::size_t piece = direction == kDeviceToDevice ? bytes : pinned.size();
    for (std::size_t begin = 0; begin < bytes; begin += piece) {
      const std::size_t count = std::min(piece, bytes - begin);
      const Outcome enqueued =
          direction == kHostToDevice   ? copy(from + begin, pinned.data(), count, cudaMemcpyHostToDevice)
          : direction == kDeviceToHost ? copy(pinned.data(), from + begin, count, cudaMemcpyDeviceToHost)
                                       : copy(to, from, count, cudaMemcpyDeviceToDevice);
      if (!enqueued.ok()) return enqueued;
    }
    return context.driver().Check(context.driver().cuStreamSynchronize(context.stream()), "copying");
  });
  if (!measured.ok()) return measured;
  // By way of memory that stays as it is until the copy is over.
  const std::span<double> out = call.Output<double>("rates");
  std::memcpy(pinned.data(), rates, out.size_bytes());
  return copy(out.data(), pinned.data(), out.size_bytes(), cudaMemcpyHostToDevice);
}

}  // namespace hotplate::transfer_probe
