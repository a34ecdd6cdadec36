// Devices of the fake driver, and their contexts.
#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "tests/fakes/cuda/fake_driver.h"

namespace hotplate {

int FakeDriver::Init() {
  if (const int error = Call("cuInit")) return error;
  const std::lock_guard lock(mutex_);
  if (script_.init_result != 0) return script_.init_result;
  visible_.clear();
  Show();
  if (visible_.empty()) return kDriverNoDevice;
  initialised_ = true;
  return 0;
}

int FakeDriver::Count(int* count) {
  if (const int error = Call("cuDeviceGetCount")) return error;
  const std::lock_guard lock(mutex_);
  if (!initialised_) return kNotInitialised;
  *count = static_cast<int>(visible_.size());
  return 0;
}

int FakeDriver::Device(int* device, int ordinal) {
  if (const int error = Call("cuDeviceGet")) return error;
  const std::lock_guard lock(mutex_);
  if (!initialised_) return kNotInitialised;
  if (ordinal < 0 || ordinal >= static_cast<int>(visible_.size())) return kDriverInvalidDevice;
  *device = visible_[ordinal];
  return 0;
}

int FakeDriver::Attribute(int* value, int attribute) {
  if (const int error = Call("cuDeviceGetAttribute")) return error;
  const std::lock_guard lock(mutex_);
  switch (attribute) {
    case kAttributeMultiprocessors:
      *value = 8;
      return 0;
    case kAttributeClockKhz:
      *value = 1'500'000;
      return 0;
    case kAttributeComputeMode:
      *value = script_.compute_mode;
      return 0;
    case kAttributeComputeMajor:
      *value = script_.compute_major;
      return 0;
    case kAttributeComputeMinor:
      *value = script_.compute_minor;
      return 0;
    case kAttributeSingleToDoubleRatio:
      *value = 2;
      return 0;
    case kAttributeMemoryPools:
      *value = script_.memory_pools;
      return 0;
    default:
      return kInvalidValue;
  }
}

int FakeDriver::CanAccess(int* can, int device, int peer) {
  if (const int error = Call("cuDeviceCanAccessPeer")) return error;
  const std::lock_guard lock(mutex_);
  *can = script_.peers && device != peer ? 1 : 0;
  return 0;
}

int FakeDriver::Retain(CUctx_st** context, int device) {
  if (const int error = Call("cuDevicePrimaryCtxRetain")) return error;
  const std::lock_guard lock(mutex_);
  if (script_.taken) return kDriverDeviceUnavailable;
  ++contexts_[device].retained;
  *context = &contexts_[device];
  return 0;
}

int FakeDriver::ReleaseContext(int device) {
  if (const int error = Call("cuDevicePrimaryCtxRelease_v2")) return error;
  const std::lock_guard lock(mutex_);
  if (contexts_[device].retained <= 0) misuse_.emplace_back("a context is released too often");
  if (--contexts_[device].retained == 0 && script_.heals && contexts_[device].broken != 0) {
    ForgetMemory([&](const CUmemPoolHandle_st* pool) { return pool->device == device; });
    contexts_[device].broken = 0;
  }
  return 0;
}

void FakeDriver::Show() {
  const char* const text = std::getenv("CUDA_VISIBLE_DEVICES");
  const int there = std::min(script_.devices, kMostDevices);
  for (int i = 0; text == nullptr && i < there; ++i) visible_.push_back(i);
  std::istringstream entries(text != nullptr ? text : "");
  for (std::string entry; std::getline(entries, entry, ',');) {
    int device = -1;
    if (!entry.empty() && entry.find_first_not_of("0123456789") == std::string::npos) device = std::atoi(entry.c_str());
    for (int i = 0; i < there; ++i) {
      if (entry.starts_with("GPU-") && Uuid(i).starts_with(entry)) device = i;
    }
    const bool again = std::find(visible_.begin(), visible_.end(), device) != visible_.end();
    if (device < 0 || device >= there || again) break;
    visible_.push_back(device);
  }
}

std::string FakeDriver::Uuid(int device) {
  return "GPU-00000000-0000-0000-0000-0000000000" + std::to_string(10 + device);
}

int FakeDriver::MakeCurrent(CUctx_st* context) {
  if (const int error = Call("cuCtxSetCurrent")) return error;
  current_ = context;
  return 0;
}

}  // namespace hotplate
