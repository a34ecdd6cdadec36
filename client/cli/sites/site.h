// A centre as data: its kind of batch script, its GPUs, its word for an account.
//
// How `hotplate up` gets from a request to a job:
//   1. FindSite reads the profile: the user's own of that name, else a site-wide one, else the one built in.
//   2. CheckRequest checks the request against it. A request that does not fit is refused here, with the value and the
//      site's limit; else it becomes an AllocationPlan with warnings.
//   3. RenderScript writes the batch script from plan and launch, which `up` submits and --dry-run prints.
//   4. The scheduler (client/cli/scheduler) takes the script; site.scheduler selects it, site.cluster the cluster.
// deploy/docs/sites.md describes profiles; deploy/sites holds the built-in ones.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/settings.h"

namespace hotplate::cli {

enum class SchedulerKind { kSlurm, kLsf };
enum class SiteStatus { kActive, kGoing, kRetired };

// A line of the batch script's head, without its "#SBATCH ". {name} stands for a value of the request. The line is left
// out if one of its values is empty, or if the option `when` was not given.
struct DirectiveTemplate {
  std::string text;  // "--gpus={gpus}"
  std::string when;  // empty: always
};

// A kind of GPU that can be asked for, in one way; several of one type differ by partition. In the profile's order:
// the first that fits a request is taken.
struct GpuOffer {
  std::string type;                           // "l40s"; empty: no type is named (the site chooses); "*": any word
  std::string partition;                      // empty: none needs to be named; "*": any word
  std::vector<int> per_node;                  // numbers of GPUs in its nodes, ascending
  bool whole_nodes = false;                   // only all GPUs of a node; else any number up to the largest
  std::string compute_capability;             // "8.9"; empty: unknown
  std::string note;                           // for people; may be empty
  std::string refused;                        // why it cannot be used; empty: usable
  std::vector<DirectiveTemplate> directives;  // in addition to the site's

  int Most() const { return per_node.empty() ? 0 : per_node.back(); }
};

struct AccountRule {
  bool required = false;
  std::string pattern;  // a POSIX extended regular expression for the whole word; empty: any word
  std::string example;
  std::string fallback;  // where a request names none: for a user's own profile
};

struct Site {
  std::string name;   // "hpc2n"
  std::string title;  // "Kebnekaise, HPC2N, Umeå University"
  SchedulerKind scheduler = SchedulerKind::kSlurm;
  std::string cluster;  // for -M of the scheduler's commands; empty: none

  SiteStatus status = SiteStatus::kActive;
  std::string status_note;
  std::string source;      // address of the centre's page
  std::string checked_on;  // "2026-11-21"
  std::string checked;     // what was checked that day, against which source

  AccountRule account;
  std::chrono::seconds default_time{};
  std::optional<std::chrono::seconds> longest_time;  // nothing: unknown, left to the scheduler
  std::vector<DirectiveTemplate> directives;
  std::vector<GpuOffer> offers;
  std::vector<std::string> modules;
  std::vector<std::string> first_module;  // names of which the first that exists is loaded; it may be that none does
  std::vector<std::string> exports;       // "NAME=value"; $NAME in a value is the shell's
  std::vector<std::string> launcher;  // words before the daemon's program ("jsrun -n1 …"); templates like directives
  std::string scratch;                // where the daemon saves arrays at its end; empty: its default
  std::string cache;                  // CUDA's cache of compiled code; empty: its default
  std::string ports;                  // "40000-40100"; empty: any
  std::string interface;              // network interface to publish; empty: the daemon chooses
  bool home_writable = true;          // from compute nodes
  bool login_shell = false;           // the script needs one, for its modules

  std::string origin;  // "built in", or the file it was read from
};

// A user's request. Empty texts and zeros: not given.
struct AllocationRequest {
  std::string account = {};
  std::string gpu_type = {};
  std::string partition = {};
  int gpus = 1;
  std::string time = {};    // as typed: "30m", "1h30m", "01:30:00", "1-00:00:00"
  std::string name = {};    // the job's and the daemon's; empty: the job is "hotplate", the daemon names itself
  int cpus = 0;             // cores
  std::string memory = {};  // "64G"
  bool exclusive = false;
  std::vector<std::string> directives = {};  // further ones, as the scheduler wants them: "--qos=high"
};

// A request that the site can take.
struct AllocationPlan {
  AllocationRequest request;
  GpuOffer offer;
  std::chrono::seconds time{};
  std::vector<std::string> warnings;  // for the user, before anything is submitted
};

// How the daemon is started on the node.
struct Launch {
  std::string program = {};    // absolute path of hotplated, as the compute node sees it
  std::string directory = {};  // HOTPLATE_DIR, absolute
  std::string home = {};       // the user's home; empty: unknown. If it is not writable, `directory` must not lie in it
  std::string output = {};     // the scheduler's output file: an absolute path that may hold JobIdPlaceholder(site)
  std::vector<std::string> options = {};  // further options of hotplated
};

// "--device cpu" and "--device=cpu" both give "--device". An option given by the user wins: one from the site or a
// variable would give it twice.
bool IsGiven(const std::vector<std::string>& words, const std::string& option);

// A site name consists of letters, digits, '.', '_', '-'.
bool IsSiteName(const std::string& name);

// NOT_FOUND with the nearest names; a usage error that names file, line and key where a file is wrong;
// PERMISSION_DENIED where somebody else could have written it.
// User's files: $XDG_CONFIG_HOME/hotplate/sites/NAME.toml, else ~/.config/hotplate/sites/NAME.toml; site-wide ones:
// $HOTPLATE_SITES/NAME.toml.
absl::StatusOr<Site> FindSite(const std::string& name, const Environment& environment);

// All names, sorted, without reading the files.
std::vector<std::string> SiteNames(const Environment& environment);

// INVALID_ARGUMENT (exit code 4) names the value and the site's limit.
absl::StatusOr<AllocationPlan> CheckRequest(const Site& site, const AllocationRequest& request);

// The whole script. INVALID_ARGUMENT: a path cannot be written in a script.
absl::StatusOr<std::string> RenderScript(const Site& site, const AllocationPlan& plan, const Launch& launch);

// The scheduler's placeholder for the job's id in the name of an output file: "%j" (Slurm), "%J" (LSF).
std::string JobIdPlaceholder(const Site& site);

// Where the scheduler's output of a job goes, in the folder of logs below HOTPLATE_DIR, which must be there: Slurm
// makes none. Without a job the pattern for Launch::output, with its id the file's path.
std::string OutputFile(const Site& site, const std::string& directory, const std::optional<std::string>& job);

// "slurm", "lsf"; "active", "going", "retired".
std::string Word(SchedulerKind scheduler);
std::string Word(SiteStatus status);

// Schedulers count in minutes.
inline constexpr std::chrono::seconds kShortestTime = std::chrono::minutes(1);

// "30m", "1h30m", "HH:MM:SS", "D-HH[:MM[:SS]]"; a usage error for the rest, bare numbers among it: schedulers take them
// for minutes, Hotplate elsewhere for seconds.
absl::StatusOr<std::chrono::seconds> ParseTimeLimit(const std::string& text);

}  // namespace hotplate::cli
