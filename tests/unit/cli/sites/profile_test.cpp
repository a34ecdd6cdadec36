// Profiles as files: what is wrong is told with file, line and key; users' files come before those built in.
#include "client/cli/sites/profile.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <random>

#include "client/cli/app.h"
#include "client/cli/ending.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"
#include "tests/temporary_folder.h"

namespace hotplate::cli {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr char kGood[] =
    "directives = [\"--time={time}\", \"--gpus={gpus}\"]\n"
    "[[gpu]]\n"
    "per_node = [4]\n";

absl::StatusOr<Site> Parse(const std::string& text) {
  return ParseProfile(text, "mine", "mine.toml",
                      [](const std::string& name) { return FindSite(name, [](const auto&) { return std::nullopt; }); });
}

std::string Wrong(const std::string& text) {
  const auto site = Parse(text);
  if (site.ok()) return "(accepted)";
  EXPECT_EQ(ExitCodeOf(site.status()), kExitUsage);
  return std::string(site.status().message());
}

TEST(ProfileTest, LittleIsEnough) {
  const auto site = Parse(kGood);
  ASSERT_TRUE(site.ok()) << site.status();
  EXPECT_EQ(site->name, "mine");
  EXPECT_EQ(site->scheduler, SchedulerKind::kSlurm);
  EXPECT_EQ(site->status, SiteStatus::kActive);
  EXPECT_FALSE(site->account.required);
  EXPECT_TRUE(CheckRequest(*site, {.gpus = 4}).ok());
}

TEST(ProfileTest, UnknownKeysAreToldWithTheNearest) {
  EXPECT_THAT(Wrong("\nmoduels = [\"CUDA\"]\n" + std::string(kGood)),
              HasSubstr("mine.toml:2: no key \"moduels\". Nearest: modules"));
  EXPECT_THAT(Wrong(std::string(kGood) + "per_nodes = [1]\n"), HasSubstr("mine.toml:4: no key \"gpu.per_nodes\""));
  EXPECT_THAT(Wrong(std::string(kGood) + "[account]\nexampel = \"x\"\n"),
              HasSubstr("mine.toml:5: no key \"account.exampel\". Nearest: example"));
  EXPECT_THAT(Wrong(std::string(kGood) + "[time]\nmaximum = \"1h\"\n"), HasSubstr("there are: default, limit"));
}

TEST(ProfileTest, WrongTypesAndValuesAreToldWithLineAndKey) {
  const std::string good = kGood;
  const auto first = [&](const std::string& line) { return Wrong(line + "\n" + good); };
  EXPECT_THAT(first("title = 7"), HasSubstr("mine.toml:1: title must be a text in quotes"));
  EXPECT_THAT(first("title = \"a\\nb\""), HasSubstr("title is \"a\\x0ab\", and must be one line"));
  EXPECT_THAT(first("title = \"" + std::string(500, 'x') + "\""), HasSubstr("400 bytes"));
  EXPECT_THAT(first("scheduler = \"pbs\""), HasSubstr("mine.toml:1: scheduler must be one of slurm, lsf"));
  EXPECT_THAT(first("status = \"gone\""), HasSubstr("status must be one of active, going, retired"));
  EXPECT_THAT(first("checked_on = \"2026-11-21\""), HasSubstr("checked_on must be a date without quotes"));
  EXPECT_THAT(first("modules = \"CUDA\""), HasSubstr("modules must be a list"));
  EXPECT_THAT(first("modules = [\"CUDA; id\"]"), HasSubstr("modules is \"CUDA; id\", and must be a module's name"));
  EXPECT_THAT(first("modules = [\"a\\u0000b\"]"), HasSubstr("must be a module's name"));
  EXPECT_THAT(first("cluster = \"-x\""), HasSubstr("cluster is \"-x\""));
  EXPECT_THAT(first("ports = \"80-90\""), HasSubstr("ports is \"80-90\""));
  EXPECT_THAT(first("ports = \"40100-40000\""), HasSubstr("ports is"));
  EXPECT_THAT(first("interface = \"ib0;id\""), HasSubstr("interface is"));
  EXPECT_THAT(first("home_writable = 1"), HasSubstr("home_writable must be true or false"));
  EXPECT_THAT(first("scratch = \"$(id)\""), HasSubstr("scratch is \"$(id)\""));
  EXPECT_THAT(first("scratch = \"/a b\""), HasSubstr("scratch is"));
  EXPECT_THAT(first("scratch = \"/a/{user}\""), HasSubstr("scratch is"));
  EXPECT_THAT(first("launcher = [\"jsrun\", \"$(id)\"]"), HasSubstr("launcher is"));
  EXPECT_THAT(first("exports = {\"A B\" = \"x\"}"), HasSubstr("is not a variable's name"));
  EXPECT_THAT(first("exports = {A = \"`id`\"}"), HasSubstr("exports.A is \"`id`\""));
  EXPECT_THAT(first("account = \"x\""), HasSubstr("account must be a table"));
  EXPECT_THAT(first("account.pattern = \"(\""), HasSubstr("account.pattern is \"(\", and must be a POSIX"));
  EXPECT_THAT(first("time.default = 30"), HasSubstr("time.default must be a time in quotes"));
  EXPECT_THAT(first("time.limit = \"30\""), HasSubstr("time.limit must be a time in quotes"));
  EXPECT_THAT(first("= 1"), HasSubstr("mine.toml:1: "));
}

TEST(ProfileTest, DirectivesAreLinesWithKnownPlaceholders) {
  const auto with = [](const std::string& directives) {
    return Wrong("directives = [" + directives + "]\n[[gpu]]\nper_node = [4]\n");
  };
  EXPECT_THAT(with("\"--time={time}\", \"--gpus={gpu}\""), HasSubstr("mine.toml:1: directives is \"--gpus={gpu}\""));
  EXPECT_THAT(with("\"--time={time}\", \"--gpus={gpus\""), HasSubstr("directives is"));
  EXPECT_THAT(with("\"--time={time}\", \"--gpus=gpus}\""), HasSubstr("directives is"));
  EXPECT_THAT(with("\"time={time}\""), HasSubstr("must be one line that begins with -"));
  EXPECT_THAT(with("\"--time={time}\\nid\""), HasSubstr("directives is"));
  EXPECT_THAT(with("{directive = \"--exclusive\"}"), HasSubstr("must be {directive ="));
  EXPECT_THAT(with("{directive = \"--exclusive\", when = \"monday\"}"), HasSubstr("with one of account, partition"));
  EXPECT_THAT(with("{directive = \"--exclusive\", if = \"exclusive\"}"), HasSubstr("no key \"directives.if\""));
  EXPECT_THAT(with("\"--gpus={gpus}\""), HasSubstr("directives must set a time"));
  EXPECT_THAT(with("\"--time={time}\""), HasSubstr("nothing asks for the GPUs"));
}

TEST(ProfileTest, GpusMustMakeSense) {
  const auto with = [](const std::string& gpu) {
    return Wrong("directives = [\"--time={time}\", \"--gpus={gpus}\"]\n" + gpu);
  };
  EXPECT_THAT(with(""), HasSubstr("there is no [[gpu]]"));
  EXPECT_THAT(with("[gpu]\nper_node = [1]\n"), HasSubstr("gpu must be a list"));
  EXPECT_THAT(with("[[gpu]]\ntype = \"a100\"\n"), HasSubstr("of type \"a100\" has no per_node"));
  EXPECT_THAT(with("[[gpu]]\nper_node = [0]\n"), HasSubstr("has no per_node"));
  EXPECT_THAT(with("[[gpu]]\nper_node = [4, 2]\n"), HasSubstr("mine.toml:3: gpu.per_node must be ascending"));
  EXPECT_THAT(with("[[gpu]]\nper_node = [-1]\n"), HasSubstr("whole numbers from 0 to 64"));
  EXPECT_THAT(with("[[gpu]]\nper_node = [1.5]\n"), HasSubstr("whole numbers"));
  EXPECT_THAT(with("[[gpu]]\nper_node = [1]\ncompute_capability = \"9\"\n"), HasSubstr("compute_capability is \"9\""));
  EXPECT_EQ(with("[[gpu]]\ntype = \"mi100\"\nrefused = \"no CUDA\"\n"), "(accepted)");
}

TEST(ProfileTest, TheDefaultTimeIsOneThatCanBeAskedFor) {
  EXPECT_THAT(Wrong("time = {default = \"30s\"}\n" + std::string(kGood)),
              HasSubstr("time.default, 30 s, is less than a minute"));
  EXPECT_THAT(Wrong("time = {default = \"90m\", limit = \"45m\"}\n" + std::string(kGood)),
              HasSubstr("time.default, 1 h 30 m, is longer than time.limit, 45 m"));
}

TEST(ProfileTest, AccountsMatchTheirOwnPattern) {
  EXPECT_THAT(Wrong(std::string(kGood) + "[account]\npattern = \"[a-z]+\"\nexample = \"A1\"\n"),
              HasSubstr("account \"A1\" does not match account.pattern"));
}

TEST(ProfileTest, AHugeFileIsNoProfile) {
  EXPECT_THAT(Wrong(std::string(100'000, '#')), HasSubstr("100000 bytes is too large for a profile"));
  std::string many = "modules = [";
  for (int i = 0; i < 100; ++i) many += "\"m\",";
  EXPECT_THAT(Wrong(many + "]\n" + kGood), HasSubstr("more than 64 entries"));
}

TEST(ProfileTest, AnotherCanBeExtended) {
  const auto site = Parse("extends = \"hpc2n\"\nmodules = []\n[account]\ndefault = \"hpc2n2024-142\"\n");
  ASSERT_TRUE(site.ok()) << site.status();
  EXPECT_EQ(site->name, "mine");
  EXPECT_TRUE(site->modules.empty());
  EXPECT_EQ(site->account.example, "hpc2n2024-142") << "as it was";
  EXPECT_TRUE(CheckRequest(*site, {.gpu_type = "l40s"}).ok()) << "the account is known";
  EXPECT_EQ(site->offers.size(), 8u);
  const auto fewer = Parse("extends = \"hpc2n\"\n[[gpu]]\ntype = \"b200\"\nper_node = [8]\n");
  ASSERT_TRUE(fewer.ok()) << fewer.status();
  EXPECT_EQ(fewer->offers.size(), 1u);
  EXPECT_THAT(Wrong("extends = \"nowhere\"\n"), HasSubstr("mine.toml: extends \"nowhere\": no "));
}

class SitesTest : public testing::Test {
 protected:
  SitesTest() { umask(022); }  // profiles that a group may write are refused

  Environment Variables(std::map<std::string, std::string> variables = {}) const {
    variables.emplace("HOME", folder_.path());
    return [variables](const std::string& name) -> std::optional<std::string> {
      const auto found = variables.find(name);
      if (found == variables.end()) return std::nullopt;
      return found->second;
    };
  }

  struct Ran {
    int exit;
    std::string out, err;
  };
  Ran Hotplate(const std::vector<std::string>& words, const Environment& environment) const {
    std::ostringstream out, err;
    const int exit = RunHotplate(words, {out, err}, environment);
    return {exit, out.str(), err.str()};
  }
  Ran Hotplate(const std::vector<std::string>& words) const { return Hotplate(words, Variables()); }

  TemporaryFolder folder_;
};

TEST_F(SitesTest, UsersFilesComeFirst) {
  folder_.Write(".config/hotplate/sites/hpc2n.toml", "title = \"mine\"\n" + std::string(kGood));
  folder_.Write(".config/hotplate/sites/desk.toml", kGood);
  folder_.Write(".config/hotplate/sites/notes.txt", "no profile");
  EXPECT_EQ(FindSite("hpc2n", Variables())->title, "mine");
  EXPECT_EQ(FindSite("hpc2n", Variables())->origin, folder_.File(".config/hotplate/sites/hpc2n.toml"));
  EXPECT_EQ(FindSite("desk", Variables())->name, "desk");
  EXPECT_THAT(SiteNames(Variables()), ElementsAre("desk", "generic-slurm", "gwdg-scc", "hpc2n", "lunarc-cosmos",
                                                  "nsc-tetralith", "olcf-ascent", "surf-snellius", "uppmax-snowy"));
}

TEST_F(SitesTest, XdgConfigHomeTakesTheirPlaceAndTheSitesComeAfter) {
  folder_.Write("xdg/hotplate/sites/desk.toml", "title = \"xdg\"\n" + std::string(kGood));
  folder_.Write("site/desk.toml", "title = \"site\"\n" + std::string(kGood));
  folder_.Write("site/lab.toml", "title = \"site\"\n" + std::string(kGood));
  folder_.Write(".config/hotplate/sites/home.toml", kGood);
  const Environment environment =
      Variables({{"XDG_CONFIG_HOME", folder_.File("xdg")}, {"HOTPLATE_SITES", folder_.File("site")}});
  EXPECT_EQ(FindSite("desk", environment)->title, "xdg");
  EXPECT_EQ(FindSite("lab", environment)->title, "site");
  EXPECT_FALSE(FindSite("home", environment).ok());
}

TEST_F(SitesTest, ABrokenFileIsToldAndHindersNoOther) {
  const std::string path = folder_.Write(".config/hotplate/sites/desk.toml", "\n\nmodules = 7\n");
  const auto site = FindSite("desk", Variables());
  ASSERT_FALSE(site.ok());
  EXPECT_THAT(std::string(site.status().message()), StartsWith(path + ":3: modules must be a list"));
  EXPECT_TRUE(FindSite("hpc2n", Variables()).ok());
  std::filesystem::create_directories(folder_.File(".config/hotplate/sites/folder.toml"));
  EXPECT_FALSE(FindSite("folder", Variables()).ok());
  const Ran list = Hotplate({"sites"});
  EXPECT_EQ(list.exit, kExitUsage);
  EXPECT_THAT(list.out, AllOf(HasSubstr("desk"), HasSubstr("(its profile is not valid)"), HasSubstr("Kebnekaise"),
                              HasSubstr("built in\n")))
      << "where each is from, once one is not built in";
  EXPECT_THAT(list.err, HasSubstr("desk.toml:3"));
}

TEST_F(SitesTest, AProfileThatOthersMayWriteIsRefused) {
  const std::string path = folder_.Write(".config/hotplate/sites/desk.toml", kGood);
  folder_.Write(".config/hotplate/sites/hpc2n.toml", kGood);
  const std::string folder = folder_.File(".config/hotplate/sites");
  struct stat before {};
  for (const std::string& place : {path, folder}) {
    ASSERT_EQ(stat(place.c_str(), &before), 0);
    ASSERT_EQ(chmod(place.c_str(), before.st_mode | S_IWOTH), 0);
    const absl::Status status = FindSite("desk", Variables()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << status;
    EXPECT_THAT(std::string(status.message()), StartsWith(place + " can be written by everybody"));
    EXPECT_THAT(Hotplate({"sites", "desk"}).err, HasSubstr("chmod go-w " + place + "\n"));
    EXPECT_EQ(Hotplate({"sites", "desk"}).exit, kExitNotAllowed);
    EXPECT_EQ(FindSite("hpc2n", Variables()).ok(), place == path) << "none built in comes in its place unasked";
    ASSERT_EQ(chmod(place.c_str(), before.st_mode), 0);
  }
  EXPECT_TRUE(FindSite("desk", Variables()).ok());
}

TEST_F(SitesTest, OfGroupsOnlyTheOwnersPrivateOneMayWriteAProfile) {
  const std::string path = folder_.Write(".config/hotplate/sites/desk.toml", kGood);
  const std::string folder = folder_.File(".config/hotplate/sites");
  if (geteuid() != 0) GTEST_SKIP() << "only root can choose a file's group";
  for (const std::string& place : {path, folder}) {
    struct stat before {};
    ASSERT_EQ(stat(place.c_str(), &before), 0);
    ASSERT_EQ(chmod(place.c_str(), before.st_mode | S_IWGRP), 0);
    EXPECT_TRUE(FindSite("desk", Variables()).ok()) << "umask 002, and group 0 of user 0";
    if (chown(place.c_str(), 0, 12345) != 0) GTEST_SKIP() << "a namespace that has no other group";
    const absl::Status status = FindSite("desk", Variables()).status();
    EXPECT_THAT(std::string(status.message()), StartsWith(place + " can be written by its group"));
    ASSERT_EQ(chmod(place.c_str(), before.st_mode), 0);
    EXPECT_TRUE(FindSite("desk", Variables()).ok()) << "read by it alone";
  }
}

TEST_F(SitesTest, AProfileOfSomebodyElseIsRefused) {
  const std::string path = folder_.Write(".config/hotplate/sites/desk.toml", kGood);
  const std::string folder = folder_.File(".config/hotplate/sites");
  for (const std::string& place : {path, folder}) {
    if (chown(place.c_str(), 12345, 12345) != 0) GTEST_SKIP() << "only root can give a file away";
    const absl::Status status = FindSite("desk", Variables()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << status;
    EXPECT_THAT(std::string(status.message()), StartsWith(place + " belongs to user 12345, who is neither you"));
    ASSERT_EQ(chown(place.c_str(), 0, 0), 0);
  }
  EXPECT_TRUE(FindSite("desk", Variables()).ok());
}

TEST_F(SitesTest, ProfilesOfWhoOwnsTheFolderInTheEnvironmentAreTaken) {
  const std::string path = folder_.Write("site/lab.toml", kGood), folder = folder_.File("site");
  const Environment environment = Variables({{"HOTPLATE_SITES", folder}});
  for (const std::string& place : {folder, path})
    if (chown(place.c_str(), 12345, 12345) != 0) GTEST_SKIP() << "only root can give a file away";
  EXPECT_TRUE(FindSite("lab", environment).ok()) << "the centre's account for software";
  if (chown(path.c_str(), 23456, 23456) != 0) GTEST_SKIP() << "a namespace that has no other user";
  EXPECT_EQ(FindSite("lab", environment).status().code(), absl::StatusCode::kPermissionDenied);
}

TEST_F(SitesTest, AnUnknownSiteIsToldWithTheNearest) {
  const Ran ran = Hotplate({"sites", "hp2cn"});
  EXPECT_EQ(ran.exit, kExitInvalid);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("no site \"hp2cn\". Nearest: hpc2n"), HasSubstr("hotplate sites")));
  EXPECT_THAT(Hotplate({"sites", "moon"}).err, HasSubstr("there are: generic-slurm, gwdg-scc"));
  EXPECT_EQ(Hotplate({"sites", "../x"}).exit, kExitUsage);
}

TEST_F(SitesTest, TheTableNamesEverySiteWithItsTypes) {
  const Ran ran = Hotplate({"sites"});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(StartsWith("SITE"), HasSubstr("v100 a40 a6000 l40s a100 h100\n"), Not(HasSubstr("mi100")),
                             HasSubstr("retired"), HasSubstr("lsf")));
  EXPECT_EQ(Hotplate({"sites", "--quiet"}).out,
            "generic-slurm\ngwdg-scc\nhpc2n\nlunarc-cosmos\nnsc-tetralith\nolcf-ascent\nsurf-snellius\nuppmax-snowy\n");
  EXPECT_EQ(Hotplate({"sites"}, [](const std::string&) { return std::nullopt; }).exit, 0) << "also without a home";
}

TEST_F(SitesTest, APageSaysWhatOneWantsToKnowBeforeAsking) {
  const Ran ran = Hotplate({"sites", "hpc2n"});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_THAT(ran.out,
              AllOf(HasSubstr("https://docs.hpc2n.umu.se"), HasSubstr("2026-11-21"), HasSubstr("active"),
                    HasSubstr("--account hpc2n2024-142"), HasSubstr("at most"), HasSubstr("up to 6 (nodes of 2 and 6)"),
                    HasSubstr("refused: it is AMD's"), HasSubstr("needs the CUDA 12 plug-in"), HasSubstr("built in")));
  EXPECT_THAT(Hotplate({"sites", "olcf-ascent"}).out,
              AllOf(HasSubstr("not tested on a real cluster"), HasSubstr("jsrun"), HasSubstr("set HOTPLATE_DIR")));
}

TEST_F(SitesTest, APageFitsItsTerminal) {
  for (const std::string& name : SiteNames(Variables())) {
    std::ostringstream out, err;
    Console console{out, err};
    console.out_terminal = true;
    console.width = 80;
    ASSERT_EQ(RunHotplate({"sites", name}, console, Variables()), 0) << err.str();
    std::istringstream page(out.str());
    // Below the facts and the GPUs stands what can be copied.
    for (std::string line; std::getline(page, line) && line != "Directives";)
      EXPECT_TRUE(DisplayWidth(line) <= 80 || line.find("https://") != std::string::npos) << name << ": " << line;
  }
}

TEST_F(SitesTest, JsonIsOneObject) {
  google::protobuf::Struct all, one;
  const Ran list = Hotplate({"sites", "--json"});
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(list.out, &all).ok()) << list.out;
  EXPECT_EQ(all.fields().at("sites").list_value().values_size(), 8);
  const Ran page = Hotplate({"sites", "hpc2n", "--json"});
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(page.out, &one).ok()) << page.out;
  EXPECT_EQ(one.fields().at("account").struct_value().fields().at("example").string_value(), "hpc2n2024-142");
  EXPECT_EQ(one.fields().at("longestSeconds").number_value(), 604800);
  EXPECT_EQ(one.fields().at("gpus").list_value().values_size(), 8);
}

TEST_F(SitesTest, ShellsOfferThem) {
  for (const char* shell : {"bash", "zsh", "fish"})
    EXPECT_THAT(Hotplate({"completion", shell}).out, HasSubstr("hotplate sites --quiet")) << shell;
  EXPECT_THAT(Hotplate({"completion", "bash"}).out, HasSubstr("up:--site) offered_values=\"$(hotplate sites --quiet"));
}

// Files that were damaged on their way: refused, or still the profile of a script whose lines are lines.
TEST_F(SitesTest, DamagedFilesDoNoHarm) {
  std::minstd_rand random(20261121);
  int accepted = 0;
  for (const std::string& name : SiteNames(Variables())) {
    const std::string text = ReadText(std::string(HOTPLATE_SOURCE_DIR) + "/deploy/sites/" + name + ".toml");
    for (int round = 0; round < 250; ++round) {
      std::string damaged = text;
      for (int i = 0; i < 3; ++i) {
        const std::size_t at = random() % damaged.size();
        if (round % 3 == 0)
          damaged[at] = static_cast<char>(random() % 256);
        else if (round % 3 == 1)
          damaged.erase(at, 1 + random() % 8);
        else
          damaged.insert(at, 1, "\"'{}[]=,\n\\$`#."[random() % 15]);
      }
      const auto site =
          ParseProfile(damaged, "mine", "mine.toml", [](const auto&) { return absl::NotFoundError("-"); });
      if (!site.ok()) continue;
      const auto plan = CheckRequest(*site, {.account = "abc2024-22-142", .gpu_type = "a100"});
      if (!plan.ok()) continue;
      const auto script = RenderScript(
          *site, *plan,
          {.program = "/bin/hotplated", .directory = "/d", .output = OutputFile(*site, "/d", std::nullopt)});
      if (!script.ok()) continue;
      ++accepted;
      EXPECT_THAT(*script, testing::ContainsRegex("\nexec [^\n]*/bin/hotplated [^\n]*\n$"));
      std::string commands = script->substr(script->find("\n\n"));  // directives are comments to the shell
      const std::string loop =
          "; do\n  if module load \"$module\" 2>/dev/null; then echo \"loaded module $module\"; break; fi\ndone\n";
      if (const std::size_t at = commands.find(loop); at != commands.npos) commands.erase(at, loop.size());
      EXPECT_EQ(commands.find_first_of(std::string("`;&|<>()\0\r", 10)), std::string::npos) << *script;
    }
  }
  EXPECT_GT(accepted, 10) << "some damage is in comments";
}

// What every profile that comes with Hotplate must say.
TEST_F(SitesTest, ProfilesNameTheirSourceAndTheirCheck) {
  for (const std::string& name : SiteNames(Variables())) {
    const auto site = FindSite(name, Variables());
    ASSERT_TRUE(site.ok()) << site.status();
    EXPECT_THAT(site->source, StartsWith("https://")) << name;
    EXPECT_EQ(site->checked_on.size(), 10u) << name;
    EXPECT_NE(site->checked, "") << name;
    EXPECT_NE(site->title, "") << name;
    const std::string text = ReadText(std::string(HOTPLATE_SOURCE_DIR) + "/deploy/sites/" + name + ".toml");
    EXPECT_THAT(text, HasSubstr("\nstatus = \"" + Word(site->status) + "\""))
        << name << ": said, not left to the default";
    EXPECT_FALSE(site->scratch.empty() && text.find("# No scratch") == std::string::npos &&
                 text.find("# scratch = ") == std::string::npos)
        << name << ": says where arrays are saved, or why it does not";
    EXPECT_FALSE(site->account.required && site->account.example.empty()) << name;
    EXPECT_FALSE(site->status != SiteStatus::kActive && site->status_note.empty()) << name;
    for (const GpuOffer& offer : site->offers) {
      const bool named = offer.refused.empty() && !offer.type.empty() && offer.type != "*";
      EXPECT_FALSE(named && offer.compute_capability.empty()) << name << " " << offer.type;
    }
  }
}

}  // namespace
}  // namespace hotplate::cli
