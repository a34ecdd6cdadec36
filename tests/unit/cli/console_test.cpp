// Nothing from outside gives a terminal orders.
#include "client/cli/terminal/console.h"

#include <gmock/gmock.h>

#include <sstream>

#include "client/cli/app.h"
#include "client/cli/terminal/json.h"
#include "tests/temporary_folder.h"

namespace hotplate::cli {
namespace {

// A control sequence's beginning and an operating system command's, as single characters beyond ASCII; DEL.
constexpr char kOrders[] = "a\xc2\x9b\x32J\xc2\x9d\x30;title\x07\x7f";

TEST(ConsoleTest, WordsFromOutsideGiveNoOrders) {
  EXPECT_EQ(Printable(kOrders), "a?2J?0;title??");
  EXPECT_EQ(Printable("\033[31mred\r\n\tUme\xc3\xa5"), "?[31mred?\n\tUme\xc3\xa5");
  EXPECT_EQ(Printable("\x9b\x32J"), "?2J") << "no UTF-8, but an order to terminals of eight bits";
}

TEST(ConsoleTest, JsonEscapesThem) {
  EXPECT_EQ(JsonText(kOrders), "\"a\\u009b2J\\u009d0;title\\u0007\\u007f\"");
  EXPECT_EQ(JsonText("Ume\xc3\xa5\xc2\xa0"), "\"Ume\xc3\xa5\xc2\xa0\"");
}

std::string Logs(const TemporaryFolder& folder, bool terminal) {
  std::ostringstream out, err;
  Console console{out, err};
  console.out_terminal = terminal;
  EXPECT_EQ(RunHotplate({"logs"}, console,
                        [&](const std::string& name) -> std::optional<std::string> {
                          if (name == "HOTPLATE_DIR") return folder.path();
                          return std::nullopt;
                        }),
            0)
      << err.str();
  return out.str();
}

TEST(ConsoleTest, ALogGivesATerminalNoOrdersAndAFileItsBytes) {
  const TemporaryFolder folder;
  folder.Write("logs/local.log", std::string("first\n") + kOrders + "\n");
  EXPECT_EQ(Logs(folder, true), "first\na?2J?0;title??\n");
  EXPECT_EQ(Logs(folder, false), std::string("first\n") + kOrders + "\n");
}

TEST(Fitted, BreaksAtSpacesBelowTheLastColumn) {
  EXPECT_EQ(Fitted("one two three", 0), "one two three");
  EXPECT_EQ(Fitted("one two three\n", 20), "one two three\n");
  EXPECT_EQ(Fitted("one two three\nfour", 8), "one two\n  three\nfour");
  EXPECT_EQ(Fitted("  --all  free all of them\n", 18), "  --all  free all\n         of them\n");
  EXPECT_EQ(Fitted("a-word-that-is-longer than that", 10), "a-word-that-is-longer\n  than\n  that");
  EXPECT_EQ(Fitted("\033[32mone\033[0m two three", 8), "\033[32mone\033[0m two\n  three");
  EXPECT_EQ(Fitted("ä ö ü", 5), "ä ö ü");
}

TEST(Shortened, EndsInAnEllipsis) {
  EXPECT_EQ(Shortened("mandelbrot", 10), "mandelbrot");
  EXPECT_EQ(Shortened("mandelbrot", 6), "mande…");
  EXPECT_EQ(DisplayWidth(Shortened("\033[31mFAILED\033[0m", 4)), 4);
  EXPECT_EQ(Shortened("\033[31mFAILED\033[0m", 4), "\033[31mFAI\033[0m…");
}

TEST(ConsoleTest, ACharacterIsWholeOrStillToCome) {
  EXPECT_EQ(WholeCharacters(""), 0U);
  EXPECT_EQ(WholeCharacters("plain"), 5U);
  const std::string text = "caf\u00e9 \u20ac \U0001F525";  // characters of 2, 3 and 4 bytes
  EXPECT_EQ(WholeCharacters(text), text.size());
  EXPECT_EQ(WholeCharacters(text.substr(0, 4)), 3U);
  EXPECT_EQ(WholeCharacters(text.substr(0, 8)), 6U);
  for (std::size_t cut = 1; cut <= 3; ++cut) EXPECT_EQ(WholeCharacters(text.substr(0, text.size() - cut)), 10U) << cut;
  EXPECT_EQ(WholeCharacters("\x80\x80\x80\x80\x80"), 5U) << "what is no character is not waited for";
}

}  // namespace
}  // namespace hotplate::cli
