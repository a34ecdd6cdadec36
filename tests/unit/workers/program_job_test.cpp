#include "server/workers/program_job.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <thread>

namespace hotplate::server {
namespace {

using core::RunResult;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

DeviceInfo Cpu() {
  DeviceInfo info;
  info.id = "cpu0";
  info.threads_per_lane = 3;
  return info;
}

DeviceInfo Gpu() {
  DeviceInfo info;
  info.id = "gpu0";
  info.uuid = "GPU-1234";
  info.host_memory = false;
  return info;
}

class ProgramJobTest : public testing::Test {
 protected:
  void SetUp() override {
    signal(SIGPIPE, SIG_IGN);  // as the daemon does
    supervisor_ = *Supervisor::Fork();
  }

  std::unique_ptr<ProgramJob> Job(const std::string& script, bool has_client = true,
                                  std::optional<TerminalSize> terminal = std::nullopt) {
    Program program{.file = "/bin/sh",
                    .arguments = {"try.sh", "-c", script},
                    .environment = {"PATH=/usr/bin:/bin", "OMP_NUM_THREADS=1"},
                    .folder = "/",
                    .terminal = terminal};
    streams_ = std::make_shared<ProgramStreams>(has_client);
    return std::make_unique<ProgramJob>(*supervisor_, nullptr, ProgramJob::Kind::kExec, std::move(program), streams_);
  }

  std::string Kept() const {
    std::string text;
    for (const OutputPiece& piece : streams_->KeptFrom(0).pieces) text += piece.text;
    return text;
  }

