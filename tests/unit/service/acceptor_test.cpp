// Connections are accepted, whatever happens to those before them.
#include "server/net/acceptor.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <vector>

#include "tests/temporary_folder.h"

namespace hotplate::server {
namespace {

using testing::HasSubstr;

constexpr std::chrono::milliseconds kUnacknowledged(20'000);

int ConnectTo(int socket_, const sockaddr& address, socklen_t size) { return connect(socket_, &address, size); }

// Of an IPv4 connection of this machine, on a socket that is there already.
bool ConnectTo(int socket_, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return ConnectTo(socket_, reinterpret_cast<const sockaddr&>(address), sizeof address) == 0;
}

class Closed {
 public:
  explicit Closed(int number) : number_(number) {}
  Closed(const Closed&) = delete;
  ~Closed() { close(number_); }
  int get() const { return number_; }

 private:
  int number_;
};

// A few descriptors for this process, while it lives; and who takes all of them.
class FewDescriptors {
 public:
  static constexpr int kLimit = 256;

  FewDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit few = before_;
    few.rlim_cur = kLimit;
    setrlimit(RLIMIT_NOFILE, &few);
  }
  ~FewDescriptors() {
    Release();
    setrlimit(RLIMIT_NOFILE, &before_);
  }
  // All numbers below `end`.
  void Take(int end) {
    for (;;) {
      const int one = open("/dev/null", O_RDONLY | O_CLOEXEC);
      if (one < 0) return;
      taken_.push_back(one);
      if (one + 1 >= end) return;
    }
  }
  void Release() {
    for (const int one : taken_) close(one);
    taken_.clear();
  }

 private:
  rlimit before_{};
  std::vector<int> taken_;
};

class AcceptorTest : public testing::Test {
 protected:
  void Start() {
    absl::StatusOr<ListeningSocket> socket = ListeningSocket::OnTcp("127.0.0.1", 0, kUnacknowledged);
    ASSERT_TRUE(socket.ok()) << socket.status();
    port_ = socket->port();
    auto acceptor = Acceptor::Start(*std::move(socket), {.take =
                                                             [this](int descriptor) {
                                                               close(descriptor);
                                                               const std::scoped_lock lock(mutex_);
                                                               numbers_.push_back(descriptor);
                                                               changed_.notify_all();
                                                             },
                                                         .warn =
                                                             [this](const std::string& line) {
                                                               const std::scoped_lock lock(mutex_);
                                                               warnings_.push_back(line);
                                                               changed_.notify_all();
                                                             }});
    ASSERT_TRUE(acceptor.ok()) << acceptor.status();
    acceptor_ = *std::move(acceptor);
  }
  bool Await(const std::vector<int>& numbers, std::size_t count) { return AwaitSize(numbers, count); }
  bool Await(const std::vector<std::string>& lines, std::size_t count) { return AwaitSize(lines, count); }

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::vector<int> numbers_;
  std::vector<std::string> warnings_;
  std::uint16_t port_ = 0;
  std::unique_ptr<Acceptor> acceptor_;

