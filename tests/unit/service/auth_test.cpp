#include "server/service/auth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace hotplate::server {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kSecret(64, 'a'), kWatcherSecret(64, 'b'), kSession(32, '7');

const Authenticator& TestAuthenticator() {
  static const Authenticator authenticator(
      {{"owner", kSecret, core::Scope::kAdmin}, {"watcher", kWatcherSecret, core::Scope::kObserve}});
  return authenticator;
}

absl::StatusOr<core::Principal> Identify(const std::multimap<std::string, std::string>& metadata,
                                         core::Scope needed = core::Scope::kObserve) {
  CallMetadata refs;
  for (const auto& [name, value] : metadata) refs.emplace(name, value);
  return TestAuthenticator().Identify(refs, needed);
}

TEST(AuthTest, GoodTokenIsItsPrincipal) {
  const auto who = Identify({{"authorization", "Bearer " + kSecret}, {"hotplate-session", kSession}});
  ASSERT_TRUE(who.ok()) << who.status().ToString();
  EXPECT_EQ(who->token, "owner");
  EXPECT_EQ(who->session.value(), kSession);
  EXPECT_EQ(who->scope, core::Scope::kAdmin);
}

TEST(AuthTest, AnythingElseIsRefusedWithoutSayingTheSecret) {
  const std::vector<std::multimap<std::string, std::string>> bad = {
      {},
      {{"authorization", ""}},
      {{"authorization", kSecret}},
      {{"authorization", "Basic " + kSecret}},
      {{"authorization", "Bearer "}},
      {{"authorization", "Bearer " + kSecret.substr(1)}},
      {{"authorization", "Bearer " + kSecret + "a"}},
      {{"authorization", "Bearer " + kSecret.substr(1) + "c"}},
      {{"authorization", "Bearer " + kSecret}, {"authorization", "Bearer " + kWatcherSecret}},
  };
  for (const auto& metadata : bad) {
    const auto who = Identify(metadata);
    EXPECT_EQ(who.status().code(), absl::StatusCode::kUnauthenticated);
    EXPECT_THAT(std::string(who.status().message()), Not(HasSubstr("aaaa")));
  }
}

TEST(AuthTest, ScopesIncludeThoseBelow) {
  const std::multimap<std::string, std::string> watcher = {{"authorization", "Bearer " + kWatcherSecret}};
  EXPECT_TRUE(Identify(watcher, core::Scope::kObserve).ok());
  const auto refused = Identify(watcher, core::Scope::kSubmit);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(refused.status().message()), testing::AllOf(HasSubstr("watcher"), HasSubstr("submit")));
  EXPECT_EQ(Identify(watcher, core::Scope::kAdmin).status().code(), absl::StatusCode::kPermissionDenied);
}

TEST(AuthTest, SessionsAreThirtyTwoDigitsOrNone) {
  const auto none = Identify({{"authorization", "Bearer " + kSecret}});
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->session.value(), "shared");
  for (const std::string& bad :
       {std::string(), std::string("x"), std::string(31, '1'), std::string(33, '1'), std::string(32, 'G')}) {
    EXPECT_EQ(Identify({{"authorization", "Bearer " + kSecret}, {"hotplate-session", bad}}).status().code(),
              absl::StatusCode::kInvalidArgument)
        << bad;
  }
}

class GuestAuthTest : public testing::Test {
 protected:
  GuestAuthTest() {
    Token guest{"anna", kWatcherSecret, core::Scope::kSubmit};
    guest.certificate_name = "hotplate client anna";
    guest.expires = std::chrono::system_clock::now() + std::chrono::hours(1);
    authenticator_.Add(guest);
  }
  absl::StatusOr<core::Principal> Anna(core::Scope needed = core::Scope::kObserve) const {
    const std::string bearer = "Bearer " + kWatcherSecret;
    return authenticator_.Identify({{"authorization", bearer}, {"hotplate-session", kSession}}, needed);
  }

  Authenticator authenticator_{{{kOwnerToken, kSecret, core::Scope::kAdmin}}};
};

TEST_F(GuestAuthTest, ASessionIsOfOneToken) {
  EXPECT_EQ(authenticator_.LastCall("anna"), std::nullopt);
  const auto who = Anna();
  ASSERT_TRUE(who.ok()) << who.status();
  EXPECT_EQ(who->token, "anna");
  EXPECT_EQ(who->session.value(), "anna/" + kSession);
  EXPECT_TRUE(authenticator_.LastCall("anna").has_value());
  EXPECT_FALSE(Anna(core::Scope::kCode).ok());
}

TEST_F(GuestAuthTest, OneThatEndedIsToldHow) {
  authenticator_.End("anna", "was revoked");
  authenticator_.End("nobody", "was revoked");
  const std::string bearer = "Bearer " + kWatcherSecret;
  EXPECT_EQ(authenticator_.NameOf({{"authorization", bearer}}), "anna") << "the audit log is to tell who tries";
  EXPECT_EQ(Anna().status().code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(std::string(Anna().status().message()), HasSubstr("token \"anna\" was revoked"));
  Token again{"anna", std::string(64, 'c'), core::Scope::kSubmit};
  again.certificate_name = "hotplate client anna";
  authenticator_.Add(again);
  EXPECT_THAT(std::string(Anna().status().message()), HasSubstr("not this daemon's")) << "the older one is forgotten";
  EXPECT_EQ(authenticator_.NameOf({{"authorization", bearer}}), "");
}

TEST_F(GuestAuthTest, OneThatHasExpiredIsToldWhen) {
  Token brief{"brief", std::string(64, 'c'), core::Scope::kSubmit};
  brief.certificate_name = "hotplate client brief";
  brief.expires = core::WallTime(std::chrono::seconds(1'000'000'000));
  authenticator_.Add(brief);
  const std::string bearer = "Bearer " + brief.secret;
  const auto who = authenticator_.Identify({{"authorization", bearer}}, core::Scope::kObserve);
  EXPECT_THAT(std::string(who.status().message()), HasSubstr("token \"brief\" expired at 2001-09-09 01:46:40 UTC"));
}

TEST(AuthTest, AnAuthenticatorWithoutTokensLetsNobodyIn) {
  CallMetadata metadata{{"authorization", "Bearer "}};
  EXPECT_FALSE(Authenticator({}).FindToken(metadata).ok());
  EXPECT_FALSE(Authenticator({{"empty", "", core::Scope::kAdmin}}).FindToken(metadata).ok());
}

}  // namespace
}  // namespace hotplate::server
