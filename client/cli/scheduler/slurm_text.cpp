// The meaning of Slurm's words.
#include <algorithm>
#include <cctype>
#include <iterator>
#include <sstream>
#include <string_view>
#include <vector>

#include "client/cli/scheduler/slurm.h"

namespace hotplate::cli {
namespace {

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back()))) line.pop_back();
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

bool IsDigits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

struct Advice {
  std::string_view words, what;
};

// The first match decides, so special cases come before general ones.
constexpr Advice kRefusals[] = {
    {"Invalid account or account/partition",
     "is that account yours, and may it use this partition? your accounts: sacctmgr -nP show assoc user=$USER "
     "format=account"},
    {"Invalid feature specification",
     "no node has the feature that --gpu-type requests (Slurm's -C); what exists: sinfo -o '%P %f %G' · hotplate "
     "sites"},
    {"Invalid generic resource", "no node has such a GPU; what exists: sinfo -o '%P %f %G' · hotplate sites"},
    {"Invalid GRES specification", "no node has such a GPU; what exists: sinfo -o '%P %f %G' · hotplate sites"},
    {"Requested node configuration is not available",
     "no node offers all of this together: request fewer --gpus, or another --gpu-type or --partition; what exists: "
     "sinfo -o '%P %D %f %G'"},
    {"Invalid partition name", "choose another --partition: sinfo -s"},
    {"invalid partition specified", "choose another --partition: sinfo -s"},
    {"Invalid qos", "yours: sacctmgr -nP show assoc user=$USER format=account,qos"},
    {"Job violates accounting/QOS policy",
     "a limit of the account or QOS is reached: wait until your other jobs end (squeue --me), or request less: fewer "
     "--gpus, a shorter --time"},
    {"QOS", "a limit of the QOS is reached: request less, or wait until your other jobs end (squeue --me)"},
    {"Requested time limit is invalid", "request a shorter --time; the partitions' limits: sinfo -o '%P %l'"},
    {"Invalid --time", "write it as 30m, 1h30m or 01:30:00"},
    {"User's group not permitted", "choose another --partition: sinfo -s"},
    {"Access/permission denied", "you may not use this partition or QOS; others: sinfo -s"},
    {"invalid entry for --cluster", "existing clusters: sacctmgr list clusters"},
    {"Unable to contact slurm controller", "Slurm itself does not answer: try again in a while"},
    {"Socket timed out", "Slurm is busy: check first whether the job exists (squeue --me), then try again"},
    {"temporarily unable", "Slurm is busy: try again in a while"},
    {"Unable to confirm allocation", "your jobs: squeue --me"},
    {"unrecognized option", "this Slurm does not know a directive: look at the script with --dry-run"},
};

constexpr Advice kReasons[] = {
    {"PartitionTimeLimit", "its time exceeds the partition's limit, so it will not start. Request a shorter --time"},
    {"PartitionNodeLimit", "it needs more nodes than the partition allows, so it will not start. Request less"},
    {"PartitionDown", "the partition is down: another --partition, or wait"},
    {"PartitionInactive", "the partition is switched off: another --partition, or wait"},
    {"BadConstraints", "no node has everything that it requests, so it will not start. Request something else"},
    {"InvalidAccount", "the account is not valid, so it will not start. Give another --account"},
    {"InvalidQOS", "the QOS is not valid, so it will not start"},
    {"AccountNotAllowed", "the partition does not accept this account, so it will not start"},
    {"QOSNotAllowed", "the partition does not accept this QOS, so it will not start"},
    {"JobHeldAdmin", "an administrator holds it: ask the site's support why"},
    {"JobHeld", "it is held: scontrol release"},
    {"ReqNodeNotAvail",
     "the nodes it needs are reserved or down, perhaps for maintenance; a shorter --time may fit in before"},
    {"GRESRunMinutes",
     "running jobs use up the limit on GPU hours, so it starts later; a shorter --time may start sooner"},
    {"GRESMinutesPerJob",
     "it exceeds the GPU hours of one job, so it will not start. Request a shorter --time or fewer --gpus"},
    {"AssocGrpGRESMinutes", "the project's GPU hours are used up"},
    {"QOSGrpGRESMinutes",
     "the QOS's GPU hours are used up; your accounts: sacctmgr -nP show assoc user=$USER format=account,qos"},
    {"GRESPerJob", "it exceeds the GPUs of one job, so it will not start. Request fewer --gpus"},
    {"GRESPerNode", "it exceeds the GPUs of one node, so it will not start. Request fewer --gpus"},
    {"GRESPerUser",
     "you have reached your limit of GPUs: it starts when your other jobs end. If it alone exceeds the limit it never "
     "starts; then request fewer --gpus"},
    {"GRESPerAccount", "the project has reached its limit of GPUs: it starts when the project's other jobs end"},
    {"AssocGrpGRES", "the project has reached its limit of GPUs: it starts when the project's other jobs end"},
    {"QOSGrpGRES", "this QOS has reached its limit of GPUs: it starts when other jobs of the QOS end"},
    {"AssocGrpCPUMinutesLimit", "the project's hours are used up"},
    {"AssocGrpBillingMinutes", "the project's hours are used up"},
    {"WallDurationPerJobLimit", "its time exceeds a limit, so it will not start. Request a shorter --time"},
    {"PerJobLimit", "it exceeds the limit of one job, so it will not start. Request less"},
    {"PerUserLimit", "you have reached a limit: it starts when your other jobs end"},
    {"DependencyNeverSatisfied", "a job that it depends on has failed, so it will not start"},
    {"launch failed requeued held", "it could not be started and is held: scontrol release"},
};

