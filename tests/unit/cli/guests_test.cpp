// hotplate join and hotplate token, as far as they go without a daemon.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <map>
#include <sstream>

#include "client/cli/app.h"
#include "client/cli/commands.h"
#include "tests/temporary_folder.h"

namespace hotplate::cli {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// A host's folder with records, and a guest without any.
class GuestsTest : public testing::Test {
 protected:
  GuestsTest() { EXPECT_EQ(chmod(host_.path().c_str(), 0755), 0); }

  struct Ran {
    int exit;
    std::string out, err;
  };
  Ran Hotplate(const std::vector<std::string>& words) {
    std::ostringstream out, err;
    const std::map<std::string, std::string> variables = {{"HOTPLATE_DIR", own()}, {"HOME", folder_.path()}};
    const int exit = RunHotplate(words, {out, err}, [&](const std::string& name) -> std::optional<std::string> {
      const auto found = variables.find(name);
      if (found == variables.end()) return std::nullopt;
      return found->second;
    });
    return {exit, out.str(), err.str()};
  }

  std::string own() const { return folder_.File("hotplate"); }
  std::string LinkOf(const std::string& name) const { return own() + "/servers/" + name + ".json"; }
  std::string TargetOf(const std::string& name) const {
    std::error_code error;
    return fs::read_symlink(LinkOf(name), error).string();
  }
  std::string Current() const {
    std::error_code error;
    return fs::read_symlink(own() + "/current", error).string();
  }

  std::string Record(const std::string& file, const std::string& guest, const std::string& name = "course",
                     mode_t mode = 0640) const {
    const std::string path = host_.Write(
        file, R"({"schema_version": 1, "name": ")" + name + R"(", "guest": ")" + guest + R"(", "token": ")" +
                  std::string(64, 'a') +
                  R"(", "endpoints": [{"node": "b-cn1", "address": "127.0.0.1", "port": 1}], "allocation_end_time": )" +
                  R"("2100-01-01T00:00:00Z"})");
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    EXPECT_EQ(chmod(fs::path(path).parent_path().c_str(), 0755), 0);  // whatever the umask
    return path;
  }

  TemporaryFolder folder_, host_;
};

TEST_F(GuestsTest, JoinMakesALinkAndTheDaemonTheCurrentOne) {
  const std::string record = Record("ana.json", "ana");
  const Ran joined = Hotplate({"join", record});
  EXPECT_EQ(joined.exit, 0) << joined.err;
  EXPECT_THAT(joined.out,
              AllOf(HasSubstr("you are guest \"ana\" of course"), HasSubstr("at most, when its allocation ends"),
                    HasSubstr("hotplate join --remove course")));
  EXPECT_EQ(TargetOf("course"), record);
  EXPECT_EQ(Current(), "servers/course.json");
  EXPECT_EQ(fs::status(own()).permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(own() + "/servers").permissions(), fs::perms::owner_all);
  EXPECT_THAT(Hotplate({"use"}).out, HasSubstr("* course   (you are its guest ana)"));
  EXPECT_EQ(Hotplate({"join", record}).exit, 0) << "once more";
  EXPECT_THAT(Hotplate({"join", record, "--json"}).out,
              AllOf(StartsWith(R"({"current":"course","guest":"ana","record":")"),
                    HasSubstr(R"("allocationEndTime":4102444800)")));
  EXPECT_EQ(Hotplate({"join", record, "--quiet"}).out, "course\n");
}

TEST_F(GuestsTest, ARelativePathBecomesAnAbsoluteLink) {
  const std::string record = Record("ana.json", "ana");
  const fs::path before = fs::current_path();
  fs::current_path(host_.path());
  const Ran joined = Hotplate({"join", "./ana.json"});
  fs::current_path(before);
  EXPECT_EQ(joined.exit, 0) << joined.err;
  EXPECT_TRUE(fs::path(TargetOf("course")).is_absolute()) << TargetOf("course");
  EXPECT_TRUE(fs::equivalent(LinkOf("course"), record));
}

