// Programs of a site's: whatever they do, the caller gets an answer in time and nothing of theirs is left.
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

std::vector<std::string> Shell(const std::string& script) { return {"/bin/sh", "-c", script}; }

bool Gone(pid_t pid) {
  for (int i = 0; i < 1000; ++i) {
    if (!client::ProcessExists(pid)) return true;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return false;
}

TEST(Subprocess, OutputErrorsAndExitCode) {
  const auto end = RunProgram(Shell("echo out; echo err >&2; exit 3"));
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->output, "out\n");
  EXPECT_EQ(end->error_output, "err\n");
  EXPECT_EQ(end->exit_code, 3);
}

TEST(Subprocess, ASignalIsAnExitCodeToo) {
  const auto end = RunProgram(Shell("kill -KILL $$"));
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->exit_code, 128 + SIGKILL);
}

TEST(Subprocess, WordsAreNotReadByAShell) {
  const auto end = RunProgram({"printf", "%s|", "a b", "$HOME", "`id`; exit 7", ""});
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->output, "a b|$HOME|`id`; exit 7||");
}

TEST(Subprocess, AProgramThatIsNotThere) {
  EXPECT_EQ(RunProgram({"no-such-program-17"}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(RunProgram({"no-such-program-17"}).status().message()), HasSubstr("no-such-program-17"));
  EXPECT_EQ(RunProgram({"/no/such/program"}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(RunProgram({"/etc/passwd"}).status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(RunProgram({}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Subprocess, InputOfAnySize) {
  const std::string text(300'000, 'x');
  const auto counted = RunProgram({"wc", "-c"}, {.input = text});
  ASSERT_TRUE(counted.ok()) << counted.status();
  EXPECT_EQ(std::atoi(counted->output.c_str()), 300'000);
  const auto ignored = RunProgram({"true"}, {.input = text});
  ASSERT_TRUE(ignored.ok()) << ignored.status();
  EXPECT_EQ(ignored->exit_code, 0);
  EXPECT_EQ(RunProgram({"cat"})->output, "") << "without input there is none, not this process's own";
}

TEST(Subprocess, TheEnvironmentIsThisOnesWithChanges) {
  setenv("SUBPROCESS_TEST_KEPT", "kept", 1);
  setenv("SUBPROCESS_TEST_CHANGED", "old", 1);
  const auto end =
      RunProgram(Shell("echo $SUBPROCESS_TEST_KEPT $SUBPROCESS_TEST_CHANGED $SUBPROCESS_TEST_NEW"),
                 {.environment = {{"SUBPROCESS_TEST_CHANGED", "changed"}, {"SUBPROCESS_TEST_NEW", "new"}}});
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->output, "kept changed new\n");
}

TEST(Subprocess, OutputAsItComes) {
  std::size_t bytes = 0;
  const auto end = RunProgram(Shell("head -c 1000000 /dev/zero"),
                              {.on_output = [&bytes](std::string_view block) { bytes += block.size(); }});
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(bytes, 1'000'000u);
  EXPECT_EQ(end->output, "");
}

TEST(Subprocess, BothOutputsAtOnceDoNotWaitForEachOther) {
  const auto end = RunProgram(Shell("head -c 500000 /dev/zero >&2; head -c 500000 /dev/zero"));
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->output.size(), 500'000u);
  EXPECT_EQ(end->error_output.size(), 500'000u);
}

TEST(Subprocess, TooMuchOutputEndsIt) {
  const auto end = RunProgram({"cat", "/dev/zero"}, {.most_output = 100'000});
  EXPECT_EQ(end.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(end.status().message()), HasSubstr("cat wrote more than 100000 bytes"));
  EXPECT_TRUE(RunProgram(Shell("head -c 100000 /dev/zero"), {.most_output = 100'000}).ok()) << "exactly so much is in";
}

// The program, and a child of it that holds its output open and does not listen to TERM.
TEST(Subprocess, TheTimeoutEndsItAndWhatItStarted) {
  std::string pids;
  const auto end =
      RunProgram(Shell("trap '' TERM; (trap '' TERM; sleep 1000) & echo $$ $!; wait"),
                 {.timeout = milliseconds(300), .on_output = [&pids](std::string_view block) { pids += block; }});
  EXPECT_EQ(end.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(end.status().message()), HasSubstr("/bin/sh did not end within 300 ms"));
  char* rest = nullptr;
  const long first = std::strtol(pids.c_str(), &rest, 10), second = std::strtol(rest, nullptr, 10);
  ASSERT_GT(second, 0) << pids;
  EXPECT_TRUE(Gone(static_cast<pid_t>(first)));
  EXPECT_TRUE(Gone(static_cast<pid_t>(second)));
}

TEST(Subprocess, ItsEndIsNoticedThoughAChildHoldsItsOutput) {
  const auto end = RunProgram(Shell("sleep 1000 & echo $!"));
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->exit_code, 0);
  EXPECT_TRUE(Gone(std::atoi(end->output.c_str())));
}

TEST(Subprocess, AProgramThatClosesItsOutputIsWaitedFor) {
  const auto end = RunProgram(Shell("exec >&- 2>&-; sleep 0.2; exit 4"));
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->exit_code, 4);
}

TEST(Subprocess, AStopEndsIt) {
  std::stop_source stop;
  const auto end = RunProgram(
      Shell("echo ready; sleep 1000"),
      {.timeout = seconds(600), .on_output = [&](std::string_view) { stop.request_stop(); }, .stop = stop.get_token()});
  EXPECT_EQ(end.status().code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(std::string(end.status().message()), HasSubstr("/bin/sh was stopped"));
}

TEST(Subprocess, ItHasAProcessGroupOfItsOwn) {
  const auto end = RunProgram({"/bin/sh", "-c", "cat /proc/$$/stat"});
  ASSERT_TRUE(end.ok()) << end.status();
  int pid = 0, parent = 0, group = 0;
  ASSERT_EQ(std::sscanf(end->output.c_str(), "%d (%*[^)]) %*c %d %d", &pid, &parent, &group), 3) << end->output;
  EXPECT_EQ(parent, getpid());
  EXPECT_EQ(group, pid);
}

}  // namespace
}  // namespace hotplate::cli
