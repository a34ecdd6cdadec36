// Kernels that can be cancelled hand their work to the device in steps: on a slow one in many, whose results are those
// of few; and none is enqueued after a cancel, whichever came before it.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/conformance/launch.h"
#include "tests/conformance/verifiers.h"
#include "tests/unit/cuda/emulation/emulated_device.h"

namespace hotplate {
namespace {

using conformance::Case;
using conformance::Launch;
using emulation::EmulatedDevice;
using emulation::EmulatedLane;
using emulation::kFast;
using emulation::Order;

// So slow that each phase has many steps.
constexpr CudaTraits kCrawling{.compute_major = 7,
                               .compute_minor = 5,
                               .multiprocessors = 1,
                               .cycles_per_ms = 1,
                               .float_operations_per_ms = 1000,
                               .double_operations_per_ms = 1000};

struct Stepped {
  const char* kernel;
  const char* test_case;
  std::map<std::string, ParamValue> params;   // instead of the case's
  std::uint64_t least_steps;                  // on such a device
  std::vector<std::string> depends_on_steps;  // outputs
};

// kmeans: labels of 83 points at a time, twice; sums of 3 points of each piece, and moments, by which it ends;
// distances of 39 points. pagerank: pieces and blocks of nodes, in each of several iterations.
const Stepped kStepped[] = {
    {"kmeans", "float64_around", {{"tolerance", 1.0}}, 2 * 37 + 2 * 91 + 77, {"inertia"}},
    {"pagerank", "int32_of_several_pieces", {}, 2 + 5 * (31 + 2), {}},
    {"pagerank", "int64_many_nodes", {}, 24 + 5 * (5 + 24), {}},
};

void PrintTo(const Stepped& one, std::ostream* out) { *out << one.kernel << " " << one.test_case; }

class EmulatedSteps : public testing::TestWithParam<Stepped> {
 protected:
  static Launch Prepared() {
    const Stepped& one = GetParam();
    for (const conformance::KernelSuite& suite : conformance::KernelSuites()) {
      if (std::string(suite.kernel) != one.kernel) continue;
      for (Case test_case : suite.cases()) {
        if (test_case.name != one.test_case) continue;
        for (const auto& [name, value] : one.params) test_case.params[name] = value;
        return conformance::Prepare(one.kernel, test_case, EmulatedDevice(kFast)).value();
      }
    }
    ADD_FAILURE() << "no such case";
    return {};
  }
};

TEST_P(EmulatedSteps, OfAnySizeGiveTheSameBits) {
  Launch at_once = Prepared();
  Launch in_steps = at_once.Again();
  EmulatedLane fast(kFast), crawling(kCrawling, Order::kShuffled);
  TaskControl control;
  ASSERT_TRUE(at_once.Run(fast, control).outcome.ok());
  ASSERT_TRUE(in_steps.Run(crawling, control).outcome.ok());
  EXPECT_LT(fast.steps(), 20u);
  EXPECT_GE(crawling.steps(), GetParam().least_steps);
  for (const std::string& output : GetParam().depends_on_steps) {
    at_once.outputs.erase(output);
    in_steps.outputs.erase(output);
  }
  EXPECT_EQ(conformance::FirstDifference(at_once, in_steps), "");
}

TEST_P(EmulatedSteps, EndAtACancel) {
  const Launch prepared = Prepared();
  EmulatedLane lane(kCrawling);
  TaskControl undisturbed;
  ASSERT_TRUE(prepared.Again().Run(lane, undisturbed).outcome.ok());
  const std::uint64_t steps = lane.steps();
  for (std::uint64_t after = 1; after < steps; after += 1 + steps / 40) {
    TaskControl control;
    lane.CancelAfter(after);
    EXPECT_EQ(prepared.Again().Run(lane, control).outcome.code(), HOTPLATE_CANCELLED) << after;
    EXPECT_LE(lane.steps(), after + 1) << "of " << steps << "; waiting for a step's end has a mark, too";
  }
}

INSTANTIATE_TEST_SUITE_P(All, EmulatedSteps, testing::ValuesIn(kStepped),
                         [](const auto& one) { return std::string(one.param.kernel) + "_" + one.param.test_case; });

}  // namespace
}  // namespace hotplate