TEST_F(GuestsTest, AnotherNameAndAnotherFile) {
  const std::string first = Record("ana.json", "ana"), second = Record("new/ana.json", "ana");
  EXPECT_EQ(Hotplate({"join", first, "--name", "gpu"}).exit, 0);
  EXPECT_EQ(TargetOf("gpu"), first);
  EXPECT_THAT(Hotplate({"join", second, "--name", "gpu"}).out, HasSubstr("led to " + first + " before"));
  EXPECT_EQ(TargetOf("gpu"), second);
  // A link to itself would lead nowhere.
  EXPECT_EQ(Hotplate({"join", LinkOf("gpu"), "--name", "gpu"}).exit, 0);
  EXPECT_EQ(TargetOf("gpu"), second);
  EXPECT_EQ(Hotplate({"join", first, "--name", "../gpu"}).exit, kExitUsage);
}

TEST_F(GuestsTest, ARecordOfThatNameThatIsNoLinkStays) {
  const std::string record = Record("ana.json", "ana");
  const std::string there = folder_.Write("hotplate/servers/course.json", "own");
  for (const std::string& folder : {own(), own() + "/servers"}) ASSERT_EQ(chmod(folder.c_str(), 0700), 0);
  const Ran refused = Hotplate({"join", record});
  EXPECT_EQ(refused.exit, kExitInvalid);
  EXPECT_THAT(refused.err, AllOf(HasSubstr(there), HasSubstr("--name OTHER")));
  EXPECT_EQ(ReadText(there), "own");
  EXPECT_EQ(Current(), "");
  const Ran kept = Hotplate({"join", "--remove", "course"});
  EXPECT_EQ(kept.exit, kExitInvalid);
  EXPECT_THAT(kept.err, HasSubstr("hotplate down course"));
  EXPECT_EQ(ReadText(there), "own");
}

TEST_F(GuestsTest, OnlyGuestsRecordsAreJoined) {
  const Ran owners = Hotplate({"join", Record("own/owner.json", "", "course", 0600)});
  EXPECT_THAT(owners.err, HasSubstr("chmod 700 ")) << "its folder is open";
  ASSERT_EQ(chmod(host_.File("own").c_str(), 0700), 0);
  const Ran refused = Hotplate({"join", host_.File("own/owner.json")});
  EXPECT_EQ(refused.exit, kExitInvalid);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("owner, not a guest's"), HasSubstr("hotplate token create --for NAME")));
  const Ran readable = Hotplate({"join", Record("all.json", "ana", "course", 0644)});
  EXPECT_EQ(readable.exit, kExitNotAllowed);
  EXPECT_THAT(readable.err, HasSubstr("chmod g-w,o= "));
  const Ran none = Hotplate({"join", host_.File("none.json")});
  EXPECT_EQ(none.exit, kExitNoDaemon);
  EXPECT_THAT(none.err, AllOf(HasSubstr("none.json"), Not(HasSubstr("hotplate up"))));
  for (const mode_t mode : {0600, 0644}) {
    const std::string file = host_.Write("x.npy", "\x93NUMPY");
    ASSERT_EQ(chmod(file.c_str(), mode), 0);
    const Ran other = Hotplate({"join", file});
    EXPECT_EQ(other.exit, kExitInvalid);
    EXPECT_THAT(other.err, HasSubstr("x.npy is not an endpoint record"));
  }
  const Ran named = Hotplate({"join", Record("b.json", "ana", "../x")});
  EXPECT_EQ(named.exit, kExitInvalid);
  EXPECT_THAT(named.err, AllOf(HasSubstr("\"../x\""), HasSubstr("--name NAME")));
  EXPECT_FALSE(fs::exists(own())) << "nothing is made for what is refused";
}

