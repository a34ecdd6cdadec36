#include "client/cli/jobs/device_text.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "client/cli/terminal/format.h"
#include "kernels/base/quantity.h"

namespace hotplate::cli {
namespace {

std::string Whole(double value) { return std::to_string(std::lround(value)); }

}  // namespace

std::vector<std::string> DeviceWords(const v1::DeviceSample& sample) {
  std::vector<std::string> words;
  // For a MIG instance the figures include its neighbours.
  const std::string whole = sample.of_whole_gpu() ? " (whole GPU)" : "";
  if (sample.has_pool_used_bytes() && sample.has_pool_peak_bytes()) {
    const std::uint64_t arrays = std::min(sample.resident_bytes(), sample.pool_used_bytes());
    words.push_back("jobs hold " + BytesText(sample.pool_used_bytes() - arrays) + ", peak " +
                    BytesText(sample.pool_peak_bytes()));
    if (arrays > 0) words.push_back("arrays " + BytesText(arrays));
  }
  if (sample.pinned_bytes() > 0) words.push_back("pinned " + BytesText(sample.pinned_bytes()));
  if (sample.has_power_watts()) {
    const std::string limit = sample.has_power_limit_watts() ? "/" + Whole(sample.power_limit_watts()) : "";
    words.push_back(Whole(sample.power_watts()) + limit + " W" + whole);
  }
  if (sample.has_temperature_celsius()) words.push_back(Whole(sample.temperature_celsius()) + " °C");
  if (sample.has_sm_clock_mhz()) words.push_back(std::to_string(sample.sm_clock_mhz()) + " MHz");
  if (sample.has_pcie_receive_bytes_per_second()) {
    words.push_back("PCIe in " + ByteRate(sample.pcie_receive_bytes_per_second()));
  }
  if (sample.has_pcie_transmit_bytes_per_second()) {
    words.push_back("out " + ByteRate(sample.pcie_transmit_bytes_per_second()));
  }
  if (sample.has_other_processes() && sample.other_processes() > 0) {
    words.push_back(std::to_string(sample.other_processes()) +
                    (sample.other_processes() == 1 ? " other process" : " other processes"));
  } else if (sample.has_processes() && !sample.has_other_processes()) {
    words.push_back(std::to_string(sample.processes()) + (sample.processes() == 1 ? " process" : " processes"));
  }
  if (sample.throttle_reasons_size() > 0) {
    words.push_back("THROTTLED: " + Join({sample.throttle_reasons().begin(), sample.throttle_reasons().end()}, ", "));
  }
  if (sample.ecc_errors() > 0) {
    words.push_back(std::to_string(sample.ecc_errors()) + " ECC ERRORS since the driver was loaded");
  }
  if (sample.xid_errors() > 0) {
    words.push_back("XID " + std::to_string(sample.last_xid()) + " (" + std::to_string(sample.xid_errors()) +
                    " since the daemon's start)");
  }
  return words;
}

const v1::DeviceSample* SampleOf(const v1::TelemetrySample& sample, const std::string& device) {
  for (const v1::DeviceSample& one : sample.devices()) {
    if (one.device() == device) return &one;
  }
  return nullptr;
}

}  // namespace hotplate::cli
