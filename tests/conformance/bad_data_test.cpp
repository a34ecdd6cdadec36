// How a call with data that cannot be worked with ends, on every back-end.
#include "tests/conformance/bad_data.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/conformance/backends.h"
#include "tests/conformance/launch.h"
#include "tests/conformance/on_backend.h"

namespace hotplate::conformance {
namespace {

using Spoilt = std::pair<std::string, std::string>;  // a kernel, and a back-end

std::vector<Spoilt> SpoiltOnBackends() {
  std::set<std::string> kernels;
  for (const BadData& bad : BadDataCases()) kernels.insert(bad.kernel);
  std::vector<Spoilt> all;
  for (const std::string& kernel : kernels) {
    for (const std::string& backend : BackendsOf(kernel)) all.emplace_back(kernel, backend);
  }
  return all;
}

class BadDataTest : public OnBackend<Spoilt, &Spoilt::second> {};

TEST_P(BadDataTest, EndsInTheSameWords) {
  const std::string& kernel = GetParam().first;
  for (const BadData& bad : BadDataCases()) {
    if (bad.kernel != kernel) continue;
    SCOPED_TRACE(std::string(bad.kernel) + " " + bad.test_case.name);
    absl::StatusOr<Launch> launch = Prepare(bad.kernel, bad.test_case, device());
    ASSERT_TRUE(launch.ok()) << launch.status();
    TaskControl control;
    const Report report = launch->Run(lane(), control);
    EXPECT_EQ(report.outcome.code(), bad.code);
    EXPECT_EQ(std::string(report.outcome.message()), bad.message);
  }
}

// Named as the other tests of a kernel are, KERNEL_BACKEND: whoever asks for a kernel's tests gets this one too.
INSTANTIATE_TEST_SUITE_P(All, BadDataTest, testing::ValuesIn(SpoiltOnBackends()),
                         [](const testing::TestParamInfo<Spoilt>& one) {
                           return one.param.first + "_" + one.param.second;
                         });

}  // namespace
}  // namespace hotplate::conformance
