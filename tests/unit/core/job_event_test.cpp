// Apply as a table: every event in every state.
#include "server/core/jobs/job_event.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

namespace hotplate::core {
namespace {

using ::testing::HasSubstr;
using Kind = JobEvent::Kind;

constexpr Kind kKinds[] = {Kind::kSubmitted,      Kind::kStarted,    Kind::kCompleted,       Kind::kFailed,
                           Kind::kCancelled,      Kind::kTimedOut,   Kind::kCancelRequested, Kind::kTimeLimitReached,
                           Kind::kClientLost,     Kind::kClientBack, Kind::kDetached,        Kind::kFetched,
                           Kind::kOutputsReleased};

// What a job can be when an event comes. New: it has not been submitted yet.
enum class Was { kNew, kPending, kRunning, kCompleted, kFailed, kCancelled, kTimeout };
constexpr Was kAll[] = {Was::kNew,    Was::kPending,   Was::kRunning, Was::kCompleted,
                        Was::kFailed, Was::kCancelled, Was::kTimeout};

// The whole table, written out: what is not here is refused.
const std::map<Kind, std::set<Was>> kAllowed = {
    {Kind::kSubmitted, {Was::kNew}},
    {Kind::kStarted, {Was::kPending}},
    {Kind::kCompleted, {Was::kRunning}},
    {Kind::kFailed, {Was::kPending, Was::kRunning}},
    {Kind::kCancelled, {Was::kPending, Was::kRunning}},
    {Kind::kTimedOut, {Was::kRunning}},
    {Kind::kCancelRequested, {Was::kPending, Was::kRunning}},
    {Kind::kTimeLimitReached, {Was::kRunning}},
    {Kind::kClientLost, {Was::kPending, Was::kRunning}},
    {Kind::kClientBack, {Was::kPending, Was::kRunning}},
    {Kind::kDetached, {Was::kPending, Was::kRunning}},
    {Kind::kFetched, {Was::kCompleted, Was::kFailed, Was::kCancelled, Was::kTimeout}},
    {Kind::kOutputsReleased, {Was::kCompleted, Was::kFailed, Was::kCancelled, Was::kTimeout}},
};

std::shared_ptr<const JobEnd> EndAs(JobState state) {
  auto end = std::make_shared<JobEnd>();
  end->state = state;
  return end;
}

WallTime Wall(int seconds) { return WallTime(std::chrono::seconds(seconds)); }
SteadyTime Steady(int seconds) { return SteadyTime(std::chrono::seconds(seconds)); }

JobEvent Make(Kind kind, JobState now = JobState::kPending) {
  JobEvent event{.kind = kind, .time = Wall(1), .at = Steady(1)};
  if (kind == Kind::kCompleted) event.end = EndAs(JobState::kCompleted);
  if (kind == Kind::kFailed) event.end = EndAs(JobState::kFailed);
  if (kind == Kind::kCancelled) event.end = EndAs(JobState::kCancelled);
  if (kind == Kind::kTimedOut) event.end = EndAs(JobState::kTimeout);
  if (kind == Kind::kOutputsReleased) event.end = EndAs(now);
  return event;
}

std::shared_ptr<Job> JobThat(Was was) {
  auto job = std::make_shared<Job>();
  const auto happens = [&](JobEvent event) { ASSERT_TRUE(Apply(*job, event).ok()) << Name(event.kind); };
  if (was == Was::kNew) return job;
  JobEvent submitted = Make(Kind::kSubmitted);
  submitted.attached = true;
  happens(submitted);
  if (was == Was::kPending) return job;
  happens(Make(Kind::kStarted));
  if (was == Was::kCompleted) happens(Make(Kind::kCompleted));
  if (was == Was::kFailed) happens(Make(Kind::kFailed));
  if (was == Was::kCancelled) happens(Make(Kind::kCancelled));
  if (was == Was::kTimeout) happens(Make(Kind::kTimedOut));
  return job;
}

// All of a record that events change.
std::string Text(const JobRecord& record) {
  std::string text(Name(record.state));
  for (unsigned i = 0; i < record.change_count; ++i) text += "/" + std::string(Name(record.changes[i].state));
  for (const bool flag : {record.attached, record.fetched, record.time_limit_reached, record.cancel_requested,
                          record.grace_end.has_value(), record.end != nullptr}) {
    text += flag ? "+" : "-";
  }
  return text + record.cancel_reason;
}

TEST(JobEventTest, EveryEventInEveryState) {
  for (const Kind kind : kKinds) {
    ASSERT_TRUE(kAllowed.contains(kind)) << Name(kind);
    for (const Was was : kAll) {
      SCOPED_TRACE(std::string(Name(kind)) + " of " + std::to_string(static_cast<int>(was)));
      const std::shared_ptr<Job> job = JobThat(was);
      const std::string before = Text(job->record());
      const JobState state = job->record().state;
      const absl::Status status = Apply(*job, Make(kind, state));
      if (kAllowed.at(kind).contains(was)) {
        EXPECT_TRUE(status.ok()) << status;
        continue;
      }
      EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
      EXPECT_THAT(std::string(status.message()), HasSubstr(std::string(Name(kind))));
      EXPECT_THAT(std::string(status.message()), HasSubstr(was == Was::kNew ? "new" : std::string(Name(state))));
      EXPECT_EQ(Text(job->record()), before) << "a refused event changes nothing";
    }
  }
}

TEST(JobEventTest, TheStoryOfARunIsNumberedAndKeepsItsDevice) {
  const std::shared_ptr<Job> job = JobThat(Was::kPending);
  JobEvent started = Make(Kind::kStarted);
  started.device = "gpu1";
  started.time = Wall(5);
  started.at = Steady(6);
  ASSERT_TRUE(Apply(*job, started).ok());
  JobEvent completed = Make(Kind::kCompleted);
  completed.time = Wall(7);
  completed.at = Steady(8);
  completed.owned_arrays = {ArrayId("a4")};
  ASSERT_TRUE(Apply(*job, completed).ok());
  const JobRecord& record = job->record();
  ASSERT_EQ(record.change_count, 3u);
  for (unsigned i = 0; i < 3; ++i) EXPECT_EQ(record.changes[i].sequence, i + 1);
  EXPECT_EQ(record.changes[1].device, "gpu1");
  EXPECT_EQ(record.changes[2].device, "gpu1");
  EXPECT_EQ(record.changes[2].time, Wall(7));
  EXPECT_EQ(record.start_time, Steady(6));
  EXPECT_EQ(record.end_time, Steady(8));
  EXPECT_EQ(record.end, completed.end);
  EXPECT_EQ(record.owned_arrays, completed.owned_arrays);
}

TEST(JobEventTest, AnEndThatSaysSomethingElseThanItsEventIsRefused) {
  const std::shared_ptr<Job> job = JobThat(Was::kRunning);
  JobEvent event = Make(Kind::kCompleted);
  event.end = EndAs(JobState::kFailed);
  EXPECT_FALSE(Apply(*job, event).ok());
  event.end = nullptr;
  EXPECT_FALSE(Apply(*job, event).ok());
  EXPECT_EQ(job->record().state, JobState::kRunning);
}

TEST(JobEventTest, ACancelIsAskedForOnce) {
  const std::shared_ptr<Job> job = JobThat(Was::kRunning);
  JobEvent request = Make(Kind::kCancelRequested);
  request.reason = "first";
  EXPECT_TRUE(Apply(*job, request).ok());
  request.reason = "second";
  EXPECT_FALSE(Apply(*job, request).ok());
  EXPECT_EQ(job->record().cancel_reason, "first");
  EXPECT_EQ(job->record().state, JobState::kRunning);
}

TEST(JobEventTest, AClientThatIsBackHasNoGrace) {
  const std::shared_ptr<Job> job = JobThat(Was::kPending);
  JobEvent lost = Make(Kind::kClientLost);
  lost.grace_end = Steady(9);
  ASSERT_TRUE(Apply(*job, lost).ok());
  EXPECT_EQ(job->record().grace_end, Steady(9));
  ASSERT_TRUE(Apply(*job, Make(Kind::kClientBack)).ok());
  EXPECT_FALSE(job->record().grace_end);
}

TEST(JobEventTest, ADetachedJobHasNoClientToLose) {
  const std::shared_ptr<Job> job = JobThat(Was::kRunning);
  ASSERT_TRUE(Apply(*job, Make(Kind::kDetached)).ok());
  EXPECT_FALSE(job->record().attached);
  EXPECT_FALSE(Apply(*job, Make(Kind::kClientLost)).ok());
  EXPECT_FALSE(Apply(*job, Make(Kind::kDetached)).ok());
}

TEST(JobEventTest, NamesAreSlurms) {
  EXPECT_EQ(Name(JobState::kPending), "PENDING");
  EXPECT_EQ(Name(JobState::kRunning), "RUNNING");
  EXPECT_EQ(Name(JobState::kCompleted), "COMPLETED");
  EXPECT_EQ(Name(JobState::kFailed), "FAILED");
  EXPECT_EQ(Name(JobState::kCancelled), "CANCELLED");
  EXPECT_EQ(Name(JobState::kTimeout), "TIMEOUT");
}

}  // namespace
}  // namespace hotplate::core
