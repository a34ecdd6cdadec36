#include "server/core/run/receipt.h"

namespace hotplate::core {
namespace {

std::optional<nanoseconds> Duration(std::optional<std::uint64_t> ns) {
  if (!ns) return std::nullopt;
  return nanoseconds(static_cast<nanoseconds::rep>(*ns));
}

std::optional<std::uint64_t> SeedOf(const BoundCall& call) {
  const std::vector<ParamSpec>& params = call.spec->params();
  for (std::size_t i = 0; i < params.size(); ++i) {
    const std::int64_t* value = std::get_if<std::int64_t>(&call.params[i]);
    if (value != nullptr && params[i].name == "seed") return static_cast<std::uint64_t>(*value);
  }
  return std::nullopt;
}

}  // namespace

JobReceipt MakeReceipt(const Job& job, const DeviceNeed& need, const DeviceInfo& device, const RunResult& result,
                       bool cold, SteadyTime start_time, SteadyTime end_time, WallTime now) {
  const BoundCall& call = job.bound.call;
  JobReceipt receipt;
  receipt.seal_time = now;
  receipt.queue = start_time - job.submit_time;
  receipt.total = end_time - job.submit_time;
  if (const nanoseconds forecast(job.start_forecast.load()); forecast >= nanoseconds::zero()) {
    receipt.queue_forecast = forecast;
  }
  receipt.load = result.load;
  receipt.store = result.store;
  receipt.host_to_device = Duration(result.report.host_to_device_ns);
  receipt.compile = Duration(result.report.compile_ns);
  receipt.kernel = Duration(result.report.kernel_ns);
  receipt.device_to_host = Duration(result.report.device_to_host_ns);
  receipt.compile_cache_hit = result.report.compile_cache_hit;
  receipt.cold = cold;
  receipt.device = device.id;
  receipt.threads = result.report.threads;
  // Work that was broken off has no amount, and so no rate.
  if (result.kind == RunResult::Kind::kCompleted) receipt.cost = call.spec->CostOf(call);
  receipt.peak_bytes = need.peak_bytes;
  receipt.precision = call.precision;
  receipt.deterministic = call.deterministic;
  receipt.seed = SeedOf(call);
  if (result.report.outcome.ok()) receipt.warning = result.report.outcome.message();
  receipt.process = result.process;
  return receipt;
}

}  // namespace hotplate::core
