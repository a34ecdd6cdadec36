#include "server/service/call_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

namespace hotplate::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class CallWatchTest : public ::testing::Test {
 protected:
  static CallWatch::Options OptionsFor(CallWatchTest& test) {
    CallWatch::Options options;
    options.most_of_one = 4;
    options.most = 10;
    options.drop = [&test](const std::string& peer) {
      test.dropped_.push_back(peer);
      return true;
    };
    options.warn = [&test](const std::string& line) { test.warned_.push_back(line); };
    return options;
  }
  // The calls are told apart by their addresses alone.
  void Begin(int count, const std::string& peer) {
    for (int i = 0; i < count; ++i) watch_.Begin(&calls_.emplace_back(), peer);
  }
  void EndAll() {
    for (const grpc::CallbackServerContext& call : calls_) watch_.End(&call);
    calls_.clear();
  }

  std::vector<std::string> dropped_, warned_;
  std::deque<grpc::CallbackServerContext> calls_;
  CallWatch watch_{OptionsFor(*this)};
};

TEST_F(CallWatchTest, EndsAConnectionBeyondItsBoundOnce) {
  Begin(4, "ipv4:10.0.0.7:1");
  EXPECT_THAT(dropped_, IsEmpty());
  Begin(3, "ipv4:10.0.0.7:1");  // the last two had been read before
  EXPECT_THAT(dropped_, ElementsAre("ipv4:10.0.0.7:1"));
  ASSERT_THAT(warned_, SizeIs(1));
  EXPECT_THAT(warned_[0], HasSubstr("10.0.0.7 with 5 calls under way; one may have 4, and all together 10"));
  EndAll();
  Begin(5, "ipv4:10.0.0.7:1");
  EXPECT_THAT(dropped_, SizeIs(2)) << "another connection that has the port by now";
  EXPECT_THAT(warned_, SizeIs(1)) << "a minute has not passed";
}

TEST_F(CallWatchTest, CallsThatHaveEndedCountNoMore) {
  for (int round = 0; round < 20; ++round) {
    Begin(4, "ipv4:10.0.0.7:1");
    EndAll();
  }
  EXPECT_THAT(dropped_, IsEmpty());
}

TEST_F(CallWatchTest, BeyondTheBoundOfAllTheLargestIsEndedAndNobodyElseForItsCalls) {
  Begin(4, "a:1");
  Begin(3, "b:1");
  Begin(3, "c:1");
  EXPECT_THAT(dropped_, IsEmpty());
  Begin(1, "d:1");
  EXPECT_THAT(dropped_, ElementsAre("a:1"));
  Begin(3, "d:1");
  EXPECT_THAT(dropped_, SizeIs(1)) << "those of the first are as good as gone";
  Begin(1, "e:1");
  EXPECT_THAT(dropped_, ElementsAre("a:1", "d:1"));
}

}  // namespace
}  // namespace hotplate::server
