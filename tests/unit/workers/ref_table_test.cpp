// Which memory means which object of which worker, and what a worker is to let go of.
#include "server/workers/ref_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace hotplate::server {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class RefTableTest : public testing::Test {
 protected:
  static std::shared_ptr<const WorkerFacts> Worker(std::uint64_t id) {
    return std::make_shared<const WorkerFacts>(WorkerFacts{id, 4711, "cpu0", nullptr});
  }
  std::shared_ptr<const HostBuffer> Add(std::uint64_t worker, std::uint64_t number) {
    return table_->Add(Worker(worker), {number, "Model"}, core::SessionId("s"), HostBuffer::Allocate(1));
  }

  std::unique_ptr<RefTable> table_ = std::make_unique<RefTable>();
};

TEST_F(RefTableTest, MemoryMeansItsObjectUntilItGoes) {
  const auto model = Add(1, 7);
  const auto plain = HostBuffer::Allocate(1);
  EXPECT_FALSE(table_->Find(*plain).has_value());
  const std::optional<FoundRef> found = table_->Find(*model);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->worker->id, 1u);
  EXPECT_EQ(found->object.number, 7u);
  EXPECT_EQ(found->session.value(), "s");
  EXPECT_EQ(found->words(), "Model in worker 4711 on cpu0");
  EXPECT_EQ(found->lost, "");
}

TEST_F(RefTableTest, AWorkerLetsGoOfWhatNobodyHas) {
  auto first = Add(1, 7), again = Add(1, 7), other = Add(1, 8), elsewhere = Add(2, 7);
  EXPECT_EQ(table_->Count(1), 2u);
  first.reset();
  EXPECT_THAT(table_->TakeFreed(1), IsEmpty()) << "another has it";
  again.reset();
  other.reset();
  EXPECT_EQ(table_->Count(1), 0u);
  EXPECT_EQ(table_->Count(2), 1u);
  EXPECT_THAT(table_->TakeFreed(1), UnorderedElementsAre(7, 8));
  EXPECT_THAT(table_->TakeFreed(1), IsEmpty());
}

TEST_F(RefTableTest, WhatComesBackBeforeTheWorkerWasToldStays) {
  auto model = Add(1, 7);
  model.reset();
  model = Add(1, 7);
  EXPECT_THAT(table_->TakeFreed(1), IsEmpty());
  model.reset();
  EXPECT_THAT(table_->TakeFreed(1), ElementsAre(7));
}

TEST_F(RefTableTest, ALostWorkerIsToldOfItsObjectsAlone) {
  auto lost = Add(1, 7), kept = Add(2, 7);
  table_->Lose(1, "it went");
  EXPECT_EQ(table_->Find(*lost)->lost, "it went");
  EXPECT_EQ(table_->Find(*kept)->lost, "");
  EXPECT_EQ(table_->Count(1), 0u);
  lost.reset();
  EXPECT_THAT(table_->TakeFreed(1), IsEmpty());
}

TEST_F(RefTableTest, FreedObjectsWakeWhoeverWaitsForThem) {
  auto model = Add(1, 7);
  std::thread other([&] { model.reset(); });
  EXPECT_TRUE(table_->AwaitFreed(std::nullopt));
  other.join();
  EXPECT_TRUE(table_->AwaitFreed(milliseconds(1))) << "nothing since";
  table_->Close();
  EXPECT_FALSE(table_->AwaitFreed(std::nullopt));
}

TEST_F(RefTableTest, MemoryMayOutliveIt) {
  auto model = Add(1, 7);
  table_.reset();
  model.reset();
}

}  // namespace
}  // namespace hotplate::server
