// Sweeps from the wire, and their outcome for it. The form is checked here; core::SweepPlan checks the tasks.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "hotplate/v1/jobs.pb.h"
#include "hotplate/v1/programs.pb.h"
#include "server/core/sweeps/sweep_outcome.h"

namespace hotplate::wire {

// INVALID_ARGUMENT names the parameter, also one that is given by itself as well, or cannot be a program's variable.
absl::StatusOr<std::shared_ptr<const core::SweepPlan>> SweepOf(const v1::JobSpec& spec);
absl::StatusOr<std::shared_ptr<const core::SweepPlan>> SweepOf(const v1::Program& program);

void ToProto(const core::TaskCounts& counts, v1::TaskCounts& out);
void ToProto(const core::TaskFailure& failure, v1::TaskFailure& out);
void ToProto(const core::SweepOutcome& outcome, v1::SweepOutcome& out);
core::SweepOutcome FromProto(const v1::SweepOutcome& outcome);

bool IsSweep(const core::JobSnapshot& job);
// A job that is a sweep or was one, at a glance; and the whole, which may be large.
void FillSweep(const core::JobSnapshot& job, v1::Job& out);
void FillSweep(const core::JobSnapshot& job, v1::SweepOutcome& out);

}  // namespace hotplate::wire
