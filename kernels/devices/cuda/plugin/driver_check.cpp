// Compares driver.h with cuda.h, if there is one: a declaration that differs does not compile.
#include <cuda.h>

#include <type_traits>

#include "kernels/devices/cuda/executor/driver.h"

namespace hotplate {
namespace {

static_assert(std::is_same_v<CUcontext, CUctx_st*> && std::is_same_v<CUstream, CUstream_st*>);
static_assert(std::is_same_v<CUmodule, CUmod_st*> && std::is_same_v<CUfunction, CUfunc_st*>);
static_assert(std::is_same_v<CUevent, CUevent_st*> && std::is_same_v<CUmemoryPool, CUmemPoolHandle_st*>);
static_assert(sizeof(CUdeviceptr) == sizeof(DevicePointer) && sizeof(CUdevice) == sizeof(int));
static_assert(sizeof(CUresult) == sizeof(int) && sizeof(CUuuid) == sizeof(DriverUuid));

static_assert(CUDA_ERROR_OUT_OF_MEMORY == static_cast<CUresult>(kDriverOutOfMemory));
static_assert(CUDA_ERROR_STUB_LIBRARY == static_cast<CUresult>(kDriverStubLibrary));
static_assert(CUDA_ERROR_DEVICE_UNAVAILABLE == static_cast<CUresult>(kDriverDeviceUnavailable));
static_assert(CUDA_ERROR_NO_DEVICE == static_cast<CUresult>(kDriverNoDevice));
static_assert(CUDA_ERROR_INVALID_DEVICE == static_cast<CUresult>(kDriverInvalidDevice));
static_assert(CUDA_ERROR_NOT_READY == static_cast<CUresult>(kDriverNotReady));
static_assert(CUDA_ERROR_ILLEGAL_ADDRESS == static_cast<CUresult>(kDriverIllegalAddress));
static_assert(CUDA_ERROR_LAUNCH_FAILED == static_cast<CUresult>(kDriverLaunchFailed));
static_assert(CUDA_ERROR_SYSTEM_NOT_READY == static_cast<CUresult>(kDriverSystemNotReady));
static_assert(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH == static_cast<CUresult>(kDriverSystemMismatch));
static_assert(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE == static_cast<CUresult>(kDriverCompatNotSupported));
static_assert(CUDA_ERROR_UNKNOWN == static_cast<CUresult>(kDriverUnknown));

static_assert(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT == static_cast<CUdevice_attribute>(kAttributeMultiprocessors));
static_assert(CU_DEVICE_ATTRIBUTE_CLOCK_RATE == static_cast<CUdevice_attribute>(kAttributeClockKhz));
static_assert(CU_DEVICE_ATTRIBUTE_COMPUTE_MODE == static_cast<CUdevice_attribute>(kAttributeComputeMode));
static_assert(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR == static_cast<CUdevice_attribute>(kAttributeComputeMajor));
static_assert(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR == static_cast<CUdevice_attribute>(kAttributeComputeMinor));
static_assert(CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO ==
              static_cast<CUdevice_attribute>(kAttributeSingleToDoubleRatio));
static_assert(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED == static_cast<CUdevice_attribute>(kAttributeMemoryPools));
static_assert(static_cast<int>(CU_COMPUTEMODE_PROHIBITED) == kComputeModeProhibited);
static_assert(static_cast<int>(CU_COMPUTEMODE_EXCLUSIVE_PROCESS) == kComputeModeExclusiveProcess);

static_assert(CU_MEMPOOL_ATTR_RELEASE_THRESHOLD == static_cast<CUmemPool_attribute>(kPoolReleaseThreshold));
static_assert(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT == static_cast<CUmemPool_attribute>(kPoolReservedCurrent));
static_assert(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH == static_cast<CUmemPool_attribute>(kPoolReservedHigh));
static_assert(CU_MEMPOOL_ATTR_USED_MEM_CURRENT == static_cast<CUmemPool_attribute>(kPoolUsedCurrent));
static_assert(CU_MEMPOOL_ATTR_USED_MEM_HIGH == static_cast<CUmemPool_attribute>(kPoolUsedHigh));

static_assert(kEventBlockingSync == CU_EVENT_BLOCKING_SYNC && kEventDisableTiming == CU_EVENT_DISABLE_TIMING);
static_assert(kStreamNonBlocking == CU_STREAM_NON_BLOCKING);
static_assert(kHostAllocPortable == CU_MEMHOSTALLOC_PORTABLE && kHostAllocMapped == CU_MEMHOSTALLOC_DEVICEMAP);

static_assert(sizeof(DriverPoolProperties) == sizeof(CUmemPoolProps));
static_assert(offsetof(DriverPoolProperties, allocation_type) == offsetof(CUmemPoolProps, allocType));
static_assert(offsetof(DriverPoolProperties, handle_types) == offsetof(CUmemPoolProps, handleTypes));
static_assert(offsetof(DriverPoolProperties, location_type) == offsetof(CUmemPoolProps, location.type));
static_assert(offsetof(DriverPoolProperties, location_id) == offsetof(CUmemPoolProps, location.id));
static_assert(static_cast<int>(CU_MEM_ALLOCATION_TYPE_PINNED) == DriverPoolProperties{}.allocation_type);
static_assert(static_cast<int>(CU_MEM_LOCATION_TYPE_DEVICE) == DriverPoolProperties{}.location_type);
static_assert(sizeof(DriverAccess) == sizeof(CUmemAccessDesc));
static_assert(offsetof(DriverAccess, location_type) == offsetof(CUmemAccessDesc, location.type));
static_assert(offsetof(DriverAccess, location_id) == offsetof(CUmemAccessDesc, location.id));
static_assert(offsetof(DriverAccess, flags) == offsetof(CUmemAccessDesc, flags));
static_assert(static_cast<int>(CU_MEM_LOCATION_TYPE_DEVICE) == DriverAccess{}.location_type);
static_assert(static_cast<int>(CU_MEM_ACCESS_FLAGS_PROT_READWRITE) == DriverAccess{}.flags);

// Parameters: the same number, and each of the same size and kind. (A CUresult travels as an int; enums too.)
template <typename Ours, typename Theirs>
constexpr bool kSamePassing = sizeof(Ours) == sizeof(Theirs) && std::is_pointer_v<Ours> == std::is_pointer_v<Theirs>;
template <typename... Ours, typename... Theirs>
constexpr bool Same(int (*)(Ours...), CUresult (*)(Theirs...)) {
  if constexpr (sizeof...(Ours) != sizeof...(Theirs)) {
    return false;
  } else {
    return (kSamePassing<Ours, Theirs> && ...);
  }
}
#define HOTPLATE_SAME(name) static_assert(Same(decltype(Driver::name){}, decltype(&::name){}), #name)
HOTPLATE_SAME(cuInit);
HOTPLATE_SAME(cuDriverGetVersion);
HOTPLATE_SAME(cuGetErrorName);
HOTPLATE_SAME(cuGetErrorString);
HOTPLATE_SAME(cuDeviceGetCount);
HOTPLATE_SAME(cuDeviceGet);
HOTPLATE_SAME(cuDeviceGetName);
HOTPLATE_SAME(cuDeviceGetUuid);
HOTPLATE_SAME(cuDeviceGetAttribute);
HOTPLATE_SAME(cuDeviceGetPCIBusId);
HOTPLATE_SAME(cuDeviceCanAccessPeer);
HOTPLATE_SAME(cuDevicePrimaryCtxRetain);
HOTPLATE_SAME(cuDevicePrimaryCtxRelease);
HOTPLATE_SAME(cuCtxSetCurrent);
HOTPLATE_SAME(cuMemGetInfo);
HOTPLATE_SAME(cuMemPoolCreate);
HOTPLATE_SAME(cuMemPoolDestroy);
HOTPLATE_SAME(cuMemPoolSetAttribute);
HOTPLATE_SAME(cuMemPoolGetAttribute);
HOTPLATE_SAME(cuMemPoolTrimTo);
HOTPLATE_SAME(cuMemPoolSetAccess);
HOTPLATE_SAME(cuMemAllocFromPoolAsync);
HOTPLATE_SAME(cuMemFreeAsync);
HOTPLATE_SAME(cuMemHostAlloc);
HOTPLATE_SAME(cuMemFreeHost);
HOTPLATE_SAME(cuMemcpyHtoDAsync);
HOTPLATE_SAME(cuMemcpyDtoHAsync);
HOTPLATE_SAME(cuMemcpyPeerAsync);
HOTPLATE_SAME(cuModuleLoadData);
HOTPLATE_SAME(cuModuleUnload);
HOTPLATE_SAME(cuModuleGetFunction);
HOTPLATE_SAME(cuLaunchKernel);
HOTPLATE_SAME(cuStreamCreate);
HOTPLATE_SAME(cuStreamDestroy);
HOTPLATE_SAME(cuStreamQuery);
HOTPLATE_SAME(cuStreamSynchronize);
HOTPLATE_SAME(cuStreamWaitEvent);
HOTPLATE_SAME(cuLaunchHostFunc);
HOTPLATE_SAME(cuEventCreate);
HOTPLATE_SAME(cuEventDestroy);
HOTPLATE_SAME(cuEventRecord);
HOTPLATE_SAME(cuEventQuery);
HOTPLATE_SAME(cuEventSynchronize);
HOTPLATE_SAME(cuEventElapsedTime);
#undef HOTPLATE_SAME

}  // namespace
}  // namespace hotplate
