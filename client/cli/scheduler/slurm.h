// Slurm as a scheduler: sbatch, squeue, sacct, scancel and srun, by kernels/base/slurm.h, and what their words mean.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "client/cli/scheduler/scheduler.h"

namespace hotplate::cli {

// `cluster`: the cluster for new jobs, for -M; empty: Slurm's choice. `stop` interrupts queries, but no submission or
// cancellation.
std::unique_ptr<Scheduler> MakeSlurm(ProgramRunner run, const std::string& cluster, std::stop_token stop = {});

namespace slurm {

// The answer of `sbatch --parsable`: "123" or "123;cluster", perhaps below lines that a site's plug-in printed.
std::optional<SchedulerJob> ParseSubmission(const std::string& out);

// The meaning of a Slurm state.
JobStatus::Phase PhaseOf(const std::string& state);

// True if a failure of `sbatch --test-only` in these words does not predict one of sbatch: the test wants free nodes
// now, while a submission waits for nodes that are down or reserved.
bool OnlyDoubts(const std::string& words);

// Variables that would make sbatch override the script's directives, or do something that `up` cannot handle.
std::vector<std::string> VariablesAgainst(const std::string& script);

// The remedy for an error of sbatch or srun; empty if the error itself says enough.
std::string WhatToDo(const std::string& words);

}  // namespace slurm
}  // namespace hotplate::cli
