#include "server/core/jobs/job_table.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/quantity.h"
#include "server/core/allowances.h"

namespace hotplate::core {

std::uint64_t JobTable::NumberOf(const std::string& id) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), number);
  return error == std::errc() && end == id.data() + id.size() && id[0] != '0' ? number : 0;
}

std::string JobTable::RequestKey(const std::string& token, const std::string& request_id) {
  if (request_id.empty()) return "";
  // The token's length keeps one pair's text from being another's.
  return absl::StrCat(token.size(), ":", token, request_id);
}

void JobTable::Insert(const std::shared_ptr<Job>& job, std::uint64_t number) {
  if (first_number_ == 0) first_number_ = number;
  last_number_ = number;
  Restore(job, number);
}

void JobTable::Restore(const std::shared_ptr<Job>& job, std::uint64_t number) {
  job->sequence = number;
  job->id = JobId(absl::StrCat(job->sequence));
  jobs_.emplace_hint(jobs_.end(), job->sequence, job);
  if (!job->request_key.empty()) {
    // The newest job of a request id has it. (The map's key is the job's own text.)
    requests_.erase(job->request_key);
    requests_.emplace(job->request_key, job.get());
  }
  if (!job->promised) return;
  ++active_promises_;
  active_bytes_ += job->promised_bytes;
  AddPromise(*job, job->promised_bytes);
}

void JobTable::AddPromise(const Job& job, std::uint64_t bytes) {
  Promises& of = promises_of_[job.owner.token];
  ++of.jobs;
  of.bytes += bytes;
}

void JobTable::RemovePromise(const Job& job, std::uint64_t bytes) {
  const auto of = promises_of_.find(job.owner.token);
  of->second.bytes -= bytes;
  if (--of->second.jobs == 0) promises_of_.erase(of);
}

void JobTable::ForgetRequest(const Job& job) {
  const auto at = requests_.find(job.request_key);
  if (at != requests_.end() && at->second == &job) requests_.erase(at);
}

std::shared_ptr<Job> JobTable::Withdraw(Job& job) {
  std::shared_ptr<Job> gone = job.shared_from_this();
  jobs_.erase(job.sequence);
  ForgetRequest(job);
  if (job.promised) {
    --active_promises_;
    active_bytes_ -= job.promised_bytes;
    RemovePromise(job, job.promised_bytes);
  }
  return gone;
}

std::shared_ptr<Job> JobTable::Find(const Principal& who, const std::string& id) const {
  const auto at = jobs_.find(NumberOf(id));
  if (at == jobs_.end()) return nullptr;
  const bool visible = who.scope == Scope::kAdmin || who.token == at->second->owner.token;
  return visible ? at->second : nullptr;
}

std::shared_ptr<Job> JobTable::FindRequest(const std::string& request_key) const {
  if (request_key.empty()) return nullptr;
  const auto at = requests_.find(request_key);
  return at == requests_.end() ? nullptr : at->second->shared_from_this();
}

absl::Status JobTable::CheckRoom(const Job& job, bool of_part) const {
  if (!job.promised) return absl::OkStatus();
  if (of_part) {
    const auto at = promises_of_.find(job.owner.token);
    const Promises of = at == promises_of_.end() ? Promises() : at->second;
    const std::size_t most = PartOf(limits_.jobs);
    const std::uint64_t most_bytes = PartOf(limits_.bytes);
    if (of.jobs >= most || job.promised_bytes > most_bytes - std::min(most_bytes, of.bytes)) {
      return absl::ResourceExhaustedError(
          absl::StrCat("token \"", job.owner.token, "\" has ", of.jobs, " jobs whose results are kept, of ", of.bytes,
                       " bytes, and this one may have ", job.promised_bytes, " more; one token may have ", most, " of ",
                       most_bytes, " bytes; fetch some (hotplate result JOB)"));
    }
  }
  const std::size_t waiting = promised_.jobs.size();
  const auto refusal = [&](const std::string& limit, const std::string& of_this) {
    return absl::ResourceExhaustedError(absl::StrCat(
        waiting, " ended jobs wait until their results are fetched or, with a request id or large outputs, ",
        DurationText(limits_.time), " are over; ", active_promises_,
        " jobs under way will too: there is no room to keep another result (limit ", limit, of_this,
        "); fetch some (hotplate result JOB), or start the daemon with a larger --", limit,
        " or a shorter --result-retention"));
  };
  if (waiting + active_promises_ >= limits_.jobs) {
    return refusal("retained-jobs", absl::StrCat(": ", limits_.jobs));
  }
  const std::uint64_t taken = std::min(limits_.bytes, promised_.bytes + active_bytes_);
  if (job.promised_bytes > limits_.bytes - taken) {
    return refusal("retained-bytes", absl::StrCat(": ", limits_.bytes, " bytes, of which ", limits_.bytes - taken,
                                                  " are free; this one may have ", job.promised_bytes));
  }
  return absl::OkStatus();
}

JobTable::Shelf& JobTable::ShelfOf(const Job& job) {
  return job.shelf == JobShelf::kPromised ? promised_ : job.shelf == JobShelf::kDelivered ? delivered_ : tiny_;
}

