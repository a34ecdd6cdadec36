// The functions of libnvidia-ml.so.1 in use, declared here: the library is opened at run time, and the build needs no
// header. Numbers and layouts are the library's ABI, which is stable because new versions get new names.
#pragma once

#include <cstdint>

namespace hotplate::nvml {

// nvmlReturn_t: the values that we distinguish.
enum Result : int {
  kSuccess = 0,
  kNotSupported = 3,
  kNoPermission = 4,
  kNotFound = 6,
  kInsufficientSize = 7,
  kTimeout = 10,
  kFunctionNotFound = 13,
  kGpuIsLost = 15,
  kResetRequired = 16,
};

struct OpaqueDevice;
struct OpaqueEventSet;
using Handle = OpaqueDevice*;
using EventSet = OpaqueEventSet*;

struct Utilisation {
  unsigned gpu, memory;  // per cent
};
struct Memory {
  unsigned long long total, free, used;  // used includes the driver's own memory
};
// Also filled by _v2 and _v3 of the calls for processes, except for some drivers of R535, whose _v3 has eight bytes
// more.
struct Process {
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance, compute_instance;
};
struct ProcessOfOldDrivers {
  unsigned pid;
  unsigned long long used_bytes;
};
struct Violation {
  unsigned long long reference_us;
  unsigned long long violation_ns;
};
struct EventData {
  Handle device;
  unsigned long long type;
  unsigned long long data;  // the XID's number
  unsigned gpu_instance, compute_instance;
};

inline constexpr unsigned kTemperatureOfGpu = 0;
inline constexpr unsigned kSmClock = 1, kMemoryClock = 2;
inline constexpr unsigned kPowerPolicy = 0, kThermalPolicy = 1;
inline constexpr unsigned kUncorrectedErrors = 1, kSinceDriverLoad = 0;
inline constexpr unsigned kPcieTransmit = 0, kPcieReceive = 1;
inline constexpr unsigned long long kXidEvent = 0x8;
inline constexpr unsigned kExclusiveThread = 1, kProhibited = 2, kExclusiveProcess = 3;
inline constexpr unsigned kUuidBytes = 96, kVersionBytes = 80;

// Bits of the reasons for the current clocks.
inline constexpr unsigned long long kReasonIdle = 0x1, kReasonPowerCap = 0x4, kReasonHardwareSlowdown = 0x8,
                                    kReasonSyncBoost = 0x10, kReasonSoftwareThermal = 0x20,
                                    kReasonHardwareThermal = 0x40, kReasonPowerBrake = 0x80;

// The functions, null where this library has none. Those without which nothing works: Init, one way to find a device.
struct Api {
  int (*init)();
  const char* (*error_string)(int);
  int (*driver_version)(char* version, unsigned bytes);
  int (*count)(unsigned*);
  int (*by_index)(unsigned, Handle*);
  int (*by_uuid)(const char*, Handle*);
  int (*by_bus_id)(const char*, Handle*);
  int (*uuid)(Handle, char*, unsigned bytes);
  int (*minor)(Handle, unsigned*);
  int (*compute_mode)(Handle, unsigned*);
  int (*mig_mode)(Handle, unsigned* current, unsigned* pending);
  int (*is_mig)(Handle, unsigned*);
  int (*parent_of_mig)(Handle, Handle*);
  int (*most_migs)(Handle, unsigned*);
  int (*mig_by_index)(Handle, unsigned, Handle*);
  int (*utilisation)(Handle, Utilisation*);
  int (*memory)(Handle, Memory*);
  int (*power)(Handle, unsigned* milliwatts);
  int (*power_limit)(Handle, unsigned* milliwatts);
  int (*energy)(Handle, unsigned long long* millijoules);
  int (*temperature)(Handle, unsigned sensor, unsigned* celsius);
  int (*clock)(Handle, unsigned which, unsigned* megahertz);
  int (*clock_reasons)(Handle, unsigned long long*);
  int (*violation)(Handle, unsigned policy, Violation*);
  int (*ecc_errors)(Handle, unsigned kind, unsigned since, unsigned long long*);
  int (*processes)(Handle, unsigned* count, void* processes);
  int (*mps_processes)(Handle, unsigned* count, void* processes);
  int (*pcie)(Handle, unsigned direction, unsigned* kilobytes_per_second);
  int (*make_events)(EventSet*);
  int (*free_events)(EventSet);
  int (*register_events)(Handle, unsigned long long types, EventSet);
  int (*wait_event)(EventSet, EventData*, unsigned milliseconds);

  unsigned process_bytes;  // of an entry of `processes` and `mps_processes`
};

}  // namespace hotplate::nvml
