// The part of the CUDA driver's interface that the back-end uses, as a table of pointers into libcuda.so.1. The
// declarations are ours, so that the executor is compiled and tested without CUDA; driver_check.cpp compares them with
// cuda.h if there is one. The names and signatures below are fixed: libcuda keeps every version of a function under its
// own symbol, and these have been there since CUDA 11.4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "kernels/call/call.h"

struct CUctx_st;  // as cuda.h and cuda_runtime_api.h call them: a stream of the driver is one of the runtime
struct CUstream_st;
struct CUevent_st;
struct CUmemPoolHandle_st;
struct CUmod_st;
struct CUfunc_st;

namespace hotplate {

// The numbers of CUresult and cudaError_t, which agree for all values that both have.
enum DriverResult : int {
  kDriverOk = 0,
  kDriverOutOfMemory = 2,
  kDriverStubLibrary = 34,
  kDriverDeviceUnavailable = 46,
  kDriverNoDevice = 100,
  kDriverInvalidDevice = 101,
  kDriverNotReady = 600,
  kDriverIllegalAddress = 700,
  kDriverLaunchFailed = 719,
  kDriverSystemNotReady = 802,
  kDriverSystemMismatch = 803,
  kDriverCompatNotSupported = 804,
  kDriverUnknown = 999,
};

// CUdevice_attribute
enum DriverAttribute : int {
  kAttributeMultiprocessors = 16,
  kAttributeClockKhz = 13,
  kAttributeComputeMode = 20,
  kAttributeComputeMajor = 75,
  kAttributeComputeMinor = 76,
  kAttributeSingleToDoubleRatio = 87,
  kAttributeMemoryPools = 115,
};
inline constexpr int kComputeModeProhibited = 2;
inline constexpr int kComputeModeExclusiveProcess = 3;

// CUmemPool_attribute; each is a std::uint64_t.
enum DriverPoolAttribute : int {
  kPoolReleaseThreshold = 4,
  kPoolReservedCurrent = 5,
  kPoolReservedHigh = 6,
  kPoolUsedCurrent = 7,
  kPoolUsedHigh = 8,
};

inline constexpr unsigned kEventBlockingSync = 1, kEventDisableTiming = 2;
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kHostAllocPortable = 1, kHostAllocMapped = 2;

struct DriverUuid {
  unsigned char bytes[16];
};

// CUmemPoolProps
struct DriverPoolProperties {
  int allocation_type = 1;  // pinned: the only one that pools have
  int handle_types = 0;
  int location_type = 1;  // a device
  int location_id = 0;
  void* security_attributes = nullptr;
  std::size_t max_size = 0;  // 0: no limit of the pool's own
  unsigned char reserved[56] = {};
};

// CUmemAccessDesc: a device that may read and write a pool's memory.
struct DriverAccess {
  int location_type = 1;  // a device
  int location_id = 0;
  int flags = 3;  // to read and to write
};

using DevicePointer = unsigned long long;  // CUdeviceptr
using HostFunction = void (*)(void* user);

struct Driver {
  int (*cuInit)(unsigned flags) = nullptr;
  int (*cuDriverGetVersion)(int* version) = nullptr;
  int (*cuGetErrorName)(int error, const char** text) = nullptr;
  int (*cuGetErrorString)(int error, const char** text) = nullptr;

  int (*cuDeviceGetCount)(int* count) = nullptr;
  int (*cuDeviceGet)(int* device, int ordinal) = nullptr;
  int (*cuDeviceGetName)(char* name, int length, int device) = nullptr;
  int (*cuDeviceGetUuid)(DriverUuid* uuid, int device) = nullptr;
  int (*cuDeviceGetAttribute)(int* value, int attribute, int device) = nullptr;
  int (*cuDeviceGetPCIBusId)(char* text, int length, int device) = nullptr;
  int (*cuDeviceCanAccessPeer)(int* can, int device, int peer) = nullptr;
  int (*cuDevicePrimaryCtxRetain)(CUctx_st** context, int device) = nullptr;
  int (*cuDevicePrimaryCtxRelease)(int device) = nullptr;
  int (*cuCtxSetCurrent)(CUctx_st* context) = nullptr;

