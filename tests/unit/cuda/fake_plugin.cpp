// A plug-in without CUDA: its device runs vector_add on the host, and fails on demand. Definitions make it wrong in one
// way each.
#include <cstdio>
#include <cstring>
#include <iterator>

#include "kernels/devices/cuda/plugin/plugin_abi.h"
#include "kernels/devices/cuda/spec_hashes.h"

#ifndef FAKE_ABI_VERSION
#define FAKE_ABI_VERSION HOTPLATE_CUDA_ABI_VERSION
#endif
#ifndef FAKE_TABLE_BYTES
#define FAKE_TABLE_BYTES sizeof(hotplate_cuda_table)
#endif
#ifndef FAKE_CALL_BYTES
#define FAKE_CALL_BYTES sizeof(hotplate_call)
#endif

struct hotplate_cuda_device {
  hotplate_cuda_log log;
  void* user;
  int lanes;
};
struct hotplate_cuda_lane {
  hotplate_cuda_device* device;
};

namespace {

void Say(hotplate_outcome* outcome, int code, const char* message) {
  outcome->code = code;
  std::snprintf(outcome->message, sizeof outcome->message, "%s", message);
}

hotplate_cuda_device* OpenDevice(const hotplate_cuda_device_options* options, hotplate_cuda_log log, void* user,
                                 hotplate_cuda_device_info* info, hotplate_outcome* why) {
  if (options->index > 0) {
    Say(why, HOTPLATE_FAILED, "its compute mode is EXCLUSIVE_PROCESS and another process has it");
    return nullptr;
  }
  std::memset(info->name, 'N', sizeof info->name);  // not terminated
  std::snprintf(info->uuid, sizeof info->uuid, "GPU-00000000-0000-0000-0000-000000000001");
  std::snprintf(info->pci_bus_id, sizeof info->pci_bus_id, "00000000:65:00.0");
  info->compute_major = 9;
  info->memory_bytes = 1 << 30;
  return new hotplate_cuda_device{log, user, 0};
}

void CloseDevice(hotplate_cuda_device* device) {
  if (device->lanes != 0) device->log(device->user, "closed with open lanes");
  device->log(device->user, "closed");
  delete device;
}

hotplate_cuda_lane* OpenLane(hotplate_cuda_device* device, hotplate_outcome* why) {
  if (device->lanes == 2) {
    Say(why, HOTPLATE_OUT_OF_MEMORY, "pinned host memory: out of memory");
    return nullptr;
  }
  ++device->lanes;
  return new hotplate_cuda_lane{device};
}

void CloseLane(hotplate_cuda_lane* lane) {
  --lane->device->lanes;
  delete lane;
}

// What arrived, as a number that the test can work out too.
void Plan(hotplate_cuda_device*, const char* kernel, const hotplate_call* call, uint64_t* scratch_bytes,
          hotplate_outcome* outcome) {
  Say(outcome, HOTPLATE_OK, "");
  if (std::strcmp(kernel, "selu") == 0) return Say(outcome, HOTPLATE_INVALID, "not this one");
  *scratch_bytes = 0;
  for (int i = 0; i < call->param_count; ++i) {
    const hotplate_param& param = call->params[i];
    if (param.type == HOTPLATE_PARAM_BOOL || param.type == HOTPLATE_PARAM_INT) *scratch_bytes += param.integer;
    if (param.type == HOTPLATE_PARAM_CHOICE) *scratch_bytes += std::strlen(param.text);
  }
  for (int i = 0; i < call->input_count; ++i) *scratch_bytes += call->inputs[i].bytes;
  for (int i = 0; i < call->output_count; ++i) *scratch_bytes += call->outputs[i].bytes;
}

[[maybe_unused]] void RunTask(hotplate_cuda_lane* lane, const char* kernel, const hotplate_call* call,
                              hotplate_control* control, hotplate_cuda_report* report) {
  report->host_to_device_ns = HOTPLATE_CUDA_ABSENT;
  report->kernel_ns = 1000 + call->scratch_bytes;
  report->device_to_host_ns = 7;
  if (std::strcmp(kernel, "matmul") == 0) {
    report->outcome.code = HOTPLATE_OUT_OF_MEMORY;
    std::memset(report->outcome.message, 'm', sizeof report->outcome.message);  // not terminated
    return;
  }
  if (std::strcmp(kernel, "vector_add") != 0) {
    lane->device->log(lane->device->user, "gpu0 is lost");
    return Say(&report->outcome, HOTPLATE_DEVICE_LOST, "gpu0 is lost: kernel selu failed");
  }
  if (control->cancel != 0) return Say(&report->outcome, HOTPLATE_CANCELLED, "cancelled");
  const auto* a = static_cast<const float*>(call->inputs[0].data);
  const auto* b = static_cast<const float*>(call->inputs[1].data);
  auto* c = static_cast<float*>(call->outputs[0].data);
  for (int64_t i = 0; i < call->outputs[0].shape[0]; ++i) c[i] = a[i] + b[i];
  control->progress = 1'000'000;
  Say(&report->outcome, HOTPLATE_OK, "");
}

uint64_t FreeBytes(hotplate_cuda_device*) { return 12345; }

int32_t Sample(hotplate_cuda_device*, hotplate_cuda_sample* sample) {
  sample->memory_total_bytes = 100;
  sample->memory_used_bytes = 40;
  return 1;
}

#ifdef FAKE_WRONG_HASH
// selu of another version, mandelbrot not at all.
struct Rows {
  hotplate_cuda_kernel rows[std::size(hotplate::kSpecHashes)] = {};
  int count = 0;
  Rows() {
    for (hotplate_cuda_kernel row : hotplate::kSpecHashes) {
      if (std::strcmp(row.name, "mandelbrot") == 0) continue;
      if (std::strcmp(row.name, "selu") == 0) row.spec_hash = "0123456789abcdef";
      rows[count++] = row;
    }
  }
};
const Rows kRows;
#endif

}  // namespace

