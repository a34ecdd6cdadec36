#include "server/core/run_history.h"

#include "kernels/array/dtype.h"
#include "server/core/run/outside_work.h"

namespace hotplate::core {
namespace {

// Tells runs apart that take different times with the same amount of work. Empty: nothing does.
std::string VariantOf(const BoundCall& call, const OutsideWork* work, const std::string& label) {
  if (work != nullptr) return label.empty() ? work->called() : label;
  return call.outputs.empty() ? "" : std::string(Name(call.outputs.front().dtype));
}

std::string WhatOf(const std::string& kernel, const std::string& variant) { return kernel + " " + variant; }

double WorkOf(const Cost& cost) { return cost.flop > 0 ? cost.flop : cost.bytes; }

}  // namespace

RunTimes::Kind RunHistory::KindOn(const BoundCall& call, const OutsideWork* work, const std::string& label,
                                  unsigned device) {
  const std::string variant = VariantOf(call, work, label);
  // Programs are as different as they can be.
  if (work != nullptr && variant.empty()) return RunTimes::kNoKind;
  return times_.KindOf(WhatOf(call.spec->name(), variant), devices_[device], WorkOf(call.spec->CostOf(call)));
}

RunTimes::Kind RunHistory::KindOf(const BoundJob& job, const OutsideWork* work, const std::string& label) {
  if (job.call.spec == nullptr || job.needs.empty()) return RunTimes::kNoKind;
  return KindOn(job.call, work, label, job.needs.front().device);
}

void RunHistory::Learn(const Job& job, unsigned device, const JobReceipt& receipt) {
  const bool as_foretold = !job.needs.empty() && devices_[job.needs.front().device] == devices_[device];
  const RunTimes::Kind kind = as_foretold ? job.kind : KindOn(job.bound.call, job.work.get(), job.label, device);
  times_.Add(kind, receipt.total - receipt.queue, receipt.cold);
}

void RunHistory::Learn(const PastRun& run) {
  times_.Add(times_.KindOf(WhatOf(run.kernel, run.variant), run.device_name, WorkOf(run.cost)), run.time, run.cold);
}

}  // namespace hotplate::core
