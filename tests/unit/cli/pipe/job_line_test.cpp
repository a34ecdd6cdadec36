// From a line of JSON to the words of run.
#include "client/cli/pipe/job_line.h"

#include <gmock/gmock.h>

#include "client/cli/terminal/json_reader.h"

namespace hotplate::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

v1::KernelSpec Selu() {
  v1::KernelSpec kernel;
  kernel.set_name("selu");
  kernel.add_inputs()->set_name("x");
  kernel.add_outputs()->set_name("y");
  kernel.add_params()->set_name("max_value");
  return kernel;
}

std::string Fault(const std::string& text) {
  JobLine line;
  const absl::Status status = ReadJobLine(text, line);
  return status.ok() ? "none" : std::string(status.message());
}

TEST(JsonReader, KeepsNumbersAsTheyAreWritten) {
  JsonValue read;
  ASSERT_TRUE(
      ReadJsonObject(R"({"a": 18446744073709551615, "b": -3, "c": 3.0, "d": 1E2, "e": true, "f": null})", read).ok());
  std::vector<std::string> texts;
  for (const auto& [name, value] : read.members) texts.push_back(value.text);
  EXPECT_THAT(texts, ElementsAre("18446744073709551615", "-3", "3.0", "1E2", "true", ""));
}

TEST(JsonReader, KeepsTwoLevelsAndChecksTheRest) {
  JsonValue read;
  ASSERT_TRUE(
      ReadJsonObject(R"({"a": {"b": {"c": {"a": 1}}, "d": [{"e": 2}], "f": 3}, "g": [[1], {"h": 4}], "i": 5})", read)
          .ok());
  ASSERT_EQ(read.members.size(), 3u);
  const JsonValue& a = read.members[0].second;
  ASSERT_EQ(a.members.size(), 3u);
  EXPECT_EQ(a.members[0].second.kind, JsonValue::Kind::kObject);
  EXPECT_TRUE(a.members[0].second.members.empty());
  EXPECT_EQ(a.members[1].second.kind, JsonValue::Kind::kArray);
  EXPECT_EQ(a.members[2].second.text, "3");
  EXPECT_EQ(read.members[1].second.kind, JsonValue::Kind::kArray);
  EXPECT_EQ(read.members[2].second.text, "5");
}

TEST(JsonReader, SaysWhatIsWrong) {
  const auto fault = [](const std::string& text) {
    JsonValue read;
    return std::string(ReadJsonObject(text, read).message());
  };
  EXPECT_THAT(fault(R"({"a": secret})"), AllOf(HasSubstr("column 7"), Not(HasSubstr("secret"))));
  EXPECT_THAT(fault(R"({"a": {"b": 1, "b": 2}})"), HasSubstr("\"b\" is given twice"));
  EXPECT_THAT(fault("3"), HasSubstr("a number, and no object"));
  EXPECT_THAT(fault("[]"), HasSubstr("an array, and no object"));
  EXPECT_THAT(fault("{} {}"), HasSubstr("no JSON"));
  EXPECT_THAT(fault("{\"a\": \"\xff\"}"), HasSubstr("no JSON"));
  EXPECT_THAT(fault(std::string(100'000, '[')), HasSubstr("an array"));
  EXPECT_THAT(fault(R"({"a": )" + std::string(100'000, '[')), HasSubstr("no JSON"));
  std::string many = "{";
  for (int i = 0; i < 5000; ++i) many += "\"" + std::to_string(i) + "\": 1,";
  EXPECT_THAT(fault(many), HasSubstr("more than 4096 members"));
}

TEST(JobLine, BecomesWords) {
  JobLine line;
  ASSERT_TRUE(
      ReadJobLine(R"({"outputs": {"y": "a=b.npy"}, "tag": "7", "kernel": "selu", "inputs": {"x": -5}, "time_limit": 10,
                              "params": {"max_value": "-x"}, "deterministic": true, "force": false, "label": ""})",
                  line)
          .ok());
  EXPECT_EQ(line.tag, "\"7\"");
  const auto words = WordsOf(line, Selu());
  ASSERT_TRUE(words.ok()) << words.status();
  EXPECT_THAT(*words, ElementsAre("--time-limit=10", "--deterministic", "--output=y=a=b.npy", "--max-value=-x", "--",
                                  "selu", "x=-5"));
}

TEST(JobLine, KeepsItsTagWhateverIsWrongBehindIt) {
  JobLine line;
  EXPECT_FALSE(ReadJobLine(R"({"tag": 12, "kernel")", line).ok());
  EXPECT_EQ(line.tag, "12");
}

TEST(JobLine, NamesWhatIsWrong) {
  EXPECT_THAT(Fault(R"({"kernel": "selu", "imputs": {}})"), HasSubstr("no key \"imputs\". Nearest: inputs"));
  EXPECT_THAT(Fault(R"({"kernel": "selu", "output": "y.npy"})"), HasSubstr("Nearest: outputs"));
  EXPECT_THAT(Fault(R"({"kernel": ""})"), HasSubstr("kernel: it is empty"));
  EXPECT_THAT(Fault(R"({"expression": "x", "params": {}})"), HasSubstr("its numbers are inputs"));
  EXPECT_THAT(Fault(R"({"kernel": "selu", "outputs": {"a=b": "c.npy"}})"), HasSubstr("\"a=b\" is no name"));
  EXPECT_THAT(Fault(R"({"kernel": "selu", "inputs": {"x": null}})"), HasSubstr("inputs.x: it is null"));
  JobLine line;
  ASSERT_TRUE(ReadJobLine(R"({"kernel": "selu", "params": {"max-value": 1}})", line).ok());
  EXPECT_THAT(std::string(WordsOf(line, Selu()).status().message()), HasSubstr("Nearest: max_value"));
}

}  // namespace
}  // namespace hotplate::cli
