// Which jobs in the queue follow on the daemon's own.
#include "server/slurm/successors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hotplate::server {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(SuccessorsTest, AreTheJobsOfItsNameThatWaitForItAndForEachOther) {
  const std::string squeue =
      "20|work|afterany:19(unfulfilled)\n"
      "19|work|afterany:18(unfulfilled)\n"
      "21|evaluation|afterany:18(unfulfilled)\n"
      "22|work|(null)\n"
      "23|work|afterany:180(unfulfilled)\n"
      "24|work|afterok:7(unfulfilled),afterany:18(unfulfilled)\n";
  EXPECT_THAT(SuccessorsIn(squeue, "work", "18"), ElementsAre("19", "24", "20"));
  EXPECT_THAT(SuccessorsIn(squeue, "work", "1"), IsEmpty());
  EXPECT_THAT(SuccessorsIn("", "work", "18"), IsEmpty());
  EXPECT_THAT(SuccessorsIn("garbage\n|||\n", "work", "18"), IsEmpty());
}

TEST(SuccessorsTest, JobsThatWaitForEachOtherEndTheSearch) {
  EXPECT_THAT(SuccessorsIn("2|a|afterany:1\n3|a|afterany:2,afterany:3\n", "a", "1"), ElementsAre("2", "3"));
}

}  // namespace
}  // namespace hotplate::server
