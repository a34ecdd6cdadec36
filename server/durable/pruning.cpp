// The pruning of the journal and the spool: when things are old, or when a guest needs the room.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status.h"
#include "kernels/base/stoppable_sleep.h"
#include "server/durable/durable_jobs.h"
#include "server/durable/other_journals.h"
#include "server/service/auth.h"

namespace hotplate::server {
namespace {

using core::LogLevel;
using std::chrono::steady_clock;

constexpr std::chrono::minutes kPruneInterval(1);
constexpr std::chrono::hours kPruneIntervalOfOthers(12);
constexpr std::chrono::seconds kHealthInterval(1);
// Others' jobs wait for the files' thread meanwhile. What is left goes with the guest's next try.
constexpr std::chrono::milliseconds kLongestForAGuest(500);
// A job has so much on the disk beside its request and its arrays: a folder, a receipt, rows of the index. It counts,
// or a million tiny jobs of a guest would have gigabytes that no quota bounds.
constexpr std::uint64_t kBytesBeside = 4096;

// Outputs in files of the user are not in the spool.
std::uint64_t MostResultBytes(const core::Job& job) {
  std::uint64_t bytes = 0;
  for (const core::BoundOutput& output : job.bound.outputs) bytes += output.file == nullptr ? output.bytes : 0;
  return bytes;
}

}  // namespace

absl::StatusOr<journal::PruneReport> DurableJobs::Prune(std::chrono::nanoseconds age) {
  if (journal_ == nullptr) return Accepting();
  age = std::max(age, std::chrono::nanoseconds(1));  // 0 is for no bound
  // The client asks again as long as there is something.
  journal::PruneBounds bounds = NowBounds();
  bounds.age = age;
  bounds.longest = std::chrono::seconds(5);
  bounds.stop = [stop = pruning_.get_stop_token()] { return stop.stop_requested(); };
  return journal::Prune(*journal_, spool_.get(), bounds);
}

// Without an age, and without an end.
journal::PruneBounds DurableJobs::NowBounds() {
  journal::PruneBounds bounds;
  bounds.now = journal::WallTime::clock::now();
  bounds.is_needed = [this](std::uint64_t job) { return needed_.IsNeeded(job); };
  bounds.released = [this](std::uint64_t job) { guests_disk_.Release(job); };
  return bounds;
}

// On a thread that may wait, if the token has a bound (MustWait).
absl::Status DurableJobs::TakeRoom(const core::Job& job, std::uint64_t request,
                                   std::span<const journal::SpooledFile> inputs) {
  const std::string& token = job.owner.token;
  const std::shared_ptr<const core::Allowance> allowance = engine_->AllowanceOf(token);
  if (allowance == nullptr) return absl::OkStatus();
  const GuestsDisk::Wanted wanted{job.sequence, token, request + kBytesBeside, MostResultBytes(job), inputs};
  const auto take = [&] { return guests_disk_.Take(wanted, allowance->array_bytes); };
  absl::Status taken = take();
  if (taken.ok() || !Violations(taken).empty()) return taken;  // or it could never have so much
  MakeRoom(token, [&] { return taken.ok() || (taken = take()).ok(); });
  return taken;
}

void DurableJobs::MakeRoom(const std::string& token, const std::function<bool()>& enough) {
  journal::PruneBounds bounds = NowBounds();
  bounds.age = std::chrono::nanoseconds(1);
  bounds.longest = kLongestForAGuest;
  bounds.stop = enough;
  bounds.is_fetched = [this](std::uint64_t job) { return guests_disk_.IsFetched(job); };
  bounds.owner = token;
  bounds.at_once = 1;
  const absl::StatusOr<journal::PruneReport> pruned = journal::Prune(*journal_, spool_.get(), bounds);
  if (!pruned.ok()) Say(LogLevel::kWarning, absl::StrCat("making room for a guest: ", pruned.status().message()));
}

// Results whose sizes came late (Reserve) found room beside what was fetched alone.
void DurableJobs::KeepGuestsWithin() {
  for (const std::string& token : guests_disk_.WithFetched()) {
    const std::shared_ptr<const core::Allowance> allowance = engine_->AllowanceOf(token);
    if (allowance == nullptr || allowance->array_bytes == 0) continue;
    const auto fits = [&] { return guests_disk_.BytesOf(token) <= allowance->array_bytes; };
    if (!fits()) MakeRoom(token, fits);
  }
}

absl::Status DurableJobs::Reserve(const core::Job& job) {
  const std::shared_ptr<const core::Allowance> allowance = engine_->AllowanceOf(job.owner.token);
  if (allowance == nullptr) return absl::OkStatus();
  guests_disk_.SetResults(job.sequence, job.owner.token, MostResultBytes(job));
  return guests_disk_.CheckResults(job.sequence, allowance->array_bytes);
}

void DurableJobs::CountGuests() {
  const absl::Status counted = journal::EachPartBut(*journal_, kOwnerToken, [this](journal::PartOfJob part) {
    if (!part.file) part.bytes += kBytesBeside;
    guests_disk_.Add(part);
  });
  if (!counted.ok()) {
    Say(LogLevel::kWarning,
        absl::StrCat("what guests' jobs have on the disk does not count against their quota-bytes: ",
                     counted.message()));
  }
}

void DurableJobs::PruneNowAndThen(const std::stop_token& stop) {
  std::string told;
  do {
    arrays_->Look();
    // A release is written down first, which a full disk does not let happen.
    if (const absl::Status healthy = journal_->Accepting(); !healthy.ok()) {
      TellAll(healthy);
    } else {
      arrays_->RemoveGone();
      KeepGuestsWithin();
      Tidy(stop, told);
    }
    TidyOthers(stop);
  } while (SleepUnlessStopped(stop, kHealthInterval));
}

void DurableJobs::Tidy(const std::stop_token& stop, std::string& told) {
  if (steady_clock::now() < next_prune_) return;
  next_prune_ = steady_clock::now() + kPruneInterval;
  journal::PruneBounds bounds = NowBounds();
  bounds.age = options_.age;
  bounds.bytes = options_.limits.bytes;
  bounds.history_age = options_.history_age;
  bounds.stop = [&] { return stop.stop_requested(); };
  const absl::StatusOr<journal::PruneReport> report = journal::Prune(*journal_, spool_.get(), bounds);
  const std::string trouble = !report.ok()            ? std::string(report.status().message())
                              : report->notes.empty() ? ""
                                                      : report->notes.front();
  if (!trouble.empty() && trouble != told) Say(LogLevel::kWarning, absl::StrCat("tidying up the journal: ", trouble));
  told = trouble;
}

void DurableJobs::TidyOthers(const std::stop_token& stop) {
  if (steady_clock::now() < next_prune_of_others_) return;
  next_prune_of_others_ = steady_clock::now() + kPruneIntervalOfOthers;
  PruneOthers({.directory = options_.directory,
               .self = options_.journal.life,
               .history_age = options_.history_age,
               .stop = [&] { return stop.stop_requested(); },
               .log = [this](const std::string& line) { Say(LogLevel::kInfo, line); }});
}

}  // namespace hotplate::server
