// Each site's script as a whole, against a file that people read, and the directives that its centre documents.
//
// To write the files anew after a change: HOTPLATE_WRITE_GOLDEN=1 build/release/bin/sites_test, and read the diff.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

#include "client/cli/sites/site.h"
#include "client/cli/sites/words.h"
#include "tests/temporary_folder.h"
#include "tests/unit/cli/sites/built_in.h"

namespace hotplate::cli {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

const Environment kNoEnvironment = [](const std::string&) { return std::nullopt; };
const std::string kGolden = std::string(HOTPLATE_SOURCE_DIR) + "/tests/unit/cli/sites/golden";

Launch LaunchAt(const Site& site) {
  const std::string directory = site.home_writable ? "/home/ada/.hotplate" : "/gpfs/wolf/ada/hotplate";
  return {.program = "/home/ada/.local/bin/hotplated",
          .directory = directory,
          .home = "/home/ada",
          .output = OutputFile(site, directory, std::nullopt)};
}

std::string Script(const Site& site, const AllocationRequest& request) {
  const auto plan = CheckRequest(site, request);
  if (!plan.ok()) throw std::runtime_error(plan.status().ToString());
  const auto script = RenderScript(site, *plan, LaunchAt(site));
  if (!script.ok()) throw std::runtime_error(script.status().ToString());
  return *script;
}

struct Case {
  std::string file;  // in golden/; the site's name up to the first dot
  AllocationRequest request;
  std::vector<std::string> documented;  // lines that the centre or its courses show
};

std::vector<Case> Cases() {
  return {
      {"generic-slurm.any", {.gpus = 2, .time = "30m"}, {"#SBATCH --time=00:30:00", "#SBATCH --gres=gpu:2"}},
      {"generic-slurm.everything",
       {.account = "abc2026-42",
        .gpu_type = "a100",
        .partition = "gpu",
        .gpus = 1,
        .time = "1-12:00:00",
        .name = "morning",
        .cpus = 8,
        .memory = "64G",
        .exclusive = true,
        .directives = {"--qos=high", "--reservation=course"}},
       {"#SBATCH --account=abc2026-42", "#SBATCH --partition=gpu", "#SBATCH --gres=gpu:a100:1",
        "#SBATCH --time=1-12:00:00", "#SBATCH --exclusive", "#SBATCH --qos=high"}},
      {"gwdg-scc.any", {.gpus = 1, .time = "2h"}, {"#SBATCH -p gpu", "#SBATCH -G 1", "#SBATCH -t 02:00:00"}},
      {"gwdg-scc.rtx5000",
       {.gpu_type = "rtx5000", .gpus = 1, .time = "12h", .cpus = 8},
       {"#SBATCH -p gpu", "#SBATCH -G RTX5000:1", "#SBATCH -t 12:00:00", "#SBATCH -c 8"}},
      {"gwdg-scc.a100",
       {.gpu_type = "A100", .gpus = 4, .time = "48h"},
       {"#SBATCH -p scc-gpu", "#SBATCH -G A100:4", "#SBATCH -t 2-00:00:00"}},
      {"hpc2n.l40s",
       {.account = "hpc2n2024-142", .gpu_type = "l40s", .gpus = 1, .time = "00:30:00"},
       {"#SBATCH -A hpc2n2024-142", "#SBATCH --time=00:30:00", "#SBATCH --gpus=1", "#SBATCH -C l40s"}},
      {"hpc2n.any",
       {.account = "naiss2024-22-1493", .gpus = 2},
       {"#SBATCH -A naiss2024-22-1493", "#SBATCH --gpus=2", "#SBATCH -C nvidia_gpu"}},
      {"hpc2n.v100-exclusive",
       {.account = "hpc2n2024-142", .gpu_type = "v100", .gpus = 2, .time = "5m", .exclusive = true},
       {"#SBATCH --time=00:05:00", "#SBATCH --gpus=2", "#SBATCH -C v100", "#SBATCH --exclusive"}},
      {"lunarc-cosmos.intel",
       {.account = "lu2024-2-88", .gpus = 2, .time = "5m"},
       {"#SBATCH -A lu2024-2-88", "#SBATCH -p gpua100i", "#SBATCH --gres=gpu:2"}},
      {"lunarc-cosmos.amd",
       {.account = "lu2024-2-88", .partition = "gpua100", .gpus = 1, .time = "5m"},
       {"#SBATCH -A lu2024-2-88", "#SBATCH -p gpua100", "#SBATCH --gres=gpu:1"}},
      {"nsc-tetralith.t4",
       {.account = "naiss2024-22-1493", .gpus = 1, .time = "00:05:00"},
       {"#SBATCH -A naiss2024-22-1493", "#SBATCH --time=00:05:00", "#SBATCH -n 1", "#SBATCH -c 32",
        "#SBATCH --gpus-per-task=1", "module load buildenv-gcccuda/12.2.2-gcc11-hpc1"}},
      {"olcf-ascent.v100",
       {.account = "TRN003", .gpus = 6, .time = "45m"},
       {"#BSUB -P TRN003", "#BSUB -W 0:45", "#BSUB -nnodes 1", "#BSUB -L /bin/bash",
        "module load gcc/7.4.0 cuda/11.0.2"}},
      {"surf-snellius.a100",
       {.gpu_type = "a100", .gpus = 4, .time = "5-00:00:00"},
       {"#SBATCH --partition=gpu_a100", "#SBATCH --gpus=4", "#SBATCH --time=5-00:00:00"}},
      {"uppmax-snowy.t4",
       {.account = "naiss2024-22-1442", .gpus = 1, .time = "1:00:01"},
       {"#SBATCH -A naiss2024-22-1442", "#SBATCH -M snowy", "#SBATCH --gres=gpu:1", "#SBATCH -n 1",
        "#SBATCH -t 01:00:01"}},
  };
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string SiteOf(const Case& golden) { return golden.file.substr(0, golden.file.find('.')); }

TEST(SiteScripts, AreThoseThatPeopleHaveRead) {
  const bool write = std::getenv("HOTPLATE_WRITE_GOLDEN") != nullptr;
  for (const Case& golden : Cases()) {
    const std::string script = Script(BuiltIn(SiteOf(golden)), golden.request);
    const std::string path = kGolden + "/" + golden.file + ".sh";
    if (write) WriteText(path, script);
    EXPECT_EQ(script, ReadText(path)) << path;
    EXPECT_THAT(Lines(script), IsSupersetOf(golden.documented)) << golden.file;
  }
  EXPECT_FALSE(write) << "the files are written; read the diff, and run this without HOTPLATE_WRITE_GOLDEN";
}

TEST(SiteScripts, EverySiteHasOneAndEveryFileIsOfOne) {
  std::set<std::string> sites, files;
  for (const Case& golden : Cases()) {
    sites.insert(SiteOf(golden));
    files.insert(golden.file + ".sh");
  }
  const std::vector<std::string> names = SiteNames(kNoEnvironment);
  EXPECT_EQ(sites, std::set<std::string>(names.begin(), names.end()));
  std::set<std::string> profiles, found;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(HOTPLATE_SOURCE_DIR) + "/deploy/sites"))
    profiles.insert(entry.path().stem());
  EXPECT_EQ(profiles, sites) << "every profile of deploy/sites is built in";
  for (const auto& entry : std::filesystem::directory_iterator(kGolden)) found.insert(entry.path().filename());
  EXPECT_EQ(found, files);
}

