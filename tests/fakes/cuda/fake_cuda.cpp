// Stands for libcuda.so.1: device memory is the host's, each stream is a thread, events carry steady-clock times, and
// whatever can go wrong with a real one goes wrong on demand (FakeScript). A program that knows nothing of it, the
// daemon, scripts it by the environment: FAKE_CUDA="devices=2 version=12040 init_result=999 name=…".
#include <cstdio>
#include <cstring>

#include "tests/fakes/cuda/fake_driver.h"

using hotplate::DevicePointer;
using hotplate::DriverAccess;
using hotplate::DriverPoolProperties;
using hotplate::DriverUuid;
using hotplate::FakeCuda;
using hotplate::HostFunction;
using hotplate::kInvalidValue;
using hotplate::TheFakeDriver;

#define FAKE_API extern "C" __attribute__((visibility("default")))

// For the tests, which are C++ as well.
FAKE_API FakeCuda* fake_cuda() { return &TheFakeDriver(); }

FAKE_API int cuInit(unsigned) { return TheFakeDriver().Init(); }
FAKE_API int cuDriverGetVersion(int* version) {
  *version = TheFakeDriver().script().version;
  return TheFakeDriver().Call("cuDriverGetVersion");
}
FAKE_API int cuGetErrorName(int error, const char** text) {
  *text = error == 0     ? "CUDA_SUCCESS"
          : error == 2   ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : error == 999 ? "CUDA_ERROR_UNKNOWN"
                         : nullptr;
  return *text != nullptr ? 0 : kInvalidValue;
}
FAKE_API int cuGetErrorString(int error, const char** text) {
  *text = error == 0     ? "no error"
          : error == 2   ? "out of memory"
          : error == 700 ? "an illegal memory access was encountered"
          : error == 999 ? "unknown error"
                         : nullptr;
  return *text != nullptr ? 0 : kInvalidValue;
}
FAKE_API int cuDeviceGetCount(int* count) { return TheFakeDriver().Count(count); }
FAKE_API int cuDeviceGet(int* device, int ordinal) { return TheFakeDriver().Device(device, ordinal); }
FAKE_API int cuDeviceGetName(char* name, int length, int) {
  std::strncpy(name, TheFakeDriver().script().name.c_str(), length - 1);
  name[length - 1] = '\0';
  return TheFakeDriver().Call("cuDeviceGetName");
}
FAKE_API int cuDeviceGetUuid_v2(DriverUuid* uuid, int device) {
  *uuid = {};
  uuid->bytes[15] = static_cast<unsigned char>(0x10 + device);
  return TheFakeDriver().Call("cuDeviceGetUuid_v2");
}
FAKE_API int cuDeviceGetAttribute(int* value, int attribute, int) {
  return TheFakeDriver().Attribute(value, attribute);
}
FAKE_API int cuDeviceGetPCIBusId(char* text, int length, int device) {
  std::snprintf(text, length, "00000000:%02X:00.0", 0x60 + device);
  return TheFakeDriver().Call("cuDeviceGetPCIBusId");
}
FAKE_API int cuDevicePrimaryCtxRetain(CUctx_st** context, int device) {
  return TheFakeDriver().Retain(context, device);
}
FAKE_API int cuDeviceCanAccessPeer(int* can, int device, int peer) {
  return TheFakeDriver().CanAccess(can, device, peer);
}
FAKE_API int cuDevicePrimaryCtxRelease_v2(int device) { return TheFakeDriver().ReleaseContext(device); }
FAKE_API int cuCtxSetCurrent(CUctx_st* context) { return TheFakeDriver().MakeCurrent(context); }
FAKE_API int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) { return TheFakeDriver().MemoryInfo(free, total); }
FAKE_API int cuMemPoolCreate(CUmemPoolHandle_st** pool, const DriverPoolProperties* properties) {
  return TheFakeDriver().MakePool(pool, properties);
}
FAKE_API int cuMemPoolDestroy(CUmemPoolHandle_st* pool) { return TheFakeDriver().DestroyPool(pool); }
FAKE_API int cuMemPoolSetAttribute(CUmemPoolHandle_st* pool, int attribute, void* value) {
  return TheFakeDriver().PoolAttribute(pool, attribute, value, true);
}
FAKE_API int cuMemPoolGetAttribute(CUmemPoolHandle_st* pool, int attribute, void* value) {
  return TheFakeDriver().PoolAttribute(pool, attribute, value, false);
}
#ifndef FAKE_WITHOUT_TRIM
FAKE_API int cuMemPoolTrimTo(CUmemPoolHandle_st* pool, std::size_t keep) { return TheFakeDriver().Trim(pool, keep); }
#endif
FAKE_API int cuMemPoolSetAccess(CUmemPoolHandle_st* pool, const DriverAccess* accesses, std::size_t) {
  return TheFakeDriver().SetAccess(pool, *accesses);
}
FAKE_API int cuMemAllocFromPoolAsync(DevicePointer* memory, std::size_t bytes, CUmemPoolHandle_st* pool,
                                     CUstream_st* stream) {
  return TheFakeDriver().Allocate(memory, bytes, pool, stream);
}
FAKE_API int cuMemFreeAsync(DevicePointer memory, CUstream_st* stream) { return TheFakeDriver().Free(memory, stream); }
FAKE_API int cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) { return TheFakeDriver().Pin(memory, bytes); }
FAKE_API int cuMemFreeHost(void* memory) { return TheFakeDriver().Unpin(memory); }
FAKE_API int cuMemcpyHtoDAsync_v2(DevicePointer to, const void* from, std::size_t bytes, CUstream_st* stream) {
  return TheFakeDriver().Copy("cuMemcpyHtoDAsync", reinterpret_cast<void*>(to), from, bytes, true, stream);
}
FAKE_API int cuMemcpyDtoHAsync_v2(void* to, DevicePointer from, std::size_t bytes, CUstream_st* stream) {
  return TheFakeDriver().Copy("cuMemcpyDtoHAsync", to, reinterpret_cast<const void*>(from), bytes, false, stream);
}
FAKE_API int cuMemcpyPeerAsync(DevicePointer to, CUctx_st* to_context, DevicePointer from, CUctx_st* from_context,
                               std::size_t bytes, CUstream_st* stream) {
  return TheFakeDriver().CopyBetween(to, to_context, from, from_context, bytes, stream);
}
FAKE_API int cuModuleLoadData(CUmod_st** module, const void* code) { return TheFakeDriver().LoadModule(module, code); }
FAKE_API int cuModuleUnload(CUmod_st* module) { return TheFakeDriver().UnloadModule(module); }
FAKE_API int cuModuleGetFunction(CUfunc_st** function, CUmod_st* module, const char* name) {
  return TheFakeDriver().FunctionOf(function, module, name);
}
FAKE_API int cuLaunchKernel(CUfunc_st* function, unsigned blocks, unsigned, unsigned, unsigned threads, unsigned,
                            unsigned, unsigned, CUstream_st* stream, void** parameters, void**) {
  return TheFakeDriver().LaunchFunction(function, blocks, threads, stream, parameters);
}
FAKE_API int cuStreamCreate(CUstream_st** stream, unsigned) { return TheFakeDriver().MakeStream(stream); }
FAKE_API int cuStreamDestroy_v2(CUstream_st* stream) { return TheFakeDriver().DestroyStream(stream); }
FAKE_API int cuStreamQuery(CUstream_st* stream) { return TheFakeDriver().QueryStream(stream); }
FAKE_API int cuStreamSynchronize(CUstream_st* stream) { return TheFakeDriver().SynchronizeStream(stream); }
FAKE_API int cuStreamWaitEvent(CUstream_st* stream, CUevent_st* event, unsigned) {
  return TheFakeDriver().WaitEvent(stream, event);
}
FAKE_API int cuLaunchHostFunc(CUstream_st* stream, HostFunction function, void* user) {
  return TheFakeDriver().LaunchHost(stream, function, user);
}
FAKE_API int cuEventCreate(CUevent_st** event, unsigned flags) { return TheFakeDriver().MakeEvent(event, flags); }
FAKE_API int cuEventDestroy_v2(CUevent_st* event) { return TheFakeDriver().DestroyEvent(event); }
FAKE_API int cuEventRecord(CUevent_st* event, CUstream_st* stream) { return TheFakeDriver().Record(event, stream); }
FAKE_API int cuEventQuery(CUevent_st* event) { return TheFakeDriver().QueryEvent(event); }
FAKE_API int cuEventSynchronize(CUevent_st* event) { return TheFakeDriver().SynchronizeEvent(event); }
FAKE_API int cuEventElapsedTime(float* milliseconds, CUevent_st* from, CUevent_st* to) {
  return TheFakeDriver().ElapsedTime(milliseconds, from, to);
}
