#include "server/core/why.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace hotplate::core {
namespace {

// The entries ahead whose starts are played one by one: where somebody asks, and for each job that is queued.
constexpr std::size_t kPlayedForOne = 256;
constexpr std::size_t kPlayedForEach = 32;
// The jobs of a chain that are looked at.
constexpr int kMostLooks = 64;
constexpr std::size_t kMostOthers = 16;

SeenEntry SeenBy(const Principal& who, const QueueEntry& entry) {
  const Job& job = static_cast<const Job&>(entry);
  const bool visible = who.scope == Scope::kAdmin || job.owner.token == who.token;
  return {job.id, visible ? job.kernel->name() : "", job.control.progress()};
}

// For a forecast that nobody reads a name in.
SeenEntry Nameless(const QueueEntry& entry) { return {{}, {}, static_cast<const Job&>(entry).control.progress()}; }

bool EndsFirst(const WhyReport::Other& a, const WhyReport::Other& b) {
  return a.left.value_or(nanoseconds::max()) < b.left.value_or(nanoseconds::max());
}

void Keep(std::vector<WhyReport::Other> others, WhyReport& report) {
  std::stable_sort(others.begin(), others.end(), EndsFirst);
  if (others.size() > kMostOthers) {
    report.others_left_out = others.size() - kMostOthers;
    others.resize(kMostOthers);
  }
  report.others = std::move(others);
}

WhyReport::Other OtherOf(const Standing::Running& one, const Standing& standing) {
  return {.who = one.who, .device = standing.devices[one.device].id, .bytes = one.occupant.bytes, .left = one.left};
}

// The device, of those where it would have a place, that lacks least memory; null if it has room on one, or no place.
const DeviceNeed* WithoutRoom(const Standing& standing) {
  const DeviceNeed* least = nullptr;
  std::uint64_t lacks = 0;
  for (const DeviceNeed& need : standing.own.needs) {
    const Standing::Device& device = standing.devices[need.device];
    if (device.lost || device.free_places < standing.own.places) continue;
    if (device.room.Fits(need.extra_bytes)) return nullptr;
    const std::uint64_t lack = need.extra_bytes - device.room.left();
    if (least == nullptr || lack < lacks) least = &need, lacks = lack;
  }
  return least;
}

// The device whose limit of its kind is all that keeps it waiting; null: it waits for something else.
const Standing::Device* WhereItsKindIsLimited(const Standing& standing) {
  const Standing::Device* limited = nullptr;
  for (const DeviceNeed& need : standing.own.needs) {
    const Standing::Device& device = standing.devices[need.device];
    if (device.lost || device.free_places < standing.own.places || !device.room.Fits(need.extra_bytes)) continue;
    const auto running = std::count_if(standing.running.begin(), standing.running.end(), [&](const auto& one) {
      return one.beside && one.device == need.device && one.kind == standing.own.kind;
    });
    if (running < device.MostOf(standing.own.kind)) return nullptr;  // it begins there
    limited = &device;
  }
  return limited;
}

// By the order in which they began and wait, as for a job that is not submitted yet.
Outlook MemoryOn(const DeviceNeed& need, const Standing& standing) {
  const Standing::Device& device = standing.devices[need.device];
  Outlook outlook = OutlookNow(device.room, need, /*abandoned=*/0);
  outlook.device = device.id;
  outlook.host_memory = device.host_memory;
  DeviceLine line{.room = device.room, .running = {}, .waiting = {}};
  for (const Standing::Running& one : standing.running) {
    if (one.device == need.device) line.running.push_back({one.who, one.occupant, SteadyTime(-one.so_far), {}});
  }
  std::uint64_t place = 0;
  for (const Standing::Waiting& one : standing.first_ahead) {
    const auto here = std::find_if(one.needs.begin(), one.needs.end(),
                                   [&](const DeviceNeed& other) { return other.device == need.device; });
    if (here == one.needs.end()) continue;
    line.waiting.push_back({one.who, {here->extra_bytes, device.host_memory ? one.kept_bytes : 0}, {}, {0, ++place}});
  }
  LookAhead(need.extra_bytes, std::move(line), outlook);
  return outlook;
}

std::string NoHistory(const SeenEntry& of, const std::string& device) {
  return absl::StrCat("no history of ", of.kernel.empty() ? "another user's job" : of.kernel,
                      device.empty() ? "" : " on ", device, " yet");
}

}  // namespace

