// One job on one lane, without an engine around it.
#include "server/core/run/task_runner.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "server/core/jobs/binding.h"
#include "tests/unit/core/fakes.h"

namespace hotplate::core::testing {
namespace {

TEST(TaskRunnerTest, ACancelStopsTheReadingOfAFile) {
  const std::string path = ::testing::TempDir() + "task_runner_test_" + std::to_string(getpid()) + ".npy";
  std::ofstream(path, std::ios::binary) << NpyHeaderFor({DType::kFloat32, {2}}) << std::string(8, '\0');
  auto opened = NpyFile::Open(path);
  unlink(path.c_str());
  ASSERT_TRUE(std::holds_alternative<NpyFile>(opened));

  FakeClock clock;
  ArrayStore store({.total_bytes = 1 << 20, .array_bytes = 1 << 20}, clock);
  std::vector<std::unique_ptr<Device>> devices;
  devices.push_back(
      std::make_unique<FakeDevice>(FakeDeviceOptions(), std::map<std::string, KernelBody>{{"copy", CopyBody}}));
  const Binder binder(FakeCatalog(), store, devices);
  JobRequest request = Request("copy");
  request.inputs[0].signature = {};
  request.inputs[0].source = std::make_shared<const NpyFile>(std::get<NpyFile>(std::move(opened)));
  absl::StatusOr<BoundJob> bound = binder.Bind(kAlice, request, Binder::Data::kRequired, {});
  ASSERT_TRUE(bound.ok()) << bound.status();
  const auto job = std::make_shared<Job>();
  job->bound = *std::move(bound);

  TaskRunner runner(store, clock, devices[0]->info());
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
  EXPECT_EQ(store.bytes_held(), 0U);
}

}  // namespace
}  // namespace hotplate::core::testing
