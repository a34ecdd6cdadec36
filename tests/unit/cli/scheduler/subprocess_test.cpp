// Programs of a site's: whatever they do, the caller gets an answer in time.
#include "client/cli/scheduler/subprocess.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "client/lib/endpoint.h"

namespace hotplate::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using Words = std::vector<std::string>;

absl::StatusOr<ProgramResult> Ran(const ProgramCall& call) { return RunProgram(call, ProcessEnvironment()); }

Words Shell(const std::string& script) { return {"/bin/sh", "-c", script}; }

bool Gone(int pid) {
  for (int i = 0; i < 3000; ++i) {
    if (!client::ProcessExists(pid)) return true;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return false;
}

TEST(Subprocess, OutputErrorsAndExitCode) {
  const auto end = Ran({.words = Shell("echo out; echo err >&2; exit 3")});
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->out, "out\n");
  EXPECT_EQ(end->err, "err\n");
  EXPECT_EQ(end->exit_code, 3);
}

TEST(Subprocess, ASignalIsAnExitCodeToo) {
  const auto end = Ran({.words = Shell("kill -KILL $$")});
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->exit_code, 128 + SIGKILL);
}

TEST(Subprocess, WordsAreNotReadByAShell) {
  const auto end = Ran({.words = {"printf", "%s|", "a b", "$HOME", "`id`; exit 7", ""}});
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->out, "a b|$HOME|`id`; exit 7||");
}

TEST(Subprocess, AProgramThatIsNotThere) {
  const auto end = Ran({.words = {"no-such-program-17"}});
  EXPECT_EQ(end.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(end.status().message()), HasSubstr("no-such-program-17"));
  EXPECT_FALSE(Ran({.words = {"/no/such/program"}}).ok());
  EXPECT_FALSE(Ran({.words = {"/etc/passwd"}}).ok());
}

TEST(Subprocess, InputOfAnySize) {
  const std::string text(300'000, 'x');
  const auto counted = Ran({.words = {"wc", "-c"}, .input = text});
  ASSERT_TRUE(counted.ok()) << counted.status();
  EXPECT_EQ(std::atoi(counted->out.c_str()), 300'000);
  const auto ignored = Ran({.words = {"true"}, .input = text});
  ASSERT_TRUE(ignored.ok()) << ignored.status();
  EXPECT_EQ(ignored->exit_code, 0);
  EXPECT_EQ(Ran({.words = {"cat"}})->out, "") << "without input there is none, not this process's own";
}

TEST(Subprocess, TheEnvironmentIsThisOnesWithChanges) {
  setenv("SUBPROCESS_TEST_KEPT", "kept", 1);
  setenv("SUBPROCESS_TEST_CHANGED", "old", 1);
  const auto end = Ran({.words = Shell("echo $SUBPROCESS_TEST_KEPT $SUBPROCESS_TEST_CHANGED $SUBPROCESS_TEST_NEW"),
                        .environment = {{"SUBPROCESS_TEST_CHANGED", "changed"}, {"SUBPROCESS_TEST_NEW", "new"}}});
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->out, "kept changed new\n");
}

TEST(Subprocess, OutputAsItComes) {
  std::size_t bytes = 0;
  const auto take = [&bytes](std::string_view block) { return bytes += block.size(), true; };
  const auto end = Ran({.words = Shell("head -c 3000000 /dev/zero; echo end >&2"), .on_output = take});
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(bytes, 3'000'000u);
  EXPECT_EQ(end->out, "");
  EXPECT_EQ(end->err, "end\n");
}

TEST(Subprocess, BothOutputsAtOnceDoNotWaitForEachOther) {
  const auto end = Ran({.words = Shell("head -c 500000 /dev/zero >&2; head -c 500000 /dev/zero")});
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->out.size(), 500'000u);
  EXPECT_EQ(end->err.size(), 500'000u);
}

TEST(Subprocess, WhatIsOverTheLimitIsDropped) {
  const auto end = Ran({.words = Shell("head -c 500000 /dev/zero; exit 2"), .longest_output = 100'000});
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->out.size(), 100'000u);
  EXPECT_EQ(end->exit_code, 2);
}

TEST(Subprocess, EnoughEndsIt) {
  std::size_t bytes = 0;
  const auto take = [&bytes](std::string_view block) { return (bytes += block.size()) < 100'000; };
  const auto endless = Ran({.words = {"cat", "/dev/zero"}, .timeout = seconds(600), .on_output = take});
  EXPECT_EQ(endless.status().code(), absl::StatusCode::kCancelled);
  // Also where it had ended by then.
  const auto refuse = [](std::string_view) { return false; };
  EXPECT_EQ(Ran({.words = {"echo"}, .on_output = refuse}).status().code(), absl::StatusCode::kCancelled);
}

// The program, and a child of it that holds its output open and does not listen to TERM.
TEST(Subprocess, TheTimeoutEndsItAndWhatItStarted) {
  const auto end = Ran(
      {.words = Shell("trap '' TERM; (trap '' TERM; sleep 1000) & echo $$ $!; wait"), .timeout = milliseconds(300)});
  EXPECT_EQ(end.status().code(), absl::StatusCode::kDeadlineExceeded);
  const std::string message(end.status().message());
  int first = 0, second = 0;
  ASSERT_EQ(std::sscanf(message.c_str(), "/bin/sh had no answer within 300 ms; it said: %d %d", &first, &second), 2)
      << message;
  EXPECT_TRUE(Gone(first));
  EXPECT_TRUE(Gone(second));
}

TEST(Subprocess, ItsEndIsNoticedThoughAChildHoldsItsOutput) {
  const auto end = Ran({.words = Shell("sleep 1000 & echo $!"), .timeout = seconds(600)});
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->exit_code, 0);
  const int child = std::atoi(end->out.c_str());
  ASSERT_GT(child, 0);
  kill(child, SIGKILL);
}

TEST(Subprocess, AProgramThatClosesItsOutputIsWaitedFor) {
  const auto end = Ran({.words = Shell("exec >&- 2>&-; sleep 0.2; exit 4")});
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->exit_code, 4);
}

TEST(Subprocess, AStopEndsIt) {
  std::stop_source stop;
  const auto take = [&stop](std::string_view) { return stop.request_stop(), true; };
  const auto end = Ran(
      {.words = Shell("echo ready; sleep 1000"), .timeout = seconds(600), .on_output = take, .stop = stop.get_token()});
  EXPECT_EQ(end.status().code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(std::string(end.status().message()), HasSubstr("/bin/sh was stopped"));
}

TEST(Subprocess, ItHasAProcessGroupOfItsOwn) {
  const auto end = Ran({.words = Shell("cat /proc/$$/stat")});
  ASSERT_TRUE(end.ok()) << end.status();
  int pid = 0, parent = 0, group = 0;
  ASSERT_EQ(std::sscanf(end->out.c_str(), "%d (%*[^)]) %*c %d %d", &pid, &parent, &group), 3) << end->out;
  EXPECT_EQ(parent, getpid());
  EXPECT_EQ(group, pid);
}

}  // namespace
}  // namespace hotplate::cli
