// Metrics of GPUs by way of a fake libnvidia-ml that does what the test's script says. What a real one answers is not
// tested here.
#include "kernels/devices/nvml/nvml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "kernels/base/status.h"
#include "tests/temporary_folder.h"

namespace hotplate {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;

constexpr char kFirst[] = "GPU-00000000-0000-0000-0000-000000000001";
constexpr char kSecond[] = "GPU-00000000-0000-0000-0000-000000000002";
constexpr char kInstance[] = "MIG-00000000-0000-0000-0000-00000000000a";
constexpr char kFirstBus[] = "00000000:65:00.0";
constexpr char kSecondBus[] = "00000000:E3:00.0";

// The device's line and one for every metric.
const std::string kEverything = std::string("device ") + kFirst + " " + kFirstBus + R"(
utilisation 87
memory_total 80000000000
memory_used 3000000000
power 412500
power_limit 700000
energy 5000 17250
temperature 54
sm_clock 1980
memory_clock 2619
reasons 0x24
power_violation 7000000
thermal_violation 3000000
ecc 2
processes self,4000000001,4000000002
compute_mode 0
mig_mode 0
xid - 31 79 -
pcie_rx 1200
pcie_tx 340
)";

class NvmlTest : public ::testing::Test {
 protected:
  NvmlTest() {
    setenv("HOTPLATE_FAKE_NVML", folder_.File("script").c_str(), 1);
    setenv("HOTPLATE_NVML_LIBRARY", HOTPLATE_FAKES "/nvml.so", 1);
    unsetenv("CUDA_MPS_PIPE_DIRECTORY");
  }

  std::shared_ptr<Nvml> Open(const std::string& script) {
    folder_.Write("script", script);
    const absl::StatusOr<std::shared_ptr<Nvml>> nvml = Nvml::Open();
    EXPECT_TRUE(nvml.ok()) << nvml.status();
    return nvml.ok() ? *nvml : nullptr;
  }
  // The first device of the script.
  std::unique_ptr<NvmlDevice> OpenFirst(const std::string& script) {
    const std::shared_ptr<Nvml> nvml = Open(script);
    return nvml != nullptr ? nvml->Find(kFirst, kFirstBus, false) : nullptr;
  }
  std::string WhyNot() {
    const absl::StatusOr<std::shared_ptr<Nvml>> nvml = Nvml::Open();
    return nvml.ok() ? "it opened" : std::string(nvml.status().message());
  }

  TemporaryFolder folder_;
};

std::string With(std::string script, const std::string& line, const std::string& instead) {
  const std::size_t at = script.find("\n" + line + " ");
  EXPECT_NE(at, std::string::npos) << line;
  script.replace(at + 1, script.find('\n', at + 1) - at - 1, instead);
  return script;
}

std::string Line(const std::string& line) { return std::string("device ") + kFirst + " " + kFirstBus + "\n" + line; }

TEST_F(NvmlTest, ALibraryThatIsNotThereIsASentence) {
  setenv("HOTPLATE_NVML_LIBRARY", "/nowhere/libnvidia-ml.so.1", 1);
  EXPECT_THAT(WhyNot(), AllOf(HasSubstr("/nowhere/libnvidia-ml.so.1 cannot be opened"), HasSubstr("No such file")));
}

TEST_F(NvmlTest, ALibraryOfSomethingElseIsASentence) {
  setenv("HOTPLATE_NVML_LIBRARY", "libm.so.6", 1);
  EXPECT_THAT(WhyNot(), HasSubstr("libm.so.6 lacks the functions"));
}

TEST_F(NvmlTest, AnInitialisationThatFailsIsASentence) {
  folder_.Write("script", "init_error 9\n");
  EXPECT_THAT(WhyNot(), AllOf(HasSubstr("cannot be initialised: Driver Not Loaded"), HasSubstr("NVML error 9")));
}

