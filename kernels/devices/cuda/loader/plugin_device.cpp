#include "kernels/devices/cuda/loader/plugin_device.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/mutex.h"
#include "kernels/devices/cuda/loader/installed_driver.h"

namespace hotplate {
namespace {

// Text from the other side, which should be terminated and need not be.
template <std::size_t kSize>
std::string Text(const char (&text)[kSize]) {
  return std::string(text, strnlen(text, kSize));
}

Outcome Received(hotplate_outcome plain) {
  plain.message[sizeof plain.message - 1] = '\0';
  return Outcome(plain);
}

std::optional<std::uint64_t> Nanoseconds(std::uint64_t ns) {
  if (ns == HOTPLATE_CUDA_ABSENT) return std::nullopt;
  return ns;
}

// How long an answer of the driver's about free memory is good, while no task begins or ends here.
constexpr std::chrono::milliseconds kFreeBytesAge{50};

// A bound call as plain data; its pointers are into the call and this object. Arrays have no memory yet.
class PlainCall {
 public:
  explicit PlainCall(const BoundCall& call) {
    for (std::size_t i = 0; i < call.params.size(); ++i) params_.push_back(Plain(call, i));
    AddArrays(call.spec->inputs(), call.inputs, inputs_);
    AddArrays(call.spec->outputs(), call.outputs, outputs_);
    plain_.params = params_.data();
    plain_.inputs = inputs_.data();
    plain_.outputs = outputs_.data();
    plain_.param_count = static_cast<std::int32_t>(params_.size());
    plain_.input_count = static_cast<std::int32_t>(inputs_.size());
    plain_.output_count = static_cast<std::int32_t>(outputs_.size());
    plain_.precision = call.precision;
    plain_.deterministic = call.deterministic ? 1 : 0;
  }
  PlainCall(const PlainCall&) = delete;
  PlainCall& operator=(const PlainCall&) = delete;

  const hotplate_call& plain() const { return plain_; }

 private:
  static hotplate_param Plain(const BoundCall& call, std::size_t i) {
    const ParamSpec& spec = call.spec->params()[i];
    hotplate_param param{};
    param.name = spec.name.c_str();
    param.type = static_cast<std::int32_t>(spec.type);
    const ParamValue& value = call.params[i];
    if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      param.integer = *integer;
      if (spec.type == ParamType::kFloat) param.real = static_cast<double>(*integer);
    }
    if (const auto* real = std::get_if<double>(&value)) param.real = *real;
    if (const auto* truth = std::get_if<bool>(&value)) param.integer = *truth ? 1 : 0;
    if (const auto* text = std::get_if<std::string>(&value)) param.text = text->c_str();
    return param;
  }
  static void AddArrays(const std::vector<ArgumentSpec>& specs, const std::vector<Signature>& signatures,
                        std::vector<hotplate_array>& arrays) {
    for (std::size_t i = 0; i < signatures.size(); ++i) {
      hotplate_array array{};
      array.name = specs[i].name.c_str();
      array.dtype = static_cast<std::int32_t>(signatures[i].dtype);
      array.rank = static_cast<std::int32_t>(signatures[i].shape.size());
      std::copy(signatures[i].shape.begin(), signatures[i].shape.end(), array.shape);
      array.bytes = ByteSize(signatures[i]).value_or(0);  // binding has bounded it
      arrays.push_back(array);
    }
  }

  std::vector<hotplate_param> params_;
  std::vector<hotplate_array> inputs_, outputs_;
  hotplate_call plain_{};
};

// Closes the device when the last of the Device and its lanes is gone.
class OpenDevice {
 public:
  OpenDevice(std::shared_ptr<PluginLibrary> library, hotplate_cuda_device* device)
      : library_(std::move(library)), device_(device) {}
  ~OpenDevice() { library_->table().close_device(device_); }
  OpenDevice(const OpenDevice&) = delete;
  OpenDevice& operator=(const OpenDevice&) = delete;

  const PluginLibrary& library() const { return *library_; }
  const hotplate_cuda_table& table() const { return library_->table(); }
  hotplate_cuda_device* get() const { return device_; }

  // Asked for a hundred times a second while jobs wait, by the thread that sees to their time limits; the driver may
  // take long to answer.
  std::uint64_t FreeBytes() {
    const MutexLock lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    const std::uint64_t changes = changes_.load();
    if (now >= asked_again_ || changes != asked_changes_) {
      asked_changes_ = changes;
      free_bytes_ = table().free_bytes(device_);
      asked_again_ = now + kFreeBytesAge;
    }
    return free_bytes_;
  }
  // A task begins or ends: what is free has changed.
  void Changed() { ++changes_; }