Standing Whys::Look(const Job& job, std::size_t limit, const DescribeEntry& describe) const {
  Standing standing = parts_.scheduler.StandingOf(job, limit, describe);
  standing.Foretell(parts_.times);
  return standing;
}

std::optional<nanoseconds> Whys::StartOf(const Job& job) const {
  const Standing standing = Look(job, kPlayedForEach, Nameless);
  if (standing.place != QueueEntry::Place::kQueued) return std::nullopt;
  const std::optional<nanoseconds> starts = ForecastStart(standing).starts_in;
  return starts && *starts > nanoseconds::zero() ? starts : std::nullopt;
}

WhyReport Whys::Of(const Principal& who, const Job& job) const {
  WhyReport report;
  report.job = parts_.jobs.SnapshotOf(job);
  report.now = parts_.clock.WallNow();
  report.allocation_left = parts_.admission.TimeLeft();
  // A sweep's kind is that of its tasks.
  if (job.kind != RunTimes::kMoment && job.sweep == nullptr) report.run_time = parts_.times.Of(job.kind);
  report.waited = report.job.start_time.value_or(report.job.end_time.value_or(report.now)) - report.job.submit_time;
  report.held = std::min(nanoseconds(job.held_for.load()), report.waited);
  report.lacked_room = report.job.state != JobState::kPending && job.lacked_room;
  if (report.job.state == JobState::kPending) {
    OfWaiting(who, job, report);
  } else if (report.job.state == JobState::kRunning) {
    int looks = kMostLooks;
    report.ends_in = EndOf(who, job.id, looks);
    if (!report.ends_in && job.sweep != nullptr) report.no_forecast = "too few of its tasks have ended";
    if (!report.ends_in && job.sweep == nullptr)
      report.no_forecast = NoHistory({job.id, report.job.kernel}, report.job.device);
  }
  return report;
}

void Whys::OfWaiting(const Principal& who, const Job& job, WhyReport& report) const {
  if (parts_.admission.IsLeft(job)) {
    report.cause = WaitCause::kAllocationEnd;
    return;
  }
  if (job.suspended.load()) {
    report.cause = WaitCause::kNextDaemon;
    return;
  }
  if (!report.job.waits_for.empty()) return OfHeld(who, report);
  const Standing standing = Look(job, kPlayedForOne, [&](const QueueEntry& entry) { return SeenBy(who, entry); });
  switch (standing.place) {
    case QueueEntry::Place::kQueued:
      return OfQueued(standing, report);
    case QueueEntry::Place::kAside:
      report.cause = WaitCause::kTurn;
      report.ahead_in_turn = standing.ahead_in_turn;
      report.no_forecast = "the calls of a worker are not foretold";
      return;
    case QueueEntry::Place::kAdmitted:
      report.cause = job.sweep != nullptr ? WaitCause::kPlace : WaitCause::kJournal;
      if (job.sweep == nullptr) return;
      report.places = "a lane for its first task";
      report.no_forecast = "when tasks begin is not foretold";
      return;
    case QueueEntry::Place::kOut:  // it begins
      report.starts_in = nanoseconds::zero();
      return;
  }
}

void Whys::OfHeld(const Principal& who, WhyReport& report) const {
  report.cause = WaitCause::kJobs;
  std::vector<WhyReport::Other> others;
  nanoseconds last{};
  std::string unknown;
  int looks = kMostLooks;
  for (const JobId& id : report.job.waits_for) {
    const absl::StatusOr<std::shared_ptr<Job>> other = parts_.jobs.Find(who, id);
    if (!other.ok()) continue;
    const JobSnapshot seen = parts_.jobs.SnapshotOf(**other);
    if (IsEnd(seen.state)) continue;
    WhyReport::Other& one = others.emplace_back();
    one.who = {id, seen.kernel};
    one.state = seen.state;
    one.device = seen.device;
    one.left = EndOf(who, id, looks);
    if (!seen.waits_for.empty()) one.waits_for = seen.waits_for.front();
    if (one.left) last = std::max(last, *one.left);
    if (!one.left && unknown.empty()) unknown = absl::StrCat("the end of job ", id.value(), " cannot be foretold");
  }
  Keep(std::move(others), report);
  if (unknown.empty()) {
    report.starts_in = last;
  } else {
    report.no_forecast = unknown;
  }
}

