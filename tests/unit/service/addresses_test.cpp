// Where others reach a daemon.
#include "server/net/addresses.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hotplate::server {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(AddressesTest, BestFirst) {
  const std::vector<std::string> own = {"10.0.0.1", "10.1.0.1", "10.2.0.1"};
  EXPECT_THAT(BestFirst(own, {}), ElementsAre("10.0.0.1", "10.1.0.1", "10.2.0.1"));
  EXPECT_THAT(BestFirst(own, {"10.2.0.1", "10.1.0.1", "10.2.0.1"}), ElementsAre("10.2.0.1", "10.1.0.1", "10.0.0.1"));
  EXPECT_THAT(BestFirst(own, {"127.0.1.1", "", "192.0.2.7"}), ElementsAre("10.0.0.1", "10.1.0.1", "10.2.0.1"))
      << "what the name resolves to, and is not this node's, is no way to it";
}

TEST(AddressesTest, WhoeverListensOnOneIsThere) {
  EXPECT_THAT(ReachableAddresses("10.9.8.7", {}), ElementsAre("10.9.8.7"));
}

TEST(AddressesTest, OnAllThereIsAtLeastOne) {
  const std::vector<std::string> found =
      ReachableAddresses("0.0.0.0", {{NodeName(), "no.such.name.invalid"}, "localhost"});
  ASSERT_THAT(found, Not(IsEmpty()));
  in_addr address{};
  for (const std::string& one : found) EXPECT_EQ(inet_pton(AF_INET, one.c_str(), &address), 1) << one;
}

TEST(AddressesTest, AnInterfaceHasAnAddressOrThoseThatHaveAreNamed) {
  const auto loopback = AddressOfInterface("lo");
  ASSERT_TRUE(loopback.ok()) << loopback.status();
  EXPECT_EQ(*loopback, "127.0.0.1");
  const auto none = AddressOfInterface("nosuch0");
  EXPECT_EQ(none.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(none.status().message()), AllOf(HasSubstr("\"nosuch0\""), HasSubstr("lo (127.0.0.1)")));
}

}  // namespace
}  // namespace hotplate::server
