// Tokens of guests, and the files that have their records.
#include "server/tokens/guest_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "proto/codec/json_file.h"
#include "server/tokens/record_file.h"
#include "tests/temporary_folder.h"

namespace hotplate::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string Message(const absl::Status& status) { return std::string(status.message()); }

class GuestTokensTest : public testing::Test {
 protected:
  GuestTokensTest() {
    own_.set_schema_version(1);
    own_.set_name("course");
    own_.set_token(std::string(64, 'a'));
    own_.set_certificate_pem("certificate");
    own_.set_log_file("/log");
    std::filesystem::create_directory(folder_.path() + "/hotplate");
    std::filesystem::permissions(folder_.path() + "/hotplate", std::filesystem::perms::owner_all);
    StartDaemon();
  }
  void StartDaemon() {
    authenticator_ = std::make_shared<Authenticator>(std::vector<Token>{});
    allowances_ = std::make_shared<core::Allowances>("owner");
    GuestTokens::Options options;
    options.directory = folder_.path() + "/hotplate";
    options.daemon = "course";
    options.authority = *ClientAuthority::Make();
    options.authenticator = authenticator_;
    options.allowances = allowances_;
    options.note = [](const std::string&) {};
    options.end = [this](const std::string& token, const std::string& why) {
      ended_.push_back(token + " " + why);
      return 2U;
    };
    options.end_streams = [this] { ++looks_; };
    options.warn = [this](const std::string& line) { warnings_.push_back(line); };
    guests_ = std::make_unique<GuestTokens>(std::move(options));
    guests_->Publish(own_);
  }
  std::string FileOf(const std::string& name) const { return folder_.path() + "/" + name + ".json"; }
  v1::Token Wanted(const std::string& name) const {
    v1::Token token;
    token.set_name(name);
    token.set_scope(v1::TOKEN_SCOPE_SUBMIT);
    token.set_record_file(FileOf(name));
    return token;
  }
  v1::EndpointRecord RecordOf(const std::string& name) const {
    v1::EndpointRecord record;
    EXPECT_TRUE(codec::ReadJsonFile(FileOf(name), record).ok());
    return record;
  }
  absl::StatusOr<core::Principal> Caller(const std::string& secret) const {
    const std::string bearer = "Bearer " + secret;
    return authenticator_->Identify({{"authorization", bearer}}, core::Scope::kSubmit);
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const v1::Token& token : guests_->List())
      names.push_back(token.name() + (token.has_end_time() ? " (ended)" : ""));
    return names;
  }

  const TemporaryFolder folder_;
  v1::EndpointRecord own_;
  std::shared_ptr<Authenticator> authenticator_;
  std::shared_ptr<core::Allowances> allowances_;
  std::vector<std::string> warnings_, ended_;
  std::atomic<int> looks_{0};
  std::unique_ptr<GuestTokens> guests_;
};

TEST_F(GuestTokensTest, ATokenHasARecordOfItsOwn) {
  v1::Token wanted = Wanted("anna");
  wanted.mutable_limits()->set_jobs(2);
  wanted.mutable_limits()->set_path_root(folder_.path() + "/./");
  const auto token = guests_->Create(wanted);
  ASSERT_TRUE(token.ok()) << token.status();
  const v1::EndpointRecord record = RecordOf("anna");
  EXPECT_EQ(record.guest(), "anna");
  EXPECT_EQ(record.certificate_pem(), "certificate");
  EXPECT_THAT(record.client_key_pem(), HasSubstr("PRIVATE KEY"));
  EXPECT_EQ(record.log_file(), "");
  EXPECT_EQ(Caller(record.token())->token, "anna");
  const auto allowance = allowances_->Of("anna");
  EXPECT_EQ(allowance->jobs, 2U);
  EXPECT_EQ(allowance->path_root, std::filesystem::canonical(folder_.path()));
}

