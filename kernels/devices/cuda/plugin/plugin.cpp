// The plug-in's side of plugin_abi.h: each function turns C into the executor's C++ and lets no exception out.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "kernels/devices/cuda/executor/executor.h"
#include "kernels/devices/cuda/plugin/kernel_side.h"
#include "kernels/devices/cuda/plugin/plugin_abi.h"
#include "kernels/devices/cuda/spec_hashes.h"

namespace hotplate {
namespace {

DeviceExecutor* FromC(hotplate_cuda_device* device) { return reinterpret_cast<DeviceExecutor*>(device); }
LaneExecutor* FromC(hotplate_cuda_lane* lane) { return reinterpret_cast<LaneExecutor*>(lane); }

// Calls `body`; if it throws (only for lack of host memory), returns FAILED with the exception's words.
template <typename Body>
Outcome Guarded(Body&& body) {
  try {
    return body();
  } catch (const std::exception& exception) {
    return Outcome::Failed(std::string_view(exception.what()));
  } catch (...) {
    return Outcome::Failed("an unknown exception");
  }
}

Outcome NoKernel(const char* name) {
  char text[160];
  std::snprintf(text, sizeof text, "the CUDA plug-in has no kernel \"%.100s\"", name);
  return Outcome::Failed(text);
}

hotplate_cuda_device* OpenDevice(const hotplate_cuda_device_options* options, hotplate_cuda_log log, void* user,
                                 hotplate_cuda_device_info* info, hotplate_outcome* why) {
  std::unique_ptr<DeviceExecutor> device;
  const Outcome opened = Guarded([&] {
    Outcome outcome = Outcome::Ok();
    device = DeviceExecutor::Open(*options, log, user, outcome);
    return outcome;
  });
  *why = opened.plain();
  if (!opened.ok() || device == nullptr) return nullptr;
  *info = device->info();
  return reinterpret_cast<hotplate_cuda_device*>(device.release());
}

void CloseDevice(hotplate_cuda_device* device) { delete FromC(device); }

hotplate_cuda_lane* OpenLane(hotplate_cuda_device* device, hotplate_outcome* why) {
  std::unique_ptr<LaneExecutor> lane;
  const Outcome opened = Guarded([&] {
    Outcome outcome = Outcome::Ok();
    lane = LaneExecutor::Open(*FromC(device), outcome);
    return outcome;
  });
  *why = opened.plain();
  return reinterpret_cast<hotplate_cuda_lane*>(opened.ok() ? lane.release() : nullptr);
}

void CloseLane(hotplate_cuda_lane* lane) { delete FromC(lane); }

void Plan(hotplate_cuda_device* device, const char* kernel, const hotplate_call* call, uint64_t* scratch_bytes,
          hotplate_outcome* outcome) {
  *scratch_bytes = 0;
  *outcome = Guarded([&] {
               const DeviceExecutor& executor = *FromC(device);
               const CudaLauncher* launcher = ThisKernelSide().Find(kernel);
               if (launcher == nullptr) return NoKernel(kernel);
               if (const Outcome usable = executor.Usable(); !usable.ok()) return usable;
               if (const Outcome o = executor.CheckPrecision(call->precision); !o.ok()) return o;
               std::uint64_t bytes = 0;
               if (const Outcome o = PlanBytes(*launcher, *call, executor.traits(), bytes); !o.ok()) return o;
               const Call view(*call);
               *scratch_bytes = bytes;
               for (const hotplate_array& array : view.inputs()) *scratch_bytes -= array.bytes;
               for (const hotplate_array& array : view.outputs()) *scratch_bytes -= array.bytes;
               return Outcome::Ok();
             }).plain();
}

void UseLibrary(hotplate_cuda_lane* lane, const char* kernel, void* opened, hotplate_outcome* outcome) {
  *outcome = Guarded([&] {
               const CudaLauncher* launcher = ThisKernelSide().Find(kernel);
               return launcher == nullptr ? NoKernel(kernel) : FromC(lane)->UseLibrary(*launcher, opened);
             }).plain();
}

void RunTask(hotplate_cuda_lane* lane, const char* kernel, const hotplate_call* call, hotplate_control* control,
             hotplate_cuda_report* report) {
  report->host_to_device_ns = report->kernel_ns = report->device_to_host_ns = HOTPLATE_CUDA_ABSENT;
  report->compile_ns = HOTPLATE_CUDA_ABSENT;
  report->compile_cache_hit = -1;
  report->outcome = Guarded([&] {
                      const CudaLauncher* launcher = ThisKernelSide().Find(kernel);
                      if (launcher == nullptr) return NoKernel(kernel);
                      FromC(lane)->Run(*launcher, *call, *control, *report);
                      return Outcome(report->outcome);
                    }).plain();
}

int32_t Upload(hotplate_cuda_device* device, uint64_t identity, uint64_t total_bytes, uint64_t offset, const void* data,
               uint64_t bytes) {
  const auto* const piece = static_cast<const std::byte*>(data);
  bool wanted = false;
  const Outcome sent = Guarded([&] {
    wanted = FromC(device)->Upload(identity, total_bytes, offset, piece, bytes);
    return Outcome::Ok();
  });
  return sent.ok() && wanted ? 1 : 0;
}

void Fetch(hotplate_cuda_device* device, uint64_t identity, hotplate_outcome* outcome) {
  *outcome = Guarded([&] { return FromC(device)->Fetch(identity); }).plain();
}

void Take(hotplate_cuda_device* device, hotplate_cuda_device* other, uint64_t identity, uint64_t bytes,
          hotplate_outcome* outcome) {
  *outcome = Guarded([&] { return FromC(device)->TakeFrom(*FromC(other), identity, bytes); }).plain();
}

void Forget(hotplate_cuda_device* device, uint64_t identity) { FromC(device)->Forget(identity); }

uint64_t FreeBytes(hotplate_cuda_device* device) { return FromC(device)->FreeBytes(); }

void GiveBack(hotplate_cuda_device* device) { FromC(device)->GiveBack(); }

// Asked for many times a second whether tasks come or not, so the moment to look whether the device is idle.
int32_t Sample(hotplate_cuda_device* device, hotplate_cuda_sample* sample) {
  FromC(device)->Rest(std::chrono::steady_clock::now());
  return FromC(device)->Sample(*sample);
}

// The rows of the catalogue that have a launcher here.
struct Kernels {
  hotplate_cuda_kernel rows[std::size(kSpecHashes)] = {};
  int32_t count = 0;

