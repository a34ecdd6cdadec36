#include "server/core/jobs/dependencies.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/array/quoted.h"
#include "kernels/base/status.h"
#include "server/core/jobs/job_event.h"
#include "server/core/jobs/job_refs.h"
#include "server/core/named_status.h"

namespace hotplate::core {
namespace {

std::string Title(const Job& job) { return absl::StrCat("job ", job.id.value(), " (", job.spec().name(), ")"); }

// How a job ended that did not complete.
std::string HowItEnded(const Job& job, const JobEnd& end) {
  if (end.state != JobState::kFailed) return std::string(end.error.message());  // which names the job
  return absl::StrCat(Title(job), " FAILED: ", end.error.message());
}

absl::Status NoOutput(const Job& job, const std::string& output, const std::string& there_are) {
  return absl::InvalidArgumentError(
      absl::StrCat(Title(job), " has no output ", Quoted(output), "; it has ", there_are));
}

const JobOutputValue* OutputIn(const JobEnd& end, const std::string& output) {
  const auto at =
      std::find_if(end.outputs.begin(), end.outputs.end(), [&](const auto& one) { return one.name == output; });
  return at == end.outputs.end() ? nullptr : &*at;
}

std::set<std::string> OutputsOf(const JobId& job, const std::vector<Dependencies::Wanted>& wanted) {
  std::set<std::string> outputs;
  for (const Dependencies::Wanted& one : wanted) {
    if (one.job == job) outputs.insert(one.output);
  }
  return outputs;
}

}  // namespace

absl::StatusOr<std::shared_ptr<Job>> Dependencies::Find(const Principal& who, const JobRef& ref) const {
  if (ref.request_id.empty()) return jobs_.Find(who, ref.id);
  const std::shared_ptr<Job> job = jobs_.FindRequest(JobTable::RequestKey(who.token, ref.request_id));
  if (job != nullptr) return jobs_.Find(who, job->id);
  return absl::NotFoundError(
      absl::StrCat("no job of request id ", Quoted(ref.request_id), " goes on, or is kept after its end"));
}

absl::StatusOr<Dependencies::Taken> Dependencies::Take(const Principal& who, const Job& job, const JobEnd& end,
                                                       const std::string& output) const {
  const JobOutputValue* const value = OutputIn(end, output);
  if (value == nullptr) {
    std::vector<std::string> names;
    for (const JobOutputValue& one : end.outputs) names.push_back(one.name);
    return NoOutput(job, output, names.empty() ? "none" : absl::StrJoin(names, ", "));
  }
  if (value->data != nullptr) return Taken{value->signature, value->data};
  if (!value->path.empty()) return Taken{value->signature, StoredArray{value->path}};
  if (value->stored) {
    return absl::FailedPreconditionError(absl::StrCat("the output ", Quoted(output), " of ", Title(job),
                                                      " is in files, and could not be read from them"));
  }
  if (value->array.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(Title(job), " has ended, and its output ", Quoted(output),
                                                      " went to its client and was not kept"));
  }
  absl::StatusOr<ArrayStore::Reader> reader = arrays_.Open(who, value->array.value());
  if (!reader.ok()) {
    return absl::Status(reader.status().code(), absl::StrCat("the output ", Quoted(output), " of ", Title(job), ": ",
                                                             reader.status().message()));
  }
  return Taken{value->signature, std::move(reader->buffer)};
}

void Dependencies::CountTaken(Job& job, const std::set<std::string>& outputs) {
  for (const std::string& output : outputs) {
    const auto at = job.takers.find(output);
    if (at != job.takers.end() && at->second > 0) --at->second;
  }
}

void Dependencies::FreeUntaken(const Job& job, const JobEnd& end) {
  for (const JobOutputValue& output : end.outputs) {
    const auto takers = job.takers.find(output.name);
    if (!output.for_jobs || takers == job.takers.end() || takers->second > 0) continue;
    arrays_.Free(job.owner, output.array.value()).IgnoreError();  // its device may be lost, and the array with it
  }
}

