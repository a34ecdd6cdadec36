// Which endpoint records are used, and what is said about the others.
#include "client/lib/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>

#include "client/lib/channel.h"
#include "tests/temporary_folder.h"
#include "tests/unit/client/fake_daemon.h"

namespace hotplate::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::SomeRecord;
using testing::WriteRecord;

class EndpointTest : public ::testing::Test {
 protected:
  EndpointTest() { unsetenv("HOTPLATE_SERVER"); }

  absl::StatusOr<FoundRecord> Find(const std::string& server = "") { return FindRecord(server, directory_.path()); }

  TemporaryFolder directory_;
};

std::string Json(const std::string& changed_or_added) {
  return R"({"schema_version": 1, "name": "x", "token": ")" + std::string(64, 'a') +
         R"(", "endpoints": [{"address": "127.0.0.1", "port": 5}])" + changed_or_added + "}";
}

TEST_F(EndpointTest, CurrentIsFoundAndItsRealPathTold) {
  const std::string path = WriteRecord(directory_.path(), SomeRecord());
  const auto found = Find();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->record.name(), "fake");
  EXPECT_EQ(std::filesystem::path(found->path).filename(), std::filesystem::path(path).filename());
}

TEST_F(EndpointTest, HotplateServerNamesOneOfSeveral) {
  WriteRecord(directory_.path(), SomeRecord());
  v1::EndpointRecord other = SomeRecord();
  other.set_name("other");
  WriteRecord(directory_.path(), other);
  setenv("HOTPLATE_SERVER", "fake", 1);
  EXPECT_EQ(Find()->record.name(), "fake");
  EXPECT_EQ(Find("other")->record.name(), "other") << "what the caller says comes first";
  unsetenv("HOTPLATE_SERVER");
  EXPECT_EQ(Find()->record.name(), "other");
  EXPECT_THAT(ListRecords(directory_.path()), ElementsAre("fake", "other"));
}

TEST_F(EndpointTest, TheOnlyRecordNeedsNoLink) {
  WriteRecord(directory_.path(), SomeRecord());
  ASSERT_EQ(unlink((directory_.path() + "/current").c_str()), 0);
  EXPECT_EQ(Find()->record.name(), "fake");
}

