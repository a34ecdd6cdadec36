// Stacks of matrices on the CPU: what has no element takes no memory and no time, however many matrices it counts, and
// a job that is cancelled ends between two of them.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "kernels/devices/cpu/launchers.h"
#include "tests/conformance/launch.h"

namespace hotplate::conformance {
namespace {

// Inputs of one kernel by name, and svd's, eig's and eigh's choice where it is not the default.
struct StackCall {
  const char* kernel;
  std::map<std::string, Shape> inputs;
  std::string compute = "";
};

Case CaseOf(const StackCall& call) {
  Case one{.name = "stack", .params = {}, .inputs = [=](std::mt19937_64&) {
             std::map<std::string, TestArray> arrays;
             for (const auto& [name, shape] : call.inputs) {
               arrays.emplace(name, TestArray({.dtype = DType::kFloat64, .shape = shape}));
             }
             return arrays;
           }};
  if (!call.compute.empty()) one.params["compute"] = call.compute;
  return one;
}

TEST(MatrixStacks, WithoutElementsTakeNoMemoryAndNoTime) {
  constexpr std::int64_t kMany = std::int64_t{1} << 60, kWide = 2'147'483'647;
  const StackCall calls[] = {
      {"cholesky", {{"a", {kMany, 0, 0}}}},
      {"cholesky", {{"a", {0, kWide, kWide}}}},
      {"eig", {{"a", {kMany, 0, 0}}}},
      {"eig", {{"a", {0, kWide, kWide}}}},
      {"eig", {{"a", {0, kWide, kWide}}}, "values"},
      {"eigh", {{"a", {kMany, 0, 0}}}},
      {"eigh", {{"a", {0, 32'766, 32'766}}}},
      {"eigh", {{"a", {0, 32'766, 32'766}}}, "values"},
      {"qr", {{"a", {kMany, 0, 0}}}},
      {"qr", {{"a", {0, 20'000, 20'000}}}},
      {"slogdet", {{"a", {0, kWide, kWide}}}},
      {"solve", {{"a", {kMany, 0, 0}}, {"b", {kMany, 0, 3}}}},
      {"solve", {{"a", {0, kWide, kWide}}, {"b", {0, kWide, 2}}}},
      {"svd", {{"a", {kMany, 0, 3}}}, "thin"},
      {"svd", {{"a", {kMany, 3, 0}}}, "values"},
      {"svd", {{"a", {kMany, 0, 0}}}, "full"},
      {"svd", {{"a", {0, 20'000, 20'000}}}, "thin"},
      {"svd", {{"a", {0, 20'000, 20'000}}}, "full"},
  };
  const std::unique_ptr<Device> device = OpenCpuDevice({.lanes = 1, .threads = 2});
  const std::unique_ptr<Lane> lane = device->OpenLane().value();
  for (const StackCall& call : calls) {
    SCOPED_TRACE(std::string(call.kernel) + " " + ToString(call.inputs.at("a")) + " " + call.compute);
    absl::StatusOr<Launch> launch = Prepare(call.kernel, CaseOf(call), *device);
    ASSERT_TRUE(launch.ok()) << launch.status();
    EXPECT_EQ(launch->scratch_bytes, 0u);
    TaskControl control;
    EXPECT_TRUE(launch->Run(*lane, control).outcome.ok());
  }
}

// The kernel as it is: a device's lane does not begin a task that is cancelled already.
class BareLane : public Lane {
 public:
  Report Run(const Task& task, TaskControl& control) override {
    ThreadBudget budget(2, 2);
    CpuContext context(budget, control.plain());
    TestArray scratch({.dtype = DType::kInt8, .shape = {static_cast<std::int64_t>(task.scratch_bytes)}});
    hotplate_call call = task.call;
    call.scratch = scratch.data();
    call.scratch_bytes = task.scratch_bytes;
    Report report;
    report.outcome = Outcome::Failed("no such kernel");
    for (const cpu::Launcher& launcher : cpu::Launchers()) {
      if (std::string(launcher.name) == task.kernel) report.outcome = launcher.run(Call(call), context);
    }
    return report;
  }
};

TEST(MatrixStacks, EndBetweenTwoMatricesWhenCancelled) {
  const std::unique_ptr<Device> device = OpenCpuDevice({.lanes = 1, .threads = 2});
  BareLane lane;
  const StackCall calls[] = {{"cholesky", {{"a", {3, 4, 4}}}},    {"eig", {{"a", {3, 4, 4}}}},
                             {"eigh", {{"a", {3, 4, 4}}}},        {"solve", {{"a", {3, 4, 4}}, {"b", {3, 4, 2}}}},
                             {"svd", {{"a", {3, 5, 4}}}, "thin"}, {"svd", {{"a", {3, 5, 0}}}, "full"}};
  for (const StackCall& call : calls) {
    absl::StatusOr<Launch> launch = Prepare(call.kernel, CaseOf(call), *device);
    ASSERT_TRUE(launch.ok()) << launch.status();
    TaskControl control;
    control.RequestCancel();
    EXPECT_EQ(launch->Run(lane, control).outcome.code(), HOTPLATE_CANCELLED) << call.kernel << " " << call.compute;
  }
}

}  // namespace
}  // namespace hotplate::conformance