TEST_F(GuestsTest, RemoveForgetsTheLinkAlone) {
  const std::string record = Record("ana.json", "ana");
  ASSERT_EQ(Hotplate({"join", record}).exit, 0);
  EXPECT_EQ(Hotplate({"join", record, "--remove", "course"}).exit, kExitUsage);
  EXPECT_EQ(Hotplate({"join", "--remove", "course"}).exit, 0);
  EXPECT_FALSE(fs::exists(fs::symlink_status(LinkOf("course"))));
  EXPECT_EQ(Current(), "");
  EXPECT_TRUE(fs::exists(record));
  EXPECT_THAT(Hotplate({"join", "--remove", "course"}).err, HasSubstr("no daemon \"course\""));
}

TEST_F(GuestsTest, ARecordThatIsGoneForAWhile) {
  const std::string record = Record("ana.json", "ana");
  ASSERT_EQ(Hotplate({"join", record}).exit, 0);
  fs::remove(record);
  EXPECT_THAT(Hotplate({"use"}).out, HasSubstr("course   (its record is not there; forget it: hotplate join --remove"));
  EXPECT_EQ(Hotplate({"jobs"}).exit, kExitNoDaemon);
  EXPECT_EQ(Hotplate({"use", "course"}).exit, 0);
  Record("ana.json", "ana");
  EXPECT_THAT(Hotplate({"use"}).out, HasSubstr("* course   (you are its guest ana)"));
  fs::remove(record);
  EXPECT_EQ(Hotplate({"join", "--remove", "course"}).exit, 0);
}

TEST_F(GuestsTest, WordsOfTokens) {
  const std::vector<std::string> good = {"token", "create", "--for", "ana", "--scope", "submit", "-o", "ana.json"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), good.begin(), good.end());
    return Hotplate(more);
  };
  EXPECT_EQ(Hotplate(good).exit, kExitNoDaemon);
  for (const char* const scope : {"code", "admin"})
    EXPECT_EQ(with({"--scope", scope, "--full-account"}).exit, kExitNoDaemon);
  EXPECT_THAT(Hotplate({"token", "list", "--full-account"}).err, HasSubstr("for token create, not for token list"));
  EXPECT_EQ(with({"--expires", "2h", "--quota-bytes", "2GB", "--max-jobs", "3", "--devices", "gpu0,gpu1", "--path-root",
                  ".", "--reader", "ana"})
                .exit,
            kExitNoDaemon);
  for (const auto& [more, said] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--scope", "code"}, "a shell on it, and its bounds are bounds against mistakes alone"},
           {{"--scope", "admin"}, "add --full-account"},
           {{"--full-account"}, "for --scope code and admin alone"},
           {{"--scope", "all"}, "\"all\" is not a scope"},
           {{"--expires", "soon"}, "\"soon\" is not a duration"},
           {{"--expires", "0s"}, "must be more than 0"},
           {{"--quota-bytes", "much"}, "\"much\" is not a size"},
           {{"--quota-bytes", "0"}, "\"0\" is not a size"},
           {{"--max-jobs", "0"}, "\"0\" is not a whole number"},
           {{"--devices", "gpu0,"}, "a device's name is empty"},
           {{"--reader", "a:rwx,u:b"}, "is not the name of one user"},
           {{"bob"}, "value of --for"}}) {
    const Ran ran = with(more);
    EXPECT_EQ(ran.exit, kExitUsage) << Join(more, " ");
    EXPECT_THAT(ran.err, HasSubstr(said));
  }
  for (const auto& [words, said] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"create", "--scope", "submit", "-o", "x"}, "--for NAME is missing"},
           {{"create", "--for", "ana", "-o", "x"}, "--scope is missing"},
           {{"create", "--for", "ana", "--scope", "submit"}, "-o FILE is missing"},
           {{"revoke"}, "NAME is missing"},
           {{"list", "ana"}, "\"ana\" is one word too many"},
           {{"list", "--max-jobs", "3"}, "--max-jobs is for token create, not for token list"},
           {{"make"}, "give create, list or revoke NAME"}}) {
    std::vector<std::string> all = words;
    all.insert(all.begin(), "token");
    const Ran ran = Hotplate(all);
    EXPECT_EQ(ran.exit, kExitUsage) << Join(all, " ");
    EXPECT_THAT(ran.err, HasSubstr(said));
  }
}

}  // namespace
}  // namespace hotplate::cli
