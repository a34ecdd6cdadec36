// What a receipt says of a device, from the sampler's readings around the kernel.
#include "server/core/run/device_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "server/core/run/telemetry.h"
#include "tests/unit/core/engine_fixture.h"

namespace hotplate::core {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kPatience;
using ::testing::Optional;
using ::testing::SizeIs;

SteadyTime At(nanoseconds since) { return SteadyTime(1h + since); }

// A GPU at work, at this time: 400 W since the beginning, all counters still.
DeviceReading Busy(nanoseconds since) {
  DeviceReading reading;
  reading.time = At(since);
  reading.energy_joules = 1000 + 400 * std::chrono::duration<double>(since).count();
  reading.power_watts = reading.max_watts = 400;
  reading.sm_clock_mhz = 1980;
  reading.other_processes = 0;
  reading.power_throttled_ns = reading.thermal_throttled_ns = 7;
  reading.ecc_errors = reading.xid_errors = 3;
  reading.throttle_reasons.emplace();
  return reading;
}

std::vector<DeviceReading> Every100ms(int count) {
  std::vector<DeviceReading> readings;
  for (int i = 0; i < count; ++i) readings.push_back(Busy(i * 100ms));
  return readings;
}

TEST(Conditions, NothingIsKnownWithoutReadings) {
  const DeviceConditions conditions = ConditionsBetween({}, At(0s), At(1s));
  EXPECT_EQ(conditions.energy_state, EnergyState::kNotMeasurable);
  EXPECT_EQ(conditions.energy_joules, std::nullopt);
  EXPECT_EQ(conditions.throttled, std::nullopt);
  EXPECT_EQ(conditions.other_processes, std::nullopt);
}

TEST(Conditions, ALongKernelHasUtilisation) {
  std::vector<DeviceReading> readings = Every100ms(41);
  EXPECT_EQ(ConditionsBetween(readings, At(150ms), At(3950ms)).utilisation, std::nullopt) << "the driver does not tell";
  // Before it, and in its first second, it was idle.
  for (std::size_t i = 0; i < readings.size(); ++i) readings[i].utilisation = i < 12 || i == 40 ? 0 : 0.5;
  readings[20].utilisation = 1;
  EXPECT_THAT(ConditionsBetween(readings, At(150ms), At(3950ms)).utilisation, Optional(DoubleNear(0.518, 0.002)));
  EXPECT_EQ(ConditionsBetween(readings, At(1500ms), At(3400ms)).utilisation, std::nullopt)
      << "too short for the driver";
}

TEST(Conditions, UtilisationOfLongAgoIsAMean) {
  ReadingRing ring;
  for (int i = 0; i < 1200; ++i) {  // the first minute has become one reading a second
    DeviceReading reading = Busy(i * 100ms);
    reading.utilisation = i % 10 == 0 ? 0 : 1;
    ring.Add(reading);
  }
  EXPECT_THAT(ConditionsBetween(ring.Since(At(0s)), At(0s), At(50s)).utilisation, Optional(DoubleNear(0.9, 0.01)));
}

TEST(Conditions, ALongKernelHasEnergy) {
  // Begins and ends between two readings.
  const DeviceConditions conditions = ConditionsBetween(Every100ms(11), At(150ms), At(950ms));
  EXPECT_EQ(conditions.energy_state, EnergyState::kMeasured);
  EXPECT_THAT(conditions.energy_joules, Optional(DoubleNear(320, 1e-6)));
  EXPECT_THAT(conditions.mean_watts, Optional(DoubleNear(400, 1e-6)));
  EXPECT_THAT(conditions.max_watts, Optional(400.0));
  EXPECT_THAT(conditions.sm_clock_mhz, Optional(1980u));
  EXPECT_THAT(conditions.throttled, Optional(false));
  EXPECT_THAT(conditions.ecc_errors, Optional(false));
  EXPECT_THAT(conditions.xid_errors, Optional(false));
  EXPECT_THAT(conditions.other_processes, Optional(0u));
  EXPECT_THAT(conditions.throttle_reasons, IsEmpty());
}

TEST(Conditions, TheEnergyOfRestBeforeIsNotTheKernels) {
  std::vector<DeviceReading> readings;
  double joules = 0;
  for (int i = 0; i <= 20; ++i) {  // 100 W until the second, then 700 W
    readings.push_back(Busy(i * 100ms));
    readings.back().energy_joules = joules;
    joules += i < 10 ? 10 : 70;
  }
  EXPECT_THAT(ConditionsBetween(readings, At(1s), At(1500ms)).energy_joules, Optional(DoubleNear(350, 1e-6)));
  EXPECT_THAT(ConditionsBetween(readings, At(500ms), At(1500ms)).energy_joules, Optional(DoubleNear(400, 1e-6)));
}

TEST(Conditions, TheEndMayBeALittleAfterTheLastReading) {
  EXPECT_THAT(ConditionsBetween(Every100ms(6), At(100ms), At(560ms)).energy_joules, Optional(DoubleNear(184, 1e-6)));
  const DeviceConditions late = ConditionsBetween(Every100ms(6), At(100ms), At(900ms));
  EXPECT_EQ(late.energy_joules, std::nullopt);
  EXPECT_EQ(late.energy_state, EnergyState::kNotMeasurable);
  EXPECT_THAT(late.mean_watts, Optional(400.0)) << "by the samples of power";
}

TEST(Conditions, AShortKernelIsBelowResolution) {
  for (const nanoseconds length : {nanoseconds(0), nanoseconds(199ms)}) {
    const DeviceConditions conditions = ConditionsBetween(Every100ms(11), At(510ms), At(510ms + length));
    EXPECT_EQ(conditions.energy_state, EnergyState::kBelowResolution);
    EXPECT_EQ(conditions.energy_joules, std::nullopt);
    EXPECT_EQ(conditions.mean_watts, std::nullopt);
    EXPECT_EQ(conditions.max_watts, std::nullopt);
  }
  EXPECT_EQ(ConditionsBetween(Every100ms(11), At(500ms), At(700ms)).energy_state, EnergyState::kMeasured);
}

TEST(Conditions, ATinyKernelTakesClocksFromTheNearestReading) {
  // As it is when its receipt is sealed: no reading after it.
  const std::vector<DeviceReading> before = {Busy(400ms), Busy(500ms)};
  const DeviceConditions conditions = ConditionsBetween(before, At(510ms), At(510ms + 20us));
  EXPECT_THAT(conditions.sm_clock_mhz, Optional(1980u));
  EXPECT_THAT(conditions.throttled, Optional(false));
  EXPECT_THAT(conditions.other_processes, Optional(0u));
  EXPECT_EQ(conditions.ecc_errors, std::nullopt) << "nobody looked since";
  EXPECT_EQ(conditions.xid_errors, std::nullopt);

  const DeviceConditions far = ConditionsBetween(before, At(2s), At(2s + 20us));
  EXPECT_EQ(far.sm_clock_mhz, std::nullopt);
  EXPECT_EQ(far.throttled, std::nullopt);
  EXPECT_EQ(far.other_processes, std::nullopt);
}

TEST(Conditions, ClocksAtRestAreNotTheKernels) {
  DeviceReading resting = Busy(500ms);
  resting.clocks_at_rest = true;
  resting.sm_clock_mhz = 345;
  const DeviceConditions conditions = ConditionsBetween({resting}, At(510ms), At(511ms));
  EXPECT_EQ(conditions.sm_clock_mhz, std::nullopt);
  EXPECT_EQ(conditions.throttled, std::nullopt);
  EXPECT_THAT(conditions.other_processes, Optional(0u));
}

TEST(Conditions, ClocksAreTheMeanOverTheKernel) {
  std::vector<DeviceReading> readings = Every100ms(5);
  readings[1].sm_clock_mhz = 1000;
  readings[2].sm_clock_mhz = 1400;
  readings[3].sm_clock_mhz = 1800;
  EXPECT_THAT(ConditionsBetween(readings, At(50ms), At(400ms - 1ns)).sm_clock_mhz, Optional(1400u));
  // A reading that stands for a second weighs as much.
  readings = {Busy(0s), Busy(1s)};
  readings[0].sm_clock_mhz = 1000;
  readings[1].sm_clock_mhz = 2000;
  EXPECT_THAT(ConditionsBetween(readings, At(0s), At(1250ms)).sm_clock_mhz, Optional(1200u));
}

TEST(Conditions, ThrottlingShowsInTheCountersOrInTheReadings) {
  std::vector<DeviceReading> readings = Every100ms(11);
  for (int i = 6; i < 11; ++i) readings[static_cast<std::size_t>(i)].power_throttled_ns = 9;
  DeviceConditions conditions = ConditionsBetween(readings, At(150ms), At(950ms));
  EXPECT_THAT(conditions.throttled, Optional(true));
  EXPECT_THAT(conditions.throttle_reasons, ElementsAre("power cap"));
  EXPECT_THAT(ConditionsBetween(readings, At(150ms), At(450ms)).throttled, Optional(false)) << "before it";
  EXPECT_THAT(ConditionsBetween(readings, At(650ms), At(950ms)).throttled, Optional(false)) << "after it";

  readings = Every100ms(11);
  readings[5].throttle_reasons = {"thermal", "sync boost"};
  readings[6].throttle_reasons = {"thermal"};
  readings[10].thermal_throttled_ns = 8;
  conditions = ConditionsBetween(readings, At(150ms), At(950ms));
  EXPECT_THAT(conditions.throttled, Optional(true));
  EXPECT_THAT(conditions.throttle_reasons, ElementsAre("thermal", "sync boost"));

  for (DeviceReading& reading : readings) {
    reading.throttle_reasons.reset();
    reading.power_throttled_ns.reset();
    reading.thermal_throttled_ns.reset();
  }
  EXPECT_EQ(ConditionsBetween(readings, At(150ms), At(950ms)).throttled, std::nullopt);
}

TEST(Conditions, ErrorsAreThoseThatWereCountedMeanwhile) {
  std::vector<DeviceReading> readings = Every100ms(11);
  readings[9].ecc_errors = readings[10].ecc_errors = 4;
  readings[10].xid_errors = 4;
  const DeviceConditions conditions = ConditionsBetween(readings, At(150ms), At(950ms));
  EXPECT_THAT(conditions.ecc_errors, Optional(true));
  EXPECT_THAT(conditions.xid_errors, Optional(true));
  EXPECT_THAT(ConditionsBetween(readings, At(150ms), At(700ms)).ecc_errors, Optional(false));
  readings[10].xid_errors.reset();
  EXPECT_EQ(ConditionsBetween(readings, At(150ms), At(950ms)).xid_errors, std::nullopt);
}

TEST(Conditions, OtherProcessesAreTheMostThatWereThere) {
  std::vector<DeviceReading> readings = Every100ms(11);
  readings[3].other_processes = 2;
  readings[7].other_processes = 1;
  EXPECT_THAT(ConditionsBetween(readings, At(250ms), At(950ms)).other_processes, Optional(2u));
  EXPECT_THAT(ConditionsBetween(readings, At(650ms), At(950ms)).other_processes, Optional(1u));
}

TEST(Conditions, AMigInstanceHasNoEnergyOfItsOwn) {
  std::vector<DeviceReading> readings = Every100ms(11);
  for (DeviceReading& reading : readings) reading.of_whole_gpu = true;
  const DeviceConditions conditions = ConditionsBetween(readings, At(150ms), At(950ms));
  EXPECT_EQ(conditions.energy_state, EnergyState::kOfWholeGpu);
  EXPECT_EQ(conditions.energy_joules, std::nullopt);
  EXPECT_EQ(conditions.mean_watts, std::nullopt);
  EXPECT_THAT(conditions.sm_clock_mhz, Optional(1980u));
}

TEST(Conditions, WithoutAnEnergyCounterThereIsPower) {
  std::vector<DeviceReading> readings = Every100ms(11);
  for (DeviceReading& reading : readings) reading.energy_joules.reset();
  readings[5].power_watts = readings[5].max_watts = 480;
  const DeviceConditions conditions = ConditionsBetween(readings, At(100ms), At(900ms - 1ns));
  EXPECT_EQ(conditions.energy_state, EnergyState::kNotMeasurable);
  EXPECT_EQ(conditions.energy_joules, std::nullopt);
  EXPECT_THAT(conditions.mean_watts, Optional(DoubleNear(410, 1)));
  EXPECT_THAT(conditions.max_watts, Optional(480.0));
}

TEST(Conditions, ACounterThatFallsBackIsNoEnergy) {
  std::vector<DeviceReading> readings = Every100ms(11);
  readings[10].energy_joules = 0;
  EXPECT_EQ(ConditionsBetween(readings, At(100ms), At(950ms)).energy_joules, std::nullopt);
}

TEST(ReadingRing, KeepsADayInSteps) {
  ReadingRing ring;
  EXPECT_THAT(ring.Since(At(0s)), IsEmpty());
  const nanoseconds day = 24h;
  for (nanoseconds since{}; since <= day; since += 500ms) {
    DeviceReading reading = Busy(since);
    if (since == 3h) reading.max_watts = 690;
    if (since == 3h) reading.throttle_reasons = {"thermal"};
    ring.Add(std::move(reading));
  }
  EXPECT_THAT(ring.Since(At(day - 1s)), SizeIs(3));
  // All of it, yet not a hundred and seventy thousand.
  const ReadingRing::Window all = ring.Since(At(30s));
  EXPECT_LT(all.size(), 4100u);
  EXPECT_LE(all.front().time, At(30s));
  for (std::size_t i = 1; i < all.size(); ++i) ASSERT_LT(all[i - 1].time, all[i].time) << i;

  const DeviceConditions conditions = ConditionsBetween(all, At(30s), At(day));
  EXPECT_THAT(conditions.energy_joules, Optional(DoubleNear(400 * (24 * 3600 - 30), 1)));
  EXPECT_THAT(conditions.max_watts, Optional(690.0));
  EXPECT_THAT(conditions.throttle_reasons, ElementsAre("thermal"));
}

TEST(ReadingRing, ForgetsWhatIsOlder) {
  ReadingRing ring;
  for (int i = 0; i < 400'000; ++i) ring.Add(Busy(i * 1s));
  EXPECT_GT(ring.Since(At(0s)).front().time, At(0s));
  EXPECT_EQ(ConditionsBetween(ring.Since(At(0s)), At(0s), At(400'000s)).energy_joules, std::nullopt);
}

// A device whose metrics go with the clock, once there are any; it says how often it was asked.
class MeteredDevice : public testing::FakeDevice {
 public:
  MeteredDevice(const Clock& clock, std::map<std::string, testing::KernelBody> bodies)
      : FakeDevice({.id = "gpu0", .backend = "cuda"}, std::move(bodies)), clock_(clock) {}

  DeviceMetrics Sample() override {
    ++samples;
    std::scoped_lock lock(mutex_);
    if (!metrics_.has_value()) return {};
    DeviceMetrics metrics = *metrics_;
    if (metrics.lost.empty()) {
      metrics.energy_joules = 300 * std::chrono::duration<double>(clock_.Now().time_since_epoch()).count();
    }
    return metrics;
  }
  void Say(const DeviceMetrics& metrics) {
    std::scoped_lock lock(mutex_);
    metrics_ = metrics;
  }

  std::atomic<int> samples{0};

 private:
  const Clock& clock_;
  std::mutex mutex_;
  std::optional<DeviceMetrics> metrics_;  // guarded by mutex_
};

class DeviceHistoryTest : public testing::EngineTest {
 protected:
  // A job whose kernel takes this long by the test's clock.
  void StartWith(nanoseconds kernel) {
    bodies_["copy"] = [this, kernel](const Task& task, TaskControl& control) {
      clock_.Advance(kernel);
      Report report = testing::CopyBody(task, control);
      report.kernel_ns = static_cast<std::uint64_t>(kernel.count());
      return report;
    };
    auto device = std::make_unique<MeteredDevice>(clock_, bodies_);
    device_ = device.get();
    DeviceMetrics metrics;
    metrics.power_watts = 300;
    metrics.sm_clock_mhz = 1500;
    metrics.throttle_reasons.emplace();
    metrics.other_processes = 0;
    metrics.xid_errors = 0;
    device_->Say(metrics);
    devices_.push_back(std::move(device));
    Start();
  }
  DeviceConditions RunOne() {
    Submit(testing::Request("copy"));
    const auto end = recorder_->AwaitEnd(0);
    EXPECT_NE(end, nullptr);
    return end != nullptr && end->receipt ? end->receipt->conditions : DeviceConditions();
  }

  MeteredDevice* device_ = nullptr;
};

TEST_F(DeviceHistoryTest, ALongJobIsReadOnceMoreAtItsEnd) {
  StartWith(2s);
  engine_->SampleDevice(0);
  const DeviceConditions conditions = RunOne();
  EXPECT_EQ(device_->samples, 2);
  EXPECT_EQ(conditions.energy_state, EnergyState::kMeasured);
  EXPECT_THAT(conditions.energy_joules, Optional(DoubleNear(600, 1e-3)));
  EXPECT_THAT(conditions.sm_clock_mhz, Optional(1500u));
  EXPECT_THAT(conditions.throttled, Optional(false));
  EXPECT_THAT(conditions.xid_errors, Optional(false));
}

TEST_F(DeviceHistoryTest, ATinyJobCostsNoCallToTheDriver) {
  StartWith(10us);
  engine_->SampleDevice(0);
  const DeviceConditions conditions = RunOne();
  EXPECT_EQ(device_->samples, 1);
  EXPECT_EQ(conditions.energy_state, EnergyState::kBelowResolution);
  EXPECT_THAT(conditions.sm_clock_mhz, Optional(1500u));
  EXPECT_THAT(conditions.other_processes, Optional(0u));
}

TEST_F(DeviceHistoryTest, ADeviceThatTellsNothingIsNotAskedByALane) {
  bodies_["copy"] = [this](const Task& task, TaskControl& control) {
    clock_.Advance(2s);
    return testing::CopyBody(task, control);
  };
  auto device = std::make_unique<MeteredDevice>(clock_, bodies_);
  device_ = device.get();
  devices_.push_back(std::move(device));
  Start();
  engine_->SampleDevice(0);
  Submit(testing::Request("copy"));
  const auto end = recorder_->AwaitEnd(0);
  ASSERT_NE(end, nullptr);
  EXPECT_EQ(device_->samples, 1) << "by the call above, though the job was long";
  EXPECT_EQ(end->receipt->conditions.energy_state, EnergyState::kNotMeasurable);
  EXPECT_EQ(end->receipt->conditions.sm_clock_mhz, std::nullopt);
}

TEST_F(DeviceHistoryTest, TheSamplerFeedsReceipts) {
  StartWith(1s);
  const TelemetrySampler sampler(*engine_, clock_);
  EXPECT_THAT(RunOne().sm_clock_mhz, Optional(1500u));
  EXPECT_THAT(sampler.Newest().devices[0].metrics.sm_clock_mhz, Optional(1500u));
}

TEST_F(DeviceHistoryTest, ADeviceThatSaysThatItIsLostIsLostWithOneLine) {
  StartWith(1ms);
  const TelemetrySampler sampler(*engine_, clock_);
  DeviceMetrics gone;
  gone.lost = "the driver says: GPU is lost (NVML error 15)";
  device_->Say(gone);
  const auto told = [&] {
    const std::vector<std::string> lines = log();
    return std::ranges::count_if(lines, [](const std::string& line) { return line.find("is lost") != line.npos; });
  };
  ASSERT_TRUE(testing::Eventually([&] { return told() > 0; }));
  EXPECT_THAT(engine_->Status().devices[0].lost,
              AllOf(HasSubstr("NVML error 15"), HasSubstr("since 2023-11-14 22:13:2")));
  engine_->SampleDevice(0);
  EXPECT_EQ(told(), 1);
  const std::vector<std::string> lines = log();
  EXPECT_THAT(lines, Contains(AllOf(HasSubstr("device gpu0 is lost"), HasSubstr("NVML error 15"))));
  EXPECT_THAT(std::string(Refusal(testing::Request("copy")).message()), HasSubstr("lost"));
}

}  // namespace
}  // namespace hotplate::core