template <std::size_t N>
std::string Lookup(const Advice (&table)[N], const std::string& words) {
  for (const Advice& advice : table)
    if (words.find(advice.words) != std::string::npos) return std::string(advice.what);
  return "";
}

}  // namespace

bool IsJobId(const std::string& text) {
  if (text.empty() || text.size() > 32 || !IsDigits(text.substr(0, 1))) return false;
  const std::size_t mark = text.find_first_of("_+");
  return IsDigits(text.substr(0, mark)) && (mark == std::string::npos || IsDigits(text.substr(mark + 1)));
}

std::string WhatToDoAboutReason(const std::string& reason) { return Lookup(kReasons, reason); }

namespace slurm {

namespace {

constexpr std::string_view kSubmitted = "Submitted batch job ";

// For sbatch, a variable outweighs the script. Options of one kind contradict each other, or add up.
struct Variables {
  std::vector<std::string_view> options;
  std::vector<std::string_view> names;
};
const std::vector<Variables>& VariablesOfDirectives() {
  static const std::vector<Variables> all = {
      {{"-A", "--account"}, {"SBATCH_ACCOUNT"}},
      {{"-p", "--partition"}, {"SBATCH_PARTITION"}},
      {{"-t", "--time"}, {"SBATCH_TIMELIMIT"}},
      {{"-q", "--qos"}, {"SBATCH_QOS"}},
      {{"-C", "--constraint"}, {"SBATCH_CONSTRAINT"}},
      {{"-J", "--job-name"}, {"SBATCH_JOB_NAME"}},
      {{"-o", "--output"}, {"SBATCH_OUTPUT", "SBATCH_ERROR"}},
      {{"--open-mode"}, {"SBATCH_OPEN_MODE"}},
      {{"--signal"}, {"SBATCH_SIGNAL"}},
      {{"--reservation"}, {"SBATCH_RESERVATION"}},
      {{"--exclusive"}, {"SBATCH_EXCLUSIVE"}},
      {{"--mem", "--mem-per-cpu", "--mem-per-gpu"},
       {"SBATCH_MEM_PER_NODE", "SBATCH_MEM_PER_CPU", "SBATCH_MEM_PER_GPU"}},
      {{"-G", "--gpus", "--gres", "--gpus-per-task", "--gpus-per-node"},
       {"SBATCH_GPUS", "SBATCH_GRES", "SBATCH_GPUS_PER_TASK", "SBATCH_GPUS_PER_NODE"}},
  };
  return all;
}

}  // namespace

bool OnlyDoubts(const std::string& words) {
  for (const char* doubt : {"Requested node configuration is not available", "Required node not available",
                            "Requested partition configuration not available"})
    if (words.find(doubt) != std::string::npos) return true;
  return false;
}

std::vector<std::string> VariablesAgainst(const std::string& script) {
  // Several jobs, and an sbatch that ends with the job.
  std::vector<std::string> names = {"SBATCH_ARRAY_INX", "SBATCH_WAIT"};
  constexpr std::string_view kDirective = "#SBATCH ";
  for (const std::string& line : Lines(script)) {
    if (line.rfind(kDirective, 0) != 0) continue;
    const std::string option =
        line.substr(kDirective.size(), line.find_first_of("= ", kDirective.size()) - kDirective.size());
    for (const Variables& variables : VariablesOfDirectives())
      if (std::find(variables.options.begin(), variables.options.end(), option) != variables.options.end())
        for (const std::string_view name : variables.names)
          if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
  }
  return names;
}

std::optional<SchedulerJob> ParseSubmission(const std::string& out) {
  const std::vector<std::string> lines = Lines(out);
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    const std::size_t mark = line->find(';');
    SchedulerJob job{line->substr(0, mark), mark == std::string::npos ? "" : line->substr(mark + 1)};
    if (line->rfind(kSubmitted, 0) == 0) {  // a site's wrapper may leave --parsable out
      std::istringstream words(line->substr(kSubmitted.size()));
      std::string on, cluster_word;
      words >> job.id >> on >> cluster_word >> job.cluster;
    }
    if (!IsJobId(job.id) || job.cluster.find_first_of(" \t;") != std::string::npos) continue;
    for (auto other = lines.begin(); other != lines.end(); ++other)
      if (*other != *line) job.remarks += (job.remarks.empty() ? "" : "\n") + *other;
    return job;
  }
  return std::nullopt;
}

JobStatus::Phase PhaseOf(const std::string& state) {
  using Phase = JobStatus::Phase;
  for (const char* pending : {"PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT"})
    if (state == pending) return Phase::kPending;
  for (const char* running : {"RUNNING", "CONFIGURING", "SUSPENDED", "STOPPED", "RESIZING", "SIGNALING"})
    if (state == running) return Phase::kRunning;
  return state == "COMPLETING" || state == "STAGE_OUT" ? Phase::kEnding : Phase::kEnded;
}

std::string WhatToDo(const std::string& words) { return Lookup(kRefusals, words); }

}  // namespace slurm
}  // namespace hotplate::cli
