#include "proto/codec/library_versions.h"

#include <gtest/gtest.h>

namespace hotplate::codec {
namespace {

TEST(LibraryTable, HasWhatDiffersAndWhatCannotBeAsked) {
  EXPECT_EQ(LibraryTable({{"a", "1.2", "1.2"}, {"longer", "1.2", "1.1"}, {"b", "", "3"}, {"c", "4", ""}}),
            "  a       1.2\n"
            "  longer  1.2 (headers 1.1)\n"
            "  b       3 (headers)\n"
            "  c       4\n");
  EXPECT_EQ(LibraryTable({}), "");
}

TEST(AllLibraries, HasTheProgramsOwnBehindGrpcsAndEachHasAVersion) {
  const std::vector<LibraryVersion> all = AllLibraries({{"own", "7", ""}});
  std::size_t own = 0;
  while (own < all.size() && all[own].name != "own") ++own;
  ASSERT_LT(own, all.size());
  EXPECT_GT(own, 3u);
  EXPECT_EQ(all.front().name, "gRPC");
  EXPECT_EQ(all.back().name, "build");
  for (const LibraryVersion& library : all) {
    EXPECT_FALSE(library.version.empty() && library.headers.empty()) << library.name;
  }
}

}  // namespace
}  // namespace hotplate::codec
