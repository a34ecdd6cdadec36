// Real programs in real processes: how they begin and end, and that nothing of them is left.
#include "server/workers/supervisor.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "server/workers/process_tree.h"
#include "tests/unit/workers/descriptors.h"

namespace hotplate::server {
namespace {

using testing::HasSubstr;

constexpr std::chrono::seconds kPatience(60);

template <typename Condition>
bool Eventually(Condition condition) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

Program Shell(const std::string& script) {
  return {.file = "/bin/sh",
          .arguments = {"sh", "-c", script},
          .environment = {"PATH=/usr/bin:/bin", "WORD=from the environment"},
          .folder = "/",
          .umask = 022};
}

bool Never() { return false; }

bool IsThere(pid_t process) { return kill(process, 0) == 0; }

class SupervisorTest : public testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<Supervisor>> supervisor = Supervisor::Fork();
    ASSERT_TRUE(supervisor.ok()) << supervisor.status();
    supervisor_ = *std::move(supervisor);
  }

  RunningProgram Start(const Program& program) {
    absl::StatusOr<RunningProgram> running = supervisor_->Start(program, Never);
    EXPECT_TRUE(running.ok()) << running.status();
    return running.ok() ? *std::move(running) : RunningProgram();
  }

  // Runs it to its end, with nothing on its standard input.
  ProgramEnd Run(const Program& program, std::string* out = nullptr, std::string* err = nullptr) {
    RunningProgram running = Start(program);
    running.in.Close();
    const std::string printed = ReadAll(running.out), complained = ReadAll(running.err);
    if (out != nullptr) *out = printed;
    if (err != nullptr) *err = complained;
    const absl::StatusOr<ProgramEnd> end = running.End();
    EXPECT_TRUE(end.ok()) << end.status();
    return end.value_or(ProgramEnd());
  }

  std::unique_ptr<Supervisor> supervisor_;
};

TEST_F(SupervisorTest, AProgramHasItsArgumentsEnvironmentFolderAndStreams) {
  std::string out, err;
  const ProgramEnd end = Run(Shell("echo $WORD; pwd; umask; echo complaint >&2; exit 7"), &out, &err);
  EXPECT_EQ(out, "from the environment\n/\n0022\n");
  EXPECT_EQ(err, "complaint\n");
  EXPECT_EQ(end.use.exit_code, 7);
  EXPECT_FALSE(end.use.signal);
}

TEST_F(SupervisorTest, WhatGoesInComesOut) {
  RunningProgram running = Start(Shell("cat"));
  ASSERT_EQ(write(running.in.get(), "through", 7), 7);
  running.in.Close();
  EXPECT_EQ(ReadAll(running.out), "through");
  EXPECT_EQ(running.End()->use.exit_code, 0);
}

TEST_F(SupervisorTest, ASignalThatEndsItIsTold) { EXPECT_EQ(Run(Shell("kill -SEGV $$")).use.signal, SIGSEGV); }

