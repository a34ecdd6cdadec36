#include "client/cli/sweeps/sweep_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/cli/sweeps/sweep_file.h"
#include "client/cli/sweeps/sweep_text.h"
#include "client/cli/terminal/format.h"
#include "tests/temporary_folder.h"

namespace hotplate::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<client::ParamValue> ParseOne(const std::string& name, const std::string& text) {
  if (const auto integer = ParseInteger(text); integer && (name == "n" || text.find('.') == std::string::npos))
    return client::ParamValue(*integer);
  if (const auto real = name == "n" ? std::nullopt : ParseNumber(text)) return client::ParamValue(*real);
  if (name == "mode") return client::ParamValue(text);
  return absl::InvalidArgumentError("\"" + text + "\" is not a number");
}

absl::StatusOr<std::optional<v1::Sweep>> Sweep(const std::vector<std::string>& words) {
  std::vector<OptionSpec> options = SweepOptions();
  options.push_back(FailedOfOption());
  options.push_back(EachLineOption());
  const auto arguments = ParseArguments(options, words);
  EXPECT_TRUE(arguments.ok()) << arguments.status();
  return SweepFrom(*arguments, {"demo", {"n", "x_max", "mode"}, ParseOne});
}
std::string Refusal(const std::vector<std::string>& words) {
  const auto sweep = Sweep(words);
  EXPECT_TRUE(absl::IsInvalidArgument(sweep.status())) << sweep.status();
  return std::string(sweep.status().message());
}
// The values of all tasks, in order.
std::vector<std::string> Tasks(const std::vector<std::string>& words) {
  const auto sweep = Sweep(words);
  EXPECT_TRUE(sweep.ok() && *sweep) << sweep.status();
  std::vector<std::string> tasks;
  for (std::uint64_t task = 0; task < TasksOf(**sweep); ++task) {
    std::string text;
    for (const v1::ParamValue& value : ValuesOf(**sweep, task)) text += (text.empty() ? "" : " ") + Text(value);
    tasks.push_back(text);
  }
  return tasks;
}

TEST(SweepWordsTest, RangesAndLists) {
  EXPECT_THAT(Tasks({"--each", "n=3..5"}), ElementsAre("3", "4", "5"));
  EXPECT_THAT(Tasks({"--each", "n=0..7:3"}), ElementsAre("0", "3", "6"));
  EXPECT_THAT(Tasks({"--each", "n=5..1:-2"}), ElementsAre("5", "3", "1"));
  EXPECT_THAT(Tasks({"--each", "n=-1..-1"}), ElementsAre("-1"));
  EXPECT_THAT(Tasks({"--each", "x-max=0..1:0.25"}), ElementsAre("0", "0.25", "0.5", "0.75", "1"));
  EXPECT_EQ(Tasks({"--each", "x_max=0..1:0.1"}).size(), 11u) << "rounding does not cost the last value";
  EXPECT_THAT(Tasks({"--each", "mode=a,b"}), ElementsAre("a", "b"));
  EXPECT_THAT(Tasks({"--each", "n=7"}), ElementsAre("7"));
}

TEST(SweepWordsTest, TheLastOneGivenVariesFastest) {
  EXPECT_THAT(Tasks({"--each", "n=1,2", "--each", "mode=a,b,c"}),
              ElementsAre("1 a", "1 b", "1 c", "2 a", "2 b", "2 c"));
}

TEST(SweepWordsTest, WithoutThemThereIsNoSweep) {
  EXPECT_FALSE(Sweep({})->has_value());
  EXPECT_THAT(Refusal({"--retries", "2"}), HasSubstr("--retries is for a job of many tasks"));
  EXPECT_THAT(Refusal({"--failed-of", "3"}), HasSubstr("--failed-of is for"));
}

