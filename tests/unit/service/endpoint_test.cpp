#include "server/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <ctime>
#include <filesystem>
#include <thread>
#include <vector>

#include "proto/codec/json_file.h"
#include "server/net/tls.h"
#include "tests/temporary_folder.h"

namespace hotplate::server {
namespace {

using testing::AllOf;
using testing::HasSubstr;

unsigned Mode(const std::string& path) {
  struct stat facts {};
  EXPECT_EQ(lstat(path.c_str(), &facts), 0) << path;
  return facts.st_mode & 07777;
}

v1::EndpointRecord Record(const std::string& generation) {
  v1::EndpointRecord record;
  record.set_schema_version(1);
  record.set_name("local");
  record.set_generation(generation);
  record.set_token("secret");
  return record;
}

absl::StatusOr<v1::EndpointRecord> ReadRecord(const std::string& path) {
  v1::EndpointRecord record;
  if (absl::Status status = codec::ReadJsonFile(path, record); !status.ok()) return status;
  return record;
}

class EndpointTest : public testing::Test {
 protected:
  TemporaryFolder folder_;
  const std::string directory_ = folder_.path() + "/hotplate";
  const std::string record_ = directory_ + "/servers/local.json";
};

TEST_F(EndpointTest, PublishesPrivatelyAndPointsCurrentAtIt) {
  auto slot = EndpointSlot::Claim(directory_, "local");
  ASSERT_TRUE(slot.ok()) << slot.status().ToString();
  ASSERT_TRUE(slot->Publish(Record("g1")).ok());
  EXPECT_EQ(Mode(directory_), 0700u);
  EXPECT_EQ(Mode(directory_ + "/servers"), 0700u);
  EXPECT_EQ(Mode(record_), 0600u);
  EXPECT_EQ(std::filesystem::read_symlink(directory_ + "/current").string(), "servers/local.json");
  const auto read = ReadRecord(directory_ + "/current");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->generation(), "g1");
  EXPECT_EQ(read->token(), "secret");
  // Nothing unfinished is left behind.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_ + "/servers"), {}), 2);
}

TEST_F(EndpointTest, FieldNamesAreThoseOfTheProto) {
  auto slot = EndpointSlot::Claim(directory_, "local");
  ASSERT_TRUE(slot.ok());
  ASSERT_TRUE(slot->Publish(Record("g1")).ok());
  std::ifstream file(record_);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  EXPECT_THAT(text, HasSubstr("\"schema_version\": 1"));
}

TEST_F(EndpointTest, GoneAfterTheDaemon) {
  {
    auto slot = EndpointSlot::Claim(directory_, "local");
    ASSERT_TRUE(slot.ok());
    ASSERT_TRUE(slot->Publish(Record("g1")).ok());
  }
  EXPECT_FALSE(std::filesystem::exists(record_));
  EXPECT_FALSE(std::filesystem::is_symlink(directory_ + "/current"));
  EXPECT_TRUE(EndpointSlot::Claim(directory_, "local").ok());
}

TEST_F(EndpointTest, LeavesTheRecordOfASuccessorAlone) {
  auto slot = EndpointSlot::Claim(directory_, "local");
  ASSERT_TRUE(slot.ok());
  ASSERT_TRUE(slot->Publish(Record("g1")).ok());
  // As on a file system without locks: another daemon took the name meanwhile.
  std::ofstream(record_) << R"({"schema_version": 1, "name": "local", "generation": "g2", "unknown_field": 3})";
  slot->Withdraw();
  const auto read = ReadRecord(record_);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->generation(), "g2");
  EXPECT_TRUE(std::filesystem::is_symlink(directory_ + "/current"));
}

TEST_F(EndpointTest, LeavesCurrentAloneWhereItNamesAnother) {
  auto first = EndpointSlot::Claim(directory_, "local"), second = EndpointSlot::Claim(directory_, "other");
  ASSERT_TRUE(first.ok() && second.ok());
  ASSERT_TRUE(second->Publish(Record("g2")).ok());
  ASSERT_TRUE(first->Publish(Record("g1")).ok());
  EXPECT_EQ(std::filesystem::read_symlink(directory_ + "/current").string(), "servers/other.json")
      << "who works with the other is not turned over to this one";
  first->Withdraw();
  EXPECT_FALSE(std::filesystem::exists(record_));
  EXPECT_EQ(std::filesystem::read_symlink(directory_ + "/current").string(), "servers/other.json");
}