  int (*cuMemGetInfo)(std::size_t* free, std::size_t* total) = nullptr;
  int (*cuMemPoolCreate)(CUmemPoolHandle_st** pool, const DriverPoolProperties* properties) = nullptr;
  int (*cuMemPoolDestroy)(CUmemPoolHandle_st* pool) = nullptr;
  int (*cuMemPoolSetAttribute)(CUmemPoolHandle_st* pool, int attribute, void* value) = nullptr;
  int (*cuMemPoolGetAttribute)(CUmemPoolHandle_st* pool, int attribute, void* value) = nullptr;
  int (*cuMemPoolTrimTo)(CUmemPoolHandle_st* pool, std::size_t keep_bytes) = nullptr;
  int (*cuMemPoolSetAccess)(CUmemPoolHandle_st* pool, const DriverAccess* accesses, std::size_t count) = nullptr;
  int (*cuMemAllocFromPoolAsync)(DevicePointer* memory, std::size_t bytes, CUmemPoolHandle_st* pool,
                                 CUstream_st* stream) = nullptr;
  int (*cuMemFreeAsync)(DevicePointer memory, CUstream_st* stream) = nullptr;
  int (*cuMemHostAlloc)(void** memory, std::size_t bytes, unsigned flags) = nullptr;
  int (*cuMemFreeHost)(void* memory) = nullptr;
  int (*cuMemcpyHtoDAsync)(DevicePointer to, const void* from, std::size_t bytes, CUstream_st* stream) = nullptr;
  int (*cuMemcpyDtoHAsync)(void* to, DevicePointer from, std::size_t bytes, CUstream_st* stream) = nullptr;
  int (*cuMemcpyPeerAsync)(DevicePointer to, CUctx_st* to_context, DevicePointer from, CUctx_st* from_context,
                           std::size_t bytes, CUstream_st* stream) = nullptr;

  int (*cuModuleLoadData)(CUmod_st** module, const void* code) = nullptr;
  int (*cuModuleUnload)(CUmod_st* module) = nullptr;
  int (*cuModuleGetFunction)(CUfunc_st** function, CUmod_st* module, const char* name) = nullptr;
  int (*cuLaunchKernel)(CUfunc_st* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream_st* stream,
                        void** parameters, void** extra) = nullptr;

  int (*cuStreamCreate)(CUstream_st** stream, unsigned flags) = nullptr;
  int (*cuStreamDestroy)(CUstream_st* stream) = nullptr;
  int (*cuStreamQuery)(CUstream_st* stream) = nullptr;
  int (*cuStreamSynchronize)(CUstream_st* stream) = nullptr;
  int (*cuStreamWaitEvent)(CUstream_st* stream, CUevent_st* event, unsigned flags) = nullptr;
  int (*cuLaunchHostFunc)(CUstream_st* stream, HostFunction function, void* user) = nullptr;
  int (*cuEventCreate)(CUevent_st** event, unsigned flags) = nullptr;
  int (*cuEventDestroy)(CUevent_st* event) = nullptr;
  int (*cuEventRecord)(CUevent_st* event, CUstream_st* stream) = nullptr;
  int (*cuEventQuery)(CUevent_st* event) = nullptr;
  int (*cuEventSynchronize)(CUevent_st* event) = nullptr;
  int (*cuEventElapsedTime)(float* milliseconds, CUevent_st* from, CUevent_st* to) = nullptr;

  // Fills the table from the handle of libcuda that dlopen returned. FAILED names the first missing function.
  static Outcome Load(void* library, Driver& driver);

  // The result of a call in this table, as an outcome: "what: CUDA's words (CUDA's name)".
  Outcome Check(int result, std::string_view what) const;
};

// The one place where an error of CUDA, the driver's or the runtime's, becomes an outcome: OUT_OF_MEMORY or FAILED.
// Whether the device is lost is for DeviceExecutor::Judge to find out.
Outcome TranslateCudaError(int code, std::string_view what, const char* name, const char* words);

// A handle destroyed by one call of the driver. The result of that call is dropped: it can only be the loss of the
// device, which earlier calls have reported already. The context must be current.
template <typename Handle>
struct DestroyedBy {
  int (*destroy)(Handle*) = nullptr;
  void operator()(Handle* handle) const { static_cast<void>(destroy(handle)); }
};
template <typename Handle>
using Owned = std::unique_ptr<Handle, DestroyedBy<Handle>>;
using OwnedStream = Owned<CUstream_st>;
using OwnedEvent = Owned<CUevent_st>;
using OwnedPool = Owned<CUmemPoolHandle_st>;
using OwnedModule = Owned<CUmod_st>;

// Pinned host memory.
struct FreedByDriver {
  int (*free)(void*) = nullptr;
  void operator()(std::byte* memory) const { static_cast<void>(free(memory)); }
};
using PinnedBytes = std::unique_ptr<std::byte, FreedByDriver>;

Outcome MakeEvent(const Driver& driver, unsigned flags, OwnedEvent& event);
Outcome MakeStream(const Driver& driver, OwnedStream& stream);
Outcome PinBytes(const Driver& driver, std::size_t bytes, PinnedBytes& memory);

// Waits for the event: awake for the length of a small job, then asleep until the driver wakes it (the event was made
// with kEventBlockingSync).
int WaitFor(const Driver& driver, CUevent_st* event);

}  // namespace hotplate