TEST(SweepWordsTest, FaultsAreNamedWithTheirValues) {
  EXPECT_THAT(Refusal({"--each", "n=5..1"}),
              HasSubstr("--each n=5..1: there is nothing from the first value to the last"));
  EXPECT_THAT(Refusal({"--each", "n=1..5:-1"}), HasSubstr("of that sign: the sweep has 0 tasks"));
  EXPECT_THAT(Refusal({"--each", "n=1..5:0"}), HasSubstr("the step is 0"));
  EXPECT_THAT(Refusal({"--each", "n=1..5:a"}), HasSubstr("the step \"a\" is no number"));
  EXPECT_THAT(Refusal({"--each", "n=1..5:0.5"}), HasSubstr("not a whole number, and n takes such alone"));
  EXPECT_THAT(Refusal({"--each", "n=1..1000000000"}), HasSubstr("1000000000 values are too many"));
  EXPECT_THAT(Refusal({"--each", "n=-9223372036854775808..9223372036854775807"}), HasSubstr("are too many"));
  EXPECT_THAT(Refusal({"--each", "x_max=0..1:1e-8"}), HasSubstr("100000001 values are too many"));
  EXPECT_THAT(Refusal({"--each", "n=1..2000", "--each", "x_max=1..2000"}),
              HasSubstr("4000000 combinations are too many; a sweep has at most 1000000 tasks"));
  EXPECT_THAT(Refusal({"--each", "mode=a..b"}), HasSubstr("is no number, so there is no range"));
  EXPECT_THAT(Refusal({"--each", "n="}), HasSubstr("it has no values"));
  EXPECT_THAT(Refusal({"--each", "n=1,,2"}), HasSubstr("\"\" is not a number"));
  EXPECT_THAT(Refusal({"--each", "moed=a"}), HasSubstr("demo has no parameter \"moed\". Nearest: mode"));
  EXPECT_THAT(Refusal({"--each", "n"}), HasSubstr("write NAME=FIRST..LAST"));
  EXPECT_THAT(Refusal({"--each", "n=1", "--each", "n=2"}), HasSubstr("n is swept over already"));
  EXPECT_THAT(Refusal({"--each", "n=1", "--each-file", "f"}), HasSubstr("give one kind of them"));
}

TEST(SweepWordsTest, SettingsGoAlong) {
  const v1::Sweep sweep = **Sweep({"--each", "n=1..3", "--max-fails", "0", "--retries", "2"});
  EXPECT_TRUE(sweep.has_most_failed());
  EXPECT_EQ(sweep.most_failed(), 0u);
  EXPECT_EQ(sweep.retries(), 2u);
  EXPECT_FALSE((*Sweep({"--each", "n=1..3"}))->has_most_failed());
}

class SweepFileTest : public ::testing::Test {
 protected:
  std::string File(const std::string& content) {
    const std::string path = folder_.path() + "/file";
    WriteText(path, content);
    return path;
  }
  const TemporaryFolder folder_;
};

TEST_F(SweepFileTest, ATableHasATaskForEachRow) {
  EXPECT_THAT(Tasks({"--each-file", File("n, mode\r\n1,a\r\n\r\n 2 ,\"b, \"\"c\"\"\"\r\n")}),
              ElementsAre("1 a", "2 b, \"c\""));
  EXPECT_THAT(Refusal({"--each-file", File("")}), HasSubstr("is empty"));
  EXPECT_THAT(Refusal({"--each-file", File("n\n")}), HasSubstr("0 tasks"));
  EXPECT_THAT(Refusal({"--each-file", File("n,mode\n1\n")}), HasSubstr("line 2 has 1 cells, the first line 2"));
  EXPECT_THAT(Refusal({"--each-file", File("n,n\n1,2\n")}), HasSubstr("two columns n"));
  EXPECT_THAT(Refusal({"--each-file", File("n\nx\n")}), HasSubstr("line 2: \"x\" is not a number"));
  EXPECT_THAT(Refusal({"--each-file", File("n\n\"1\n")}), HasSubstr("a quote is not closed"));
  EXPECT_THAT(Refusal({"--each-file", folder_.path() + "/none"}), HasSubstr("No such file"));
}

TEST_F(SweepFileTest, LinesAreValues) {
  EXPECT_THAT(Tasks({"--each-line", File("a b\n\n  c\r\n")}), ElementsAre("a b", "  c"));
  EXPECT_THAT(Refusal({"--each-line", File("\n\n")}), HasSubstr("0 tasks"));
}

}  // namespace
}  // namespace hotplate::cli