TEST_F(NvmlTest, EveryMetricInItsUnit) {
  const auto device = OpenFirst(kEverything);
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(device->mode(), "");
  const DeviceMetrics metrics = device->Sample();
  EXPECT_EQ(metrics.lost, "");
  EXPECT_FALSE(metrics.of_whole_gpu);
  EXPECT_THAT(metrics.utilisation, Optional(0.87));
  EXPECT_THAT(metrics.memory_total_bytes, Optional(80'000'000'000u));
  EXPECT_THAT(metrics.memory_used_bytes, Optional(3'000'000'000u));
  EXPECT_THAT(metrics.power_watts, Optional(412.5));
  EXPECT_THAT(metrics.power_limit_watts, Optional(700.0));
  EXPECT_THAT(metrics.energy_joules, Optional(5.0));
  EXPECT_THAT(metrics.temperature_celsius, Optional(54.0));
  EXPECT_THAT(metrics.sm_clock_mhz, Optional(1980u));
  EXPECT_THAT(metrics.memory_clock_mhz, Optional(2619u));
  EXPECT_THAT(metrics.throttle_reasons, Optional(ElementsAre("power cap", "thermal")));
  EXPECT_FALSE(metrics.clocks_at_rest);
  EXPECT_THAT(metrics.power_throttled_ns, Optional(7'000'000u));
  EXPECT_THAT(metrics.thermal_throttled_ns, Optional(3'000'000u));
  EXPECT_THAT(metrics.ecc_errors, Optional(2u));
  EXPECT_THAT(metrics.processes, Optional(3u));
  EXPECT_THAT(metrics.other_processes, Optional(2u));
  EXPECT_THAT(metrics.xid_errors, Optional(0u));
  EXPECT_EQ(metrics.last_xid, std::nullopt);

  const DeviceMetrics next = device->Sample();
  EXPECT_THAT(next.energy_joules, Optional(17.25));
  EXPECT_THAT(next.xid_errors, Optional(2u)) << "both that had come";
  EXPECT_THAT(next.last_xid, Optional(79u));
  EXPECT_THAT(device->Sample().xid_errors, Optional(2u));
}

TEST_F(NvmlTest, PcieTrafficComesFromItsOwnThread) {
  const auto device = OpenFirst(kEverything + "slow 5\n");
  ASSERT_NE(device, nullptr);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  DeviceMetrics metrics = device->Sample();
  while (!metrics.pcie_transmit_bytes_per_second && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    metrics = device->Sample();
  }
  EXPECT_THAT(metrics.pcie_receive_bytes_per_second, Optional(1.2e6));
  EXPECT_THAT(metrics.pcie_transmit_bytes_per_second, Optional(0.34e6));
}

TEST_F(NvmlTest, NothingSupportedIsNothingKnown) {
  const auto device = OpenFirst(Line("temperature 40\n"));
  ASSERT_NE(device, nullptr);
  for (int i = 0; i < 3; ++i) {
    const DeviceMetrics metrics = device->Sample();
    EXPECT_THAT(metrics.temperature_celsius, Optional(40.0));
    EXPECT_EQ(metrics.lost, "");
    EXPECT_EQ(metrics.utilisation, std::nullopt);
    EXPECT_EQ(metrics.memory_used_bytes, std::nullopt);
    EXPECT_EQ(metrics.power_watts, std::nullopt);
    EXPECT_EQ(metrics.energy_joules, std::nullopt);
    EXPECT_EQ(metrics.throttle_reasons, std::nullopt);
    EXPECT_EQ(metrics.power_throttled_ns, std::nullopt);
    EXPECT_EQ(metrics.ecc_errors, std::nullopt);
    EXPECT_EQ(metrics.xid_errors, std::nullopt);
    EXPECT_EQ(metrics.processes, std::nullopt);
    EXPECT_EQ(metrics.other_processes, std::nullopt);
    EXPECT_EQ(metrics.pcie_receive_bytes_per_second, std::nullopt);
  }
}

TEST_F(NvmlTest, AnErrorCostsOneMetricOnce) {
  const auto device = OpenFirst(With(kEverything, "power", "power 100000 !999 300000"));
  ASSERT_NE(device, nullptr);
  EXPECT_THAT(device->Sample().power_watts, Optional(100.0));
  const DeviceMetrics broken = device->Sample();
  EXPECT_EQ(broken.power_watts, std::nullopt);
  EXPECT_THAT(broken.sm_clock_mhz, Optional(1980u));
  EXPECT_EQ(broken.lost, "");
  EXPECT_THAT(device->Sample().power_watts, Optional(300.0));
}

TEST_F(NvmlTest, WhatIsNotSupportedIsNotAskedAgain) {
  const auto device = OpenFirst(With(kEverything, "power", "power !3 300000"));
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(device->Sample().power_watts, std::nullopt);
  EXPECT_EQ(device->Sample().power_watts, std::nullopt);
}

TEST_F(NvmlTest, RestIsNoThrottling) {
  const auto device = OpenFirst(With(kEverything, "reasons", "reasons 0x1 0x2 0x100"));
  ASSERT_NE(device, nullptr);
  const DeviceMetrics resting = device->Sample();
  EXPECT_TRUE(resting.clocks_at_rest);
  EXPECT_THAT(resting.throttle_reasons, Optional(IsEmpty()));
  const DeviceMetrics chosen = device->Sample();
  EXPECT_FALSE(chosen.clocks_at_rest);
  EXPECT_THAT(chosen.throttle_reasons, Optional(IsEmpty())) << "clocks that somebody chose";
}

TEST(ThrottleWordsTest, EachReasonHasItsWord) {
  EXPECT_THAT(ThrottleWords(0), IsEmpty());
  EXPECT_THAT(
      ThrottleWords(0x4 | 0x8 | 0x10 | 0x20 | 0x40 | 0x80),
      ElementsAre("power cap", "power brake", "thermal", "thermal (hardware)", "hardware slowdown", "sync boost"));
  EXPECT_THAT(ThrottleWords(0xffff'ffff'ffff'fe03ull), IsEmpty()) << "bits that are none of ours";
}

TEST_F(NvmlTest, OthersAreUnknownWhereThisProcessGoesByAnotherNumber) {
  const auto device = OpenFirst(With(kEverything, "processes", "processes 4000000001 4000000001 none"));
  ASSERT_NE(device, nullptr);
  const DeviceMetrics metrics = device->Sample();
  EXPECT_THAT(metrics.processes, Optional(1u));
  EXPECT_EQ(metrics.other_processes, std::nullopt);
  const DeviceMetrics later = device->Sample();
  EXPECT_THAT(later.processes, Optional(0u));
  EXPECT_EQ(later.other_processes, std::nullopt);
}

TEST_F(NvmlTest, TooManyProcessesToListAreNoNumber) {
  std::string many = "processes self";
  for (int i = 1; i < 600; ++i) many.append(",").append(std::to_string(4'000'000'000u + static_cast<unsigned>(i)));
  const auto device = OpenFirst(With(kEverything, "processes", many));
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(device->Sample().processes, std::nullopt);
}

TEST_F(NvmlTest, ADeviceThatFallsOffIsLostForGood) {
  const auto device = OpenFirst(kEverything + "lost_after 30\n");
  ASSERT_NE(device, nullptr);
  const DeviceMetrics first = device->Sample();
  EXPECT_EQ(first.lost, "");
  DeviceMetrics metrics;
  for (int i = 0; i < 10 && metrics.lost.empty(); ++i) metrics = device->Sample();
  EXPECT_THAT(metrics.lost, AllOf(HasSubstr("GPU is lost"), HasSubstr("NVML error 15")));
  EXPECT_EQ(metrics.utilisation, std::nullopt);
  EXPECT_EQ(device->Sample().lost, metrics.lost);
}

TEST_F(NvmlTest, EventsThatFailAreNoEvents) {
  const auto device = OpenFirst(With(kEverything, "xid", "xid - !999 31 -"));
  ASSERT_NE(device, nullptr);
  EXPECT_THAT(device->Sample().xid_errors, Optional(0u));
  EXPECT_EQ(device->Sample().xid_errors, std::nullopt);
  EXPECT_THAT(device->Sample().xid_errors, Optional(1u));
}

TEST_F(NvmlTest, EventsWithoutEndDoNotHoldASampleUp) {
  const auto device = OpenFirst(With(kEverything, "xid", "xid 43"));
  ASSERT_NE(device, nullptr);
  EXPECT_THAT(device->Sample().xid_errors, Optional(64u));
}

// Two GPUs with the second one first, and that one cut into instances.
const std::string kMig = std::string("device ") + kSecond + " " + kSecondBus + R"(
mig_mode 1
compute_mode 0
utilisation 99
memory_total 80
memory_used 70
power 300000
sm_clock 1410
processes 1,2,3
instance )" + kInstance + R"(
memory_total 10
memory_used 4
processes self
)" + "device " + kFirst + " " +
                         kFirstBus + "\nmig_mode 0\npower 90000\n";

TEST_F(NvmlTest, AMatchIsByUuidNotByIndex) {
  const auto nvml = Open(kMig);
  ASSERT_NE(nvml, nullptr);
  EXPECT_THAT(nvml->Find(kFirst, "", false)->Sample().power_watts, Optional(90.0));
  EXPECT_THAT(nvml->Find(kFirst, kSecondBus, false)->Sample().power_watts, Optional(90.0)) << "the UUID comes first";
}

TEST_F(NvmlTest, ElseAMatchIsByBusId) {
  const auto nvml = Open(kMig);
  ASSERT_NE(nvml, nullptr);
  EXPECT_THAT(nvml->Find("GPU-unknown", kFirstBus, false)->Sample().power_watts, Optional(90.0));
  EXPECT_THAT(nvml->Find("", kFirstBus, false)->Sample().power_watts, Optional(90.0));
  EXPECT_EQ(nvml->Find("GPU-unknown", "00000000:01:00.0", false), nullptr);
  EXPECT_EQ(nvml->Find("", "", false), nullptr);
}

TEST_F(NvmlTest, AMigInstanceHasItsOwnMemoryAndTheWholeGpusPower) {
  const auto nvml = Open(kMig);
  ASSERT_NE(nvml, nullptr);
  const auto device = nvml->Find(kInstance, kSecondBus, true);
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(device->mode(), "MIG");
  const DeviceMetrics metrics = device->Sample();
  EXPECT_TRUE(metrics.of_whole_gpu);
  EXPECT_THAT(metrics.memory_total_bytes, Optional(10u));
  EXPECT_THAT(metrics.other_processes, Optional(0u));
  EXPECT_EQ(metrics.utilisation, std::nullopt) << "the GPU's would be the neighbours' too";
  EXPECT_THAT(metrics.power_watts, Optional(300.0));
  EXPECT_THAT(metrics.sm_clock_mhz, Optional(1410u));
}

TEST_F(NvmlTest, AnInstanceFoundByBusIdAloneHasNothingOfItsOwn) {
  const auto nvml = Open(kMig);
  ASSERT_NE(nvml, nullptr);
  for (const bool told : {true, false}) {
    const auto device = nvml->Find("MIG-unknown", kSecondBus, told);
    ASSERT_NE(device, nullptr);
    EXPECT_EQ(device->mode(), "MIG");
    const DeviceMetrics metrics = device->Sample();
    EXPECT_TRUE(metrics.of_whole_gpu);
    EXPECT_EQ(metrics.memory_total_bytes, std::nullopt);
    EXPECT_EQ(metrics.processes, std::nullopt);
    EXPECT_THAT(metrics.power_watts, Optional(300.0));
  }
}

TEST_F(NvmlTest, ListsGpusAndInstances) {
  const auto nvml = Open(kMig);
  ASSERT_NE(nvml, nullptr);
  const std::vector<NvmlGpu> gpus = nvml->Gpus();
  ASSERT_EQ(gpus.size(), 2u);
  EXPECT_EQ(gpus[0].uuid, kSecond);
  EXPECT_THAT(gpus[0].instances, ElementsAre(kInstance));
  EXPECT_TRUE(gpus[0].mig);
  EXPECT_EQ(gpus[1].uuid, kFirst);
  EXPECT_FALSE(gpus[1].mig);
  EXPECT_EQ(nvml->driver_version(), "580.65.06");
}

TEST_F(NvmlTest, NamesTheComputeMode) {
  EXPECT_EQ(OpenFirst(With(kEverything, "compute_mode", "compute_mode 3"))->mode(), "EXCLUSIVE_PROCESS");
  EXPECT_EQ(OpenFirst(With(kEverything, "compute_mode", "compute_mode !3"))->mode(), "");
}

TEST_F(NvmlTest, NamesMpsByItsPipe) {
  setenv("CUDA_MPS_PIPE_DIRECTORY", folder_.path().c_str(), 1);
  EXPECT_EQ(OpenFirst(kEverything)->mode(), "") << "the variable alone is no server";
  folder_.Write("control", "");
  EXPECT_EQ(OpenFirst(With(kEverything, "compute_mode", "compute_mode 3"))->mode(), "EXCLUSIVE_PROCESS, MPS");
}

TEST_F(NvmlTest, NamesMpsByItsClients) {
  EXPECT_EQ(OpenFirst(kEverything + "mps_processes 12\n")->mode(), "MPS");
  EXPECT_EQ(OpenFirst(kEverything + "mps_processes none\n")->mode(), "");
}

TEST_F(NvmlTest, NamesMpsByItsServer) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t server = fork();
  if (server == 0) {
    prctl(PR_SET_NAME, "nvidia-cuda-mps-server");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (write(ready[1], "x", 1) != 1) _exit(1);
    for (;;) pause();
  }
  ASSERT_GT(server, 0);
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_EQ(OpenFirst(With(kEverything, "processes", "processes self," + std::to_string(server)))->mode(), "MPS");
  kill(server, SIGKILL);
  waitpid(server, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
}

TEST_F(NvmlTest, ALibraryOfLongAgoTellsWhatItCan) {
  setenv("HOTPLATE_NVML_LIBRARY", HOTPLATE_FAKES "/nvml_old.so", 1);
  // This process last: it is found only if the entries are taken for as long as they are.
  const auto nvml = Open(With(kEverything, "processes", "processes 4000000001,4000000002,self"));
  ASSERT_NE(nvml, nullptr);
  EXPECT_EQ(nvml->driver_version(), "");
  EXPECT_THAT(nvml->Gpus(), IsEmpty());
  const auto device = nvml->Find(kFirst, kFirstBus, false);
  ASSERT_NE(device, nullptr);
  const DeviceMetrics metrics = device->Sample();
  EXPECT_THAT(metrics.power_watts, Optional(412.5));
  EXPECT_THAT(metrics.power_limit_watts, Optional(700.0));
  EXPECT_THAT(metrics.throttle_reasons, Optional(ElementsAre("power cap", "thermal")));
  EXPECT_THAT(metrics.processes, Optional(3u)) << "from the shorter entries";
  EXPECT_THAT(metrics.other_processes, Optional(2u));
  EXPECT_EQ(metrics.energy_joules, std::nullopt);
  EXPECT_EQ(metrics.xid_errors, std::nullopt);
  EXPECT_EQ(metrics.pcie_receive_bytes_per_second, std::nullopt);
}

TEST_F(NvmlTest, SamplesFromSeveralThreads) {
  const auto device = OpenFirst(With(kEverything, "xid", "xid 1 1 1 1 1 -"));
  ASSERT_NE(device, nullptr);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 200; ++k) EXPECT_THAT(device->Sample().power_watts, Optional(412.5));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(device->Sample().xid_errors, Optional(5u));
}

}  // namespace
}  // namespace hotplate
