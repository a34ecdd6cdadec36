#include "client/cli/terminal/table.h"

#include <gtest/gtest.h>

#include "client/cli/jobs/progress.h"
#include "client/cli/terminal/console.h"

namespace hotplate::cli {
namespace {

TEST(Table, AlignsByWhatATerminalShows) {
  Table table({"NAME", "TIME"});
  table.AlignRight(1);
  table.Row({"h→d", "85 µs"});
  table.Row({"kernel", "1.2 ms"});
  EXPECT_EQ(table.Text(),
            "NAME      TIME\n"
            "h→d      85 µs\n"
            "kernel  1.2 ms\n");
}

TEST(Table, ShortRowsAndNoTrailingSpaces) {
  Table table;
  table.Indent(2);
  table.Row({"a", "long cell", "x"});
  table.Row({"b", ""});
  EXPECT_EQ(table.Text(), "  a  long cell  x\n  b\n");
}

TEST(Table, ColoursTakeNoColumns) {
  EXPECT_EQ(DisplayWidth(Paint(true, Tone::kGood, "✓")), 1);
  EXPECT_EQ(Paint(false, Tone::kGood, "✓"), "✓");
}

TEST(Clipped, CutsToTheTerminalAndKeepsEscapes) {
  EXPECT_EQ(Clipped("h→d µs\nab\nc\n", {.columns = 3, .lines = 2}), "h→d\nab\n");
  EXPECT_EQ(Clipped("abc", {.columns = 3, .lines = 1}), "abc");
  EXPECT_EQ(Clipped(Paint(true, Tone::kBold, "local") + " x", {.columns = 2, .lines = 1}),
            Paint(true, Tone::kBold, "lo"));
}

TEST(Table, MarkdownEscapesBars) {
  Table table({"K", "TYPE"});
  table.AlignRight(1);
  table.Row({"selu", "float32|float64"});
  EXPECT_EQ(table.Markdown(), "| K | TYPE |\n|---|---:|\n| selu | float32\\|float64 |\n");
}

TEST(Bar, IsAlwaysAsWide) {
  EXPECT_EQ(Bar(0, 4), "    ");
  EXPECT_EQ(Bar(0.5, 4), "██  ");
  EXPECT_EQ(Bar(1, 4), "████");
  for (const double fraction : {-1.0, 0.03, 0.33, 0.77, 0.999, 2.0})
    EXPECT_EQ(DisplayWidth(Bar(fraction, 20)), 20) << fraction;
}

TEST(Table, FitsIntoTheTerminal) {
  Table table({"ID", "WHAT IT COMPUTES"});
  table.Row({"a1", "element by element, of whatever shape"});
  EXPECT_EQ(table.Text(), "ID  WHAT IT COMPUTES\na1  element by element, of whatever shape\n");
  EXPECT_EQ(table.Text(20), "ID  WHAT IT COMPUTES\na1  element by elem…\n");
  EXPECT_EQ(table.Text(80), table.Text());
  EXPECT_EQ(table.Text(10), "ID  WHAT …\na1  eleme…\n");
  EXPECT_EQ(table.Text(8), "ID  WHA…\na1  ele…\n");
  Table other({"JOB", "KERNEL", "STATE"});
  other.MayBeCut(1);
  other.Row({"1", "mandelbrot", "COMPLETED IN TIME"});
  EXPECT_EQ(other.Text(30), "JOB  KERNEL  STATE\n1    mande…  COMPLETED IN TIME\n");
  other.MayBeCut(2);
  EXPECT_EQ(other.Text(20), "JOB  KER…  STATE\n1    man…  COMPLETE…\n") << "the first that was named gives way first";
}

}  // namespace
}  // namespace hotplate::cli
