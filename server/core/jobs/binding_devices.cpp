// Which devices a job may run on, and what it needs there.
#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/array/quoted.h"
#include "kernels/base/status.h"
#include "server/core/jobs/binding.h"
#include "server/core/run/outside_work.h"

namespace hotplate::core {
namespace {

bool IsCpu(const Device& device) { return device.info().backend == "cpu"; }

std::string DeviceList(const std::vector<std::unique_ptr<Device>>& devices) {
  std::string text;
  for (const std::unique_ptr<Device>& device : devices) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", device->info().id);
  }
  return text.empty() ? "none" : text;
}

}  // namespace

bool MayUse(const Allowance* allowance, const Device& device) {
  if (allowance == nullptr || allowance->devices.empty()) return true;
  const std::vector<std::string>& allowed = allowance->devices;
  return std::find(allowed.begin(), allowed.end(), device.info().id) != allowed.end();
}

absl::Status CheckMayUse(const std::vector<std::unique_ptr<Device>>& devices, const std::string& token,
                         const Allowance* allowance, const std::string& id) {
  if (allowance == nullptr || allowance->devices.empty()) return absl::OkStatus();
  const std::string allowed = absl::StrJoin(allowance->devices, ", ");
  bool any = false;
  for (const std::unique_ptr<Device>& device : devices) {
    const bool may = MayUse(allowance, *device);
    any |= may;
    if (may || device->info().id != id) continue;
    return Refused(absl::StatusCode::kPermissionDenied,
                   {{"device", absl::StrCat("token \"", token, "\" may not use device ", Quoted(id), "; it may use ",
                                            allowed, ", or ask the daemon's owner for more")}});
  }
  if (any) return absl::OkStatus();
  return Refused(absl::StatusCode::kPermissionDenied,
                 {{"device", absl::StrCat("token \"", token, "\" may use ", allowed,
                                          " alone, which this daemon does not have; there are ", DeviceList(devices),
                                          ": ask the daemon's owner for one of them")}});
}

absl::Status NoSuchDevice(const std::vector<std::unique_ptr<Device>>& devices, const std::string& id) {
  std::string text = absl::StrCat("no device ", Quoted(id), "; there are ", DeviceList(devices));
  // A kind of device in place of one.
  for (const std::unique_ptr<Device>& device : devices) {
    const std::string& one = device->info().id;
    if (id.empty() || one.size() != id.size() + 1 || one.compare(0, id.size(), id) != 0) continue;
    absl::StrAppend(&text, "; ask for one of them: --device ", one);
    break;
  }
  return InvalidField("device", text);
}

absl::Status Binder::CheckWorkers(const JobRequest& request, BoundJob& job) const {
  if (job.needs.empty()) return absl::OkStatus();
  const DeviceInfo& device = devices_[job.needs.front().device]->info();  // the others are of the same kind
  const std::uint32_t workers = WorkersOn(device, workers_);
  if (workers == 0) {
    job.workers = 0;
  } else if (job.workers > workers) {
    return InvalidField("cpus", absl::StrCat(request.label, ": cpus is ", job.workers, ", and ", device.id, " has ",
                                             workers, " for functions (hotplated --workers)"));
  }
  return absl::OkStatus();
}

