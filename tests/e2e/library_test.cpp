// The client library against a real daemon: what a program written on it may rely on.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <future>
#include <iterator>
#include <numeric>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "client/lib/client.h"
#include "tests/e2e/daemon_process.h"

namespace hotplate::e2e {
namespace {

using client::Client;
using client::View;

class LibraryTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(daemon_.serving()); }

  Client Connect() { return Connect(daemon_); }
  static Client Connect(const DaemonProcess& daemon) {
    client::ConnectOptions options;
    options.directory = daemon.folder();
    options.server = "test";
    absl::StatusOr<Client> client = Client::Connect(options);
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }

  DaemonProcess daemon_;
};

TEST_F(LibraryTest, ManyThreadsShareOneClient) {
  Client client = Connect();
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 25; ++i) {
        const std::vector<float> a = {static_cast<float>(t), static_cast<float>(i)};
        const auto result = (i % 2 ? client.Run("vector_add", {{"a", View(a, {2})}, {"b", View(a, {2})}})
                                   : client.Execute("vector_add", {{"a", View(a, {2})}, {"b", View(a, {2})}}));
        ASSERT_TRUE(result.ok()) << result.status();
        const auto c = result->Output<float>("c");
        right += c.size() == 2 && c[0] == 2 * a[0] && c[1] == 2 * a[1];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 200);
}

TEST_F(LibraryTest, ManyClientsAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      Client client = Connect();
      std::vector<double> x(200'000, t);  // too large to go inline
      for (int i = 0; i < 3; ++i) {
        const auto result = client.Run("vector_add", {{"a", View(x, {200'000})}, {"b", View(x, {200'000})}});
        ASSERT_TRUE(result.ok()) << result.status();
        const auto c = result->Output<double>("c");
        right += c.size() == x.size() && c.front() == 2 * t && c.back() == 2 * t;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 18);
}

TEST_F(LibraryTest, ManyJobsInFlight) {
  Client client = Connect();
  const std::vector<float> a = {1, 2, 3, 4};
  std::vector<std::future<absl::StatusOr<client::JobResult>>> futures;
  for (int i = 0; i < 500; ++i) {
    futures.push_back(client.RunAsync("vector_add", {{"a", View(a, {4})}, {"b", View(a, {4})}}));
  }
  for (auto& future : futures) {
    const auto result = future.get();
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->Output<float>("c")[3], 8);
  }
}

TEST_F(LibraryTest, ACancellationFromAnotherThreadEndsTheCall) {
  Client client = Connect();
  client::Cancellation cancellation;
  std::promise<void> running;
  client::JobOptions options;
  options.params["n"] = std::int64_t{10'000'000};
  std::atomic<bool> told{false};
  options.on_update = [&](const v1::JobUpdate& update) {
    if (update.has_state_change() && update.state_change().state() == v1::RUNNING && !told.exchange(true)) {
      running.set_value();
    }
  };
  auto call = std::async(std::launch::async, [&] { return client.Run("integrate2d", {}, options, &cancellation); });
  ASSERT_EQ(running.get_future().wait_for(std::chrono::minutes(2)), std::future_status::ready);
  cancellation.Cancel();
  ASSERT_EQ(call.wait_for(std::chrono::minutes(2)), std::future_status::ready);
  const auto result = call.get();
  EXPECT_EQ(result.status().code(), absl::StatusCode::kCancelled) << result.status();
  const auto end = client::EndOf(result.status());
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->state(), v1::CANCELLED);
}

TEST_F(LibraryTest, AProgressIsReported) {
  Client client = Connect();
  client::Cancellation cancellation;
  client::JobOptions options;
  options.params["n"] = std::int64_t{10'000'000};
  options.on_update = [&](const v1::JobUpdate& update) {
    if (update.has_progress() && update.progress().fraction() > 0) cancellation.Cancel();
  };
  // Ends only if progress came.
  EXPECT_EQ(client.Run("integrate2d", {}, options, &cancellation).status().code(), absl::StatusCode::kCancelled);
}

TEST_F(LibraryTest, RefusalsNameTheirFields) {
  Client client = Connect();
  client::JobOptions options;
  options.params["resolution"] = std::int64_t{-1};
  const auto result = client.Run("mandelbrot", {}, options);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument) << result.status();
  const auto violations = client::Violations(result.status());
  ASSERT_EQ(violations.size(), 1U);
  EXPECT_EQ(violations[0].field(), "params.resolution");
  EXPECT_NE(violations[0].description().find("-1"), std::string::npos) << violations[0].description();
}