TEST_F(EndpointTest, WithoutARecordItSaysHowToStart) {
  const absl::Status none = Find().status();
  EXPECT_EQ(none.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(none.ToString(), HasSubstr("hotplate up --local"));

  const absl::Status no_folder = FindRecord("", directory_.path() + "/nowhere").status();
  EXPECT_EQ(no_folder.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(no_folder.ToString(), HasSubstr("hotplate up --local"));

  WriteRecord(directory_.path(), SomeRecord());
  const absl::Status other = Find("other").status();
  EXPECT_EQ(other.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(other.ToString(), AllOf(HasSubstr("\"other\""), HasSubstr("fake")));
}

TEST_F(EndpointTest, ANameThatLeadsElsewhereIsRefused) {
  for (const char* name : {"..", ".hidden", "a b", "a\nb"}) {
    EXPECT_EQ(Find(name).status().code(), absl::StatusCode::kInvalidArgument) << name;
  }
}

TEST_F(EndpointTest, ARecordThatOthersCanTouchIsRefusedWithTheChmod) {
  const std::string path = WriteRecord(directory_.path(), SomeRecord());
  for (const mode_t mode : {0640, 0604, 0620, 0602, 0644, 0666}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    const absl::Status status = Find().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << std::oct << mode;
    std::ostringstream said;
    said << "(mode 0" << std::oct << mode << ")";
    EXPECT_THAT(status.ToString(), AllOf(HasSubstr("chmod 600 "), HasSubstr("fake.json"), HasSubstr(said.str())));
  }
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  EXPECT_TRUE(Find().ok());
}

TEST_F(EndpointTest, AFolderThatOthersCanTouchIsRefusedWithTheChmod) {
  WriteRecord(directory_.path(), SomeRecord());
  const std::string servers = directory_.path() + "/servers";
  for (const mode_t mode : {0755, 0750, 0770, 0777, 0702}) {
    ASSERT_EQ(chmod(servers.c_str(), mode), 0);
    const absl::Status status = Find().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << std::oct << mode;
    EXPECT_THAT(status.ToString(), AllOf(HasSubstr("chmod 700 "), HasSubstr("servers")));
  }
  ASSERT_EQ(chmod(servers.c_str(), 0700), 0);
  ASSERT_EQ(chmod(directory_.path().c_str(), 0770), 0);
  EXPECT_EQ(Find().status().code(), absl::StatusCode::kPermissionDenied);
  ASSERT_EQ(chmod(directory_.path().c_str(), 0700), 0);
  EXPECT_TRUE(Find().ok());
}

TEST_F(EndpointTest, ARecordOfSomebodyElseIsRefused) {
  if (geteuid() != 0) {
    // Without the right to give files away there is nobody else here but root: its folders will do.
    const absl::Status status = FindRecord("", "/").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
    EXPECT_THAT(status.ToString(), HasSubstr("belongs to user 0"));
    return;
  }
  const std::string path = WriteRecord(directory_.path(), SomeRecord());
  ASSERT_EQ(chown(path.c_str(), 12345, 12345), 0);
  const absl::Status file = Find().status();
  EXPECT_EQ(file.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(file.ToString(), HasSubstr("belongs to user 12345"));
  ASSERT_EQ(chown(path.c_str(), 0, 0), 0);
  ASSERT_EQ(chown((directory_.path() + "/servers").c_str(), 12345, 12345), 0);
  EXPECT_EQ(Find().status().code(), absl::StatusCode::kPermissionDenied);
}

TEST_F(EndpointTest, ALinkToAnUnsafePlaceIsJudgedByThatPlace) {
  const std::string path = WriteRecord(directory_.path(), SomeRecord());
  const std::string shared = directory_.path() + "/shared";
  ASSERT_EQ(mkdir(shared.c_str(), 0700), 0);
  ASSERT_EQ(chmod(shared.c_str(), 0777), 0);
  ASSERT_EQ(rename(path.c_str(), (shared + "/fake.json").c_str()), 0);
  ASSERT_EQ(symlink((shared + "/fake.json").c_str(), path.c_str()), 0);
  EXPECT_EQ(Find().status().code(), absl::StatusCode::kPermissionDenied);
}

TEST_F(EndpointTest, SomethingThatIsNoFileIsRefused) {
  const std::string path = WriteRecord(directory_.path(), SomeRecord());
  ASSERT_EQ(unlink(path.c_str()), 0);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(Find().status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(EndpointTest, AnEndlessFileIsNotRead) {
  const std::string path = WriteRecord(directory_.path(), SomeRecord());
  ASSERT_EQ(truncate(path.c_str(), std::int64_t{1} << 40), 0);
  const absl::Status status = Find().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.ToString(), HasSubstr("longer than"));
}

TEST(ParseRecordTest, UnknownFieldsAreIgnored) {
  const auto record = ParseRecord(Json(R"(, "colour": {"of": ["the", "sky"]}, "pid": 7)"), "r.json");
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->pid(), 7u);
}

TEST(ParseRecordTest, ANewerSchemaIsNamedEvenIfItCannotBeRead) {
  const std::string readable = R"({"schema_version": 2, "name": "x"})";
  const std::string unreadable = R"({"schema_version": 7, "name": {"first": "x"}, "endpoints": 5})";
  for (const auto& [json, version] : {std::pair(readable, "2"), std::pair(unreadable, "7")}) {
    const absl::Status status = ParseRecord(json, "r.json").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(status.ToString(), HasSubstr(std::string("schema_version ") + version));
  }
}

TEST(ParseRecordTest, WhatIsWrongIsNamedButNeverTheToken) {
  const std::string token(63, 'b');
  const std::pair<std::string, std::string> cases[] = {
      {"", "not an endpoint record"},
      {"{", "not an endpoint record"},
      {"[]", "not an endpoint record"},
      {"{}", "schema_version"},
      {R"({"schema_version": 1})", "name"},
      {R"({"schema_version": 1, "name": "x", "token": ")" + token + "\"}", "63 characters"},
      {R"({"schema_version": 1, "name": "x", "token": ")" + std::string(64, 'a') + "\"}", "endpoints"},
      {Json(R"(, "certificate_pem": "x")"), "no client_certificate_pem"},
      {Json(R"(, "certificate_pem": "x", "client_certificate_pem": "y")"), "no client_key_pem"},
      {Json(R"(, "endpoints": [{"address": "login.example", "port": 5}])"), "\"login.example\""},
      {Json(R"(, "endpoints": [{"address": "127.0.0.1", "port": 70000}])"), "70000"},
      {Json(R"(, "endpoints": [{"address": "127.0.0.1"}])"), "port 0"},
      {Json(R"(, "endpoints": [{"address": "unix:"}])"), "unix:"},
  };
  for (const auto& [json, named] : cases) {
    const absl::Status status = ParseRecord(json, "r.json").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << json;
    EXPECT_THAT(status.ToString(), AllOf(HasSubstr("r.json"), HasSubstr(named), Not(HasSubstr(token))));
  }
}

// Protobuf's own message quotes what it could not read.
TEST(ParseRecordTest, NoByteThatIsDamagedBringsTheTokenOut) {
  const std::string token = "9b2ab63458bf96e1c0d4f7a8b3e5d2160123456789abcdef9b2ab63458bf96e1";
  const std::string good = R"({"schema_version": 1, "name": "x", "token": ")" + token +
                           R"(", "endpoints": [{"address": "127.0.0.1", "port": 5}]})";
  ASSERT_TRUE(ParseRecord(good, "r.json").ok());
  int refused = 0;
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const char byte : {'#', '"', '\\', ' ', '}'}) {
      std::string damaged = good;
      damaged[at] = byte;
      const absl::Status status = ParseRecord(damaged, "r.json").status();
      if (status.ok()) continue;
      ++refused;
      const std::string said(status.message());
      for (std::size_t i = 0; i + 8 <= token.size(); ++i) {
        ASSERT_EQ(said.find(token.substr(i, 8)), std::string::npos) << said;
      }
      ASSERT_THAT(said, AllOf(HasSubstr("r.json"), HasSubstr("HOTPLATE_SERVER")));
    }
  }
  EXPECT_GT(refused, 100);
}