TEST_F(GuestTokensTest, TheNextDaemonHasThemWithNewSecrets) {
  ASSERT_TRUE(guests_->Create(Wanted("anna")).ok());
  ASSERT_TRUE(guests_->Create(Wanted("ben")).ok());
  ASSERT_TRUE(guests_->Revoke("ben").ok());
  chmod(FileOf("anna").c_str(), 0640);
  const std::string before = RecordOf("anna").token();
  StartDaemon();
  EXPECT_THAT(Names(), ElementsAre("anna", "ben (ended)"));
  EXPECT_NE(RecordOf("anna").token(), before);
  EXPECT_TRUE(Caller(RecordOf("anna").token()).ok());
  EXPECT_FALSE(Caller(before).ok());
  EXPECT_TRUE(allowances_->Of("ben")->revoked) << "its jobs in the journal are not run";
  struct stat info {};
  stat(FileOf("anna").c_str(), &info);
  EXPECT_EQ(info.st_mode & 0777, 0640u) << "as its owner had made it";
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(GuestTokensTest, OneThatCannotBeWrittenIsNamedAndStaysGood) {
  ASSERT_TRUE(guests_->Create(Wanted("anna")).ok());
  std::filesystem::remove(FileOf("anna"));
  std::ofstream(FileOf("anna")) << "mine";
  StartDaemon();
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("is no record of guest \"anna\"")));
  std::filesystem::remove(FileOf("anna"));
  guests_->Publish(own_);
  EXPECT_TRUE(Caller(RecordOf("anna").token()).ok());
}

TEST_F(GuestTokensTest, RevokingNamesTheNearestAndRemovesTheRecord) {
  ASSERT_TRUE(guests_->Create(Wanted("anna")).ok());
  EXPECT_THAT(Message(guests_->Revoke("ana").status()), HasSubstr("did you mean anna?"));
  const std::string secret = RecordOf("anna").token();
  const auto revoked = guests_->Revoke("anna");
  EXPECT_TRUE(revoked->token.has_end_time());
  EXPECT_EQ(revoked->cancelled_jobs, 2U);
  EXPECT_THAT(ended_, ElementsAre("anna was cancelled: its token was revoked"));
  EXPECT_FALSE(std::filesystem::exists(FileOf("anna")));
  EXPECT_THAT(Message(Caller(secret).status()), HasSubstr("was revoked"));
  EXPECT_TRUE(allowances_->Of("anna")->is_over());
  ASSERT_TRUE(guests_->Create(Wanted("anna")).ok());
  EXPECT_FALSE(allowances_->Of("anna")->is_over());
  EXPECT_THAT(Names(), ElementsAre("anna"));
}