 private:
  const std::shared_ptr<PluginLibrary> library_;
  hotplate_cuda_device* const device_;
  std::atomic<std::uint64_t> changes_{0};
  Mutex mutex_;
  std::uint64_t free_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t asked_changes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::chrono::steady_clock::time_point asked_again_ ABSL_GUARDED_BY(mutex_);  // when the answer is old
};

class PluginLane : public Lane {
 public:
  PluginLane(std::shared_ptr<OpenDevice> device, hotplate_cuda_lane* lane) : device_(std::move(device)), lane_(lane) {}
  ~PluginLane() override { device_->table().close_lane(lane_); }

  Report Run(const Task& task, TaskControl& control) override {
    Report report;
    if (!device_->library().Has(task.kernel)) {
      report.outcome = Outcome::Failed(
          absl::StrCat(device_->library().file_name(), " has no kernel ", task.kernel, " that fits the catalogue"));
      return report;
    }
    if (const absl::Status ready = MakeReady(task.kernel); !ready.ok()) {
      report.outcome = Outcome::Failed(std::string(ready.message()));
      return report;
    }
    hotplate_call call = task.call;
    call.scratch = nullptr;
    call.scratch_bytes = task.scratch_bytes;
    hotplate_cuda_report plain{};
    plain.compile_ns = HOTPLATE_CUDA_ABSENT;
    plain.compile_cache_hit = -1;
    device_->Changed();
    device_->table().run_task(lane_, task.kernel, &call, &control.plain(), &plain);
    device_->Changed();
    report.outcome = Received(plain.outcome);
    report.host_to_device_ns = Nanoseconds(plain.host_to_device_ns);
    report.kernel_ns = Nanoseconds(plain.kernel_ns);
    report.device_to_host_ns = Nanoseconds(plain.device_to_host_ns);
    report.compile_ns = Nanoseconds(plain.compile_ns);
    if (plain.compile_cache_hit >= 0) report.compile_cache_hit = plain.compile_cache_hit != 0;
    report.threads = 1;
    return report;
  }

 private:
  // The library that the kernel calls, if any, opened and taken by this lane.
  absl::Status MakeReady(const char* kernel) {
    if (ready_.contains(kernel)) return absl::OkStatus();
    NeededLibraries& libraries = device_->library().libraries();
    const absl::StatusOr<void*> opened = libraries.Open(kernel);
    if (!opened.ok()) return opened.status();
    if (*opened != nullptr) {
      hotplate_outcome outcome{};
      device_->table().use_library(lane_, kernel, *opened, &outcome);
      const Outcome used = Received(outcome);
      if (used.code() == HOTPLATE_INVALID) return libraries.Refuse(kernel, std::string(used.message()));
      if (!used.ok()) return absl::InternalError(std::string(used.message()));
    }
    ready_.emplace(kernel);
    return absl::OkStatus();
  }

  const std::shared_ptr<OpenDevice> device_;
  hotplate_cuda_lane* const lane_;
  std::set<std::string, std::less<>> ready_;  // kernels
};

// How to open a device, once more if need be.
class Opening {
 public:
  Opening(std::shared_ptr<PluginLibrary> library, const hotplate_cuda_device_options& options)
      : library_(std::move(library)), options_(options) {}

  const PluginLibrary& library() const { return *library_; }
  // Null, and `why`, if that fails.
  std::shared_ptr<OpenDevice> Open(hotplate_cuda_device_info& info, Outcome& why) const {
    hotplate_outcome outcome{};
    hotplate_cuda_device* const opened =
        library_->table().open_device(&options_, PluginLibrary::Log, library_.get(), &info, &outcome);
    why = Received(outcome);
    return opened == nullptr ? nullptr : std::make_shared<OpenDevice>(library_, opened);
  }

 private:
  const std::shared_ptr<PluginLibrary> library_;
  const hotplate_cuda_device_options options_;
};

class PluginDevice : public Device {
 public:
  PluginDevice(Opening opening, std::shared_ptr<OpenDevice> device, std::unique_ptr<NvmlDevice> nvml, DeviceInfo info)
      : opening_(std::move(opening)), nvml_(std::move(nvml)), info_(std::move(info)), device_(std::move(device)) {}

  const DeviceInfo& info() const override { return info_; }

