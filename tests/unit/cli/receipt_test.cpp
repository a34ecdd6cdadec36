// The receipt, and what is said of a device: each figure only where there is one.
#include "client/cli/jobs/receipt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/cli/jobs/device_text.h"
#include "client/cli/terminal/format.h"

namespace hotplate::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The line without its indent.
std::string Conditions(const v1::Receipt& receipt) {
  std::string text = ReceiptText(receipt, v1::COMPLETED);
  text.pop_back();
  return text.substr(text.rfind('\n') + 3);
}

TEST(ReceiptTest, OnACpuLittleIsKnown) {
  v1::Receipt receipt;
  receipt.set_energy_state(v1::ENERGY_NOT_MEASURABLE);
  receipt.set_device_shared(false);
  EXPECT_EQ(Conditions(receipt), "energy not measurable here · no other job on it");
  receipt.set_device_shared(true);
  EXPECT_EQ(Conditions(receipt), "energy not measurable here · device shared with other jobs");
}

TEST(ReceiptTest, WhereAndHowItRan) {
  v1::Receipt receipt;
  receipt.set_job_id("7");
  receipt.set_kernel("power_sum");
  receipt.set_device("gpu0");
  const auto head = [&] {
    return ReceiptText(receipt, v1::COMPLETED).substr(0, ReceiptText(receipt, v1::COMPLETED).find('\n'));
  };
  EXPECT_EQ(head(), "job 7  power_sum on gpu0");
  receipt.set_deterministic(true);
  EXPECT_EQ(head(), "job 7  power_sum on gpu0  deterministic");
  receipt.set_seed(0);
  EXPECT_EQ(head(), "job 7  power_sum on gpu0  deterministic  seed 0");
}