TEST_F(GuestTokensTest, WrongTokensAreRefusedWithTheFieldAndTheValue) {
  const auto refusal = [&](const v1::Token& token) { return Message(guests_->Create(token).status()); };
  for (const std::string& name : {std::string(), std::string(".hidden"), std::string("a/b"), std::string("a b"),
                                  std::string("owner"), std::string(49, 'a')}) {
    v1::Token token = Wanted("anna");
    token.set_name(name);
    EXPECT_THAT(refusal(token), HasSubstr(name)) << name;
    EXPECT_THAT(refusal(token), HasSubstr("name"));
  }
  v1::Token token = Wanted("anna");
  token.set_scope(v1::TOKEN_SCOPE_UNSPECIFIED);
  EXPECT_THAT(refusal(token), HasSubstr("TOKEN_SCOPE_UNSPECIFIED"));
  token = Wanted("anna");
  token.mutable_expire_time()->set_seconds(1'000'000'000);
  EXPECT_THAT(refusal(token), HasSubstr("2001-09-09"));
  token = Wanted("anna");
  token.mutable_limits()->set_path_root("relative");
  EXPECT_THAT(refusal(token), HasSubstr("relative"));
  token.mutable_limits()->set_path_root("/no/such/folder");
  EXPECT_THAT(refusal(token), HasSubstr("/no/such/folder"));
  token = Wanted("anna");
  token.set_record_file("anna.json");
  EXPECT_THAT(refusal(token), HasSubstr("absolute"));
  token.set_record_file("/no/such/anna.json");
  EXPECT_THAT(refusal(token), HasSubstr("/no/such/anna.json"));
  EXPECT_THAT(Names(), ElementsAre());
  ASSERT_TRUE(guests_->Create(Wanted("anna")).ok());
  EXPECT_EQ(guests_->Create(Wanted("anna")).status().code(), absl::StatusCode::kAlreadyExists);
  token = Wanted("ben");
  token.set_record_file(FileOf("anna"));
  EXPECT_THAT(refusal(token), HasSubstr("is that of token \"anna\""));
  std::filesystem::create_directory_symlink(folder_.path(), folder_.path() + "/link");
  token.set_record_file(folder_.path() + "/link/./anna.json");
  EXPECT_THAT(refusal(token), HasSubstr("is that of token \"anna\"")) << "by another way";
}

TEST_F(GuestTokensTest, StreamsOfTokensThatHaveEndedAreLookedForNowAndThen) {
  for (int i = 0; i < 6000 && looks_ < 1; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_GE(looks_, 1);
}

TEST_F(GuestTokensTest, AShellOnTheAccountIsAskedForByName) {
  for (const auto& [scope, is] :
       {std::pair(v1::TOKEN_SCOPE_CODE, core::Scope::kCode), {v1::TOKEN_SCOPE_ADMIN, core::Scope::kAdmin}}) {
    v1::Token token = Wanted(v1::TokenScope_Name(scope));
    token.set_scope(scope);
    const absl::Status refused = guests_->Create(token).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(Message(refused), testing::AllOf(HasSubstr("is a shell on your account"), HasSubstr("--full-account")));
    ASSERT_TRUE(guests_->Create(token, /*full_account=*/true).ok());
    EXPECT_EQ(Caller(RecordOf(token.name()).token())->scope, is);
  }
  EXPECT_THAT(Message(guests_->Create(Wanted("anna"), /*full_account=*/true).status()),
              HasSubstr("is for the scopes code and admin alone"));
  StartDaemon();
  EXPECT_THAT(Names(), ElementsAre("TOKEN_SCOPE_ADMIN", "TOKEN_SCOPE_CODE")) << "the next daemon does not ask again";
}

// The words are the guest's (kernels/array/replaceable.h).
TEST_F(GuestTokensTest, ARecordThatOthersCouldReplaceIsNotMade) {
  const std::string course = std::filesystem::canonical(folder_.path()).string() + "/course", own = course + "/tokens";
  std::filesystem::create_directories(own);
  chmod(own.c_str(), 0755);
  v1::Token token = Wanted("anna");
  token.set_record_file(own + "/anna.json");
  chmod(course.c_str(), 02775);
  const absl::Status refused = guests_->Create(token).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(refused),
              testing::AllOf(HasSubstr("folder " + course + ", on the way to the record of guest \"anna\""),
                             HasSubstr("chmod +t " + course)));
  EXPECT_FALSE(std::filesystem::exists(own + "/anna.json"));
  EXPECT_THAT(Names(), ElementsAre());
  chmod(course.c_str(), 03775);
  EXPECT_TRUE(guests_->Create(token).ok());
  chmod(own.c_str(), 0775);
  token = Wanted("ben");
  token.set_record_file(own + "/ben.json");
  EXPECT_THAT(Message(guests_->Create(token).status()), HasSubstr("chmod go-w " + own));
  chmod(own.c_str(), 0755);
  std::filesystem::create_directory_symlink(own, folder_.path() + "/open");
  std::filesystem::create_directory(folder_.path() + "/shared");
  std::filesystem::create_directory_symlink(own, folder_.path() + "/shared/alias");
  chmod((folder_.path() + "/shared").c_str(), 0777);
  token.set_record_file(folder_.path() + "/shared/alias/ben.json");
  EXPECT_THAT(Message(guests_->Create(token).status()), HasSubstr("/shared, on the way to the record"));
  token.set_record_file(folder_.path() + "/open/ben.json");
  EXPECT_TRUE(guests_->Create(token).ok());
}

TEST_F(GuestTokensTest, TheLongestNameHasACertificate) {
  EXPECT_TRUE(guests_->Create(Wanted(std::string(48, 'a'))).ok());
}

TEST_F(GuestTokensTest, ARevokeThatCannotBeKeptEndsTheJobsAndIsTriedAgain) {
  ASSERT_TRUE(guests_->Create(Wanted("anna")).ok());
  const std::string tokens = folder_.path() + "/hotplate/tokens", away = folder_.path() + "/away";
  std::filesystem::rename(tokens, away);
  std::ofstream(tokens) << "no folder";
  EXPECT_THAT(Message(guests_->Revoke("anna").status()), HasSubstr("revoke it once more"));
  EXPECT_THAT(ended_, ElementsAre("anna was cancelled: its token was revoked"));
  std::filesystem::remove(tokens);
  std::filesystem::rename(away, tokens);
  EXPECT_TRUE(guests_->Revoke("anna").ok());
  StartDaemon();
  EXPECT_THAT(Names(), ElementsAre("anna (ended)"));
}

TEST_F(GuestTokensTest, AFileThatCannotBeReadLetsNobodyInAndIsNotOverwritten) {
  ASSERT_TRUE(guests_->Create(Wanted("anna")).ok());
  const std::string file = folder_.path() + "/hotplate/tokens/course.json";
  std::ofstream(file, std::ios::trunc) << "{\"tokens\": [";
  StartDaemon();
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("no guest is known")));
  EXPECT_THAT(Message(guests_->Create(Wanted("ben")).status()), HasSubstr("no token is made: "));
  EXPECT_TRUE(allowances_->Of("anna")->is_over()) << "its jobs in the journal have no more than before";
  EXPECT_EQ(allowances_->Of("owner"), nullptr);
}

