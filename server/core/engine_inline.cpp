// Tiny jobs run where they are submitted. Waking a lane's thread for a few additions, and being woken by it, takes ten
// times as long as the additions: so the submitting thread borrows an idle lane, runs the job on it with the same code
// as the lane's thread would, and gives it back. The thread is often one that serves calls and must not wait for a
// device; what it does here is no wait but a computation of some tens of microseconds at most. That takes a kernel that
// bounds its work: what gives no bound, or none that means anything, is the lanes' business. Other threads of their
// kind have to stay free meanwhile, so that few may be at it at a time, and none from inside an observer that it tells
// of such a job, whatever that submits: it would go on inside itself for as long as it likes.
#include <algorithm>
#include <thread>

#include "server/core/engine_impl.h"

namespace hotplate::core {
namespace {

// At one operation a nanosecond, which a single thread of an old processor does, and a few GB/s.
constexpr double kTinyWork = 20'000;
constexpr std::uint64_t kTinyBytes = 64 << 10;

thread_local bool running_here = false;

}  // namespace

bool Engine::Impl::IsRunningHere() { return running_here; }

// gRPC has a thread to every two processors for its connections, 2 to 16: half of them, then.
std::uint32_t Engine::Impl::ThreadsHere(const EngineOptions& options) {
  if (options.threads_in_submit != 0) return options.threads_in_submit;
  return std::clamp(std::thread::hardware_concurrency() / 4, 1U, 8U);
}

bool Engine::Impl::IsTiny(const Job& job) {
  // Inputs by path have to be read first.
  for (const BoundInput& input : job.bound.inputs) {
    if (input.buffer == nullptr) return false;
  }
  for (const BoundOutput& output : job.bound.outputs) {
    if (output.file != nullptr) return false;  // and outputs by path be written
  }
  for (const DeviceNeed& need : job.bound.needs) {
    if (need.peak_bytes > kTinyBytes) return false;
  }
  const std::optional<double> work = job.bound.call.spec->WorkBoundOf(job.bound.call);
  // Written so that NaN is not tiny. 0 is what a kernel says that forgot something.
  return work && *work > 0 && *work <= kTinyWork;
}

Engine::Impl::LaneState* Engine::Impl::BorrowLane(Job& job) {
  if (queue_.size() != 1) return nullptr;  // those that wait go first
  if (threads_here_.load() >= most_threads_here_) return nullptr;
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
  ++ran_here_;
  threads_here_.fetch_add(1);
  Start(*lane, job);
  return lane;
}

void Engine::Impl::RunHere(LaneState& lane, Job& job) {
  running_here = true;
  RunJob(lane, job, /*cold=*/false);
  running_here = false;
  threads_here_.fetch_sub(1);
}

}  // namespace hotplate::core
