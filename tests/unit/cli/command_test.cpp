// The program as a whole, without a daemon: every command's help, what works offline, and how mistakes are told.
#include <gmock/gmock.h>

#include <map>
#include <regex>
#include <set>

#include "client/cli/app.h"
#include "client/cli/commands.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"
#include "hotplate/v1/catalogue.pb.h"
#include "tests/temporary_folder.h"

namespace hotplate::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class CommandTest : public testing::Test {
 protected:
  struct Ran {
    int exit;
    std::string out, err;
  };
  // In a folder without any daemon.
  Ran Hotplate(const std::vector<std::string>& words) {
    std::ostringstream out, err;
    const std::map<std::string, std::string> variables = {{"HOTPLATE_DIR", folder_.File("hotplate")},
                                                          {"HOME", folder_.path()}};
    const int exit = RunHotplate(words, {out, err}, [&](const std::string& name) -> std::optional<std::string> {
      const auto found = variables.find(name);
      if (found == variables.end()) return std::nullopt;
      return found->second;
    });
    return {exit, out.str(), err.str()};
  }

  TemporaryFolder folder_;
};

TEST_F(CommandTest, EveryCommandHasHelpWithAnExample) {
  std::set<std::string> names;
  for (const Command& command : Commands()) {
    EXPECT_TRUE(names.insert(command.name).second) << command.name;
    ASSERT_NE(command.run, nullptr) << command.name;
    const Ran ran = Hotplate({command.name, "--help"});
    EXPECT_EQ(ran.exit, 0) << command.name;
    EXPECT_EQ(ran.err, "") << command.name;
    EXPECT_THAT(ran.out,
                AllOf(StartsWith("hotplate " + command.name), HasSubstr(command.summary), HasSubstr("--server NAME"),
                      HasSubstr("Example\n  "), HasSubstr("hotplate " + command.name)));
    EXPECT_THAT(Hotplate({"help", command.name}).out, StartsWith(ran.out)) << "a topic of that name follows";
    for (const std::string& line : SplitAt(command.details, '\n'))
      EXPECT_TRUE(line.empty() || line.find(' ') != std::string::npos) << command.name << ": a line broken at " << line;
    for (const OptionSpec& option : command.options) {
      EXPECT_NE(option.LongName(), "") << command.name << " " << option.names;
      EXPECT_NE(option.help, "") << command.name << " " << option.names;
    }
  }
}

TEST_F(CommandTest, TheVerbsThatAreDocumentedAreThere) {
  for (const char* name : {"up",   "down",    "status", "use",     "logs",       "kernels", "describe", "run", "submit",
                           "jobs", "show",    "watch",  "wait",    "cancel",     "result",  "put",      "get", "arrays",
                           "free", "devices", "top",    "metrics", "completion", "help",    "sites",    "why"})
    EXPECT_NE(FindCommand(name), nullptr) << name;
}

// Also those of the shell's own: a script that always says --json need not know which answers are words.
TEST_F(CommandTest, WhatNeedsNoDaemonAnswersInJson) {
  using Rows = std::vector<std::vector<std::string>>;
  std::map<std::string, Rows> offline = {
      {"help", {{"help"}, {"help", "run", "selu"}, {"help", "--man"}}},
      {"completion", {{"completion", "bash"}, {"completion", "zsh"}, {"completion", "fish"}}},
      {"kernels", {{"kernels"}, {"kernels", "--markdown"}}},
      {"describe", {{"describe", "selu"}}},
      {"version", {{"version"}}},
      {"sites", {{"sites"}, {"sites", "hpc2n"}}}};
  Rows rows = {{"--version"}, {"-V"}, {"--help"}, {"use"}};
  for (const Command& command : Commands()) {
    rows.push_back({command.name, "--help"});
    if (!command.works_anywhere) continue;
    EXPECT_FALSE(offline[command.name].empty()) << command.name << " has no row here";
    rows.insert(rows.end(), offline[command.name].begin(), offline[command.name].end());
  }
  for (std::vector<std::string> words : rows) {
    const Ran plain = Hotplate(words);
    words.emplace_back("--json");
    const Ran json = Hotplate(words);
    EXPECT_EQ(json.exit, 0) << Join(words, " ") << json.err;
    google::protobuf::Struct answer;
    ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(json.out, &answer).ok()) << Join(words, " ") << json.out;
    const auto text = answer.fields().find("text");
    if (text != answer.fields().end()) {
      EXPECT_EQ(text->second.string_value(), plain.out) << Join(words, " ");
    }
  }
  EXPECT_EQ(Hotplate({"--json", "--version"}).out, std::string("{\"version\":\"") + kVersion + "\"}\n");
}

