// Which systems a call of solve asks for, by its shapes.
#include "kernels/catalogue/solve/systems.h"

#include <gtest/gtest.h>

#include <vector>

namespace hotplate::solve {
namespace {

using Shape = std::vector<std::int64_t>;

TEST(SystemsTest, WithoutASideEachMatrixIsFactoredOnce) {
  const Systems systems = SystemsOf(Shape{3, 5, 5}, Shape{7, 1, 5, 0}, Shape{7, 3, 5, 0});
  EXPECT_EQ(systems.count, 3u);
  EXPECT_EQ(systems.factorings(), 3u);
  EXPECT_FALSE(systems.empty());
}

// An array of no bytes may have any sizes: their product wrapped around, to 0, and no matrix was looked at.
TEST(SystemsTest, AnyNumberOfSystemsWithoutASide) {
  constexpr std::int64_t kMany = std::int64_t{1} << 32;
  const Systems systems = SystemsOf(Shape{5, 5}, Shape{kMany, kMany, 5, 0}, Shape{kMany, kMany, 5, 0});
  EXPECT_EQ(systems.count, 1u);
  EXPECT_FALSE(systems.empty());
}

TEST(SystemsTest, NoneAtAll) {
  EXPECT_TRUE(SystemsOf(Shape{5, 5}, Shape{0, 5, 2}, Shape{0, 5, 2}).empty());
  EXPECT_TRUE(SystemsOf(Shape{5, 5}, Shape{0, 5, 0}, Shape{0, 5, 0}).empty());
  EXPECT_TRUE(SystemsOf(Shape{3, 0, 0}, Shape{3, 0, 2}, Shape{3, 0, 2}).empty());
  EXPECT_TRUE(SystemsOf(Shape{3, 0, 0}, Shape{3, 0, 0}, Shape{3, 0, 0}).empty());
}

}  // namespace
}  // namespace hotplate::solve
