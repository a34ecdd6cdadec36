#include "server/control.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>

namespace hotplate::server {
namespace {

using Kind = Control::Wish::Kind;
constexpr std::chrono::seconds kPatience{60};

TEST(ControlTest, NothingHappensWhileNobodyWishesAnything) {
  const auto control = Control::Create().value();
  EXPECT_EQ(control->Wait(std::chrono::milliseconds(1)).kind, Kind::kNone);
  EXPECT_FALSE(control->draining());
}

TEST(ControlTest, ARequestWakesWhoeverWaitsAndCarriesItsTimeout) {
  const auto control = Control::Create().value();
  std::thread client([&] { control->RequestDrain(std::chrono::seconds(3), "owner"); });
  const Control::Wish wish = control->Wait(kPatience);
  client.join();
  EXPECT_EQ(wish.kind, Kind::kDrain);
  EXPECT_EQ(wish.timeout, std::chrono::seconds(3));
  EXPECT_EQ(wish.reason, "asked for by its owner (hotplate down)");
  EXPECT_TRUE(control->draining());
}

TEST(ControlTest, ARequestOfAnotherTokenNamesIt) {
  const auto control = Control::Create().value();
  control->RequestShutdown(std::nullopt, "guest");
  EXPECT_EQ(control->Wait(kPatience).reason, "asked for by the holder of token guest");
}

TEST(ControlTest, AShutdownIsNotLostWhenTheDrainEndsAtTheSameMoment) {
  const auto control = Control::Create().value();
  control->RequestShutdown(std::nullopt, "owner");
  control->Finished();
  EXPECT_EQ(control->Wait(kPatience).kind, Kind::kShutdown);
  EXPECT_EQ(control->Wait(kPatience).kind, Kind::kFinished);
  EXPECT_EQ(control->Wait(std::chrono::milliseconds(1)).kind, Kind::kNone);
}

TEST(ControlTest, ManyRequestsAreOneWish) {
  const auto control = Control::Create().value();
  for (int i = 1000; i >= 1; --i) control->RequestDrain(std::chrono::seconds(i), "owner");
  EXPECT_EQ(control->Wait(kPatience).timeout, std::chrono::seconds(1));
  EXPECT_EQ(control->Wait(std::chrono::milliseconds(1)).kind, Kind::kNone);
}

TEST(ControlTest, TheLeastTimeIsKeptAndTheConfiguredOneBesideIt) {
  const auto control = Control::Create().value();
  control->RequestDrain(std::chrono::seconds(0), "owner");
  control->RequestDrain(std::chrono::hours(2), "owner");
  control->RequestDrain(std::nullopt, "owner");
  EXPECT_EQ(control->Wait(kPatience).timeout, std::nullopt);
  EXPECT_EQ(control->Wait(kPatience).timeout, std::chrono::seconds(0));
  EXPECT_EQ(control->Wait(std::chrono::milliseconds(1)).kind, Kind::kNone);
}

// In a process of its own: which signals are blocked and ignored belongs to all of it.
std::string ReasonAfterHangUp(void (*disposition)(int)) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGHUP, disposition);
    Control::BlockSignals();
    const auto control = Control::Create().value();
    raise(SIGHUP);
    const std::string reason = control->Wait(std::chrono::milliseconds(100)).reason + ".";
    _exit(write(ends[1], reason.data(), reason.size()) == static_cast<ssize_t>(reason.size()) ? 0 : 1);
  }
  close(ends[1]);
  char text[64];
  std::string reason;
  for (ssize_t got = 0; (got = read(ends[0], text, sizeof text)) > 0;)
    reason.append(text, static_cast<std::size_t>(got));
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return reason;
}

TEST(ControlTest, AHangUpStopsUnlessItIsIgnored) {
  EXPECT_EQ(ReasonAfterHangUp(SIG_DFL), "SIGHUP.");
  EXPECT_EQ(ReasonAfterHangUp(SIG_IGN), ".") << "as nohup leaves it";
}

}  // namespace
}  // namespace hotplate::server
