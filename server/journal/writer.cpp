#include "server/journal/writer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace hotplate::journal {
namespace {

using Clock = std::chrono::steady_clock;

// Bounds how long those in a group wait for each other.
constexpr std::size_t kLargestGroup = 4096;
// For this long after a good answer the fence is not asked before a group.
constexpr std::chrono::milliseconds kFresh(5);

std::uint64_t BytesOf(const Record& record) {
  struct Sizes {
    std::uint64_t operator()(const JobAccepted& job) const { return job.request.size(); }
    std::uint64_t operator()(const JobEnded& job) const { return job.end.size() + job.outputs.size(); }
    std::uint64_t operator()(const AttachedJob& job) const { return job.end.size(); }
    std::uint64_t operator()(const JobStarted&) const { return 0; }
    std::uint64_t operator()(const JobRequeued&) const { return 0; }
    std::uint64_t operator()(const JobCancelRequested&) const { return 0; }
    std::uint64_t operator()(const JobFetched&) const { return 0; }
    std::uint64_t operator()(const JobReleased&) const { return 0; }
    std::uint64_t operator()(const ArraySaved& array) const { return array.file.size() + array.name.size(); }
    std::uint64_t operator()(const ArrayGone& array) const { return array.file.size(); }
  };
  return sizeof(Record) + std::visit(Sizes(), record);
}

bool IsAcceptance(const Record& record) { return std::holds_alternative<JobAccepted>(record); }

absl::Status Closed() { return absl::FailedPreconditionError("the journal is closed"); }

}  // namespace

Writer::Writer(Index& index, Fence& fence, WriterOptions options)
    : index_(index), fence_(fence), options_(std::move(options)), sums_(options_.attached_per_second) {
  thread_ = std::thread([this] { Loop(); });
}

absl::Status Writer::health() const {
  MutexLock lock(mutex_);
  return health_;
}

void Writer::Append(Record record, Durability durability, Completion done) {
  Entry entry{.record = std::move(record), .durability = durability, .done = std::move(done), .since = Clock::now()};
  entry.bytes = BytesOf(entry.record);
  MutexLock lock(mutex_);
  const bool full = queued_bytes_ + entry.bytes > options_.most_bytes;
  if (stopping_) {
    entry.result = Closed();
  } else if (for_good_ || (!health_.ok() && IsAcceptance(entry.record))) {
    entry.result = health_;
  } else if (full && IsAcceptance(entry.record)) {
    entry.result = absl::ResourceExhaustedError(absl::StrCat(
        "the journal has ", queued_bytes_, " bytes to write, and takes no more jobs until it has; try again"));
  }
  if (!entry.result.ok()) {
    // After Stop nobody is there to be told by.
    if (stopped_) {
      lock.Unlock();
      if (entry.done) std::move(entry.done)(entry.result);
      return;
    }
    refused_.push_back(std::move(entry));
    work_.NotifyOne();
    return;
  }
  queued_bytes_ += entry.bytes;
  if (entry.durability == Durability::kSynced) ++synced_;
  // For one that is written behind the thread only has to know when to wake.
  const bool wake = entry.durability == Durability::kSynced || queue_.empty();
  queue_.push_back(std::move(entry));
  if (wake) work_.NotifyOne();
}

void Writer::Note(AttachedJob job, absl::FunctionRef<std::string()> end) {
  {
    MutexLock lock(mutex_);
    const bool full = queued_bytes_ > options_.most_bytes;
    if (full || !health_.ok()) {
      sums_.AddToSums(job);
    } else if (sums_.KeepsAlone(job)) {
      lock.Unlock();
      job.end = end();
      Append(std::move(job), Durability::kBehind, nullptr);
      return;
    }
    if (sums_since_ != Time()) return;
    sums_since_ = Clock::now();
  }
  work_.NotifyOne();
}

absl::Status Writer::Run(absl::FunctionRef<absl::Status(Index&)> work) {
  absl::Status result;
  bool done = false;
  MutexLock lock(mutex_);
  if (stopping_) return Closed();
  tasks_.push_back({work, &result, &done});
  work_.NotifyOne();
  while (!done) task_done_.Wait(mutex_);
  return result;
}

void Writer::Stop() {
  {
    MutexLock lock(mutex_);
    if (stopping_) return;
    stopping_ = true;
    work_.NotifyOne();
  }
  thread_.join();
}

Writer::Time Writer::NextWrite() const {
  constexpr Time kNever = Time::max();
  // Also with nothing to write: somebody has to find out that the disk works again.
  if (!health_.ok()) return for_good_ ? kNever : retry_at_;
  if (queue_.empty() && sums_.empty()) return kNever;
  if (synced_ > 0) return Time::min();
  Time since = kNever;
  if (!queue_.empty()) since = queue_.front().since;
  if (!sums_.empty()) since = std::min(since, sums_since_);
  return since + options_.behind;
}

void Writer::AwaitWork() {
  while (!stopping_ && tasks_.empty() && refused_.empty()) {
    const Time now = Clock::now();
    if (now >= next_beat_) return;
    const Time next = std::min(NextWrite(), next_beat_);
    if (next <= now) return;
    work_.WaitUntil(mutex_, next);
  }
}

Writer::Group Writer::TakeGroup(Sums& sums) {
  Group group;
  const std::size_t count = std::min(queue_.size(), kLargestGroup);
  group.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    queued_bytes_ -= queue_.front().bytes;
    if (queue_.front().durability == Durability::kSynced) --synced_;
    group.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  sums = sums_.Take();
  sums_since_ = Time();
  return group;
}

