#include "client/cli/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/cli/ending.h"

namespace hotplate::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<OptionSpec> SomeOptions() {
  return {{.names = "-o,--output", .value = "PATH", .help = "", .repeatable = true},
          {.names = "--time-limit", .value = "TIME", .help = ""},
          {.names = "-q,--quiet", .value = "", .help = ""},
          {.names = "--transpose-a,--transpose_a", .value = "", .help = "", .negatable = true},
          {.names = "--x-min,--x_min", .value = "X", .help = ""}};
}

Arguments Parsed(const std::vector<std::string>& words) {
  const auto arguments = ParseArguments(SomeOptions(), words);
  EXPECT_TRUE(arguments.ok()) << arguments.status();
  return arguments.ok() ? *arguments : Arguments();
}

TEST(Arguments, OptionsAndWordsInAnyOrder) {
  const Arguments arguments = Parsed({"run", "-o", "c.npy", "a.npy", "-q", "--output=d.npy", "b.npy"});
  EXPECT_THAT(arguments.words(), ElementsAre("run", "a.npy", "b.npy"));
  EXPECT_THAT(arguments.All("output"), ElementsAre("c.npy", "d.npy"));
  EXPECT_TRUE(arguments.Flag("quiet"));
  EXPECT_FALSE(arguments.Flag("transpose-a"));
}

TEST(Arguments, TheLastOneCounts) {
  EXPECT_EQ(Parsed({"--time-limit", "5s", "--time-limit", "9s"}).Text("time-limit"), "9s");
}

TEST(Arguments, NegativeNumbersAreValues) {
  EXPECT_EQ(Parsed({"--x-min", "-2.5"}).Text("x-min"), "-2.5");
  EXPECT_EQ(Parsed({"--x_min=-2.5"}).Text("x-min"), "-2.5");
}

TEST(Arguments, BoolsThreeWays) {
  EXPECT_EQ(Parsed({"--transpose-a"}).Text("transpose-a"), "true");
  EXPECT_EQ(Parsed({"--no-transpose-a"}).Text("transpose-a"), "false");
  EXPECT_EQ(Parsed({"--transpose_a=false"}).Text("transpose-a"), "false");
  EXPECT_EQ(Parsed({"--transpose-a=true"}).Text("transpose-a"), "true");
}

TEST(Arguments, WordsBehindTwoDashesAreWords) {
  const Arguments arguments = Parsed({"-q", "a", "--", "--threads", "8"});
  EXPECT_THAT(arguments.words(), ElementsAre("a", "--threads", "8"));
  EXPECT_THAT(arguments.rest(), ElementsAre());
}

TEST(Arguments, ACommandThatTakesWhatStandsBehindTwoDashesHasItApart) {
  const auto arguments = ParseArguments(SomeOptions(), {"-q", "a", "--", "--threads", "8"}, true);
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  EXPECT_THAT(arguments->words(), ElementsAre("a"));
  EXPECT_THAT(arguments->rest(), ElementsAre("--threads", "8"));
}

TEST(Arguments, UnknownOptionsNameTheNearest) {
  const auto arguments = ParseArguments(SomeOptions(), {"--qiet"});
  ASSERT_FALSE(arguments.ok());
  EXPECT_TRUE(IsUsageError(arguments.status()));
  EXPECT_THAT(std::string(arguments.status().message()), HasSubstr("no option \"--qiet\". Nearest: --quiet"));
}

TEST(Arguments, AMissingValueIsAUsageError) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"--time-limit"}, {"-o"}, {"--time-limit=", "-o", "y.npy"}, {"--output=", "y.npy"}}) {
    const absl::Status status = ParseArguments(SomeOptions(), words).status();
    EXPECT_TRUE(IsUsageError(status)) << status;
    EXPECT_THAT(std::string(status.message()), testing::EndsWith(": its value is missing"));
    EXPECT_EQ(status.message().find('='), std::string::npos) << status;
  }
  EXPECT_EQ(Parsed({"--", "--output="}).words().at(0), "--output=") << "no option there";
}

TEST(Arguments, TypedValuesNameWhatIsWrong) {
  EXPECT_EQ(**Parsed({"--time-limit", "5s"}).Duration("time-limit"), std::chrono::seconds(5));
  EXPECT_EQ(*Parsed({}).Duration("time-limit"), std::nullopt);
  EXPECT_THAT(std::string(Parsed({"--time-limit", "soon"}).Duration("time-limit").status().message()),
              HasSubstr("\"soon\""));
  EXPECT_EQ(**Parsed({"--x-min", "100"}).Integer("x-min", -100, 100), 100);
  EXPECT_FALSE(Parsed({"--x-min", "101"}).Integer("x-min", -100, 100).ok());
}

TEST(Arguments, FirstWordSkipsOptionsAndTheirValues) {
  EXPECT_EQ(FirstWord(SomeOptions(), {"-q", "-o", "x", "matmul"}), 3u);
  EXPECT_EQ(FirstWord(SomeOptions(), {"--output=x", "matmul"}), 1u);
  EXPECT_EQ(FirstWord(SomeOptions(), {"-q"}), 1u);
  EXPECT_EQ(FirstWord(SomeOptions(), {"-q", "--", "-matmul"}), 2u);
  EXPECT_EQ(FirstWord(SomeOptions(), {"-q", "--"}), 2u);
}

TEST(Arguments, Positionals) {
  const std::vector<PositionalSpec> one = {{.name = "JOB", .help = "the id of a job"}};
  EXPECT_TRUE(CheckPositionals(one, {"7"}).ok());
  EXPECT_THAT(std::string(CheckPositionals(one, {}).message()), HasSubstr("JOB is missing"));
  EXPECT_THAT(std::string(CheckPositionals(one, {"7", "8"}).message()), HasSubstr("\"8\""));
}

}  // namespace
}  // namespace hotplate::cli
