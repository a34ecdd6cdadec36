#include "server/core/run_history.h"

#include "kernels/array/dtype.h"
#include "server/core/run/outside_work.h"

namespace hotplate::core {
namespace {

std::string TypeOf(const BoundCall& call) {
  return call.outputs.empty() ? "" : std::string(Name(call.outputs.front().dtype));
}

std::string WhatOf(const std::string& kernel, const std::string& variant) { return kernel + " " + variant; }

double WorkOf(const Cost& cost) { return cost.flop > 0 ? cost.flop : cost.bytes; }

}  // namespace

RunTimes::Kind RunHistory::KindAs(const std::string& variant, const BoundCall& call, unsigned device) {
  return times_.KindOf(WhatOf(call.spec->name(), variant), devices_[device], WorkOf(call.spec->CostOf(call)));
}

RunTimes::Kind RunHistory::KindOf(const BoundJob& job, const OutsideWork* work, const std::string& label) {
  if (job.call.spec == nullptr || job.needs.empty()) return RunTimes::kNoKind;
  const unsigned device = job.needs.front().device;
  if (work == nullptr) return KindAs(TypeOf(job.call), job.call, device);
  // Programs are as different as they can be.
  const std::string name = work->called();
  const RunTimes::Kind named = name.empty() ? RunTimes::kNoKind : KindAs(name, job.call, device);
  if (label.empty() || times_.Of(named)) return named;
  const RunTimes::Kind labelled = KindAs(label, job.call, device);
  return named == RunTimes::kNoKind || times_.Of(labelled) ? labelled : named;
}

void RunHistory::Learn(const Job& job, unsigned device, const JobReceipt& receipt) {
  const BoundCall& call = job.bound.call;
  std::vector<std::string> variants;
  if (job.work == nullptr) variants.push_back(TypeOf(call));
  if (job.work != nullptr && !job.work->called().empty()) variants.push_back(job.work->called());
  if (job.work != nullptr && !job.label.empty()) variants.push_back(job.label);
  for (const std::string& variant : variants) {
    times_.Add(KindAs(variant, call, device), receipt.total - receipt.queue, receipt.cold);
  }
}

void RunHistory::NoteStart(const Job& job, nanoseconds wait) {
  const nanoseconds plain(job.plain_forecast.load());
  if (plain >= nanoseconds::zero()) bias_.Note(plain, wait);
}

void RunHistory::Learn(const PastRun& run) {
  times_.Add(times_.KindOf(WhatOf(run.kernel, run.variant), run.device_name, WorkOf(run.cost)), run.time, run.cold);
}

}  // namespace hotplate::core