absl::StatusOr<Dependencies::Lookup> Dependencies::LookUp(const Principal& who, JobRequest& request, bool restored,
                                                          bool* never) const {
  Lookup lookup;
  std::set<JobId> known;
  const auto look = [&](const std::string& field, const JobRef& ref,
                        const std::string& output) -> absl::StatusOr<std::pair<std::shared_ptr<Job>, Jobs::Making>> {
    absl::StatusOr<std::shared_ptr<Job>> job = Find(who, ref);
    if (!job.ok()) {
      if (never != nullptr) *never = !ref.request_id.empty();
      return About(field, job.status());
    }
    Jobs::Making making = jobs_.MakingOf(**job, output);
    if (known.insert((*job)->id).second) lookup.jobs.push_back((*job)->id);
    if (never != nullptr) *never = making.end != nullptr && making.end->state != JobState::kCompleted;
    if (making.end == nullptr) {
      lookup.waits = true;
    } else if (restored && making.end->state == JobState::kCancelled) {
      return absl::CancelledError(HowItEnded(**job, *making.end));
    } else if (making.end->state != JobState::kCompleted) {
      return About(field, absl::InvalidArgumentError(HowItEnded(**job, *making.end)));
    }
    return std::pair(*std::move(job), std::move(making));
  };
  for (const JobRef& ref : request.after) {
    if (const auto found = look("after", ref, ""); !found.ok()) return found.status();
  }
  for (JobInput& input : request.inputs) {
    auto* const wanted = std::get_if<OutputOf>(&input.source);
    if (wanted == nullptr) continue;
    const std::string field = "inputs." + input.name;
    const auto found = look(field, wanted->job, wanted->output);
    if (!found.ok()) return found.status();
    const auto& [job, making] = *found;
    if (making.end == nullptr) {
      if (!making.other_names.empty()) return About(field, NoOutput(*job, wanted->output, making.other_names));
      lookup.wanted.push_back({input.name, job->id, wanted->output});
      if (making.signature) {
        input.signature = *making.signature;
      } else if (lookup.unknown.empty()) {
        lookup.unknown = absl::StrCat(field, ", the output ", Quoted(wanted->output), " of ", Title(*job));
      }
      wanted->device = making.device;
      continue;
    }
    const std::string output = wanted->output;
    const JobOutputValue* const value = OutputIn(*making.end, output);
    if (value != nullptr && !value->array.empty() && !value->for_jobs) {
      input.source = value->array.value();  // the array may be on a device, where the job is to run then
      continue;
    }
    absl::StatusOr<Taken> taken = Take(who, *job, *making.end, output);
    if (!taken.ok()) return About(field, taken.status());
    input.signature = std::move(taken->signature);
    input.source = std::move(taken->source);
    lookup.taken.emplace_back(job, output);
  }
  return lookup;
}

void Dependencies::CountTaken(const Lookup& lookup) {
  OutputsByJob taken;
  for (const auto& [job, output] : lookup.taken) taken[job].insert(output);
  CountTaken(taken);
}

void Dependencies::Leave(const Principal& who, const std::string& request_id, const std::vector<JobInput>& inputs) {
  OutputsByJob left;
  for (const JobInput& input : inputs) {
    const auto* const wanted = std::get_if<OutputOf>(&input.source);
    if (wanted == nullptr) continue;
    if (const absl::StatusOr<std::shared_ptr<Job>> job = Find(who, wanted->job); job.ok()) {
      left[*job].insert(wanted->output);
    }
  }
  if (!request_id.empty()) {
    MutexLock lock(mutex_);
    std::erase_if(left, [&](const auto& one) { return !one.first->left_by.insert(request_id).second; });
  }
  CountTaken(left);
}

void Dependencies::CountTaken(const OutputsByJob& taken) {
  MutexLock lock(mutex_);
  for (const auto& [job, outputs] : taken) {
    CountTaken(*job, outputs);
    if (const auto end = jobs_.MakingOf(*job, "").end; end != nullptr) FreeUntaken(*job, *end);
  }
}