TEST(SiteScripts, EndInTheDaemonThatSignalsReach) {
  for (const Case& golden : Cases()) {
    const Site site = BuiltIn(SiteOf(golden));
    const std::vector<std::string> lines = Lines(Script(site, golden.request));
    EXPECT_EQ(lines.front().rfind("#!/bin/bash", 0), 0u) << golden.file;
    EXPECT_EQ(lines.back().rfind("exec ", 0), 0u) << golden.file;
    EXPECT_THAT(lines.back(), HasSubstr("/home/ada/.local/bin/hotplated")) << golden.file;
    // A directive behind the first command is none.
    const auto is_directive = [](const std::string& line) {
      return line.rfind("#SBATCH ", 0) == 0 || line.rfind("#BSUB ", 0) == 0;
    };
    const auto first = std::find_if_not(lines.begin() + 1, lines.end(), is_directive);
    EXPECT_EQ(std::find_if(first, lines.end(), is_directive), lines.end()) << golden.file;
    if (site.scheduler == SchedulerKind::kSlurm) {
      EXPECT_THAT(lines, Contains("#SBATCH --signal=B:TERM@60")) << golden.file;
      EXPECT_THAT(lines, Contains("#SBATCH --nodes=1")) << golden.file;
      EXPECT_THAT(lines, Contains("#SBATCH --open-mode=append")) << golden.file;
      EXPECT_THAT(lines, Contains("#SBATCH --output=/home/ada/.hotplate/logs/slurm-%j.out")) << golden.file;
    } else {
      EXPECT_THAT(lines, IsSupersetOf({"#BSUB -wa TERM", "#BSUB -wt 2"})) << golden.file;
      EXPECT_THAT(lines.back(), HasSubstr("jsrun -n1 -a1 -c42 -g6 -brs ")) << golden.file;
    }
  }
}