TEST_F(CommandTest, VersionNamesTheLibrariesToo) {
  const std::string own = std::string("hotplate ") + kVersion + "\n";
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"--version", "-v"}, {"-v", "--version"}, {"-V", "-v"}}) {
    const std::string text = Hotplate(words).out;
    EXPECT_EQ(text.substr(0, own.size()), own);
    for (const char* line :
         {"\n  OpenSSL  .*[0-9]+\\.[0-9]+", "\n  SQLite  .*[0-9]+\\.[0-9]+", "\n  Protocol Buffers  .* \\(headers\\)",
          "\n  C library  .*[0-9]+\\.[0-9]+", "\n  build  "}) {
      EXPECT_TRUE(std::regex_search(text, std::regex(line))) << line << "\n" << text;
    }
  }
  EXPECT_EQ(Hotplate({"-q", "--version", "-v"}).out, own);
  EXPECT_EQ(Hotplate({"-v"}).exit, kExitUsage);
  const std::string json = Hotplate({"--json", "--version", "-v"}).out;
  google::protobuf::Struct answer;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(json, &answer).ok()) << json;
  EXPECT_EQ(answer.fields().at("version").string_value(), kVersion);
  const auto& libraries = answer.fields().at("libraries").list_value().values();
  EXPECT_GT(libraries.size(), 5);
  for (const auto& library : libraries) {
    const auto& row = library.struct_value().fields();
    EXPECT_TRUE(row.contains("name") && (row.contains("version") || row.contains("headers"))) << json;
  }
}

TEST_F(CommandTest, HelpOfRunShowsTheKernelsParameters) {
  EXPECT_THAT(Hotplate({"run", "selu", "--help"}).out, HasSubstr("--alpha"));
  EXPECT_THAT(Hotplate({"help", "submit", "integrate2d"}).out, HasSubstr("--variant"));
}

TEST_F(CommandTest, VersionAndOverview) {
  EXPECT_EQ(Hotplate({"--version"}).out, std::string("hotplate ") + kVersion + "\n");
  EXPECT_EQ(Hotplate({"version"}).out, std::string("hotplate ") + kVersion + "\nno daemon answers\n");
  EXPECT_THAT(Hotplate({"--help"}).out, HasSubstr("mandelbrot"));
  const Ran nothing = Hotplate({});
  EXPECT_EQ(nothing.exit, kExitUsage);
  EXPECT_EQ(nothing.out, "");
  EXPECT_THAT(nothing.err, HasSubstr("run a kernel"));
}

TEST(SkewText, NamesBothVersionsAndWhatToDo) {
  EXPECT_EQ(SkewText("local", kVersion), "");
  EXPECT_THAT(SkewText("local", "0.0.9"), AllOf(HasSubstr("local is hotplated 0.0.9"), HasSubstr(kVersion),
                                                HasSubstr("hotplate down, then hotplate up")));
}

