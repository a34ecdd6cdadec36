// Real interpreters: how a script comes to a warm Python, and what it is told where it does not.
#include "server/workers/warm_pythons.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "server/workers/process_tree.h"
#include "tests/unit/workers/descriptors.h"

namespace hotplate::server {
namespace {

using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;
using State = WarmPythons::State;

bool NoWish() { return false; }

class WarmPythonsTest : public testing::Test {
 protected:
  void SetUp() override {
    signal(SIGPIPE, SIG_IGN);  // as the daemon does
    if (access("/usr/bin/python3", X_OK) != 0) GTEST_SKIP() << "there is no /usr/bin/python3";
    supervisor_ = *Supervisor::Fork();
    pythons_ = std::make_unique<WarmPythons>(*supervisor_, OurFiles());
  }

  static WarmPythons::Files OurFiles() {
    return {HOTPLATE_BIN_DIR "/hotplate-keeper", HOTPLATE_SOURCE_DIR "/server/workers/python/hotplate_worker.py",
            HOTPLATE_SOURCE_DIR "/server/workers/python/hotplate_calls.py"};
  }

  static Program Code(const std::string& code, std::vector<std::string> more = {}) {
    Program program{.file = "/usr/bin/python3",
                    .arguments = {"python3", "-c", code},
                    .environment = {"PATH=/usr/bin:/bin", "HOME=/nonexistent"},
                    .folder = "/",
                    .umask = 022};
    program.environment.insert(program.environment.end(), more.begin(), more.end());
    return program;
  }

  struct Told {
    std::string out, err, why_cold;
    ProgramEnd end;
  };
  Told Run(const Program& program) {
    absl::StatusOr<WarmPythons::Started> started = pythons_->Start(program, NoWish);
    EXPECT_TRUE(started.ok()) << started.status();
    if (!started.ok()) return {};
    started->running.in.Close();
    Told told{ReadAll(started->running.out), ReadAll(started->running.err), started->why_cold, {}};
    const absl::StatusOr<ProgramEnd> end = started->running.End();
    EXPECT_TRUE(end.ok()) << end.status();
    told.end = end.value_or(ProgramEnd());
    return told;
  }

  template <typename Condition>
  bool Comes(Condition condition) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(100);
    while (!condition()) {
      if (std::chrono::steady_clock::now() >= until) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
  }

  // Of the only environment.
  WarmPythons::Row Warm() {
    Run(Code("pass"));
    EXPECT_TRUE(Comes([this] {
      const auto rows = pythons_->Rows();
      return !rows.empty() && rows[0].state == State::kWarm;
    }));
    const auto rows = pythons_->Rows();
    return rows.empty() ? WarmPythons::Row() : rows[0];
  }

  std::unique_ptr<Supervisor> supervisor_;
  std::unique_ptr<WarmPythons> pythons_;
};

TEST_F(WarmPythonsTest, TheFirstScriptStartsAnewAndTheNextIsForked) {
  EXPECT_EQ(Run(Code("print(1)")).why_cold, "the first in its environment");
  const WarmPythons::Row row = Warm();
  EXPECT_EQ(row.interpreter, "/usr/bin/python3");
  EXPECT_THAT(row.version, StartsWith("3."));
  EXPECT_GT(row.pid, 0);
  EXPECT_EQ(row.scripts, 0U);
  const Told told =
      Run(Code("import os, sys; print(os.getppid() != 1, sys.argv, os.environ.get('MINE')); sys.exit(7)", {"MINE=1"}));
  EXPECT_EQ(told.why_cold, "");
  EXPECT_EQ(told.out, "True ['-c'] 1\n");
  EXPECT_EQ(told.err, "");
  EXPECT_EQ(told.end.use.exit_code, 7);
  EXPECT_GT(told.end.use.peak_bytes, 1'000'000U);
  EXPECT_EQ(pythons_->Rows()[0].scripts, 1U);
}

TEST_F(WarmPythonsTest, WhatWasWarmIsPreparedForTheNextDaemon) {
  EXPECT_TRUE(pythons_->WhatIsKnown().empty());
  Run(Code("pass", {"SECRET=1", "TF_VAR_x=1", "JAX_TOKEN=1", "PYTHONDONTWRITEBYTECODE=1"}));
  ASSERT_TRUE(Comes([this] { return pythons_->WhatIsKnown().size() == 1; }));
  std::vector<WarmPythons::Known> known = pythons_->WhatIsKnown();
  EXPECT_EQ(known[0].interpreter, "/usr/bin/python3");
  EXPECT_EQ(known[0].variables,
            (std::vector<std::string>{"PATH=/usr/bin:/bin", "HOME=/nonexistent", "PYTHONDONTWRITEBYTECODE=1"}));
  known[0].modules = {"colorsys"};
  known.push_back({"/usr/bin/no such python", {"HOME=/nonexistent", "damaged"}, {}, {}});
  pythons_ = std::make_unique<WarmPythons>(*supervisor_, OurFiles());
  pythons_->Prepare(known);
  ASSERT_TRUE(Comes([this] {
    const auto rows = pythons_->Rows();
    return std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.state == State::kWarm; });
  }));
  const Told told =
      Run(Code("import sys; print('colorsys' in sys.modules)", {"SECRET=2", "PYTHONDONTWRITEBYTECODE=1"}));
  EXPECT_EQ(told.why_cold, "") << "the first script of this daemon";
  EXPECT_EQ(told.out, "True\n");
}

