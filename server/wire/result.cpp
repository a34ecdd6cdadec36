#include "server/wire/result.h"

#include "kernels/base/status.h"
#include "kernels/call/call.h"
#include "server/wire/catalogue.h"
#include "server/wire/status.h"
#include "server/wire/sweep.h"
#include "server/wire/values.h"

namespace hotplate::wire {
namespace {

static_assert(static_cast<int>(core::JobState::kPending) == v1::PENDING);
static_assert(static_cast<int>(core::JobState::kTimeout) == v1::TIMEOUT);
static_assert(static_cast<int>(DType::kComplex128) == v1::DTYPE_COMPLEX128);
static_assert(static_cast<int>(core::DisconnectPolicy::kDetach) == v1::DISCONNECT_POLICY_DETACH);
static_assert(HOTPLATE_PRECISION_F16 == static_cast<int>(v1::PRECISION_F16));

std::uint64_t Count(core::nanoseconds duration) {
  return duration.count() < 0 ? 0 : static_cast<std::uint64_t>(duration.count());
}

void FillOutputs(const core::JobEnd& end, v1::JobResult& out) {
  for (const core::JobOutputValue& value : end.outputs) {
    v1::JobResult::Output& one = *out.add_outputs();
    one.set_name(value.name);
    ToProto(value.signature, *one.mutable_signature());
    if (value.for_jobs) {
      one.set_for_jobs(true);
    } else if (!value.path.empty()) {
      one.set_path(value.path);
    } else if (!value.array.empty()) {
      one.set_array_id(value.array.value());
    } else if (value.data) {
      one.set_inline_(value.data->data(), value.data->size());
    }
  }
}

template <typename Message>
void FillEnd(const core::JobEnd& end, const core::JobId& id, const std::string& kernel, const ReceiptFacts& facts,
             Message& out) {
  out.set_state(ToProto(end.state));
  if (!end.error.ok()) *out.mutable_error() = ToJobError(end.error);
  if (end.sweep != nullptr) ToProto(*end.sweep, *out.mutable_sweep());
  if (end.state == core::JobState::kCompleted) FillOutputs(end, *out.mutable_result());
  if (end.receipt) ToProto(*end.receipt, id, kernel, facts, *out.mutable_result()->mutable_receipt());
  if (!end.written_receipt.empty()) out.mutable_result()->mutable_receipt()->ParseFromString(end.written_receipt);
}

static_assert(static_cast<int>(core::EnergyState::kOfWholeGpu) == v1::ENERGY_OF_WHOLE_GPU);

void FillConditions(const core::DeviceConditions& conditions, v1::Receipt& out) {
  out.set_energy_state(static_cast<v1::EnergyState>(conditions.energy_state));
  if (conditions.energy_joules) out.set_energy_joules(*conditions.energy_joules);
  if (conditions.mean_watts) out.set_mean_watts(*conditions.mean_watts);
  if (conditions.max_watts) out.set_max_watts(*conditions.max_watts);
  if (conditions.utilisation) out.set_utilisation(*conditions.utilisation);
  if (conditions.sm_clock_mhz) out.set_sm_clock_mhz(*conditions.sm_clock_mhz);
  if (conditions.throttled) out.set_throttled(*conditions.throttled);
  for (const std::string& reason : conditions.throttle_reasons) out.add_throttle_reasons(reason);
  if (conditions.ecc_errors) out.set_ecc_errors(*conditions.ecc_errors);
  if (conditions.xid_errors) out.set_xid_errors(*conditions.xid_errors);
  if (conditions.other_processes) out.set_other_processes(*conditions.other_processes);
}

}  // namespace

void ToProto(const core::JobReceipt& receipt, const core::JobId& id, const std::string& kernel,
             const ReceiptFacts& facts, v1::Receipt& out) {
  out.set_job_id(id.value());
  out.set_kernel(kernel);
  ToProto(receipt.seal_time, *out.mutable_seal_time());
  out.set_queue_ns(Count(receipt.queue));
  out.set_total_ns(Count(receipt.total));
  if (receipt.queue_forecast) out.set_queue_forecast_ns(Count(*receipt.queue_forecast));
  if (receipt.load) out.set_load_ns(Count(*receipt.load));
  if (receipt.host_to_device) out.set_host_to_device_ns(Count(*receipt.host_to_device));
  if (receipt.compile) out.set_compile_ns(Count(*receipt.compile));
  if (receipt.kernel) out.set_kernel_ns(Count(*receipt.kernel));
  if (receipt.device_to_host) out.set_device_to_host_ns(Count(*receipt.device_to_host));
  if (receipt.store) out.set_store_ns(Count(*receipt.store));
  if (receipt.compile_cache_hit) out.set_compile_cache_hit(*receipt.compile_cache_hit);
  out.set_cold(receipt.cold);
  out.set_device(receipt.device);
  if (const auto device = facts.devices.find(receipt.device); device != facts.devices.end()) {
    out.set_device_name(device->second.name);
    out.set_device_uuid(device->second.uuid);
  }
  out.set_threads(static_cast<std::uint32_t>(std::max(receipt.threads, 0)));
  const double seconds = receipt.kernel ? static_cast<double>(Count(*receipt.kernel)) * 1e-9 : 0;
  if (receipt.cost.flop > 0) {
    out.set_flop(receipt.cost.flop);
    if (seconds > 0) out.set_flop_per_second(receipt.cost.flop / seconds);
  }
  if (receipt.cost.bytes > 0) {
    out.set_bytes_moved(static_cast<std::uint64_t>(receipt.cost.bytes));
    if (seconds > 0) out.set_bytes_per_second(receipt.cost.bytes / seconds);
  }
  out.set_peak_bytes(receipt.peak_bytes);
  FillConditions(receipt.conditions, out);
  out.set_device_shared(receipt.device_shared || receipt.conditions.other_processes.value_or(0) > 0);
  out.set_precision(PrecisionName(receipt.precision));
  out.set_deterministic(receipt.deterministic);
  if (receipt.seed) out.set_seed(*receipt.seed);
  out.set_warning(receipt.warning);
  if (receipt.process) {
    v1::ProcessUse& process = *out.mutable_process();
    if (receipt.process->exit_code) process.set_exit_code(*receipt.process->exit_code);
    if (receipt.process->signal) process.set_signal(*receipt.process->signal);
    process.set_user_ns(Count(receipt.process->user));
    process.set_system_ns(Count(receipt.process->system));
    process.set_peak_bytes(receipt.process->peak_bytes);
    process.set_start_ns(Count(receipt.process->start));
    if (receipt.process->warm) process.set_warm(*receipt.process->warm);
    process.set_why_cold(receipt.process->why_cold);
    process.set_python_environment(receipt.process->python_environment);
  }
  *out.mutable_versions() = facts.versions;
}

void ToProto(const core::JobEnd& end, const core::JobId& id, const std::string& kernel, const ReceiptFacts& facts,
             v1::JobEnd& out) {
  FillEnd(end, id, kernel, facts, out);
}

void ToProto(const core::JobEnd& end, const core::JobId& id, const std::string& kernel, const ReceiptFacts& facts,
             v1::FetchResultResponse& out) {
  FillEnd(end, id, kernel, facts, out);
}

void ToProto(const core::StateChange& event, v1::StateChange& out) {
  out.set_state(ToProto(event.state));
  ToProto(event.time, *out.mutable_time());
  out.set_device(event.device);
}

void ToProto(const core::JobSnapshot& job, const ReceiptFacts& facts, v1::Job& out) {
  out.set_id(job.id.value());
  out.set_kernel(job.kernel);
  out.set_label(job.label);
  out.set_state(ToProto(job.state));
  out.set_device(job.device);
  out.set_session(job.owner.session.value());
  ToProto(job.submit_time, *out.mutable_submit_time());
  ToProto(std::chrono::system_clock::now(), *out.mutable_now());
  if (job.start_time) ToProto(*job.start_time, *out.mutable_start_time());
  if (job.end_time) ToProto(*job.end_time, *out.mutable_end_time());
  out.set_progress(job.progress);
  out.set_priority(job.priority);
  out.set_queue_position(static_cast<std::uint32_t>(std::max(job.queue_position, 0)));
  for (std::size_t i = 0; i < job.params.size() && i < job.param_names.size(); ++i) {
    (*out.mutable_params())[job.param_names[i]] = ToProto(job.params[i]);
  }
  out.set_detached(job.detached);
  out.set_cancel_requested(job.cancel_requested);
  for (const core::JobId& id : job.depends_on) out.add_depends_on(id.value());
  for (const core::JobId& id : job.waits_for) out.add_waits_for(id.value());
  out.set_graph(job.graph);
  out.set_node(job.node);
  if (job.start_forecast) out.set_queue_forecast_ns(Count(*job.start_forecast));
  FillSweep(job, out);
  if (!job.end) return;
  if (!job.end->error.ok()) *out.mutable_error() = ToJobError(job.end->error);
  if (job.end->receipt) ToProto(*job.end->receipt, job.id, job.kernel, facts, *out.mutable_receipt());
  if (!job.end->written_receipt.empty()) out.mutable_receipt()->ParseFromString(job.end->written_receipt);
}

namespace {

void ToProto(const core::SeenEntry& job, v1::OtherJob& out) {
  out.set_job_id(job.id.value());
  out.set_kernel(job.kernel);
}

void ToProto(const core::Outlook& fit, v1::DeviceFit& out) {
  out.set_device(fit.device);
  switch (fit.when) {
    case core::Outlook::When::kNow:
      out.set_fit(v1::DeviceFit::NOW);
      break;
    case core::Outlook::When::kLater:
      out.set_fit(v1::DeviceFit::LATER);
      break;
    case core::Outlook::When::kNever:
      out.set_fit(v1::DeviceFit::NEVER);
      break;
  }
  out.set_bytes_needed(fit.bytes_needed);
  out.set_bytes_free(fit.bytes_free);
  out.set_bytes_total(fit.bytes_total);
  if (fit.after) ToProto(*fit.after, *out.mutable_after_job());
  out.set_bytes_held(fit.bytes_held);
  out.set_bytes_of_arrays(fit.bytes_of_arrays);
}

}  // namespace

void ToProto(const core::CheckReport& report, v1::CheckJobResponse& out) {
  const KernelSpec* spec = report.call.spec;
  for (std::size_t i = 0; i < report.call.outputs.size(); ++i) {
    v1::NamedSignature& output = *out.add_outputs();
    if (spec != nullptr && i < spec->outputs().size()) {
      output.set_name(spec->outputs()[i].name);
      output.set_at_most(spec->output_rules()[i].shape.at_most);
    }
    ToProto(report.call.outputs[i], *output.mutable_signature());
  }
  out.set_refusal(report.refusal);
  if (report.known) out.set_known_job_id(report.known->value());
  for (const core::CheckReport::Fit& fit : report.devices) ToProto(fit, *out.add_devices());
  if (report.array_bytes_limit != 0) {
    v1::ArrayMemory& memory = *out.mutable_array_memory();
    memory.set_bytes_needed(report.array_bytes_needed);
    memory.set_bytes_free(report.array_bytes_free);
    memory.set_bytes_total(report.array_bytes_limit);
  }
  out.set_flop(report.cost.flop);
  out.set_bytes_moved(static_cast<std::uint64_t>(std::max(report.cost.bytes, 0.0)));
}

static_assert(static_cast<int>(core::WaitCause::kMemory) == v1::WAIT_CAUSE_MEMORY);
static_assert(static_cast<int>(core::WaitCause::kTurn) == v1::WAIT_CAUSE_TURN);
static_assert(static_cast<int>(core::WaitCause::kAllocationEnd) == v1::WAIT_CAUSE_NEXT_ALLOCATION);
static_assert(static_cast<int>(core::WaitCause::kJournal) == v1::WAIT_CAUSE_JOURNAL);
static_assert(static_cast<int>(core::WaitCause::kKind) == v1::WAIT_CAUSE_KIND);

void ToProto(const core::WhyReport& report, const ReceiptFacts& facts, v1::WhyJobResponse& out) {
  ToProto(report.job, facts, *out.mutable_job());
  out.set_text(core::TextOf(report));
  out.set_cause(static_cast<v1::WaitCause>(report.cause));
  for (const core::WhyReport::Other& other : report.others) {
    v1::JobInTheWay& one = *out.add_in_the_way();
    ToProto(other.who, *one.mutable_job());
    one.set_state(ToProto(other.state));
    one.set_device(other.device);
    one.set_bytes(other.bytes);
    if (other.left) one.set_ends_in_ns(Count(*other.left));
    one.set_waits_for(other.waits_for.value());
  }
  out.set_others_in_the_way(static_cast<std::uint32_t>(report.others_left_out));
  if (report.memory) ToProto(*report.memory, *out.mutable_memory());
  out.set_ahead_by_priority(static_cast<std::uint32_t>(report.ahead.of_higher_priority));
  out.set_ahead_of_session(static_cast<std::uint32_t>(report.ahead.of_own_share));
  out.set_ahead_by_share(static_cast<std::uint32_t>(report.ahead.of_others));
  out.set_ahead_in_turn(static_cast<std::uint32_t>(report.ahead_in_turn));
  if (report.starts_in) out.set_starts_in_ns(Count(*report.starts_in));
  if (report.ends_in) out.set_ends_in_ns(Count(*report.ends_in));
  out.set_no_forecast(report.no_forecast);
  if (report.run_time) {
    out.mutable_run_time()->set_median_ns(Count(report.run_time->median));
    out.mutable_run_time()->set_low_ns(Count(report.run_time->low));
    out.mutable_run_time()->set_high_ns(Count(report.run_time->high));
    out.mutable_run_time()->set_runs(report.run_time->runs);
  }
  if (report.allocation_left) out.set_allocation_left_ns(Count(*report.allocation_left));
  out.set_waited_ns(Count(report.waited));
  out.set_waited_for_jobs_ns(Count(report.held));
  out.set_lacked_memory(report.lacked_room);
  out.set_most_together(report.most_together);
}

void ToProto(const core::ArraySnapshot& array, v1::Array& out) {
  out.set_id(array.id.value());
  out.set_name(array.name);
  ToProto(array.signature, *out.mutable_signature());
  out.set_state(array.state == core::ArrayState::kReady ? v1::ARRAY_STATE_READY : v1::ARRAY_STATE_WRITING);
  out.set_bytes(array.bytes);
  out.set_bytes_written(array.bytes_written);
  out.set_location(array.location);
  out.set_lost(array.lost);
  out.set_device(array.device);
  ToProto(array.create_time, *out.mutable_create_time());
  if (array.lease_end) ToProto(*array.lease_end, *out.mutable_lease_expire_time());
  out.set_owner_session(array.owner.session.value());
}

void ToProto(const core::TelemetrySample& sample, v1::TelemetrySample& out) {
  ToProto(sample.time, *out.mutable_time());
  for (const core::DeviceSample& device : sample.devices) {
    v1::DeviceSample& one = *out.add_devices();
    const DeviceMetrics& metrics = device.metrics;
    one.set_device(device.device);
    if (metrics.utilisation) one.set_utilisation(*metrics.utilisation);
    if (metrics.memory_used_bytes) one.set_memory_used_bytes(*metrics.memory_used_bytes);
    if (metrics.memory_total_bytes) one.set_memory_total_bytes(*metrics.memory_total_bytes);
    if (metrics.power_watts) one.set_power_watts(*metrics.power_watts);
    if (metrics.power_limit_watts) one.set_power_limit_watts(*metrics.power_limit_watts);
    if (metrics.energy_joules) one.set_energy_joules(*metrics.energy_joules);
    if (metrics.temperature_celsius) one.set_temperature_celsius(*metrics.temperature_celsius);
    if (metrics.sm_clock_mhz) one.set_sm_clock_mhz(*metrics.sm_clock_mhz);
    if (metrics.memory_clock_mhz) one.set_memory_clock_mhz(*metrics.memory_clock_mhz);
    if (metrics.throttle_reasons)
      one.mutable_throttle_reasons()->Add(metrics.throttle_reasons->begin(), metrics.throttle_reasons->end());
    if (metrics.processes) one.set_processes(*metrics.processes);
    if (metrics.pcie_receive_bytes_per_second) {
      one.set_pcie_receive_bytes_per_second(*metrics.pcie_receive_bytes_per_second);
    }
    if (metrics.pcie_transmit_bytes_per_second) {
      one.set_pcie_transmit_bytes_per_second(*metrics.pcie_transmit_bytes_per_second);
    }
    one.set_jobs_running(device.jobs_running);
    if (metrics.other_processes) one.set_other_processes(*metrics.other_processes);
    if (metrics.power_throttled_ns) one.set_power_throttled_ns(*metrics.power_throttled_ns);
    if (metrics.thermal_throttled_ns) one.set_thermal_throttled_ns(*metrics.thermal_throttled_ns);
    if (metrics.ecc_errors) one.set_ecc_errors(*metrics.ecc_errors);
    if (metrics.xid_errors) one.set_xid_errors(*metrics.xid_errors);
    if (metrics.last_xid) one.set_last_xid(*metrics.last_xid);
    one.set_of_whole_gpu(metrics.of_whole_gpu);
    if (metrics.pool_reserved_bytes) one.set_pool_reserved_bytes(*metrics.pool_reserved_bytes);
    if (metrics.pool_used_bytes) one.set_pool_used_bytes(*metrics.pool_used_bytes);
    if (metrics.pool_peak_bytes) one.set_pool_peak_bytes(*metrics.pool_peak_bytes);
    if (metrics.pinned_bytes) one.set_pinned_bytes(*metrics.pinned_bytes);
    if (metrics.pinned_peak_bytes) one.set_pinned_peak_bytes(*metrics.pinned_peak_bytes);
    if (metrics.resident_bytes) one.set_resident_bytes(*metrics.resident_bytes);
    if (metrics.resident_arrays) one.set_resident_arrays(*metrics.resident_arrays);
  }
  const core::DaemonMetrics& daemon = sample.daemon;
  v1::DaemonSample& out_daemon = *out.mutable_daemon();
  out_daemon.set_resident_bytes(daemon.resident_bytes);
  out_daemon.set_threads(daemon.threads);
  out_daemon.set_jobs_pending(daemon.engine.pending);
  out_daemon.set_jobs_running(daemon.engine.running);
  out_daemon.set_jobs_ended(daemon.engine.ended);
  out_daemon.set_array_bytes(daemon.array_bytes);
  out_daemon.set_array_bytes_limit(daemon.array_bytes_limit);
  out_daemon.set_idle_seconds(static_cast<double>(daemon.engine.idle.count()) * 1e-9);
}

void ToProto(const DeviceInfo& device, const std::string& lost, v1::Device& out) {
  out.set_id(device.id);
  out.set_backend(device.backend);
  out.set_name(device.name);
  out.set_uuid(device.uuid);
  out.set_pci_bus_id(device.pci_bus_id);
  out.set_memory_bytes(device.memory_bytes);
  out.set_lanes(static_cast<std::uint32_t>(device.lanes));
  out.set_threads_per_lane(static_cast<std::uint32_t>(device.threads_per_lane));
  out.set_compute_capability(device.compute_capability);
  out.set_mode(device.mode);
  out.set_instruction_set(device.instruction_set);
  out.set_lost(lost);
}

std::size_t InlineBytes(const core::JobEnd& end) {
  std::size_t bytes = 0;
  for (const core::JobOutputValue& value : end.outputs) {
    if (value.array.empty() && value.data) bytes += value.data->size();
  }
  return bytes;
}

}  // namespace hotplate::wire