TEST(SiteScripts, TheNoticeOfAShortJobIsNotTheWholeOfIt) {
  for (const auto& [time, notice] : std::vector<std::pair<std::string, std::string>>{
           {"1m", "15"}, {"2m", "30"}, {"3m", "45"}, {"4m", "60"}, {"1-00:00:00", "60"}})
    EXPECT_THAT(Lines(Script(BuiltIn("generic-slurm"), {.time = time})), Contains("#SBATCH --signal=B:TERM@" + notice));
  EXPECT_THAT(Lines(Script(BuiltIn("olcf-ascent"), {.account = "TRN003", .time = "5m"})), Contains("#BSUB -wt 1"));
}

TEST(SiteScripts, TheOutputsFileIsNamedAlike) {
  Site site;
  EXPECT_EQ(OutputFile(site, "/a/b", std::nullopt), "/a/b/logs/slurm-%j.out");
  EXPECT_EQ(OutputFile(site, "/a/b", "42"), "/a/b/logs/slurm-42.out");
  EXPECT_EQ(OutputFile(site, "/a/100%j", std::nullopt), "/a/100%%j/logs/slurm-%j.out") << "Slurm's own escape";
  EXPECT_EQ(OutputFile(site, "/a/100%j", "42"), "/a/100%j/logs/slurm-42.out");
  site.scheduler = SchedulerKind::kLsf;
  EXPECT_EQ(OutputFile(site, "/a/b", std::nullopt), "/a/b/logs/lsf-%J.out");
}

// A program that prints its words, each in brackets, run by the script as bash runs it.
class RunScript : public testing::Test {
 protected:
  std::string WordsSeen(const Site& site, const AllocationRequest& request, const std::vector<std::string>& options) {
    const std::string program = folder_.Write("hotplated", "#!/bin/sh\nprintf '[%s]' \"$@\"\n");
    std::filesystem::permissions(program, std::filesystem::perms(0700));
    const auto plan = CheckRequest(site, request);
    EXPECT_TRUE(plan.ok()) << plan.status();
    Launch launch = LaunchAt(site);
    launch.program = program;
    launch.options = options;
    const auto script = RenderScript(site, *plan, launch);
    EXPECT_TRUE(script.ok()) << script.status();
    const std::string file = folder_.Write("script.sh", script.value_or(""));
    const std::string command =
        "module() { :; }; export -f module; export SCRATCH='/scratch/a da' LSB_JOBID=7; bash '" + file + "' > '" +
        folder_.File("seen") + "' 2> '" + folder_.File("said") + "'";
    EXPECT_EQ(std::system(("bash -c \"$(cat <<'END'\n" + command + "\nEND\n)\"").c_str()), 0) << *script;
    EXPECT_EQ(ReadText(folder_.File("said")), "") << *script;
    return ReadText(folder_.File("seen"));
  }

  TemporaryFolder folder_;
};

TEST_F(RunScript, OptionsArriveAsTheyWereGiven) {
  Site site = BuiltIn("generic-slurm");
  EXPECT_EQ(
      WordsSeen(site, {.name = "morning"},
                {"--threads", "8", "--log-level", "a b", "it's", "$HOME", "`id`", "\"", "\\", "#x", "*", "", "~"}),
      "[--name][morning][--directory][/home/ada/.hotplate][--require-cuda][--threads][8][--log-level][a "
      "b][it's][$HOME][`id`]"
      "[\"][\\][#x][*][][~]");
}

