#include "server/control.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace hotplate::server {
namespace {

using Kind = Control::Wish::Kind;
constexpr std::chrono::seconds kLong{60};

TEST(ControlTest, NothingHappensWhileNobodyWishesAnything) {
  const auto control = Control::Create().value();
  EXPECT_EQ(control->Wait(std::chrono::milliseconds(1)).kind, Kind::kNone);
  EXPECT_FALSE(control->draining());
}

TEST(ControlTest, ARequestWakesWhoeverWaitsAndCarriesItsTimeout) {
  const auto control = Control::Create().value();
  std::thread client([&] { control->RequestDrain(std::chrono::seconds(3), "owner"); });
  const Control::Wish wish = control->Wait(kLong);
  client.join();
  EXPECT_EQ(wish.kind, Kind::kDrain);
  EXPECT_EQ(wish.timeout, std::chrono::seconds(3));
  EXPECT_NE(wish.reason.find("owner"), std::string::npos);
  EXPECT_TRUE(control->draining());
}

TEST(ControlTest, AShutdownIsNotLostWhenTheDrainEndsAtTheSameMoment) {
  const auto control = Control::Create().value();
  control->RequestShutdown(std::nullopt, "owner");
  control->Finished();
  EXPECT_EQ(control->Wait(kLong).kind, Kind::kShutdown);
  EXPECT_EQ(control->Wait(kLong).kind, Kind::kFinished);
  EXPECT_EQ(control->Wait(std::chrono::milliseconds(1)).kind, Kind::kNone);
}

TEST(ControlTest, ManyRequestsAreOneWish) {
  const auto control = Control::Create().value();
  for (int i = 1000; i >= 1; --i) control->RequestDrain(std::chrono::seconds(i), "owner");
  EXPECT_EQ(control->Wait(kLong).timeout, std::chrono::seconds(1));
  EXPECT_EQ(control->Wait(std::chrono::milliseconds(1)).kind, Kind::kNone);
}

TEST(ControlTest, TheLeastTimeIsKeptAndTheConfiguredOneBesideIt) {
  const auto control = Control::Create().value();
  control->RequestDrain(std::chrono::seconds(0), "owner");
  control->RequestDrain(std::chrono::hours(2), "owner");
  control->RequestDrain(std::nullopt, "owner");
  EXPECT_EQ(control->Wait(kLong).timeout, std::nullopt);
  EXPECT_EQ(control->Wait(kLong).timeout, std::chrono::seconds(0));
  EXPECT_EQ(control->Wait(std::chrono::milliseconds(1)).kind, Kind::kNone);
}

}  // namespace
}  // namespace hotplate::server
