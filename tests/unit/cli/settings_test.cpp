#include "client/cli/settings.h"

#include <gmock/gmock.h>

#include <map>

#include "client/cli/allocation/records.h"
#include "client/cli/ending.h"
#include "tests/temporary_folder.h"

namespace hotplate::cli {
namespace {

using testing::HasSubstr;

class SettingsTest : public testing::Test {
 protected:
  absl::StatusOr<Settings> Resolve(const SettingFlags& flags, std::map<std::string, std::string> variables) {
    variables.emplace("HOME", folder_.path());
    return ResolveSettings(flags, [variables](const std::string& name) -> std::optional<std::string> {
      const auto found = variables.find(name);
      if (found == variables.end()) return std::nullopt;
      return found->second;
    });
  }

  TemporaryFolder folder_;
};

TEST_F(SettingsTest, FlagsThenEnvironmentThenFileThenDefault) {
  EXPECT_EQ(Resolve({}, {})->directory, folder_.path() + "/.hotplate");
  EXPECT_EQ(Resolve({}, {})->server, "");
  folder_.Write(".config/hotplate/config.toml", "server = 'file'\ndirectory = '~/kept'\n");
  EXPECT_EQ(Resolve({}, {})->server, "file");
  EXPECT_EQ(Resolve({}, {})->directory, folder_.path() + "/kept");
  const std::map<std::string, std::string> variables = {{"HOTPLATE_SERVER", "env"}, {"HOTPLATE_DIR", "/env"}};
  EXPECT_EQ(Resolve({}, variables)->server, "env");
  EXPECT_EQ(Resolve({}, variables)->directory, "/env");
  EXPECT_EQ(Resolve({.directory = "/flag", .server = "flag"}, variables)->server, "flag");
  EXPECT_EQ(Resolve({.directory = "/flag", .server = "flag"}, variables)->directory, "/flag");
}

TEST_F(SettingsTest, TheEndpointOfTheEnvironmentBelongsToItsDaemon) {
  const std::map<std::string, std::string> variables = {{"HOTPLATE_ENDPOINT", "localhost:5"},
                                                        {"HOTPLATE_SERVER", "env"}};
  EXPECT_EQ(Resolve({}, {})->endpoint, "");
  EXPECT_EQ(Resolve({}, variables)->endpoint, "localhost:5");
  EXPECT_EQ(Resolve({.server = "flag"}, variables)->endpoint, "") << "another daemon is not behind that forward";
  EXPECT_EQ(Resolve({.server = "flag", .endpoint = "localhost:6"}, variables)->endpoint, "localhost:6");
}

TEST_F(SettingsTest, XdgConfigHome) {
  folder_.Write("xdg/hotplate/config.toml", "server = \"there\"\n");
  EXPECT_EQ(Resolve({}, {{"XDG_CONFIG_HOME", folder_.File("xdg")}})->server, "there");
}

TEST_F(SettingsTest, ABadFileIsNamedWithKeyAndLine) {
  const auto refusal = [&](const std::string& content) {
    folder_.Write(".config/hotplate/config.toml", content);
    const auto settings = Resolve({}, {});
    EXPECT_FALSE(settings.ok());
    EXPECT_EQ(ExitCodeOf(settings.status()), kExitUsage);
    return std::string(settings.status().message());
  };
  EXPECT_THAT(refusal("\nsevrer = 'x'\n"), HasSubstr("config.toml:2: no setting \"sevrer\""));
  EXPECT_THAT(refusal("server = 7\n"), HasSubstr("server must be a text"));
  EXPECT_THAT(refusal("server = \n"), HasSubstr("config.toml:"));
}

TEST_F(SettingsTest, WithoutAHomeItSaysWhatToSet) {
  const auto settings = ResolveSettings({}, [](const std::string&) { return std::nullopt; });
  ASSERT_FALSE(settings.ok());
  EXPECT_THAT(std::string(settings.status().message()), HasSubstr("HOTPLATE_DIR"));
}

TEST_F(SettingsTest, UseMovesTheCurrentLink) {
  const Settings settings{.directory = folder_.path(), .server = ""};
  EXPECT_EQ(ServerName(settings), std::nullopt);
  EXPECT_THAT(std::string(SetCurrent(settings, "local").message()), HasSubstr("none is there"));
  folder_.Write("servers/local.json", "{}");
  folder_.Write("servers/other.json", "{}");
  ASSERT_TRUE(SetCurrent(settings, "local").ok());
  EXPECT_EQ(ServerName(settings), "local");
  ASSERT_TRUE(SetCurrent(settings, "other").ok());
  EXPECT_EQ(ServerName(settings), "other");
  EXPECT_THAT(std::string(SetCurrent(settings, "loca").message()), HasSubstr("There are: local, other"));
  EXPECT_FALSE(SetCurrent(settings, "../servers/local").ok());
  EXPECT_EQ(ServerName({.directory = folder_.path(), .server = "asked"}), "asked");
}

TEST_F(SettingsTest, UseRefusesAFolderThatOthersCanWriteTo) {
  folder_.Write("servers/local.json", "{}");
  std::filesystem::permissions(folder_.path(), std::filesystem::perms(0777));
  const absl::Status status = SetCurrent({.directory = folder_.path(), .server = ""}, "local");
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(status.message()), HasSubstr("chmod 700 " + folder_.path()));
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::symlink_status(folder_.File("current"))));
}

TEST_F(SettingsTest, ARecordTellsWhetherASilentDaemonIsGone) {
  const std::string path = folder_.File("servers/far.json");
  EXPECT_EQ(PresenceByRecord(path, "first"), Presence::kGone) << "it took its record away";
  const auto write = [&](const std::string& generation) {
    folder_.Write("servers/far.json",
                  "{\"schema_version\": 1, \"name\": \"far\", \"token\": \"" + std::string(64, 'a') +
                      "\", \"endpoints\": [{\"address\": \"127.0.0.1\", \"port\": 1}], \"generation\": \"" +
                      generation + "\"}");
    std::filesystem::permissions(path, std::filesystem::perms(0600));
    std::filesystem::permissions(folder_.File("servers"), std::filesystem::perms(0700));
  };
  write("first");
  EXPECT_EQ(PresenceByRecord(path, "first"), Presence::kUnknown);
  write("second");
  EXPECT_EQ(PresenceByRecord(path, "first"), Presence::kGone) << "a successor's";
  folder_.Write("servers/far.json", "half a rec");
  EXPECT_EQ(PresenceByRecord(path, "first"), Presence::kUnknown) << "nothing can be said";
  EXPECT_EQ(PresenceByRecord(path + "/below", "first"), Presence::kUnknown);
}

}  // namespace
}  // namespace hotplate::cli