TEST_F(CommandTest, KernelsAndDescribeNeedNoDaemon) {
  EXPECT_THAT(Hotplate({"kernels"}).out, HasSubstr("mandelbrot"));
  EXPECT_THAT(Hotplate({"kernels", "--quiet"}).out, HasSubstr("matmul\n"));
  EXPECT_THAT(Hotplate({"kernels", "--markdown"}).out,
              AllOf(StartsWith("| kernel |"), HasSubstr("`counts` [resolution, resolution]")));
  v1::ListKernelsResponse list;
  const Ran json = Hotplate({"kernels", "--json"});
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(json.out, &list).ok()) << json.out;
  EXPECT_GE(list.kernels_size(), 6);
  EXPECT_THAT(json.out, HasSubstr("\"cancelBoundMs\""));  // camelCase, and default-valued fields too

  const Ran page = Hotplate({"describe", "selu"});
  EXPECT_EQ(page.exit, 0);
  EXPECT_THAT(page.out, AllOf(StartsWith("selu   "), HasSubstr("inputs"), HasSubstr("--alpha"), HasSubstr("1.67"),
                              HasSubstr("example")));
  EXPECT_THAT(Hotplate({"describe", "random"}).out, AllOf(HasSubstr("default: a fresh one"), Not(HasSubstr(" -1"))));
  const Ran unknown = Hotplate({"describe", "mandlebrot"});
  EXPECT_EQ(unknown.exit, kExitInvalid);
  EXPECT_THAT(unknown.err, HasSubstr("✗ refused: no kernel \"mandlebrot\". Nearest: mandelbrot"));
}

TEST_F(CommandTest, MistakesAreToldBeforeTheMissingDaemon) {
  EXPECT_EQ(Hotplate({"run", "mandlebrot"}).exit, kExitInvalid);
  EXPECT_EQ(Hotplate({"run", "mandelbrot", "--resolution", "0"}).exit, kExitInvalid);
  EXPECT_THAT(Hotplate({"run", "selu", "x.npy", "--aplha", "3"}).err, HasSubstr("Nearest: --alpha"));
  const std::string bad = folder_.Write("bad.npy", "\x93NUMPY nothing");
  const Ran header = Hotplate({"run", "selu", bad});
  EXPECT_EQ(header.exit, kExitInvalid);
  EXPECT_THAT(header.err,
              AllOf(StartsWith("✗ refused: selu: input x: "), HasSubstr("bad.npy"), HasSubstr("nothing was sent")));
}

TEST_F(CommandTest, WithoutADaemonItSaysHowToStartOne) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{{"status"},
                                                                                     {"jobs"},
                                                                                     {"run", "mandelbrot"},
                                                                                     {"submit", "integrate2d"},
                                                                                     {"top", "--once"},
                                                                                     {"down"},
                                                                                     {"devices"}}) {
    const Ran ran = Hotplate(words);
    EXPECT_EQ(ran.exit, kExitNoDaemon) << words[0] << ran.err;
    EXPECT_EQ(ran.out, "") << words[0];
    EXPECT_THAT(ran.err, AllOf(StartsWith("✗ "), HasSubstr("hotplate up --local"))) << words[0];
  }
}

TEST_F(CommandTest, UsageErrors) {
  EXPECT_THAT(Hotplate({"stauts"}).err, HasSubstr("no command \"stauts\". Nearest: status"));
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"stauts"},
                                             {"show"},
                                             {"watch", "1", "2"},
                                             {"jobs", "--limit", "0"},
                                             {"jobs", "--since", "0s"},
                                             {"up"},
                                             {"up", "--local", "--name", "../x"},
                                             {"up", "--local", "--", "--name", "x"},
                                             {"up", "--local", "--", "--threads", "2", "--directory=/tmp"},
                                             {"up", "--local", "--", "--log-file", "x.log"},
                                             {"up", "--local", "--", "--help"},
                                             {"completion", "tcsh"},
                                             {"run"},
                                             {"jobs", "--frobnicate"},
                                             {"--frobnicate"},
                                             {"logs", "-n", "x"}}) {
    const Ran ran = Hotplate(words);
    EXPECT_EQ(ran.exit, kExitUsage) << Join(words, " ") << ran.err;
    EXPECT_EQ(ran.out, "");
    EXPECT_THAT(ran.err, HasSubstr("hotplate")) << "the next step";
  }
}

