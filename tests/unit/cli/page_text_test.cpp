// Pages of Markdown on a terminal.
#include "client/cli/terminal/page_text.h"

#include <gmock/gmock.h>

#include "client/cli/catalogue/topics.h"
#include "client/cli/terminal/console.h"

namespace hotplate::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string Shown(const std::string& markdown, int width = 40) { return PageText(markdown, width, false); }

TEST(PageTextTest, ParagraphsAreFittedToTheWidth) {
  EXPECT_EQ(Shown("# Title\n\nOne two three four five six\nseven eight nine ten.\n\nNext.\n"),
            "Title\n\nOne two three four five six seven eight\nnine ten.\n\nNext.\n");
  EXPECT_EQ(Shown("a\nb\n", 1000), "a b\n");
}

TEST(PageTextTest, CodeStaysAsItIs) {
  const std::string code = "$ hotplate run matmul a.npy b.npy -o c.npy   # **no** [link](here) | no cell";
  EXPECT_EQ(Shown("```console\n" + code + "\n\n| x |\n```\n"), "    " + code + "\n\n    | x |\n");
  EXPECT_EQ(Shown("a `**b** [c](d)` e\n"), "a `**b** [c](d)` e\n");
}

TEST(PageTextTest, ItemsAreIndented) {
  EXPECT_EQ(Shown("- one two three four five six seven\n  eight nine\n- ten\n\n12. twelve\n"),
            "- one two three four five six seven\n  eight nine\n- ten\n\n12. twelve\n");
}

TEST(PageTextTest, LinksLeadWhereATerminalCan) {
  EXPECT_EQ(Shown("[one](../../deploy/docs/sites.md#keys)\n", 80), "one (hotplate help sites)\n");
  EXPECT_EQ(Shown("[one](https://example.org/a)\n", 80), "one <https://example.org/a>\n");
  EXPECT_EQ(Shown("[one](#below) and [two](../x/two.cpp), a[0] [, m]\n", 80), "one and two, a[0] [, m]\n");
  EXPECT_EQ(Shown("![a picture](a.png)\n\n<!-- a remark -->\ntext\n"), "text\n");
}

TEST(PageTextTest, BoldIsForTerminals) {
  EXPECT_EQ(Shown("a **b c** d\n"), "a b c d\n");
  EXPECT_EQ(PageText("a **b c** d\n", 40, true), "a \033[1mb c\033[0m d\n");
}

TEST(PageTextTest, TablesAreFitted) {
  EXPECT_EQ(Shown("| a | b |\n|---|---|\n| x | y \\| `|` |\n"), "a  b\nx  y | `|`\n");
  EXPECT_EQ(Shown("| key | meaning |\n|---|---|\n| `k` | one two three four five six seven eight nine |\n| l | |\n"),
            "key  meaning\n`k`  one two three four five six seven\n     eight nine\nl\n");
}

TEST(PageTextTest, ATableOfManyColumnsIsWrittenRowByRow) {
  const std::string wide(30, 'w');
  EXPECT_EQ(Shown("| a | b | c | d | e |\n|---|---|---|---|---|\n| 1 | 2 | | 4 | " + wide + " |\n"),
            "1\n  b: 2\n  d: 4\n  e: " + wide + "\n");
}

TEST(PageTextTest, EveryPageFitsATerminalButForItsCode) {
  ASSERT_FALSE(Topics().empty());
  for (const Topic& topic : Topics()) {
    const std::string text = PageText(topic.page, 80, false);
    std::size_t begin = 0;
    for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
      const std::string line = text.substr(begin, end - begin);
      if (line.rfind("    ", 0) == 0 || line.find(' ') == std::string::npos) continue;
      EXPECT_LE(DisplayWidth(line), 80) << topic.name << ": " << line;
    }
    EXPECT_THAT(topic.summary, Not(HasSubstr("#"))) << topic.name << ": its title is \"# Name: summary\"";
  }
}

}  // namespace
}  // namespace hotplate::cli