extern "C" __attribute__((visibility("default"))) const hotplate_cuda_table* hotplate_cuda_plugin() {
  static const hotplate_cuda_table table = {
      .abi_version = FAKE_ABI_VERSION,
      .table_bytes = FAKE_TABLE_BYTES,
      .call_bytes = FAKE_CALL_BYTES,
      .array_bytes = sizeof(hotplate_array),
      .param_bytes = sizeof(hotplate_param),
      .control_bytes = sizeof(hotplate_control),
      .kernel_bytes = sizeof(hotplate_cuda_kernel),
      .device_options_bytes = sizeof(hotplate_cuda_device_options),
      .device_info_bytes = sizeof(hotplate_cuda_device_info),
      .report_bytes = sizeof(hotplate_cuda_report),
      .sample_bytes = sizeof(hotplate_cuda_sample),
      .cuda_runtime_version = 13000,
      .plugin_version = "0.0.1",
      .architectures = "90",
#ifdef FAKE_WRONG_HASH
      .kernels = kRows.rows,
      .kernel_count = kRows.count,
#else
      .kernels = hotplate::kSpecHashes,
      .kernel_count = std::size(hotplate::kSpecHashes),
#endif
      .open_device = OpenDevice,
      .close_device = CloseDevice,
      .open_lane = OpenLane,
      .close_lane = CloseLane,
      .plan = Plan,
      .use_library = [](hotplate_cuda_lane*, const char*, void*,
                        hotplate_outcome* outcome) { Say(outcome, HOTPLATE_OK, ""); },
#ifdef FAKE_EMPTY_PLACE
      .run_task = nullptr,
#else
      .run_task = RunTask,
#endif
      .upload = [](hotplate_cuda_device*, uint64_t, uint64_t, uint64_t, const void*, uint64_t) { return 0; },
      .fetch = [](hotplate_cuda_device*, uint64_t, hotplate_outcome* outcome) { Say(outcome, HOTPLATE_OK, ""); },
      .take = [](hotplate_cuda_device*, hotplate_cuda_device*, uint64_t, uint64_t,
                 hotplate_outcome* outcome) { Say(outcome, HOTPLATE_FAILED, "there is one device"); },
      .forget = [](hotplate_cuda_device*, uint64_t) {},
      .free_bytes = FreeBytes,
      .give_back = [](hotplate_cuda_device*) {},
      .sample = Sample,
  };
  return &table;
}