TEST_F(CommandTest, AWordTooManyIsRefusedByName) {
  for (const Command& command : Commands()) {
    int places = 0;
    for (const PositionalSpec& positional : command.positionals) places += positional.maximum;
    if (places >= kAnyNumber) continue;
    std::vector<std::string> words(static_cast<std::size_t>(1 + places), "word");
    words.front() = command.name;
    words.push_back("stray");
    const Ran ran = Hotplate(words);
    EXPECT_EQ(ran.exit, kExitUsage) << command.name << ": " << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("\"stray\" is one word too many")) << command.name;
  }
}

// From the table, so that a new command is held to it as well.
TEST_F(CommandTest, WordsBehindDashesCountLikeOthers) {
  for (const Command& command : Commands()) {
    if (!command.rest.empty()) continue;  // it hands them on
    for (std::size_t count = 0; count < 4; ++count) {
      std::vector<std::string> plain(count + 1, "word");
      plain.front() = command.name;
      std::vector<std::string> behind = plain;
      behind.insert(behind.begin() + 1, "--");
      const Ran expected = Hotplate(plain), ran = Hotplate(behind);
      EXPECT_EQ(ran.exit, expected.exit) << Join(behind, " ");
      EXPECT_EQ(ran.out, expected.out) << Join(behind, " ");
      EXPECT_EQ(ran.err, expected.err) << Join(behind, " ");
    }
  }
}

TEST_F(CommandTest, WithoutAPlaceForDaemonsTheCatalogueIsThereAndTheRestSaysWhatToSet) {
  const auto nowhere = [](const std::vector<std::string>& words) {
    std::ostringstream out, err;
    const int exit = RunHotplate(words, {out, err}, [](const std::string&) { return std::nullopt; });
    return Ran{exit, out.str(), err.str()};
  };
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"completion", "bash"}, {"help", "run"}})
    EXPECT_EQ(nowhere(words).exit, 0) << nowhere(words).err;
  EXPECT_EQ(nowhere({"status"}).exit, kExitUsage);
  EXPECT_THAT(nowhere({"status"}).err, HasSubstr("HOTPLATE_DIR"));
}

TEST_F(CommandTest, WhatCannotBePrintedIsToldWithExitCodeOne) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"--version"}, {"--help"}, {"run", "--help"}, {"completion", "zsh"}}) {
    std::ostringstream out, err;
    out.setstate(std::ios::badbit);
    EXPECT_EQ(RunHotplate(words, {out, err}, [](const std::string&) { return std::nullopt; }), kExitFailed);
    EXPECT_THAT(err.str(), HasSubstr("standard output cannot be written to"));
  }
}

TEST_F(CommandTest, LogsInJsonAreOneObjectALine) {
  folder_.Write("hotplate/logs/local.log", "first \"line\"\nsecond \xff\nno end");
  EXPECT_EQ(Hotplate({"logs", "--json", "-n", "2"}).out, "{\"line\":\"second \\ufffd\"}\n{\"line\":\"no end\"}\n");
  EXPECT_EQ(Hotplate({"logs", "-n", "1"}).out, "no end\n");
  EXPECT_EQ(Hotplate({"logs"}).out, "first \"line\"\nsecond \xff\nno end\n");
}

TEST_F(CommandTest, LogsWithoutADaemonEndLikeOtherCommandsWithoutOne) {
  const Ran ran = Hotplate({"logs"});
  EXPECT_EQ(ran.exit, kExitNoDaemon);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("no log at "), HasSubstr("hotplate up --local")));
}

TEST_F(CommandTest, ANearMissIsOneSwapOfNeighbours) {
  EXPECT_THAT(Hotplate({"describe", "sleu"}).err, HasSubstr("Nearest: selu"));
  EXPECT_THAT(Hotplate({"run", "sleu"}).err, HasSubstr("Nearest: selu"));
  EXPECT_THAT(Hotplate({"lgos"}).err, AllOf(HasSubstr("Nearest: logs"), HasSubstr("all commands: hotplate help")));
  EXPECT_THAT(Hotplate({"help", "lgos"}).err, HasSubstr("no command or topic \"lgos\". Nearest: logs\n"));
  EXPECT_THAT(Hotplate({"help", "secruity"}).err, HasSubstr("Nearest: security"));
  EXPECT_LT(Hotplate({std::string(3000, 'n')}).err.size(), 500u);
  EXPECT_THAT(Hotplate({"jobs", "--jsno"}).err, HasSubstr("Nearest: --json"));
  EXPECT_THAT(Hotplate({"run", "integrate2d", "--variatn", "fast"}).err, HasSubstr("Nearest: --variant"));
}

