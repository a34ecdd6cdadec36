#include "server/audit_log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <memory>
#include <thread>

#include "kernels/base/descriptor.h"
#include "kernels/base/mutex.h"
#include "kernels/base/status.h"
#include "tests/temporary_folder.h"
#include "tests/unit/service/audit_lines.h"

namespace hotplate::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;
using testing::Pair;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class AuditLogTest : public testing::Test {
 protected:
  AuditLogTest() {
    options_.file = folder_.File("local.jsonl");
    options_.generation = "g1";
    options_.now = [this] { return AuditLog::Time(std::chrono::milliseconds(milliseconds_.load())); };
    options_.warn = [this](const std::string& line) {
      MutexLock lock(mutex_);
      warnings_.push_back(line);
      warned_.NotifyAll();
    };
  }

  void Start() {
    auto log = AuditLog::Open(options_);
    ASSERT_TRUE(log.ok()) << log.status();
    log_ = *std::move(log);
  }
  // All that is due is in the file afterwards.
  std::vector<AuditLine> Written(AuditLog::Sums which = AuditLog::Sums::kWhenDue) {
    log_->Write(which);
    return AuditLines(ReadText(options_.file));
  }
  void PassMinute() { milliseconds_ += 60'000; }
  static long long CountIn(const std::vector<AuditLine>& lines) {
    long long count = 0;
    for (const AuditLine& line : lines) count += line.contains("count") ? std::stoll(line.at("count")) : 1;
    return count;
  }
  // Once there is one: the log's thread may be about to.
  std::vector<std::string> Warnings() {
    MutexLock lock(mutex_);
    while (warnings_.empty()) warned_.Wait(mutex_);
    return warnings_;
  }

  const TemporaryFolder folder_;
  std::atomic<std::int64_t> milliseconds_{1'790'000'000'123};
  Mutex mutex_;
  CondVar warned_;
  std::vector<std::string> warnings_ ABSL_GUARDED_BY(mutex_);
  AuditLog::Options options_;
  std::unique_ptr<AuditLog> log_;
};

TEST_F(AuditLogTest, AnActIsALine) {
  Start();
  log_->Note({"submit", "anna", "10.1.2.3", "17", "matmul"});
  log_->Note({"cancel", "ben", "::1", "17", "", absl::NotFoundError("there is no job 17")});
  EXPECT_THAT(Written(),
              ElementsAre(UnorderedElementsAre(Pair("time", "2026-09-21T14:13:20.123Z"), Pair("generation", "g1"),
                                               Pair("token", "anna"), Pair("peer", "10.1.2.3"), Pair("act", "submit"),
                                               Pair("object", "17"), Pair("name", "matmul"), Pair("result", "OK")),
                          UnorderedElementsAre(Pair("time", "2026-09-21T14:13:20.123Z"), Pair("generation", "g1"),
                                               Pair("token", "ben"), Pair("peer", "::1"), Pair("act", "cancel"),
                                               Pair("object", "17"), Pair("result", "NOT_FOUND"),
                                               Pair("why", "there is no job 17"))));
}

TEST_F(AuditLogTest, TheFileIsItsOwnersAlone) {
  Start();
  struct stat facts {};
  ASSERT_EQ(stat(options_.file.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0600u);
  log_.reset();
  ASSERT_EQ(chmod(options_.file.c_str(), 0644), 0);
  const absl::Status open = AuditLog::Open(options_).status();
  EXPECT_TRUE(absl::IsPermissionDenied(open)) << open;
  EXPECT_THAT(std::string(open.message()), HasSubstr("chmod 600 " + options_.file));
  options_.file = folder_.path();
  EXPECT_FALSE(AuditLog::Open(options_).ok()) << "a folder";
  options_.file = folder_.File("link");
  ASSERT_EQ(symlink("target", options_.file.c_str()), 0);
  EXPECT_FALSE(AuditLog::Open(options_).ok());
  EXPECT_FALSE(std::filesystem::exists(folder_.File("target")));
  options_.file = "/dev/full";
  EXPECT_FALSE(AuditLog::Open(options_).ok());
}

TEST_F(AuditLogTest, OthersCannotReplaceTheFile) {
  const std::string shared = folder_.File("shared");
  std::filesystem::create_directory(shared);
  options_.file = shared + "/local.jsonl";
  ASSERT_EQ(chmod(shared.c_str(), 0770), 0);
  const absl::Status open = AuditLog::Open(options_).status();
  EXPECT_TRUE(absl::IsPermissionDenied(open)) << open;
  EXPECT_THAT(std::string(open.message()), HasSubstr("chmod go-w " + shared));
  EXPECT_FALSE(std::filesystem::exists(options_.file));
  ASSERT_EQ(chmod(shared.c_str(), 01777), 0);  // as /tmp
  EXPECT_TRUE(AuditLog::Open(options_).ok());
}

TEST_F(AuditLogTest, CountedActsAreALineAMinute) {
  Start();
  for (int i = 0; i < 1000; ++i) log_->Count({"run", "anna", "10.1.2.3", "", "selu"});
  milliseconds_ += 1'000;
  for (int i = 0; i < 3; ++i)
    log_->Count({"run", "anna", "10.1.2.3", "", "selu", absl::ResourceExhaustedError("number " + std::to_string(i))});
  log_->Count({"run", "ben", "10.1.2.3", "", "selu"});
  EXPECT_THAT(Written(), IsEmpty());
  PassMinute();
  const std::vector<AuditLine> lines = Written();
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_EQ(lines[0].at("count"), "1000");
  EXPECT_EQ(lines[0].at("since"), "2026-09-21T14:13:20.123Z");
  EXPECT_EQ(lines[0].at("time"), "2026-09-21T14:14:21.123Z");
  EXPECT_EQ(lines[1].at("count"), "3");
  EXPECT_EQ(lines[1].at("result"), "RESOURCE_EXHAUSTED");
  EXPECT_EQ(lines[1].at("why"), "number 0");
  EXPECT_EQ(lines[2].at("token"), "ben");
  log_->Count({"run", "anna", "10.1.2.3", "", "selu"});
  EXPECT_THAT(Written(), SizeIs(3));
  log_.reset();
  EXPECT_THAT(AuditLines(ReadText(options_.file)), SizeIs(4)) << "what is left is written at the end";
}

// Else a guest could push all that it did before out of the file in no time.
TEST_F(AuditLogTest, WhoeverActsTooOftenIsSummedAndOthersAreNot) {
  Start();
  constexpr int kActs = 1000;
  for (int i = 0; i < kActs; ++i) log_->Note({"submit", "guest", "10.1.2.3", std::to_string(i), "selu"});
  for (int i = 0; i < kActs; ++i) log_->Count({"run", "guest", "10.1.2.3", "", "no-kernel-" + std::to_string(i)});
  log_->Note({"cancel", "owner", "127.0.0.1", "7"});
  const std::vector<AuditLine> lines = Written(AuditLog::Sums::kAll);
  EXPECT_EQ(LinesWith(lines, "token", "guest").size(), AuditLog::kLinesOfToken + 2);
  EXPECT_EQ(CountIn(LinesWith(lines, "act", "submit")), kActs);
  EXPECT_EQ(CountIn(LinesWith(lines, "act", "run")), kActs);
  EXPECT_THAT(LinesWith(LinesWith(lines, "token", "owner"), "object", "7"), SizeIs(1));
  PassMinute();
  Written();
  log_->Note({"submit", "guest", "10.1.2.3", "the next", "selu"});
  EXPECT_EQ(Written().back().at("object"), "the next");
}

TEST_F(AuditLogTest, AtItsBoundTheFileBeginsAnewAndOneOldOneStays) {
  options_.bytes = 2000;
  Start();
  for (int i = 0; i < 100; ++i) {
    log_->Note({"free", "owner", "127.0.0.1", "a" + std::to_string(i)});
    log_->Write(AuditLog::Sums::kWhenDue);
  }
  EXPECT_THAT(folder_.Names(), UnorderedElementsAre("local.jsonl", "local.jsonl.1"));
  const std::string now = ReadText(options_.file), old = ReadText(options_.file + ".1");
  EXPECT_LE(now.size(), options_.bytes);
  EXPECT_LE(old.size(), options_.bytes);
  EXPECT_EQ(AuditLines(now).back().at("object"), "a99");
  const std::vector<AuditLine> all = AuditLines(old + now);
  for (std::size_t i = 0; i < all.size(); ++i)
    EXPECT_EQ(all[i].at("object"), "a" + std::to_string(100 - all.size() + i)) << "none is missing between";
}

// Else both rename it, and the second one's new file takes the place of all that was before.
TEST_F(AuditLogTest, TwoDaemonsThatBeginAFileAnewLoseNothing) {
  options_.bytes = 2000;
  Start();
  const std::unique_ptr<AuditLog> second = AuditLog::Open(options_).value();
  for (int round = 0; round < 200; ++round) {
    WriteText(options_.file, "{\"object\":\"" + std::string(1950, 'x') + "\"}\n");
    log_->Note({"free", "owner", "127.0.0.1", "first"});
    second->Note({"free", "owner", "127.0.0.1", "second"});
    std::thread other([&] { second->Write(AuditLog::Sums::kWhenDue); });
    log_->Write(AuditLog::Sums::kWhenDue);
    other.join();
    const std::vector<AuditLine> lines = AuditLines(ReadText(options_.file + ".1") + ReadText(options_.file));
    ASSERT_THAT(lines, SizeIs(3)) << "round " << round;
  }
}

TEST_F(AuditLogTest, ItGoesOnInAFileThatWasMovedAway) {
  Start();
  log_->Note({"drain", "owner"});
  Written();
  std::filesystem::rename(options_.file, folder_.File("kept"));
  log_->Note({"shutdown", "owner"});
  EXPECT_THAT(Written(), SizeIs(1));
}

TEST_F(AuditLogTest, HalfALineOfAKilledDaemonSpoilsNoOther) {
  WriteText(options_.file, "{\"time\":\"2026-");
  ASSERT_EQ(chmod(options_.file.c_str(), 0600), 0);
  Start();
  log_->Note({"drain", "owner"});
  log_->Write(AuditLog::Sums::kWhenDue);
  const std::string text = ReadText(options_.file);
  EXPECT_EQ(AuditLines(text.substr(text.find('\n') + 1)).back().at("act"), "drain");
}

TEST_F(AuditLogTest, WhoeverSendsWrongTokensIsKnownByTheCertificate) {
  Start();
  const absl::Status wrong = absl::UnauthenticatedError("wrong");
  for (int i = 0; i < 1000; ++i) log_->Count({"refused", "", "10.1.2.3", std::to_string(i), "", wrong, "ana"});
  log_->Count({"refused", "", "10.1.2.3", "Jobs.List", "", wrong, "ben"});
  const std::vector<AuditLine> lines = Written(AuditLog::Sums::kAll);
  EXPECT_EQ(CountIn(LinesWith(lines, "certificate", "ana")), 1000);
  EXPECT_EQ(LinesWith(lines, "certificate", "ana").size(), AuditLog::kLinesOfToken + 1);
  EXPECT_THAT(LinesWith(LinesWith(lines, "certificate", "ben"), "object", "Jobs.List"), SizeIs(1));
}

TEST_F(AuditLogTest, LinesForWhichThereIsNoRoomAreCounted) {
  options_.pending_bytes = 100;  // less than a line
  Start();
  for (int i = 0; i < 3; ++i) log_->Note({"free", "guest", "127.0.0.1", "a1"});
  log_->Note({"free", "owner", "127.0.0.1", "a2"});
  log_->Note({"token.expire", "", "", "ana"});
  const std::vector<AuditLine> lines = Written();
  EXPECT_EQ(CountIn(LinesWith(lines, "act", "lost")), 3);
  EXPECT_THAT(LinesWith(lines, "token", "guest"), IsEmpty());
  EXPECT_THAT(LinesWith(lines, "object", "a2"), SizeIs(1)) << "the owner's";
  EXPECT_THAT(LinesWith(lines, "object", "ana"), SizeIs(1)) << "the daemon's own";
}

TEST_F(AuditLogTest, NobodyTakesTheRoomOfOthersWhileTheDiskStalls) {
  Start();
  {
    Descriptor stalled(open(options_.file.c_str(), O_RDWR | O_CLOEXEC));
    ASSERT_EQ(flock(stalled.get(), LOCK_EX), 0);  // as another daemon that does not come to an end
    const std::string longest(200, '"');
    for (int i = 0; i < 1000; ++i) log_->Note({"put", "guest", "127.0.0.1", longest, longest});
    for (int i = 0; i < 1000; ++i) log_->Count({"run", "guest", "127.0.0.1", "", "kernel-" + std::to_string(i)});
    log_->Note({"cancel", "ben", "127.0.0.1", "7"});
  }
  const std::vector<AuditLine> lines = Written(AuditLog::Sums::kAll);
  EXPECT_THAT(LinesWith(lines, "token", "ben"), SizeIs(1));
  EXPECT_THAT(LinesWith(lines, "act", "lost"), IsEmpty());
}

// Strangers have no name, as the daemon itself.
TEST_F(AuditLogTest, StrangersBlankNothingOfTheDaemonsOwn) {
  Start();
  for (int i = 0; i < 1000; ++i)
    log_->Count({"refused", "", "10.1.2." + std::to_string(i), "Jobs.List", "", absl::UnauthenticatedError("wrong")});
  log_->Note({"token.expire", "", "", "ana"});
  EXPECT_THAT(LinesWith(Written(AuditLog::Sums::kAll), "act", "token.expire"), SizeIs(1));
  EXPECT_EQ(LinesWith(Written(), "object", "ana").size(), 1u);
}

// No file may grow beyond its present size while this lives: writing fails as on a full disk.
class FullDisk {
 public:
  explicit FullDisk(const std::string& file) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit full = before_;
    full.rlim_cur = std::filesystem::file_size(file) + 10;  // a part of a line goes in
    setrlimit(RLIMIT_FSIZE, &full);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*const handler_)(int);
  rlimit before_{};
};

TEST_F(AuditLogTest, AFullDiskCostsLinesAndOneWarning) {
  Start();
  log_->Note({"submit", "owner", "", "before"});
  Written();
  {
    const FullDisk full(options_.file);
    for (const char* id : {"first", "second", "third"}) {
      log_->Note({"submit", "owner", "", id});
      log_->Write(AuditLog::Sums::kWhenDue);
    }
  }
  EXPECT_THAT(Warnings(), ElementsAre(HasSubstr(options_.file + " cannot be written")));
  log_->Note({"submit", "owner", "", "after"});
  const std::vector<AuditLine> lines = Written();
  EXPECT_EQ(CountIn(LinesWith(lines, "act", "lost")), 3);
  const std::vector<AuditLine> kept = LinesWith(lines, "act", "submit");
  ASSERT_THAT(kept, SizeIs(2));
  EXPECT_EQ(kept[0].at("object"), "before");
  EXPECT_EQ(kept[1].at("object"), "after");
}

TEST_F(AuditLogTest, WhatClientsSayIsOneVisibleLineWithoutSecrets) {
  Start();
  const std::string secret(64, 'f');
  log_->Note({"cancel", "owner", "", secret, "name " + secret, absl::NotFoundError(ToAbsl("no job " + secret))});
  log_->Count({"run", "owner", "", "", secret, absl::InvalidArgumentError(ToAbsl(secret))});
  log_->Note({"cancel", "owner", "", "a\n{\"act\":\"drain\"}\x1b[2J\xff", std::string(100'000, 'x')});
  const std::vector<AuditLine> lines = Written(AuditLog::Sums::kAll);
  const std::string text = ReadText(options_.file);
  EXPECT_THAT(text, Not(HasSubstr("ffffffff")));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_EQ(lines[0].at("object"), "[...]");
  EXPECT_THAT(lines[1].at("object"), MatchesRegex("a .\"act\":\"drain\". .2J ?"));
  EXPECT_LT(lines[1].at("name").size(), 300u);
  for (const std::size_t before : {4070, 4090})
    log_->Note({"cancel", "owner", "", std::string(before, 'x') + secret + std::string(100, 'y')});
  Written();
  EXPECT_THAT(ReadText(options_.file), Not(HasSubstr("xf")));
}

}  // namespace
}  // namespace hotplate::server
