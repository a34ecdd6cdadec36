// Older indexes are brought up to date, newer ones and other programs' databases are left alone.
#include "server/journal/schema.h"

#include "server/journal/database.h"
#include "tests/unit/journal/journal_fixture.h"

namespace hotplate::journal {
namespace {

using ::testing::HasSubstr;

class SchemaTest : public JournalTest {
 protected:
  std::unique_ptr<SQLite::Database> Database() { return OpenDatabase({.path = folder_.File("db.sqlite")}).value(); }
  // Of a journal that was closed.
  void Change(const std::string& statements) {
    SQLite::Database database(folder_.File("journal/index-1.sqlite"), SQLite::OPEN_READWRITE);
    database.exec(statements);
  }
};

constexpr const char* kOld = "CREATE TABLE jobs(number INTEGER PRIMARY KEY, kernel TEXT)";
constexpr const char* kAddLabel =
    "ALTER TABLE jobs ADD COLUMN label TEXT NOT NULL DEFAULT ''; UPDATE jobs SET label='of '||kernel";

TEST_F(SchemaTest, AnEmptyFileIsVersion0) {
  const std::unique_ptr<SQLite::Database> database = Database();
  EXPECT_TRUE(CheckOurs(*database).ok());
  EXPECT_TRUE(Migrate(*database).ok());
  EXPECT_EQ(database->execAndGet("PRAGMA user_version").getInt(), SchemaVersion());
  EXPECT_TRUE(database->tableExists("jobs"));
  EXPECT_TRUE(Migrate(*database).ok());
}

TEST_F(SchemaTest, EachStepRunsOnceAndKeepsTheRows) {
  const std::unique_ptr<SQLite::Database> database = Database();
  const std::array first = {kOld};
  ASSERT_TRUE(Migrate(*database, first).ok());
  database->exec("INSERT INTO jobs VALUES(1, 'axpy')");
  const std::array both = {kOld, kAddLabel};
  ASSERT_TRUE(CheckOurs(*database, both).ok());
  ASSERT_TRUE(Migrate(*database, both).ok());
  EXPECT_EQ(database->execAndGet("SELECT label FROM jobs").getString(), "of axpy");
  EXPECT_EQ(database->execAndGet("PRAGMA user_version").getInt(), 2);
}

TEST_F(SchemaTest, AJournalOfVersion1IsBroughtUpToDate) {
  const std::unique_ptr<SQLite::Database> database = Database();
  ASSERT_TRUE(Migrate(*database, Steps().first(1)).ok());
  database->exec(
      "INSERT INTO jobs(number, epoch, state, attached, may_rerun, owner, session, request_key, payload_hash, kernel,"
      " label, priority, accept_ns, device, device_ns) VALUES(1,1,1,0,1,'me','','',x'','axpy','',0,5,NULL,NULL),"
      " (2,1,3,0,1,'me','','',x'','axpy','',0,5,'gpu0',70), (3,1,3,0,1,'me','','',x'','axpy','',0,5,'cpu0',70)");
  ASSERT_TRUE(CheckOurs(*database).ok());
  ASSERT_TRUE(Migrate(*database).ok());
  EXPECT_EQ(database->execAndGet("SELECT kernel FROM jobs WHERE cancel_ns IS NULL AND number=1").getString(), "axpy");
  EXPECT_EQ(database->execAndGet("SELECT gpu_ns FROM jobs WHERE number=1").getInt(), 0);
  EXPECT_EQ(database->execAndGet("SELECT gpu_ns FROM jobs WHERE number=2").getInt(), 70);
  EXPECT_EQ(database->execAndGet("SELECT gpu_ns FROM jobs WHERE number=3").getInt(), 0);
  EXPECT_EQ(database->execAndGet("PRAGMA user_version").getInt(), SchemaVersion());
}

// A draft of the journal, from before versions were counted: our mark, version 0, and a table in the way.
TEST_F(SchemaTest, AFailedMigrationChangesNothing) {
  const std::unique_ptr<SQLite::Database> database = Database();
  database->exec("CREATE TABLE sums(x); INSERT INTO sums VALUES(5)");
  database->exec("PRAGMA application_id=" + std::to_string(kApplicationId));
  EXPECT_TRUE(CheckOurs(*database).ok());
  EXPECT_FALSE(Migrate(*database).ok());
  EXPECT_EQ(database->execAndGet("SELECT x FROM sums").getInt(), 5);
  EXPECT_FALSE(database->tableExists("jobs"));
  EXPECT_EQ(database->execAndGet("PRAGMA user_version").getInt(), 0);
}

TEST_F(SchemaTest, ANewerJournalIsLeftAlone) {
  ASSERT_TRUE(Open()->Close("").ok());
  Change("PRAGMA user_version=1000");
  const std::string before = ReadText(folder_.File("journal/index-1.sqlite"));
  const absl::Status refusal = Journal::Open(Options("g2")).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refusal));
  EXPECT_THAT(std::string(refusal.message()), HasSubstr("version 1000, by a newer hotplated"));
  EXPECT_EQ(ReadText(folder_.File("journal/index-1.sqlite")), before);
  // Nor is it in anybody's way.
  Change("PRAGMA user_version=" + std::to_string(SchemaVersion()));
  EXPECT_TRUE(Journal::Open(Options("g3")).ok());
}

TEST_F(SchemaTest, AnotherProgramsDatabaseIsLeftAlone) {
  ASSERT_TRUE(Open()->Close("").ok());
  Change("PRAGMA application_id=5");
  EXPECT_THAT(std::string(Journal::Open(Options("g2")).status().message()), HasSubstr("not a journal"));
}

TEST_F(SchemaTest, AFileThatIsNoDatabaseIsDataLoss) {
  ASSERT_TRUE(Open()->Close("").ok());
  WriteText(folder_.File("journal/index-1.sqlite"), std::string(8192, 'x'));
  const absl::Status refusal = Journal::Open(Options("g2")).status();
  EXPECT_TRUE(absl::IsDataLoss(refusal)) << refusal;
  EXPECT_THAT(std::string(refusal.message()), HasSubstr("index-1.sqlite"));
}

}  // namespace
}  // namespace hotplate::journal