  absl::Status Offers(const std::string& kernel) const override {
    const PluginLibrary& library = opening_.library();
    if (library.IsCpuOnly(kernel)) {
      return absl::FailedPreconditionError("there is no CUDA code of this kernel; run it on the CPU");
    }
    if (!library.Has(kernel)) {
      return absl::FailedPreconditionError(absl::StrCat(
          library.file_name(),
          " has no such kernel, or one with another spec; install plug-in and hotplated from one release"));
    }
    return library.libraries().Check(kernel);
  }

  absl::StatusOr<MemoryPlan> Plan(const BoundCall& call) const override {
    const std::string& kernel = call.spec->name();
    if (const absl::Status offered = Offers(kernel); !offered.ok()) {
      return absl::FailedPreconditionError(absl::StrCat(info_.id, " cannot run ", kernel, ": ", offered.message()));
    }
    // A spec that was made at run time may have the name of a kernel that takes something else.
    if (const std::string& hash = opening_.library().HashOf(kernel); hash != call.spec->Hash()) {
      return absl::FailedPreconditionError(absl::StrCat(info_.id, " has another spec of kernel \"", kernel,
                                                        "\": ", hash, " instead of ", call.spec->Hash()));
    }
    const PlainCall plain(call);
    MemoryPlan plan;
    const SharedLock lock(mutex_);
    if (device_ == nullptr) return absl::UnavailableError(Closed());
    hotplate_outcome outcome{};
    device_->table().plan(device_->get(), kernel.c_str(), &plain.plain(), &plan.scratch_bytes, &outcome);
    const Outcome planned = Received(outcome);
    if (planned.code() == HOTPLATE_DEVICE_LOST) return absl::UnavailableError(std::string(planned.message()));
    if (!planned.ok()) {
      return absl::FailedPreconditionError(
          absl::StrCat(info_.id, " cannot run ", kernel, ": ", std::string(planned.message())));
    }
    return plan;
  }

  absl::StatusOr<std::unique_ptr<Lane>> OpenLane() override {
    hotplate_outcome outcome{};
    const SharedLock lock(mutex_);
    if (device_ == nullptr) return absl::UnavailableError(Closed());
    hotplate_cuda_lane* const lane = device_->table().open_lane(device_->get(), &outcome);
    if (lane == nullptr) {
      const Outcome why = Received(outcome);
      const std::string message = absl::StrCat(info_.id, " cannot open a lane: ", std::string(why.message()));
      return why.code() == HOTPLATE_OUT_OF_MEMORY ? absl::ResourceExhaustedError(message)
                                                  : absl::FailedPreconditionError(message);
    }
    return std::make_unique<PluginLane>(device_, lane);
  }

  absl::Status Reopen() override {
    // NVML's handle is of the GPU that it was, and CUDA's answer may take long.
    if (const std::string gone = nvml_ != nullptr ? nvml_->Sample().lost : ""; !gone.empty()) {
      return absl::FailedPreconditionError(absl::StrCat(gone, ", then restart hotplated"));
    }
    {
      const AloneLock lock(mutex_);
      device_.reset();  // with its last lane gone, this closes it
    }
    hotplate_cuda_device_info plain{};
    Outcome why = Outcome::Ok();
    std::shared_ptr<OpenDevice> device = opening_.Open(plain, why);
    if (device == nullptr && why.code() == HOTPLATE_DEVICE_LOST) {
      return absl::FailedPreconditionError(absl::StrCat("CUDA does not repair its context in this process (",
                                                        std::string(why.message()), "); restart hotplated"));
    }
    if (device == nullptr) return absl::UnavailableError(std::string(why.message()));
    if (Text(plain.uuid) != info_.uuid) {
      return absl::FailedPreconditionError(
          absl::StrCat("another GPU is in its place, ", Text(plain.uuid), "; restart hotplated"));
    }
    const AloneLock lock(mutex_);
    device_ = std::move(device);
    return absl::OkStatus();
  }

  bool Upload(std::uint64_t identity, std::uint64_t total_bytes, std::uint64_t offset,
              std::span<const std::byte> piece) override {
    const SharedLock lock(mutex_);
    if (device_ == nullptr) return false;
    return device_->table().upload(device_->get(), identity, total_bytes, offset, piece.data(), piece.size()) != 0;
  }
  Outcome Fetch(std::uint64_t identity) override {
    hotplate_outcome outcome{};
    const SharedLock lock(mutex_);
    if (device_ == nullptr) return Outcome::DeviceLost(Closed());
    device_->table().fetch(device_->get(), identity, &outcome);
    return Received(outcome);
  }
  Outcome TakeFrom(Device& other, std::uint64_t identity, std::uint64_t bytes) override {
    auto* const from = dynamic_cast<PluginDevice*>(&other);
    if (from == nullptr || from == this) return Device::TakeFrom(other, identity, bytes);
    hotplate_outcome outcome{};
    const SharedLock lock_there(from->mutex_);
    const SharedLock lock(mutex_);
    if (from->device_ == nullptr) return Outcome::Failed(from->Closed());
    if (device_ == nullptr) return Outcome::Failed(Closed());
    device_->table().take(device_->get(), from->device_->get(), identity, bytes, &outcome);
    return Received(outcome);
  }
  // A closed device touches no memory of the host.
  void Forget(std::uint64_t identity) override {
    const SharedLock lock(mutex_);
    if (device_ != nullptr) device_->table().forget(device_->get(), identity);
  }