TEST_F(GuestTokensTest, ACallOfAnOlderTokenOfTheNameIsOver) {
  ASSERT_TRUE(guests_->Create(Wanted("anna")).ok());
  const auto before = Caller(RecordOf("anna").token());
  ASSERT_TRUE(guests_->Revoke("anna").ok());
  ASSERT_TRUE(guests_->Create(Wanted("anna")).ok());
  const auto now = Caller(RecordOf("anna").token());
  EXPECT_TRUE(allowances_->Of("anna")->is_over(before->serial));
  EXPECT_FALSE(allowances_->Of("anna")->is_over(now->serial));
}

TEST_F(GuestTokensTest, OneThatWasMadeAgainLivesOn) {
  ASSERT_TRUE(guests_->Create(Wanted("anna")).ok());
  ASSERT_TRUE(guests_->Revoke("anna").ok());
  ASSERT_TRUE(guests_->Create(Wanted("anna")).ok());
  StartDaemon();
  EXPECT_THAT(Names(), ElementsAre("anna"));
  EXPECT_FALSE(allowances_->Of("anna")->is_over());
}

TEST_F(GuestTokensTest, NoFileIsOverwrittenThatIsNoRecordOfTheGuest) {
  std::ofstream(FileOf("anna")) << "mine";
  EXPECT_THAT(Message(guests_->Create(Wanted("anna")).status()), HasSubstr("nothing is overwritten"));
  std::ofstream(FileOf("anna"), std::ios::trunc);
  EXPECT_TRUE(guests_->Create(Wanted("anna")).ok()) << "an empty one was made for it";
  std::filesystem::create_directory(FileOf("ben"));
  EXPECT_THAT(Message(guests_->Create(Wanted("ben")).status()), HasSubstr("not a regular file"));
}

TEST(GuestTokensWithoutTlsTest, ThereAreNoGuests) {
  const TemporaryFolder folder;
  GuestTokens::Options options;
  options.directory = folder.path();
  options.daemon = "plain";
  options.authenticator = std::make_shared<Authenticator>(std::vector<Token>{});
  options.allowances = std::make_shared<core::Allowances>();
  options.end_streams = [] {};
  GuestTokens guests(std::move(options));
  v1::Token token;
  token.set_name("anna");
  token.set_scope(v1::TOKEN_SCOPE_OBSERVE);
  token.set_record_file(folder.path() + "/anna.json");
  EXPECT_THAT(Message(guests.Create(token).status()), HasSubstr("--insecure"));
}

}  // namespace
}  // namespace hotplate::server
