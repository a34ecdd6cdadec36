#include "server/core/engine.h"

#include <algorithm>
#include <utility>

#include "server/core/engine_impl.h"

namespace hotplate::core {
namespace {

// A result that could never be kept becomes an array.
EngineOptions Consistent(EngineOptions options) {
  options.inline_bytes = std::min(options.inline_bytes, options.retained_bytes);
  return options;
}

}  // namespace

Engine::Impl::Impl(EngineOptions options, const Catalog& catalog, DeviceSet devices, ArrayStore& arrays,
                   const Clock& clock)
    : options_(Consistent(std::move(options))),
      catalog_(catalog),
      device_set_(std::move(devices)),
      arrays_(arrays),
      clock_(clock),
      binder_(catalog, arrays, device_set_.devices),
      most_threads_here_(ThreadsHere(options_)),
      numbers_(options_.first_numbers, options_.claim_numbers),
      table_({options_.result_retention, options_.retained_jobs, options_.retained_bytes}),
      queue_(options_.queued_jobs),
      sessions_({options_.max_sessions, options_.max_streams, options_.session_timeout, options_.disconnect_grace}),
      observers_(mutex_, quiet_),
      idle_since_(clock.Now()),
      last_use_((idle_since_ - kLinger).time_since_epoch().count()) {
  for (const KernelSpec& spec : catalog_.specs()) spec_hashes_.emplace(&spec, spec.Hash());
  if (copies_ != nullptr) arrays_.Attach(copies_);
  arrays_.SetReclaim([this](std::uint64_t bytes) { return Reclaim(bytes); });
  OpenLanes();
  ticker_ = std::thread([this] { RunTicker(); });
}

Engine::Impl::~Impl() {
  if (!draining_.load()) {
    BeginDrain(nanoseconds::zero(), "the daemon stops");
    AwaitDrained();
  }
  Aftermath after;
  {
    std::scoped_lock lock(mutex_);
    for (Job* job : ActiveJobs()) RequestCancel(*job, "the daemon stops", after);
    stopping_ = true;
    for (const std::unique_ptr<DeviceState>& device : devices_) {
      for (const std::unique_ptr<LaneState>& lane : device->lanes) {
        lane->called.store(true);
        after.wake.push_back(lane.get());
      }
    }
  }
  Perform(after);
  ticker_wake_.notify_all();
  for (const std::unique_ptr<DeviceState>& device : devices_) {
    for (const std::unique_ptr<LaneState>& lane : device->lanes) lane->thread.join();
  }
  ticker_.join();
  arrays_.SetReclaim(nullptr);
  // Buffers may outlive the devices; from here on nobody is told of them.
  if (copies_ != nullptr) copies_->Close();
}

void Engine::Impl::Perform(Aftermath& after) {
  for (LaneState* lane : after.wake) lane->wake.notify_one();
  // Whoever hears of an end may at once ask for the memory and the names that the job had.
  after.bound.clear();
  after.arrays.clear();
  for (const std::shared_ptr<Job>& job : after.tell) Tell(*job);
  for (const std::shared_ptr<Job>& job : after.evicted) {
    // It may have been freed by its user already.
    for (const ArrayId& id : job->owned_arrays) arrays_.Free(job->owner, id.value()).IgnoreError();
  }
  for (const auto& [level, text] : after.log) options_.log(level, text);
}

void Engine::Impl::Log(Aftermath& after, LogLevel level, std::string text) const {
  if (Logs(level)) after.log.emplace_back(level, std::move(text));
}

Engine::Engine(EngineOptions options, const Catalog& catalog, DeviceSet devices, ArrayStore& arrays, const Clock& clock)
    : impl_(std::make_unique<Impl>(std::move(options), catalog, std::move(devices), arrays, clock)) {}
Engine::~Engine() = default;

absl::StatusOr<CheckReport> Engine::Check(const Principal& who, const JobRequest& request) {
  return impl_->Check(who, request);
}
absl::StatusOr<JobId> Engine::Submit(const Principal& who, JobRequest request, std::shared_ptr<JobObserver> observer,
                                     std::uint64_t tag) {
  return impl_->Submit(who, std::move(request), std::move(observer), tag);
}
absl::Status Engine::Watch(const Principal& who, const JobId& id, std::uint64_t from_sequence,
                           std::shared_ptr<JobObserver> observer, std::uint64_t tag) {
  return impl_->Watch(who, id, from_sequence, std::move(observer), tag);
}
void Engine::Subscribe(std::shared_ptr<JobObserver> observer) { impl_->Subscribe(std::move(observer)); }
void Engine::Unsubscribe(const std::shared_ptr<JobObserver>& observer, OnDisconnect policy) {
  impl_->Unsubscribe(observer, policy);
}
absl::StatusOr<JobSnapshot> Engine::Cancel(const Principal& who, const JobId& id) { return impl_->Cancel(who, id); }
absl::StatusOr<JobSnapshot> Engine::Get(const Principal& who, const JobId& id) const { return impl_->Get(who, id); }
absl::StatusOr<JobSnapshot> Engine::Fetch(const Principal& who, const JobId& id) { return impl_->Fetch(who, id); }
std::vector<JobSnapshot> Engine::List(const Principal& who, const JobFilter& filter) const {
  return impl_->List(who, filter);
}
absl::Status Engine::TouchSession(const SessionId& session, int streams, SessionUse use) {
  return impl_->TouchSession(session, streams, use);
}
void Engine::EndSession(const SessionId& session) { impl_->EndSession(session); }
void Engine::BeginDrain(nanoseconds timeout, const std::string& reason) { impl_->BeginDrain(timeout, reason); }
bool Engine::AwaitDrained() { return impl_->AwaitDrained(); }
bool Engine::DrainIfIdle(nanoseconds limit, const std::string& reason) { return impl_->DrainIfIdle(limit, reason); }
void Engine::ShortenDrain(nanoseconds timeout) { impl_->ShortenDrain(timeout); }

Engine::Activity Engine::BeginActivity() { return Activity(impl_.get()); }
void Engine::NoteUse() { impl_->NoteUse(); }
Engine::Activity::Activity(Impl* engine) : engine_(engine), moved_(std::make_unique<std::atomic<std::int64_t>>()) {
  engine_->BeginActivity(*moved_);
}
Engine::Activity::Activity(Activity&& other) noexcept = default;
Engine::Activity::~Activity() {
  if (moved_ != nullptr) engine_->EndActivity(*moved_);
}
void Engine::Activity::Moved() const { engine_->NoteMove(*moved_); }

void Engine::Announce(const std::string& text, std::optional<double> seconds_left) {
  impl_->Announce(text, seconds_left);
}
std::uint64_t Engine::last_number() const { return impl_->last_number(); }
EngineStatus Engine::Status() const { return impl_->Status(); }
const std::vector<std::unique_ptr<Device>>& Engine::devices() const { return impl_->device_set().devices; }
const std::vector<std::string>& Engine::device_notes() const { return impl_->device_set().notes; }
const Catalog& Engine::catalog() const { return impl_->catalog(); }
ArrayStore& Engine::arrays() { return impl_->arrays(); }

}  // namespace hotplate::core
