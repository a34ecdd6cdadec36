// The CPU as a device: arrays are used where they lie, a lane is a thread of the daemon with a share of OpenMP threads.
#include "kernels/devices/device.h"

#include <chrono>

#include "kernels/array/host_buffer.h"
#include "kernels/array/large_memory.h"
#include "kernels/base/mutex.h"
#include "kernels/base/status.h"
#include "kernels/call/call.h"
#include "kernels/catalogue/expression/expression_spec.h"
#include "kernels/devices/cpu/cpu_context.h"
#include "kernels/devices/cpu/launchers.h"
#include "kernels/devices/cpu/machine.h"
#include "kernels/devices/cpu/openblas_use.h"

namespace hotplate {
namespace {

using std::chrono::steady_clock;

// A kernel that this back-end has, with the hash of the spec that its code was written to.
struct Entry {
  std::string_view name;
  const KernelSpec* spec;  // null for expressions, of which each call has its own
  std::string hash;
  const cpu::Launcher* launcher;
};

const Entry* FindEntry(const std::vector<Entry>& entries, std::string_view name) {
  for (const Entry& entry : entries) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

std::vector<Entry> Entries() {
  std::vector<Entry> entries;
  for (const cpu::Launcher& launcher : cpu::Launchers()) {
    if (launcher.name == std::string_view(expression::kKernel)) {
      entries.push_back(
          {.name = launcher.name, .spec = nullptr, .hash = expression::SpecHash(), .launcher = &launcher});
      continue;
    }
    const absl::StatusOr<SharedSpec> spec = BuiltinCatalog().Find(launcher.name);
    if (!spec.ok()) continue;
    entries.push_back({.name = launcher.name, .spec = spec->get(), .hash = (*spec)->Hash(), .launcher = &launcher});
  }
  return entries;
}

// Shared by the device and its lanes, which may outlive it.
struct Shared {
  Shared(int threads, int lanes) : budget(threads, std::max(1, threads / lanes)) {}

  const std::vector<Entry> entries = Entries();
  ThreadBudget budget;
};

class CpuLane final : public Lane {
 public:
  explicit CpuLane(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  Report Run(const Task& task, TaskControl& control) override {
    Report report;
    const Entry* entry = FindEntry(shared_->entries, task.kernel);
    if (entry == nullptr || entry->hash != task.spec_hash) {
      report.outcome =
          Outcome::Failed(std::string("the CPU has no kernel \"") + task.kernel + "\" with spec " + task.spec_hash);
      return report;
    }
    hotplate_call call = task.call;
    if (task.scratch_bytes != 0) {
      if (scratch_ == nullptr || scratch_->size() < task.scratch_bytes) {
        scratch_ = nullptr;
        scratch_ = HostBuffer::Allocate(task.scratch_bytes);
      }
      if (scratch_ == nullptr) {
        report.outcome =
            Outcome::OutOfMemory("no host memory for " + std::to_string(task.scratch_bytes) + " bytes of scratch");
        return report;
      }
      call.scratch = scratch_->data();
      call.scratch_bytes = task.scratch_bytes;
    }
    {
      CpuContext context(shared_->budget, control.plain(), task.call.deterministic != 0);
      const steady_clock::time_point start = steady_clock::now();
      report.outcome = context.cancelled() ? Outcome::Cancelled() : entry->launcher->run(Call(call), context);
      report.kernel_ns = static_cast<std::uint64_t>(
          std::chrono::duration_cast<std::chrono::nanoseconds>(steady_clock::now() - start).count());
      report.threads = context.threads_used();
    }
    if (scratch_ != nullptr && scratch_->size() > kKeptScratch) scratch_ = nullptr;
    return report;
  }

 private:
  // More than this is given back after the call.
  static constexpr std::size_t kKeptScratch = std::size_t{64} << 20;

  const std::shared_ptr<Shared> shared_;
  std::shared_ptr<HostBuffer> scratch_;
};

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(const CpuOptions& options)
      : processors_(cpu::AllowedProcessors()),
        shared_(std::make_shared<Shared>(options.threads > 0 ? options.threads : cpu::UsableThreads(),
                                         std::max(1, options.lanes))) {
    info_.id = "cpu" + std::to_string(options.index);
    info_.backend = "cpu";
    info_.name = cpu::ModelName();
    info_.instruction_set = cpu::InstructionSet();
    info_.libraries = {{"OpenBLAS", OpenBlasVersion()}};
    info_.lanes = std::max(1, options.lanes);
    info_.any_thread = true;  // a lane is scratch and a share of the thread budget, neither bound to a thread
    info_.threads_per_lane = shared_->budget.share();
    info_.memory_bytes = options.memory_bytes > 0 ? options.memory_bytes : cpu::ReadMemory().total;
  }

  const DeviceInfo& info() const override { return info_; }

  absl::StatusOr<MemoryPlan> Plan(const BoundCall& call) const override {
    const std::string& name = call.spec->name();
    const Entry* entry = FindEntry(shared_->entries, name);
    if (entry == nullptr) {
      return absl::FailedPreconditionError(ToAbsl(info_.id + " has no kernel \"" + name + "\""));
    }
    // The catalogue's own spec is the usual case, and needs no hashing.
    if (call.spec != entry->spec && call.spec->Hash() != entry->hash) {
      return absl::FailedPreconditionError(ToAbsl(info_.id + " has another spec of kernel \"" + name +
                                                  "\": " + entry->hash + " instead of " + call.spec->Hash()));
    }
    if (call.precision != HOTPLATE_PRECISION_DEFAULT) {
      return absl::FailedPreconditionError(ToAbsl(name + ": the CPU computes in full precision only; " +
                                                  PrecisionName(call.precision) +
                                                  " needs a GPU. Leave --precision out to run it here"));
    }
    return entry->launcher->plan == nullptr ? MemoryPlan{} : entry->launcher->plan(call);
  }

  absl::StatusOr<std::unique_ptr<Lane>> OpenLane() override { return std::make_unique<CpuLane>(shared_); }

  std::uint64_t FreeBytes() const override { return std::min(RecentMemory().available, info_.memory_bytes); }

  DeviceMetrics Sample() override {
    DeviceMetrics metrics;
    const cpu::Memory memory = RecentMemory();
    if (memory.total > 0) {
      metrics.memory_total_bytes = memory.total;
      metrics.memory_used_bytes = memory.total - std::min(memory.total, memory.available);
    }
    const std::optional<cpu::ProcessorTime> now = cpu::ReadProcessorTime(processors_);
    const MutexLock lock(mutex_);
    if (now && last_time_ && now->total > last_time_->total && now->busy >= last_time_->busy) {
      metrics.utilisation =
          static_cast<double>(now->busy - last_time_->busy) / static_cast<double>(now->total - last_time_->total);
    }
    last_time_ = now;
    return metrics;
  }

 private:
  // Reading it takes tens of microseconds, and admission asks for every job.
  cpu::Memory RecentMemory() const {
    const MutexLock lock(mutex_);
    const steady_clock::time_point now = steady_clock::now();
    if (!memory_read_ || now - *memory_read_ > std::chrono::milliseconds(50)) {
      memory_ = cpu::ReadMemory();
      // A share that only this process observes: its own memory counts against the share, other processes' does not.
      if (info_.memory_bytes < memory_.total) {
        memory_.total = info_.memory_bytes;
        memory_.available = std::min(memory_.available, memory_.total - std::min(memory_.total, cpu::ResidentBytes()));
      }
      // Read after the other: memory freed in between must not count twice.
      memory_.available = std::min(memory_.total, memory_.available + KeptLargeMemory());
      memory_read_ = now;
    }
    return memory_;
  }

  DeviceInfo info_;
  const std::vector<int> processors_;
  const std::shared_ptr<Shared> shared_;

  mutable Mutex mutex_;
  mutable cpu::Memory memory_ ABSL_GUARDED_BY(mutex_);
  mutable std::optional<steady_clock::time_point> memory_read_ ABSL_GUARDED_BY(mutex_);
  std::optional<cpu::ProcessorTime> last_time_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<Device> OpenCpuDevice(const CpuOptions& options) { return std::make_unique<CpuDevice>(options); }

}  // namespace hotplate
