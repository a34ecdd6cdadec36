#include "client/lib/run_stream.h"

#include <algorithm>

#include "client/lib/library_thread.h"
#include "client/lib/status.h"

namespace hotplate::client {
namespace {

// A batch stays well under the smallest message limit that a daemon can have.
constexpr std::size_t kMaxBatchBytes = std::size_t{2} << 20;
constexpr std::size_t kMaxBatchJobs = 256;
// How long an asked-for cancel may go without the job's end.
constexpr std::chrono::seconds kCancelGrace(10);
// The same where the client is being closed.
constexpr std::chrono::seconds kCloseGrace(1);
// Updates not yet taken by a slow callback; beyond this the oldest are dropped.
constexpr int kMaxMailbox = 64;
// Bytes of printed text in a mailbox; beyond this the newest is dropped, and a line says so.
constexpr std::size_t kMaxPrinted = std::size_t{8} << 20;

absl::Status ClientClosed() { return absl::CancelledError("the client was closed while the job was under way"); }

}  // namespace

// Guarded by the stream's mutex_, which Clang cannot follow from here; functions with a Pending or a Wire ask for it.
struct RunStream::Pending {
  std::uint64_t tag = 0;
  std::unique_ptr<v1::RunJobsRequest::Start> start;
  std::size_t bytes = 0;
  // Streams that broke without a word about it.
  int breaks = 0;
  // The daemon has said something about it since it was last started.
  bool answered = false;
  // Is in to_start_.
  bool to_be_sent = true;
  // At some time: the daemon may have it.
  bool was_sent = false;
  bool stopping = false;
  std::string job_id;
  std::uint64_t last_sequence = 0;
  Deadline deadline;
  // A vector: most jobs report nothing before their end.
  std::vector<v1::JobUpdate> mailbox;
  std::size_t printed_bytes = 0;  // in the mailbox
  std::optional<absl::StatusOr<EndedJob>> result;
  // The owner waits on this. Used by Run only.
  CondVar owner;
  // Used by Start only, and without the lock from the result on.
  OnUpdate on_update;
  std::function<void(absl::StatusOr<EndedJob>)> done;
  bool in_to_tell = false;
};

// One call of Jobs.Run. It goes when its last operation has come back.
struct RunStream::Wire : std::enable_shared_from_this<RunStream::Wire> {
  enum class Kind { kRead, kWrite, kFinish };
  struct Tag {
    Wire* wire;
    Kind kind;
  };

