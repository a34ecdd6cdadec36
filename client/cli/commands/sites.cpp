// hotplate sites: the centres for which up can write a batch script, and their GPUs.
#include <algorithm>

#include "client/cli/commands.h"
#include "client/cli/sites/site.h"
#include "client/cli/terminal/json.h"
#include "client/cli/terminal/table.h"
#include "kernels/base/quantity.h"

namespace hotplate::cli {
namespace {

std::vector<std::string> CountWords(const GpuOffer& offer) {
  std::vector<std::string> words;
  for (const int count : offer.per_node) words.push_back(std::to_string(count));
  return words;
}

// "up to 8", "1", "2 or 6 (whole nodes)".
std::string HowMany(const GpuOffer& offer) {
  if (offer.Most() <= 1) return std::to_string(offer.Most()) + (offer.whole_nodes ? " (whole nodes)" : "");
  if (offer.whole_nodes) return Join(CountWords(offer), " or ") + " (whole nodes)";
  std::string text = "up to " + std::to_string(offer.Most());
  if (offer.per_node.size() > 1) text += " (nodes of " + Join(CountWords(offer), " and ") + ")";
  return text;
}

std::string TypeWord(const GpuOffer& offer) {
  return offer.type.empty() ? "(any)" : offer.type == "*" ? "(as named)" : offer.type;
}

// The types that can be used, each once.
std::string Types(const Site& site) {
  std::vector<std::string> types;
  for (const GpuOffer& offer : site.offers)
    if (offer.refused.empty() && !offer.type.empty() &&
        std::find(types.begin(), types.end(), TypeWord(offer)) == types.end())
      types.push_back(TypeWord(offer));
  return types.empty() ? "-" : Join(types, " ");
}

std::vector<std::string> DirectiveTexts(const std::vector<DirectiveTemplate>& directives) {
  std::vector<std::string> texts;
  for (const DirectiveTemplate& directive : directives)
    texts.push_back(directive.text + (directive.when.empty() ? "" : "  (only with --" + directive.when + ")"));
  return texts;
}

std::string Truth(bool flag) { return flag ? "true" : "false"; }

std::string OfferJson(const GpuOffer& offer) {
  return JsonObject()
      .Text("type", offer.type)
      .Text("partition", offer.partition)
      .Raw("perNode", JsonArray(CountWords(offer)))
      .Raw("wholeNodes", Truth(offer.whole_nodes))
      .Text("computeCapability", offer.compute_capability)
      .Text("note", offer.note)
      .Text("refused", offer.refused)
      .Raw("directives", JsonTexts(DirectiveTexts(offer.directives)))
      .Json();
}

std::string SiteJson(const Site& site) {
  std::vector<std::string> offers;
  for (const GpuOffer& offer : site.offers) offers.push_back(OfferJson(offer));
  const std::string longest = site.longest_time ? std::to_string(site.longest_time->count()) : "null";
  return JsonObject()
      .Text("name", site.name)
      .Text("title", site.title)
      .Text("scheduler", Word(site.scheduler))
      .Text("cluster", site.cluster)
      .Text("status", Word(site.status))
      .Text("statusNote", site.status_note)
      .Text("source", site.source)
      .Text("checkedOn", site.checked_on)
      .Text("checked", site.checked)
      .Raw("account", JsonObject()
                          .Raw("required", Truth(site.account.required))
                          .Text("pattern", site.account.pattern)
                          .Text("example", site.account.example)
                          .Text("default", site.account.fallback)
                          .Json())
      .Raw("defaultSeconds", std::to_string(site.default_time.count()))
      .Raw("longestSeconds", longest)
      .Raw("directives", JsonTexts(DirectiveTexts(site.directives)))
      .Raw("gpus", JsonArray(offers))
      .Raw("modules", JsonTexts(site.modules))
      .Raw("firstModule", JsonTexts(site.first_module))
      .Raw("exports", JsonTexts(site.exports))
      .Raw("launcher", JsonTexts(site.launcher))
      .Text("scratch", site.scratch)
      .Text("cache", site.cache)
      .Text("ports", site.ports)
      .Text("interface", site.interface)
      .Raw("homeWritable", Truth(site.home_writable))
      .Raw("loginShell", Truth(site.login_shell))
      .Text("origin", site.origin)
      .Json();
}

std::string AccountText(const AccountRule& account) {
  std::string text = account.required ? "required" : "if you have several projects, or the site requires one";
  if (!account.fallback.empty()) text = account.fallback + " by default";
  if (!account.example.empty()) text += ", as in --account " + account.example;
  return text;
}

// A command line that CheckRequest accepts.
std::string ExampleLine(const Site& site) {
  std::string line = "hotplate up --site " + site.name;
  if (site.account.required && site.account.fallback.empty()) line += " --account " + site.account.example;
  const auto usable = [](const GpuOffer& offer) { return offer.refused.empty(); };
  const auto offer = std::find_if(site.offers.begin(), site.offers.end(), usable);
  if (offer == site.offers.end()) return line;
  if (!offer->type.empty() && offer->type != "*") line += " --gpu-type " + offer->type;
  const int gpus = offer->whole_nodes ? offer->Most() : 1;
  return line + " --gpus " + std::to_string(gpus) + " --time 30m --dry-run";
}

std::string Facts(const Site& site) {
  Table table;
  table.Indent(2);
  const auto row = [&](const std::string& name, const std::string& text) {
    if (!text.empty()) table.Row({name, text});
  };
  const auto with = [](const std::string& text, const std::string& more) {
    return more.empty() ? text : text + ": " + more;
  };
  row("status", with(Word(site.status), site.status_note));
  row("scheduler",
      std::string(site.scheduler == SchedulerKind::kSlurm ? "Slurm" : "LSF (not tested on a real cluster)") +
          (site.cluster.empty() ? "" : ", cluster " + site.cluster));
  row("account", AccountText(site.account));
  row("time", DurationText(site.default_time) + " unless you say another" +
                  (site.longest_time ? ", at most " + DurationText(*site.longest_time) : ""));
  row("modules", Join(site.modules, " "));
  row("first module", Join(site.first_module, " or "));
  row("launcher", Join(site.launcher, " "));
  row("scratch", site.scratch);
  row("cache", site.cache);
  row("exports", Join(site.exports, " "));
  row("ports", site.ports);
  row("interface", site.interface);
  row("home", site.home_writable ? "" : "cannot be written to from compute nodes: set HOTPLATE_DIR");
  row("source", site.source);
  row("checked", site.checked_on.empty() ? "" : with(site.checked_on, site.checked));
  row("profile", site.origin);
  return table.Text();
}

std::string OfferNote(const GpuOffer& offer) {
  if (!offer.refused.empty()) return "refused: " + offer.refused;
  if (offer.compute_capability != "7.0") return offer.note;
  return "needs the CUDA 12 plug-in" + (offer.note.empty() ? "" : "; " + offer.note);
}

// Directives and the command are not wrapped, so that they can be copied.
std::string SitePage(const Site& site, int width) {
  Table gpus({"TYPE", "PARTITION", "ON ONE NODE", "COMPUTE", "NOTE"});
  gpus.Indent(2);
  for (const GpuOffer& offer : site.offers) {
    const std::string partition = offer.partition.empty()  ? "-"
                                  : offer.partition == "*" ? "(as named)"
                                                           : offer.partition;
    gpus.Row({TypeWord(offer), partition, offer.refused.empty() ? HowMany(offer) : "none",
              offer.compute_capability.empty() ? "-" : offer.compute_capability, OfferNote(offer)});
  }
  std::string directives;
  for (const std::string& directive : DirectiveTexts(site.directives)) directives += "  " + directive + "\n";
  for (const GpuOffer& offer : site.offers)
    for (const std::string& directive : DirectiveTexts(offer.directives))
      if (offer.refused.empty())
        directives += "  " + directive + (offer.type.empty() ? "  (without a type)" : "  (for a type)") + "\n";
  return site.name + "   " + site.title + "\n\n" + Fitted(Facts(site), width) + "\nGPUs\n" +
         Fitted(gpus.Text(), width) + "\nDirectives\n" + directives + "\nExample\n  " + ExampleLine(site) + "\n";
}

absl::Status ListSites(const Invocation& call) {
  const std::vector<std::string> names = SiteNames(call.environment);
  std::vector<std::string> json;
  // Where they are from, once not all are built in.
  std::vector<std::vector<std::string>> rows = {{"SITE", "WHERE", "SCHEDULER", "STATUS", "GPU TYPES", "PROFILE"}};
  bool all_built_in = true;
  absl::Status broken;
  for (const std::string& name : names) {
    const auto site = FindSite(name, call.environment);
    all_built_in = all_built_in && site.ok() && site->origin == "built in";
    if (!site.ok()) {  // still show the others
      broken = broken.ok() ? site.status() : broken;
      rows.push_back({name, "(its profile is not valid)", "-", "-", "-", "-"});
      continue;
    }
    rows.push_back({name, site->title, Word(site->scheduler), Word(site->status), Types(*site), site->origin});
    json.push_back(SiteJson(*site));
  }
  if (all_built_in)
    for (std::vector<std::string>& row : rows) row.pop_back();
  Table table(rows.front());
  for (std::size_t i = 1; i < rows.size(); ++i) table.Row(rows[i]);
  call.output.Answer([&] { return table.Text(WidthOf(call.console)) + "\none in detail: hotplate sites NAME\n"; },
                     [&] { return JsonObject().Raw("sites", JsonArray(json)).Json(); }, Join(names, "\n"));
  return broken;
}

absl::Status Sites(const Invocation& call) {
  if (call.arguments.words().empty()) return ListSites(call);
  const auto site = FindSite(call.arguments.words()[0], call.environment);
  if (!site.ok()) return site.status();
  call.output.Answer([&] { return SitePage(*site, WidthOf(call.console)); }, [&] { return SiteJson(*site); },
                     site->name);
  return absl::OkStatus();
}

}  // namespace

Command SitesCommand() {
  return {
      .name = "sites",
      .group = Group::kDaemon,
      .summary = "list the sites that up knows, and what each offers",
      .details =
          "Works without a daemon. Add or replace a profile with a file ~/.config/hotplate/sites/NAME.toml;\n"
          "$HOTPLATE_SITES is a folder of profiles for all users of a site. A profile decides what runs in your\n"
          "name, so one that others could write is refused. The page hotplate help sites lists its keys.",
      .example = "hotplate sites hpc2n",
      .positionals = {{.name = "NAME", .help = "show everything about this site", .minimum = 0, .offer = Offer::kSite}},
      .works_anywhere = true,
      .run = Sites};
}

}  // namespace hotplate::cli
