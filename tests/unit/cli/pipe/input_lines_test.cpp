// Lines of a pipe, as they come.
#include "client/cli/pipe/input_lines.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

namespace hotplate::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

// The lines that a reader makes of these bytes.
std::vector<std::pair<std::uint64_t, std::string>> LinesOf(const std::string& bytes) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  std::thread writer([&] {
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t count = write(ends[1], bytes.data() + done, bytes.size() - done);
      if (count <= 0) break;
      done += static_cast<std::size_t>(count);
    }
    close(ends[1]);
  });
  InputLines lines(ends[0]);
  std::vector<std::pair<std::uint64_t, std::string>> found;
  while (true) {
    if (const auto line = lines.Next())
      found.emplace_back(line->number, line->too_long ? "too long" : line->text);
    else if (lines.ended())
      break;
    else
      EXPECT_TRUE(lines.Fill().ok());
  }
  writer.join();
  close(ends[0]);
  return found;
}

TEST(InputLines, AreNumbered) {
  EXPECT_THAT(LinesOf("a\n\nb\n"), ElementsAre(Pair(1, "a"), Pair(2, ""), Pair(3, "b")));
  EXPECT_THAT(LinesOf("a\nb"), ElementsAre(Pair(1, "a"), Pair(2, "b")));
  EXPECT_THAT(LinesOf(""), ElementsAre());
}

TEST(InputLines, OfAnyLength) {
  const std::string most(InputLines::kLongest, 'x');
  EXPECT_THAT(LinesOf(most + "\nb\n"), ElementsAre(Pair(1, most), Pair(2, "b")));
  EXPECT_THAT(LinesOf(most + "x\nb\n"), ElementsAre(Pair(1, "too long"), Pair(2, "b")));
  EXPECT_THAT(LinesOf(most + most + most + "\nb"), ElementsAre(Pair(1, "too long"), Pair(2, "b")));
  EXPECT_THAT(LinesOf("a\n" + most + most), ElementsAre(Pair(1, "a"), Pair(2, "too long")));
}

TEST(InputLines, ThatCannotBeRead) {
  InputLines lines(-1);
  EXPECT_EQ(lines.Fill().message(), "cannot read standard input: Bad file descriptor");
}

}  // namespace
}  // namespace hotplate::cli