// The record lies in its place, unless a test takes it away.
class StaleRecordTest : public ::testing::Test {
 protected:
  absl::Status Said(const v1::EndpointRecord& record) {
    path_ = WriteRecord(directory_.path(), record);
    return NobodyAnswers({record, path_}, "Connection refused");
  }

  TemporaryFolder directory_;
  std::string path_;
};

// Started, ended and waited for.
pid_t PidOfNobody() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  return waitpid(child, nullptr, 0);
}

std::string ThisHost() {
  char host[256] = {};
  return gethostname(host, sizeof host - 1) == 0 ? host : "";
}

TEST_F(StaleRecordTest, AZombieIsDead) {
  v1::EndpointRecord record = SomeRecord();
  record.mutable_endpoints(0)->set_node(ThisHost());
  const pid_t child = fork();
  if (child == 0) _exit(0);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  record.set_pid(static_cast<std::uint32_t>(child));
  EXPECT_TRUE(KnownDead(record));
  EXPECT_THAT(Said(record).ToString(), HasSubstr("is gone"));
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
}

TEST_F(StaleRecordTest, ADeadProcessOfThisHostIsKnownToBeDead) {
  v1::EndpointRecord record = SomeRecord();
  record.mutable_endpoints(0)->set_node(ThisHost());
  record.set_pid(static_cast<std::uint32_t>(getpid()));
  EXPECT_FALSE(KnownDead(record));

  record.set_pid(static_cast<std::uint32_t>(PidOfNobody()));
  EXPECT_TRUE(KnownDead(record));
  const absl::Status status = Said(record);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(status.ToString(), AllOf(HasSubstr("\"fake\""), HasSubstr("is gone and left its record " + path_),
                                       HasSubstr("hotplate up --local")));

  record.mutable_endpoints(0)->set_node("another-host");
  EXPECT_FALSE(KnownDead(record)) << "nothing can be said about a process elsewhere";

  record.mutable_endpoints(0)->set_node(ThisHost());
  record.set_pid_namespace(PidNamespace());
  EXPECT_TRUE(KnownDead(record));
  record.set_pid_namespace(PidNamespace() + 1);
  EXPECT_FALSE(KnownDead(record)) << "nor about one in a container whose numbers are its own";
}

