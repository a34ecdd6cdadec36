// What is told of a daemon's times, where its node's clock is another than this machine's.
#include <gmock/gmock.h>

#include <cstdlib>

#include "client/cli/allocation/text.h"
#include "client/cli/jobs/job_text.h"
#include "client/cli/terminal/format.h"

namespace hotplate::cli {
namespace {

using testing::HasSubstr;

google::protobuf::Timestamp Shifted(std::int64_t by) {
  google::protobuf::Timestamp time = Now();
  time.set_seconds(time.seconds() + by);
  return time;
}

class DaemonClock : public testing::TestWithParam<int> {};  // seconds that it is ahead

TEST_P(DaemonClock, TheTimeLeftIsTheAllocations) {
  v1::GetServerInfoResponse info;
  *info.mutable_now() = Shifted(GetParam());
  *info.mutable_allocation()->mutable_end_time() = info.now();
  info.mutable_allocation()->mutable_end_time()->set_seconds(info.now().seconds() + 1800);
  EXPECT_THAT(EndsText(info), HasSubstr("(in 30 m)"));
  // The time of day is this machine's: within the minute, which may turn while the test runs.
  const std::int64_t end = Now().seconds() + 1800;
  EXPECT_THAT(EndsText(info),
              testing::AnyOf(HasSubstr("ends " + TimeText(end)), HasSubstr("ends " + TimeText(end - 60)),
                             HasSubstr("ends " + TimeText(end + 60))));
}

TEST_P(DaemonClock, AJobWaitsAsLongAsTheDaemonSays) {
  v1::Job job;
  job.set_state(v1::PENDING);
  *job.mutable_submit_time() = Shifted(GetParam());
  *job.mutable_now() = job.submit_time();
  job.mutable_now()->set_seconds(job.submit_time().seconds() + 200);
  EXPECT_THAT(JobTable({job}), HasSubstr("3 m 20 s"));
}

INSTANTIATE_TEST_SUITE_P(Skews, DaemonClock, testing::Values(-600, 0, 600));

TEST(DaemonClockOfOld, IsTakenForThisMachines) {
  v1::GetServerInfoResponse info;
  EXPECT_NEAR(static_cast<double>(NowOf(info).seconds()), static_cast<double>(Now().seconds()), 60);
}

}  // namespace
}  // namespace hotplate::cli