  void GiveBack() override {
    const SharedLock lock(mutex_);
    if (device_ != nullptr) device_->table().give_back(device_->get());
  }

  std::uint64_t FreeBytes() const override {
    const SharedLock lock(mutex_);
    return device_ == nullptr ? 0 : device_->FreeBytes();
  }

  DeviceMetrics Sample() override {
    DeviceMetrics metrics = nvml_ != nullptr ? nvml_->Sample() : DeviceMetrics();
    if (!metrics.lost.empty()) return metrics;
    // CUDA's own figures of memory are the ones that admission goes by.
    hotplate_cuda_sample sample{};
    const SharedLock lock(mutex_);
    if (device_ == nullptr || device_->table().sample(device_->get(), &sample) == 0) return metrics;
    metrics.memory_total_bytes = sample.memory_total_bytes;
    metrics.memory_used_bytes = sample.memory_used_bytes;
    metrics.pool_reserved_bytes = sample.pool_reserved_bytes;
    metrics.pool_used_bytes = sample.pool_used_bytes;
    metrics.pool_peak_bytes = sample.pool_peak_bytes;
    metrics.pinned_bytes = sample.pinned_bytes;
    metrics.pinned_peak_bytes = sample.pinned_peak_bytes;
    metrics.resident_bytes = sample.resident_bytes;
    metrics.resident_arrays = sample.resident_arrays;
    return metrics;
  }

 private:
  std::string Closed() const { return absl::StrCat(info_.id, " is lost, and not open again yet"); }

  const Opening opening_;
  const std::unique_ptr<NvmlDevice> nvml_;  // may be null
  const DeviceInfo info_;

  // Held shared in calls to the open device, alone to close and replace it.
  mutable SharedMutex mutex_;
  std::shared_ptr<OpenDevice> device_ ABSL_GUARDED_BY(mutex_);  // null while it cannot be opened
};

}  // namespace

absl::StatusOr<std::unique_ptr<Device>> OpenPluginDevice(const std::shared_ptr<PluginLibrary>& library,
                                                         void* driver_library, int index, const CudaOptions& options,
                                                         Nvml* nvml) {
  hotplate_cuda_device_options asked{};
  asked.driver_library = driver_library;
  asked.index = index;
  asked.copy_threads = std::max(options.copy_threads, 0);
  asked.pinned_bytes = options.pinned_bytes;
  asked.compile = PluginLibrary::Compile;
  asked.compile_user = library.get();
  Opening opening(library, asked);
  hotplate_cuda_device_info plain{};
  Outcome why = Outcome::Ok();
  std::shared_ptr<OpenDevice> device = opening.Open(plain, why);
  const std::string id = absl::StrCat("gpu", index);
  if (device == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(id, " is not used: ", std::string(why.message())));
  }
  DeviceInfo info;
  info.id = id;
  info.backend = "cuda";
  info.name = Text(plain.name);
  info.uuid = Text(plain.uuid);
  info.pci_bus_id = Text(plain.pci_bus_id);
  info.mode = Text(plain.mode);
  info.memory_bytes = plain.memory_bytes;
  info.lanes = std::max(options.lanes, 1);
  info.threads_per_lane = 1;
  info.compute_capability = absl::StrCat(plain.compute_major, ".", plain.compute_minor);
  info.runtime_version = CudaVersionText(library->table().cuda_runtime_version);
  info.host_memory = false;
  std::unique_ptr<NvmlDevice> found;
  if (nvml != nullptr) {
    info.driver_version = nvml->driver_version();
    found = nvml->Find(info.uuid, info.pci_bus_id, info.mode == "MIG");
    if (found != nullptr && !found->mode().empty()) info.mode = found->mode();
  }
  return std::make_unique<PluginDevice>(std::move(opening), std::move(device), std::move(found), std::move(info));
}

}  // namespace hotplate