void Whys::OfQueued(const Standing& standing, WhyReport& report) const {
  report.ahead = standing.ahead;
  const DeviceNeed* const without_room = report.ahead.all() == 0 ? WithoutRoom(standing) : nullptr;
  if (without_room != nullptr) {
    report.cause = WaitCause::kMemory;
    report.memory = MemoryOn(*without_room, standing);
  } else {
    const Standing::Device* const limited = report.ahead.all() == 0 ? WhereItsKindIsLimited(standing) : nullptr;
    report.cause = report.ahead.all() > 0 ? WaitCause::kOrder
                   : limited != nullptr   ? WaitCause::kKind
                                          : WaitCause::kPlace;
    if (limited != nullptr) {
      report.most_together = limited->MostOf(standing.own.kind);
      report.limited_on = limited->id;
    }
  }
  std::vector<std::string> devices;
  for (const DeviceNeed& need : standing.own.needs) {
    if (!standing.devices[need.device].lost) devices.push_back(standing.devices[need.device].id);
  }
  const bool for_worker = standing.for_worker;
  report.places = absl::StrCat(for_worker ? "workers' places of " : "a lane of ", absl::StrJoin(devices, " or "));
  std::vector<WhyReport::Other> others;
  for (const Standing::Running& one : standing.running) {
    bool in_way = one.beside;
    if (without_room != nullptr) in_way = one.device == without_room->device && one.occupant.bytes > 0;
    if (report.cause == WaitCause::kKind) in_way = one.beside && one.kind == standing.own.kind;
    if (in_way) others.push_back(OtherOf(one, standing));
  }
  Keep(std::move(others), report);
  const StartForecast forecast = ForecastStart(standing);
  if (forecast.starts_in) {
    report.starts_in = parts_.bias.Corrected(*forecast.starts_in);
    return;
  }
  report.no_forecast = forecast.unknown ? NoHistory(*forecast.unknown, devices.size() == 1 ? devices.front() : "")
                                        : "no job's end makes room for it";
}

std::optional<nanoseconds> Whys::EndOf(const Principal& who, const JobId& id, int& looks) const {
  if (--looks < 0) return std::nullopt;
  const absl::StatusOr<std::shared_ptr<Job>> found = parts_.jobs.Find(who, id);
  if (!found.ok()) return std::nullopt;
  const Job& job = **found;
  const JobSnapshot seen = parts_.jobs.SnapshotOf(job);
  if (IsEnd(seen.state)) return nanoseconds::zero();
  const std::optional<RunTimes::Estimate> run = job.sweep != nullptr ? std::nullopt : parts_.times.Of(job.kind);
  if (seen.state == JobState::kRunning) {
    const nanoseconds so_far =
        std::max<nanoseconds>(parts_.clock.WallNow() - seen.start_time.value_or(seen.submit_time), nanoseconds::zero());
    return TimeLeft(run ? std::optional(run->median) : std::nullopt, so_far, job.control.progress());
  }
  if (job.suspended.load() || !run) return std::nullopt;
  nanoseconds starts{};
  if (!seen.waits_for.empty()) {
    for (const JobId& other : seen.waits_for) {
      const std::optional<nanoseconds> end = EndOf(who, other, looks);
      if (!end) return std::nullopt;
      starts = std::max(starts, *end);
    }
  } else {
    const StartForecast forecast = ForecastStart(Look(job, kPlayedForEach, Nameless));
    if (!forecast.starts_in) return std::nullopt;
    starts = parts_.bias.Corrected(*forecast.starts_in);
  }
  return starts + run->median;
}

}  // namespace hotplate::core
