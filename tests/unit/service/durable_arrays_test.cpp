// Files of arrays that outlive the daemon: the owner's stay, and a guest's goes with its array.
#include "server/durable/durable_arrays.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tests/temporary_folder.h"

namespace hotplate::server {
namespace {

using std::chrono::hours;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

class DurableArraysTest : public testing::Test {
 protected:
  DurableArraysTest() {
    journal::JournalOptions options{.folder = folder_.File("journal")};
    options.life = {.generation = "g1", .name = "local", .node = "b-cn1", .slurm_job = ""};
    journal_ = *journal::Journal::Open(options);
    arrays_ = std::make_unique<DurableArrays>(
        store_, *journal_, [this](core::LogLevel, const std::string& line) { said_.push_back(line); });
  }
  // An array of a name and a lease, in a file.
  std::string Save(const std::string& token, const std::string& name) {
    const core::Principal who{token, core::SessionId("s"), core::Scope::kSubmit};
    const auto array = store_.Create(who, {DType::kFloat64, {0}}, name, hours(1), false);
    EXPECT_TRUE(array.ok()) << array.status();
    const std::string file = folder_.Write(name + ".npy", "its bytes");
    arrays_->WriteSaved(*array, file, journal::Durability::kBehind);
    return file;
  }
  void Free(const std::string& token, const std::string& name) {
    EXPECT_TRUE(store_.Free({token, core::SessionId("s"), core::Scope::kSubmit}, name).ok());
  }
  void LookAndRemove() {
    arrays_->Look();
    arrays_->RemoveGone();
  }
  static bool IsThere(const std::string& file) { return std::filesystem::exists(file); }

  const TemporaryFolder folder_;
  const core::Clock clock_;
  core::ArrayStore store_{{}, clock_};
  std::unique_ptr<journal::Journal> journal_;
  std::vector<std::string> said_;
  std::unique_ptr<DurableArrays> arrays_;
};

TEST_F(DurableArraysTest, AGuestsFileGoesWithItsArrayAndTheOwnersStays) {
  const std::string owners = Save("owner", "mine"), kept = Save("ana", "kept"), freed = Save("ana", "freed");
  Free("owner", "mine");
  Free("ana", "freed");
  LookAndRemove();
  EXPECT_TRUE(IsThere(owners));
  EXPECT_TRUE(IsThere(kept));
  EXPECT_FALSE(IsThere(freed));
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(DurableArraysTest, SoDoesOneWhoseLeaseEndedBetweenTwoDaemons) {
  const std::string owners = folder_.Write("mine.npy", "its bytes"), guests = folder_.Write("x.npy", "its bytes");
  const core::WallTime before = core::WallTime::clock::now() - hours(1);
  arrays_->Restore({{.file = owners, .name = "mine", .owner = "owner", .lease_end = before},
                    {.file = guests, .name = "x", .owner = "ana", .lease_end = before}});
  arrays_->RemoveGone();
  EXPECT_TRUE(IsThere(owners));
  EXPECT_FALSE(IsThere(guests));
  EXPECT_THAT(said_, Contains(HasSubstr("it is still in " + owners)));
  EXPECT_THAT(said_, Contains(HasSubstr("goes with its file " + guests)));
}

}  // namespace
}  // namespace hotplate::server
