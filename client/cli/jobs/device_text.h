// Texts for a sample of a device.
#pragma once

#include <string>
#include <vector>

#include "hotplate/v1/telemetry.pb.h"

namespace hotplate::cli {

// "jobs hold 1.2 GB, peak 3.4 GB", "pinned 16.8 MB", "412/700 W", "54 °C", "1980 MHz", "2 other processes", "THROTTLED:
// power cap", …: the sample's metrics, in this order.
std::vector<std::string> DeviceWords(const v1::DeviceSample& sample);

// The sample of the device with this id; null if there is none.
const v1::DeviceSample* SampleOf(const v1::TelemetrySample& sample, const std::string& device);

}  // namespace hotplate::cli
