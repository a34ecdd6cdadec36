// What calls that nobody waits for leave when they are cancelled, or their client ends: nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/lib/client.h"
#include "tests/unit/client/fake_daemon.h"

namespace hotplate::client {
namespace {

using testing::Eventually;
using testing::FakeDaemon;
using ::testing::HasSubstr;
using testing::Ramp;

class ClosingTest : public ::testing::Test {
 protected:
  ClosingTest() : client_(Client::Connect({.server = "fake", .directory = daemon_.directory()})) {}
  void SetUp() override { ASSERT_TRUE(client_.ok()) << client_.status(); }

  std::map<std::string, Input> Small() { return {{"x", View(small_, {4})}}; }
  std::map<std::string, Input> Large() { return {{"x", View(large_, {3'000'000})}}; }

  const std::vector<float> small_ = Ramp(4), large_ = Ramp(3'000'000);
  FakeDaemon daemon_;
  absl::StatusOr<Client> client_;
};

TEST_F(ClosingTest, EndsWhatIsUnderWay) {
  JobOptions detached;
  detached.detach_on_disconnect = true;
  auto small = client_->RunAsync("hold", Small());
  auto large = client_->RunAsync("hold", Large());
  auto outliving = client_->RunAsync("hold", Small(), detached);
  auto silent = client_->RunAsync("stubborn", Small());
  ASSERT_TRUE(Eventually([&] { return daemon_.running().size() == 4; }));
  client_ = absl::CancelledError("gone");
  for (auto* job : {&small, &large, &outliving, &silent}) {
    const absl::Status status = job->get().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
    EXPECT_EQ(EndOf(status).has_value(), job == &small || job == &large) << "the daemon's own word: " << status;
  }
  EXPECT_EQ(daemon_.array_count(), 0u) << "what was uploaded is freed";
}

TEST_F(ClosingTest, EndsAnUploadAndFreesIt) {
  daemon_.stall_uploads = true;
  auto large = client_->RunAsync("echo", Large());
  ASSERT_TRUE(Eventually([&] { return daemon_.array_count() == 1; }));
  client_ = absl::CancelledError("gone");
  const absl::Status status = large.get().status();
  daemon_.stall_uploads = false;
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled) << status;
  EXPECT_EQ(daemon_.array_count(), 0u);
  EXPECT_EQ(daemon_.jobs_started, 0);
}

TEST_F(ClosingTest, AResultThatNobodyWaitsForIsFreed) {
  // What the call says that is stopped by `stop` while its result is on its way.
  const auto run = [&](JobOptions options, const Cancellation& cancellation, const std::function<void()>& stop) {
    std::atomic<bool> on_its_way = false;
    std::promise<absl::Status> end;
    options.on_download = [&](std::uint64_t, std::uint64_t) { on_its_way = true; };
    const auto done = [&end](const absl::StatusOr<JobResult>& result) { end.set_value(result.status()); };
    client_->RunAsync("echo", Large(), options, done, &cancellation);
    EXPECT_TRUE(Eventually([&] { return on_its_way.load(); }));
    stop();
    const absl::Status status = end.get_future().get();
    EXPECT_EQ(status.code(), absl::StatusCode::kCancelled) << status;
    return std::string(status.message());
  };
  daemon_.stall_downloads = true;
  Cancellation first, second, unused;
  EXPECT_THAT(run({}, first, [&] { first.Cancel(); }), HasSubstr("COMPLETED, and its result did not come"));
  EXPECT_EQ(daemon_.array_count(), 0u);
  JobOptions for_fetch;
  for_fetch.leave_result = true;
  EXPECT_THAT(run(for_fetch, second, [&] { second.Cancel(); }), HasSubstr("while the daemon has it: hotplate result"));
  EXPECT_EQ(daemon_.array_count(), 1u);
  EXPECT_THAT(run({}, unused, [&] { client_ = absl::CancelledError("gone"); }), HasSubstr("it was freed"));
  EXPECT_EQ(daemon_.array_count(), 1u);
}

TEST_F(ClosingTest, ACallbackMayHoldTheLastClient) {
  std::promise<void> done;
  auto last = std::make_shared<Client>(*client_);
  client_ = absl::CancelledError("gone");
  Client* client = last.get();
  client->RunAsync("echo", Small(), {},
                   [&done, last = std::move(last)](const absl::StatusOr<JobResult>& result) mutable {
                     EXPECT_TRUE(result.ok());
                     last.reset();
                     done.set_value();
                   });
  done.get_future().wait();
}

}  // namespace
}  // namespace hotplate::client
