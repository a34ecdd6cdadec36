// One job on one lane, without an engine around it.
#include "server/core/run/task_runner.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "server/core/jobs/binding.h"
#include "tests/unit/core/fakes.h"

namespace hotplate::core::testing {
namespace {

class TaskRunnerTest : public ::testing::Test {
 protected:
  TaskRunnerTest() {
    devices_.push_back(
        std::make_unique<FakeDevice>(FakeDeviceOptions(), std::map<std::string, KernelBody>{{"copy", CopyBody}}));
  }

  // Another one for each test that runs at the same time.
  static std::string Path(const std::string& name) {
    return ::testing::TempDir() + "task_runner_test_" + std::to_string(getpid()) + "_" + name;
  }

  static std::shared_ptr<const NpyFile> TwoZeros() {
    const std::string path = Path("zeros.npy");
    std::ofstream(path, std::ios::binary) << NpyHeaderFor({DType::kFloat32, {2}}) << std::string(8, '\0');
    auto opened = NpyFile::Open(path);
    unlink(path.c_str());
    return std::make_shared<const NpyFile>(std::get<NpyFile>(std::move(opened)));
  }

  std::shared_ptr<Job> Bound(JobRequest request) {
    const Binder binder(FakeCatalog(), store_, devices_);
    absl::StatusOr<BoundJob> bound = binder.Bind(kAlice, request, Binder::Data::kRequired, {});
    if (!bound.ok()) throw std::runtime_error(std::string(bound.status().message()));
    auto job = std::make_shared<Job>();
    job->bound = *std::move(bound);
    return job;
  }

  FakeClock clock_;
  ArrayStore store_{{.total_bytes = 1 << 20, .array_bytes = 1 << 20}, clock_};
  std::vector<std::unique_ptr<Device>> devices_;
};

TEST_F(TaskRunnerTest, ReadingInputsAndWritingOutputsByPathAreTimedApart) {
  const auto run = [this](const JobRequest& request) {
    const std::shared_ptr<Job> job = Bound(request);
    return TaskRunner(store_, clock_, devices_[0]->info()).Run(*job, "", job->bound.needs[0], [](const Task&) {
      return Report();
    });
  };
  JobRequest reads = Request("copy");
  reads.inputs[0].signature = {};
  reads.inputs[0].source = TwoZeros();
  const RunResult read = run(reads);
  EXPECT_EQ(read.kind, RunResult::Kind::kCompleted);
  EXPECT_TRUE(read.load.has_value());
  EXPECT_FALSE(read.store.has_value());

  JobRequest writes = Request("copy");
  const std::string path = Path("out.npy");
  auto file = PlacedFile::Open(std::filesystem::canonical(::testing::TempDir()), path, false, 0600);
  ASSERT_TRUE(std::holds_alternative<PlacedFile>(file)) << std::get<NpyError>(file).message;
  JobOutput& output = writes.outputs.emplace_back();
  output.name = std::string("y");  // GCC 12 warns of assigning a literal here
  output.file = std::make_shared<PlacedFile>(std::get<PlacedFile>(std::move(file)));
  const RunResult written = run(writes);
  EXPECT_EQ(written.kind, RunResult::Kind::kCompleted) << written.error;
  EXPECT_FALSE(written.load.has_value());
  EXPECT_TRUE(written.store.has_value());
  EXPECT_EQ(unlink(path.c_str()), 0);
}

TEST_F(TaskRunnerTest, ACancelStopsTheReadingOfAFile) {
  JobRequest request = Request("copy");
  request.inputs[0].signature = {};
  request.inputs[0].source = TwoZeros();
  const std::shared_ptr<Job> job = Bound(std::move(request));

  TaskRunner runner(store_, clock_, devices_[0]->info());
  int begun = 0;
  const auto run = [&begun](const Task&) {
    ++begun;
    return Report();
  };
  EXPECT_EQ(runner.Run(*job, "", job->bound.needs[0], run).kind, RunResult::Kind::kCompleted);
  EXPECT_EQ(begun, 1);

  job->control.RequestCancel();
  EXPECT_EQ(runner.Run(*job, "", job->bound.needs[0], run).kind, RunResult::Kind::kCancelled);
  EXPECT_EQ(begun, 1);
  EXPECT_EQ(store_.bytes_held(), 0U);
}

}  // namespace
}  // namespace hotplate::core::testing
