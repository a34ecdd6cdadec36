// Which records of guests are used: files of somebody else, behind a link of one's own.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "client/lib/endpoint.h"
#include "tests/temporary_folder.h"
#include "tests/unit/client/fake_daemon.h"

namespace hotplate::client {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::SomeRecord;
using testing::WriteRecord;

// A teacher's folder with a record in it, and a learner's HOTPLATE_DIR with a link to that.
class GuestRecordTest : public ::testing::Test {
 protected:
  GuestRecordTest() {
    unsetenv("HOTPLATE_SERVER");
    EXPECT_EQ(mkdir((own() + "/servers").c_str(), 0700), 0);
    Write("ana");
    EXPECT_EQ(chmod(shared_.path().c_str(), 0755), 0);
    EXPECT_EQ(symlink(file().c_str(), link().c_str()), 0);
  }

  std::string own() const { return own_.path(); }
  std::string file() const { return shared_.path() + "/servers/fake.json"; }
  std::string folder() const { return shared_.path() + "/servers"; }
  std::string link() const { return own() + "/servers/fake.json"; }

  // An owner's record for "".
  void Write(const std::string& guest) {
    v1::EndpointRecord record = SomeRecord();
    record.set_guest(guest);
    WriteRecord(shared_.path(), record);
    EXPECT_EQ(chmod(folder().c_str(), 0755), 0);
  }
  absl::StatusOr<FoundRecord> Find(const std::string& server = "") { return FindRecord(server, own()); }
  absl::Status Refusal(const std::string& server = "") { return Find(server).status(); }

  TemporaryFolder shared_, own_;
};

TEST_F(GuestRecordTest, ItIsReadThroughTheLink) {
  for (const mode_t mode : {0600, 0640, 0400, 0440}) {
    ASSERT_EQ(chmod(file().c_str(), mode), 0);
    const auto found = Find();
    ASSERT_TRUE(found.ok()) << std::oct << mode << found.status();
    EXPECT_EQ(found->record.guest(), "ana");
    EXPECT_THAT(found->path, ::testing::EndsWith("/servers/fake.json"));
    EXPECT_TRUE(Find("fake").ok());
    EXPECT_TRUE(Find(file()).ok());
  }
  ASSERT_EQ(symlink("servers/fake.json", (own() + "/current").c_str()), 0);
  EXPECT_TRUE(Find().ok());
}

TEST_F(GuestRecordTest, AnOwnersRecordKeepsItsRules) {
  Write("");
  EXPECT_THAT(std::string(Refusal().message()), AllOf(HasSubstr("folder "), HasSubstr("chmod 700 ")));
  ASSERT_EQ(chmod(folder().c_str(), 0700), 0);
  EXPECT_TRUE(Find().ok());
  ASSERT_EQ(chmod(file().c_str(), 0640), 0);
  const absl::Status status = Refusal();
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(status.message()), HasSubstr("(mode 0640), and it guards your token: chmod 600 "));
}

// Nothing that is in a file of the wrong mode decides that it is right, unless all of it is a guest's record.
TEST_F(GuestRecordTest, ADamagedRecordIsNoGuests) {
  WriteText(file(), R"({"schema_version": 1, "name": "fake", "guest": "ana"})");
  ASSERT_EQ(chmod(file().c_str(), 0640), 0);
  EXPECT_EQ(Refusal().code(), absl::StatusCode::kPermissionDenied);
}

TEST_F(GuestRecordTest, AFileThatOthersCanReadOrItsGroupCanWriteIsRefused) {
  for (const mode_t mode : {0644, 0604, 0660, 0620, 0602, 0641, 0666}) {
    ASSERT_EQ(chmod(file().c_str(), mode), 0);
    const absl::Status status = Refusal();
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << std::oct << mode;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("guest \"ana\""), HasSubstr("chmod g-w,o= "), HasSubstr("fake.json")));
  }
}

TEST_F(GuestRecordTest, AFolderThatOthersCanWriteToIsRefused) {
  for (const mode_t mode : {0775, 0777, 0757, 0720, 01777}) {  // in /tmp anybody may take the name of a removed file
    ASSERT_EQ(chmod(folder().c_str(), mode), 0);
    const absl::Status status = Refusal();
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << std::oct << mode;
    EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("guest \"ana\""), HasSubstr("chmod go-w ")));
  }
}

