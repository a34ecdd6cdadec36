// Finding a daemon, and knowing that it is the right one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "client/lib/client.h"
#include "client/lib/endpoint.h"
#include "tests/temporary_folder.h"
#include "tests/unit/client/fake_daemon.h"

namespace hotplate::client {
namespace {

using testing::FakeDaemon;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::SomeRecord;
using testing::WriteRecord;

ConnectOptions In(const std::string& directory) {
  ConnectOptions options;
  options.directory = directory;
  options.server = "fake";
  return options;
}

TEST(ConnectTest, TlsPlainAndSocket) {
  for (const FakeDaemon::Options& options :
       {FakeDaemon::Options{}, FakeDaemon::Options{.tls = false}, FakeDaemon::Options{.unix_socket = true},
        FakeDaemon::Options{.tls = false, .unix_socket = true}}) {
    FakeDaemon daemon(options);
    auto client = Client::Connect(In(daemon.directory()));
    ASSERT_TRUE(client.ok()) << client.status();
    EXPECT_EQ(client->server_name(), "fake");
    EXPECT_EQ(client->session().size(), 32u);
    EXPECT_TRUE(client->Info().ok());
  }
}

TEST(ConnectTest, TheEnvironmentIsEnough) {
  FakeDaemon daemon;
  setenv("HOTPLATE_DIR", daemon.directory().c_str(), 1);
  EXPECT_TRUE(Client::Connect().ok());
  unsetenv("HOTPLATE_DIR");
}

TEST(ConnectTest, AProxyOfTheSiteIsNotAsked) {
  FakeDaemon daemon;
  for (const char* name : {"http_proxy", "https_proxy", "grpc_proxy"}) setenv(name, "http://127.0.0.1:1", 1);
  EXPECT_TRUE(Client::Connect(In(daemon.directory())).ok());
  for (const char* name : {"http_proxy", "https_proxy", "grpc_proxy"}) unsetenv(name);
}

TEST(ConnectTest, WithoutContactNothingIsAsked) {
  FakeDaemon daemon;
  ConnectOptions options = In(daemon.directory());
  options.contact = false;
  auto client = Client::Connect(options);
  ASSERT_TRUE(client.ok());
  EXPECT_EQ(daemon.infos, 0);
  daemon.Stop();
  EXPECT_EQ(client->Info().status().code(), absl::StatusCode::kUnavailable);
}

TEST(ConnectTest, ASessionCanBeSharedAndMustLookLikeOne) {
  FakeDaemon daemon;
  ConnectOptions options = In(daemon.directory());
  options.session = std::string(32, '5');
  EXPECT_EQ(Client::Connect(options)->session(), options.session);
  options.session = "mine";
  const absl::Status status = Client::Connect(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.ToString(), HasSubstr("\"mine\""));
}

TEST(ConnectTest, ADeadDaemonIsNamedWithWhatToDo) {
  FakeDaemon daemon;
  daemon.Stop();
  const absl::Status status = Client::Connect(In(daemon.directory())).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(status.ToString(), AllOf(HasSubstr("\"fake\""), HasSubstr(std::to_string(daemon.port())),
                                       HasSubstr("Connection refused"), HasSubstr("hotplate up --local")));
}

TEST(ConnectTest, SomebodyElsesCertificateIsRefusedAndGetsNoToken) {
  FakeDaemon daemon;
  v1::EndpointRecord record = daemon.record();
  testing::SetCertificates(record, testing::MakeCertificate());
  WriteRecord(daemon.directory(), record);
  const absl::Status status = Client::Connect(In(daemon.directory())).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated) << status;
  EXPECT_THAT(status.ToString(), AllOf(HasSubstr("certificate"), HasSubstr("fake.json"), HasSubstr("hotplate use"),
                                       Not(HasSubstr("hotplate status"))));
  EXPECT_EQ(daemon.infos, 0);
}

TEST(ConnectTest, ADaemonWithoutTlsIsNotTheOneThatTheRecordPromises) {
  FakeDaemon daemon({.tls = false});
  v1::EndpointRecord record = daemon.record();
  testing::SetCertificates(record, testing::MakeCertificate());
  WriteRecord(daemon.directory(), record);
  EXPECT_EQ(Client::Connect(In(daemon.directory())).status().code(), absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(daemon.infos, 0);
}

// The record's own address leads nowhere, as on a network that lets nothing through; the endpoint does.
TEST(ConnectTest, AnEndpointTakesThePlaceOfTheRecordsAddresses) {
  FakeDaemon daemon;
  const std::string port = std::to_string(daemon.port());
  v1::EndpointRecord record = daemon.record();
  record.mutable_endpoints(0)->set_address("127.0.0.1");
  record.mutable_endpoints(0)->set_port(1);
  WriteRecord(daemon.directory(), record);
  EXPECT_EQ(Client::Connect(In(daemon.directory())).status().code(), absl::StatusCode::kUnavailable);
  ConnectOptions options = In(daemon.directory());
  for (const char* host : {"localhost:", "127.0.0.1:"}) {
    options.endpoint = host + port;
    auto client = Client::Connect(options);
    ASSERT_TRUE(client.ok()) << client.status();
    EXPECT_TRUE(client->Info().ok());
    EXPECT_EQ(client->record().endpoints(0).port(), static_cast<unsigned>(daemon.port()));
  }
  // From the environment, where the daemon is not chosen by the program either.
  setenv("HOTPLATE_ENDPOINT", ("localhost:" + port).c_str(), 1);
  setenv("HOTPLATE_DIR", daemon.directory().c_str(), 1);
  EXPECT_TRUE(Client::Connect().ok());
  EXPECT_FALSE(Client::Connect(In(daemon.directory())).ok());
  unsetenv("HOTPLATE_ENDPOINT");
  unsetenv("HOTPLATE_DIR");
}

TEST(ConnectTest, AnotherDaemonAtTheEndpointIsRefusedAndGetsNoToken) {
  FakeDaemon wanted, other;
  ConnectOptions options = In(wanted.directory());
  options.endpoint = "localhost:" + std::to_string(other.port());
  const absl::Status status = Client::Connect(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated) << status;
  EXPECT_THAT(status.ToString(), HasSubstr("certificate"));
  EXPECT_EQ(other.infos, 0);
}

TEST(ConnectTest, ARecordWithoutACertificateIsNotSentToAnEndpoint) {
  FakeDaemon daemon({.tls = false});
  ConnectOptions options = In(daemon.directory());
  options.endpoint = "localhost:" + std::to_string(daemon.port());
  const absl::Status status = Client::Connect(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated) << status;
  EXPECT_THAT(status.ToString(), AllOf(HasSubstr("no certificate"), HasSubstr("--insecure")));
  EXPECT_EQ(daemon.infos, 0);
}

// A daemon that was killed leaves its record, and whoever takes its port would be sent the token.
TEST(ConnectTest, WithoutACertificateADeadDaemonsPortIsNotSpokenTo) {
  const pid_t gone = fork();
  if (gone == 0) _exit(0);
  ASSERT_EQ(waitpid(gone, nullptr, 0), gone);
  FakeDaemon whoever({.tls = false});
  v1::EndpointRecord record = whoever.record();
  char host[256] = {};
  ASSERT_EQ(gethostname(host, sizeof host - 1), 0);
  record.mutable_endpoints(0)->set_node(host);
  record.set_pid(static_cast<std::uint32_t>(getpid()));
  WriteRecord(whoever.directory(), record);
  ASSERT_TRUE(Client::Connect(In(whoever.directory())).ok());
  ASSERT_EQ(whoever.infos, 1);

  record.set_pid(static_cast<std::uint32_t>(gone));
  WriteRecord(whoever.directory(), record);
  for (const bool contact : {true, false}) {
    ConnectOptions options = In(whoever.directory());
    options.contact = contact;
    const absl::Status status = Client::Connect(options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_THAT(status.ToString(), HasSubstr("is gone and left its record"));
  }
  EXPECT_EQ(whoever.infos, 1);
}

TEST(ConnectTest, AnEndpointWhereNobodyListensIsNamed) {
  FakeDaemon daemon;
  ConnectOptions options = In(daemon.directory());
  options.endpoint = "localhost:1";
  const absl::Status status = Client::Connect(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(status.ToString(), AllOf(HasSubstr("127.0.0.1 port 1)"), HasSubstr("--endpoint"), HasSubstr("forward"),
                                       Not(HasSubstr("hotplate up --local"))));
}

TEST(ConnectTest, EndpointsThatMakeNoSenseAreNamed) {
  FakeDaemon daemon;
  ConnectOptions options = In(daemon.directory());
  for (const char* wrong : {"5000", ":5000", "localhost", "localhost:", "localhost:0", "localhost:65536",
                            "localhost:50x", "localhost:+5", "gpu1:5000", "::1:5000", "[127.0.0.1]:5000", "[]:5000",
                            "1.2.3:5", "http://a:5", "unix:/tmp/x", "localhost:5000 ", "\n:5"}) {
    options.endpoint = wrong;
    const absl::Status status = Client::Connect(options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << wrong;
    EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("endpoint \""), HasSubstr("localhost:PORT"))) << wrong;
  }
  EXPECT_EQ(ParseEndpoint("[fe80::1]:5000")->address(), "fe80::1");
}

TEST(ConnectTest, AnotherTokenIsRefusedAndNotShown) {
  FakeDaemon daemon;
  v1::EndpointRecord record = daemon.record();
  record.set_token(std::string(64, 'b'));
  WriteRecord(daemon.directory(), record);
  const absl::Status status = Client::Connect(In(daemon.directory())).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(status.ToString(), AllOf(Not(HasSubstr("aaaa")), Not(HasSubstr("bbbb")), HasSubstr("daemon \"fake\""),
                                       HasSubstr("fake.json"), HasSubstr("hotplate use")));
}

TEST(ConnectTest, ACertificateThatIsNoneIsADamagedRecord) {
  FakeDaemon daemon;
  v1::EndpointRecord record = daemon.record();
  const std::string good = record.certificate_pem();
  for (const std::string& pem : {std::string("hello"), good.substr(0, good.size() / 2), "x" + good.substr(1)}) {
    record.set_certificate_pem(pem);
    WriteRecord(daemon.directory(), record);
    const absl::Status status = Client::Connect(In(daemon.directory())).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(status.ToString(),
                AllOf(HasSubstr("fake.json"), HasSubstr("certificate_pem"), HasSubstr("HOTPLATE_SERVER")));
  }
  EXPECT_EQ(daemon.infos, 0);
}

TEST(ConnectTest, AClientsCertificateThatIsNoneIsADamagedRecord) {
  FakeDaemon daemon;
  const testing::Certificate other = testing::MakeCertificate();
  const auto with = [&](const std::string& certificate, const std::string& key) {
    v1::EndpointRecord record = daemon.record();
    record.set_client_certificate_pem(certificate);
    record.set_client_key_pem(key);
    WriteRecord(daemon.directory(), record);
    const absl::Status status = Client::Connect(In(daemon.directory())).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(status.ToString(), AllOf(HasSubstr("fake.json"), HasSubstr("HOTPLATE_SERVER"), Not(HasSubstr("KEY"))));
    return status.ToString();
  };
  const std::string certificate = daemon.record().client_certificate_pem(), key = daemon.record().client_key_pem();
  EXPECT_THAT(with("", key), HasSubstr("no client_certificate_pem"));
  EXPECT_THAT(with(certificate, ""), HasSubstr("no client_key_pem"));
  EXPECT_THAT(with("hello", key), HasSubstr("client_certificate_pem"));
  EXPECT_THAT(with(certificate, "hello"), HasSubstr("client_key_pem"));
  EXPECT_THAT(with(certificate, key.substr(0, key.size() / 2)), HasSubstr("client_key_pem"));
  EXPECT_THAT(with(certificate, other.key_pem), HasSubstr("belong together"));
  EXPECT_EQ(daemon.infos, 0);
}

TEST(ConnectTest, AnotherDaemonsClientCertificateIsNamedAtOnce) {
  FakeDaemon daemon;
  v1::EndpointRecord record = daemon.record();
  testing::SetCertificates(record, {record.certificate_pem(), ""}, testing::MakeCertificate());
  const std::string path = WriteRecord(daemon.directory(), record);
  const absl::Status status = Client::Connect(In(daemon.directory())).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_THAT(status.ToString(), AllOf(HasSubstr("client certificate"), HasSubstr(path), HasSubstr("hotplate use"),
                                       HasSubstr("hotplate up"), Not(HasSubstr("Socket closed"))));
  // Nor does what does not ask first wait for the daemon to come back: this would take the hour.
  ConnectOptions options = In(daemon.directory());
  options.contact = false;
  options.reconnect = std::chrono::hours(1);
  auto client = Client::Connect(options);
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_EQ(client->Run("echo", {}).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(daemon.infos, 0);
  EXPECT_EQ(daemon.streams, 0);
}

// `hotplate status` at that moment said CANCELLED, and nothing else.
TEST(ConnectTest, ADaemonThatShutsDownIsAboutToEnd) {
  FakeDaemon daemon;
  auto client = Client::Connect(In(daemon.directory()));
  ASSERT_TRUE(client.ok()) << client.status();
  daemon.leaves = true;
  const absl::Status status = client->Info().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_TRUE(ConnectionLost(status));
  EXPECT_THAT(status.ToString(), AllOf(HasSubstr("\"fake\""), HasSubstr("it is about to end")));
}

TEST(ConnectTest, ASilentPeerIsGivenUpAfterTheTimeout) {
  // Listens and never accepts.
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  socklen_t length = sizeof address;
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length), 0);

  TemporaryFolder directory;
  v1::EndpointRecord record = SomeRecord();
  record.mutable_endpoints(0)->set_port(ntohs(address.sin_port));
  testing::SetCertificates(record, testing::MakeCertificate());
  WriteRecord(directory.path(), record);
  ConnectOptions options = In(directory.path());
  options.connect_timeout = std::chrono::milliseconds(200);
  const absl::Status status = Client::Connect(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_THAT(status.ToString(), HasSubstr("hotplate up --local"));
  close(listener);
}

}  // namespace
}  // namespace hotplate::client
