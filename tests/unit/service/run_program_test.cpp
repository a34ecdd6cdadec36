// Programs that behave, and those that do not.
#include "server/run_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "tests/temporary_folder.h"

namespace hotplate::server {
namespace {

using testing::HasSubstr;

constexpr std::chrono::seconds kLong{60};

absl::StatusOr<ProgramEnd> Shell(const std::string& script, ProgramLimits limits = {.timeout = kLong},
                                 const std::function<bool()>& give_up = nullptr) {
  return RunProgram({"sh", "-c", script}, {"PATH=/usr/bin:/bin", "GREETING=hello"}, limits, give_up);
}

TEST(RunProgramTest, OutputsAndStatus) {
  const auto end = Shell("echo $GREETING; echo bad >&2; cat; exit 3");
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->exit_status, 3);
  EXPECT_EQ(end->output, "hello\n");
  EXPECT_EQ(end->errors, "bad\n");
}

TEST(RunProgramTest, WordsAreNotAShells) {
  const auto end = RunProgram({"echo", "$(id)", "; exit 1"}, {}, {.timeout = kLong}, nullptr);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->output, "$(id) ; exit 1\n");
}

TEST(RunProgramTest, OneThatIsNotThere) {
  const auto end = RunProgram({"no-such-program-here"}, {}, {}, nullptr);
  EXPECT_EQ(end.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(end.status().message()), HasSubstr("no-such-program-here"));
}

TEST(RunProgramTest, OneThatHangsIsKilledWithItsChildren) {
  TemporaryFolder folder;
  const std::string file = folder.File("pid");
  const auto end = Shell("sleep 1000 & echo $! >" + file + "; wait", {.timeout = std::chrono::seconds(1)});
  EXPECT_EQ(end.status().code(), absl::StatusCode::kDeadlineExceeded) << end.status();
  const int child = std::stoi(ReadText(file));
  for (int i = 0; i < 6000 && kill(child, 0) == 0; ++i) {
    // A zombie has no father here that would fetch it.
    std::ifstream state("/proc/" + std::to_string(child) + "/stat");
    if (std::string text; std::getline(state, text) && text.find(") Z ") != text.npos) break;
    usleep(10'000);
    ASSERT_LT(i, 5999);
  }
}

TEST(RunProgramTest, OneThatClosesItsOutputAndHangs) {
  const auto end = Shell("exec >&- 2>&-; sleep 1000", {.timeout = std::chrono::seconds(1)});
  EXPECT_EQ(end.status().code(), absl::StatusCode::kDeadlineExceeded) << end.status();
}

TEST(RunProgramTest, OneThatDoesNotStopTalking) {
  const auto end = Shell("while :; do echo much; done", {.timeout = kLong, .output_bytes = 10'000});
  EXPECT_EQ(end.status().code(), absl::StatusCode::kResourceExhausted) << end.status();
  const auto errors = Shell("while :; do echo much >&2; done", {.timeout = kLong, .output_bytes = 10'000});
  EXPECT_EQ(errors.status().code(), absl::StatusCode::kResourceExhausted) << errors.status();
}

TEST(RunProgramTest, OneThatNobodyWantsAnyMore) {
  int asked = 0;
  const auto end = Shell("sleep 1000", {.timeout = kLong}, [&] { return ++asked > 2; });
  EXPECT_EQ(end.status().code(), absl::StatusCode::kCancelled) << end.status();
}

TEST(RunProgramTest, ASignalIsAStatus) {
  const auto end = Shell("kill -9 $$");
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->exit_status, 128 + SIGKILL);
}

TEST(RunProgramTest, BlockedSignalsAreNotInherited) {
  sigset_t block, old;
  sigemptyset(&block);
  sigaddset(&block, SIGTERM);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &block, &old), 0);
  const auto end = Shell("kill -TERM $$; echo survived");
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->exit_status, 128 + SIGTERM);
}

}  // namespace
}  // namespace hotplate::server