TEST_F(GuestRecordTest, AFolderFurtherUpThatOthersCanWriteToIsRefused) {
  const std::string real = std::filesystem::canonical(shared_.path()).string();
  for (const mode_t mode : {02775, 0777}) {
    ASSERT_EQ(chmod(real.c_str(), mode), 0);
    for (const std::string& server : {std::string(), file()}) {
      const absl::Status status = Refusal(server);
      EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << std::oct << mode;
      EXPECT_THAT(std::string(status.message()),
                  AllOf(HasSubstr("folder " + real + ", on the way to the record of guest \"ana\""),
                        HasSubstr("chmod +t " + real)));
    }
  }
  ASSERT_EQ(chmod(real.c_str(), 03775), 0);
  EXPECT_TRUE(Find().ok()) << Refusal();
}

TEST_F(GuestRecordTest, AFolderOfALinkOnTheWayThatOthersCanWriteToIsRefused) {
  const TemporaryFolder open;
  ASSERT_EQ(symlink(shared_.path().c_str(), open.File("alias").c_str()), 0);
  ASSERT_EQ(unlink(link().c_str()), 0);
  ASSERT_EQ(symlink(open.File("alias/servers/fake.json").c_str(), link().c_str()), 0);
  ASSERT_TRUE(Find().ok()) << Refusal();
  ASSERT_EQ(chmod(open.path().c_str(), 0777), 0);
  EXPECT_THAT(std::string(Refusal().message()), HasSubstr(open.path() + ", on the way to the record"));
}

TEST_F(GuestRecordTest, TheFoldersOfTheLinkAreOnesOwn) {
  for (const std::string& place : {own(), own() + "/servers"}) {
    ASSERT_EQ(chmod(place.c_str(), 0770), 0);
    const absl::Status status = Refusal();
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << place;
    EXPECT_THAT(std::string(status.message()), HasSubstr("chmod 700 " + place));
    EXPECT_EQ(Refusal("fake").code(), absl::StatusCode::kPermissionDenied) << place;
    ASSERT_EQ(chmod(place.c_str(), 0700), 0);
    EXPECT_TRUE(Find().ok());
    if (geteuid() != 0) continue;
    ASSERT_EQ(chown(place.c_str(), 12345, 12345), 0);
    EXPECT_THAT(std::string(Refusal().message()), HasSubstr("belongs to user 12345")) << place;
    ASSERT_EQ(chown(place.c_str(), 0, 0), 0);
  }
}

TEST_F(GuestRecordTest, FileAndFolderMayBeSomebodyElses) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  ASSERT_EQ(chmod(file().c_str(), 0640), 0);
  ASSERT_EQ(chown(file().c_str(), 12345, 12345), 0);
  EXPECT_TRUE(Find().ok()) << "a folder of one's own or root's: " << Refusal();
  ASSERT_EQ(chown(folder().c_str(), 12345, 12345), 0);
  EXPECT_TRUE(Find().ok()) << "both are somebody else's: " << Refusal();
  ASSERT_EQ(chown(folder().c_str(), 12346, 12346), 0);
  EXPECT_THAT(std::string(Refusal().message()),
              AllOf(HasSubstr("belongs to user 12346, who could replace"), HasSubstr("which is user 12345's")));
  ASSERT_EQ(chown(folder().c_str(), 12345, 12345), 0);
  ASSERT_EQ(chmod(file().c_str(), 0644), 0);
  EXPECT_THAT(std::string(Refusal().message()), HasSubstr("ask user 12345, its owner, for chmod g-w,o= "));
  Write("");
  EXPECT_THAT(std::string(Refusal().message()), HasSubstr("not to you"));
}

TEST_F(GuestRecordTest, ALinkToARecordThatIsGoneSaysWhatItLedTo) {
  ASSERT_EQ(unlink(file().c_str()), 0);
  ASSERT_EQ(symlink("servers/fake.json", (own() + "/current").c_str()), 0);
  for (const std::string& server : {std::string(), std::string("fake")}) {
    const absl::Status status = Refusal(server);
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr(file()), HasSubstr("hotplate join --remove fake"), Not(HasSubstr("hotplate up"))));
  }
  // It is in nobody's way.
  v1::EndpointRecord other = SomeRecord();
  other.set_name("other");
  WriteRecord(own(), other);
  ASSERT_EQ(unlink((own() + "/current").c_str()), 0);
  EXPECT_EQ(Find()->record.name(), "other");
}

TEST_F(GuestRecordTest, ADaemonOfSomebodyElseIsNotTakenForDead) {
  char host[256] = {};
  ASSERT_EQ(gethostname(host, sizeof host - 1), 0);
  v1::EndpointRecord record = SomeRecord();
  record.mutable_endpoints(0)->set_node(host);
  record.set_pid(1);  // not this user's, if the test does not run as root
  record.set_guest("ana");
  EXPECT_FALSE(KnownDead(record));
  const absl::Status status = NobodyAnswers({record, file()}, "Connection refused");
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("you are its guest \"ana\""), Not(HasSubstr("hotplate up"))));
}

}  // namespace
}  // namespace hotplate::client
