#include "server/service/file_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <utility>

namespace hotplate::server {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class FileThreadTest : public testing::Test {
 protected:
  // A test that failed half-way leaves it closed, and the thread would wait for ever.
  ~FileThreadTest() override { Open(); }

  void Open() {
    if (!std::exchange(opened_, true)) open_.set_value();
  }

  void Hold() {
    const auto held = std::make_shared<std::promise<void>>();
    const auto task = [held, open = open_.get_future().share()] {
      held->set_value();
      open.wait();
    };
    ASSERT_TRUE(thread_.Post(0, task).ok());
    held->get_future().wait();
  }

  std::promise<void> open_;
  bool opened_ = false;
  int ran_ = 0;        // on the thread
  FileThread thread_;  // the first to go: it ends when all has run
};

TEST_F(FileThreadTest, BytesAreBounded) {
  Hold();
  constexpr std::uint64_t kHalf = FileThread::kMostBytes / 2;
  EXPECT_TRUE(thread_.Post(kHalf, [this] { ++ran_; }).ok());
  EXPECT_TRUE(thread_.Post(kHalf, [this] { ++ran_; }).ok());
  const absl::Status full = thread_.Post(1, [this] { ran_ += 1000; });
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(full.message()), AllOf(HasSubstr("67108864"), HasSubstr("would add 1"), HasSubstr("limit")));
  Open();
  const auto last = std::make_shared<std::promise<void>>();
  absl::Status posted = full;
  while (!posted.ok()) posted = thread_.Post(kHalf, [last] { last->set_value(); });
  last->get_future().wait();
  EXPECT_EQ(ran_, 2);
}

TEST_F(FileThreadTest, WhatHangsHoldsUpOneOfSeveralThreads) {
  FileThread two(2);
  std::promise<void> go;
  std::shared_future<void> gone = go.get_future().share();
  const auto run = [&two](std::function<void()> task) {
    auto ran = std::make_shared<std::promise<void>>();
    EXPECT_TRUE(two.Post(1,
                         [task, ran] {
                           task();
                           ran->set_value();
                         })
                    .ok());
    return ran->get_future();
  };
  std::future<void> first = run([gone] { gone.wait(); });
  for (int i = 0; i < 3; ++i) run([] {}).wait();
  std::future<void> second = run([gone] { gone.wait(); }), third = run([] {});
  EXPECT_EQ(third.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout) << "there are no more";
  go.set_value();
  for (std::future<void>* const one : {&first, &second, &third}) one->wait();
}

TEST_F(FileThreadTest, OneLargeTaskAloneRuns) {
  const auto done = std::make_shared<std::promise<void>>();
  EXPECT_TRUE(thread_.Post(FileThread::kMostBytes * 2, [done] { done->set_value(); }).ok());
  done->get_future().wait();
}

TEST_F(FileThreadTest, TasksAreBounded) {
  Hold();
  for (std::size_t i = 0; i < FileThread::kMostTasks; ++i) ASSERT_TRUE(thread_.Post(0, [] {}).ok());
  const absl::Status full = thread_.Post(0, [] {});
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(full.message()), AllOf(HasSubstr("1024"), HasSubstr("limit")));
  Open();
}

}  // namespace
}  // namespace hotplate::server
