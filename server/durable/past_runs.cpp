#include "server/durable/past_runs.h"

#include <utility>

#include "hotplate/v1/jobs.pb.h"
#include "server/wire/values.h"

namespace hotplate::server {
namespace {

bool IsOutside(const std::string& kernel) { return journal::IsProgram(kernel) || kernel == "function"; }

std::string VariantOf(const journal::KeptJob& kept, const v1::JobResult& result) {
  if (IsOutside(kept.accepted.kernel)) return kept.accepted.label;
  if (result.outputs().empty()) return "";
  const std::optional<DType> dtype = DTypeFromNumber(result.outputs(0).signature().dtype());
  return dtype ? std::string(Name(*dtype)) : "";
}

}  // namespace

std::optional<core::PastRun> PastRunOf(const journal::KeptJob& kept) {
  v1::JobEnd end;
  if (kept.state != journal::JobState::kCompleted || kept.end.empty() || !end.ParseFromString(kept.end)) {
    return std::nullopt;
  }
  if (end.has_sweep()) return std::nullopt;  // its receipt is of all tasks together
  const v1::Receipt& receipt = end.result().receipt();
  if (!end.result().has_receipt() || receipt.total_ns() < receipt.queue_ns()) return std::nullopt;
  core::PastRun run;
  run.kernel = kept.accepted.kernel;
  run.variant = VariantOf(kept, end.result());
  if (IsOutside(run.kernel) && run.variant.empty()) return std::nullopt;
  run.device_name = receipt.device_name();
  run.cost = {receipt.flop(), static_cast<double>(receipt.bytes_moved())};
  run.time = core::nanoseconds(receipt.total_ns() - receipt.queue_ns());
  run.cold = receipt.cold();
  return run;
}

std::vector<core::PastRun> PastRunsIn(journal::Index& index, std::size_t limit) {
  std::vector<core::PastRun> runs;
  const absl::StatusOr<std::vector<journal::KeptJob>> ended =
      journal::EndedJobs(index, {.states = {journal::JobState::kCompleted}, .limit = limit});
  if (!ended.ok()) return runs;
  for (auto kept = ended->rbegin(); kept != ended->rend(); ++kept) {
    if (std::optional<core::PastRun> run = PastRunOf(*kept)) runs.push_back(*std::move(run));
  }
  return runs;
}

}  // namespace hotplate::server