  Kernels() {
    for (hotplate_cuda_kernel row : kSpecHashes) {
      const CudaLauncher* const launcher = ThisKernelSide().Find(row.name);
      if (launcher == nullptr) continue;
      if (launcher->library != nullptr) row.library = launcher->library->name;
      row.compiler = launcher->compiler;
      rows[count++] = row;
    }
  }
};

const hotplate_cuda_table& Table() {
  static const Kernels kernels;
  static const hotplate_cuda_table table = {
      .abi_version = HOTPLATE_CUDA_ABI_VERSION,
      .table_bytes = sizeof(hotplate_cuda_table),
      .call_bytes = sizeof(hotplate_call),
      .array_bytes = sizeof(hotplate_array),
      .param_bytes = sizeof(hotplate_param),
      .control_bytes = sizeof(hotplate_control),
      .kernel_bytes = sizeof(hotplate_cuda_kernel),
      .device_options_bytes = sizeof(hotplate_cuda_device_options),
      .device_info_bytes = sizeof(hotplate_cuda_device_info),
      .report_bytes = sizeof(hotplate_cuda_report),
      .sample_bytes = sizeof(hotplate_cuda_sample),
      .cuda_runtime_version = ThisKernelSide().runtime_version,
      .plugin_version = HOTPLATE_VERSION,
      .architectures = ThisKernelSide().architectures,
      .kernels = kernels.rows,
      .kernel_count = kernels.count,
      .open_device = OpenDevice,
      .close_device = CloseDevice,
      .open_lane = OpenLane,
      .close_lane = CloseLane,
      .plan = Plan,
      .use_library = UseLibrary,
      .run_task = RunTask,
      .upload = Upload,
      .fetch = Fetch,
      .take = Take,
      .forget = Forget,
      .free_bytes = FreeBytes,
      .give_back = GiveBack,
      .sample = Sample,
  };
  return table;
}

}  // namespace
}  // namespace hotplate

extern "C" __attribute__((visibility("default"))) const hotplate_cuda_table* hotplate_cuda_plugin() {
  return &hotplate::Table();
}