TEST(ReceiptTest, EveryFigureStandsInItsRow) {
  v1::Receipt receipt;
  receipt.set_job_id("7");
  receipt.set_kernel("matmul");
  receipt.set_device("gpu0");
  receipt.set_device_name("H200");
  receipt.set_queue_ns(1'000);
  receipt.set_load_ns(2'000'000);
  receipt.set_host_to_device_ns(3'000'000);
  receipt.set_compile_ns(40'000'000);
  receipt.set_kernel_ns(500'000'000);
  receipt.set_device_to_host_ns(6'000'000);
  receipt.set_store_ns(9'000'000);
  receipt.set_total_ns(700'000'000);
  receipt.set_flop(4e12);
  receipt.set_bytes_moved(200'000'000'000);
  receipt.set_flop_per_second(8e12);
  receipt.set_bytes_per_second(4e11);
  receipt.set_cold(true);
  const client::ClientTimings client{.upload = nanoseconds(100'000'000),
                                     .download = nanoseconds(20'000'000),
                                     .total = nanoseconds(900'000'000),
                                     .bytes_up = 300'000'000,
                                     .bytes_down = 100'000'000};
  EXPECT_EQ(ReceiptText(receipt, v1::COMPLETED, client),
            "job 7  matmul on gpu0 (H200)\n"
            "  queue       1 µs\n"
            "  upload    100 ms  300.0 MB · 3.0 GB/s\n"
            "  load      2.0 ms  inputs by path or from another device\n"
            "  h→d       3.0 ms\n"
            "  compile    40 ms  cache miss\n"
            "  kernel    500 ms  8.0 TFLOP/s · 400.0 GB/s · cold\n"
            "  d→h       6.0 ms\n"
            "  store     9.0 ms  outputs by path\n"
            "  download   20 ms  100.0 MB · 5.0 GB/s\n"
            "  other     220 ms  140 ms between steps on the daemon · 80 ms in calls to it and back\n"
            "  total     700 ms  on the daemon, 900 ms seen from here\n"
            "  energy not measurable here\n");
  // What did not happen has no row, and a job that did not end well no rates.
  receipt.clear_load_ns();
  receipt.clear_host_to_device_ns();
  receipt.clear_compile_ns();
  receipt.clear_device_to_host_ns();
  receipt.clear_store_ns();
  EXPECT_EQ(ReceiptText(receipt, v1::FAILED),
            "job 7  matmul on gpu0 (H200)\n"
            "  queue     1 µs\n"
            "  kernel  500 ms  cold\n"
            "  other   200 ms  200 ms between steps on the daemon\n"
            "  total   700 ms  on the daemon\n"
            "  energy not measurable here\n");
}

TEST(ReceiptTest, OfAShortKernelOnAGpu) {
  v1::Receipt receipt;
  receipt.set_energy_state(v1::ENERGY_BELOW_RESOLUTION);
  receipt.set_sm_clock_mhz(1980);
  receipt.set_throttled(false);
  receipt.set_ecc_errors(false);
  receipt.set_xid_errors(false);
  receipt.set_other_processes(0);
  receipt.set_device_shared(false);
  EXPECT_EQ(Conditions(receipt),
            "energy below resolution (kernel under 200 ms) · 1980 MHz · no throttling · device not shared");
}

TEST(ReceiptTest, OfALongKernelWithEverythingAgainstIt) {
  v1::Receipt receipt;
  receipt.set_energy_state(v1::ENERGY_MEASURED);
  receipt.set_energy_joules(1234.5678);
  receipt.set_mean_watts(411.5);
  receipt.set_max_watts(699.6);
  receipt.set_sm_clock_mhz(1410);
  receipt.set_throttled(true);
  receipt.add_throttle_reasons("power cap");
  receipt.add_throttle_reasons("thermal");
  receipt.set_ecc_errors(true);
  receipt.set_xid_errors(true);
  receipt.set_other_processes(2);
  receipt.set_device_shared(true);
  EXPECT_EQ(Conditions(receipt),
            "energy 1234.57 J, 412 W mean, 700 W at most · 1410 MHz · THROTTLED (power cap, thermal) · ECC ERRORS · "
            "XID ERRORS · device shared with 2 other processes");
}

TEST(ReceiptTest, OfAMigInstance) {
  v1::Receipt receipt;
  receipt.set_energy_state(v1::ENERGY_OF_WHOLE_GPU);
  receipt.set_other_processes(1);
  receipt.set_device_shared(true);
  EXPECT_EQ(Conditions(receipt), "energy not measurable of a MIG instance · device shared with 1 other process");
}

TEST(ReceiptTest, OfAnOlderDaemon) {
  v1::Receipt receipt;
  EXPECT_EQ(Conditions(receipt), "energy not measurable here");
}

TEST(DeviceWordsTest, ACpuHasNone) {
  v1::DeviceSample sample;
  sample.set_utilisation(0.5);
  EXPECT_THAT(DeviceWords(sample), IsEmpty());
}

TEST(DeviceWordsTest, AGpuHasThemAll) {
  v1::DeviceSample sample;
  sample.set_pool_used_bytes(0);
  sample.set_pool_peak_bytes(3'400'000'000);
  sample.set_pinned_bytes(16'777'216);
  sample.set_power_watts(411.6);
  sample.set_power_limit_watts(700);
  sample.set_temperature_celsius(54);
  sample.set_sm_clock_mhz(1980);
  sample.set_pcie_receive_bytes_per_second(1.2e9);
  sample.set_pcie_transmit_bytes_per_second(3.4e6);
  sample.set_processes(3);
  sample.set_other_processes(2);
  sample.add_throttle_reasons("power cap");
  sample.add_throttle_reasons("thermal");
  sample.set_ecc_errors(2);
  sample.set_xid_errors(4);
  sample.set_last_xid(31);
  EXPECT_THAT(DeviceWords(sample),
              ElementsAre("jobs hold 0 B, peak 3.4 GB", "pinned 16.8 MB", "412/700 W", "54 °C", "1980 MHz",
                          "PCIe in 1.2 GB/s", "out 3.4 MB/s", "2 other processes", "THROTTLED: power cap, thermal",
                          "2 ECC ERRORS since the driver was loaded", "XID 31 (4 since the daemon's start)"));
}

TEST(DeviceWordsTest, ProcessesThatCannotBeToldApartAreCounted) {
  v1::DeviceSample sample;
  sample.set_processes(1);
  EXPECT_THAT(DeviceWords(sample), ElementsAre("1 process"));
  sample.set_other_processes(0);
  EXPECT_THAT(DeviceWords(sample), IsEmpty());
}

TEST(DeviceWordsTest, OfAnInstanceThePowerIsTheWholeGpus) {
  v1::DeviceSample sample;
  sample.set_power_watts(300);
  sample.set_of_whole_gpu(true);
  EXPECT_THAT(DeviceWords(sample), ElementsAre("300 W (whole GPU)"));
}

}  // namespace
}  // namespace hotplate::cli
