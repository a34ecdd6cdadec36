#include "kernels/array/quoted.h"

#include <gtest/gtest.h>

namespace hotplate {
namespace {

TEST(QuotedTest, ShowsPlainTextAsItIs) { EXPECT_EQ(Quoted("matmul 2"), "\"matmul 2\""); }

TEST(QuotedTest, TurnsWhatATerminalWouldObeyIntoText) {
  EXPECT_EQ(Quoted("\x1b[2J\n\"\\\x93"), "\"\\x1b[2J\\x0a\\x22\\x5c\\x93\"");
  EXPECT_EQ(Quoted(std::string_view("\0", 1)), "\"\\x00\"");
}

TEST(QuotedTest, ShowsLettersOfAllLanguages) {
  EXPECT_EQ(Quoted("/proj/\u00e5sa/\u6570\u636e\U0001f600.npy"), "\"/proj/\u00e5sa/\u6570\u636e\U0001f600.npy\"");
  EXPECT_EQ(Quoted("a\u202eb"), "\"a\\xe2\\x80\\xaeb\"") << "it would turn the line around";
  EXPECT_EQ(Quoted("\xc2\x9b"), "\"\\xc2\\x9b\"") << "a control sequence's beginning";
  EXPECT_EQ(Quoted("\xc0\xaf\xc3"), "\"\\xc0\\xaf\\xc3\"") << "not UTF-8";
  EXPECT_EQ(Quoted("\xed\xa0\x80\xf5\x80"), "\"\\xed\\xa0\\x80\\xf5\\x80\"") << "not UTF-8";
}

TEST(QuotedTest, TellsUtf8FromOtherBytes) {
  for (const char* text :
       {"", "plain", "\x01\x7f", "gr\xc3\xbc\xc3\x9f", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xe2\x80\x8b"}) {
    EXPECT_TRUE(IsUtf8(text)) << Quoted(text);
  }
  // A lone byte, a cut one, an overlong one, a surrogate, one beyond the last.
  for (const char* text : {"a\xff", "\xc3", "\xe2\x82", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80"}) {
    EXPECT_FALSE(IsUtf8(text)) << Quoted(text);
  }
}

TEST(QuotedTest, KeepsBothEndsOfALongText) {
  const std::string whole(200, 'x');
  EXPECT_EQ(Quoted(whole), "\"" + whole + "\"");
  const std::string path = "/proj/" + std::string(300, 'd') + "/measurement-17/temperature.npy";
  const std::string quoted = Quoted(path);
  EXPECT_TRUE(quoted.starts_with("\"/proj/ddd")) << quoted;
  EXPECT_NE(quoted.find("d/measurement-17/temperature.npy\" (337 bytes)"), std::string::npos) << quoted;
  EXPECT_NE(quoted.find("d...d"), std::string::npos) << quoted;
}

TEST(QuotedTest, ShortenedIsCutTheSameWayWithoutQuotes) {
  EXPECT_EQ(Shortened("a \"name\"\n\xc2\x9b"
                      "2J\xff"),
            "a \"name\"  2J ");
  const std::string whole(200, 'x');
  EXPECT_EQ(Shortened(whole), whole);
  EXPECT_EQ(Shortened("begin" + std::string(1'000'000, 'x') + "end"),
            "begin" + std::string(55, 'x') + "..." + std::string(97, 'x') + "end (1000008 bytes)");
}

TEST(QuotedTest, VisibleLeavesOutWhatATerminalWouldObey) {
  EXPECT_EQ(Visible("\x1b[2Ja\x7f\xc2\x9b"
                    "1mb\xc2\x9d"
                    "c\xe2\x80\xae"
                    "d\xff\xc3",
                    '?'),
            "?[2Ja??1mb?c?d??");
  EXPECT_EQ(Visible("\u00e5\u6570\U0001f600 \"\\", '?'), "\u00e5\u6570\U0001f600 \"\\");
  EXPECT_EQ(Visible("a\tb\nc\r", '?', "\n\t"), "a\tb\nc?");
  EXPECT_EQ(Visible("a\tb\nc\r", ' '), "a b c ");
}

TEST(QuotedTest, IsShort) {
  for (const std::string& text :
       {std::string(8'000'000, 'x'), std::string(8'000'000, '\n'), std::string(1000, '\xc3')}) {
    const std::string quoted = Quoted(text);
    EXPECT_LE(quoted.size(), 190u) << quoted;
    EXPECT_NE(quoted.find(std::to_string(text.size())), std::string::npos) << quoted;
  }
}

}  // namespace
}  // namespace hotplate
