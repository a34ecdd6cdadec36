// How a call with data that cannot be worked with ends, on every back-end.
#include "tests/conformance/bad_data.h"

#include <gtest/gtest.h>

#include "tests/conformance/backends.h"
#include "tests/conformance/launch.h"

namespace hotplate::conformance {
namespace {

class BadDataTest : public testing::TestWithParam<std::string> {};

TEST_P(BadDataTest, EndsInTheSameWords) {
  Backend& backend = BackendNamed(GetParam());
  if (backend.device == nullptr) {
    ASSERT_TRUE(MayBeMissing(GetParam())) << backend.why_not;
    GTEST_SKIP() << backend.why_not;
  }
  for (const BadData& bad : BadDataCases()) {
    SCOPED_TRACE(std::string(bad.kernel) + " " + bad.test_case.name);
    absl::StatusOr<Launch> launch = Prepare(bad.kernel, bad.test_case, *backend.device);
    ASSERT_TRUE(launch.ok()) << launch.status();
    TaskControl control;
    const Report report = launch->Run(*backend.lane, control);
    EXPECT_EQ(report.outcome.code(), bad.code);
    EXPECT_EQ(std::string(report.outcome.message()), bad.message);
  }
}

INSTANTIATE_TEST_SUITE_P(All, BadDataTest, testing::ValuesIn(BackendNames()),
                         [](const testing::TestParamInfo<std::string>& one) { return one.param; });

}  // namespace
}  // namespace hotplate::conformance