TEST_F(LibraryTest, ADaemonThatDiesIsAnErrorOfTheConnection) {
  Client client = Connect();
  client::JobOptions options;
  options.params["n"] = std::int64_t{10'000'000};
  std::promise<void> running;
  std::atomic<bool> told{false};
  options.on_update = [&](const v1::JobUpdate& update) {
    if (update.has_state_change() && update.state_change().state() == v1::RUNNING && !told.exchange(true)) {
      running.set_value();
    }
  };
  auto call = client.RunAsync("integrate2d", {}, options);
  ASSERT_EQ(running.get_future().wait_for(std::chrono::minutes(2)), std::future_status::ready);
  daemon_.Kill();
  ASSERT_EQ(call.wait_for(std::chrono::minutes(2)), std::future_status::ready);
  EXPECT_EQ(call.get().status().code(), absl::StatusCode::kUnavailable);
}

// User and system time of a process, in seconds.
double ProcessorSeconds(std::uint64_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string stat((std::istreambuf_iterator<char>(file)), {});
  std::istringstream fields(stat.substr(stat.rfind(')') + 1));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user = 0, system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

// Asked call after call, the daemon waits for the next one awake; when none comes it sleeps.
TEST_F(LibraryTest, ADaemonThatNobodyAsksTakesNoProcessorTime) {
  Client client = Connect();
  const std::vector<float> a = {1, 2};
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(client.Run("vector_add", {{"a", View(a, {2})}, {"b", View(a, {2})}}).ok());
  }
  const std::uint64_t pid = daemon_.record().pid();
  ASSERT_GT(ProcessorSeconds(pid), 0);
  // Of the 0.5 s that a thread that stays awake would take.
  double spent = 1;
  for (int look = 0; look < 50 && spent > 0.1; ++look) {
    const double before = ProcessorSeconds(pid);
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    spent = ProcessorSeconds(pid) - before;
  }
  EXPECT_LT(spent, 0.1);
}

TEST_F(LibraryTest, WhatOneSessionLeavesAnotherFinds) {
  std::vector<float> x(300'000);
  std::iota(x.begin(), x.end(), 0.0F);
  std::string id;
  {
    Client client = Connect();
    client::JobOptions options;
    options.keep["y"] = {.array_name = "left", .lease = std::chrono::hours(1)};
    const auto submitted = client.Submit("selu", {{"x", View(x, {300'000})}}, options);
    ASSERT_TRUE(submitted.ok()) << submitted.status();
    id = *submitted;
  }
  Client other = Connect();
  const auto waited = other.Wait(id);
  ASSERT_TRUE(waited.ok()) << waited.status();
  const auto array = other.Get("left");
  ASSERT_TRUE(array.ok()) << array.status();
  ASSERT_EQ(array->buffer->size(), x.size() * sizeof(float));
  EXPECT_TRUE(other.Free("left").ok());
}

TEST_F(LibraryTest, AClientKeepsItsArraysAsLongAsItIsThere) {
  const DaemonProcess daemon({"--array-bytes", "1MB", "--disconnect-grace", "200ms"});
  ASSERT_TRUE(daemon.serving());
  const std::vector<float> x(200'000, 1);
  const auto put = [&x](Client& client, const std::string& name, std::int64_t elements) {
    return client.Put(View(std::span(x).first(elements), {elements}), {.name = name}).status();
  };
  Client other = Connect(daemon);
  {
    Client first = Connect(daemon);
    ASSERT_TRUE(put(first, "mine", 200'000).ok());
    {
      Client gone = Connect(daemon);
      ASSERT_TRUE(put(gone, "in-the-way", 40'000).ok());
    }
    // It says nothing until the array of a client that left after that has made room, which is at the end of the grace.
    ASSERT_TRUE(WaitUntil([&] { return put(other, "instead", 40'000).ok(); }));
    EXPECT_EQ(put(other, "too-much", 200'000).code(), absl::StatusCode::kResourceExhausted);
    EXPECT_TRUE(first.Get("mine").ok());
    const std::vector<float> few = {1, 2};
    EXPECT_TRUE(first.Run("vector_add", {{"a", View(few, {2})}, {"b", View(few, {2})}}).ok()) << "on the same stream";
  }
  EXPECT_TRUE(WaitUntil([&] { return put(other, "later", 200'000).ok(); }));
}

TEST_F(LibraryTest, AStreamThatMadeRoomIsOpenedAgain) {
  const DaemonProcess daemon({"--max-streams", "1"});
  ASSERT_TRUE(daemon.serving());
  const std::vector<float> x = {1, 2};
  std::vector<Client> clients;
  for (int i = 0; i < 3; ++i) clients.push_back(Connect(daemon));
  for (int i = 0; i < 12; ++i) {
    const auto result = clients[i % 3].Run("vector_add", {{"a", View(x, {2})}, {"b", View(x, {2})}});
    ASSERT_TRUE(result.ok()) << i << ": " << result.status();
    EXPECT_EQ(result->Output<float>("c")[1], 4);
  }
}

}  // namespace
}  // namespace hotplate::e2e