TEST_F(EndpointTest, TakesCurrentFromADaemonThatIsGone) {
  const auto current = [&] { return std::filesystem::read_symlink(directory_ + "/current").string(); };
  auto slot = EndpointSlot::Claim(directory_, "local");
  ASSERT_TRUE(slot.ok());
  const auto point_at_other = [&] {
    std::filesystem::remove(directory_ + "/current");
    std::filesystem::create_symlink("servers/other.json", directory_ + "/current");
  };
  point_at_other();
  ASSERT_TRUE(slot->Publish(Record("g1")).ok());
  EXPECT_EQ(current(), "servers/local.json") << "its record is gone";

  // Killed: its record stays, its lock does not.
  std::ofstream(directory_ + "/servers/other.json") << R"({"schema_version": 1, "name": "other", "generation": "g2"})";
  std::ofstream(directory_ + "/servers/other.lock") << "1\n";
  point_at_other();
  ASSERT_TRUE(slot->Publish(Record("g1")).ok());
  EXPECT_EQ(current(), "servers/local.json") << "its lock is free";

  auto other = EndpointSlot::Claim(directory_, "other");
  ASSERT_TRUE(other.ok());
  point_at_other();
  ASSERT_TRUE(slot->Publish(Record("g1")).ok());
  EXPECT_EQ(current(), "servers/other.json") << "it has its lock";
  v1::EndpointRecord over = Record("g2");
  over.mutable_allocation_end_time()->set_seconds(std::time(nullptr) - 500);
  ASSERT_TRUE(other->Publish(over).ok());
  ASSERT_TRUE(slot->Publish(Record("g1")).ok());
  EXPECT_EQ(current(), "servers/other.json") << "its node's clock may be minutes behind";
  over.mutable_allocation_end_time()->set_seconds(1);
  ASSERT_TRUE(other->Publish(over).ok());
  ASSERT_TRUE(slot->Publish(Record("g1")).ok());
  EXPECT_EQ(current(), "servers/local.json") << "its allocation has ended, with it or without";
}

TEST_F(EndpointTest, OneDaemonPerName) {
  const auto first = EndpointSlot::Claim(directory_, "local");
  ASSERT_TRUE(first.ok());
  const auto second = EndpointSlot::Claim(directory_, "local");
  EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(second.status().message()),
              AllOf(HasSubstr("\"local\""), HasSubstr("pid " + std::to_string(getpid()))));
  EXPECT_TRUE(EndpointSlot::Claim(directory_, "other").ok());
}

// A draft of the record has the token.
TEST_F(EndpointTest, WhoeverTakesANameRemovesTheDraftsOfItsKilledDaemons) {
  const std::vector<std::string> drafts = {"servers/local.json.4711.new", "current.local.new"};
  const std::vector<std::string> of_others = {"servers/local.json.b.json.4711.new", "servers/other.json.4711.new",
                                              "current.other.new"};
  const auto leave = [this](const std::string& draft) { folder_.Write("hotplate/" + draft, "secret"); };
  const auto is_there = [this](const std::string& draft) { return std::filesystem::exists(directory_ + "/" + draft); };
  {
    const auto running = EndpointSlot::Claim(directory_, "local");
    ASSERT_TRUE(running.ok()) << running.status();
    for (const std::string& draft : drafts) leave(draft);
    for (const std::string& draft : of_others) leave(draft);
    EXPECT_FALSE(EndpointSlot::Claim(directory_, "local").ok());
    for (const std::string& draft : drafts) EXPECT_TRUE(is_there(draft)) << draft << " may be a running daemon's";
  }
  EXPECT_TRUE(EndpointSlot::Claim(directory_, "local").ok());
  for (const std::string& draft : drafts) EXPECT_FALSE(is_there(draft)) << draft;
  for (const std::string& draft : of_others) EXPECT_TRUE(is_there(draft)) << draft;
}

