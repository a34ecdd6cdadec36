// Programs of a site's: whatever they do, the caller gets an answer in time.
#include "kernels/base/run_program.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "absl/strings/match.h"

namespace hotplate {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;
using Words = std::vector<std::string>;

absl::StatusOr<ProgramResult> Ran(const ProgramCall& call) {
  return RunProgram(call, [](const std::string& name) -> std::optional<std::string> {
    const char* const value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  });
}

Words Shell(const std::string& script) { return {"/bin/sh", "-c", script}; }

bool Gone(int pid) {
  for (int i = 0; i < 3000; ++i) {
    // A zombie has no parent here that would fetch it.
    std::ifstream state("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    if (!std::getline(state, text) || text.find(") Z ") != std::string::npos) return true;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return false;
}

TEST(RunProgram, OutputErrorsAndExitCode) {
  const auto end = Ran({.words = Shell("echo out; echo err >&2; exit 3")});
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->out, "out\n");
  EXPECT_EQ(end->err, "err\n");
  EXPECT_EQ(end->exit_code, 3);
}

TEST(RunProgram, ASignalIsAnExitCodeToo) {
  const auto end = Ran({.words = Shell("kill -KILL $$")});
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->exit_code, 128 + SIGKILL);
}

TEST(RunProgram, WordsAreNotReadByAShell) {
  const auto end = Ran({.words = {"printf", "%s|", "a b", "$HOME", "`id`; exit 7", ""}});
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->out, "a b|$HOME|`id`; exit 7||");
}

TEST(RunProgram, AProgramThatIsNotThere) {
  const auto end = Ran({.words = {"no-such-program-17"}});
  EXPECT_EQ(end.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(end.status().message()), HasSubstr("no-such-program-17"));
  EXPECT_FALSE(Ran({.words = {"/no/such/program"}}).ok());
  EXPECT_FALSE(Ran({.words = {"/etc/passwd"}}).ok());
}

TEST(RunProgram, InputOfAnySize) {
  const std::string text(300'000, 'x');
  const auto counted = Ran({.words = {"wc", "-c"}, .input = text});
  ASSERT_TRUE(counted.ok()) << counted.status();
  EXPECT_EQ(std::atoi(counted->out.c_str()), 300'000);
  const auto ignored = Ran({.words = {"true"}, .input = text});
  ASSERT_TRUE(ignored.ok()) << ignored.status();
  EXPECT_EQ(ignored->exit_code, 0);
  EXPECT_EQ(Ran({.words = {"cat"}})->out, "") << "without input there is none, not this process's own";
}

TEST(RunProgram, TheEnvironmentIsThisOnesWithChanges) {
  setenv("SUBPROCESS_TEST_KEPT", "kept", 1);
  setenv("SUBPROCESS_TEST_CHANGED", "old", 1);
  const auto end = Ran({.words = Shell("echo $SUBPROCESS_TEST_KEPT $SUBPROCESS_TEST_CHANGED $SUBPROCESS_TEST_NEW"),
                        .environment = {{"SUBPROCESS_TEST_CHANGED", "changed"}, {"SUBPROCESS_TEST_NEW", "new"}}});
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->out, "kept changed new\n");
}

TEST(RunProgram, VariablesThatItDoesNotGet) {
  setenv("SUBPROCESS_TEST_ONE", "1", 1);
  setenv("SUBPROCESS_TEST_OTHER", "2", 1);
  const Words all = Shell("echo $SUBPROCESS_TEST_ONE:$SUBPROCESS_TEST_OTHER");
  EXPECT_EQ(Ran({.words = all, .without = {"SUBPROCESS_TEST_ONE", "SUBPROCESS_TEST_OTH"}})->out, ":2\n");
  EXPECT_EQ(Ran({.words = all, .without = {"SUBPROCESS_TEST_*"}})->out, ":\n");
  EXPECT_EQ(Ran({.words = all, .environment = {{"SUBPROCESS_TEST_ONE", "3"}}, .without = {"SUBPROCESS_TEST_*"}})->out,
            "3:\n");
}

TEST(RunProgram, BlockedSignalsAreNotInherited) {
  sigset_t block, old;
  sigemptyset(&block);
  sigaddset(&block, SIGTERM);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &block, &old), 0);
  const auto end = Ran({.words = Shell("kill -TERM $$; echo survived")});
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->exit_code, 128 + SIGTERM);
}

// A parent of this process may have had it ignored: the system then forgets how a program ended, also a failed one.
TEST(RunProgram, WithoutAnExitCodeItIsNoSuccess) {
  const auto before = signal(SIGCHLD, SIG_IGN);
  std::string ignored;
  const auto end = Ran({.words = Shell("grep SigIgn /proc/self/status; exit 3"),
                        .on_output = [&ignored](std::string_view block) { return ignored.append(block), true; }});
  signal(SIGCHLD, before);
  ASSERT_EQ(end.status().code(), absl::StatusCode::kInternal) << end.status();
  EXPECT_THAT(std::string(end.status().message()), AllOf(HasSubstr("/bin/sh ended"), HasSubstr("SIGCHLD")));
  unsigned long mask = 0;
  ASSERT_EQ(std::sscanf(ignored.c_str(), "SigIgn: %lx", &mask), 1) << ignored;
  EXPECT_EQ(mask & (1UL << (SIGCHLD - 1)), 0u) << "the program itself is not to inherit it";
}