void Writer::Loop() {
  while (true) {
    Group group;
    std::vector<Entry> refused;
    Sums sums;
    bool write = false, last = false, beat = false;
    {
      MutexLock lock(mutex_);
      AwaitWork();
      const Time now = Clock::now();
      refused = std::exchange(refused_, {});
      if (beat = now >= next_beat_; beat) next_beat_ = now + options_.beat;
      const bool rest = stopping_ && !for_good_ && (!queue_.empty() || !sums_.empty());
      write = now >= NextWrite() || rest;
      if (write) group = TakeGroup(sums);
      last = stopping_ && !rest && refused.empty() && tasks_.empty();
      if (last) stopped_ = true;
    }
    for (Entry& entry : refused) {
      if (entry.done) std::move(entry.done)(entry.result);
    }
    if (beat) fence_.Beat();
    if (last) return;
    RunTasks();
    if (!write) continue;
    const bool sync = group.empty() || std::any_of(group.begin(), group.end(), [](const Entry& entry) {
                        return entry.durability == Durability::kSynced;
                      });
    Settle(group, sums, WriteGroup(group, sums, sync ? Index::Sync::kNow : Index::Sync::kLater));
  }
}

absl::Status Writer::WriteGroup(Group& group, const Sums& sums, Index::Sync sync) {
  Step("group: begin");
  // The certain answer comes after the group. This one only spares writing what would be refused, so it may be a moment
  // old.
  if (Clock::now() - mine_at_ > kFresh) {
    if (absl::Status mine = CheckFence(/*certain=*/false); !mine.ok()) return mine;
  }
  // When a sync has failed, the system may have dropped what it could not write, and call the next sync a success.
  // Only what is written once more, to the index itself, is known to be there.
  if (!log_is_sound_) {
    if (absl::Status sound = index_.Checkpoint(); !sound.ok()) return sound;
    log_is_sound_ = true;
  }
  absl::Status written = BeginWith(group, sync);
  if (written.ok()) written = index_.Add(sums);
  if (written.ok() && group.empty()) written = index_.Touch();
  Step("group: written");
  if (written.ok()) written = index_.Commit();
  if (!written.ok()) {
    index_.Rollback();
    log_is_sound_ = false;
    return written;
  }
  Step("group: committed");
  // Whoever took the journal over meanwhile may not have this group.
  return CheckFence(/*certain=*/true);
}

// A transaction with the records that can be written. One that cannot is seldom: then the others are written anew.
absl::Status Writer::BeginWith(Group& group, Index::Sync sync) {
  while (true) {
    absl::Status written = index_.Begin(sync);
    bool again = false;
    for (Entry& entry : group) {
      if (!written.ok() || again) break;
      if (!entry.result.ok()) continue;
      Step("group: record");
      absl::Status applied = index_.Apply(entry.record);
      again = Index::IsOfRecord(applied);
      (again ? entry.result : written) = std::move(applied);
    }
    if (!again) return written;
    index_.Rollback();
  }
}

absl::Status Writer::CheckFence(bool certain) {
  while (true) {
    absl::Status mine = fence_.Check();
    mine_at_ = mine.ok() ? Clock::now() : Time();
    taken_over_ = taken_over_ || absl::IsFailedPrecondition(mine);
    if (mine.ok() || taken_over_ || !certain) return mine;
    MutexLock lock(mutex_);
    health_ = mine;
    if (stopping_) return mine;
    work_.WaitUntil(mutex_, Clock::now() + options_.retry);
  }
}

void Writer::Settle(Group& group, const Sums& sums, const absl::Status& written) {
  if (written.ok()) {
    {
      MutexLock lock(mutex_);
      health_ = absl::OkStatus();
    }
    for (Entry& entry : group) {
      if (entry.done) std::move(entry.done)(entry.result);
    }
    Step("group: acknowledged");
    return;
  }
  std::vector<Entry> refused;
  {
    MutexLock lock(mutex_);
    health_ = written;
    retry_at_ = Clock::now() + options_.retry;
    const bool for_good = taken_over_ || absl::IsDataLoss(written) || stopping_;
    for_good_ = for_good;
    sums_.GiveBack(sums);
    if (!sums.empty()) sums_since_ = Clock::now();
    // What came after them meets the same fate; the rest keeps its order.
    std::deque<Entry> kept;
    const auto sort = [&](Entry& entry) {
      if (for_good || IsAcceptance(entry.record)) {
        refused.push_back(std::move(entry));
      } else {
        kept.push_back(std::move(entry));
      }
    };
    std::for_each(group.begin(), group.end(), sort);
    std::for_each(queue_.begin(), queue_.end(), sort);
    queue_ = std::move(kept);
    queued_bytes_ = 0, synced_ = 0;
    for (const Entry& entry : queue_) {
      queued_bytes_ += entry.bytes;
      if (entry.durability == Durability::kSynced) ++synced_;
    }
  }
  for (Entry& entry : refused) {
    if (entry.done) std::move(entry.done)(written);
  }
}

void Writer::RunTasks() {
  std::vector<Task> tasks;
  {
    MutexLock lock(mutex_);
    tasks = std::exchange(tasks_, {});
  }
  for (const Task& task : tasks) {
    absl::Status result = task.work(index_);
    MutexLock lock(mutex_);
    *task.result = std::move(result);
    *task.done = true;
    task_done_.NotifyAll();
  }
}

}  // namespace hotplate::journal
