#include "server/service/run_call.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/base/status.h"
#include "server/service/acts.h"
#include "server/service/parsed_service.h"
#include "server/service/programs.h"
#include "server/service/refusal.h"
#include "server/wire/job_ref.h"
#include "server/wire/values.h"

namespace hotplate::server {
namespace {

// The answers to this many jobs of one request go out together, if they are ready.
constexpr int kStartsTogether = 64;

// How many jobs of one request, and for how long, run on the thread that reads it: handing a job to a lane's thread
// takes longer than a tiny job, and other streams of this thread can wait some milliseconds.
constexpr int kRunHereAtMost = 256;
constexpr auto kRunHereFor = std::chrono::milliseconds(5);

using RunReactor = grpc::ServerBidiReactor<grpc::ByteBuffer, v1::RunJobsResponse>;

}  // namespace

RunReactor* RunCall::Start(const ServiceContext& context, grpc::CallbackServerContext* call) {
  absl::StatusOr<core::Principal> who = context.Admit(*call, core::Scope::kSubmit, "Jobs.Run");
  if (!who.ok()) return new Refusal<RunReactor>(who.status());
  absl::StatusOr<StreamTicket> ticket = StreamTicket::Take(context, who->session, core::SessionUse::kHolds);
  if (!ticket.ok()) return new Refusal<RunReactor>(ticket.status());
  const auto stream = std::make_shared<RunCall>(context, *std::move(who), PeerFor(context, *call), *std::move(ticket));
  stream->Begin();
  context.run_streams().Add(stream);
  stream->Read();
  return stream.get();
}

RunCall::RunCall(const ServiceContext& context, core::Principal who, std::string peer, StreamTicket ticket)
    : UpdateStream(context, std::move(ticket), Outbox::StatesBeforeEnd::kDropped),
      who_(std::move(who)),
      peer_(std::move(peer)) {}

void RunCall::Read() {
  request_.Lend();
  StartRead(&bytes_);
}

void RunCall::OnReadDone(bool ok) noexcept {
  request_.TakeBack();
  if (!ok) {
    MutexLock lock(mutex_);
    reads_done_ = true;
    return CloseIfDone(lock);
  }
  if (absl::Status status = Parse(bytes_, *request_); !status.ok()) {
    MutexLock lock(mutex_);
    return CloseWhenSent(lock, status);
  }
  bytes_.Clear();
  request_size_ = context_.CheckSize(*request_);
  FindRepeatedTags();
  run_until_ = std::chrono::steady_clock::now() + kRunHereFor;
  GoThroughRequest();
}

void RunCall::GoThroughRequest() {
  while (next_start_ < request_->start_size()) {
    const int until = std::min(next_start_ + kStartsTogether, request_->start_size());
    {
      MutexLock lock(mutex_);
      waits_for_room_ = !closed_ && !HasRoomLocked();
      if (closed_ || waits_for_room_) return;
      held_ = until - next_start_ > 1;
    }
    for (; next_start_ < until; ++next_start_) BeginJob(request_->start(next_start_));
    MutexLock lock(mutex_);
    if (std::exchange(held_, false)) Advance(lock);
  }
  for (std::uint64_t tag : request_->cancel()) CancelTag(tag);
  next_start_ = 0;
  request_.Renew();
  Read();
}

std::optional<core::SteadyTime> RunCall::IdleSince() {
  MutexLock lock(mutex_);
  return IsIdleLocked() ? std::optional(idle_since_) : std::nullopt;
}

bool RunCall::IsOver() {
  MutexLock lock(mutex_);
  return ClosingLocked();
}

bool RunCall::EndIfIdle() {
  MutexLock lock(mutex_);
  if (!IsIdleLocked()) return false;
  GiveUp(lock, absl::UnavailableError("the stream had no job and made room for another one; open a new one"));
  return true;
}

void RunCall::FindRepeatedTags() {
  repeated_.clear();
  const auto& starts = request_->start();
  // Most clients count up.
  const auto not_above = [](const auto& one, const auto& next) { return next.tag() <= one.tag(); };
  if (std::adjacent_find(starts.begin(), starts.end(), not_above) == starts.end()) return;
  std::vector<std::pair<std::uint64_t, int>> tags;
  for (int i = 0; i < starts.size(); ++i) tags.emplace_back(starts[i].tag(), i);
  std::sort(tags.begin(), tags.end());
  for (std::size_t i = 1; i < tags.size(); ++i) {
    if (tags[i].first == tags[i - 1].first) repeated_.push_back(tags[i].second);
  }
  std::sort(repeated_.begin(), repeated_.end());
}

void RunCall::BeginJob(const v1::RunJobsRequest::Start& start) {
  if (!request_size_.ok()) {
    RefuseJob(start, request_size_);
  } else if (std::binary_search(repeated_.begin(), repeated_.end(), next_start_)) {
    RefuseJob(start, InvalidField("tag", "tag " + std::to_string(start.tag()) +
                                             " is given to two jobs of one request; give every job its own"));
  } else if (absl::Status status = Reserve(start.tag(), start.job()); !status.ok()) {
    RefuseJob(start, status);
  } else if (!wire::NeedsFiles(start.job()) && !MayNameOneThatWaits(start.job())) {
    const bool may_run_here = next_start_ < kRunHereAtMost && std::chrono::steady_clock::now() < run_until_;
    StartJob(start, may_run_here);
  } else {
    ++waiting_for_files_;
    auto later = [self = this->shared_from_this(), this, start] {
      StartJob(start, /*may_run_here=*/false);
      --waiting_for_files_;
    };
    const absl::Status posted = context_.PostForFiles(start.ByteSizeLong(), std::move(later));
    if (posted.ok()) return;
    --waiting_for_files_;
    Drop(start, posted);
  }
}

bool RunCall::MayNameOneThatWaits(const v1::JobSpec& spec) const {
  return waiting_for_files_.load() > 0 && wire::DependsOnOthers(spec);
}

absl::Status RunCall::Reserve(std::uint64_t tag, const v1::JobSpec& spec) {
  if (absl::Status status = context_.AcceptsJobs(); !status.ok()) return status;
  MutexLock lock(mutex_);
  const auto [active, fresh] = active_.try_emplace(tag);
  if (!fresh)
    return InvalidField("tag", "tag " + std::to_string(tag) + " belongs to a job of this stream that has not ended");
  active->second.kernel = spec.kernel().substr(0, 128);
  return absl::OkStatus();
}

absl::StatusOr<core::JobId> RunCall::Submit(std::uint64_t tag, const v1::JobSpec& spec, bool may_run_here) {
  absl::StatusOr<core::JobRequest> request = JobAsRequest(context_, who_, spec, wire::SignatureInputs::kRefused);
  if (!request.ok()) return request.status();
  request->attached = true;
  request->may_run_here = may_run_here;
  const std::shared_ptr<core::OutsideWork> work = request->work;
  if (work == nullptr) return context_.engine().Submit(who_, *std::move(request), observer(), tag);
  Hear(tag, StreamsOf(*work));
  absl::StatusOr<core::JobId> id = context_.engine().Submit(who_, *std::move(request), observer(), tag);
  if (!id.ok()) return id;
  // A job that is sent again after a break runs already.
  const absl::StatusOr<core::JobSnapshot> job = context_.engine().Get(who_, *id);
  if (job.ok() && job->work != nullptr && job->work != work) Hear(tag, StreamsOf(*job->work));
  return id;
}

void RunCall::StartJob(const v1::RunJobsRequest::Start& start, bool may_run_here) {
  const std::uint64_t tag = start.tag();
  const absl::StatusOr<core::JobId> id = Submit(tag, start.job(), may_run_here);
  if (!id.ok()) return Drop(start, id.status());
  CountRun(context_, who_, peer_, start.job(), absl::OkStatus());
  bool cancel = false, gone = false;
  {
    MutexLock lock(mutex_);
    gone = closed_;
    if (const auto active = active_.find(tag); active != active_.end()) {
      active->second.id = *id;
      cancel = active->second.cancel_requested;
    }
  }
  if (cancel) context_.engine().Cancel(who_, *id).IgnoreError();
  // A stream that broke meanwhile was forgotten without this job.
  if (gone) context_.engine().Unsubscribe(observer(), core::Engine::OnDisconnect::kCancelAfterGrace);
}

void RunCall::Hear(std::uint64_t tag, const std::shared_ptr<ProgramStreams>& streams) {
  {
    MutexLock lock(mutex_);
    const auto active = active_.find(tag);
    if (closed_ || active == active_.end()) return;
    active->second.streams = streams;
  }
  streams->Listen(this, [weak = weak_from_this(), this, tag] {
    if (const auto self = weak.lock()) SendPrinted(tag);
  });
  bool gone = false;
  {
    MutexLock lock(mutex_);
    gone = closed_;
  }
  if (gone) streams->Leave(this);
}

void RunCall::SendPrinted(std::uint64_t tag) {
  MutexLock lock(mutex_);
  const auto active = active_.find(tag);
  if (closed_ || active == active_.end() || !HasRoomLocked()) return;
  TakePrintedLocked(tag, active->second);
  Advance(lock);
}

void RunCall::TakePrintedLocked(std::uint64_t tag, const Active& active) {
  if (active.streams) AddPrintedLocked(tag, active.id, active.streams->TakeOutput(this));
}

void RunCall::OnRoom() {
  {
    MutexLock lock(mutex_);
    for (const auto& [tag, active] : active_) TakePrintedLocked(tag, active);
    Advance(lock);
  }
  if (waits_for_room_.exchange(false)) GoThroughRequest();
}

void RunCall::OnGone() {
  std::vector<std::shared_ptr<ProgramStreams>> heard;
  {
    MutexLock lock(mutex_);
    for (const auto& [tag, active] : active_) heard.push_back(active.streams);
  }
  // Their functions go on, and must not wait for a client.
  for (const auto& streams : heard) {
    if (streams) streams->Leave(this);
  }
}

void RunCall::RefuseJob(const v1::RunJobsRequest::Start& start, const absl::Status& status) {
  CountRun(context_, who_, peer_, start.job(), status);
  Refuse(start.tag(), status);
}

void RunCall::Drop(const v1::RunJobsRequest::Start& start, const absl::Status& status) {
  {
    MutexLock lock(mutex_);
    active_.erase(start.tag());
  }
  RefuseJob(start, status);
  MutexLock lock(mutex_);
  CloseIfDone(lock);
}

void RunCall::CancelTag(std::uint64_t tag) {
  core::JobId id;
  std::string kernel;
  {
    MutexLock lock(mutex_);
    const auto active = active_.find(tag);
    if (active == active_.end()) return;  // it has ended meanwhile
    active->second.cancel_requested = true;
    id = active->second.id;
    kernel = active->second.kernel;
  }
  if (id.empty()) return;
  const absl::Status cancelled = context_.engine().Cancel(who_, id).status();
  NoteAct(context_, "cancel", who_, peer_, id.value(), kernel, cancelled);
}

std::string RunCall::EndedLocked(std::uint64_t tag) {
  const auto active = active_.find(tag);
  if (active == active_.end()) return "";
  TakePrintedLocked(tag, active->second);
  std::string kernel = std::move(active->second.kernel);
  active_.erase(active);
  if (active_.empty()) idle_since_ = std::chrono::steady_clock::now();
  if (reads_done_ && active_.empty()) CloseAfterEndLocked();
  return kernel;
}

void RunCall::CloseIfDone(MutexLock& lock) {
  if (reads_done_ && active_.empty()) CloseWhenSent(lock, absl::OkStatus());
}

}  // namespace hotplate::server