TEST_F(EndpointTest, ARequeuedJobTakesItsNameBack) {
  // The node was cut off: its daemon still has the lock.
  auto first = EndpointSlot::Claim(directory_, "fake-17", {"fake/17", 0});
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(first->Publish(Record("g1")).ok());
  EXPECT_EQ(EndpointSlot::Claim(directory_, "fake-17", {"fake/17", 0}).status().code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(EndpointSlot::Claim(directory_, "fake-17", {"fake/18", 1}).status().code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(EndpointSlot::Claim(directory_, "fake-17").status().code(), absl::StatusCode::kAlreadyExists);

  auto second = EndpointSlot::Claim(directory_, "fake-17", {"fake/17", 1});
  ASSERT_TRUE(second.ok()) << second.status();
  ASSERT_TRUE(second->Publish(Record("g2")).ok());
  const std::string record = directory_ + "/servers/fake-17.json";
  EXPECT_EQ(first->Update(Record("g1")).code(), absl::StatusCode::kFailedPrecondition);
  first->Withdraw();
  EXPECT_EQ(ReadRecord(record)->generation(), "g2");
  EXPECT_EQ(EndpointSlot::Claim(directory_, "fake-17", {"fake/17", 0}).status().code(),
            absl::StatusCode::kAlreadyExists)
      << "an earlier run has no right to it";
}

TEST_F(EndpointTest, AnUpdateReplacesItsOwnRecordWhileThatIsThere) {
  auto slot = EndpointSlot::Claim(directory_, "local");
  ASSERT_TRUE(slot.ok());
  auto other = EndpointSlot::Claim(directory_, "other");
  ASSERT_TRUE(other.ok());
  ASSERT_TRUE(other->Publish(Record("g2")).ok());
  ASSERT_TRUE(slot->Publish(Record("g1")).ok());
  v1::EndpointRecord record = Record("g1");
  record.set_pid(42);
  ASSERT_TRUE(slot->Update(record).ok());
  EXPECT_EQ(ReadRecord(record_)->pid(), 42u);
  EXPECT_EQ(Mode(record_), 0600u);
  EXPECT_EQ(std::filesystem::read_symlink(directory_ + "/current").string(), "servers/other.json")
      << "it is not started anew";
  slot->Withdraw();
  ASSERT_TRUE(slot->Update(record).ok());
  EXPECT_FALSE(std::filesystem::exists(record_)) << "what was withdrawn stays away";
}

// A client may look at any moment, and what it finds is one record or the other.
TEST_F(EndpointTest, AReaderNeverSeesHalfARecord) {
  auto slot = EndpointSlot::Claim(directory_, "local");
  ASSERT_TRUE(slot.ok());
  v1::EndpointRecord record = Record("g1");
  ASSERT_TRUE(slot->Publish(record).ok());
  const std::string opened = folder_.File("opened before");  // the file, whatever its name stands for by now
  std::filesystem::create_hard_link(record_, opened);
  const std::string before = ReadText(opened);

  std::atomic<bool> over = false;
  std::atomic<int> seen = 0, broken = 0;
  std::thread reader([&] {
    while (!over) {
      const auto read = ReadRecord(record_);
      if (!read.ok() || read->token() != "secret") ++broken;
      ++seen;
    }
  });
  for (std::uint32_t i = 1; i <= 200 || seen < 200; ++i) {
    record.set_pid(i);
    EXPECT_TRUE(slot->Update(record).ok());
  }
  over = true;
  reader.join();
  EXPECT_EQ(broken, 0) << "of " << seen;
  EXPECT_EQ(ReadText(opened), before);
  EXPECT_NE(ReadText(record_), before);
}

TEST_F(EndpointTest, WritesThroughNoLinkThatWasPutInItsWay) {
  auto slot = EndpointSlot::Claim(directory_, "local");
  ASSERT_TRUE(slot.ok());
  const std::string elsewhere = folder_.Write("elsewhere", "untouched");
  const std::string links[] = {record_ + "." + std::to_string(getpid()) + ".new", directory_ + "/current.local.new"};
  for (const std::string& link : links) std::filesystem::create_symlink(elsewhere, link);
  ASSERT_TRUE(slot->Publish(Record("g1")).ok());
  for (const std::string& link : links) EXPECT_FALSE(std::filesystem::is_symlink(link)) << link;
  EXPECT_EQ(ReadText(elsewhere), "untouched");
  EXPECT_EQ(ReadRecord(record_)->generation(), "g1");
}

TEST_F(EndpointTest, WhatCannotBeWrittenIsNamedWithAWayOut) {
  const auto slot = EndpointSlot::Claim("/proc/hotplate", "local");
  EXPECT_FALSE(slot.ok());
  EXPECT_THAT(std::string(slot.status().message()), AllOf(HasSubstr("/proc/hotplate"), HasSubstr("HOTPLATE_DIR")));
}

TEST_F(EndpointTest, RefusesAFolderThatOthersCanEnter) {
  for (const mode_t mode : {0750, 0755, 0701, 0770}) {
    std::filesystem::remove_all(directory_);
    ASSERT_EQ(mkdir(directory_.c_str(), 0700), 0);
    ASSERT_EQ(chmod(directory_.c_str(), mode), 0);
    const auto slot = EndpointSlot::Claim(directory_, "local");
    EXPECT_EQ(slot.status().code(), absl::StatusCode::kPermissionDenied) << std::oct << mode;
    EXPECT_THAT(std::string(slot.status().message()), HasSubstr("chmod 700 " + directory_));
  }
}

TEST_F(EndpointTest, RefusesAFileWhereAFolderShouldBe) {
  folder_.Write("hotplate", "");
  EXPECT_FALSE(EndpointSlot::Claim(directory_, "local").ok());
}

TEST(IdentityTest, CertificateIsSelfSignedForHotplate) {
  const auto identity = MakeDaemonIdentity();
  ASSERT_TRUE(identity.ok()) << identity.status().ToString();
  BIO* bio = BIO_new_mem_buf(identity->certificate_pem.data(), static_cast<int>(identity->certificate_pem.size()));
  X509* certificate = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
  BIO_free(bio);
  ASSERT_NE(certificate, nullptr);
  EXPECT_EQ(X509_check_host(certificate, "hotplate", 0, 0, nullptr), 1);
  EXPECT_EQ(X509_check_host(certificate, "localhost", 0, 0, nullptr), 0);
  EXPECT_EQ(X509_verify(certificate, X509_get0_pubkey(certificate)), 1);
  EXPECT_EQ(EVP_PKEY_get_id(X509_get0_pubkey(certificate)), EVP_PKEY_EC);
  EXPECT_EQ(EVP_PKEY_get_bits(X509_get0_pubkey(certificate)), 256);
  EXPECT_LT(X509_cmp_current_time(X509_get0_notBefore(certificate)), 0);
  EXPECT_GT(X509_cmp_current_time(X509_get0_notAfter(certificate)), 0);
  EXPECT_EQ(X509_check_purpose(certificate, X509_PURPOSE_SSL_SERVER, 0), 1);
  EXPECT_EQ(X509_check_purpose(certificate, X509_PURPOSE_SSL_CLIENT, 0), 0);
  X509_free(certificate);
  EXPECT_THAT(identity->key_pem, HasSubstr("BEGIN PRIVATE KEY"));
}

// Neither can be used in the other's place, nor to make further ones.
TEST(IdentityTest, AClientsCertificateIsForClientsAlone) {
  const auto identity = ClientAuthority::Make()->MakeClient("anna");
  ASSERT_TRUE(identity.ok()) << identity.status().ToString();
  BIO* bio = BIO_new_mem_buf(identity->certificate_pem.data(), static_cast<int>(identity->certificate_pem.size()));
  X509* certificate = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
  BIO_free(bio);
  ASSERT_NE(certificate, nullptr);
  EXPECT_EQ(X509_check_purpose(certificate, X509_PURPOSE_SSL_CLIENT, 0), 1);
  EXPECT_EQ(X509_check_purpose(certificate, X509_PURPOSE_SSL_SERVER, 0), 0);
  EXPECT_EQ(X509_check_purpose(certificate, X509_PURPOSE_SSL_CLIENT, 1), 0) << "as an authority";
  X509_free(certificate);
}

TEST(IdentityTest, SecretsAreLongAndDiffer) {
  const auto first = RandomHex(32), second = RandomHex(32);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->size(), 64u);
  EXPECT_NE(*first, *second);
  EXPECT_EQ(first->find_first_not_of("0123456789abcdef"), std::string::npos);
}

}  // namespace
}  // namespace hotplate::server