void JobTable::Put(const std::shared_ptr<Job>& job, JobShelf where) {
  job->shelf = where;
  Shelf& shelf = ShelfOf(*job);
  shelf.jobs.emplace_hint(shelf.jobs.end(), job->end_order, job);
  shelf.bytes += job->retained_bytes;
  if (where == JobShelf::kPromised) AddPromise(*job, job->retained_bytes);
}

std::shared_ptr<Job> JobTable::Take(Job& job) {
  Shelf& shelf = ShelfOf(job);
  const auto at = shelf.jobs.find(job.end_order);
  std::shared_ptr<Job> taken = std::move(at->second);
  shelf.jobs.erase(at);
  shelf.bytes -= job.retained_bytes;
  if (job.shelf == JobShelf::kPromised) RemovePromise(job, job.retained_bytes);
  job.shelf = JobShelf::kNone;
  return taken;
}

void JobTable::Ended(const std::shared_ptr<Job>& job) {
  job->end_order = ended_ever_++;
  if (job->promised) {
    --active_promises_;
    active_bytes_ -= job->promised_bytes;
    RemovePromise(*job, job->promised_bytes);
  }
  const bool awaited = job->promised && !job->record().attached &&
                       job->record().state != JobState::kCancelled;  // whoever cancels a job knows its end
  Put(job, job->keeps_request || awaited         ? JobShelf::kPromised
           : job->record().attached && job->tiny ? JobShelf::kTiny
                                                 : JobShelf::kDelivered);
}

void JobTable::Fetched(Job& job) {
  if (job.shelf != JobShelf::kPromised || job.keeps_request || !job.record().owned_arrays.empty()) return;
  Put(Take(job), JobShelf::kDelivered);
}

void JobTable::ResultsDropped(Job& job, std::uint64_t stay) {
  const std::uint64_t bytes = job.retained_bytes - std::min(stay, job.retained_bytes);
  job.retained_bytes -= bytes;
  if (job.shelf != JobShelf::kNone) ShelfOf(job).bytes -= bytes;
  if (job.shelf == JobShelf::kPromised) promises_of_[job.owner.token].bytes -= bytes;
}

bool JobTable::PastTime(const Shelf& shelf, SteadyTime now) const {
  return !shelf.jobs.empty() && now - shelf.jobs.begin()->second->record().end_time >= limits_.time;
}

std::shared_ptr<Job> JobTable::Evict(SteadyTime now) {
  for (Shelf* shelf : {&promised_, &delivered_, &tiny_}) {
    if (PastTime(*shelf, now)) return Remove(*shelf, Limit::kTime);
  }
  if (tiny_.jobs.size() > limits_.jobs) return Remove(tiny_, Limit::kJobs);
  if (!delivered_.jobs.empty() && promised_.jobs.size() + delivered_.jobs.size() > limits_.jobs) {
    return Remove(delivered_, Limit::kJobs);
  }
  if (retained_bytes() <= limits_.bytes) return nullptr;
  // The older of those that would make room.
  Shelf* oldest = nullptr;
  for (Shelf* shelf : {&delivered_, &tiny_}) {
    if (shelf->bytes == 0) continue;
    if (oldest == nullptr || shelf->jobs.begin()->first < oldest->jobs.begin()->first) oldest = shelf;
  }
  return oldest == nullptr ? nullptr : Remove(*oldest, Limit::kBytes);
}

std::shared_ptr<Job> JobTable::Remove(Shelf& shelf, Limit limit) {
  std::shared_ptr<Job> job = Take(*shelf.jobs.begin()->second);
  job->retained_bytes = 0;
  jobs_.erase(job->sequence);
  ForgetRequest(*job);
  gone_[job->sequence % kRemembered] = {job->sequence, limit};
  return job;
}

std::string JobTable::WhyGone(const std::string& id) const {
  const std::uint64_t number = NumberOf(id);
  if (number == 0 || number < first_number_ || number > last_number_ || jobs_.contains(number)) return "";
  const Gone& gone = gone_[number % kRemembered];
  const std::string time =
      absl::StrCat("ended jobs are kept for ", DurationText(limits_.time), " (limit result-retention)");
  const std::string count = absl::StrCat(
      "newer ones took its room, its result having been delivered (limit retained-jobs: ", limits_.jobs, ")");
  if (gone.number != number) return absl::StrCat("it ended, and ", time, ", or ", count);
  switch (gone.limit) {
    case Limit::kTime:
      return absl::StrCat("it ended, and ", time);
    case Limit::kJobs:
      return absl::StrCat("it ended, and ", count);
    case Limit::kBytes:
      return absl::StrCat(
          "it ended, and newer results took its room, its own having been delivered (limit retained-bytes: ",
          limits_.bytes, ")");
  }
  return "";
}

void JobTable::NewestFirst(std::uint64_t before, absl::FunctionRef<bool(const Job&)> visit) const {
  auto at = before == 0 ? jobs_.end() : jobs_.lower_bound(before);
  while (at != jobs_.begin()) {
    --at;
    if (!visit(*at->second)) return;
  }
}

}  // namespace hotplate::core
