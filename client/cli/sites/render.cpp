// The batch script: its head by the scheduler, its body the same for all. Every value in it has passed words.h.
#include <algorithm>

#include "client/cli/sites/site.h"
#include "client/cli/sites/template.h"
#include "client/cli/sites/words.h"
#include "client/cli/terminal/format.h"
#include "kernels/array/quoted.h"

namespace hotplate::cli {
namespace {

constexpr std::size_t kLongestPath = 1024, kLongestOption = 4096, kMostOptions = 256;

std::string TwoDigits(std::int64_t number) { return (number < 10 ? "0" : "") + std::to_string(number); }

// "00:30:00" and "1-02:00:00" for Slurm, "0:30" for LSF.
std::string LimitText(SchedulerKind scheduler, std::chrono::seconds time) {
  const std::int64_t seconds = time.count();
  if (scheduler == SchedulerKind::kLsf) {
    const std::int64_t minutes = (seconds + 59) / 60;
    return std::to_string(minutes / 60) + ":" + TwoDigits(minutes % 60);
  }
  const std::int64_t days = seconds / 86400;
  return (days > 0 ? std::to_string(days) + "-" : "") + TwoDigits(seconds / 3600 % 24) + ":" +
         TwoDigits(seconds / 60 % 60) + ":" + TwoDigits(seconds % 60);
}

// TERM this long before the end, so that the daemon can drain. Slurm acts on ticks of 30 s and may be 60 s early; of a
// short job the notice must not be the whole. LSF counts in minutes.
std::string NoticeText(SchedulerKind scheduler, std::chrono::seconds time) {
  constexpr std::int64_t kSeconds = 60;
  if (scheduler == SchedulerKind::kLsf) return time < std::chrono::minutes(10) ? "1" : "2";
  return std::to_string(std::min(kSeconds, static_cast<std::int64_t>(time.count()) / 4));
}

TemplateValues ValuesOf(const Site& site, const AllocationPlan& plan) {
  const AllocationRequest& request = plan.request;
  return {{"account", request.account},
          {"partition", plan.offer.partition},
          {"gpu_type", plan.offer.type},
          {"gpus", request.gpus > 0 ? std::to_string(request.gpus) : ""},
          {"time", LimitText(site.scheduler, plan.time)},
          {"cpus", request.cpus > 0 ? std::to_string(request.cpus) : ""},
          {"memory", request.memory},
          {"exclusive", request.exclusive ? "yes" : ""}};
}

// Nothing that could end a line or a word of the script.
absl::Status CheckPath(const std::string& what, const std::string& path) {
  const bool plain = std::none_of(path.begin(), path.end(), [](unsigned char c) {
    return c <= 0x20 || c == 0x7f || c == '"' || c == '\'' || c == '\\' || c == '`' || c == '$' || c == '#';
  });
  if (!path.empty() && path[0] == '/' && path.size() <= kLongestPath && plain) return absl::OkStatus();
  return absl::InvalidArgumentError(
      what + " " + Quoted(path) +
      " is not allowed in a batch script: it must be absolute, without spaces, quotes, backslashes, $ and #");
}

bool LiesIn(const std::string& path, const std::string& folder) {
  return !folder.empty() && (path == folder || path.rfind(folder.back() == '/' ? folder : folder + "/", 0) == 0);
}

absl::Status CheckLaunch(const Site& site, const Launch& launch) {
  if (const absl::Status status = CheckPath("hotplated's path", launch.program); !status.ok()) return status;
  if (const absl::Status status = CheckPath("HOTPLATE_DIR", launch.directory); !status.ok()) return status;
  if (const absl::Status status = CheckPath("the output file", launch.output); !status.ok()) return status;
  if (!site.home_writable && LiesIn(launch.directory, launch.home))
    return absl::InvalidArgumentError("HOTPLATE_DIR " + launch.directory +
                                      " is in your home, to which the compute nodes of " + site.name +
                                      " cannot write: set HOTPLATE_DIR to a folder on the site's scratch" +
                                      (site.scratch.empty() ? "" : ", where " + site.scratch + " is"));
  if (launch.options.size() > kMostOptions)
    return absl::InvalidArgumentError(std::to_string(launch.options.size()) + " options for hotplated are too many");
  for (const std::string& option : launch.options)
    if (option.size() > kLongestOption ||
        std::any_of(option.begin(), option.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
      return absl::InvalidArgumentError("hotplated's option " + Quoted(option) + " is not allowed in a batch script");
  return absl::OkStatus();
}

// The directives of the site's profile, in the order of the script.
std::vector<std::string> SiteDirectives(const Site& site, const AllocationPlan& plan, TemplateValues values) {
  // sbatch reads its directives as a shell does.
  if (std::string& account = values["account"]; !account.empty()) account = ShellQuoted(account);
  std::vector<std::string> lines;
  for (const auto* directives : {&site.directives, &plan.offer.directives})
    for (const DirectiveTemplate& directive : *directives)
      if (auto line = Filled(directive, values)) lines.push_back(*std::move(line));
  return lines;
}

std::string Head(const Site& site, const AllocationPlan& plan, const Launch& launch, const TemplateValues& values) {
  const bool slurm = site.scheduler == SchedulerKind::kSlurm;
  const std::string name = plan.request.name.empty() ? "hotplate" : plan.request.name;
  std::vector<std::string> lines = {slurm ? "--job-name=" + name : "-J " + name};
  for (std::string& line : SiteDirectives(site, plan, values)) lines.push_back(std::move(line));
  if (slurm) {
    lines.push_back("--nodes=1");
    lines.push_back("--output=" + launch.output);
    lines.push_back("--open-mode=append");
    lines.push_back("--signal=B:TERM@" + NoticeText(site.scheduler, plan.time));
  } else {
    lines.push_back("-nnodes 1");
    lines.push_back("-o " + launch.output);
    lines.push_back("-wa TERM");
    lines.push_back("-wt " + NoticeText(site.scheduler, plan.time));
  }
  for (const std::string& line : plan.request.directives) lines.push_back(line);
  std::string head;
  for (const std::string& line : lines) head += (slurm ? "#SBATCH " : "#BSUB ") + line + "\n";
  return head;
}

// NAME="value", in which the shell replaces $NAME; nothing where a placeholder is empty.
std::string Export(const std::string& variable, const std::string& value, const TemplateValues& values) {
  const auto filled = Filled(value, values);
  return filled ? "export " + variable + "=\"" + *filled + "\"\n" : "";
}

std::string Body(const Site& site, const TemplateValues& values) {
  std::string body;
  if (!site.modules.empty()) body += "module load " + Join(site.modules, " ") + "\n";
  if (!site.first_module.empty())
    body += "for module in " + Join(site.first_module, " ") +
            "; do\n  if module load \"$module\" 2>/dev/null; then echo \"loaded module $module\"; break; fi\ndone\n";
  if (!site.cache.empty()) body += Export("CUDA_CACHE_PATH", site.cache, values);
  for (const std::string& assignment : site.exports) {
    const std::size_t equals = assignment.find('=');
    body += Export(assignment.substr(0, equals), assignment.substr(equals + 1), values);
  }
  return body;
}

// By the user, or by a variable that the site's profile sets for the daemon.
bool IsDeviceChosen(const Site& site, const Launch& launch) {
  return IsGiven(launch.options, "--device") ||
         std::any_of(site.exports.begin(), site.exports.end(),
                     [](const std::string& assignment) { return assignment.rfind("HOTPLATE_DEVICE=", 0) == 0; });
}

// exec, so that the scheduler's signals reach the daemon itself.
std::string LastLine(const Site& site, const AllocationPlan& plan, const Launch& launch, const TemplateValues& values) {
  std::string line = "exec";
  for (const std::string& word : site.launcher)
    if (const auto filled = Filled(word, values)) line += " " + ShellQuoted(*filled);
  line += " " + ShellQuoted(launch.program);
  if (!plan.request.name.empty())
    line += " --name " + ShellQuoted(plan.request.name);
  else if (site.scheduler == SchedulerKind::kLsf)
    line += " --name \"" + site.name + "-$LSB_JOBID\"";  // under Slurm the daemon names itself
  line += " --directory " + ShellQuoted(launch.directory);
  // A user who asked for GPUs must not pay for them and be served by the CPU: without a GPU the daemon says why and
  // ends.
  if (plan.request.gpus > 0 && !IsDeviceChosen(site, launch) && !IsGiven(launch.options, "--require-cuda"))
    line += " --require-cuda";
  const bool address_given = IsGiven(launch.options, "--listen") || IsGiven(launch.options, "--interface");
  if (!site.interface.empty() && !address_given)
    line += " --interface " + site.interface;
  else if (site.scheduler == SchedulerKind::kLsf && !address_given)
    line += " --listen 0.0.0.0";  // under Slurm it does so by itself
  if (!site.ports.empty() && !IsGiven(launch.options, "--port")) line += " --port " + site.ports;
  if (!site.scratch.empty() && !IsGiven(launch.options, "--scratch"))
    if (const auto scratch = Filled(site.scratch, values)) line += " --scratch \"" + *scratch + "\"";
  for (const std::string& option : launch.options) line += " " + ShellQuoted(option);
  return line + "\n";
}

}  // namespace

bool IsGiven(const std::vector<std::string>& words, const std::string& option) {
  return std::any_of(words.begin(), words.end(),
                     [&](const std::string& word) { return word.substr(0, word.find('=')) == option; });
}

absl::StatusOr<std::string> RenderScript(const Site& site, const AllocationPlan& plan, const Launch& launch) {
  if (const absl::Status status = CheckLaunch(site, launch); !status.ok()) return status;
  const TemplateValues values = ValuesOf(site, plan);
  std::string script = site.login_shell ? "#!/bin/bash -l\n" : "#!/bin/bash\n";
  script += Head(site, plan, launch, values) + "\n";
  if (const std::string body = Body(site, values); !body.empty()) script += body + "\n";
  return script + LastLine(site, plan, launch, values);
}

std::string JobIdPlaceholder(const Site& site) { return site.scheduler == SchedulerKind::kSlurm ? "%j" : "%J"; }

std::string OutputFile(const Site& site, const std::string& directory, const std::optional<std::string>& job) {
  std::string folder = directory;
  if (!job && site.scheduler == SchedulerKind::kSlurm) {  // a percent sign of the folder's own, to Slurm
    folder.clear();
    for (const char c : directory) folder += c == '%' ? std::string("%%") : std::string(1, c);
  }
  return folder + "/logs/" + Word(site.scheduler) + "-" + job.value_or(JobIdPlaceholder(site)) + ".out";
}

std::string Word(SchedulerKind scheduler) { return scheduler == SchedulerKind::kSlurm ? "slurm" : "lsf"; }

std::string Word(SiteStatus status) {
  switch (status) {
    case SiteStatus::kGoing:
      return "going";
    case SiteStatus::kRetired:
      return "retired";
    case SiteStatus::kActive:
      break;
  }
  return "active";
}

}  // namespace hotplate::cli
