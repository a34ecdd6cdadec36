// Tiny jobs run where they are submitted. Waking a lane's thread for a few additions, and being woken by it, takes ten
// times as long as the additions: so the submitting thread borrows an idle lane, runs the job on it with the same code
// as the lane's thread would, and gives it back. The thread is often one that serves calls and must not wait for a
// device; what it does here is no wait but a computation of a few tens of microseconds at most, as the kernel's cost
// model has it.
#include "server/core/engine_impl.h"

namespace hotplate::core {
namespace {

// At one operation a nanosecond, which a single thread of an old processor does, and a few GB/s.
constexpr double kTinyFlop = 20'000;
constexpr std::uint64_t kTinyBytes = 64 << 10;

}  // namespace

bool Engine::Impl::IsTiny(const Job& job) {
  // Inputs by path have to be read first.
  for (const BoundInput& input : job.bound.inputs) {
    if (input.buffer == nullptr) return false;
  }
  for (const DeviceNeed& need : job.bound.needs) {
    if (need.peak_bytes > kTinyBytes) return false;
  }
  const Cost cost = job.bound.call.spec->CostOf(job.bound.call);
  return cost.flop <= kTinyFlop && cost.bytes <= static_cast<double>(kTinyBytes);
}

Engine::Impl::LaneState* Engine::Impl::BorrowLane(Job& job, bool& cold) {
  if (queue_.size() != 1) return nullptr;  // those that wait go first
  DeviceState* device = LeastBusy(job.devices);
  if (device == nullptr || !device->device->info().any_thread || !Fits(*device, job)) return nullptr;
  // A kernel's first run here may load a library or start threads.
  const auto warm = device->warm.find(job.bound.call.spec);
  if (warm == device->warm.end() || !warm->second) return nullptr;

  // The only one in the queue, and it fits.
  queue_.Pop(device->index, /*hold=*/false, [](const QueueEntry&) { return true; });
  LaneState* lane = device->idle.back();
  device->idle.pop_back();
  lane->borrowed = true;
  cold = Start(*lane, job);
  return lane;
}

}  // namespace hotplate::core
