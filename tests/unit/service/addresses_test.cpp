// Where others reach a daemon.
#include "server/addresses.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

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

TEST(AddressesTest, APortIsFreeUntilSomebodyListensThere) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  socklen_t size = sizeof address;
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::uint16_t port = ntohs(address.sin_port);
  EXPECT_EQ(WhyNotFree("127.0.0.1", port), EADDRINUSE);
  EXPECT_EQ(WhyNotFree("0.0.0.0", port), EADDRINUSE);
  close(listener);
  EXPECT_EQ(WhyNotFree("127.0.0.1", port), 0);
  EXPECT_EQ(WhyNotFree("192.0.2.1", port), EADDRNOTAVAIL) << "no address of this machine";
  EXPECT_EQ(WhyNotFree("nonsense", port), EINVAL);
}

}  // namespace
}  // namespace hotplate::server
