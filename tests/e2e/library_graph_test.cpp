// Jobs that follow each other, as a program on the client library puts them together (client/lib/job_handle.h).
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/lib/client.h"
#include "client/lib/job_handle.h"
#include "tests/e2e/daemon_process.h"

namespace hotplate::e2e {
namespace {

using client::Client;
using client::JobCall;
using client::JobHandle;
using client::View;
using client::WhenAll;

class LibraryGraphTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(daemon_.serving());
    client::ConnectOptions options;
    options.directory = daemon_.folder();
    options.server = "test";
    absl::StatusOr<Client> client = Client::Connect(options);
    ASSERT_TRUE(client.ok()) << client.status();
    client_.emplace(*std::move(client));
  }

  JobHandle Doubled(const client::JobOptions& options = {}) {
    return client_->Submit({"vector_add", {{"a", View(x_, {2})}, {"b", View(x_, {2})}}, options});
  }
  static JobCall Twice(const JobHandle& job) {
    return {"vector_add", {{"a", job.Output("c")}, {"b", job.Output("c")}}};
  }
  std::size_t JobCount() { return client_->Jobs()->size(); }
  JobHandle Endless() { return client_->Submit({"integrate2d", {}, {.params = {{"n", std::int64_t{10'000'000}}}}}); }
  std::vector<std::string> DependsOn(const JobHandle& job) {
    const auto shown = client_->Job(job.id());
    return shown.ok() ? std::vector<std::string>(shown->depends_on().begin(), shown->depends_on().end())
                      : std::vector<std::string>();
  }

  DaemonProcess daemon_;
  std::optional<Client> client_;
  const std::vector<double> x_ = {1, 2};
};

TEST_F(LibraryGraphTest, AJobTakesWhatTheOneBeforeItMakes) {
  const JobHandle first = Doubled({.for_jobs = {{"c", 1}}});
  const JobHandle last = first.Then(Twice).Then(Twice);
  const auto result = last.Wait();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->Output<double>("c")[1], 16);
  EXPECT_EQ(result->job_id, last.id());
  EXPECT_TRUE(first.Wait()->outputs.empty());  // it was for the other job
}

TEST_F(LibraryGraphTest, NothingIsWaitedForBeforeTheEnd) {
  const JobHandle endless = Endless();
  const JobHandle after = endless.Then([this](const JobHandle&) {
    return JobCall{"vector_add", {{"a", View(x_, {2})}, {"b", View(x_, {2})}}};  // takes nothing of it
  });
  EXPECT_TRUE(after.ok());
  EXPECT_EQ(DependsOn(after), std::vector{endless.id()});
  EXPECT_EQ(client_->Job(after.id())->waits_for(0), endless.id());
  EXPECT_TRUE(endless.Cancel().ok());
  const auto result = after.Wait();
  EXPECT_TRUE(absl::IsCancelled(result.status())) << result.status();
  EXPECT_NE(result.status().message().find("job " + endless.id()), std::string::npos) << result.status();
}

TEST_F(LibraryGraphTest, AJobComesAfterSeveral) {
  const std::vector<JobHandle> before = {Doubled(), Doubled().Then(Twice), Doubled()};
  const client::JobGroup all = WhenAll(before);
  const JobHandle sum = all.Then([](const std::vector<JobHandle>& jobs) {
    return JobCall{"vector_add", {{"a", jobs[0].Output("c")}, {"b", jobs[1].Output("c")}}};
  });
  EXPECT_EQ(DependsOn(sum).size(), 3u);  // of the third it takes nothing
  EXPECT_EQ(sum.Wait()->Output<double>("c")[1], 12);
  const auto results = all.Wait();
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ((*results)[1].Output<double>("c")[0], 4);
}