 private:
  template <typename Vector>
  bool AwaitSize(const Vector& vector, std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::minutes(1), [&] { return vector.size() >= count; });
  }
};

Closed NewSocket() { return Closed(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

TEST_F(AcceptorTest, GivesConnectionsUntilItsEndAndThenNobodyListens) {
  Start();
  for (std::size_t i = 1; i <= 3; ++i) {
    const Closed peer = NewSocket();
    ASSERT_TRUE(ConnectTo(peer.get(), port_));
    EXPECT_TRUE(Await(numbers_, i));
  }
  acceptor_.reset();
  const Closed late = NewSocket();
  EXPECT_FALSE(ConnectTo(late.get(), port_));
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(AcceptorTest, WithoutADescriptorConnectionsWaitUntilThereIsOne) {
  FewDescriptors few;
  Start();
  for (std::size_t round = 1; round <= 2; ++round) {
    const Closed peer = NewSocket();
    few.Take(FewDescriptors::kLimit);
    ASSERT_TRUE(ConnectTo(peer.get(), port_));
    ASSERT_TRUE(Await(warnings_, 1));
    EXPECT_EQ(numbers_.size(), round - 1);
    few.Release();
    EXPECT_TRUE(Await(numbers_, round));
  }
  EXPECT_EQ(warnings_.size(), 1u) << "once a minute";
  EXPECT_THAT(warnings_[0], HasSubstr("256 file descriptors that this daemon may have (ulimit -n)"));
}

TEST_F(AcceptorTest, TheLastDescriptorsAreNotForConnections) {
  constexpr int kEndOfRoom = FewDescriptors::kLimit - 64;
  FewDescriptors few;
  Start();
  const Closed peer = NewSocket();
  few.Take(kEndOfRoom);
  ASSERT_TRUE(ConnectTo(peer.get(), port_));
  ASSERT_TRUE(Await(warnings_, 1));
  EXPECT_TRUE(numbers_.empty());
  const Closed own(open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_GE(own.get(), kEndOfRoom);
  few.Release();
  ASSERT_TRUE(Await(numbers_, 1));
  EXPECT_LT(numbers_[0], kEndOfRoom);
}

TEST_F(AcceptorTest, EndsWhileConnectionsWait) {
  FewDescriptors few;
  Start();
  const Closed peer = NewSocket();
  few.Take(FewDescriptors::kLimit - 64);
  ASSERT_TRUE(ConnectTo(peer.get(), port_));
  ASSERT_TRUE(Await(warnings_, 1));
  acceptor_.reset();
  EXPECT_TRUE(numbers_.empty());
  char byte;
  EXPECT_LE(recv(peer.get(), &byte, 1, 0), 0) << "it was closed";
}

TEST(ListeningSocketTest, OnAllAddressesIsOnIpv4AndWhereThereIsOneOnIpv6) {
  for (const char* all : {"0.0.0.0", "::"}) {
    const auto listening = ListeningSocket::OnTcp(all, 0, kUnacknowledged);
    ASSERT_TRUE(listening.ok()) << listening.status();
    EXPECT_TRUE(ConnectTo(NewSocket().get(), listening->port())) << all;
    const Closed six(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_addr = in6addr_loopback;
    if (bind(six.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) continue;  // no IPv6 here
    address.sin6_port = htons(listening->port());
    EXPECT_EQ(ConnectTo(six.get(), reinterpret_cast<const sockaddr&>(address), sizeof address), 0) << all;
  }
}

TEST(ListeningSocketTest, IsNotForProgramsThatAreStarted) {
  const auto listening = ListeningSocket::OnTcp("127.0.0.1", 0, kUnacknowledged);
  ASSERT_TRUE(listening.ok()) << listening.status();
  EXPECT_NE(fcntl(listening->descriptor(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(ListeningSocketTest, SaysWhereItCannotBeAndWhy) {
  auto first = ListeningSocket::OnTcp("127.0.0.1", 0, kUnacknowledged);
  ASSERT_TRUE(first.ok()) << first.status();
  const std::uint16_t number = first->port();
  const std::string port = std::to_string(number);
  const auto message = [](const absl::StatusOr<ListeningSocket>& socket) {
    EXPECT_EQ(socket.status().code(), absl::StatusCode::kUnavailable);
    return std::string(socket.status().message());
  };
  for (const std::string address : {"127.0.0.1", "0.0.0.0"}) {
    EXPECT_EQ(message(ListeningSocket::OnTcp(address, number, kUnacknowledged)),
              "cannot listen on " + address + ":" + port + ": Address already in use");
  }
  { const ListeningSocket ended = *std::move(first); }
  EXPECT_TRUE(ListeningSocket::OnTcp("127.0.0.1", number, kUnacknowledged).ok()) << "it is free again";
  EXPECT_THAT(message(ListeningSocket::OnTcp("192.0.2.1", 0, kUnacknowledged)),
              HasSubstr("192.0.2.1:0: Cannot assign"));
  EXPECT_THAT(message(ListeningSocket::OnTcp("nonsense", 1, kUnacknowledged)), HasSubstr("no numeric address"));
  EXPECT_THAT(message(ListeningSocket::OnUnix("/proc/hotplate.sock")), HasSubstr("unix:/proc/hotplate.sock: "));
  EXPECT_THAT(message(ListeningSocket::OnUnix("/" + std::string(200, 'x'))), HasSubstr("File name too long"));
}

TEST(ListeningSocketTest, AUnixSocketReplacesAnotherAndNothingElseAndGoesWithItsOwner) {
  const TemporaryFolder folder;
  const std::string path = folder.File("socket");
  std::ofstream(path) << "a file of the user's";
  EXPECT_FALSE(ListeningSocket::OnUnix(path).ok());
  EXPECT_TRUE(std::filesystem::is_regular_file(path));
  std::filesystem::remove(path);
  {
    // As a daemon leaves it that was killed.
    const Closed left(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(bind(left.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  {
    const auto listening = ListeningSocket::OnUnix(path);
    EXPECT_TRUE(listening.ok()) << listening.status();
    EXPECT_TRUE(std::filesystem::is_socket(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(ListeningSocketTest, AUnixSocketIsNotTakenFromWhoListensNorRemovedForAnother) {
  const TemporaryFolder folder;
  const std::string path = folder.File("socket");
  auto first = ListeningSocket::OnUnix(path);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_THAT(std::string(ListeningSocket::OnUnix(path).status().message()), HasSubstr("Address already in use"));
  std::filesystem::remove(path);
  const auto second = ListeningSocket::OnUnix(path);
  ASSERT_TRUE(second.ok()) << second.status();
  { const ListeningSocket ended = *std::move(first); }
  EXPECT_TRUE(std::filesystem::is_socket(path)) << "it is the second's";
}

}  // namespace
}  // namespace hotplate::server
