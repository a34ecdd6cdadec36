#include "server/service/outbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hotplate::server {
namespace {

core::StateChange Event(std::uint64_t sequence, core::JobState state) {
  core::StateChange event;
  event.sequence = sequence;
  event.state = state;
  return event;
}

std::shared_ptr<const core::JobEnd> End(std::size_t bytes = 4) {
  core::JobEnd end;
  end.outputs.push_back({"y", {DType::kUInt8, {static_cast<std::int64_t>(bytes)}}, HostBuffer::Allocate(bytes), {}});
  return std::make_shared<const core::JobEnd>(std::move(end));
}

std::vector<v1::JobUpdate> TakeAll(Outbox& outbox) {
  google::protobuf::RepeatedPtrField<v1::JobUpdate> updates;
  outbox.Take().FillInto(updates, {});
  return {updates.begin(), updates.end()};
}

const core::JobId kJob("7");

TEST(OutboxTest, AWatcherSeesEveryStateInOrder) {
  Outbox outbox(Outbox::StatesBeforeEnd::kSent);
  outbox.AddState(1, kJob, Event(1, core::JobState::kPending));
  outbox.AddState(1, kJob, Event(2, core::JobState::kRunning));
  outbox.AddProgress(1, kJob, {0.25});
  outbox.AddEnd(1, kJob, "selu", 3, End());
  const std::vector<v1::JobUpdate> updates = TakeAll(outbox);
  ASSERT_EQ(updates.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(updates[i].sequence(), i + 1);
  EXPECT_EQ(updates[0].state_change().state(), v1::PENDING);
  EXPECT_TRUE(updates[2].has_end());
  EXPECT_TRUE(outbox.empty());
}

TEST(OutboxTest, OnARunStreamTheEndOvertakesUnsentStatesOfItsJobOnly) {
  Outbox outbox(Outbox::StatesBeforeEnd::kDropped);
  outbox.AddState(1, kJob, Event(1, core::JobState::kPending));
  outbox.AddState(2, core::JobId("8"), Event(1, core::JobState::kPending));
  outbox.AddEnd(1, kJob, "selu", 3, End());
  const std::vector<v1::JobUpdate> updates = TakeAll(outbox);
  ASSERT_EQ(updates.size(), 2u);
  EXPECT_EQ(updates[0].tag(), 2u);
  EXPECT_EQ(updates[1].tag(), 1u);
  EXPECT_TRUE(updates[1].has_end());
}

TEST(OutboxTest, OnlyTheNewestProgressIsKept) {
  Outbox outbox(Outbox::StatesBeforeEnd::kSent);
  for (int i = 0; i < 1000; ++i) outbox.AddProgress(1, kJob, {i * 0.001});
  const std::vector<v1::JobUpdate> updates = TakeAll(outbox);
  ASSERT_EQ(updates.size(), 1u);
  EXPECT_DOUBLE_EQ(updates[0].progress().fraction(), 0.999);
  EXPECT_EQ(updates[0].sequence(), 0u);
}

TEST(OutboxTest, MessagesAreBounded) {
  Outbox outbox(Outbox::StatesBeforeEnd::kDropped);
  for (std::uint64_t tag = 0; tag < 10; ++tag) outbox.AddEnd(tag, kJob, "selu", 3, End(400 << 10));
  std::vector<std::size_t> sizes;
  std::uint64_t next = 0;
  while (!outbox.empty()) {
    const std::vector<v1::JobUpdate> updates = TakeAll(outbox);
    sizes.push_back(updates.size());
    for (const v1::JobUpdate& update : updates) EXPECT_EQ(update.tag(), next++);
  }
  EXPECT_THAT(sizes, testing::ElementsAre(3, 3, 3, 1));
}

TEST(OutboxTest, SaysWhenItHoldsTooMuchUntilEnoughIsTaken) {
  Outbox outbox(Outbox::StatesBeforeEnd::kDropped);
  EXPECT_FALSE(outbox.overfull());
  for (std::uint64_t tag = 0; tag < 8; ++tag) outbox.AddEnd(tag, kJob, "selu", 3, End(1 << 20));
  EXPECT_TRUE(outbox.overfull());
  TakeAll(outbox);
  EXPECT_FALSE(outbox.overfull());
  while (!outbox.empty()) TakeAll(outbox);

  std::uint64_t refusals = 0;
  for (; !outbox.overfull() && refusals < 100'000; ++refusals) outbox.AddRefusal(refusals, absl::NotFoundError("no"));
  EXPECT_LT(refusals, 20'000u) << "small ones count too";
}

TEST(OutboxTest, RefusalsAndNotices) {
  Outbox outbox(Outbox::StatesBeforeEnd::kDropped);
  outbox.AddRefusal(5, absl::InvalidArgumentError("no"));
  outbox.AddNotice("bye", 3.5);
  const std::vector<v1::JobUpdate> updates = TakeAll(outbox);
  ASSERT_EQ(updates.size(), 2u);
  EXPECT_EQ(updates[0].tag(), 5u);
  EXPECT_EQ(updates[0].refused().message(), "no");
  EXPECT_EQ(updates[1].notice().text(), "bye");
  EXPECT_EQ(updates[1].notice().seconds_left(), 3.5);
}

}  // namespace
}  // namespace hotplate::server
