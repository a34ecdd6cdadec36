// What is particular to a centre, as data: how it wants its batch scripts, which GPUs it has, what it calls an account.
//
// How `hotplate up` comes from a request to a job:
//   1. FindSite reads the profile: the user's own of that name, else a site-wide one, else the one built in.
//   2. CheckRequest holds the request against it. What does not fit is refused here, with the value and what there is;
//      what fits becomes an AllocationPlan, with what the user should know besides (warnings).
//   3. RenderScript writes the batch script from plan and launch: what `up` submits, and what --dry-run prints.
//   4. The scheduler (client/cli/scheduler) takes the script; site.scheduler says which, site.cluster where.
// deploy/docs/sites.md tells how a profile is written, deploy/sites holds those built in.
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

// A line of the batch script's head, without its "#SBATCH ". {name} stands for a value of the request; the line is left
// out where one of its values is empty, or where the option `when` was not asked for.
struct DirectiveTemplate {
  std::string text;  // "--gpus={gpus}"
  std::string when;  // empty: always
};

// A kind of GPU that can be asked for, in one way; several of one type differ by partition. In the profile's order:
// the first that fits a request is taken.
struct GpuOffer {
  std::string type;                // "l40s"; empty: no type is named (what the site then gives); "*": any word is taken
  std::string partition;           // empty: none needs to be named; "*": any word
  std::vector<int> per_node;       // how many its nodes have, ascending
  bool whole_nodes = false;        // only as many as a node has, else any number up to the largest
  std::string compute_capability;  // "8.9"; empty: not known
  std::string note;                // for people; may be empty
  std::string refused;             // why it cannot be used; empty: it can
  std::vector<DirectiveTemplate> directives;  // besides the site's

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
  std::string cluster;  // what -M of the scheduler's commands needs; empty: nothing

  SiteStatus status = SiteStatus::kActive;
  std::string status_note;
  std::string source;      // address of the centre's page
  std::string checked_on;  // "2026-11-21"
  std::string checked;     // what was held against what that day

  AccountRule account;
  std::chrono::seconds default_time{};
  std::optional<std::chrono::seconds> longest_time;  // nothing: not known, the scheduler says
  std::vector<DirectiveTemplate> directives;
  std::vector<GpuOffer> offers;
  std::vector<std::string> modules;
  std::vector<std::string> exports;   // "NAME=value"; $NAME in a value is the shell's
  std::vector<std::string> launcher;  // words before the daemon's program ("jsrun -n1 …"); templates as directives are
  std::string scratch;                // where arrays are saved at the end; empty: the daemon's default
  std::string cache;                  // where CUDA keeps what it compiled; empty: its default
  std::string ports;                  // "40000-40100"; empty: any
  std::string interface;              // network interface to publish; empty: the daemon finds it
  bool home_writable = true;          // from compute nodes
  bool login_shell = false;           // the script needs one, for its modules

  std::string origin;  // "built in", or the file it was read from
};

// What a user asked for. Empty texts and zeros: not said.
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
  std::string home = {};    // the user's home; empty: unknown. Where it is not writable, `directory` must not lie in it
  std::string output = {};  // the scheduler's output file: an absolute path that may hold JobIdPlaceholder(site)
  std::vector<std::string> options = {};  // hotplated's further words
};

// "--device cpu" and "--device=cpu" both give "--device". What the user gives the daemon counts: a site's or a
// variable's value would be the same option twice.
bool IsGiven(const std::vector<std::string>& words, const std::string& option);

// What site names are made of: letters, digits, '.', '_', '-'.
bool IsSiteName(const std::string& name);

// NOT_FOUND with the nearest names; a usage error that names file, line and key where a file is wrong;
// PERMISSION_DENIED where somebody else could have written it.
// User's files: $XDG_CONFIG_HOME/hotplate/sites/NAME.toml, else ~/.config/hotplate/sites/NAME.toml; site-wide ones:
// $HOTPLATE_SITES/NAME.toml.
absl::StatusOr<Site> FindSite(const std::string& name, const Environment& environment);

// All names, sorted, without reading the files.
std::vector<std::string> SiteNames(const Environment& environment);

// INVALID_ARGUMENT (exit code 4) names the value and what the site has.
absl::StatusOr<AllocationPlan> CheckRequest(const Site& site, const AllocationRequest& request);

// The whole script. INVALID_ARGUMENT where a path cannot stand in a script.
absl::StatusOr<std::string> RenderScript(const Site& site, const AllocationPlan& plan, const Launch& launch);

// What the scheduler replaces by the job's id in an output file's name: "%j" (Slurm), "%J" (LSF).
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