TEST_F(RunScript, TheSitesOwnValuesMayUseTheEnvironment) {
  Site site = BuiltIn("generic-slurm");
  site.scratch = "$SCRATCH/{account}/saved";
  site.ports = "40000-40100";
  site.interface = "ib0";
  site.modules = {"CUDA/12.1.1"};
  EXPECT_EQ(WordsSeen(site, {.account = "abc"}, {}),
            "[--directory][/home/ada/.hotplate][--require-cuda][--interface][ib0][--port][40000-40100][--scratch]"
            "[/scratch/a da/abc/saved]");
  EXPECT_EQ(WordsSeen(site, {}, {}),
            "[--directory][/home/ada/.hotplate][--require-cuda][--interface][ib0][--port][40000-40100]")
      << "without an account there is no such folder";
}

TEST_F(RunScript, TheFirstModuleThatExistsIsLoaded) {
  Site site = BuiltIn("generic-slurm");
  site.first_module = {"CUDA", "cuda"};
  EXPECT_EQ(WordsSeen(site, {}, {}), "loaded module CUDA\n[--directory][/home/ada/.hotplate][--require-cuda]");
}

TEST_F(RunScript, WhatTheUserGivesTheDaemonIsNotGivenTwice) {
  Site site = BuiltIn("generic-slurm");
  site.ports = "40000-40100";
  site.interface = "ib0";
  site.scratch = "/scratch";
  EXPECT_EQ(WordsSeen(site, {}, {"--port=5000", "--scratch", "/tmp", "--listen", "10.0.0.1"}),
            "[--directory][/home/ada/.hotplate][--require-cuda][--port=5000][--scratch][/tmp][--listen][10.0.0.1]");
}

TEST_F(RunScript, UnderLsfTheDaemonIsNamedByItsJob) {
  Site site = BuiltIn("olcf-ascent");
  site.launcher = {"env"};
  EXPECT_THAT(WordsSeen(site, {.account = "TRN003"}, {}), HasSubstr("[--name][olcf-ascent-7]"));
}

// Whatever could leave its line or its word is refused before a script is made of it.
TEST(SiteScripts, NothingSlipsThroughARequest) {
  const Site site = BuiltIn("generic-slurm");
  const std::vector<std::string> nasty = {"a\nrm -rf ~",
                                          "a\r",
                                          "$(id)",
                                          "`id`",
                                          "a;id",
                                          "a b",
                                          "'",
                                          "\"",
                                          "\\",
                                          "-x",
                                          "a\tb",
                                          "a#b",
                                          "{gpus}",
                                          "a&b",
                                          "a|b",
                                          "\x1b[31m",
                                          "ä",
                                          std::string("a\0b", 3),
                                          std::string(65, 'a'),
                                          "../x",
                                          "a/b"};
  for (const std::string& word : nasty) {
    for (std::string AllocationRequest::*field : {&AllocationRequest::gpu_type, &AllocationRequest::partition,
                                                  &AllocationRequest::time, &AllocationRequest::memory}) {
      AllocationRequest request;
      request.*field = word;
      EXPECT_FALSE(CheckRequest(site, request).ok()) << testing::PrintToString(word);
    }
    EXPECT_FALSE(word.size() < 65 && CheckRequest(site, {.name = word}).ok()) << testing::PrintToString(word);
    for (const std::string& directive : {word, "--qos=" + word}) {
      const bool accepted = CheckRequest(site, {.directives = {directive}}).ok();
      EXPECT_FALSE(accepted && directive.find_first_of(std::string("\n\r\t\x1b\0", 5)) != std::string::npos)
          << testing::PrintToString(directive);
    }
  }
}

TEST(SiteScripts, NothingSlipsThroughAnAccount) {
  const Site site = BuiltIn("generic-slurm");
  for (const std::string& word :
       {std::string("a\nrm -rf ~"), std::string("a\r"), std::string("$(id)"), std::string("`id`"), std::string("'"),
        std::string("\""), std::string("\\"), std::string("a\tb"), std::string("\x1b[31m"), std::string("a\0b", 3),
        std::string(401, 'a')})
    EXPECT_FALSE(CheckRequest(site, {.account = word}).ok()) << testing::PrintToString(word);
}

