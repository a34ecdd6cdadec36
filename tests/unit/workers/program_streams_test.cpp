#include "server/workers/program_streams.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hotplate::server {
namespace {

std::string TextOf(const std::vector<OutputPiece>& pieces) {
  std::string text;
  for (const OutputPiece& piece : pieces) text += piece.text;
  return text;
}

TEST(ProgramStreamsTest, OutputComesInItsOrderWithItsStream) {
  ProgramStreams streams(true);
  streams.AddOutput(OutputStream::kOut, "a");
  streams.AddOutput(OutputStream::kOut, "b");
  streams.AddOutput(OutputStream::kErr, "c");
  streams.AddOutput(OutputStream::kOut, "d");
  const std::vector<OutputPiece> taken = streams.TakeOutput(nullptr);
  ASSERT_EQ(taken.size(), 3U);
  EXPECT_EQ(taken[0].text, "ab");
  EXPECT_EQ(taken[1].text, "c");
  EXPECT_EQ(taken[1].stream, OutputStream::kErr);
  EXPECT_EQ(taken[2].text, "d");
  EXPECT_TRUE(streams.TakeOutput(nullptr).empty());
}

TEST(ProgramStreamsTest, AClientThatDoesNotReadHoldsTheProgramUp) {
  ProgramStreams streams(true);
  streams.AddOutput(OutputStream::kOut, std::string(ProgramStreams::kOnTheWay - 1, 'x'));
  EXPECT_TRUE(streams.HasRoomForOutput());
  streams.AddOutput(OutputStream::kOut, "x");
  EXPECT_FALSE(streams.HasRoomForOutput());
  streams.TakeOutput(nullptr);
  EXPECT_TRUE(streams.HasRoomForOutput());
}

TEST(ProgramStreamsTest, WithoutAClientNothingIsHeldUp) {
  ProgramStreams streams(true);
  streams.AddOutput(OutputStream::kOut, std::string(ProgramStreams::kOnTheWay, 'x'));
  streams.AddInput("never read");
  streams.Leave(nullptr);
  EXPECT_TRUE(streams.HasRoomForOutput());
  EXPECT_TRUE(streams.TakeOutput(nullptr).empty());
  EXPECT_EQ(streams.input(), ProgramStreams::Input::kWaits);
  streams.NextInput();
  EXPECT_EQ(streams.input(), ProgramStreams::Input::kClosed);
}

TEST(ProgramStreamsTest, TheBeginningAndTheEndAreKept) {
  ProgramStreams streams(false);
  std::string all;
  for (int i = 0; all.size() < 4 * ProgramStreams::kKeptLast; ++i) {
    const std::string line = "line " + std::to_string(i) + "\n";
    streams.AddOutput(OutputStream::kOut, line);
    all += line;
  }
  const ProgramStreams::Kept before = streams.KeptFrom(0), after = streams.KeptFrom(ProgramStreams::kKeptFirst);
  const std::string first = TextOf(before.pieces), last = TextOf(after.pieces);
  EXPECT_EQ(first, all.substr(0, ProgramStreams::kKeptFirst));
  EXPECT_EQ(last, all.substr(all.size() - last.size()));
  EXPECT_GE(last.size(), ProgramStreams::kKeptLast);
  EXPECT_LE(last.size(), ProgramStreams::kKeptLast + ProgramStreams::kPiece);
  EXPECT_EQ(before.begin, 0U);
  EXPECT_EQ(after.begin, all.size() - last.size());
  EXPECT_EQ(streams.kept_bytes(), first.size() + last.size());
  const ProgramStreams::Kept middle = streams.KeptFrom(10);
  EXPECT_EQ(TextOf(middle.pieces), first.substr(10));
  EXPECT_EQ(middle.begin, 10U);
  const ProgramStreams::Kept end = streams.KeptFrom(all.size() - 3);
  EXPECT_EQ(TextOf(end.pieces), all.substr(all.size() - 3));
  EXPECT_TRUE(streams.KeptFrom(all.size()).pieces.empty());
}

TEST(ProgramStreamsTest, WithoutAGapAllComesAtOnce) {
  ProgramStreams streams(false);
  const std::string all(ProgramStreams::kKeptFirst + 10, 'x');
  streams.AddOutput(OutputStream::kOut, all);
  EXPECT_EQ(TextOf(streams.KeptFrom(0).pieces), all);
}

TEST(ProgramStreamsTest, InputIsTakenInOrderAndItsEndIsSeen) {
  ProgramStreams streams(true);
  EXPECT_EQ(streams.input(), ProgramStreams::Input::kNoneYet);
  streams.AddInput("one");
  streams.AddInput("two");
  streams.CloseInput();
  EXPECT_EQ(streams.NextInput(), "one");
  streams.PutBack("e");
  EXPECT_EQ(streams.NextInput(), "e");
  EXPECT_EQ(streams.input(), ProgramStreams::Input::kWaits);
  EXPECT_EQ(streams.NextInput(), "two");
  EXPECT_EQ(streams.input(), ProgramStreams::Input::kClosed);
}

TEST(ProgramStreamsTest, TheClientHearsOfOutputAndOfRoomForInput) {
  ProgramStreams streams(true);
  int told = 0;
  streams.Listen(&told, [&told] { ++told; });
  streams.AddOutput(OutputStream::kErr, "x");
  EXPECT_EQ(told, 1);
  streams.AddInput(std::string(ProgramStreams::kOnTheWay, 'y'));
  EXPECT_FALSE(streams.HasRoomForInput());
  streams.NextInput();
  EXPECT_EQ(told, 2);
  streams.Leave(&told);
  streams.AddOutput(OutputStream::kErr, "x");
  EXPECT_EQ(told, 2);
}

TEST(ProgramStreamsTest, OneThatListensLaterStaysWhenTheFirstLeaves) {
  ProgramStreams streams(false);
  streams.AddOutput(OutputStream::kOut, "before");
  int first = 0, second = 0;
  streams.Listen(&first, [&first] { ++first; });
  streams.Listen(&second, [&second] { ++second; });
  streams.Leave(&first);
  streams.AddOutput(OutputStream::kOut, "after");
  EXPECT_EQ(first, 0);
  EXPECT_EQ(second, 1);
  EXPECT_TRUE(streams.TakeOutput(&first).empty());
  EXPECT_EQ(TextOf(streams.TakeOutput(&second)), "after");
  EXPECT_EQ(TextOf(streams.KeptFrom(0).pieces), "beforeafter");
}

}  // namespace
}  // namespace hotplate::server
