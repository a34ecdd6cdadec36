// hotplate metrics: the newest telemetry as Prometheus text, for node_exporter's textfile collector.
#include "client/cli/commands.h"
#include "client/cli/terminal/json.h"

namespace hotplate::cli {
namespace {

class PrometheusText {
 public:
  // `type` is "gauge" or "counter"; `labels` come without braces.
  void Add(const std::string& name, const char* type, const char* help, const std::string& labels, double value) {
    const std::string full = "hotplate_" + name;
    if (full != last_) text_ += "# HELP " + full + " " + help + "\n# TYPE " + full + " " + type + "\n";
    last_ = full;
    text_ += full + "{" + labels + "} " + Number(value) + "\n";
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_, last_;
};

std::string Label(const std::string& name, const std::string& value) { return name + "=" + JsonText(value); }

// One metric of all devices at a time: the format wants a metric's samples together.
void AddDevices(PrometheusText& text, const v1::TelemetrySample& sample, const std::string& server) {
  const auto all = [&](const char* name, const char* type, const char* help, auto has, auto value) {
    for (const v1::DeviceSample& device : sample.devices())
      if (has(device))
        text.Add(name, type, help, server + "," + Label("device", device.device()), static_cast<double>(value(device)));
  };
  using D = const v1::DeviceSample&;
  all(
      "device_utilisation_ratio", "gauge", "Share of the device in use, 0 to 1.",
      [](D d) { return d.has_utilisation(); }, [](D d) { return d.utilisation(); });
  all(
      "device_memory_used_bytes", "gauge", "Memory in use.", [](D d) { return d.has_memory_used_bytes(); },
      [](D d) { return d.memory_used_bytes(); });
  all(
      "device_memory_total_bytes", "gauge", "Memory of the device.", [](D d) { return d.has_memory_total_bytes(); },
      [](D d) { return d.memory_total_bytes(); });
  all(
      "device_pool_reserved_bytes", "gauge", "Device memory reserved by the daemon's pool.",
      [](D d) { return d.has_pool_reserved_bytes(); }, [](D d) { return d.pool_reserved_bytes(); });
  all(
      "device_pool_used_bytes", "gauge", "Pool memory in use by jobs and resident arrays.",
      [](D d) { return d.has_pool_used_bytes(); }, [](D d) { return d.pool_used_bytes(); });
  all(
      "device_pool_peak_bytes", "gauge", "Largest use of the pool since the daemon's start.",
      [](D d) { return d.has_pool_peak_bytes(); }, [](D d) { return d.pool_peak_bytes(); });
  all(
      "device_pinned_bytes", "gauge", "Host memory pinned for copies to and from the device.",
      [](D d) { return d.has_pinned_bytes(); }, [](D d) { return d.pinned_bytes(); });
  all(
      "device_pinned_peak_bytes", "gauge", "Largest use of pinned memory since the daemon's start.",
      [](D d) { return d.has_pinned_peak_bytes(); }, [](D d) { return d.pinned_peak_bytes(); });
  all(
      "device_resident_bytes", "gauge", "Pool memory of array copies that stay for the next job.",
      [](D d) { return d.has_resident_bytes(); }, [](D d) { return d.resident_bytes(); });
  all(
      "device_power_watts", "gauge", "Power drawn.", [](D d) { return d.has_power_watts(); },
      [](D d) { return d.power_watts(); });
  all(
      "device_energy_joules_total", "counter", "Energy since the driver was loaded.",
      [](D d) { return d.has_energy_joules(); }, [](D d) { return d.energy_joules(); });
  all(
      "device_temperature_celsius", "gauge", "Temperature.", [](D d) { return d.has_temperature_celsius(); },
      [](D d) { return d.temperature_celsius(); });
  all(
      "device_sm_clock_hertz", "gauge", "Clock of the multiprocessors.", [](D d) { return d.has_sm_clock_mhz(); },
      [](D d) { return d.sm_clock_mhz() * 1e6; });
  all(
      "device_memory_clock_hertz", "gauge", "Clock of the memory.", [](D d) { return d.has_memory_clock_mhz(); },
      [](D d) { return d.memory_clock_mhz() * 1e6; });
  all(
      "device_power_limit_watts", "gauge", "Power limit in force.", [](D d) { return d.has_power_limit_watts(); },
      [](D d) { return d.power_limit_watts(); });
  all(
      "device_throttled_by_power_seconds_total", "counter", "Time at clocks held down by the power limit.",
      [](D d) { return d.has_power_throttled_ns(); },
      [](D d) { return static_cast<double>(d.power_throttled_ns()) * 1e-9; });
  all(
      "device_throttled_by_heat_seconds_total", "counter", "Time at clocks held down by heat.",
      [](D d) { return d.has_thermal_throttled_ns(); },
      [](D d) { return static_cast<double>(d.thermal_throttled_ns()) * 1e-9; });
  all(
      "device_ecc_errors_total", "counter", "Uncorrected memory errors since the driver was loaded.",
      [](D d) { return d.has_ecc_errors(); }, [](D d) { return d.ecc_errors(); });
  all(
      "device_xid_errors_total", "counter", "Critical errors reported by the driver since the daemon's start.",
      [](D d) { return d.has_xid_errors(); }, [](D d) { return d.xid_errors(); });
  all(
      "device_processes", "gauge", "Processes that compute on the device, the daemon included.",
      [](D d) { return d.has_processes(); }, [](D d) { return d.processes(); });
  all(
      "device_other_processes", "gauge", "Processes that compute on the device, without the daemon.",
      [](D d) { return d.has_other_processes(); }, [](D d) { return d.other_processes(); });
  all(
      "device_pcie_receive_bytes_per_second", "gauge", "PCIe traffic to the device.",
      [](D d) { return d.has_pcie_receive_bytes_per_second(); }, [](D d) { return d.pcie_receive_bytes_per_second(); });
  all(
      "device_pcie_transmit_bytes_per_second", "gauge", "PCIe traffic from the device.",
      [](D d) { return d.has_pcie_transmit_bytes_per_second(); },
      [](D d) { return d.pcie_transmit_bytes_per_second(); });
  all(
      "device_jobs_running", "gauge", "Jobs running on the device.", [](D) { return true; },
      [](D d) { return d.jobs_running(); });
}

absl::Status Metrics(const Invocation& call) {
  auto client = call.Connect();
  if (!client.ok()) return client.status();
  const auto snapshot = client->Telemetry();
  if (!snapshot.ok()) return snapshot.status();
  if (snapshot->samples().empty()) return absl::UnavailableError("the daemon has no sample yet; ask again in a moment");
  const v1::TelemetrySample& sample = *snapshot->samples().rbegin();
  const std::string server = Label("server", client->server_name());
  PrometheusText text;
  const v1::DaemonSample& daemon = sample.daemon();
  text.Add("up", "gauge", "1 while the daemon answers.", server, 1);
  text.Add("jobs_pending", "gauge", "Jobs in the queue.", server, daemon.jobs_pending());
  text.Add("jobs_running", "gauge", "Running jobs.", server, daemon.jobs_running());
  text.Add("jobs_ended_total", "counter", "Jobs that have ended since the daemon's start.", server,
           static_cast<double>(daemon.jobs_ended()));
  text.Add("arrays_bytes", "gauge", "Bytes held by arrays.", server, static_cast<double>(daemon.array_bytes()));
  text.Add("arrays_limit_bytes", "gauge", "Limit on the bytes held by arrays.", server,
           static_cast<double>(daemon.array_bytes_limit()));
  text.Add("resident_bytes", "gauge", "Resident memory of the daemon.", server,
           static_cast<double>(daemon.resident_bytes()));
  text.Add("idle_seconds", "gauge", "Seconds without a job, an upload or a download.", server, daemon.idle_seconds());
  AddDevices(text, sample, server);
  call.output.Answer([&] { return text.text(); }, [&] { return ToJson(sample); }, text.text());
  return absl::OkStatus();
}

}  // namespace

Command MetricsCommand() {
  return {
      .name = "metrics",
      .group = Group::kDevices,
      .summary = "print the latest telemetry in Prometheus text format",
      .details = "Meant for node_exporter's textfile collector, from cron or a timer. The daemon opens no HTTP port.",
      .example = "hotplate metrics > hotplate.prom",
      .run = Metrics};
}

}  // namespace hotplate::cli