TEST_F(CommandTest, WordsThatPeopleBringLeadToWhatSaysTheSameHere) {
  for (const auto& [word, here] : std::map<std::string, std::string>{{"ls", "hotplate arrays"},
                                                                     {"ps", "hotplate jobs --active"},
                                                                     {"list", "hotplate kernels"},
                                                                     {"stop", "hotplate down"},
                                                                     {"kill", "hotplate cancel JOB"},
                                                                     {"start", "hotplate up"},
                                                                     {"log", "hotplate logs"},
                                                                     {"pull", "hotplate get ARRAY"},
                                                                     {"fetch", "hotplate get ARRAY"},
                                                                     {"download", "hotplate get ARRAY"},
                                                                     {"push", "hotplate put FILE"},
                                                                     {"upload", "hotplate put FILE"},
                                                                     {"load", "hotplate put FILE"},
                                                                     {"quit", "hotplate down"},
                                                                     {"exit", "hotplate down"},
                                                                     {"cp", "hotplate put FILE"},
                                                                     {"sbatch", "hotplate submit KERNEL"},
                                                                     {"srun", "hotplate run KERNEL"},
                                                                     {"restart", "hotplate down, then hotplate up"},
                                                                     {"plot", "hotplate result JOB -o FILE.png"},
                                                                     {"del", "hotplate free NAME"},
                                                                     {"config", "config.toml"}}) {
    const Ran ran = Hotplate({word});
    EXPECT_EQ(ran.exit, kExitUsage);
    EXPECT_THAT(ran.err, AllOf(HasSubstr("no command \"" + word + "\". Here: "), HasSubstr(here)));
    EXPECT_THAT(ran.err, Not(HasSubstr("Nearest"))) << "it is no misspelling";
  }
  for (const auto& [word, here] :
       std::map<std::string, std::string>{{"dot", "hotplate run matmul"},
                                          {"sum", "hotplate run reduce X --operation sum"},
                                          {"mean", "hotplate run reduce X --operation mean"},
                                          {"zeros", "hotplate run full --n N --value 0.0"},
                                          {"ones", "hotplate run full --n N --value 1.0"},
                                          {"randn", "hotplate run random --n N --distribution normal"},
                                          {"eigvalsh", "hotplate run eigh A --compute values"},
                                          {"eigvals", "hotplate run eig A --compute values"},
                                          {"inverse", "hotplate run solve A I"},
                                          {"sqrt", "Here: hotplate eval 'sqrt(x)' x=X"},
                                          {"log", "Here: hotplate eval 'log(x)' x=X"},
                                          {"ifft", "Here: hotplate run fft X --transform ifft"},
                                          {"rfft", "Here: hotplate run fft X --transform rfft"},
                                          {"irfft", "Here: hotplate run fft X --transform irfft"},
                                          {"fft2", "Here: hotplate run fft X --axes 2"},
                                          {"eye", "No kernel computes that alone. All"}}) {
    const Ran ran = Hotplate({"run", word});
    EXPECT_EQ(ran.exit, kExitInvalid);
    EXPECT_THAT(ran.err, AllOf(HasSubstr("no kernel \"" + word + "\". "), HasSubstr(here), Not(HasSubstr("Nearest"))));
    EXPECT_EQ(Hotplate({"describe", word}).err, ran.err);
  }
  EXPECT_EQ(Hotplate({"describe", "norm"}).exit, 0);
  for (const auto& [word, near] : std::map<std::string, std::string>{{"det", "slogdet A"},
                                                                     {"var", "reduce X --operation std"},
                                                                     {"transpose", "matmul A B --transpose-a"},
                                                                     {"relu", "selu X"}})
    EXPECT_THAT(Hotplate({"run", word}).err, HasSubstr("No kernel computes that alone. Nearest: hotplate run " + near));
}

