/* The interface of a CUDA plug-in to hotplated: one table of plain C functions, found by one exported name. No C++ is
 * involved (no classes, no exceptions, no memory that the other side must free), so that daemon and plug-in may be
 * built by different compilers against different CUDA versions. The life of a plug-in:
 *   1. The loader has opened libcuda, called cuInit and counted the devices: without a device no plug-in is opened.
 *      Then dlopen, dlsym(HOTPLATE_CUDA_ENTRY_POINT), and a call of that: it returns the table and touches no device.
 *   2. The loader compares abi_version and the sizes; a plug-in that differs is not used.
 *   3. It compares each kernel's spec hash with the catalogue's; a kernel that differs is not used.
 *   4. open_device for each device, with the loader's driver library; then open_lane on the thread that will run the
 *      lane.
 *   5. plan from any thread; run_task on the lane's thread, which returns when the task is over. Before a kernel's
 *      first task on the lane, if it needs one of CUDA's libraries: the loader finds and opens it, then use_library.
 *   6. upload, fetch and forget from any thread but a lane's: arrays with an identity (kernels/call/abi.h) may stay on
 *      the device before, between and after tasks; outputs that allow it are copied to the host only by fetch, or when
 *      their memory is needed.
 *   7. close_lane for every lane (any thread, not while it runs), then close_device, which ends all access to the
 *      arrays' memory on the host. After the loss of a device the loader does so too, and then tries open_device again.
 * Returned text belongs to the plug-in and lives as long as it does; text in structs is copied.
 * Functions may be called from several threads at once, except that one lane runs one task at a time. */
#ifndef HOTPLATE_KERNELS_CUDA_PLUGIN_ABI_H_
#define HOTPLATE_KERNELS_CUDA_PLUGIN_ABI_H_

#include "kernels/call/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Raised with any change to this file or to kernels/call/abi.h. The first two fields of the table never move. */
#define HOTPLATE_CUDA_ABI_VERSION 9
#define HOTPLATE_CUDA_ENTRY_POINT "hotplate_cuda_plugin"

typedef struct hotplate_cuda_device hotplate_cuda_device;
typedef struct hotplate_cuda_lane hotplate_cuda_lane;

typedef struct hotplate_cuda_kernel {
  const char* name;
  const char* spec_hash; /* KernelSpec::Hash() when the plug-in was built */
  const char* library;   /* CUDA's library that it calls: "libcublasLt.so.13"; null: none */
  const char* compiler;  /* CUDA's library that compiles its device code when it runs: "libnvrtc.so.13"; null: none */
} hotplate_cuda_kernel;

/* Given the compiled code, before `compile` returns; at most once. */
typedef void (*hotplate_cuda_take)(void* to, const void* code, uint64_t bytes);

/* Compiles CUDA C++ for a compute capability (90 for 9.0) in a process of its own, or finds what was compiled before,
 * and passes the code to `take`. `compiler`: of the kernel that asks. Any thread; waits, for some 100 ms as a rule.
 * cache_hit: 1 if it had been compiled before. FAILED: not compiled, and why. */
typedef void (*hotplate_cuda_compile)(void* user, const char* compiler, const char* source, int32_t compute,
                                      hotplate_cuda_take take, void* to, int32_t* cache_hit, hotplate_outcome* outcome);

typedef struct hotplate_cuda_device_options {
  void* driver_library;          /* the dlopen handle of libcuda.so.1, which is never closed */
  int32_t index;                 /* in the driver's list */
  int32_t copy_threads;          /* help to copy to and from pinned memory, beside the lane's own; 0: none */
  uint64_t pinned_bytes;         /* limit on host memory pinned for the device's copies */
  hotplate_cuda_compile compile; /* null: kernels with a compiler cannot run */
  void* compile_user;
} hotplate_cuda_device_options;

typedef struct hotplate_cuda_device_info {
  char name[256];
  char uuid[64];       /* "GPU-…" or "MIG-…", as nvidia-smi prints it */
  char pci_bus_id[32]; /* "00000000:65:00.0" */
  char mode[64];       /* "MIG", "EXCLUSIVE_PROCESS", or empty */
  int32_t compute_major, compute_minor;
  int32_t multiprocessors;
  int32_t reserved;      /* zero */
  uint64_t memory_bytes; /* that tasks may use at most */
} hotplate_cuda_device_info;

/* The duration of a step that the task did not have (without inputs nothing is copied to the device). */
#define HOTPLATE_CUDA_ABSENT UINT64_MAX

typedef struct hotplate_cuda_report {
  hotplate_outcome outcome;
  uint64_t host_to_device_ns, kernel_ns, device_to_host_ns; /* by the device's own events */
  uint64_t compile_ns; /* to compile and load the kernel's code; absent if it has none, or it was loaded already */
  int32_t compile_cache_hit; /* 1: it was loaded, or had been compiled before; 0: it had not; -1: nothing to compile */
  int32_t reserved;          /* zero */
} hotplate_cuda_report;

