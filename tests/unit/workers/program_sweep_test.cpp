#include "server/workers/program_sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hotplate::server {
namespace {

using ::testing::ElementsAre;

TEST(ProgramSweepTest, EachTaskIsToldItsNumberAndItsValues) {
  Program program;
  program.arguments = {"{n}", "{n}-{line}", "{other} {n}{n}"};
  const Program task = ProgramOfTask(program, 7, {{"n", std::int64_t{3}}, {"line", std::string("a {n} b")}});
  EXPECT_THAT(task.arguments, ElementsAre("{n}", "3-a {n} b", "{other} 33")) << "the program's own name stays";
  EXPECT_THAT(task.task_variables, ElementsAre("HOTPLATE_TASK=7", "HOTPLATE_N=3", "HOTPLATE_LINE=a {n} b"));
}

TEST(ProgramSweepTest, OfManyTasksTheLatestOutputIsKept) {
  TaskStreams streams;
  const std::string text(200 << 10, 'x');
  for (std::uint64_t task = 0; task < 200; ++task) {
    auto one = std::make_shared<ProgramStreams>(/*has_client=*/false);
    streams.Begin(task, one);
    EXPECT_EQ(streams.Of(task), one) << "while it runs, too";
    one->AddOutput(OutputStream::kOut, text);
    streams.End(task);
    EXPECT_LE(streams.kept_bytes(), TaskStreams::kMostKept);
  }
  EXPECT_EQ(streams.Of(0), nullptr);
  ASSERT_NE(streams.Of(199), nullptr);
  EXPECT_EQ(streams.Of(199)->kept_bytes(), text.size());
  EXPECT_EQ(streams.Of(200), nullptr);
}

TEST(ProgramSweepTest, OneThatRunsAgainHasWhatItPrintedLast) {
  TaskStreams streams;
  for (const char* const text : {"first", "second"}) {
    auto one = std::make_shared<ProgramStreams>(/*has_client=*/false);
    streams.Begin(3, one);
    EXPECT_FALSE(streams.HasEnded(3));
    one->AddOutput(OutputStream::kOut, text);
    streams.End(3);
    EXPECT_TRUE(streams.HasEnded(3));
  }
  EXPECT_EQ(streams.Of(3)->KeptFrom(0).pieces.at(0).text, "second");
}

}  // namespace
}  // namespace hotplate::server
