#include "server/core/job_table.h"

#include <charconv>
#include <utility>

#include "absl/strings/str_cat.h"

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
  job->sequence = number;
  job->id = JobId(absl::StrCat(job->sequence));
  jobs_.emplace_hint(jobs_.end(), job->sequence, job);
  if (!job->request_key.empty()) requests_.emplace(job->request_key, job.get());
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

void JobTable::Ended(const std::shared_ptr<Job>& job) {
  ended_.push_back(job);
  retained_bytes_ += job->retained_bytes;
  ++ended_ever_;
}

void JobTable::ResultsDropped(Job& job) { retained_bytes_ -= std::exchange(job.retained_bytes, 0); }

std::shared_ptr<Job> JobTable::Evict(SteadyTime now) {
  if (ended_.empty()) return nullptr;
  const bool over = ended_.size() > limits_.jobs || retained_bytes_ > limits_.bytes;
  if (!over && now - ended_.front()->end_time < limits_.time) return nullptr;
  std::shared_ptr<Job> job = std::move(ended_.front());
  ended_.pop_front();
  ResultsDropped(*job);
  jobs_.erase(job->sequence);
  if (!job->request_key.empty()) requests_.erase(job->request_key);
  return job;
}

void JobTable::NewestFirst(std::uint64_t before, absl::FunctionRef<bool(const Job&)> visit) const {
  auto at = before == 0 ? jobs_.end() : jobs_.lower_bound(before);
  while (at != jobs_.begin()) {
    --at;
    if (!visit(*at->second)) return;
  }
}

}  // namespace hotplate::core
