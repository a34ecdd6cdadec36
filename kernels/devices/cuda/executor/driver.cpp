#include "kernels/devices/cuda/executor/driver.h"

#include <dlfcn.h>

#include <chrono>
#include <cstdio>

#include "kernels/base/wait_awake.h"

namespace hotplate {

Outcome Driver::Load(void* library, Driver& driver) {
  const auto find = [library](const char* symbol, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol));
    return function != nullptr;
  };
  const char* missing = nullptr;
  const auto take = [&](const char* symbol, auto& function) {
    if (!find(symbol, function) && missing == nullptr) missing = symbol;
  };
  take("cuInit", driver.cuInit);
  take("cuDriverGetVersion", driver.cuDriverGetVersion);
  take("cuGetErrorName", driver.cuGetErrorName);
  take("cuGetErrorString", driver.cuGetErrorString);
  take("cuDeviceGetCount", driver.cuDeviceGetCount);
  take("cuDeviceGet", driver.cuDeviceGet);
  take("cuDeviceGetName", driver.cuDeviceGetName);
  take("cuDeviceGetUuid_v2", driver.cuDeviceGetUuid);
  take("cuDeviceGetAttribute", driver.cuDeviceGetAttribute);
  take("cuDeviceGetPCIBusId", driver.cuDeviceGetPCIBusId);
  take("cuDeviceCanAccessPeer", driver.cuDeviceCanAccessPeer);
  take("cuDevicePrimaryCtxRetain", driver.cuDevicePrimaryCtxRetain);
  take("cuDevicePrimaryCtxRelease_v2", driver.cuDevicePrimaryCtxRelease);
  take("cuCtxSetCurrent", driver.cuCtxSetCurrent);
  take("cuMemGetInfo_v2", driver.cuMemGetInfo);
  take("cuMemPoolCreate", driver.cuMemPoolCreate);
  take("cuMemPoolDestroy", driver.cuMemPoolDestroy);
  take("cuMemPoolSetAttribute", driver.cuMemPoolSetAttribute);
  take("cuMemPoolGetAttribute", driver.cuMemPoolGetAttribute);
  take("cuMemPoolTrimTo", driver.cuMemPoolTrimTo);
  take("cuMemPoolSetAccess", driver.cuMemPoolSetAccess);
  take("cuMemAllocFromPoolAsync", driver.cuMemAllocFromPoolAsync);
  take("cuMemFreeAsync", driver.cuMemFreeAsync);
  take("cuMemHostAlloc", driver.cuMemHostAlloc);
  take("cuMemFreeHost", driver.cuMemFreeHost);
  take("cuMemcpyHtoDAsync_v2", driver.cuMemcpyHtoDAsync);
  take("cuMemcpyDtoHAsync_v2", driver.cuMemcpyDtoHAsync);
  take("cuMemcpyPeerAsync", driver.cuMemcpyPeerAsync);
  take("cuModuleLoadData", driver.cuModuleLoadData);
  take("cuModuleUnload", driver.cuModuleUnload);
  take("cuModuleGetFunction", driver.cuModuleGetFunction);
  take("cuLaunchKernel", driver.cuLaunchKernel);
  take("cuStreamCreate", driver.cuStreamCreate);
  take("cuStreamDestroy_v2", driver.cuStreamDestroy);
  take("cuStreamQuery", driver.cuStreamQuery);
  take("cuStreamSynchronize", driver.cuStreamSynchronize);
  take("cuStreamWaitEvent", driver.cuStreamWaitEvent);
  take("cuLaunchHostFunc", driver.cuLaunchHostFunc);
  take("cuEventCreate", driver.cuEventCreate);
  take("cuEventDestroy_v2", driver.cuEventDestroy);
  take("cuEventRecord", driver.cuEventRecord);
  take("cuEventQuery", driver.cuEventQuery);
  take("cuEventSynchronize", driver.cuEventSynchronize);
  take("cuEventElapsedTime", driver.cuEventElapsedTime);
  if (missing == nullptr) return Outcome::Ok();
  char text[120];
  std::snprintf(text, sizeof text, "the driver has no function %s", missing);
  return Outcome::Failed(text);
}

Outcome Driver::Check(int result, std::string_view what) const {
  if (result == kDriverOk) return Outcome::Ok();
  const char *name = nullptr, *words = nullptr;
  if (cuGetErrorName(result, &name) != kDriverOk) name = nullptr;
  if (cuGetErrorString(result, &words) != kDriverOk) words = nullptr;
  return TranslateCudaError(result, what, name, words);
}

Outcome TranslateCudaError(int code, std::string_view what, const char* name, const char* words) {
  if (code == kDriverOk) return Outcome::Ok();
  char text[240], number[32];
  std::snprintf(number, sizeof number, "error %d", code);
  std::snprintf(text, sizeof text, "%.*s: %.120s (%.60s)", static_cast<int>(what.size()), what.data(),
                words != nullptr ? words : "an error that CUDA has no words for", name != nullptr ? name : number);
  return code == kDriverOutOfMemory ? Outcome::OutOfMemory(text) : Outcome::Failed(text);
}

Outcome MakeEvent(const Driver& driver, unsigned flags, OwnedEvent& event) {
  CUevent_st* raw = nullptr;
  const Outcome made = driver.Check(driver.cuEventCreate(&raw, flags | kEventBlockingSync), "making an event");
  event = OwnedEvent(raw, {driver.cuEventDestroy});
  return made;
}

Outcome MakeStream(const Driver& driver, OwnedStream& stream) {
  CUstream_st* raw = nullptr;
  const Outcome made = driver.Check(driver.cuStreamCreate(&raw, kStreamNonBlocking), "making a stream");
  stream = OwnedStream(raw, {driver.cuStreamDestroy});
  return made;
}

Outcome PinBytes(const Driver& driver, std::size_t bytes, PinnedBytes& memory) {
  void* raw = nullptr;
  const Outcome made =
      driver.Check(driver.cuMemHostAlloc(&raw, bytes, kHostAllocPortable | kHostAllocMapped), "pinned host memory");
  memory = PinnedBytes(static_cast<std::byte*>(raw), {driver.cuMemFreeHost});
  return made;
}

int WaitFor(const Driver& driver, CUevent_st* event) {
  constexpr std::chrono::microseconds kAwake(50);
  int state = kDriverNotReady;
  const auto over = [&] {
    state = driver.cuEventQuery(event);
    return state != kDriverNotReady;
  };
  return WaitAwake(kAwake, over) ? state : driver.cuEventSynchronize(event);
}

}  // namespace hotplate
