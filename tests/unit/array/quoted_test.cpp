#include "kernels/array/quoted.h"

#include <gtest/gtest.h>

namespace hotplate {
namespace {

TEST(QuotedTest, ShowsPlainTextAsItIs) { EXPECT_EQ(Quoted("matmul 2"), "\"matmul 2\""); }

TEST(QuotedTest, TurnsWhatATerminalWouldObeyIntoText) {
  EXPECT_EQ(Quoted("\x1b[2J\n\"\\\x93"), "\"\\x1b[2J\\x0a\\x22\\x5c\\x93\"");
  EXPECT_EQ(Quoted(std::string_view("\0", 1)), "\"\\x00\"");
}

TEST(QuotedTest, IsShort) {
  EXPECT_EQ(Quoted(std::string(61, 'x')), "\"" + std::string(60, 'x') + "...\"");
  EXPECT_EQ(Quoted(std::string(60, 'x')), "\"" + std::string(60, 'x') + "\"");
}

}  // namespace
}  // namespace hotplate