  // On a client's thread. What never comes ends the job, and so the test.
  template <typename Condition>
  void Await(Condition condition) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!condition()) {
      if (std::chrono::steady_clock::now() >= until) {
        ADD_FAILURE() << "it did not come: " << Kept();
        return control_.RequestCancel();
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  void AwaitOutput(const std::string& text) {
    Await([&] { return Kept().find(text) != std::string::npos; });
  }
  RunResult RunAndCancelOnce(const std::string& output, ProgramJob& job) {
    std::thread client([&] {
      AwaitOutput(output);
      control_.RequestCancel();
    });
    RunResult end = job.Run(Cpu(), {}, {}, control_);
    client.join();
    return end;
  }

  std::unique_ptr<Supervisor> supervisor_;
  std::shared_ptr<ProgramStreams> streams_;
  TaskControl control_;
};

constexpr TerminalSize kSize{.rows = 12, .columns = 34};

TEST_F(ProgramJobTest, ItsTerminalIsItsOwnAndHasTheSizeThatIsTold) {
  const std::unique_ptr<ProgramJob> job = Job(
      "stty size; trap 'stty size; exit 5' WINCH; echo ready > /dev/tty; while :; do sleep 0.01; done", true, kSize);
  std::thread client([&] {
    AwaitOutput("ready");
    streams_->Resize({.rows = 56, .columns = 78});
  });
  const RunResult end = job->Run(Cpu(), {}, {}, control_);
  client.join();
  EXPECT_EQ(Kept(), "12 34\r\nready\r\n56 78\r\n");
  EXPECT_EQ(end.process->exit_code, 5);
}

TEST_F(ProgramJobTest, OnlyWithATerminalItMayBeQuiet) {
  EXPECT_EQ(Job("true")->quiet_since(), std::nullopt);
  const std::unique_ptr<ProgramJob> job = Job("stty -echo; echo ready; read line; read line", true, kSize);
  std::thread client([&] {
    AwaitOutput("ready");
    const core::SteadyTime printed = *job->quiet_since(), now = std::chrono::steady_clock::now();
    EXPECT_LE(printed, now);
    streams_->AddInput("typed\n");
    EXPECT_GE(*job->quiet_since(), now);
    streams_->AddInput("the end\n");
  });
  job->Run(Cpu(), {}, {}, control_);
  client.join();
}

TEST_F(ProgramJobTest, OneThatWorksIsNotQuiet) {
  const std::unique_ptr<ProgramJob> job = Job("echo ready; (while :; do :; done)", true, kSize);
  std::thread client([&] {
    AwaitOutput("ready");
    const core::SteadyTime printed = streams_->last_moved();
    Await([&] { return *job->quiet_since() > printed; });
    EXPECT_EQ(streams_->last_moved(), printed) << "by no word of it";
    control_.RequestCancel();
  });
  job->Run(Cpu(), {}, {}, control_);
  client.join();
}

TEST_F(ProgramJobTest, ADeviceOfTheDaemonAloneIsForNobodyElse) {
  DeviceInfo gpu = Gpu();
  EXPECT_TRUE(CheckShared(Cpu()).ok());
  EXPECT_TRUE(CheckShared(gpu).ok());
  gpu.mode = "EXCLUSIVE_PROCESS, MPS";
  EXPECT_TRUE(CheckShared(gpu).ok());
  gpu.mode = "EXCLUSIVE_PROCESS";
  EXPECT_THAT(std::string(CheckShared(gpu).message()),
              AllOf(HasSubstr("gpu0 is EXCLUSIVE_PROCESS"), HasSubstr("cpu0")));
}

TEST_F(ProgramJobTest, TheDeviceGivesItsMemoryBackBeforeItBegins) {
  int given_back = 0;
  const core::OutsideWork::Daemon daemon{.allocate = {}, .claim_turn = {}, .leave_turn = {}, .give_back = [&] {
                                           EXPECT_EQ(Kept(), "");
                                           ++given_back;
                                         }};
  Job("echo begun", false)->Run(Gpu(), {}, daemon, control_);
  EXPECT_EQ(given_back, 1);
  Job("echo begun", false)->Run(Cpu(), {}, daemon, control_);
  EXPECT_EQ(given_back, 1);
}

TEST_F(ProgramJobTest, ItsEndAndItsOutputAreTold) {
  const RunResult end =
      Job("echo out; echo err >&2; echo $OMP_NUM_THREADS $MKL_NUM_THREADS", false)->Run(Cpu(), {}, {}, control_);
  EXPECT_EQ(end.kind, RunResult::Kind::kCompleted);
  EXPECT_EQ(end.process->exit_code, 0);
  EXPECT_THAT(Kept(), HasSubstr("out\n"));
  EXPECT_THAT(Kept(), HasSubstr("err\n"));
  EXPECT_THAT(Kept(), HasSubstr("1 3\n"));
  EXPECT_GT(end.report.kernel_ns, 0U);
}

TEST_F(ProgramJobTest, AnExitCodeIsAFailure) {
  const RunResult end = Job("exit 3", false)->Run(Cpu(), {}, {}, control_);
  EXPECT_EQ(end.kind, RunResult::Kind::kFailed);
  EXPECT_EQ(end.error.message(), "try.sh ended with exit code 3");
  EXPECT_EQ(end.process->exit_code, 3);
  EXPECT_FALSE(end.process->signal);
}

TEST_F(ProgramJobTest, SoIsASignal) {
  const RunResult end = Job("kill -SEGV $$", false)->Run(Cpu(), {}, {}, control_);
  EXPECT_EQ(end.error.message(), "try.sh was ended by SIGSEGV");
  EXPECT_EQ(end.process->signal, SIGSEGV);
}

TEST_F(ProgramJobTest, InputAndSignalsReachIt) {
  const auto job = Job("trap 'echo interrupted' INT; read word; echo got $word; read word; echo end");
  streams_->AddInput("this\n");
  std::thread client([&] {
    AwaitOutput("got this");
    streams_->Signal(SIGINT);
    AwaitOutput("interrupted");
    streams_->CloseInput();
  });
  const RunResult end = job->Run(Cpu(), {}, {}, control_);
  client.join();
  EXPECT_EQ(Kept(), "got this\ninterrupted\nend\n");
  EXPECT_EQ(end.kind, RunResult::Kind::kCompleted);
}

TEST_F(ProgramJobTest, InputThatIsNotReadIsThrownAway) {
  const auto job = Job("exec 0<&-; echo closed; while [ ! -e /proc/self/fd/0 ]; do sleep 0.01; done");
  std::thread client([&] {
    // Until a write has found out that nobody reads.
    Await([&] {
      if (streams_->HasRoomForInput()) streams_->AddInput(std::string(200'000, 'x'));
      return streams_->input() == ProgramStreams::Input::kClosed;
    });
    control_.RequestCancel();
  });
  const RunResult end = job->Run(Cpu(), {}, {}, control_);
  client.join();
  EXPECT_EQ(end.kind, RunResult::Kind::kCancelled);
  EXPECT_TRUE(streams_->HasRoomForInput());
}

TEST_F(ProgramJobTest, AProcessOfSomebodyElseDoesNotHoldItsEndUp) {
  // As where the program has another service start something with its output.
  const auto job = Job("echo $$; read word; echo said", true);
  std::optional<int> held;
  std::thread client([&] {
    AwaitOutput("\n");
    held = open(("/proc/" + Kept().substr(0, Kept().find('\n')) + "/fd/1").c_str(), O_WRONLY);
    streams_->AddInput("go\n");
  });
  const RunResult end = job->Run(Cpu(), {}, {}, control_);
  client.join();
  EXPECT_EQ(end.kind, RunResult::Kind::kCompleted);
  EXPECT_THAT(Kept(), HasSubstr("said\n"));
  EXPECT_GE(*held, 0);
  close(*held);
}

TEST_F(ProgramJobTest, MuchInputComesBackWhole) {
  const auto job = Job("cat");
  std::string sent, back;
  for (int i = 0; i < 400'000; ++i) sent += std::to_string(i);
  const auto take = [&] {
    for (const OutputPiece& piece : streams_->TakeOutput(nullptr)) back += piece.text;
    return true;
  };
  std::thread client([&] {
    for (std::size_t at = 0; at < sent.size(); at += 100'000) {
      Await([&] { return take() && streams_->HasRoomForInput(); });
      streams_->AddInput(sent.substr(at, 100'000));
    }
    streams_->CloseInput();
    Await([&] { return take() && back.size() >= sent.size(); });
  });
  const RunResult end = job->Run(Cpu(), {}, {}, control_);
  client.join();
  EXPECT_EQ(end.kind, RunResult::Kind::kCompleted);
  EXPECT_EQ(back, sent);
}

TEST_F(ProgramJobTest, ACancelAsksFirst) {
  const auto job = Job("trap 'echo tidied; exit 0' INT; echo ready; while :; do sleep 0.001; done", false);
  const RunResult end = RunAndCancelOnce("ready", *job);
  EXPECT_EQ(end.kind, RunResult::Kind::kCancelled);
  EXPECT_THAT(Kept(), HasSubstr("tidied"));
}

TEST_F(ProgramJobTest, ACancelEndsWhatDoesNotListen) {
  const auto job = Job("trap '' INT TERM; echo ready; while :; do sleep 1000; done", false);
  const RunResult end = RunAndCancelOnce("ready", *job);
  EXPECT_EQ(end.kind, RunResult::Kind::kCancelled);
  EXPECT_EQ(end.process->signal, SIGKILL);
}

TEST_F(ProgramJobTest, AProgramThatPrintsWithoutEndWaitsForItsClient) {
  const auto job = Job("yes");
  std::thread client([&] {
    Await([&] { return !streams_->HasRoomForOutput(); });
    control_.RequestCancel();
  });
  const RunResult end = job->Run(Cpu(), {}, {}, control_);
  client.join();
  EXPECT_EQ(end.kind, RunResult::Kind::kCancelled);
  std::size_t bytes = 0;
  for (const OutputPiece& piece : streams_->TakeOutput(nullptr)) bytes += piece.text.size();
  EXPECT_LT(bytes, ProgramStreams::kOnTheWay + 1'000'000);
}

TEST(EnvironmentOnTest, TheNodeAndTheLaneHaveTheirSay) {
  const std::vector<std::string> environment = EnvironmentOn(
      Gpu(), 8, {"HOME=/home/me", "SLURM_JOB_ID=of the login node", "CUDA_VISIBLE_DEVICES=7", "HOTPLATE_DIR=/x"},
      {"SLURM_JOB_ID=12", "TMPDIR=/tmp/job", "PATH=/node/bin"});
  EXPECT_THAT(environment, Contains("HOME=/home/me"));
  EXPECT_THAT(environment, Contains("SLURM_JOB_ID=12"));
  EXPECT_THAT(environment, Contains("TMPDIR=/tmp/job"));
  EXPECT_THAT(environment, Contains("CUDA_VISIBLE_DEVICES=GPU-1234"));
  EXPECT_THAT(environment, Contains("OMP_NUM_THREADS=8"));
  EXPECT_THAT(environment, Contains("XLA_PYTHON_CLIENT_PREALLOCATE=false"));
  EXPECT_THAT(environment, Not(Contains(StartsWith("PATH="))));
  EXPECT_THAT(environment, Not(Contains(StartsWith("HOTPLATE_"))));
}

TEST(EnvironmentOnTest, WithoutAGpuNoneIsSeen) {
  const std::vector<std::string> environment =
      EnvironmentOn(Cpu(), 3, {"CUDA_VISIBLE_DEVICES=0", "MKL_NUM_THREADS=2"}, {});
  EXPECT_THAT(environment, Contains("CUDA_VISIBLE_DEVICES="));
  EXPECT_THAT(environment, Contains("OMP_NUM_THREADS=3"));
  EXPECT_THAT(environment, Contains("MKL_NUM_THREADS=2"));
}

}  // namespace
}  // namespace hotplate::server
