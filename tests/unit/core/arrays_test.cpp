#include "server/core/arrays/arrays.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "absl/strings/str_cat.h"
#include "kernels/base/status.h"
#include "tests/unit/core/fakes.h"

namespace hotplate::core {
namespace {

using ::testing::AllOf;
using testing::FakeClock;
using ::testing::HasSubstr;
using testing::kAlice;
using testing::kAlice2;
using testing::kBob;
using testing::kRoot;
using ::testing::Not;

const Signature kFour{DType::kFloat32, {4}};  // 16 bytes

class ArraysTest : public ::testing::Test {
 protected:
  static std::string Text(const absl::Status& status) { return std::string(status.message()); }

  ArraySnapshot Make(const Principal& who, const std::string& name, std::optional<nanoseconds> lease = std::nullopt) {
    const absl::StatusOr<ArraySnapshot> array = store_.Create(who, kFour, name, lease, false);
    EXPECT_TRUE(array.ok()) << array.status();
    auto writer = store_.OpenWriter(who, array->id.value(), 0);
    EXPECT_TRUE(writer.ok()) << writer.status();
    std::memset((*writer)->remaining().data(), 1, 16);
    (*writer)->Advance(16);
    return *array;
  }

  FakeClock clock_;
  ArrayStore store_{{.total_bytes = 100,
                     .array_bytes = 64,
                     .count = 4,
                     .longest_lease = std::chrono::hours(1),
                     .upload_grace = std::chrono::seconds(60)},
                    clock_};
};

TEST_F(ArraysTest, LifeOfAnArray) {
  const absl::StatusOr<ArraySnapshot> array = store_.Create(kAlice, kFour, "A", std::nullopt, false);
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_EQ(array->id.value(), "a1");
  EXPECT_EQ(array->state, ArrayState::kWriting);
  EXPECT_EQ(array->bytes, 16u);
  EXPECT_EQ(store_.bytes_held(), 16u);

  const auto early = store_.Open(kAlice, "A");
  EXPECT_EQ(early.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Text(early.status()), AllOf(HasSubstr("a1"), HasSubstr("0 of 16")));

  auto writer = store_.OpenWriter(kAlice, "A", 0);
  ASSERT_TRUE(writer.ok()) << writer.status();
  ASSERT_EQ((*writer)->remaining().size(), 16u);
  std::memset((*writer)->remaining().data(), 7, 6);
  (*writer)->Advance(6);
  EXPECT_EQ(store_.Describe(kAlice, "a1")->bytes_written, 6u);
  EXPECT_EQ(store_.OpenWriter(kAlice, "A", 6).status().code(), absl::StatusCode::kFailedPrecondition) << "two writers";
  writer->reset();  // cut off

  EXPECT_EQ(store_.OpenWriter(kAlice, "A", 0).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Text(store_.OpenWriter(kAlice, "A", 0).status()), AllOf(HasSubstr("6 of 16"), HasSubstr("at 0")));
  auto resumed = store_.OpenWriter(kAlice, "A", 6);
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  ASSERT_EQ((*resumed)->remaining().size(), 10u);
  std::memset((*resumed)->remaining().data(), 7, 10);
  (*resumed)->Advance(10);
  EXPECT_EQ(store_.Describe(kAlice, "A")->state, ArrayState::kReady);

  const auto reader = store_.Open(kAlice, "A");
  ASSERT_TRUE(reader.ok()) << reader.status();
  for (const std::byte byte : reader->buffer->bytes()) EXPECT_EQ(byte, std::byte{7});
  EXPECT_EQ(store_.OpenWriter(kAlice, "A", 16).status().code(), absl::StatusCode::kFailedPrecondition);

  EXPECT_TRUE(store_.Free(kAlice, "A").ok());
  EXPECT_EQ(store_.Free(kAlice, "A").code(), absl::StatusCode::kNotFound);
}

TEST_F(ArraysTest, MemoryIsHeldUntilTheLastReaderLetsGo) {
  Make(kAlice, "A");
  auto reader = store_.Open(kAlice, "A");
  ASSERT_TRUE(reader.ok());
  EXPECT_TRUE(store_.Free(kAlice, "A").ok());
  EXPECT_EQ(store_.Open(kAlice, "A").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_.bytes_held(), 16u);
  EXPECT_EQ(reader->buffer->bytes()[3], std::byte{1}) << "the reader's data are still there";
  reader = absl::CancelledError();
  EXPECT_EQ(store_.bytes_held(), 0u);
}

TEST_F(ArraysTest, LimitsNameThemselvesAndTheValues) {
  const auto too_large = store_.Create(kAlice, {DType::kFloat32, {17}}, "", std::nullopt, false);
  EXPECT_EQ(too_large.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Text(too_large.status()), AllOf(HasSubstr("68"), HasSubstr("max-array-bytes"), HasSubstr("64")));

  const auto held = store_.Create(kAlice, {DType::kUInt8, {64}}, "", std::nullopt, false);
  ASSERT_TRUE(held.ok());
  const auto over = store_.Create(kAlice, {DType::kUInt8, {37}}, "", std::nullopt, false);
  EXPECT_EQ(over.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Text(over.status()), AllOf(HasSubstr("37"), HasSubstr("64"), HasSubstr("100"), HasSubstr("array-bytes")));
  EXPECT_EQ(store_.AllocateBuffer(37).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(store_.AllocateBuffer(36).ok());

  for (int i = 0; i < 3; ++i) ASSERT_TRUE(store_.Create(kAlice, {DType::kUInt8, {1}}, "", std::nullopt, false).ok());
  const auto too_many = store_.Create(kAlice, {DType::kUInt8, {1}}, "", std::nullopt, false);
  EXPECT_EQ(too_many.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Text(too_many.status()), HasSubstr("4 arrays"));
}

TEST_F(ArraysTest, AbsurdSignaturesAreRefused) {
  for (const Shape& shape : {Shape{-1}, Shape{std::int64_t{1} << 62, 8}, Shape{std::int64_t{1} << 60}, Shape(9, 1)}) {
    EXPECT_EQ(store_.Create(kAlice, {DType::kFloat64, shape}, "", std::nullopt, false).status().code(),
              absl::StatusCode::kInvalidArgument)
        << ToString(shape);
  }
  EXPECT_EQ(store_.bytes_held(), 0u);
}

TEST_F(ArraysTest, AnArrayWithoutElementsIsReadyAtOnce) {
  const auto empty = store_.Create(kAlice, {DType::kFloat32, {0}}, "E", std::nullopt, false);
  ASSERT_TRUE(empty.ok());
  EXPECT_EQ(empty->state, ArrayState::kReady);
  EXPECT_TRUE(store_.Open(kAlice, "E").ok());
}

TEST_F(ArraysTest, Names) {
  for (const char* bad : {"", "a1", "a007", "with space", "with/slash", "ümlaut", "a\n"}) {
    EXPECT_EQ(ArrayStore::ValidateName(bad).code(), absl::StatusCode::kInvalidArgument) << bad;
  }
  EXPECT_EQ(ArrayStore::ValidateName(std::string(65, 'x')).code(), absl::StatusCode::kInvalidArgument);
  for (const char* good : {"A", "a", "a1b", "weights.v2-final_3", "7"}) {
    EXPECT_TRUE(ArrayStore::ValidateName(good).ok()) << good;
  }
  EXPECT_TRUE(ArrayStore::ValidateName(std::string(64, 'x')).ok());

  const ArraySnapshot first = Make(kAlice, "A");
  const auto taken = store_.Create(kAlice2, kFour, "A", std::nullopt, false);
  EXPECT_EQ(taken.status().code(), absl::StatusCode::kAlreadyExists) << "names are the token's, not the session's";
  EXPECT_THAT(Text(taken.status()), AllOf(HasSubstr("\"A\""), HasSubstr(first.id.value())));
  EXPECT_TRUE(store_.Create(kBob, kFour, "A", std::nullopt, false).ok()) << "another token's names are its own";
}

TEST_F(ArraysTest, WhatIsReplacedStaysUntilTheNewOneIsWhole) {
  const ArraySnapshot first = Make(kAlice, "A");
  const auto second = store_.Create(kAlice, kFour, "A", std::nullopt, true);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_NE(second->id, first.id);
  {
    auto writer = store_.OpenWriter(kAlice, second->id.value(), 0);
    std::memset((*writer)->remaining().data(), 2, 16);
    (*writer)->Advance(8);
    EXPECT_EQ(store_.Open(kAlice, "A")->array.id, first.id);
  }
  clock_.Advance(std::chrono::hours(1));  // cut off for good
  ASSERT_EQ(store_.Expire().size(), 1u);
  ASSERT_TRUE(store_.Open(kAlice, "A").ok());
  EXPECT_EQ(store_.Open(kAlice, "A")->buffer->bytes()[15], std::byte{1}) << "as it was";

  const auto third = store_.Create(kAlice, kFour, "A", std::nullopt, true);
  ASSERT_TRUE(third.ok());
  auto writer = store_.OpenWriter(kAlice, third->id.value(), 0);
  std::memset((*writer)->remaining().data(), 3, 16);
  (*writer)->Advance(15);
  EXPECT_EQ(store_.Describe(kAlice, "A")->id, first.id);
  (*writer)->Advance(1);
  EXPECT_EQ(store_.Open(kAlice, "A")->array.id, third->id);
  EXPECT_EQ(store_.Open(kAlice, "A")->buffer->bytes()[15], std::byte{3});
  EXPECT_EQ(store_.Describe(kAlice, first.id.value()).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_.bytes_held(), 16u);
}

TEST_F(ArraysTest, TheNameOfAFreedArrayGoesToTheNewestThatWasToReplaceIt) {
  const ArraySnapshot first = Make(kAlice, "A");
  const auto older = store_.Create(kAlice, kFour, "A", std::nullopt, true);
  const auto newer = store_.Create(kAlice, kFour, "A", std::nullopt, true);
  ASSERT_TRUE(older.ok() && newer.ok());
  EXPECT_TRUE(store_.Free(kAlice, "A").ok());
  EXPECT_EQ(store_.Describe(kAlice, "A")->id, newer->id);
  EXPECT_EQ(store_.HoldName(kAlice, "A").status().code(), absl::StatusCode::kAlreadyExists);
  auto writer = store_.OpenWriter(kAlice, newer->id.value(), 0);
  (*writer)->Advance(8);
  (*store_.OpenWriter(kAlice, older->id.value(), 0))->Advance(16);
  EXPECT_EQ(store_.Describe(kAlice, "A")->id, older->id) << "whole before the other";
  EXPECT_EQ(store_.Describe(kAlice, newer->id.value())->bytes_written, 8u) << "somebody still writes it";
  (*writer)->Advance(8);
  EXPECT_EQ(store_.Open(kAlice, "A")->array.id, newer->id);
  EXPECT_EQ(store_.Describe(kAlice, older->id.value()).status().code(), absl::StatusCode::kNotFound);
  writer->reset();
  EXPECT_TRUE(store_.Free(kAlice, "A").ok());
  EXPECT_TRUE(store_.HoldName(kAlice, "A").ok()) << "nobody has it any more";
  EXPECT_EQ(store_.bytes_held(), 0u);
}

TEST_F(ArraysTest, OneWithoutElementsReplacesAtOnce) {
  const ArraySnapshot first = Make(kAlice, "A");
  const auto empty = store_.Create(kAlice, {DType::kFloat32, {0}}, "A", std::nullopt, true);
  ASSERT_TRUE(empty.ok());
  EXPECT_EQ(store_.Describe(kAlice, "A")->id, empty->id);
  EXPECT_EQ(store_.bytes_held(), 0u);
}

TEST_F(ArraysTest, ReplacingAWholeArrayNeedsRoomForBoth) {
  const Signature kSixty{DType::kUInt8, {60}};
  const auto first = store_.Create(kAlice, kSixty, "A", std::nullopt, false);
  ASSERT_TRUE(first.ok());
  (*store_.OpenWriter(kAlice, "A", 0))->Advance(60);
  const auto refused = store_.Create(kAlice, kSixty, "A", std::nullopt, true).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Text(refused), AllOf(HasSubstr("60 bytes of array memory are needed"), HasSubstr("40 of 100 are free"),
                                   HasSubstr("hotplate free A")));
  EXPECT_EQ(store_.Open(kAlice, "A")->array.id, first->id) << "what could not be replaced stays";
  const auto reader = store_.Open(kAlice, "A");
  EXPECT_THAT(Text(store_.Create(kAlice, kSixty, "A", std::nullopt, true).status()), Not(HasSubstr("hotplate free A")))
      << "it would leave no room while somebody reads it";
}

TEST_F(ArraysTest, AReplacementThatIsCutOffIsNotInTheWayOfItsRepetition) {
  const Signature kForty{DType::kUInt8, {40}};
  const auto first = store_.Create(kAlice, kForty, "A", std::nullopt, false);
  (*store_.OpenWriter(kAlice, "A", 0))->Advance(40);
  const auto cut_off = store_.Create(kAlice, kForty, "A", std::nullopt, true);
  ASSERT_TRUE(cut_off.ok()) << cut_off.status();
  auto writer = store_.OpenWriter(kAlice, cut_off->id.value(), 0);
  (*writer)->Advance(20);
  EXPECT_EQ(store_.Create(kAlice2, kForty, "A", std::nullopt, true).status().code(),
            absl::StatusCode::kResourceExhausted)
      << "there is no room for a third while it is written";
  EXPECT_EQ(store_.Create(kBob, kForty, "A", std::nullopt, true).status().code(), absl::StatusCode::kResourceExhausted);
  writer->reset();
  EXPECT_EQ(store_.Create(kBob, kForty, "A", std::nullopt, true).status().code(), absl::StatusCode::kResourceExhausted)
      << "what is Alice's makes no room for others";
  EXPECT_EQ(store_.Create(kAlice2, {DType::kUInt8, {61}}, "A", std::nullopt, true).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(store_.Describe(kAlice, cut_off->id.value()).ok()) << "it would not have made room enough";

  const auto again = store_.Create(kAlice2, kForty, "A", std::nullopt, true);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(store_.Describe(kAlice, cut_off->id.value()).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_.bytes_held(), 80u);
  EXPECT_EQ(store_.Open(kAlice, "A")->array.id, first->id);
  (*store_.OpenWriter(kAlice2, again->id.value(), 0))->Advance(40);
  EXPECT_EQ(store_.Open(kAlice, "A")->array.id, again->id);
  EXPECT_EQ(store_.bytes_held(), 40u);
}

TEST_F(ArraysTest, AReplacementThatIsCutOffStaysWhereThereIsRoom) {
  Make(kAlice, "A");
  const auto cut_off = store_.Create(kAlice, kFour, "A", std::nullopt, true);
  const auto again = store_.Create(kAlice, kFour, "A", std::nullopt, true);
  ASSERT_TRUE(cut_off.ok() && again.ok());
  EXPECT_TRUE(store_.Describe(kAlice, cut_off->id.value()).ok()) << "its client may be back";
  Make(kAlice, "");
  EXPECT_TRUE(store_.Create(kAlice, kFour, "A", std::nullopt, true).ok()) << "they are four, the limit";
  EXPECT_EQ(store_.Describe(kAlice, cut_off->id.value()).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ArraysTest, ReplacingAHalfArrayNeedsNoRoomForBothUnlessItIsInUse) {
  ASSERT_TRUE(store_.Create(kAlice, {DType::kUInt8, {60}}, "A", std::nullopt, false).ok());
  EXPECT_TRUE(store_.Create(kAlice, {DType::kUInt8, {64}}, "A", std::nullopt, true).ok());
  EXPECT_EQ(store_.bytes_held(), 64u);
  const auto writer = store_.OpenWriter(kAlice, "A", 0);
  ASSERT_TRUE(writer.ok());
  EXPECT_EQ(store_.Create(kAlice, {DType::kUInt8, {64}}, "A", std::nullopt, true).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(store_.Describe(kAlice, "A").ok()) << "what could not be replaced stays";
}

TEST_F(ArraysTest, AHeldNameIsNobodyElses) {
  {
    const auto hold = store_.HoldName(kAlice, "out");
    ASSERT_TRUE(hold.ok());
    EXPECT_EQ(store_.HoldName(kAlice2, "out").status().code(), absl::StatusCode::kAlreadyExists);
    EXPECT_EQ(store_.Create(kAlice, kFour, "out", std::nullopt, true).status().code(),
              absl::StatusCode::kAlreadyExists);
    EXPECT_EQ(store_.Describe(kAlice, "out").status().code(), absl::StatusCode::kNotFound);
  }
  auto hold = store_.HoldName(kAlice, "out");
  ASSERT_TRUE(hold.ok()) << "given back by the hold before";
  const auto array = store_.Adopt(kAlice, kFour, *std::move(hold), std::nullopt, *store_.AllocateBuffer(16), "");
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_EQ(store_.Describe(kAlice, "out")->id, array->id);
  EXPECT_EQ(array->state, ArrayState::kReady);
  EXPECT_EQ(store_.bytes_held(), 16u);
}

TEST_F(ArraysTest, OthersSeeNothing) {
  const ArraySnapshot mine = Make(kAlice, "A");
  EXPECT_TRUE(store_.Describe(kAlice2, "A").ok()) << "the same token";
  EXPECT_EQ(store_.Describe(kBob, mine.id.value()).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_.Open(kBob, mine.id.value()).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_.Free(kBob, mine.id.value()).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_.OpenWriter(kBob, mine.id.value(), 0).status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(store_.List(kBob).empty());
  EXPECT_EQ(store_.List(kAlice2).size(), 1u);
  EXPECT_EQ(store_.List(kRoot).size(), 1u);
  EXPECT_TRUE(store_.Free(kRoot, mine.id.value()).ok());
}

TEST_F(ArraysTest, LeasesEndAndAreRenewed) {
  const auto too_long = store_.Create(kAlice, kFour, "", std::chrono::hours(2), false);
  EXPECT_EQ(too_long.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Text(too_long.status()), AllOf(HasSubstr("2h"), HasSubstr("1h")));
  EXPECT_EQ(store_.Create(kAlice, kFour, "", std::chrono::seconds(0), false).status().code(),
            absl::StatusCode::kInvalidArgument);

  Make(kAlice, "leased", std::chrono::minutes(10));
  Make(kAlice, "session");
  clock_.Advance(std::chrono::minutes(9));
  EXPECT_TRUE(store_.Expire().empty());
  ASSERT_TRUE(store_.Renew(kAlice, "leased", std::chrono::minutes(10)).ok());
  clock_.Advance(std::chrono::minutes(9));
  EXPECT_TRUE(store_.Expire().empty());
  clock_.Advance(std::chrono::minutes(1));
  const std::vector<ArraySnapshot> gone = store_.Expire();
  ASSERT_EQ(gone.size(), 1u);
  EXPECT_EQ(gone[0].name, "leased");
  EXPECT_EQ(store_.bytes_held(), 16u) << "the session's array stays";
}

TEST_F(ArraysTest, ASessionTakesItsArraysWithIt) {
  Make(kAlice, "session");
  Make(kAlice, "leased", std::chrono::minutes(10));
  Make(kAlice2, "other");
  store_.EndSession(kAlice.session);
  EXPECT_FALSE(store_.Describe(kAlice, "session").ok());
  EXPECT_TRUE(store_.Describe(kAlice, "leased").ok());
  EXPECT_TRUE(store_.Describe(kAlice, "other").ok());
  EXPECT_EQ(store_.bytes_held(), 32u);
}

TEST_F(ArraysTest, ALeaseSavesAnArrayFromItsSessionsEnd) {
  Make(kAlice, "A");
  ASSERT_TRUE(store_.Renew(kAlice, "A", std::chrono::minutes(5)).ok());
  store_.EndSession(kAlice.session);
  EXPECT_TRUE(store_.Describe(kAlice, "A").ok());
}

TEST_F(ArraysTest, AnUploadThatWasCutOffIsFreedAfterTheGrace) {
  ASSERT_TRUE(store_.Create(kAlice, kFour, "half", std::nullopt, false).ok());
  {
    auto writer = store_.OpenWriter(kAlice, "half", 0);
    clock_.Advance(std::chrono::seconds(40));
    (*writer)->Advance(8);
  }
  clock_.Advance(std::chrono::seconds(59));
  EXPECT_TRUE(store_.Expire().empty()) << "60 s since the last byte, not since the creation";
  clock_.Advance(std::chrono::seconds(1));
  ASSERT_EQ(store_.Expire().size(), 1u);
  EXPECT_EQ(store_.bytes_held(), 0u);
  EXPECT_EQ(store_.Describe(kAlice, "half").status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(store_.Create(kAlice, kFour, "half", std::nullopt, false).ok()) << "the name is free again";
}

TEST_F(ArraysTest, FreeingUnderAWriterIsSafe) {
  ASSERT_TRUE(store_.Create(kAlice, kFour, "A", std::nullopt, false).ok());
  auto writer = store_.OpenWriter(kAlice, "A", 0);
  ASSERT_TRUE(writer.ok());
  EXPECT_TRUE(store_.Free(kAlice, "A").ok());
  std::memset((*writer)->remaining().data(), 1, 16);
  (*writer)->Advance(16);
  EXPECT_FALSE(store_.Describe(kAlice, "A").ok());
  writer->reset();
  EXPECT_EQ(store_.bytes_held(), 0u);
}

TEST_F(ArraysTest, ABufferMayOutliveTheStore) {
  std::shared_ptr<HostBuffer> buffer;
  {
    ArrayStore store({}, clock_);
    buffer = *store.AllocateBuffer(8);
  }
  ASSERT_EQ(buffer->size(), 8u);
  buffer->bytes()[7] = std::byte{1};
  EXPECT_EQ(buffer->bytes()[7], std::byte{1});
  buffer.reset();  // must not give its bytes back to a store that is gone; a sanitizer would tell
}

TEST_F(ArraysTest, ManyThreadsLeaveNothingBehind) {
  ArrayStore store({.total_bytes = 10'000, .count = 1000}, clock_);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&store, t] {
      const Principal who{absl::StrCat("t", t % 2), SessionId(std::to_string(t)), Scope::kSubmit};
      for (int i = 0; i < 2000; ++i) {
        const std::string name = absl::StrCat("n", i % 5);
        const auto array = store.Create(who, kFour, name, std::nullopt, i % 3 == 0);
        if (!array.ok()) continue;
        if (auto writer = store.OpenWriter(who, array->id.value(), 0); writer.ok()) (*writer)->Advance(16);
        const auto reader = store.Open(who, name);
        if (i % 2 == 0) store.Free(who, array->id.value()).IgnoreError();
        if (i % 100 == 0) store.EndSession(who.session);
      }
      store.EndSession(who.session);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(store.bytes_held(), 0u);
  EXPECT_TRUE(store.List(kRoot).empty());
}

}  // namespace
}  // namespace hotplate::core
