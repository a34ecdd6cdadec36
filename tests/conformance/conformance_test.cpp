// Every kernel of the catalogue, on every back-end, with every case of its suite: run through Device and Lane as the
// daemon does it, and judged by the kernel's verifier.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "kernels/call/call.h"
#include "tests/conformance/backends.h"
#include "tests/conformance/case.h"
#include "tests/conformance/empty_arrays.h"
#include "tests/conformance/launch.h"
#include "tests/conformance/on_backend.h"

namespace hotplate::conformance {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

struct Instance {
  const KernelSuite* suite;
  Case test_case;
  std::string backend;

  std::string Name() const { return std::string(suite->kernel) + "_" + backend + "_" + test_case.name; }
};

void PrintTo(const Instance& instance, std::ostream* out) { *out << instance.Name(); }

std::vector<Instance> Instances() {
  std::vector<Instance> instances;
  for (const KernelSuite& suite : KernelSuites()) {
    for (const std::string& backend : BackendsOf(suite.kernel)) {
      for (const Case& test_case : suite.cases()) instances.push_back({&suite, test_case, backend});
    }
  }
  return instances;
}

class Conformance : public OnBackend<Instance, &Instance::backend> {};

TEST_P(Conformance, WithinTheStatedBound) {
  const Instance& instance = GetParam();
  const absl::StatusOr<Launch> prepared = Prepare(instance.suite->kernel, instance.test_case, device());
  if (const int precision = instance.test_case.precision; precision != HOTPLATE_PRECISION_DEFAULT && !prepared.ok()) {
    // A device may lack it, and says so; nothing was judged then.
    EXPECT_EQ(prepared.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(prepared.status().message(), HasSubstr(PrecisionName(precision)));
    EXPECT_THAT(prepared.status().message(), AnyOf(HasSubstr("full precision only"), HasSubstr("compute capability")));
    GTEST_SKIP() << prepared.status().message();
  }
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  Launch launch = *prepared;
  std::map<std::string, TestArray> before;
  for (const auto& [name, array] : launch.inputs) before.emplace(name, array.Copy());

  TaskControl control;
  const Report report = launch.Run(lane(), control);
  ASSERT_TRUE(report.outcome.ok()) << report.outcome.message();
  EXPECT_TRUE(report.kernel_ns.has_value());

  for (const auto& [name, array] : launch.inputs) {
    EXPECT_TRUE(array.SameBytes(before.at(name))) << "input " << name << " was changed";
    EXPECT_TRUE(array.GuardIntact()) << "something was written behind input " << name;
  }
  for (const auto& [name, array] : launch.outputs) {
    EXPECT_TRUE(array.GuardIntact()) << "something was written behind output " << name;
  }
  if (launch.call.spec->cancel_class() == CancelClass::kChunked) {
    EXPECT_EQ(control.progress(), 1.0);
  }
  const Verdict verdict = instance.suite->verify({launch.call, launch.inputs, launch.outputs});
  RecordProperty("error_in_bounds", std::to_string(verdict.error));
  EXPECT_LE(verdict.error, 1.0) << verdict.worst;

  // A GPU's threads come in another order each time. (The CPU's: same_bits_test. What must be asked for: below.)
  if (instance.backend == "cpu" || launch.call.spec->determinism() != Determinism::kAlways) return;
  Launch again = launch.Again();
  TaskControl other;
  ASSERT_TRUE(again.Run(lane(), other).outcome.ok());
  EXPECT_EQ(FirstDifference(launch, again), "") << "is not the same when it is run again";
}

INSTANTIATE_TEST_SUITE_P(All, Conformance, testing::ValuesIn(Instances()),
                         [](const testing::TestParamInfo<Instance>& one) { return one.param.Name(); });

struct KernelOnBackend {
  const KernelSuite* suite;
  std::string backend;
};

std::vector<KernelOnBackend> KernelsOnBackends() {
  std::vector<KernelOnBackend> all;
  for (const KernelSuite& suite : KernelSuites()) {
    for (const std::string& backend : BackendsOf(suite.kernel)) all.push_back({&suite, backend});
  }
  return all;
}

class EmptyArrays : public OnBackend<KernelOnBackend, &KernelOnBackend::backend> {};

TEST_P(EmptyArrays, AreTakenWhereverTheSpecTakesThem) {
  const KernelSuite* const suite = GetParam().suite;
  EXPECT_EQ(TroubleWithEmptyArrays(*suite, device(), lane()), "");
}

INSTANTIATE_TEST_SUITE_P(All, EmptyArrays, testing::ValuesIn(KernelsOnBackends()),
                         [](const testing::TestParamInfo<KernelOnBackend>& one) {
                           return std::string(one.param.suite->kernel) + "_" + one.param.backend;
                         });

// Of which the same bits must be asked for.
std::vector<KernelOnBackend> KernelsAskedOnGpus() {
  std::vector<KernelOnBackend> all = KernelsOnBackends();
  std::erase_if(all, [](const KernelOnBackend& one) {
    return one.backend == "cpu" ||
           (*BuiltinCatalog().Find(one.suite->kernel))->determinism() != Determinism::kOnRequest;
  });
  return all;
}

class SameBitsOnRequest : public OnBackend<KernelOnBackend, &KernelOnBackend::backend> {};

TEST_P(SameBitsOnRequest, EachTime) {
  const KernelSuite* const suite = GetParam().suite;
  for (const Case& one : suite->cases()) {
    SCOPED_TRACE(one.name);
    absl::StatusOr<Launch> launch = Prepare(suite->kernel, one, device(), /*deterministic=*/true);
    // What the device has not is judged above.
    if (one.precision != HOTPLATE_PRECISION_DEFAULT && !launch.ok()) continue;
    ASSERT_TRUE(launch.ok()) << launch.status();
    TaskControl control, other;
    const Outcome outcome = launch->Run(lane(), control).outcome;
    // A library may be too old to promise it, and says so.
    if (outcome.code() == HOTPLATE_INVALID) {
      EXPECT_THAT(std::string(outcome.message()), HasSubstr("Leave --deterministic out"));
      GTEST_SKIP() << outcome.message();
    }
    ASSERT_TRUE(outcome.ok()) << outcome.message();
    Launch again = launch->Again();
    ASSERT_TRUE(again.Run(lane(), other).outcome.ok());
    EXPECT_EQ(FirstDifference(*launch, again), "") << "is not the same when it is run again";
  }
}

INSTANTIATE_TEST_SUITE_P(All, SameBitsOnRequest, testing::ValuesIn(KernelsAskedOnGpus()),
                         [](const testing::TestParamInfo<KernelOnBackend>& one) {
                           return std::string(one.param.suite->kernel) + "_" + one.param.backend;
                         });

}  // namespace
}  // namespace hotplate::conformance
