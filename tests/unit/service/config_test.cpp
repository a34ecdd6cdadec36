#include "server/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "server/settings.h"
#include "tests/temporary_folder.h"

namespace hotplate::server {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class ConfigTest : public testing::Test {
 protected:
  Surroundings Here() {
    return {[this](const std::string& name) -> std::optional<std::string> {
              const auto found = variables_.find(name);
              if (found == variables_.end()) return std::nullopt;
              return found->second;
            },
            folder_.path(), "/current", "node"};
  }
  absl::StatusOr<std::variant<Config, Answer>> Read(const std::vector<std::string>& arguments) {
    return ReadConfig(arguments, Here());
  }
  Config Good(const std::vector<std::string>& arguments) {
    const auto result = Read(arguments);
    EXPECT_TRUE(result.ok()) << result.status().ToString();
    if (!result.ok() || !std::holds_alternative<Config>(*result)) return {};
    return std::get<Config>(*result);
  }
  std::string Refusal(const std::vector<std::string>& arguments) {
    const auto result = Read(arguments);
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(result.status().message());
  }

  TemporaryFolder folder_;
  std::map<std::string, std::string> variables_;
};

TEST_F(ConfigTest, Defaults) {
  const Config config = Good({});
  EXPECT_EQ(config.name, "local");
  EXPECT_EQ(config.directory, folder_.path() + "/.hotplate");
  EXPECT_EQ(config.listen, "127.0.0.1");
  EXPECT_EQ(config.port, PortRange());
  EXPECT_EQ(config.scratch, folder_.path() + "/.hotplate/saved");
  EXPECT_EQ(config.squeue_interval, minutes(1));
  EXPECT_FALSE(config.insecure);
  EXPECT_EQ(config.drain_timeout, seconds(20));
  EXPECT_EQ(config.idle_timeout, minutes(15));
  EXPECT_THAT(config.path_roots, ElementsAre(folder_.path(), "/current"));
}

TEST_F(ConfigTest, ArraysAreSavedOnTheSitesScratchWhereItIsKnown) {
  const std::string home = folder_.path() + "/.hotplate/saved";
  variables_["SCRATCH"] = folder_.path() + "/nowhere";
  EXPECT_EQ(Good({}).scratch, home) << "it is not there";
  std::filesystem::create_directory(folder_.path() + "/job17");
  variables_["SCRATCH"] = folder_.path() + "/job17/";
  EXPECT_EQ(Good({}).scratch, folder_.path() + "/job17/hotplate/saved");
  EXPECT_EQ(Good({"--scratch", "/else"}).scratch, "/else");
  variables_["SLURM_JOB_ID"] = "17";
  variables_["SLURMD_NODENAME"] = "gpu1";
  EXPECT_EQ(Good({"--name", "x"}).scratch, home) << "it goes with the job";
  variables_["SCRATCH"] = "job17";
  EXPECT_EQ(Good({"--name", "x"}).scratch, home) << "relative to what?";
}

TEST_F(ConfigTest, TheCacheIsWhereItIsSaidToBe) {
  EXPECT_EQ(CubinFolder(Good({})), folder_.path() + "/.cache/hotplate/cubins");
  variables_["XDG_CACHE_HOME"] = "relative";
  EXPECT_EQ(Good({}).cache, folder_.path() + "/.cache/hotplate");
  variables_["XDG_CACHE_HOME"] = "/x";
  EXPECT_EQ(Good({}).cache, "/x/hotplate");
  variables_["SCRATCH"] = folder_.path();
  EXPECT_EQ(Good({}).cache, folder_.path() + "/hotplate/cache");
  variables_["HOTPLATE_CACHE"] = "/c";
  EXPECT_EQ(Good({}).cache, "/c");
  EXPECT_EQ(Good({"--cache", "here"}).cache, "/current/here");
}

TEST_F(ConfigTest, TheAuditLogIsBesideTheRecordsUnlessSomebodySays) {
  EXPECT_EQ(Good({"--name", "x"}).audit_log, folder_.path() + "/.hotplate/audit/x.jsonl");
  EXPECT_EQ(Good({"--audit-log", "here.jsonl"}).audit_log, "/current/here.jsonl");
  EXPECT_EQ(Good({"--audit-log", "off"}).audit_log, "off");
  EXPECT_EQ(Good({}).audit_bytes, std::uint64_t{16} << 20);
  EXPECT_EQ(Good({"--audit-bytes", "2MiB"}).audit_bytes, std::uint64_t{2} << 20);
  EXPECT_THAT(Refusal({"--audit-bytes", "1kB"}), HasSubstr("from 1MiB"));
}

TEST_F(ConfigTest, SavedArraysTakeHalfOfTheRoomOrAsMuchAsIsSaid) {
  EXPECT_EQ(Good({}).saved_bytes, kHalfOfTheRoom);
  EXPECT_EQ(Good({"--saved-bytes", "2GiB"}).saved_bytes, std::uint64_t{2} << 30);
  EXPECT_EQ(Good({"--saved-bytes", "0"}).saved_bytes, 0u);
  EXPECT_EQ(Good({"--saved-bytes", "half"}).saved_bytes, kHalfOfTheRoom);
  EXPECT_THAT(Refusal({"--saved-bytes", "third"}), HasSubstr("half, or a size like 64GiB"));
}

TEST_F(ConfigTest, FlagsWinOverVariablesOverFileOverDefaults) {
  const std::string file = folder_.Write("c.toml", "lanes = 3\nqueue = 30\nmax_streams = 300\n");
  variables_["HOTPLATE_QUEUE"] = "40";
  variables_["HOTPLATE_MAX_STREAMS"] = "400";
  const Config config = Good({"--config", file, "--max-streams", "500"});
  EXPECT_EQ(config.lanes, 3);
  EXPECT_EQ(config.queue, 40u);
  EXPECT_EQ(config.max_streams, 500u);
  EXPECT_EQ(config.max_sessions, Config().max_sessions);
}

TEST_F(ConfigTest, EveryKindOfValue) {
  variables_["HOTPLATE_DIR"] = "/elsewhere";
  const Config config =
      Good({"--inline-bytes", "256KiB", "--array-bytes=2GB", "--idle-timeout", "90s", "--insecure", "--unix-socket",
            "s", "--device", "cpu", "--log-file", "x.log", "--path-root", "/a", "--path-root", "b"});
  EXPECT_EQ(config.directory, "/elsewhere");
  EXPECT_EQ(config.inline_bytes, 256u << 10);
  EXPECT_EQ(config.array_bytes, 2'000'000'000u);
  EXPECT_EQ(config.idle_timeout, seconds(90));
  EXPECT_TRUE(config.insecure);
  EXPECT_EQ(config.unix_socket, "/current/s");
  EXPECT_EQ(config.device, DeviceChoice::kCpu);
  EXPECT_EQ(config.log_file, "/current/x.log");
  EXPECT_THAT(config.path_roots, ElementsAre("/a", "/current/b"));
}

TEST_F(ConfigTest, DevicesAreKindsOrAListOfNames) {
  const Config config = Good({"--device", "gpu2,gpu0"});
  EXPECT_EQ(config.device, DeviceChoice::kCuda);
  EXPECT_THAT(config.gpus, ElementsAre(2, 0));
  const Config both = Good({"--device", "gpu1,cpu"});
  EXPECT_EQ(both.device, DeviceChoice::kAuto);
  EXPECT_THAT(both.gpus, ElementsAre(1));
  EXPECT_THAT(ToToml(both), HasSubstr("device = 'cpu,gpu1'"));
  variables_["HOTPLATE_DEVICE"] = "gpu3";
  EXPECT_TRUE(Good({"--device", "cuda"}).gpus.empty()) << "a kind replaces a weaker source's list";
  for (const char* wrong :
       {"", "gpu", "gpu-1", "gpu1,", ",gpu1", "gpu1,gpu1", "gpu01x", "gpu99999", "cpu,cpu", "cuda,gpu0"}) {
    EXPECT_THAT(Refusal({"--device", wrong}), HasSubstr("gpu0,gpu2")) << wrong;
  }
}

TEST_F(ConfigTest, ListsReplaceThoseOfWeakerSources) {
  const std::string file = folder_.Write("c.toml", "path_root = [\"/file1\", \"/file2\"]\n");
  EXPECT_THAT(Good({"--config", file}).path_roots, ElementsAre("/file1", "/file2"));
  variables_["HOTPLATE_PATH_ROOT"] = "/env1:/env2:/env3";
  EXPECT_THAT(Good({"--config", file}).path_roots, ElementsAre("/env1", "/env2", "/env3"));
}

TEST_F(ConfigTest, UnknownKeyNamesFileLineAndNearest) {
  const std::string file = folder_.Write("c.toml", "lanes = 3\n\nmax_stream = 300\n");
  EXPECT_THAT(Refusal({"--config", file}),
              AllOf(HasSubstr(file + ":3"), HasSubstr("\"max_stream\""), HasSubstr("max_streams")));
}

TEST_F(ConfigTest, BadValuesNameTheirSourceAndValue) {
  const std::string file = folder_.Write("c.toml", "# comment\nidle_timeout = \"soon\"\n");
  EXPECT_THAT(Refusal({"--config", file}), AllOf(HasSubstr(file + ":2: idle_timeout"), HasSubstr("\"soon\"")));
  EXPECT_THAT(Refusal({"--port", "70000"}), AllOf(HasSubstr("--port"), HasSubstr("\"70000\""), HasSubstr("65535")));
  EXPECT_THAT(Refusal({"--lanes", "0"}), AllOf(HasSubstr("--lanes"), HasSubstr("1 to 64")));
  variables_["HOTPLATE_ARRAY_BYTES"] = "lots";
  EXPECT_THAT(Refusal({}), AllOf(HasSubstr("HOTPLATE_ARRAY_BYTES"), HasSubstr("\"lots\"")));
}

TEST_F(ConfigTest, ABadValueIsRefusedEvenWhereAStrongerSourceHidesIt) {
  variables_["HOTPLATE_LANES"] = "many";
  EXPECT_THAT(Refusal({"--lanes", "2"}), HasSubstr("HOTPLATE_LANES"));
}

TEST_F(ConfigTest, BadTomlNamesTheLine) {
  const std::string file = folder_.Write("c.toml", "lanes = 3\nqueue = = 4\n");
  EXPECT_THAT(Refusal({"--config", file}), HasSubstr(file + ":2"));
  EXPECT_THAT(Refusal({"--config", file + ".absent"}), HasSubstr("no such file"));
  const std::string typed = folder_.Write("t.toml", "lanes = 3.5\n");
  EXPECT_THAT(Refusal({"--config", typed}), HasSubstr(typed + ":1"));
}

TEST_F(ConfigTest, UnknownFlag) { EXPECT_THAT(Refusal({"--prot", "1"}), HasSubstr("--prot")); }

TEST_F(ConfigTest, AWordOfNoFlagIsRefusedByName) {
  for (const std::vector<std::string>& line :
       std::vector<std::vector<std::string>>{{"stray"},
                                             {"stray", "--name", "zz"},
                                             {"--name", "zz", "stray"},
                                             {"--name=zz", "stray"},
                                             {"--device", "cpu", "-", "stray"},
                                             {"--insecure", "stray"},
                                             {"--path-root", "/a", "stray"},
                                             {"--path-root", "/a", "--", "stray"},
                                             {"--config", "/c", "stray"},
                                             {"--check-config", "stray"},
                                             {"--man", "stray"}}) {
    EXPECT_THAT(Refusal(line), AllOf(HasSubstr("not expected: "), HasSubstr("stray"), HasSubstr("--help")))
        << testing::PrintToString(line);
  }
}

TEST_F(ConfigTest, PlaintextOnlyWhereNobodyElseListens) {
  for (const char* address : {"0.0.0.0", "10.0.0.1", "127.0.0.1", "::1"}) {  // loopback is every local user's
    EXPECT_THAT(
        Refusal({"--insecure", "--listen", address}),
        AllOf(HasSubstr("insecure with listen \"" + std::string(address) + "\""), HasSubstr("--unix-socket PATH")));
  }
  EXPECT_THAT(Refusal({"--insecure"}), HasSubstr("--unix-socket PATH"));
  EXPECT_TRUE(Good({"--insecure", "--listen", "0.0.0.0", "--unix-socket", "/tmp/s"}).insecure);
  EXPECT_THAT(Refusal({"--listen", "localhost"}), HasSubstr("localhost"));
}

TEST_F(ConfigTest, InAnAllocationTheNameIsTheJobsAndTheNodeListens) {
  variables_ = {{"SLURM_JOB_ID", "17"}, {"SLURM_CLUSTER_NAME", "fake"}, {"SLURMD_NODENAME", "gpu1"}};
  const Config config = Good({});
  EXPECT_EQ(config.name, "fake-17");
  EXPECT_EQ(config.listen, "0.0.0.0");
  EXPECT_EQ(Good({"--name", "mine", "--listen", "10.1.2.3"}).name, "mine");
  EXPECT_EQ(Good({"--name", "mine", "--listen", "10.1.2.3"}).listen, "10.1.2.3");
}

TEST_F(ConfigTest, AnInterfaceInPlaceOfAnAddress) {
  const Config config = Good({"--interface", "ib0"});
  EXPECT_EQ(config.interface, "ib0");
  EXPECT_EQ(config.listen, "");
  EXPECT_THAT(ToToml(config), AllOf(HasSubstr("interface = 'ib0'"), Not(HasSubstr("listen"))));
  const std::string file = folder_.Write("c.toml", "interface = \"eth0\"\n");
  EXPECT_EQ(Good({"--config", file, "--listen", "10.1.2.3"}).interface, "") << "the stronger source has chosen";
  EXPECT_EQ(Good({"--config", file, "--listen", "10.1.2.3"}).listen, "10.1.2.3");
  EXPECT_THAT(Refusal({"--listen", "10.1.2.3", "--interface", "ib0"}), HasSubstr("drop one of the two"));
  EXPECT_THAT(Refusal({"--insecure", "--interface", "ib0"}), HasSubstr("\"ib0\""));
  for (const char* wrong : {"", "much-too-long-a-name", "a/b"}) {
    EXPECT_THAT(Refusal({"--interface", wrong}), HasSubstr("--interface")) << wrong;
  }
}

TEST_F(ConfigTest, PortsAreOneOrARange) {
  EXPECT_EQ(Good({"--port", "5000"}).port, (PortRange{5000, 5000}));
  const Config config = Good({"--port", "50000-50100"});
  EXPECT_EQ(config.port, (PortRange{50000, 50100}));
  EXPECT_THAT(ToToml(config), HasSubstr("port = '50000-50100'"));
  EXPECT_EQ(Good({"--config", folder_.Write("c.toml", "port = 5001\n")}).port, (PortRange{5001, 5001}));
  for (const char* wrong : {"", "-", "1-", "-1", "5-4", "0-9", "1-70000", "1-2-3", "1 - 2"}) {
    EXPECT_THAT(Refusal({"--port", wrong}), AllOf(HasSubstr("--port"), HasSubstr("50000-50100"))) << wrong;
  }
}

TEST_F(ConfigTest, Contradictions) {
  EXPECT_THAT(Refusal({"--require-cuda", "--device", "cpu"}), HasSubstr("require-cuda"));
  EXPECT_THAT(Refusal({"--array-bytes", "1GiB", "--max-array-bytes", "2GiB"}), HasSubstr("max-array-bytes"));
  EXPECT_THAT(Refusal({"--inline-bytes", "8MiB"}), HasSubstr("inline-bytes"));
}

TEST_F(ConfigTest, NamesThatWouldLeaveTheFolder) {
  for (const char* name : {"", "../x", ".hidden", "a/b", "a b"})
    EXPECT_THAT(Refusal({"--name", name}), HasSubstr("--name"));
}

TEST_F(ConfigTest, CheckConfigPrintsWhatItWouldReadBack) {
  const auto result = Read({"--check-config", "--lanes", "5", "--inline-bytes", "3KiB", "--drain-timeout", "1500ms",
                            "--path-root", "/data", "--insecure", "--unix-socket", "/tmp/s"});
  ASSERT_TRUE(result.ok()) << result.status().ToString();
  const std::string file = folder_.Write("again.toml", std::get<Answer>(*result).text);
  const Config config = Good({"--config", file});
  EXPECT_EQ(config.lanes, 5);
  EXPECT_EQ(config.inline_bytes, 3u << 10);
  EXPECT_EQ(config.drain_timeout, milliseconds(1500));
  EXPECT_THAT(config.path_roots, ElementsAre("/data"));
  EXPECT_TRUE(config.insecure);
}

TEST_F(ConfigTest, CheckConfigRemarksOnRootsThatAreNotThere) {
  const std::string there = folder_.path();
  const auto result = Read({"--check-config", "--path-root", there, "--path-root", there + "/absent"});
  ASSERT_TRUE(result.ok()) << result.status().ToString();
  EXPECT_THAT(std::get<Answer>(*result).text, HasSubstr("\n# path-root \"" + there + "/absent\" is not a folder"));
  EXPECT_THAT(std::get<Answer>(*result).text, Not(HasSubstr("# path-root \"" + there + "\"")));
}

TEST_F(ConfigTest, KeepaliveHasBounds) {
  EXPECT_EQ(Good({}).keepalive, seconds(30));
  EXPECT_EQ(Good({"--keepalive", "500ms"}).keepalive, milliseconds(500));
  EXPECT_THAT(Refusal({"--keepalive", "0"}), AllOf(HasSubstr("--keepalive"), HasSubstr("from 100ms to 1d")));
}

TEST_F(ConfigTest, TheManualPageHasEveryFlagOfTheHelp) {
  const auto manual = Read({"--man"});
  ASSERT_TRUE(manual.ok()) << manual.status().ToString();
  std::string text = std::get<Answer>(*manual).text;
  text.erase(std::remove(text.begin(), text.end(), '\\'), text.end());
  for (const Setting& setting : Settings()) {
    EXPECT_THAT(text, AllOf(HasSubstr(".B --" + setting.flag), HasSubstr(setting.variable), HasSubstr(setting.help)));
  }
  EXPECT_THAT(text, AllOf(HasSubstr("Default: 15m"), HasSubstr(".SH EXIT STATUS"), HasSubstr("hotplate (1)")));
}

TEST_F(ConfigTest, HelpTellsTheDefaults) {
  const auto help = Read({"--help"});
  ASSERT_TRUE(help.ok());
  const std::string& text = std::get<Answer>(*help).text;
  EXPECT_THAT(text, AllOf(HasSubstr("127.0.0.1; in a Slurm allocation 0.0.0.0"), HasSubstr("[10000]"),
                          HasSubstr("[15m]"), HasSubstr("[8MiB]")));
}

TEST_F(ConfigTest, TheFileIsWhereTheUserKeepsConfigurations) {
  folder_.Write("elsewhere/hotplate/hotplated.toml", "lanes = 7\n");
  folder_.Write(".config/hotplate/hotplated.toml", "lanes = 5\n");
  EXPECT_EQ(Good({}).lanes, 5);
  variables_["XDG_CONFIG_HOME"] = folder_.File("elsewhere");
  EXPECT_EQ(Good({}).lanes, 7);
  variables_["XDG_CONFIG_HOME"] = "";
  EXPECT_EQ(Good({}).lanes, 5);
}

TEST_F(ConfigTest, HelpHasAnExampleAndVersionAnswers) {
  const auto help = Read({"--help"});
  ASSERT_TRUE(help.ok());
  EXPECT_THAT(std::get<Answer>(*help).text, AllOf(HasSubstr("Example:"), HasSubstr("--idle-timeout")));
  const auto version = Read({"--version"});
  ASSERT_TRUE(version.ok());
  EXPECT_EQ(std::get<Answer>(*version).text, "hotplated " HOTPLATE_VERSION "\n");
}

TEST_F(ConfigTest, VersionNamesTheLibrariesToo) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"--version", "-v"}, {"-v", "--version"}}) {
    const auto version = Read(words);
    ASSERT_TRUE(version.ok()) << version.status();
    EXPECT_THAT(std::get<Answer>(*version).text,
                AllOf(StartsWith("hotplated " HOTPLATE_VERSION "\n  gRPC "), HasSubstr("\n  OpenBLAS "),
                      HasSubstr("\n  SQLite "), HasSubstr("\n  CUDA "), HasSubstr("\n  build ")));
  }
  EXPECT_FALSE(Read({"-v"}).ok());
}

}  // namespace
}  // namespace hotplate::server
