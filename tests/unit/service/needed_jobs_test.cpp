// Jobs whose results stay while others need them.
#include "server/durable/needed_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hotplate::server {
namespace {

using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST(NeededJobsTest, WhatWasFetchedGoesWithTheLastThatNeedsIt) {
  NeededJobs needed;
  needed.Add(10, {1, 2});
  needed.Add(11, {1});
  EXPECT_FALSE(needed.MayGo(1));
  EXPECT_THAT(needed.Ended(10), IsEmpty()) << "2 was not fetched, and 11 needs 1";
  EXPECT_TRUE(needed.MayGo(2));
  EXPECT_THAT(needed.Ended(11), UnorderedElementsAre(1));
  EXPECT_TRUE(needed.MayGo(1));
}

TEST(NeededJobsTest, WhatIsForOtherJobsAloneGoesWhenTheseHaveComeAndEnded) {
  NeededJobs needed;
  EXPECT_FALSE(needed.MayGoForJobs(1)) << "none has come yet";
  needed.Add(10, {1, 2});
  EXPECT_TRUE(needed.IsNeeded(1));
  EXPECT_THAT(needed.Ended(10), UnorderedElementsAre(1));
  EXPECT_FALSE(needed.IsNeeded(1));
  EXPECT_TRUE(needed.MayGoForJobs(2)) << "the one that needed it was cancelled before it ended";
}

TEST(NeededJobsTest, WhatNobodyNeedsMayGoAtOnce) {
  NeededJobs needed;
  needed.Add(10, {});
  EXPECT_TRUE(needed.MayGo(10));
  EXPECT_TRUE(needed.MayGo(3));
  EXPECT_THAT(needed.Ended(10), IsEmpty());
  EXPECT_THAT(needed.Ended(99), IsEmpty());
}

TEST(NeededJobsTest, NamesOnlyTheJobsWhoseOutputsAreTaken) {
  core::JobRequest request;
  request.after = {core::JobRef{core::JobId("5")}};
  request.inputs = {{.name = "a", .signature = {}, .source = core::OutputOf{core::JobRef{core::JobId("6")}, "c"}},
                    {.name = "b", .signature = {}, .source = std::string("an array")}};
  EXPECT_THAT(NeedsOf(request), UnorderedElementsAre(6));
}

}  // namespace
}  // namespace hotplate::server
