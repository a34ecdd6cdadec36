// What a daemon says of its end.
#include "server/saved/last_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hotplate::server {
namespace {

using testing::EndsWith;

TEST(LastWordsTest, WhatComesOfNoUse) {
  Config config;
  EXPECT_EQ(WhenUnused(config), "ends itself after 15 m without use");
  config.idle_timeout = std::chrono::milliseconds(500);
  EXPECT_EQ(WhenUnused(config), "ends itself after 500 ms without use");
  config.idle_timeout = {};
  EXPECT_EQ(WhenUnused(config), "never ends itself for want of use (--idle-timeout 0)");
}

TEST(LastWordsTest, ListsAreForPeople) {
  EXPECT_EQ(Listed({"a", "b"}), "a, b");
  EXPECT_THAT(Listed(std::vector<std::string>(50, "a")), EndsWith("a, a, ..."));
}

}  // namespace
}  // namespace hotplate::server
