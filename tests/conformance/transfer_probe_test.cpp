// The rates that the probe works out, on a clock of the test's own: the verifier has nothing to hold a measurement to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "kernels/catalogue/transfer_probe/probe_passes.h"
#include "tests/conformance/launch.h"

namespace hotplate::conformance {
namespace {

using std::chrono::milliseconds;
using transfer_probe::Direction, transfer_probe::kDirections;
using transfer_probe::kDeviceToDevice, transfer_probe::kDeviceToHost, transfer_probe::kHostToDevice;

struct TestClock {
  using duration = milliseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<TestClock>;
  [[maybe_unused]] static constexpr bool is_steady = true;  // a clock has to say so

  static time_point now() { return time; }
  static inline time_point time;
};

auto Are(const std::vector<double>& rates) { return testing::Pointwise(testing::DoubleEq(), rates); }

// The rates of 2 MB by passes that take so long, of each direction one after the other.
std::vector<double> Rates(const std::string& direction, std::map<Direction, std::vector<int>> passes) {
  const KernelSpec& spec = **BuiltinCatalog().Find("transfer_probe");
  const BoundCall call =
      *spec.Bind({{"bytes", std::int64_t{2'000'000}}, {"direction", direction}}, {}, HOTPLATE_PRECISION_DEFAULT);
  std::vector<hotplate_param> params;
  for (std::size_t i = 0; i < call.params.size(); ++i) params.push_back(Plain(spec.params()[i], call.params[i]));
  hotplate_call plain{};
  plain.params = params.data();
  plain.param_count = static_cast<std::int32_t>(params.size());

  std::vector<double> rates(3, -1);
  const Outcome outcome = transfer_probe::Measure<TestClock>(Call(plain), rates.data(), [&](Direction asked) {
    std::vector<int>& left = passes.at(asked);
    TestClock::time += milliseconds(left.at(0));
    left.erase(left.begin());
    return Outcome::Ok();
  });
  EXPECT_TRUE(outcome.ok()) << outcome.message();
  for (const auto& [one, left] : passes) EXPECT_THAT(left, testing::IsEmpty()) << kDirections[one];
  return rates;
}

TEST(TransferProbe, ARateIsTheBytesByTheMedianOfTheTimedPasses) {
  // 2 MB in 4 ms are 0.5 GB/s, whatever the two passes before took, and the slowest of the five.
  EXPECT_THAT(Rates("device_to_host", {{kDeviceToHost, {900, 1, 4, 800, 3, 4, 5}}}), Are({0.5, -1, -1}));
}

TEST(TransferProbe, AllAreInTheOrderThatTheSpecSays) {
  const std::vector<int> one(7, 1), two(7, 2), eight(7, 8);
  EXPECT_THAT(Rates("all", {{kHostToDevice, two}, {kDeviceToHost, eight}, {kDeviceToDevice, one}}), Are({1, 0.25, 2}));
}

TEST(TransferProbe, APassThatTheClockDoesNotSeeIsNotInfinitelyFast) {
  EXPECT_THAT(Rates("host_to_device", {{kHostToDevice, std::vector<int>(7, 0)}}), Are({2e6, -1, -1}));
}

}  // namespace
}  // namespace hotplate::conformance