// Root may signal everybody, so the test steps down where it runs as root.
TEST_F(StaleRecordTest, ANumberThatAnotherUsersProcessHasNowIsOfADeadDaemon) {
  v1::EndpointRecord record = SomeRecord();
  record.mutable_endpoints(0)->set_node(ThisHost());
  record.set_pid(1);
  const bool root = geteuid() == 0;
  constexpr uid_t kNobody = 65534;  // whom one really is decides about signals
  if (root && setresuid(kNobody, kNobody, 0) != 0)
    GTEST_SKIP() << "runs as root in a namespace with no other user to become";
  const bool ours = kill(1, 0) == 0, dead = KnownDead(record);
  if (root) {
    ASSERT_EQ(setresuid(0, 0, 0), 0);
  }
  if (ours) GTEST_SKIP() << "process 1 is this user's own";
  EXPECT_TRUE(dead);
}

TEST_F(StaleRecordTest, ADaemonThatTookItsRecordAwayHasEnded) {
  v1::EndpointRecord record = SomeRecord();
  record.set_generation("first");
  const auto has_ended = AllOf(HasSubstr("does not answer: it has ended;"), Not(HasSubstr("left its record")));
  for (const std::string& node : {ThisHost(), std::string("another-host")}) {
    record.mutable_endpoints(0)->set_node(node);
    record.set_pid(static_cast<std::uint32_t>(PidOfNobody()));
    Said(record).IgnoreError();
    ASSERT_EQ(unlink(path_.c_str()), 0);
    EXPECT_THAT(std::string(NobodyAnswers({record, path_}, "Connection refused").message()), has_ended) << node;
    v1::EndpointRecord next = record;
    next.set_generation("second");
    WriteRecord(directory_.path(), next);
    EXPECT_THAT(std::string(NobodyAnswers({record, path_}, "Connection refused").message()), has_ended)
        << "another start of it has the place, seen from " << node;
  }
}

TEST_F(StaleRecordTest, WhoKnowsThatThereIsADaemonLeavesTheAdviceOut) {
  const std::string said(Said(SomeRecord()).message());
  EXPECT_THAT(said, HasSubstr("hotplate up"));
  EXPECT_THAT(WithoutHowToStart(said), ::testing::EndsWith("does not answer: Connection refused"));
  EXPECT_EQ(WithoutHowToStart("another error"), "another error");
}

TEST_F(StaleRecordTest, AnEndThatThisClockHasPassedIsOnlySureWhenItIsLongAgo) {
  v1::EndpointRecord record = SomeRecord();
  const auto said = [&](std::int64_t ago) {
    record.mutable_allocation_end_time()->set_seconds(std::time(nullptr) - ago);
    return std::string(Said(record).message());
  };
  EXPECT_THAT(said(-100), HasSubstr("Connection refused"));
  EXPECT_THAT(said(300), HasSubstr("its allocation has ended, if the clocks"));
  EXPECT_THAT(said(3600), HasSubstr("its allocation has ended;"));
}

TEST(TargetTest, NumericAddressesAndSockets) {
  v1::EndpointRecord record = SomeRecord();
  EXPECT_EQ(TargetOf(record), "ipv4:127.0.0.1:1");
  v1::Endpoint& second = *record.add_endpoints();
  second.set_address("10.0.0.7");
  second.set_port(80);
  EXPECT_EQ(TargetOf(record), "ipv4:127.0.0.1:1,10.0.0.7:80");
  record.clear_endpoints();
  v1::Endpoint& six = *record.add_endpoints();
  six.set_address("::1");
  six.set_port(9);
  EXPECT_EQ(TargetOf(record), "ipv6:[::1]:9");
  v1::Endpoint& socket = *record.add_endpoints();
  socket.set_address("unix:/nowhere/socket");
  EXPECT_EQ(TargetOf(record), "ipv6:[::1]:9") << "a socket of another host is passed over";
}

TEST(ChannelTest, TheTokenNeverCrossesANetworkInTheClear) {
  v1::EndpointRecord record = SomeRecord();
  EXPECT_TRUE(MakeChannel(record, {}).ok());
  for (const char* address : {"10.0.0.7", "0.0.0.0", "::2"}) {
    record.mutable_endpoints(0)->set_address(address);
    const absl::Status status = MakeChannel(record, {}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated) << address;
    EXPECT_THAT(status.ToString(), HasSubstr(address));
  }
  record.mutable_endpoints(0)->set_address("::1");
  EXPECT_TRUE(MakeChannel(record, {}).ok());
}

}  // namespace
}  // namespace hotplate::client
