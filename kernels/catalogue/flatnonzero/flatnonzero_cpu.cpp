// Each block's positions are counted, then written behind those of the blocks before it. Scratch: the counts.
#include <utility>

#include "kernels/catalogue/flatnonzero/flatnonzero.h"
#include "kernels/catalogue/flatnonzero/flatnonzero_elements.h"
#include "kernels/devices/cpu/cpu_context.h"
#include "kernels/devices/device.h"
#include "kernels/families/axis.h"

namespace hotplate::flatnonzero {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 16;

std::size_t BlockCount(std::size_t n) { return (n + kBlock - 1) / kBlock; }

template <typename Elements>
std::uint64_t CountOf(const Elements& is_nonzero, std::size_t begin, std::size_t end) {
  std::uint64_t count = 0;
  for (std::size_t i = begin; i < end; ++i) count += is_nonzero(i) ? 1 : 0;
  return count;
}

template <typename Elements>
void Write(const Elements& is_nonzero, std::size_t begin, std::size_t end, std::int64_t* positions) {
  for (std::size_t i = begin; i < end; ++i) {
    if (is_nonzero(i)) *positions++ = static_cast<std::int64_t>(i);
  }
}

}  // namespace

MemoryPlan PlanCpu(const BoundCall& call) {
  return {.scratch_bytes = BlockCount(*ElementCount(call.Input("x").shape)) * sizeof(std::uint64_t)};
}

Outcome RunCpu(const Call& call, CpuContext& context) {
  const hotplate_array& x = call.InputArray("x");
  const std::size_t n = ExtentOf(x, "all").count;
  std::uint64_t* const counts = reinterpret_cast<std::uint64_t*>(call.scratch().data());
  std::int64_t* const positions = call.Output<std::int64_t>("positions").data();
  return WithElements(x, [&](const auto& is_nonzero) {
    const auto count = [=](std::size_t begin, std::size_t end) {
      counts[begin / kBlock] = CountOf(is_nonzero, begin, end);
    };
    if (n != 0 && !context.ParallelChunks(n, kBlock, count, {0, 0.4})) return Outcome::Cancelled();
    std::uint64_t all = 0;
    for (std::size_t block = 0; block < BlockCount(n); ++block) all += std::exchange(counts[block], all);
    const auto write = [=](std::size_t begin, std::size_t end) {
      Write(is_nonzero, begin, end, positions + counts[begin / kBlock]);
    };
    if (n != 0 && !context.ParallelChunks(n, kBlock, write, {0.4, 1})) return Outcome::Cancelled();
    call.SetSize("positions", all);
    return Outcome::Ok();
  });
}

}  // namespace hotplate::flatnonzero