TEST_F(WarmPythonsTest, AFolderThatIsNotThereIsTold) {
  Warm();
  Program program = Code("pass");
  program.folder = "/no/such/folder";
  EXPECT_THAT(pythons_->Start(program, NoWish).status().ToString(),
              HasSubstr("/no/such/folder cannot be entered: No such"));
}

TEST_F(WarmPythonsTest, ASignalReachesTheScript) {
  Warm();
  // Sent as soon as it has started, which may be before its first instruction.
  for (int i = 0; i < 5; ++i) {
    absl::StatusOr<WarmPythons::Started> started = pythons_->Start(Code("import time; time.sleep(1000)"), NoWish);
    ASSERT_TRUE(started.ok());
    EXPECT_EQ(started->why_cold, "");
    started->running.Signal(SIGINT);
    EXPECT_THAT(ReadAll(started->running.err), HasSubstr("KeyboardInterrupt"));
    EXPECT_EQ(started->running.End()->use.signal, SIGINT);
  }
}

TEST_F(WarmPythonsTest, AKillEndsTheWholeTree) {
  Warm();
  absl::StatusOr<WarmPythons::Started> started =
      pythons_->Start(Code("import subprocess, time\nprint(subprocess.Popen(['sleep', '1000'], "
                           "start_new_session=True).pid, flush=True)\n"
                           "time.sleep(1000)"),
                      NoWish);
  ASSERT_TRUE(started.ok());
  pollfd readable{started->running.out.get(), POLLIN, 0};
  char line[32] = {};
  ASSERT_EQ(poll(&readable, 1, 60'000), 1);
  ASSERT_GT(read(started->running.out.get(), line, sizeof(line) - 1), 0);
  started->running.Kill();
  EXPECT_EQ(started->running.End()->use.signal, SIGKILL);
  EXPECT_NE(kill(std::atoi(line), 0), 0);
}

TEST_F(WarmPythonsTest, OneThatWasKilledIsStartedAgain) {
  const pid_t pid = Warm().pid;
  kill(pid, SIGKILL);
  ASSERT_TRUE(Comes([this] { return pythons_->Rows()[0].state == State::kEnded; }));
  EXPECT_EQ(Run(Code("pass")).why_cold, "its warm Python had ended");
  EXPECT_NE(Warm().pid, pid);
  EXPECT_EQ(Run(Code("pass")).why_cold, "");
}

TEST_F(WarmPythonsTest, AKeeperThatIsKilledTakesAllWithIt) {
  const pid_t pid = Warm().pid;
  absl::StatusOr<WarmPythons::Started> started = pythons_->Start(
      Code("import subprocess, time\nsubprocess.Popen(['sleep', '1000'], start_new_session=True)\ntime.sleep(1000)"),
      NoWish);
  ASSERT_TRUE(started.ok());
  ASSERT_TRUE(Comes([&] { return DescendantsOf(started->running.pid).size() == 1; }));
  const pid_t child = DescendantsOf(started->running.pid)[0];
  const std::vector<pid_t> keepers = ChildrenOf(pid);
  ASSERT_THAT(keepers, SizeIs(1));
  kill(keepers[0], SIGKILL);
  EXPECT_THAT(started->running.End().status().ToString(), HasSubstr("is gone"));
  EXPECT_TRUE(Comes([&] { return kill(started->running.pid, 0) != 0 && kill(child, 0) != 0; }));
  EXPECT_EQ(Run(Code("pass")).why_cold, "");
}

TEST_F(WarmPythonsTest, AnInterpreterThatIsNoneIsLeftAlone) {
  const std::filesystem::path file =
      std::filesystem::path(testing::TempDir()) / ("no_python" + std::to_string(getpid()));
  std::ofstream(file) << "#!/bin/sh\ncase $1 in -c) echo said;; *) echo it is none >&2; exit 1;; esac\n";
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  Program program = Code("pass");
  program.file = file;
  EXPECT_TRUE(Comes([&] {
    const Told told = Run(program);
    EXPECT_EQ(told.out, "said\n");
    return told.why_cold == "no warm Python: it is none";
  }));
  EXPECT_EQ(pythons_->Rows()[0].state, State::kFailed);
  EXPECT_EQ(pythons_->Rows()[0].why, "it is none");
  EXPECT_EQ(pythons_->Restart(), 1U);
  EXPECT_EQ(Run(program).why_cold, "the first in its environment");
  std::filesystem::remove(file);
}

TEST_F(WarmPythonsTest, RestartLetsScriptsEnd) {
  const pid_t pid = Warm().pid;
  absl::StatusOr<WarmPythons::Started> started = pythons_->Start(Code("input(); print('done')"), NoWish);
  ASSERT_TRUE(started.ok());
  EXPECT_EQ(pythons_->Restart(), 1U);
  EXPECT_THAT(pythons_->Rows(), SizeIs(0));
  EXPECT_NE(Warm().pid, pid);
  EXPECT_EQ(kill(pid, 0), 0);
  started->running.in.Close();
  EXPECT_THAT(ReadAll(started->running.err), HasSubstr("EOFError"));
  EXPECT_TRUE(started->running.End().ok());
  EXPECT_TRUE(Comes([&] { return kill(pid, 0) != 0; }));
}

TEST_F(WarmPythonsTest, OfTooManyEnvironmentsTheOldestGoes) {
  for (std::size_t i = 0; i <= WarmPythons::kMost; ++i) {
    Run(Code("pass", {"LC_ALL=" + std::to_string(i)}));
  }
  EXPECT_THAT(pythons_->Rows(), SizeIs(WarmPythons::kMost));
  EXPECT_EQ(Run(Code("pass", {"LC_ALL=0"})).why_cold, "the first in its environment");
}

TEST_F(WarmPythonsTest, ManyAtOnce) {
  Warm();
  std::vector<std::thread> threads;
  std::atomic<int> right{0}, warm{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < 5; ++k) {
        const Told told = Run(Code("import sys; sys.exit(" + std::to_string(i) + ")"));
        right += told.end.use.exit_code == i;
        warm += told.why_cold.empty();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 40);
  EXPECT_EQ(warm, 40);
}

TEST_F(WarmPythonsTest, NothingIsLeft) {
  Warm();
  const std::size_t before = OpenDescriptors();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Run(Code("import os; os.abort()")).end.use.signal, SIGABRT);
  EXPECT_EQ(OpenDescriptors(), before);
  EXPECT_TRUE(Comes([&] { return DescendantsOf(supervisor_->pid()).size() == 2; }));
  pythons_.reset();
  EXPECT_TRUE(Comes([&] { return DescendantsOf(supervisor_->pid()).empty(); }));
}

TEST_F(WarmPythonsTest, AllEndsWithTheSupervisor) {
  const pid_t pid = Warm().pid;
  absl::StatusOr<WarmPythons::Started> started = pythons_->Start(Code("import time; time.sleep(1000)"), NoWish);
  ASSERT_TRUE(started.ok());
  kill(supervisor_->pid(), SIGKILL);
  EXPECT_TRUE(Comes([&] { return kill(pid, 0) != 0 && kill(started->running.pid, 0) != 0; }));
}

}  // namespace
}  // namespace hotplate::server
