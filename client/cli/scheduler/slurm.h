// Slurm as a scheduler: sbatch, squeue, sacct, scancel and srun, by kernels/base/slurm.h, and what their words mean.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "client/cli/scheduler/scheduler.h"

namespace hotplate::cli {

// `cluster`: where new jobs go, for -M; empty: where Slurm puts them.
// `stop` ends what only asks: never a submission or a cancellation.
std::unique_ptr<Scheduler> MakeSlurm(ProgramRunner run, const std::string& cluster, std::stop_token stop = {});

namespace slurm {

// The answer of `sbatch --parsable`: "123" or "123;cluster", perhaps below lines that a site's plug-in printed.
std::optional<SchedulerJob> ParseSubmission(const std::string& out);

// What a state of Slurm's means.
JobStatus::Phase PhaseOf(const std::string& state);

// Whether `sbatch --test-only` says in these words what sbatch itself might not: it asks for nodes that are there now,
// and a submission waits for those that are down or reserved.
bool OnlyDoubts(const std::string& words);

// The variables by which sbatch would have something else than the script's directives say, or than `up` can handle.
std::vector<std::string> VariablesAgainst(const std::string& script);

// What to do about the words of sbatch or srun; empty where nothing better than the words themselves is known.
std::string WhatToDo(const std::string& words);

}  // namespace slurm
}  // namespace hotplate::cli