// Which of these are accounts the scheduler knows.
TEST_F(RunScript, AnAccountIsOneWordOfTheScript) {
  Site site = BuiltIn("generic-slurm");
  site.scratch = "/proj/{account}";
  for (const std::string account : {"a b", "a/b", "a;id", "-x", "a#b", "{gpus}", "a&b", "a|b", "a>b", "*", "~", "ä"}) {
    EXPECT_EQ(WordsSeen(site, {.account = account}, {}),
              "[--directory][/home/ada/.hotplate][--require-cuda][--scratch][/proj/" + account + "]");
    EXPECT_THAT(Script(site, {.account = account}), HasSubstr("#SBATCH --account=" + ShellQuoted(account) + "\n"));
  }
}

TEST(SiteScripts, NothingSlipsThroughAPath) {
  const Site site = BuiltIn("generic-slurm");
  const auto plan = CheckRequest(site, {});
  ASSERT_TRUE(plan.ok()) << plan.status();
  for (const char* path : {"relative", "/a b", "/a\nb", "/a'b", "/a\"b", "/a\\b", "/a`b", "/a$b", "/a#b", ""})
    for (std::string Launch::*field : {&Launch::program, &Launch::directory, &Launch::output}) {
      Launch launch = LaunchAt(site);
      launch.*field = path;
      const auto script = RenderScript(site, *plan, launch);
      ASSERT_FALSE(script.ok()) << path;
      EXPECT_THAT(std::string(script.status().message()), HasSubstr("is not allowed in a batch script")) << path;
    }
  Launch launch = LaunchAt(site);
  launch.options = {"a\nb"};
  EXPECT_FALSE(RenderScript(site, *plan, launch).ok());
  launch.options = std::vector<std::string>(1000, "x");
  EXPECT_FALSE(RenderScript(site, *plan, launch).ok());
  launch.options = {"/home/ünïcode"};
  EXPECT_TRUE(RenderScript(site, *plan, launch).ok());
}

TEST(SiteScripts, WhoAsksForGpusIsNotServedByTheCpuUnlessTheySaySo) {
  Site site = BuiltIn("generic-slurm");
  site.offers[0].per_node = {0, 4};
  const auto last_line = [&](int gpus, const std::vector<std::string>& options) {
    const auto plan = CheckRequest(site, {.gpus = gpus});
    Launch launch = LaunchAt(site);
    launch.options = options;
    return plan.ok() ? RenderScript(site, *plan, launch).value_or("") : plan.status().ToString();
  };
  EXPECT_THAT(last_line(1, {}), HasSubstr("--directory /home/ada/.hotplate --require-cuda\n"));
  EXPECT_THAT(last_line(1, {"--lanes", "2"}), HasSubstr(" --require-cuda --lanes 2\n"));
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{"--device", "cpu"}, {"--device=auto"}, {"--require-cuda=false"}})
    EXPECT_THAT(last_line(1, options),
                AllOf(HasSubstr("exec "), Not(HasSubstr("--require-cuda ")), Not(HasSubstr("--require-cuda\n"))));
  EXPECT_THAT(last_line(0, {}), AllOf(HasSubstr("exec "), Not(HasSubstr("--require-cuda"))));
  site.exports = {"HOTPLATE_DEVICE=auto"};
  EXPECT_THAT(last_line(1, {}), AllOf(HasSubstr("exec "), Not(HasSubstr("--require-cuda"))));
}

TEST(SiteScripts, AHomeThatNodesCannotWriteToIsNoPlaceForRecords) {
  const Site site = BuiltIn("olcf-ascent");
  const auto plan = CheckRequest(site, {.account = "TRN003"});
  ASSERT_TRUE(plan.ok()) << plan.status();
  Launch launch = LaunchAt(site);
  for (const char* inside : {"/home/ada", "/home/ada/.hotplate"}) {
    launch.directory = inside;
    const auto script = RenderScript(site, *plan, launch);
    ASSERT_FALSE(script.ok());
    EXPECT_THAT(std::string(script.status().message()),
                HasSubstr("set HOTPLATE_DIR to a folder on the site's scratch"));
  }
  launch.directory = "/home/ada2/.hotplate";
  EXPECT_TRUE(RenderScript(site, *plan, launch).ok());
}

}  // namespace
}  // namespace hotplate::cli
