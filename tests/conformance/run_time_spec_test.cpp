// A kernel that was made at run time, on the CPU device as it is: the device knows its code by name and hash.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <thread>

#include "kernels/catalogue/selu/selu.h"
#include "kernels/devices/device.h"
#include "kernels/spec/spec.h"
#include "server/core/engine.h"

namespace hotplate::core {
namespace {

const Principal kAlice{"alice", SessionId("a"), Scope::kSubmit}, kBob{"bob", SessionId("b"), Scope::kSubmit};

JobRequest SeluOf(float x) {
  std::shared_ptr<HostBuffer> buffer = HostBuffer::Allocate(sizeof x);
  std::memcpy(buffer->data(), &x, sizeof x);
  JobRequest request;
  request.kernel = std::string("selu");
  JobInput& input = request.inputs.emplace_back();
  input.name = std::string("x");
  input.signature = {DType::kFloat32, {1}};
  input.source = std::shared_ptr<const HostBuffer>(std::move(buffer));
  return request;
}

TEST(RunTimeSpecTest, RunsOnTheCpuDeviceForThoseWhoSeeIt) {
  const Catalog nothing = Catalog::Of({}).value();
  auto alices = std::make_shared<const Catalog>(
      nothing.With(std::make_shared<const KernelSpec>(selu::Spec().Build().value())).value());
  const auto bobs = std::make_shared<const Catalog>(nothing);
  ASSERT_NE(*alices->Find("selu"), *BuiltinCatalog().Find("selu")) << "another one, of the same hash";
  DeviceSet set;
  set.devices.push_back(OpenCpuDevice({.lanes = 1, .threads = 1}));
  const Clock clock;
  ArrayStore arrays({.total_bytes = 1 << 20, .array_bytes = 1 << 20}, clock);
  Engine engine({}, Catalogues([&](const Principal& who) { return who.token == kAlice.token ? alices : bobs; }),
                std::move(set), arrays, clock);

  EXPECT_EQ(engine.Submit(kBob, SeluOf(2), nullptr, 0).status().code(), absl::StatusCode::kNotFound);
  const absl::StatusOr<JobId> id = engine.Submit(kAlice, SeluOf(2), nullptr, 0);
  ASSERT_TRUE(id.ok()) << id.status();
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!IsEnd(engine.Get(kAlice, *id)->state) && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const JobSnapshot job = engine.Get(kAlice, *id).value();
  ASSERT_EQ(job.state, JobState::kCompleted) << (job.end != nullptr ? job.end->error : absl::OkStatus());
  float y = 0;
  std::memcpy(&y, job.end->outputs[0].data->data(), sizeof y);
  EXPECT_FLOAT_EQ(y, 1.05F * 2);
  EXPECT_EQ(job.end->receipt->device, "cpu0");
}

}  // namespace
}  // namespace hotplate::core