TEST(RunProgram, OutputAsItComes) {
  std::size_t bytes = 0;
  const auto take = [&bytes](std::string_view block) { return bytes += block.size(), true; };
  const auto end = Ran({.words = Shell("head -c 3000000 /dev/zero; echo end >&2"), .on_output = take});
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(bytes, 3'000'000u);
  EXPECT_EQ(end->out, "");
  EXPECT_EQ(end->err, "end\n");
}

TEST(RunProgram, BothOutputsAtOnceDoNotWaitForEachOther) {
  const auto end = Ran({.words = Shell("head -c 500000 /dev/zero >&2; head -c 500000 /dev/zero")});
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->out.size(), 500'000u);
  EXPECT_EQ(end->err.size(), 500'000u);
}

TEST(RunProgram, WhatIsOverTheLimitIsDropped) {
  const auto end = Ran({.words = Shell("head -c 500000 /dev/zero; exit 2"), .longest_output = 100'000});
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->out.size(), 100'000u);
  EXPECT_EQ(end->exit_code, 2);
}

TEST(RunProgram, EnoughEndsIt) {
  std::size_t bytes = 0;
  const auto take = [&bytes](std::string_view block) { return (bytes += block.size()) < 100'000; };
  const auto endless = Ran({.words = {"cat", "/dev/zero"}, .timeout = seconds(600), .on_output = take});
  EXPECT_EQ(endless.status().code(), absl::StatusCode::kCancelled);
  // Also where it had ended by then.
  const auto refuse = [](std::string_view) { return false; };
  EXPECT_EQ(Ran({.words = {"echo"}, .on_output = refuse}).status().code(), absl::StatusCode::kCancelled);
}

// The end of a script at its timeout: the first of 1, 2, 4 … times `timeout` within which it said something.
absl::Status TimedOutOnceItSpoke(const std::string& script, milliseconds timeout) {
  absl::Status status;
  for (; timeout < seconds(60); timeout *= 2) {
    status = Ran({.words = Shell(script), .timeout = timeout}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
    if (absl::StrContains(status.message(), "it said")) break;
  }
  return status;
}

// The program, and a child of it that holds its output open and does not listen to TERM.
TEST(RunProgram, TheTimeoutEndsItAndWhatItStarted) {
  const std::string script = "trap '' TERM; (trap '' TERM; sleep 1000) & echo $$ $!; wait";
  const absl::Status status = TimedOutOnceItSpoke(script, milliseconds(300));
  const std::string message(status.message());
  int first = 0, second = 0;
  ASSERT_EQ(
      std::sscanf(message.c_str(), "/bin/sh had no answer within %*[0-9.] %*[ms]; it said: %d %d", &first, &second), 2)
      << message;
  EXPECT_TRUE(Gone(first));
  EXPECT_TRUE(Gone(second));
}

// The program goes at TERM, and leaves a child that does not.
TEST(RunProgram, TheTimeoutEndsWhatOutlivesIt) {
  const std::string script = "(trap '' TERM; echo $(exec sh -c 'echo $PPID'); while :; do sleep 1; done) & wait";
  const absl::Status status = TimedOutOnceItSpoke(script, seconds(1));
  int child = 0;
  const std::string message(status.message());
  ASSERT_EQ(std::sscanf(message.c_str(), "/bin/sh had no answer within %*[0-9.] %*[ms]; it said: %d", &child), 1)
      << message;
  EXPECT_TRUE(Gone(child));
}

TEST(RunProgram, ItsEndIsNoticedThoughAChildHoldsItsOutput) {
  const auto end = Ran({.words = Shell("sleep 1000 & echo $!"), .timeout = seconds(600)});
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->exit_code, 0);
  const int child = std::atoi(end->out.c_str());
  ASSERT_GT(child, 0);
  kill(child, SIGKILL);
}

TEST(RunProgram, AProgramThatClosesItsOutputIsWaitedFor) {
  const auto end = Ran({.words = Shell("exec >&- 2>&-; sleep 0.2; exit 4")});
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->exit_code, 4);
}

TEST(RunProgram, AStopEndsIt) {
  std::stop_source stop;
  const auto take = [&stop](std::string_view) { return stop.request_stop(), true; };
  const auto end = Ran(
      {.words = Shell("echo ready; sleep 1000"), .timeout = seconds(600), .on_output = take, .stop = stop.get_token()});
  EXPECT_EQ(end.status().code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(std::string(end.status().message()), HasSubstr("/bin/sh was stopped"));
}

// Its output is closed, so that nothing but its end could be waited for.
TEST(RunProgram, AStopEndsOneThatHasClosedItsOutput) {
  std::stop_source stop;
  const auto take = [&stop](std::string_view) { return stop.request_stop(), true; };
  const auto end = Ran({.words = Shell("echo ready; exec >&- 2>&-; sleep 1000"),
                        .timeout = seconds(600),
                        .on_output = take,
                        .stop = stop.get_token()});
  EXPECT_EQ(end.status().code(), absl::StatusCode::kCancelled) << end.status();
}

TEST(RunProgram, ItHasAProcessGroupOfItsOwn) {
  const auto end = Ran({.words = Shell("cat /proc/$$/stat")});
  ASSERT_TRUE(end.ok()) << end.status();
  int pid = 0, parent = 0, group = 0;
  ASSERT_EQ(std::sscanf(end->out.c_str(), "%d (%*[^)]) %*c %d %d", &pid, &parent, &group), 3) << end->out;
  EXPECT_EQ(parent, getpid());
  EXPECT_EQ(group, pid);
}

}  // namespace
}  // namespace hotplate