TEST_F(LibraryGraphTest, WhatFollowsARefusalIsNotSubmitted) {
  const std::vector<double> y(3);
  const JobHandle refused = client_->Submit({"vector_add", {{"a", View(x_, {2})}, {"b", View(y, {3})}}});
  const JobHandle good = Doubled();
  const std::size_t count = JobCount();
  bool called = false;
  const auto next = [&](const auto&) {
    called = true;
    return JobCall{"integrate2d"};
  };
  for (const JobHandle& job :
       {refused, refused.Then(next), WhenAll({good, refused}).Then(next), refused.Then(next).Then(next)}) {
    EXPECT_FALSE(job.ok());
    EXPECT_TRUE(absl::IsInvalidArgument(job.status())) << job.status();
    EXPECT_EQ(job.Wait().status(), refused.status());
    EXPECT_EQ(job.Cancel(), refused.status());
    EXPECT_EQ(job.id(), "");
  }
  EXPECT_FALSE(called);
  EXPECT_EQ(JobCount(), count);
  EXPECT_EQ(WhenAll({good, refused}).status(), refused.status());
  EXPECT_EQ(WhenAll({good, refused}).Wait().status(), refused.status());
}

TEST_F(LibraryGraphTest, ShapesAreCheckedThroughJobsThatHaveNotRun) {
  const JobHandle endless = Endless();
  const JobHandle wrong = endless.Then([this](const JobHandle& job) {
    return JobCall{"matmul", {{"a", job.Output("value")}, {"b", View(x_, {2})}}};
  });
  EXPECT_TRUE(absl::IsInvalidArgument(wrong.status())) << wrong.status();
  const JobHandle absent = endless.Then([](const JobHandle& job) { return JobCall{"norm", {{"x", job.Output("c")}}}; });
  EXPECT_NE(absent.status().message().find("has no output \"c\""), std::string::npos) << absent.status();
  EXPECT_TRUE(endless.Cancel().ok());
}

TEST_F(LibraryGraphTest, AFailureIsToldToThoseThatFollow) {
  const std::vector<double> zeros(4);
  const JobHandle singular = client_->Submit({"solve", {{"a", View(zeros, {2, 2})}, {"b", View(x_, {2})}}});
  const JobHandle after = WhenAll({Doubled(), singular}).Then([](const std::vector<JobHandle>& jobs) {
    return JobCall{"vector_add", {{"a", jobs[0].Output("c")}, {"b", jobs[1].Output("x")}}};
  });
  const auto result = after.Wait();  // it was refused if the failure came first
  EXPECT_FALSE(result.ok());
  EXPECT_NE(result.status().message().find("job " + singular.id() + " (solve) FAILED"), std::string::npos)
      << result.status();
  EXPECT_FALSE(WhenAll({singular, after}).Wait().ok());
}

TEST_F(LibraryGraphTest, JobsOfTwoClientsHaveNoJobBehindThem) {
  client::ConnectOptions options;
  options.directory = daemon_.folder();
  options.server = "test";
  absl::StatusOr<Client> other = Client::Connect(options);
  ASSERT_TRUE(other.ok()) << other.status();
  const JobHandle mine = Doubled();
  const JobHandle theirs = other->Submit({"vector_add", {{"a", View(x_, {2})}, {"b", View(x_, {2})}}});
  const std::size_t count = JobCount();
  const JobHandle both = WhenAll({mine, theirs}).Then([](const auto&) { return JobCall{"integrate2d"}; });
  EXPECT_TRUE(absl::IsInvalidArgument(both.status())) << both.status();
  EXPECT_NE(both.status().message().find("jobs " + mine.id() + " and " + theirs.id() + " are of two clients"),
            std::string::npos)
      << both.status();
  EXPECT_EQ(JobCount(), count);
  Client same = *client_;  // copies are one client
  EXPECT_TRUE(
      WhenAll({mine, same.Submit(Twice(mine))}).Then([](const auto& jobs) { return Twice(jobs[1]); }).Wait().ok());
}

TEST_F(LibraryGraphTest, OfNoJobsThereIsNothingToFollow) {
  EXPECT_TRUE(absl::IsInvalidArgument(WhenAll({}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(WhenAll({}).Wait().status()));
  EXPECT_FALSE(WhenAll({}).Then([](const auto&) { return JobCall{"integrate2d"}; }).ok());
}

}  // namespace
}  // namespace hotplate::e2e