TEST_F(SupervisorTest, ItsTimeAndMemoryAreTold) {
  const ProgramEnd end = Run(Shell("i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done"));
  EXPECT_GT(end.use.user.count(), 0);
  EXPECT_GT(end.use.peak_bytes, 100'000U);
}

TEST_F(SupervisorTest, AFileThatIsNoProgramIsTold) {
  Program program = Shell("");
  program.file = "/etc/passwd";
  EXPECT_THAT(supervisor_->Start(program, Never).status().ToString(),
              HasSubstr("/etc/passwd cannot be executed: Permission denied"));
  program.file = "/no/such/program";
  EXPECT_THAT(supervisor_->Start(program, Never).status().ToString(), HasSubstr("/no/such/program cannot be executed"));
}

TEST_F(SupervisorTest, AFolderThatIsNotThereIsTold) {
  Program program = Shell("");
  program.folder = "/no/such/folder";
  EXPECT_THAT(supervisor_->Start(program, Never).status().ToString(),
              HasSubstr("/no/such/folder cannot be entered: No such file"));
}

TEST_F(SupervisorTest, ASignalReachesTheProgramsGroup) {
  RunningProgram running = Start(Shell("trap 'echo caught; exit 3' INT; echo ready; while :; do sleep 0.01; done"));
  char line[6];
  pollfd readable{running.out.get(), POLLIN, 0};
  ASSERT_EQ(poll(&readable, 1, 60'000), 1);
  ASSERT_EQ(read(running.out.get(), line, sizeof(line)), 6);
  running.Signal(SIGINT);
  EXPECT_EQ(ReadAll(running.out), "caught\n");
  EXPECT_EQ(running.End()->use.exit_code, 3);
}

// It ignores what can be ignored, and its children live in sessions of their own, without a parent.
constexpr char kStubborn[] =
    "trap '' INT TERM HUP; "
    "(sh -c 'trap \"\" TERM; sleep 1000 & echo $!; wait' &) ; "
    "(setsid sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1000; done' &) ; "
    "(setsid sleep 1000 & echo $!) ; "
    "echo $$; while :; do sleep 1000; done";

std::vector<pid_t> ReadProcesses(const Descriptor& from, std::size_t count) {
  std::vector<pid_t> processes;
  std::string text;
  while (processes.size() < count) {
    char byte = 0;
    pollfd readable{from.get(), POLLIN, 0};
    if (poll(&readable, 1, 60'000) != 1 || read(from.get(), &byte, 1) != 1) break;
    if (byte != '\n') {
      text += byte;
      continue;
    }
    processes.push_back(std::stoi(text));
    text.clear();
  }
  return processes;
}

TEST_F(SupervisorTest, AKillEndsTheWholeTree) {
  RunningProgram running = Start(Shell(kStubborn));
  const std::vector<pid_t> processes = ReadProcesses(running.out, 4);
  ASSERT_EQ(processes.size(), 4U);
  for (const pid_t process : processes) EXPECT_TRUE(IsThere(process)) << process;
  running.Kill();
  EXPECT_EQ(running.End()->use.signal, SIGKILL);
  for (const pid_t process : processes) EXPECT_FALSE(IsThere(process)) << process;
}

TEST_F(SupervisorTest, WhatAProgramLeavesBehindEndsWithIt) {
  RunningProgram running = Start(Shell("(setsid sleep 1000 & echo $!)"));
  const std::vector<pid_t> processes = ReadProcesses(running.out, 1);
  ASSERT_EQ(processes.size(), 1U);
  const absl::StatusOr<ProgramEnd> end = running.End();
  EXPECT_EQ(end->use.exit_code, 0);
  EXPECT_EQ(end->left, 0);
  EXPECT_FALSE(IsThere(processes[0]));
}

TEST_F(SupervisorTest, AForkBombIsStopped) {
  RunningProgram running =
      Start(Shell("f() { sleep 1000 & }; i=0; while [ $i -lt 200 ]; do f; i=$((i+1)); done; echo 1; wait"));
  ASSERT_EQ(ReadProcesses(running.out, 1).size(), 1U);
  EXPECT_GE(DescendantsOf(running.pid).size(), 200U);
  running.Kill();
  ASSERT_TRUE(running.End().ok());
  EXPECT_TRUE(DescendantsOf(running.pid).empty());
}

TEST_F(SupervisorTest, TooMuchMemoryIsTheEndOfIt) {
  Program program = Shell("x=$(head -c 300000000 /dev/zero | tr '\\0' x); echo ${#x}");
  program.memory_bytes = 100'000'000;
  const ProgramEnd end = Run(program);
  EXPECT_TRUE(end.over_memory);
  EXPECT_EQ(end.use.signal, SIGKILL);
}

TEST_F(SupervisorTest, AProgramEndsWhenNobodyHoldsIt) {
  std::vector<pid_t> processes;
  {
    RunningProgram running = Start(Shell(kStubborn));
    processes = ReadProcesses(running.out, 4);
  }
  ASSERT_EQ(processes.size(), 4U);
  for (const pid_t process : processes) EXPECT_TRUE(Eventually([&] { return !IsThere(process); })) << process;
}

TEST_F(SupervisorTest, AKeeperThatIsKilledTakesAllWithIt) {
  RunningProgram running = Start(Shell(kStubborn));
  const std::vector<pid_t> processes = ReadProcesses(running.out, 4);
  ASSERT_EQ(processes.size(), 4U);
  const std::vector<pid_t> keepers = ChildrenOf(supervisor_->pid());
  ASSERT_EQ(keepers.size(), 1U);
  kill(keepers[0], SIGKILL);
  EXPECT_THAT(running.End().status().ToString(), HasSubstr("is gone"));
  for (const pid_t process : processes) EXPECT_TRUE(Eventually([&] { return !IsThere(process); })) << process;
}

TEST_F(SupervisorTest, AllEndsWithTheSupervisor) {
  RunningProgram running = Start(Shell(kStubborn));
  const std::vector<pid_t> processes = ReadProcesses(running.out, 4);
  ASSERT_EQ(processes.size(), 4U);
  kill(supervisor_->pid(), SIGKILL);
  for (const pid_t process : processes) EXPECT_TRUE(Eventually([&] { return !IsThere(process); })) << process;
  EXPECT_TRUE(Eventually([&] { return !supervisor_->Start(Shell(""), Never).ok(); }));
  EXPECT_FALSE(supervisor_->alive());
}

TEST_F(SupervisorTest, AProgramInheritsNothing) {
  const Descriptor secret(open("/dev/null", O_RDONLY));  // not close-on-exec
  ASSERT_TRUE(secret);
  SetUp();  // a supervisor that has it
  std::string out;
  Run(Shell("ls /proc/self/fd | tr '\\n' ' '; grep SigBlk /proc/self/status"), &out);
  EXPECT_THAT(out, testing::StartsWith("0 1 2 3 "));  // 3 is the folder that ls reads
  EXPECT_THAT(out, testing::Not(HasSubstr("4 ")));
  EXPECT_THAT(out, HasSubstr("SigBlk:\t0000000000000000"));
}

TEST_F(SupervisorTest, AStartThatTakesTooLongIsGivenUp) {
  // As if a file server did not answer.
  int asked = 0;
  kill(supervisor_->pid(), SIGSTOP);
  const absl::StatusOr<RunningProgram> running =
      supervisor_->Start(Shell("echo never"), [&asked] { return ++asked == 3; });
  EXPECT_TRUE(absl::IsCancelled(running.status())) << running.status();
  kill(supervisor_->pid(), SIGCONT);
  EXPECT_EQ(Run(Shell("exit 3")).use.exit_code, 3);
  EXPECT_TRUE(Eventually([&] { return ChildrenOf(supervisor_->pid()).empty(); }));
}

TEST_F(SupervisorTest, TermForAllOfABatchJobIsForTheProgramToHeed) {
  RunningProgram running = Start(Shell("trap 'echo heeded; exit 5' TERM; echo $$; while :; do sleep 0.01; done"));
  const std::vector<pid_t> processes = ReadProcesses(running.out, 1);
  ASSERT_EQ(processes.size(), 1U);
  kill(supervisor_->pid(), SIGTERM);
  for (const pid_t keeper : ChildrenOf(supervisor_->pid())) kill(keeper, SIGTERM);
  kill(processes[0], SIGTERM);
  EXPECT_EQ(ReadAll(running.out), "heeded\n");
  EXPECT_EQ(running.End()->use.exit_code, 5);
  EXPECT_TRUE(supervisor_->alive());
}

TEST_F(SupervisorTest, NothingIsLeftOfManyPrograms) {
  Run(Shell("true"));
  const std::size_t before = OpenDescriptors();
  for (int i = 0; i < 50; ++i) EXPECT_EQ(Run(Shell("exit 4")).use.exit_code, 4);
  EXPECT_EQ(OpenDescriptors(), before);
  EXPECT_TRUE(Eventually([&] { return ChildrenOf(supervisor_->pid()).empty(); }));
}

TEST_F(SupervisorTest, ManyRunAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < 5; ++k) right += Run(Shell("sleep 0.01; exit " + std::to_string(i))).use.exit_code == i;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 40);
}

}  // namespace
}  // namespace hotplate::server
