// Slurm through its commands: sbatch, squeue, sacct, scancel, srun. The functions below parse their output; tests check
// each against a real Slurm.
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

// The columns that State asks squeue for, with SLURM_TIME_FORMAT=%s.
// %A: the job's own number, also of a task of an array.
inline constexpr char kSqueueColumns[] = "%A|%T|%S|%e|%N|%U|%r";
// The line of `job_id`; nothing if there is none.
std::optional<JobStatus> ParseSqueue(const std::string& out, const std::string& job_id);

// `sacct -n -X -P -o State,Reason,Start,End,NodeList,UID`: the last line, as a job may have been requeued.
std::optional<JobStatus> ParseSacct(const std::string& out);

// Seconds since 1970 as SLURM_TIME_FORMAT=%s prints them, or "2026-11-21T20:22:13", local; nothing for "N/A",
// "Unknown", "NONE" and the like.
std::optional<EpochSeconds> ParseTime(const std::string& text);

// The value of ClusterName in `scontrol show config`.
std::string ParseClusterName(const std::string& out);

// "CANCELLED by 1001" is CANCELLED; "NODE_FAIL+" is NODE_FAIL.
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