  Target* target = nullptr;
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientAsyncReaderWriter<v1::RunJobsRequest, v1::RunJobsResponse>> stream;
  v1::RunJobsResponse response;
  grpc::Status status;
  Tag read{this, Kind::kRead}, write{this, Kind::kWrite}, finish{this, Kind::kFinish};
  // Operations under way.
  int operations = 0;
  bool begun = false, reading = false, writing = false, half_written = false, over = false, finished = false;
  // Keeps the call alive while gRPC holds tags of it.
  std::shared_ptr<Wire> self;
};

RunStream::RunStream(std::shared_ptr<const Connection> connection)
    : connection_(std::move(connection)), outage_(*connection_), moves_(connection_->moves()) {}

RunStream::~RunStream() {
  MutexLock lock(mutex_);
  CancelAll();
  closed_ = true;
  if (wire_) wire_->context.TryCancel();
  background_wake_.NotifyOne();
  // A poller of the background thread comes back when the cancelled call's operations do.
  WakePoller();
  lock.Unlock();
  if (background_.joinable()) background_.join();
  // Between two messages no operation is under way whose end would free the call.
  if (wire_ && wire_->operations == 0) wire_->self.reset();
  // Do not destroy the alarm before its event has come out: gRPC 1.51 does not keep it alive.
  queue_.Shutdown();
  void* tag;
  bool ok;
  while (queue_.Next(&tag, &ok)) {
    if (tag == nullptr || tag == &watching_channel_) continue;
    // The last operation of a call takes the call with it.
    Wire* wire = static_cast<Wire::Tag*>(tag)->wire;
    if (--wire->operations == 0) wire->self.reset();
  }
}

RunStream::PendingJob RunStream::Add(v1::JobSpec spec, Deadline deadline) {
  auto job = std::make_shared<Pending>();
  job->tag = next_tag_++;
  job->start = std::make_unique<v1::RunJobsRequest::Start>();
  job->start->set_tag(job->tag);
  *job->start->mutable_job() = std::move(spec);
  job->bytes = job->start->ByteSizeLong();
  pending_.emplace(job->tag, job);
  to_start_.push_back(job->tag);
  if (deadline) SetDeadline(*job, *deadline);
  return job;
}

absl::StatusOr<EndedJob> RunStream::Run(v1::JobSpec spec, const JobOptions& options, Deadline deadline,
                                        const std::stop_token& stop) {
  if (stop.stop_requested()) return absl::CancelledError("cancelled before the job was started");
  MutexLock lock(mutex_);
  const Clock::time_point begin = Clock::now();
  const Deadline awake_until = waits_.AwakeUntil(begin);
  const PendingJob job = Add(std::move(spec), deadline);
  Flush();
  lock.Unlock();
  {
    const std::stop_callback cancel(stop, [this, &job] { RequestCancel(job->tag); });
    lock.Lock();
    Deadline look = options.on_wait ? Deadline(Clock::now() + kLook) : std::nullopt;
    while (true) {
      if (!job->mailbox.empty()) {
        const std::vector<v1::JobUpdate> updates = std::exchange(job->mailbox, {});
        if (!options.on_update) continue;
        PassOn();
        lock.Unlock();
        for (const v1::JobUpdate& update : updates) options.on_update(update);
        lock.Lock();
      } else if (job->result) {
        break;
      } else if (look && Clock::now() >= *look) {
        PassOn();
        lock.Unlock();
        const bool go_on = options.on_wait();
        lock.Lock();
        if (!go_on && !job->result) SetDeadline(*job, Clock::now());
        look = Clock::now() + kLook;
      } else if (!polling_) {
        Poll(look, awake_until);
      } else {
        const auto self = waiters_.insert(waiters_.end(), &job->owner);
        job->owner.WaitUntil(mutex_, look.value_or(Clock::time_point::max()));
        waiters_.erase(self);
      }
    }
    waits_.Ended(begin);
    PassOn();
    lock.Unlock();
  }
  return *std::move(job->result);
}

void RunStream::Start(v1::JobSpec spec, OnUpdate on_update, Deadline deadline, const std::stop_token& stop,
                      std::function<void(absl::StatusOr<EndedJob>)> done) {
  // Destroyed together with `done`, without the lock: its destructor waits for a RequestCancel under way.
  using OnStop = std::optional<std::stop_callback<std::function<void()>>>;
  const std::shared_ptr<OnStop> on_stop = stop.stop_possible() ? std::make_shared<OnStop>() : nullptr;
  MutexLock lock(mutex_);
  const PendingJob job = Add(std::move(spec), deadline);
  job->on_update = std::move(on_update);
  job->done = std::move(done);
  ++started_;
  if (!background_.joinable()) background_ = std::thread([this] { RunBackground(); });
  background_wake_.NotifyOne();
  if (on_stop) {
    job->done = [on_stop, done = std::move(job->done)](absl::StatusOr<EndedJob> end) { done(std::move(end)); };
    // A stop that was asked for before ends the job here, unsent.
    lock.Unlock();
    on_stop->emplace(stop, [this, tag = job->tag] { RequestCancel(tag); });
    lock.Lock();
  }
  Flush();
}

void RunStream::RequestCancel(std::uint64_t tag) {
  MutexLock lock(mutex_);
  const auto found = pending_.find(tag);
  if (found == pending_.end() || found->second->stopping) return;
  Pending& job = *found->second;
  job.stopping = true;
  if (!job.was_sent) {
    End(job, absl::CancelledError("cancelled before the job was started"));
    WakePoller();  // if the library's thread polls, it must report this
    return;
  }
  to_cancel_.push_back(tag);
  SetDeadline(job, Clock::now() + kCancelGrace);
  Flush();
}

// Without a cancel, the daemon would let the jobs run on for its grace period.
void RunStream::CancelAll() {
  closing_ = true;
  std::vector<std::uint64_t> attached;
  for (auto next = pending_.begin(); next != pending_.end();) {
    const PendingJob job = (next++)->second;
    if (job->start->job().disconnect_policy() == v1::DISCONNECT_POLICY_DETACH && job->was_sent) {
      End(*job, ClientClosed());
    } else {
      attached.push_back(job->tag);
    }
  }
  {
    const MutexGap gap(mutex_);
    for (const std::uint64_t tag : attached) RequestCancel(tag);
  }
  const Clock::time_point until = Clock::now() + kCloseGrace;
  while (!pending_.empty() && none_pending_.WaitUntil(mutex_, until)) {
  }
  EndAll();
}

void RunStream::EndAll() {
  while (!pending_.empty()) End(*PendingJob(pending_.begin()->second), ClientClosed());
}

void RunStream::SetDeadline(Pending& job, Clock::time_point deadline) {
  if (job.deadline) {
    if (*job.deadline <= deadline) return;
    deadlines_.erase({*job.deadline, job.tag});
  }
  job.deadline = deadline;
  deadlines_.emplace(deadline, job.tag);
  if (!poll_until_ || deadline < *poll_until_) WakePoller();
}

// Sends everything queued. If a write is under way, all of it is sent together after that one.
void RunStream::Flush() {
  while (WriteBatch()) {
  }
}

// True if the write has already ended, so that another may follow.
bool RunStream::WriteBatch() {
  if (closed_ || (wire_ && (wire_->writing || wire_->over))) return false;
  if (!wire_ && reopen_at_ && Clock::now() < *reopen_at_) return false;
  v1::RunJobsRequest request;
  const std::vector<PendingJob> starting = TakeBatch(request);
  if (starting.empty() && request.cancel().empty()) return false;
  if (!wire_) OpenWire(/*with_jobs=*/true);

  const std::shared_ptr<Wire> wire = wire_;
  wire->writing = true;
  wire->begun = true;
  ++wire->operations;
  {
    const MutexGap gap(mutex_);
    // Lent, not copied: the message is in bytes when Write returns.
    for (const PendingJob& job : starting) request.mutable_start()->UnsafeArenaAddAllocated(job->start.get());
    wire->stream->Write(request, &wire->write);
    for (std::size_t i = 0; i < starting.size(); ++i) request.mutable_start()->UnsafeArenaReleaseLast();
  }
  return EndWrite(*wire);
}

// A write ends when its event has come and the thread that began it is back, in either order. True for the second of
// the two.
bool RunStream::EndWrite(Wire& wire) {
  if (!std::exchange(wire.half_written, !wire.half_written)) return false;
  wire.writing = false;
  return true;
}

// The jobs that the next message starts; the cancels go into it. A cancel never goes ahead of its job's start.
std::vector<RunStream::PendingJob> RunStream::TakeBatch(v1::RunJobsRequest& request) {
  std::vector<PendingJob> starting;
  std::size_t bytes = 0;
  while (!to_start_.empty() && starting.size() < kMaxBatchJobs) {
    const auto found = pending_.find(to_start_.front());
    if (found != pending_.end()) {
      if (!starting.empty() && bytes + found->second->bytes > kMaxBatchBytes) break;
      bytes += found->second->bytes;
      found->second->to_be_sent = false;
      found->second->was_sent = true;
      starting.push_back(found->second);
    }
    to_start_.pop_front();
  }
  std::deque<std::uint64_t> later;
  for (const std::uint64_t tag : to_cancel_) {
    const auto found = pending_.find(tag);
    if (found != pending_.end() && found->second->to_be_sent) {
      later.push_back(tag);
    } else {
      request.add_cancel(tag);
    }
  }
  to_cancel_ = std::move(later);
  return starting;
}

void RunStream::Open() {
  const MutexLock lock(mutex_);
  if (closing_ || reopen_at_) return;
  if (wire_) {
    if (wire_->target == &connection_->now() || !pending_.empty()) return;
    // To a start of the daemon that is gone, which nobody has noticed yet.
    wire_->context.TryCancel();
    wire_.reset();
  }
  OpenWire(/*with_jobs=*/false);
}

void RunStream::OpenWire(bool with_jobs) {
  reopen_at_.reset();
  wire_ = std::make_shared<Wire>();
  wire_->self = wire_;
  Target& target = connection_->now();
  wire_->target = &target;
  connection_->Authorize(target, wire_->context);
  // The first jobs go into the same write as the headers. Without jobs the headers are a write of their own.
  wire_->context.set_initial_metadata_corked(with_jobs);
  wire_->stream = target.jobs->PrepareAsyncRun(&wire_->context, &queue_);
  if (with_jobs) return wire_->stream->StartCall(nullptr);
  wire_->writing = wire_->begun = true;
  ++wire_->operations;
  wire_->stream->StartCall(&wire_->write);
  EndWrite(*wire_);
}

Deadline RunStream::NextTimer() const {
  Deadline next = reopen_at_;
  if (!deadlines_.empty()) next = next ? std::min(*next, deadlines_.begin()->first) : deadlines_.begin()->first;
  return next;
}

// Handles one event of the queue or a timer, or returns at `until`. Does not sleep before `awake_until`.
void RunStream::Poll(Deadline until, Deadline awake_until) {
  polling_ = true;
  poll_until_ = NextTimer();
  if (until && (!poll_until_ || *until < *poll_until_)) poll_until_ = until;
  const auto at_last = poll_until_ ? OnSystemClock(*poll_until_) : std::chrono::system_clock::time_point::max();
  // Not sooner than somebody waits for it: asking for a message tells the daemon that there is room for one, and that
  // goes out with the jobs of a write before it, or else in a packet of its own.
  const std::shared_ptr<Wire> wire = wire_;
  const bool read = wire && wire->begun && !wire->over && !std::exchange(wire->reading, true);
  if (read) ++wire->operations;
  WatchChannel();
  void* tag = nullptr;
  bool ok = false;
  grpc::CompletionQueue::NextStatus status;
  {
    const MutexGap gap(mutex_);
    if (read) wire->stream->Read(&wire->response, &wire->read);
    status = NextEvent(queue_, tag, ok, awake_until, at_last);
  }
  if (status == grpc::CompletionQueue::GOT_EVENT) {
    if (tag == nullptr) {
      waking_ = false;
    } else if (tag == &watching_channel_) {
      watching_channel_ = false;
    } else {
      Handle(tag, ok);
    }
  }
  Expire();
  if (reopen_at_ && Clock::now() >= *reopen_at_) reopen_at_.reset();
  Flush();
  polling_ = false;
  TellNews();
}

// Keeps the channel connecting while there is no stream, which gRPC does only while somebody waits for it.
void RunStream::WatchChannel() {
  if (!reopen_at_ || watching_channel_) return;
  grpc::Channel& channel = connection_->channel();
  const grpc_connectivity_state state = channel.GetState(/*try_to_connect=*/true);
  if (state == GRPC_CHANNEL_READY) return;
  watching_channel_ = true;
  channel.NotifyOnStateChange(state, OnSystemClock(*reopen_at_), &queue_, &watching_channel_);
}

void RunStream::AddNews(absl::Status news) {
  if (connection_->options().on_connection) news_.push_back(std::move(news));
}

// In order: news that arrives meanwhile is left to the thread that is already telling.
void RunStream::TellNews() {
  if (telling_) return;
  telling_ = true;
  while (!news_.empty()) {
    const absl::Status news = std::move(news_.front());
    news_.pop_front();
    // The callback may take its time and may use the client: others poll meanwhile.
    PassOn();
    const MutexGap gap(mutex_);
    connection_->options().on_connection(news);
  }
  telling_ = false;
}

void RunStream::Handle(void* tag, bool ok) {
  const auto [raw, kind] = *static_cast<Wire::Tag*>(tag);
  const std::shared_ptr<Wire> wire = raw->shared_from_this();
  --wire->operations;
  switch (kind) {
    case Wire::Kind::kRead:
      HandleRead(wire, ok);
      break;
    case Wire::Kind::kWrite:
      // A failed write is reported by the read, which fails as well.
      if (EndWrite(*wire)) Flush();
      break;
    case Wire::Kind::kFinish:
      wire->finished = true;
      break;
  }
  if (!wire->finished || wire->operations > 0) return;
  wire->self.reset();
  if (wire != wire_) return;
  // Not under the lock: a record on a hanging file system must not block others. Nothing is sent meanwhile, since the
  // call is over.
  bool may_come_back = false;
  {
    const MutexGap gap(mutex_);
    may_come_back = connection_->MayComeBack(*wire->target, wire->status);
  }
  wire_.reset();
  Lost(*wire->target, wire->status, may_come_back);
}

void RunStream::HandleRead(const std::shared_ptr<Wire>& wire, bool ok) {
  wire->reading = false;
  if (!ok) {
    wire->over = true;
    ++wire->operations;
    const MutexGap gap(mutex_);
    wire->stream->Finish(&wire->status, &wire->finish);
    return;
  }
  if (outage_.Over()) {
    AddNews(absl::OkStatus());
    for (const auto& [tag, job] : pending_) job->breaks = 0;
  }
  Dispatch(wire->response);
  wire->response.Clear();
}

void RunStream::Dispatch(v1::RunJobsResponse& response) {
  for (v1::JobUpdate& update : *response.mutable_updates()) {
    const auto found = pending_.find(update.tag());
    if (found != pending_.end()) {
      Deliver(*PendingJob(found->second), std::move(update));
    } else if (update.tag() == 0 && update.has_notice()) {
      for (const auto& [tag, job] : pending_) Deliver(*job, v1::JobUpdate(update));
    }
  }
}

void RunStream::Deliver(Pending& job, v1::JobUpdate&& update) {
  job.answered = true;
  if (!update.job_id().empty()) job.job_id = update.job_id();
  if (update.has_end()) return End(job, EndedJob{job.job_id, std::move(*update.mutable_end())});
  if (update.has_refused()) return End(job, FromJobError(update.refused()));
  // After a new start the daemon tells the story from its beginning.
  if (update.sequence() != 0 && update.sequence() <= job.last_sequence) return;
  job.last_sequence = std::max(job.last_sequence, update.sequence());
  backoff_.Reset();
  Post(job, std::move(update));
  Tell(job);
}

void RunStream::Post(Pending& job, v1::JobUpdate&& update) {
  std::vector<v1::JobUpdate>& mailbox = job.mailbox;
  if (mailbox.empty()) job.printed_bytes = 0;
  if (update.has_printed()) {
    const bool fits = job.printed_bytes <= kMaxPrinted;
    job.printed_bytes += update.printed().ByteSizeLong();
    if (!fits) return;
    if (job.printed_bytes > kMaxPrinted) {
      update.mutable_printed()->set_err("\n[more was printed than this program took: hotplate logs " + job.job_id +
                                        " has what is kept]\n");
    }
  } else {
    if (update.has_progress() && !mailbox.empty() && mailbox.back().has_progress()) mailbox.pop_back();
    const auto is_state = [](const v1::JobUpdate& one) { return !one.has_printed(); };
    if (std::count_if(mailbox.begin(), mailbox.end(), is_state) >= kMaxMailbox) {
      mailbox.erase(std::find_if(mailbox.begin(), mailbox.end(), is_state));
    }
  }
  mailbox.push_back(std::move(update));
}

void RunStream::End(Pending& job, absl::StatusOr<EndedJob> result) {
  job.result = result.ok() ? std::move(result) : AboutJob(result.status(), job.job_id);
  if (job.deadline) deadlines_.erase({*job.deadline, job.tag});
  Tell(job);
  pending_.erase(job.tag);
  if (!pending_.empty()) return;
  // Nobody waits for the daemon: earlier losses must not count against the next job.
  outage_.Over();
  backoff_.Reset();
  none_pending_.NotifyAll();
}

// Wakes the job's owner, or the library's thread.
void RunStream::Tell(Pending& job) {
  if (!job.done) {
    job.owner.NotifyOne();
  } else if (!std::exchange(job.in_to_tell, true)) {
    to_tell_.push_back(pending_.at(job.tag));
    background_wake_.NotifyOne();
  }
}

void RunStream::Lost(Target& target, const grpc::Status& grpc_status, bool may_come_back) {
  to_start_.clear();
  to_cancel_.clear();
  if (closing_) return EndAll();
  if (pending_.empty()) return;
  // Without an error the daemon has closed the stream, which it does when it stops.
  const absl::Status status = grpc_status.ok() ? MarkedLost(absl::UnavailableError("the daemon closed the connection"))
                                               : connection_->Translate(target, grpc_status);
  const bool moved = std::exchange(moves_, connection_->moves()) != connection_->moves();
  if (moved) {
    // Nothing has been tried with this start of the daemon.
    for (const auto& [tag, job] : pending_) job->breaks = 0;
    backoff_.Reset();
  }
  const bool again = IsConnectionLoss(status);
  const bool lasts = again && !grpc_status.ok() && outage_.Lasts(may_come_back);
  const bool at_once = backoff_.fresh();
  std::vector<PendingJob> jobs;
  for (const auto& [tag, job] : pending_) jobs.push_back(job);
  for (const PendingJob& job : jobs) {
    if (moved && !job->job_id.empty() && job->start->job().has_function()) {
      // What a function of the user's has done before is not known, and must not be done twice unasked.
      End(*job, MarkedLost(absl::UnavailableError("the daemon ended while it ran the function (job " + job->job_id +
                                                  "), and was started anew: the function may have run in part")));
      continue;
    }
    const bool answered = std::exchange(job->answered, false);
    const bool tried_enough = !answered && job->breaks >= connection_->options().retries;
    job->breaks = answered ? 1 : job->breaks + 1;
    if (again && (!tried_enough || lasts)) {
      if (tried_enough && outage_.ToTell()) AddNews(status);
      to_start_.push_back(job->tag);
      job->to_be_sent = true;
      if (job->stopping) to_cancel_.push_back(job->tag);
      continue;
    }
    const std::string which = job->job_id.empty() ? "" : " (job " + job->job_id + " was under way)";
    End(*job, Worded(status, std::string(status.message()) + which));
  }
  if (to_start_.empty()) return;
  const nanoseconds wait = backoff_.Next();
  reopen_at_ = Clock::now() + (at_once ? nanoseconds::zero() : wait);
}

void RunStream::Expire() {
  while (!deadlines_.empty() && deadlines_.begin()->first <= Clock::now()) {
    const PendingJob job = pending_.at(deadlines_.begin()->second);
    const std::string which = job->job_id.empty() ? "the job" : "job " + job->job_id;
    if (job->stopping) {
      End(*job, absl::CancelledError("the daemon was asked to cancel " + which + " and has not confirmed it"));
      continue;
    }
    to_cancel_.push_back(job->tag);
    End(*job, absl::DeadlineExceededError("the deadline of the call was over before " + which +
                                          " ended; it was asked to cancel"));
  }
}

// Makes the polling thread look at the timers again.
void RunStream::WakePoller() {
  if (!polling_ || waking_) return;
  waking_ = true;
  wake_ = std::make_unique<grpc::Alarm>();
  wake_->Set(&queue_, std::chrono::system_clock::now(), nullptr);
}

void RunStream::PassOn() {
  if (polling_) return;
  if (!waiters_.empty()) {
    waiters_.front()->NotifyOne();
  } else if (started_ > 0) {
    background_wake_.NotifyOne();
  }
}

void RunStream::RunBackground() {
  const LibraryThread here;
  MutexLock lock(mutex_);
  while (true) {
    if (!to_tell_.empty()) {
      const PendingJob job = to_tell_.front();
      to_tell_.pop_front();
      DeliverInBackground(job);
    } else if (closed_) {
      return;
    } else if (started_ > 0 && !polling_) {
      Poll();
    } else {
      // A caller of Run polls, and wakes this thread when there is something to tell or it stops polling.
      background_wake_.Wait(mutex_);
    }
    PassOn();
  }
}

void RunStream::DeliverInBackground(const PendingJob& job) {
  job->in_to_tell = false;
  const std::vector<v1::JobUpdate> updates = std::exchange(job->mailbox, {});
  std::optional<absl::StatusOr<EndedJob>> result = std::exchange(job->result, std::nullopt);
  if (result) --started_;
  // Callbacks may take their time and may use the client: others poll meanwhile.
  PassOn();
  const MutexGap gap(mutex_);
  if (job->on_update) {
    for (const v1::JobUpdate& update : updates) job->on_update(update);
  }
  if (result) {
    job->done(*std::move(result));
    // Destroyed here, without the lock: their destructors may wait for others.
    job->done = nullptr;
    job->on_update = nullptr;
  }
}

}  // namespace hotplate::client