TEST_F(CommandTest, KernelsInThePlaceOfCommandsLeadToRun) {
  for (const auto& [word, hint] :
       std::map<std::string, std::string>{{"matmul", "It is a kernel: hotplate run matmul\n"},
                                          {"norm", "It is a kernel: hotplate run norm\n"},
                                          {"sum", "Here: hotplate run reduce X --operation sum\n"},
                                          {"sqrt", "Here: hotplate eval 'sqrt(x)' x=X\n"}}) {
    const Ran ran = Hotplate({word, "a.npy"});
    EXPECT_EQ(ran.exit, kExitUsage);
    EXPECT_THAT(ran.err, HasSubstr("no command \"" + word + "\". " + hint));
  }
  EXPECT_THAT(Hotplate({"help", "matmul"}).err,
              HasSubstr("no command or topic \"matmul\". It is a kernel: hotplate describe matmul\n"));
}

// --endpoint is an option of every command: the daemon's address.
TEST_F(CommandTest, LinspacesEndpointIsNoAddress) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"run", "linspace", "--stop", "1", "--endpoint", "false"},
                                             {"submit", "linspace", "--endpoint=False", "--stop", "1"}}) {
    const Ran ran = Hotplate(words);
    EXPECT_EQ(ran.exit, kExitUsage);
    EXPECT_THAT(ran.err, HasSubstr("; write --no-include-stop"));
  }
  EXPECT_THAT(Hotplate({"run", "linspace", "--stop", "1", "--endpoint", "host"}).err, Not(HasSubstr("; write")));
  EXPECT_THAT(Hotplate({"jobs", "--endpoint", "false"}).err, Not(HasSubstr("; write")));
}

// A word that means something else is no misspelling, however close its letters are.
TEST_F(CommandTest, OnlyMisspellingsLeadToTheNearestName) {
  for (const char* word : {"pop", "cat", "mv", "unsubmit", "freeze", "downsize", "cut", "bun"})
    EXPECT_THAT(Hotplate({word}).err, Not(HasSubstr("Nearest"))) << word;
  for (const auto& [word, name] : std::map<std::string, std::string>{{"satus", "status"},
                                                                     {"reslut", "result"},
                                                                     {"descirbe", "describe"},
                                                                     {"desribe", "describe"},
                                                                     {"parttions", "partitions"},
                                                                     {"job", "jobs"},
                                                                     {"device", "devices"},
                                                                     {"results", "result"}})
    EXPECT_THAT(Hotplate({word}).err, HasSubstr("Nearest: " + name + "\n")) << word;
}

// The commands in a hint exist.
TEST_F(CommandTest, HintsNameCommandsAndKernelsThatAreThere) {
  for (const char* word :
       {"ls",   "ps",   "list", "stop",  "kill", "start", "queue", "info",   "rm",   "upload",  "download", "log",
        "pull", "push", "load", "fetch", "quit", "exit",  "cp",    "sbatch", "srun", "restart", "plot",     "del"}) {
    const std::string said = Hotplate({word}).err;
    for (std::size_t at = said.find("hotplate "); at != std::string::npos; at = said.find("hotplate ", at + 1)) {
      const std::size_t begin = at + 9;
      EXPECT_NE(FindCommand(said.substr(begin, said.find_first_of(" ,\n", begin) - begin)), nullptr) << said;
    }
  }
}

TEST_F(CommandTest, OptionsMayStandBeforeTheVerb) {
  const Ran ran = Hotplate({"--json", "--server", "nobody", "use"});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(ran.out, "{\"current\":\"nobody\",\"servers\":[],\"dead\":[]}\n");
}

TEST_F(CommandTest, NoColoursInAPipe) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"status"}, {"kernels"}, {"describe", "selu"}}) {
    const Ran ran = Hotplate(words);
    EXPECT_EQ((ran.out + ran.err).find('\033'), std::string::npos);
  }
}

}  // namespace
}  // namespace hotplate::cli