void Dependencies::Note(Held& held, Job& ended, const JobEnd& end) {
  const auto fail = [&](JobState as, std::string cause) {
    if (held.failed_as != JobState::kCompleted) return;  // the first counts
    held.failed_as = as;
    held.cause = std::move(cause);
  };
  if (end.state != JobState::kCompleted) {
    const JobState as = end.state == JobState::kCancelled ? JobState::kCancelled : JobState::kFailed;
    return fail(as, ended.cause.empty() ? HowItEnded(ended, end) : ended.cause);
  }
  for (const Wanted& wanted : held.wanted) {
    if (wanted.job != ended.id) continue;
    absl::StatusOr<Taken> taken = Take(held.job->owner, ended, end, wanted.output);
    if (taken.ok()) {
      held.taken[wanted.input] = *std::move(taken);
    } else {
      fail(JobState::kFailed, std::string(taken.status().message()));
    }
  }
  CountTaken(ended, OutputsOf(ended.id, held.wanted));
}

std::optional<Dependencies::Held> Dependencies::Hold(Held held) {
  const std::shared_ptr<Job> job = held.job;
  MutexLock lock(mutex_);
  ++waiting_;  // before it looks at the others: whoever ends from then on comes to Ended
  Waiting& waiting = held_[job.get()];
  waiting.held = std::move(held);
  for (const JobId& id : job->depends_on) {
    const absl::StatusOr<std::shared_ptr<Job>> other = jobs_.Find(job->owner, id);
    if (!other.ok()) {
      waiting.held.failed_as = JobState::kFailed;
      waiting.held.cause = std::string(other.status().message());
      continue;
    }
    if (const Jobs::Making making = jobs_.MakingOf(**other, ""); making.end != nullptr) {
      Note(waiting.held, **other, *making.end);
      FreeUntaken(**other, *making.end);
    } else {
      waiting.remaining.push_back(id);
      dependants_[id].emplace(job->sequence, job.get());
    }
  }
  if (!IsOver(waiting)) return std::nullopt;
  return TakeOut(*job);
}

Dependencies::Held Dependencies::TakeOut(const Job& job) {
  Waiting waiting = std::move(held_.extract(&job).mapped());
  --waiting_;
  for (const JobId& id : waiting.remaining) {
    const auto at = dependants_.find(id);
    at->second.erase(job.sequence);
    if (at->second.empty()) dependants_.erase(at);
    const absl::StatusOr<std::shared_ptr<Job>> other = jobs_.Find(job.owner, id);
    if (other.ok()) CountTaken(**other, OutputsOf(id, waiting.held.wanted));
  }
  waiting.held.job->cause = waiting.held.cause;
  return std::move(waiting.held);
}

bool Dependencies::Acknowledge(const Job& job, std::optional<Held>& over) {
  MutexLock lock(mutex_);
  const auto at = held_.find(&job);
  if (at == held_.end()) return false;
  at->second.held.acknowledged = true;
  if (IsOver(at->second)) over = TakeOut(job);
  return true;
}

void Dependencies::Withdraw(const Job& job) {
  MutexLock lock(mutex_);
  if (held_.contains(&job)) TakeOut(job);
}

std::vector<Dependencies::Held> Dependencies::Ended(Job& job) {
  std::vector<Held> over;
  if (waiting_.load() == 0 && job.takers.empty()) return over;
  const std::shared_ptr<const JobEnd> end = jobs_.MakingOf(job, "").end;
  MutexLock lock(mutex_);
  if (held_.contains(&job)) TakeOut(job);  // it was cancelled, for one
  if (const auto dependants = dependants_.extract(job.id); !dependants.empty()) {
    for (const auto& [sequence, dependant] : dependants.mapped()) {
      Waiting& waiting = held_.at(dependant);
      std::erase(waiting.remaining, job.id);
      Note(waiting.held, job, *end);
      if (IsOver(waiting)) over.push_back(TakeOut(*dependant));
    }
  }
  FreeUntaken(job, *end);
  return over;
}

}  // namespace hotplate::core