absl::Status Binder::PlanDevices(const Principal& who, const JobRequest& request, Data data,
                                 const std::vector<std::string>& lost, BoundJob& job) const {
  const std::shared_ptr<const Allowance> allowance = AllowanceOf(who);
  if (absl::Status status = CheckMayUse(devices_, who.token, allowance.get(), request.device); !status.ok()) {
    return status;
  }
  const std::uint64_t input_bytes = job.call.InputBytes();
  std::uint64_t output_bytes = 0, to_load = 0;
  for (const BoundOutput& output : job.outputs) output_bytes += output.bytes;
  for (std::size_t i = 0; i < job.inputs.size(); ++i) {
    if (job.inputs[i].is_elsewhere()) to_load += ByteSize(job.call.inputs[i]).value_or(0);
  }

  const std::string& name = job.call.spec->name();
  const bool any = request.device == kAnyDevice;
  // Where there is a GPU, a job is meant for it, and does not become one for the CPU by itself: not where a library is
  // missing, and not where the GPU is lost.
  const auto is_gpu = [&](const std::unique_ptr<Device>& device) {
    return !IsCpu(*device) && MayUse(allowance.get(), *device);
  };
  const bool gpus_alone = request.device.empty() && std::any_of(devices_.begin(), devices_.end(), is_gpu);
  bool known = request.device.empty() || any;
  bool fits = false;
  std::string reasons;
  std::map<std::string, std::string> unavailable;  // devices, by why they never run this kernel: said once for all
  std::string too_small;
  for (unsigned i = 0; i < devices_.size(); ++i) {
    const Device& device = *devices_[i];
    const DeviceInfo& info = device.info();
    if (!MayUse(allowance.get(), device) || (gpus_alone && IsCpu(device))) continue;
    if (!request.device.empty() && !any && info.id != request.device) continue;
    known = true;
    if (!lost.empty() && !lost[i].empty()) {
      absl::StrAppend(&reasons, reasons.empty() ? "" : "; ", info.id, " is lost: ", lost[i]);
      continue;
    }
    const absl::StatusOr<MemoryPlan> plan = request.work != nullptr ? MemoryPlan() : device.Plan(job.call);
    if (!plan.ok()) {
      if (const absl::Status offered = device.Offers(name); offered.ok()) {
        absl::StrAppend(&reasons, reasons.empty() ? "" : "; ", plan.status().message());
      } else {
        std::string& devices = unavailable[std::string(offered.message())];
        absl::StrAppend(&devices, devices.empty() ? "" : ", ", info.id);
      }
      continue;
    }
    DeviceNeed need{.device = i, .scratch_bytes = plan->scratch_bytes};
    need.peak_bytes = input_bytes + output_bytes + plan->scratch_bytes;
    if (request.work == nullptr && !info.host_memory) {
      for (const BoundInput& input : job.inputs) {
        if (input.buffer != nullptr && arrays_.DeviceOf(*input.buffer) == info.id)
          need.input_bytes_here += input.buffer->size();
      }
    }
    need.extra_bytes = info.host_memory ? to_load + output_bytes + plan->scratch_bytes : need.peak_bytes;
    if (need.peak_bytes > info.memory_bytes) {
      absl::StrAppend(&too_small, too_small.empty() ? "" : "; ", need.peak_bytes, " bytes are needed on ", info.id,
                      ", which has ", info.memory_bytes);
      if (data == Data::kRequired) continue;
    } else {
      fits = true;
    }
    job.needs.push_back(need);
  }
  if (!known) {
    return NoSuchDevice(devices_, request.device);
  }
  for (const auto& [why, devices] : unavailable) {
    absl::StrAppend(&reasons, reasons.empty() ? "" : "; ", devices, " cannot run ", name, ": ", why);
  }
  // Said first: reasons can be long, and what is too long is cut.
  const std::string none = gpus_alone ? absl::StrCat("no GPU", HowOnTheCpu(allowance.get())) : "no device";
  if (!fits && !too_small.empty()) {
    job.refusal = absl::StrCat(name, " fits ", none, ": ", too_small);
    if (data == Data::kSignaturesSuffice) return absl::OkStatus();
    return Refused(absl::StatusCode::kResourceExhausted, {{"device", job.refusal}});
  }
  if (job.needs.empty()) {
    const std::string list =
        gpus_alone || request.device.empty() ? "" : absl::StrCat("; devices: ", DeviceList(devices_));
    return Refused(absl::StatusCode::kFailedPrecondition,
                   {{"device", absl::StrCat(name, " can run on ", none, ": ",
                                            reasons.empty() ? "there is none" : reasons, list)}});
  }
  // The fastest kind of all that can run it.
  const auto is_cpu = [&](const DeviceNeed& need) { return IsCpu(*devices_[need.device]); };
  if (data == Data::kRequired && !std::all_of(job.needs.begin(), job.needs.end(), is_cpu)) {
    std::erase_if(job.needs, is_cpu);
  }
  return absl::OkStatus();
}

// The advice for a job that the GPUs cannot run; empty where there is no CPU that may run it.
std::string Binder::HowOnTheCpu(const Allowance* allowance) const {
  for (const std::unique_ptr<Device>& device : devices_) {
    if (!IsCpu(*device) || !MayUse(allowance, *device)) continue;
    return absl::StrCat(" (to run it on the CPU, ask for device \"", device->info().id, "\", or \"", kAnyDevice,
                        "\": a GPU if one can run it, else the CPU)");
  }
  return "";
}

}  // namespace hotplate::core
