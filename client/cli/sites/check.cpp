// Checks a request against a site's profile.
#include <algorithm>
#include <cctype>
#include <iterator>
#include <sstream>

#include "client/cli/arguments.h"
#include "client/cli/ending.h"
#include "client/cli/sites/site.h"
#include "client/cli/sites/template.h"
#include "client/cli/sites/words.h"
#include "client/lib/endpoint.h"
#include "kernels/array/quoted.h"
#include "kernels/base/nearest_names.h"
#include "kernels/base/quantity.h"

namespace hotplate::cli {
namespace {

constexpr std::chrono::seconds kLongest = std::chrono::hours(24 * 366);
constexpr std::size_t kMostDirectives = 64;
constexpr int kMostCores = 4096;

// Directives that are not the user's to give: up sets them, or asks for them by an option of its own.
struct OwnDirective {
  const char* letters;  // of short options; for LSF whole words, with blanks around each
  std::vector<std::string> names;
  const char* instead;
};
constexpr char kOutputIsOurs[] = "up sets the output file; hotplate logs shows it";
constexpr char kSignalIsOurs[] = "up requests the signal that ends the daemon in time";
constexpr char kOneDaemon[] = "it would start several daemons; call up several times";
constexpr char kOneNode[] = "up starts one daemon on one node";
constexpr char kWaitIsOurs[] = "up waits by itself, for the daemon and not for the end of the job";

const std::vector<OwnDirective>& OwnOfSlurm() {
  static const std::vector<OwnDirective> own = {
      {"oe", {"output", "error", "open-mode"}, kOutputIsOurs},
      {"", {"signal"}, kSignalIsOurs},
      {"a", {"array"}, kOneDaemon},
      {"N", {"nodes"}, kOneNode},
      {"J", {"job-name"}, "say --name"},
      {"t", {"time"}, "say --time"},
      {"W", {"wait"}, kWaitIsOurs},
      {"M", {"clusters"}, "set it in a profile: cluster = \"NAME\""},
      {"", {"test-only"}, "up does this by itself; --dry-run shows the script"},
      {"hV", {"help", "usage", "version", "wrap"}, "up writes the script"},
  };
  return own;
}
const std::vector<OwnDirective>& OwnOfLsf() {
  static const std::vector<OwnDirective> own = {
      {" -o -e -oo -eo ", {}, kOutputIsOurs},
      {" -wa -wt ", {}, kSignalIsOurs},
      {" -nnodes ", {}, kOneNode},
      {" -J ", {}, "say --name"},
      {" -W ", {}, "say --time"},
      {" -K -I -Ip -Is -IS -ISp -ISs -IX ", {}, kWaitIsOurs},
  };
  return own;
}

// sbatch takes a value behind its letter (-N2), letters without one in a row (-HN2), and any beginning of a long name
// that is not another's too (--arr=1-3).
bool Names(const OwnDirective& own, const std::string& word) {
  if (word.size() < 2 || word[0] != '-') return false;
  if (word[1] == '-') {
    const std::string name = word.substr(2, word.find('=') - std::min<std::size_t>(2, word.find('=')));
    return !name.empty() && std::any_of(own.names.begin(), own.names.end(),
                                        [&](const std::string& full) { return full.rfind(name, 0) == 0; });
  }
  const std::string letters = own.letters, without_value = "hHIkOQsuvVW";
  for (const char letter : word.substr(1)) {
    if (letters.find(letter) != std::string::npos) return true;
    if (without_value.find(letter) == std::string::npos) return false;  // the rest is its value
  }
  return false;
}

// The words of a directive. Quotes are dropped, so that none hides a word; words in a quoted value count too.
std::vector<std::string> DirectiveWords(std::string directive) {
  std::erase_if(directive, [](char c) { return c == '"' || c == '\'' || c == '\\'; });
  std::vector<std::string> words;
  std::istringstream stream(directive);
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

absl::Status Refused(const Site& site, const std::string& what) {
  return WithNextStep(absl::InvalidArgumentError(what), "hotplate sites " + site.name);
}

// The offers' words, without repetition and in order.
std::vector<std::string> Different(const std::vector<GpuOffer>& offers, std::string GpuOffer::*word) {
  std::vector<std::string> words;
  for (const GpuOffer& offer : offers)
    if (const std::string& value = offer.*word;
        !value.empty() && value != "*" && std::find(words.begin(), words.end(), value) == words.end())
      words.push_back(value);
  return words;
}

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// ". Nearest: A100", ignoring case; empty if nothing is near.
std::string NearestOr(const std::string& word, const std::vector<std::string>& all) {
  const std::vector<std::string> nearest = NearestNames(word, all);
  return nearest.empty() ? "" : ". Nearest: " + Join(nearest, ", ");
}

std::string CountsOf(const GpuOffer& offer) {
  std::vector<std::string> counts;
  for (const int count : offer.per_node) counts.push_back(std::to_string(count));
  if (counts.size() == 1) return counts[0];
  const std::string last = counts.back();
  counts.pop_back();
  return Join(counts, ", ") + " or " + last;
}

bool Allows(const GpuOffer& offer, int gpus) {
  if (offer.whole_nodes) return std::find(offer.per_node.begin(), offer.per_node.end(), gpus) != offer.per_node.end();
  const bool none = offer.per_node.front() == 0;
  return gpus >= (none ? 0 : 1) && gpus <= offer.Most();
}

absl::Status CheckAccount(const Site& site, AllocationRequest& request) {
  const std::string like = site.account.example.empty() ? "" : "; as in " + site.account.example;
  if (request.account.empty()) request.account = site.account.fallback;
  if (request.account.empty()) {
    if (!site.account.required) return absl::OkStatus();
    return Refused(site, site.name + " needs a project: --account" +
                             (site.account.example.empty() ? "" : ", as in --account " + site.account.example));
  }
  if (!IsAccount(request.account))
    return Refused(site, "--account: " + Quoted(request.account) +
                             " cannot stand in a batch script: leave out quotes, \\, ` and $, line breaks and other "
                             "control characters" +
                             like);
  return absl::OkStatus();
}

// The offers of the requested type. Without a request: those without a type, or of the only type.
absl::StatusOr<std::vector<GpuOffer>> OffersOfType(const Site& site, const std::string& type) {
  std::vector<GpuOffer> offers, usable;
  std::copy_if(site.offers.begin(), site.offers.end(), std::back_inserter(usable),
               [](const GpuOffer& offer) { return offer.refused.empty(); });
  const std::vector<std::string> types = Different(usable, &GpuOffer::type);
  if (type.empty()) {
    std::copy_if(usable.begin(), usable.end(), std::back_inserter(offers),
                 [](const GpuOffer& offer) { return offer.type.empty(); });
    if (!offers.empty()) return offers;
    if (types.size() != 1)
      return Refused(site, site.name + " needs to know which GPUs: --gpu-type " + Join(types, ", "));
    return OffersOfType(site, types[0]);
  }
  if (!IsWord(type))
    return Refused(site, "--gpu-type: " + Quoted(type) + " cannot be a type; " + site.name + " has " +
                             (types.empty() ? "no types to choose from" : Join(types, ", ")));
  for (const GpuOffer& offer : site.offers)
    if (Lower(offer.type) == Lower(type)) offers.push_back(offer);
  if (offers.empty())
    for (const GpuOffer& offer : site.offers)
      if (offer.type == "*") {
        offers.push_back(offer);
        offers.back().type = type;
      }
  if (!offers.empty()) return offers;
  if (types.empty())
    return Refused(site, "--gpu-type: " + Quoted(type) + " cannot be asked for: " + site.name +
                             " has one kind of GPU, and no types to choose from");
  return Refused(site, "--gpu-type: " + site.name + " has no " + Quoted(type) + NearestOr(type, types) + "; it has " +
                           Join(types, ", "));
}

// A partition whose GPUs are all refused, requested without a type: gives the reason.
absl::Status CheckRefusedPartition(const Site& site, const AllocationRequest& request) {
  if (!request.gpu_type.empty() || request.partition.empty()) return absl::OkStatus();
  const GpuOffer* refused = nullptr;
  for (const GpuOffer& offer : site.offers) {
    if (offer.partition != request.partition && offer.partition != "*") continue;
    if (offer.refused.empty()) return absl::OkStatus();
    refused = &offer;
  }
  if (!refused) return absl::OkStatus();
  return Refused(site, site.name + ": " + (refused->type.empty() ? "GPUs" : refused->type) + " in " +
                           request.partition + " cannot be used: " + refused->refused);
}

// The first of the offers of a type that is of the partition and has as many GPUs.
absl::StatusOr<GpuOffer> Choose(const Site& site, const AllocationRequest& request) {
  if (const absl::Status status = CheckRefusedPartition(site, request); !status.ok()) return status;
  auto offers = OffersOfType(site, request.gpu_type);
  if (!offers.ok()) return offers.status();
  const std::string what = offers->front().type.empty() ? "GPUs" : offers->front().type;
  if (!request.partition.empty()) {
    if (!IsWord(request.partition))
      return Refused(site, "--partition: " + Quoted(request.partition) + " is not a valid partition name");
    const std::vector<std::string> partitions = Different(*offers, &GpuOffer::partition);
    std::erase_if(
        *offers, [&](const GpuOffer& offer) { return offer.partition != "*" && offer.partition != request.partition; });
    if (offers->empty() && partitions.empty())
      return Refused(site, "--partition: " + Quoted(request.partition) + " is not needed: " + site.name +
                               " chooses the partition");
    if (offers->empty())
      return Refused(site, "--partition: " + site.name + " has no " + what + " in " + Quoted(request.partition) +
                               NearestOr(request.partition, partitions) + "; they are in " + Join(partitions, ", "));
  }
  if (const GpuOffer& first = offers->front(); !first.refused.empty())
    return Refused(site, site.name + ": " + what + " cannot be used: " + first.refused);
  std::erase_if(*offers, [](const GpuOffer& offer) { return !offer.refused.empty(); });
  for (GpuOffer& offer : *offers)
    if (Allows(offer, request.gpus)) {
      if (!request.partition.empty()) offer.partition = request.partition;
      if (offer.partition == "*") offer.partition.clear();
      return offer;
    }
  std::vector<std::string> counts;
  for (const GpuOffer& offer : *offers)
    counts.push_back(std::string(offer.whole_nodes ? "whole nodes of " : "nodes of ") + CountsOf(offer) +
                     (offer.partition.empty() || offer.partition == "*" ? "" : " in " + offer.partition));
  return Refused(site, "--gpus: you asked for " + std::to_string(request.gpus) + " " + what + " on one node; " +
                           site.name + " has " + Join(counts, ", "));
}

// "7.0" as 70.
int CapabilityNumber(const std::string& text) {
  const std::size_t dot = text.find('.');
  return dot == std::string::npos ? 0 : std::stoi(text.substr(0, dot)) * 10 + std::stoi(text.substr(dot + 1));
}

// Checks that the plug-ins have device code for the GPU.
absl::Status CheckCapability(const Site& site, AllocationPlan& plan) {
  const int capability = CapabilityNumber(plan.offer.compute_capability);
  const std::string which = plan.offer.type + " has compute capability " + plan.offer.compute_capability;
  if (capability == 0 || capability >= 75) return absl::OkStatus();
  if (capability < 70) return Refused(site, site.name + ": " + which + "; Hotplate needs 7.0 or newer");
  plan.warnings.push_back(which + "; it needs the CUDA 12 plug-in, libhotplate_cuda12.so, beside hotplated");
  return absl::OkStatus();
}

absl::Status CheckTime(const Site& site, AllocationPlan& plan) {
  plan.time = site.default_time;
  if (!plan.request.time.empty()) {
    const auto time = ParseTimeLimit(plan.request.time);
    if (!time.ok()) return UsageError("--time: " + std::string(time.status().message()));
    plan.time = *time;
  }
  const std::string asked = plan.request.time.empty() ? "the profile's default of " + DurationText(plan.time)
                                                      : "--time: " + Quoted(plan.request.time);
  if (plan.time < kShortestTime) return Refused(site, asked + " is less than a minute");
  if (site.longest_time && plan.time > *site.longest_time)
    return Refused(site, asked + " is longer than " + site.name + " allows: " + DurationText(*site.longest_time));
  return absl::OkStatus();
}

absl::Status CheckDirectives(const Site& site, const std::vector<std::string>& directives) {
  if (directives.size() > kMostDirectives)
    return Refused(site, std::to_string(directives.size()) + " directives are too many; the limit is " +
                             std::to_string(kMostDirectives));
  for (const std::string& directive : directives) {
    if (!IsDirective(directive))
      return Refused(site, Quoted(directive) +
                               " is not a directive; a directive is one line that begins with -, such as --qos=high");
    const bool slurm = site.scheduler == SchedulerKind::kSlurm;
    for (const std::string& word : DirectiveWords(directive))
      for (const OwnDirective& own : slurm ? OwnOfSlurm() : OwnOfLsf())
        if (slurm ? Names(own, word) : std::string(own.letters).find(" " + word + " ") != std::string::npos)
          return Refused(site, Quoted(directive) + " is not yours to set: " + (word == directive ? "" : word + ": ") +
                                   own.instead);
  }
  return absl::OkStatus();
}

// Refuses options for which the script has no line.
absl::Status CheckPlaces(const Site& site, const AllocationPlan& plan) {
  std::vector<std::string> mentioned;
  const auto mention = [&](const std::vector<DirectiveTemplate>& directives) {
    for (const DirectiveTemplate& directive : directives) {
      for (const std::string& name : NamesIn(directive.text).value_or(std::vector<std::string>()))
        mentioned.push_back(name);
      mentioned.push_back(directive.when);
    }
  };
  mention(site.directives);
  mention(plan.offer.directives);
  for (const std::string& word : site.launcher)
    for (const std::string& name : NamesIn(word).value_or(std::vector<std::string>())) mentioned.push_back(name);
  const auto has_place = [&](const char* name) {
    return std::find(mentioned.begin(), mentioned.end(), name) != mentioned.end();
  };
  const auto refused = [&](const std::string& option) {
    return Refused(site, option + " is not possible: " + site.name + " has no directive for it");
  };
  const AllocationRequest& request = plan.request;
  if (!request.account.empty() && !has_place("account")) return refused("--account " + request.account);
  if (request.cpus > 0 && !has_place("cpus")) return refused("--cpus " + std::to_string(request.cpus));
  if (!request.memory.empty() && !has_place("memory")) return refused("--memory " + request.memory);
  if (request.exclusive && !has_place("exclusive")) return refused("--exclusive");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<AllocationPlan> CheckRequest(const Site& site, const AllocationRequest& request) {
  AllocationPlan plan;
  plan.request = request;
  if (!request.name.empty() && (!client::IsServerName(request.name) || request.name[0] == '-'))
    return Refused(
        site, "--name: " + Quoted(request.name) + " is not a valid daemon name; use letters, digits, '.', '_' and '-'");
  if (const absl::Status status = CheckAccount(site, plan.request); !status.ok()) return status;
  auto offer = Choose(site, request);
  if (!offer.ok()) return offer.status();
  plan.offer = *std::move(offer);
  if (const absl::Status status = CheckTime(site, plan); !status.ok()) return status;
  if (request.cpus < 0 || request.cpus > kMostCores)
    return Refused(site, "--cpus: " + std::to_string(request.cpus) + " is not a number of cores from 1 to " +
                             std::to_string(kMostCores));
  if (!request.memory.empty() && !IsMemory(request.memory))
    return Refused(site, "--memory: " + Quoted(request.memory) + " is not a size such as 64G; units are K, M, G and T");
  if (const absl::Status status = CheckDirectives(site, request.directives); !status.ok()) return status;
  if (const absl::Status status = CheckPlaces(site, plan); !status.ok()) return status;

  // Centres give out names that no profile foresaw; the scheduler knows which ones there are.
  if (const std::string& account = plan.request.account; !account.empty() && !Matches(account, site.account.pattern))
    plan.warnings.push_back("--account " + Quoted(account) + " does not look like a project of " + site.name +
                            (site.account.example.empty() ? "" : " (" + site.account.example + ")"));
  if (site.status != SiteStatus::kActive)
    plan.warnings.push_back(site.name + " is " + Word(site.status) +
                            (site.status_note.empty() ? "" : ": " + site.status_note));
  if (const absl::Status status = CheckCapability(site, plan); !status.ok()) return status;
  if (!plan.offer.note.empty()) plan.warnings.push_back(plan.offer.note);
  return plan;
}

absl::StatusOr<std::chrono::seconds> ParseTimeLimit(const std::string& text) {
  const absl::Status wrong =
      UsageError(Quoted(text) + " is not a time limit; write 30m, 2h, 1h30m, 01:30:00 or 1-00:00:00 (a day)");
  const bool digits_only = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  if (digits_only)
    return UsageError(Quoted(text) + " is not a time limit without a unit: write " + (text.size() < 7 ? text : "30") +
                      "m for minutes, or 00:30:00");
  if (text.size() > 32) return wrong;
  const std::size_t dash = text.find('-');
  if (text.find(':') == std::string::npos && dash == std::string::npos) {
    const auto span = ParseDuration(text);
    if (!span || span->count() <= 0 || *span > kLongest) return wrong;
    return std::chrono::ceil<std::chrono::seconds>(*span);
  }
  // [D-]H[:M[:S]]: without days all three parts, since two would be hours and minutes to some schedulers, minutes and
  // seconds to others.
  std::vector<std::int64_t> parts(1);
  const std::string days = dash == std::string::npos ? "0" : text.substr(0, dash);
  std::size_t digits = 0;
  for (const char c : dash == std::string::npos ? text : text.substr(dash + 1)) {
    if (c == ':' && digits > 0) {
      parts.push_back(0);
      digits = 0;
    } else if (c >= '0' && c <= '9' && ++digits <= 4) {
      parts.back() = parts.back() * 10 + (c - '0');
    } else {
      return wrong;
    }
  }
  if (digits == 0 || parts.size() > 3 || (dash == std::string::npos && parts.size() != 3)) return wrong;
  if (days.empty() || days.size() > 3 || days.find_first_not_of("0123456789") != std::string::npos) return wrong;
  parts.resize(3);
  if (parts[1] > 59 || parts[2] > 59) return wrong;
  const std::chrono::seconds time((std::stoi(days) * std::int64_t{24} + parts[0]) * 3600 + parts[1] * 60 + parts[2]);
  if (time.count() == 0 || time > kLongest) return wrong;
  return time;
}

}  // namespace hotplate::cli