typedef struct hotplate_cuda_sample {
  uint64_t memory_total_bytes, memory_used_bytes;                 /* the device's, used by any process */
  uint64_t pool_reserved_bytes, pool_used_bytes, pool_peak_bytes; /* this process's pool; peak of the used bytes */
  uint64_t pinned_bytes, pinned_peak_bytes;                       /* host memory pinned for staging; peak of its use */
  uint64_t resident_bytes, resident_arrays; /* the resident arrays' part of the used bytes; their number */
} hotplate_cuda_sample;

/* Called with one line, without a newline, on any thread inside a call to the plug-in. May be null. */
typedef void (*hotplate_cuda_log)(void* user, const char* line);

typedef struct hotplate_cuda_table {
  uint32_t abi_version; /* HOTPLATE_CUDA_ABI_VERSION */
  uint32_t table_bytes; /* sizeof(hotplate_cuda_table) */
  /* sizeof of each struct of the interface. */
  uint32_t call_bytes, array_bytes, param_bytes, control_bytes;
  uint32_t kernel_bytes, device_options_bytes, device_info_bytes, report_bytes, sample_bytes;
  int32_t cuda_runtime_version; /* 13000: the CUDA with which it was built */
  const char* plugin_version;   /* of Hotplate */
  const char* architectures;    /* for messages: of its device code */
  const hotplate_cuda_kernel* kernels;
  int32_t kernel_count;

  /* Makes the device's context and memory pool. Null, and `why`, if the device cannot be used: DEVICE_LOST if this
   * process broke its context and CUDA gives no other. */
  hotplate_cuda_device* (*open_device)(const hotplate_cuda_device_options* options, hotplate_cuda_log log, void* user,
                                       hotplate_cuda_device_info* info, hotplate_outcome* why);
  void (*close_device)(hotplate_cuda_device* device);
  /* Makes a stream and pinned staging memory. Null, and `why`, on failure. */
  hotplate_cuda_lane* (*open_lane)(hotplate_cuda_device* device, hotplate_outcome* why);
  void (*close_lane)(hotplate_cuda_lane* lane);

  /* The device bytes that the call needs beside its inputs and outputs; or why the device cannot run it (its compute
   * capability lacks the precision, or it is lost). Reads neither data nor scratch. */
  void (*plan)(hotplate_cuda_device* device, const char* kernel, const hotplate_call* call, uint64_t* scratch_bytes,
               hotplate_outcome* outcome);
  /* Called once for each kernel with a library, before its first run_task on this lane, on the lane's thread. `opened`
   * is the dlopen handle of the library, which is never closed. INVALID says what is wrong: another version, or a
   * missing function. */
  void (*use_library)(hotplate_cuda_lane* lane, const char* kernel, void* opened, hotplate_outcome* outcome);
  /* Copies the inputs from host memory, runs, copies the outputs to host memory; waits for all of it. The call's
   * arrays are in host memory; its scratch pointer is ignored, and its scratch_bytes are those of plan. Arrays with an
   * identity stay on the device if possible: an input is then not copied again, nor is an output that becomes an input.
   * An output with `absent` is then not copied to the host either. If an output has an actual size, only that part is
   * copied, and it does not stay. device_to_host_ns is absent if nothing was copied. */
  void (*run_task)(hotplate_cuda_lane* lane, const char* kernel, const hotplate_call* call, hotplate_control* control,
                   hotplate_cuda_report* report);

  /* Copies a piece of an array to the device, ahead of any task; best effort. Pieces come in order and one at a time,
   * the first at offset 0; with the last the array is complete. Returns when `data` has been read. 0: the rest need not
   * come, since there is no room or a task was faster. The bytes stay until they are forgotten or memory is needed. */
  int32_t (*upload)(hotplate_cuda_device* device, uint64_t identity, uint64_t total_bytes, uint64_t offset,
                    const void* data, uint64_t bytes);
  /* Writes an array that lies on the device alone to its memory on the host (`data` of run_task), and waits for that.
   * Copies nothing if the host has it already. */
  void (*fetch)(hotplate_cuda_device* device, uint64_t identity, hotplate_outcome* outcome);
  /* Copies an array that lies on the other device alone straight to this one, which has it from then on, and waits for
   * that. The other one may keep a copy. Not OK, with the reason, and nothing has changed: there is no peer access, or
   * no room here. */
  void (*take)(hotplate_cuda_device* device, hotplate_cuda_device* other, uint64_t identity, uint64_t bytes,
               hotplate_outcome* outcome);
  /* The array will not be used again; it need not be on the device. Waits only for a copy of it to the host that is
   * under way; afterwards the device does not touch the array's memory on the host. */
  void (*forget)(hotplate_cuda_device* device, uint64_t identity);

  /* Bytes that tasks could get now: free memory, and that of unused arrays. Zero for a lost device. */
  uint64_t (*free_bytes)(hotplate_cuda_device* device);
  /* Gives what the pool keeps for tasks to come back to the device, for another process: best effort. */
  void (*give_back)(hotplate_cuda_device* device);
  /* 0 if it could not be read (a lost device). */
  int32_t (*sample)(hotplate_cuda_device* device, hotplate_cuda_sample* sample);
} hotplate_cuda_table;

/* The plug-in's only exported symbol. */
typedef const hotplate_cuda_table* (*hotplate_cuda_plugin_function)(void);

#ifdef __cplusplus
}
#endif

#endif
