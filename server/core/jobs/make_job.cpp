#include "server/core/jobs/make_job.h"

#include <algorithm>
#include <utility>

#include "server/core/run/outside_work.h"

namespace hotplate::core {
namespace {

// At one operation a nanosecond, which a single thread of an old processor does, and a few GB/s.
constexpr double kTinyWork = 20'000;
constexpr std::uint64_t kTinyBytes = 64 << 10;

// It may run on the thread that submits it, which is no place for what gives no bound of its work, or none that means
// anything.
bool IsTiny(const BoundJob& job) {
  // Inputs by path have to be read first, and those on a device to be fetched.
  for (const BoundInput& input : job.inputs) {
    if (input.buffer == nullptr || input.buffer->absent()) return false;
  }
  for (const BoundOutput& output : job.outputs) {
    if (output.file != nullptr) return false;  // and outputs by path be written
  }
  for (const DeviceNeed& need : job.needs) {
    if (need.peak_bytes > kTinyBytes) return false;
  }
  const std::optional<double> work = job.call.spec->WorkBoundOf(job.call);
  // Written so that NaN is not tiny. 0 is what a kernel says that forgot something.
  return work && *work > 0 && *work <= kTinyWork;
}

bool IsBound(const BoundJob& job) { return job.call.spec != nullptr; }

// The most that its results may have inline.
std::uint64_t MostInlineBytes(const BoundJob& job, std::uint64_t inline_bytes) {
  if (!IsBound(job)) return inline_bytes;
  std::uint64_t bytes = 0;
  bool at_most = false;
  for (std::size_t i = 0; i < job.outputs.size(); ++i) {
    if (job.outputs[i].stays()) continue;
    bytes += job.outputs[i].bytes;
    at_most |= job.call.spec->output_rules()[i].shape.at_most;
  }
  if (bytes <= inline_bytes) return bytes;
  return at_most ? inline_bytes : 0;  // else they become arrays
}

}  // namespace

std::shared_ptr<Job> MakeJob(const Principal& who, const JobRequest& request, BoundJob bound, std::string request_key,
                             std::uint64_t inline_bytes) {
  auto job = std::make_shared<Job>();
  job->owner = who;
  job->comparable = request.work == nullptr;
  job->request_key = std::move(request_key);
  job->payload_hash = request.payload_hash;
  job->label = request.label;
  job->graph = request.graph;
  job->node = request.node;
  for (const JobOutput& output : request.outputs) {
    if (output.for_jobs > 0) job->takers[output.name] = output.for_jobs;
  }
  if (request.sweep == nullptr) job->time_limit = request.time_limit;  // it is each task's
  job->submitted_attached = request.attached;
  job->on_disconnect = request.on_disconnect;
  job->durable = request.durable;
  job->may_rerun = request.may_rerun;
  // Work of a user's may take the daemon along, and is counted before it can.
  job->waits_for_start = job->durable && (!request.may_rerun || request.work != nullptr ||
                                          std::any_of(request.outputs.begin(), request.outputs.end(),
                                                      [](const auto& one) { return one.file != nullptr; }));
  job->tiny = !request.durable && request.sweep == nullptr && IsBound(bound) && IsTiny(bound);
  job->keeps_request = !job->request_key.empty() && !request.forget_when_delivered;
  job->promised = job->keeps_request || !request.attached || request.on_disconnect == DisconnectPolicy::kDetach;
  job->work = request.work;
  if (job->promised) {
    job->promised_bytes = job->work != nullptr ? job->work->most_kept_bytes() : MostInlineBytes(bound, inline_bytes);
  }
  job->priority = request.priority;
  SetBound(*job, std::move(bound));
  job->kernel = std::move(job->bound.spec);
  return job;
}

void SetBound(Job& job, BoundJob bound) {
  job.bound = std::move(bound);
  job.needs = job.bound.needs;
  job.turn = job.bound.turn;
  job.workers = job.bound.workers;
  job.devices = 0;
  job.home = 0;
  std::uint64_t most = 0;
  for (const DeviceNeed& need : job.needs) {
    job.devices |= std::uint64_t{1} << need.device;
    if (need.input_bytes_here <= most) continue;
    most = need.input_bytes_here;
    job.home = std::uint64_t{1} << need.device;
  }
  job.kept_bytes = 0;
  for (const BoundOutput& output : job.bound.outputs) {
    if (output.stays()) job.kept_bytes += output.bytes;
  }
}

}  // namespace hotplate::core
