// After which job there is room.
#include "server/core/schedule/room.h"

#include <gtest/gtest.h>

namespace hotplate::core {
namespace {

constexpr std::uint64_t kUnit = 1 << 20;  // a MiB

Occupant Takes(std::uint64_t mib, std::uint64_t kept_mib = 0) { return {mib * kUnit, kept_mib * kUnit}; }

// Of 100 MiB with these in it, and so much held by others.
Room RoomWith(const std::vector<Occupant>& running, std::uint64_t held_mib = 0) {
  Room room{.total_bytes = 100 * kUnit, .free_bytes = (100 - held_mib) * kUnit};
  for (const Occupant& one : running) room.Take(one.bytes);
  return room;
}

std::optional<std::size_t> After(std::uint64_t mib, const std::vector<Occupant>& running,
                                 const std::vector<Occupant>& waiting = {}, std::uint64_t held_mib = 0) {
  return ForecastRoom(RoomWith(running, held_mib), mib * kUnit, running, waiting).after;
}

TEST(RoomTest, FitsWhatIsFreeAndNotReserved) {
  Room room{.total_bytes = 100 * kUnit, .free_bytes = 100 * kUnit};
  room.Take(60 * kUnit);
  EXPECT_TRUE(room.Fits(40 * kUnit));
  EXPECT_FALSE(room.Fits(41 * kUnit));
  room.free_bytes = 100 * kUnit;  // the job has not touched its memory yet
  EXPECT_FALSE(room.Fits(41 * kUnit)) << "what is reserved is not free";
  room.free_bytes = 10 * kUnit;  // somebody else has it
  EXPECT_FALSE(room.Fits(11 * kUnit));
  EXPECT_TRUE(room.Fits(kUnit));
  room.free_bytes = 0;
  EXPECT_TRUE(room.Fits(kUnit)) << "little is not noticed";
  room.GiveBack(60 * kUnit, 20 * kUnit);
  EXPECT_EQ(room.left(), 40 * kUnit);
}

TEST(RoomTest, TheFirstEndThatMakesEnough) {
  EXPECT_EQ(After(50, {Takes(30), Takes(30), Takes(30)}), 1u);
  EXPECT_EQ(After(40, {Takes(30), Takes(30), Takes(30)}), 0u);
  EXPECT_EQ(After(100, {Takes(30), Takes(30), Takes(30)}), 2u);
  EXPECT_EQ(After(50, {Takes(5), Takes(80)}), 1u) << "the first gives too little";
}

TEST(RoomTest, ThoseThatWaitBeforeGoFirst) {
  EXPECT_EQ(After(60, {Takes(70)}, {Takes(80)}), 1u) << "the running one makes room for the one that waits";
  EXPECT_EQ(After(60, {Takes(70)}, {Takes(30)}), 0u) << "both fit beside each other";
  EXPECT_EQ(After(60, {Takes(70)}, {Takes(80), Takes(80), Takes(80)}), 3u);
}

TEST(RoomTest, WhatStaysIsNotGivenBack) {
  EXPECT_EQ(After(80, {Takes(60, 30), Takes(20)}), std::nullopt);
  EXPECT_EQ(After(70, {Takes(60, 30), Takes(20)}), 1u);
  const RoomForecast full = ForecastRoom(RoomWith({Takes(60, 30)}, 25), 50 * kUnit, {Takes(60, 30)}, {});
  EXPECT_EQ(full.after, std::nullopt);
  EXPECT_EQ(full.held_bytes, 55 * kUnit);
}

TEST(RoomTest, OneThatWaitsForSomethingElseIsPassed) {
  EXPECT_EQ(After(50, {Takes(40)}, {Takes(90)}, 30), 0u);
  EXPECT_EQ(After(71, {}, {Takes(20)}, 30), std::nullopt);
  EXPECT_EQ(After(15, {Takes(10), Takes(50)}, {Takes(90)}, 30), 0u) << "ends that would not do are not awaited";
  EXPECT_EQ(After(15, {Takes(10), Takes(50)}, {Takes(90), Takes(5)}, 30), 0u);
}

}  // namespace
}  // namespace hotplate::core
