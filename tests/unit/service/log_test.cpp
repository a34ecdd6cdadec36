#include "server/log.h"

#include <gmock/gmock.h>
#include <grpc/support/log.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <functional>

#include "tests/temporary_folder.h"

namespace hotplate::server {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(LogTest, LongHexadecimalRunsAreSecrets) {
  const std::string token(64, 'a');
  EXPECT_EQ(WithoutSecrets("authorization: Bearer " + token + " from ipv4:127.0.0.1:8080"),
            "authorization: Bearer [...] from ipv4:127.0.0.1:8080");
  EXPECT_EQ(WithoutSecrets(std::string(32, 'F')), "[...]");
  EXPECT_EQ(WithoutSecrets("deadbeef"), "deadbeef");
  EXPECT_EQ(WithoutSecrets("two\nlines\x1b"), "two lines ");
  EXPECT_EQ(WithoutSecrets("a\xc2\x9b"
                           "2Jb\xc2\x9d"
                           "c\xff"),
            "a 2Jb c ")
      << "what a terminal obeys beyond ASCII";
  EXPECT_EQ(WithoutSecrets(""), "");
}

// What the log has after gRPC said what `say` makes it say.
std::string Logged(const std::function<void()>& say) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/log";
  const auto log = OpenLog(file, "info");
  EXPECT_TRUE(log.ok()) << log.status();
  if (!log.ok()) return "";
  RouteGrpcLog(*log);
  gpr_set_log_verbosity(GPR_LOG_SEVERITY_DEBUG);
  testing::internal::CaptureStderr();
  say();
  EXPECT_THAT(testing::internal::GetCapturedStderr(), IsEmpty());
  gpr_set_log_function(nullptr);  // gRPC's own again
  gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);
  spdlog::set_default_logger(nullptr);
  (*log)->flush();
  return ReadText(file);
}

// Else the rest of a secret that was cut in two would be too short to be known as one.
TEST(LogTest, ABeginningHasNoPartOfASecret) {
  const std::string token(64, 'f');
  EXPECT_EQ(Beginning("plain", 10), "plain");
  EXPECT_EQ(Beginning("one two three", 7), "one two");
  EXPECT_EQ(Beginning("ends in abc, and", 11), "ends in abc");
  for (std::size_t most = 0; most < 80; ++most) {
    const std::string shown = WithoutSecrets(Beginning("the token " + token + " of ana", most));
    EXPECT_THAT(shown, Not(HasSubstr("ff"))) << most;
    EXPECT_LE(shown.size(), most);
  }
}

TEST(LogTest, GrpcsLinesComeAtTheirLevelAndWithoutSecrets) {
  EXPECT_THAT(Logged([] {
                gpr_log(GPR_ERROR, "Handshake failed, token %s", std::string(64, 'b').c_str());
                gpr_log_message("file.cc", 7, GPR_LOG_SEVERITY_INFO, "for information");
                gpr_log_message("file.cc", 8, GPR_LOG_SEVERITY_DEBUG, "of no interest");
              }),
              AllOf(HasSubstr("error grpc: Handshake failed, token [...] (log_test.cpp:"),
                    HasSubstr("info grpc: for information (file.cc:7)"), Not(HasSubstr("of no interest")),
                    Not(HasSubstr("bbbb"))));
}

// gRPC tells a header that it does not take with its value, before anybody's token is looked at.
TEST(LogTest, WhatAStrangerSaysIsCut) {
  const std::string value(1'000'000, 'x');
  const std::string log = Logged([&] {
    gpr_log(GPR_ERROR,
            "invalid value for te: %s\xc2\x9b"
            "2J",
            value.c_str());
  });
  EXPECT_THAT(log, AllOf(HasSubstr("grpc: invalid value for te: xxx"), HasSubstr("xxx..."), HasSubstr("x 2J (1000"),
                         Not(HasSubstr("\xc2\x9b"))));
  EXPECT_LT(log.size(), 400u);
}

TEST(LogTest, AStrangerCannotFillIt) {
  const std::string log = Logged([] {
    for (int i = 0; i < 1000; ++i) gpr_log(GPR_ERROR, "Handshake failed, connection %d.", i);
    gpr_log_message("file.cc", 9, GPR_LOG_SEVERITY_INFO, "asked for");
    gpr_log_message("file.cc", 10, GPR_LOG_SEVERITY_ERROR, "assertion failed: the last words");
  });
  EXPECT_THAT(log, AllOf(HasSubstr("connection 0."), HasSubstr("connection 9."), Not(HasSubstr("connection 10."))));
  EXPECT_THAT(log, AllOf(HasSubstr("grpc: no more of its errors are shown in this minute"), HasSubstr("asked for"),
                         HasSubstr("the last words")));
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), LineLimit::kLines + 3);
}

TEST(LogTest, TheLimitIsOfAMinuteAndSaysHowManyWereLeftOut) {
  LineLimit limit;
  LineLimit::Clock::time_point now = LineLimit::Clock::now();
  for (int i = 1; i <= LineLimit::kLines; ++i) {
    const LineLimit::Verdict verdict = limit.Take(now += std::chrono::seconds(1));
    EXPECT_TRUE(verdict.shown);
    EXPECT_EQ(verdict.last, i == LineLimit::kLines);
    EXPECT_EQ(verdict.missed, 0u);
  }
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(limit.Take(now += std::chrono::seconds(1)).shown);
  const LineLimit::Verdict next = limit.Take(now += LineLimit::kSpan);
  EXPECT_TRUE(next.shown);
  EXPECT_FALSE(next.last);
  EXPECT_EQ(next.missed, 5u);
  EXPECT_EQ(limit.Take(now).missed, 0u) << "told once";
}

}  // namespace
}  // namespace hotplate::server
