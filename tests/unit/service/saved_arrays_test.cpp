// Arrays that outlive the daemon.
#include "server/saved/saved_arrays.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <cstring>

#include "kernels/array/npy.h"
#include "server/config.h"
#include "tests/temporary_folder.h"

namespace hotplate::server {
namespace {

using core::ArrayStore;
using std::chrono::hours;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::chrono::hours kLong{1};

core::SteadyTime In(core::nanoseconds time) { return std::chrono::steady_clock::now() + time; }

class SavedArraysTest : public testing::Test {
 protected:
  // An array of n float64, all of them `value`; complete, or lacking its last byte.
  core::ArrayId Put(const std::string& name, std::int64_t n, double value, std::optional<core::nanoseconds> lease,
                    bool complete = true, const std::string& token = "owner") {
    const core::Principal owner{token, core::SessionId("s"), core::Scope::kSubmit};
    const auto array = store_.Create(owner, {DType::kFloat64, {n}}, name, lease, false);
    EXPECT_TRUE(array.ok()) << array.status();
    if (n == 0) return array->id;  // there is nothing to write
    auto writer = store_.OpenWriter(owner, array->id.value(), 0);
    EXPECT_TRUE(writer.ok()) << writer.status();
    const std::span<std::byte> bytes = (*writer)->remaining();
    for (std::size_t i = 0; i < bytes.size(); i += sizeof value) std::memcpy(bytes.data() + i, &value, sizeof value);
    (*writer)->Advance(bytes.size() - (complete ? 0 : 1));
    return array->id;
  }
  ArraySaver Saver(const std::string& generation = "g1") {
    return {store_,
            {.folder = scratch_,
             .generation = generation,
             .bounds = bounds_,
             .log = [this](const SavedArrays::One& one) { told_.push_back(one.name); },
             .dropped =
                 [this](const std::string& file, const std::string& why) {
                   dropped_.push_back(std::filesystem::path(file).filename().string() + ": " + why);
                 }}};
  }
  SavedArrays SaveAll(const std::string& generation = "g1") {
    ArraySaver saver = Saver(generation);
    saver.Start(In(kLong));
    SavedArrays saved = saver.Finish();
    why_not_dropped_ = saver.DropOld();
    return saved;
  }
  double FirstOf(const std::string& file) {
    auto opened = NpyFile::Open(file);
    const auto* npy = std::get_if<NpyFile>(&opened);
    if (npy == nullptr) return -1;
    std::vector<double> values(static_cast<std::size_t>(npy->signature().shape[0]));
    EXPECT_FALSE(npy->Read(std::as_writable_bytes(std::span(values))));
    return values.front();
  }

  TemporaryFolder folder_;
  const std::string scratch_ = folder_.path() + "/deep/saved/fake-17";
  const core::Clock clock_;
  ArrayStore store_{{}, clock_};
  SavedBounds bounds_;
  std::vector<std::string> told_, dropped_;
  std::string why_not_dropped_;
};

TEST_F(SavedArraysTest, ThoseUnderALeaseInFilesThatOnlyTheUserReads) {
  const core::ArrayId a = Put("A", 1000, 1.5, hours(1));
  const core::ArrayId unnamed = Put("", 10, 2.5, hours(1));
  const core::ArrayId sessions = Put("mine", 10, 3.5, std::nullopt);
  Put("half", 10, 4.5, hours(1), /*complete=*/false);
  const mode_t old = umask(077);  // as the daemon's
  const SavedArrays saved = SaveAll();
  umask(old);
  EXPECT_TRUE(saved.Has(a));
  EXPECT_TRUE(saved.Has(unnamed));
  EXPECT_FALSE(saved.Has(sessions));
  EXPECT_THAT(told_, ElementsAre(unnamed.value(), "A")) << "the smallest first";
  EXPECT_EQ(FirstOf(scratch_ + "/A.npy"), 1.5);
  EXPECT_EQ(FirstOf(scratch_ + "/" + unnamed.value() + ".npy"), 2.5);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(scratch_), {}), 3) << "both, and the mark";
  struct stat facts {};
  ASSERT_EQ(stat((scratch_ + "/A.npy").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0600u);
  ASSERT_EQ(stat(scratch_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0700u);
}

TEST_F(SavedArraysTest, NothingToSaveLeavesNoFolder) {
  Put("mine", 10, 1, std::nullopt);
  EXPECT_THAT(SaveAll().all, IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(scratch_));
}

TEST_F(SavedArraysTest, ThoseThatComeMeanwhileAreSavedAtTheEnd) {
  Put("early", 10, 1, hours(1));
  ArraySaver saver = Saver();
  EXPECT_FALSE(saver.started());
  saver.Start(In(kLong));
  EXPECT_TRUE(saver.started());
  Put("late", 10, 2, hours(1));
  EXPECT_EQ(saver.Finish().all.size(), 2u);
  EXPECT_EQ(FirstOf(scratch_ + "/early.npy"), 1);
  EXPECT_EQ(FirstOf(scratch_ + "/late.npy"), 2);
}

TEST_F(SavedArraysTest, ANameReplacesItsOldFileAndAnIdDoesNot) {
  const core::ArrayId id = Put("", 10, 1, hours(1));
  Put("A", 10, 1, hours(1));
  folder_.Write("deep/saved/fake-17/A.npy", "older");
  folder_.Write("deep/saved/fake-17/" + id.value() + ".npy", "another daemon's");
  SaveAll("g7");
  EXPECT_EQ(FirstOf(scratch_ + "/A.npy"), 1);
  EXPECT_EQ(ReadText(scratch_ + "/" + id.value() + ".npy"), "another daemon's");
  EXPECT_EQ(FirstOf(scratch_ + "/" + id.value() + ".g7.npy"), 1);
}

// The guest's, which is smaller, used to be saved first and as A.npy, whatever the owner had there.
TEST_F(SavedArraysTest, AGuestsFileIsInThePlaceOfNobodyElses) {
  Put("A", 20, 1, hours(1));
  const core::ArrayId guests = Put("A", 10, 2, hours(1), true, "ana");
  const core::ArrayId unnamed = Put("", 10, 3, hours(1), true, "ana");
  folder_.Write("deep/saved/fake-17/A.npy", "older");
  EXPECT_EQ(SaveAll().all.size(), 3u);
  EXPECT_EQ(FirstOf(scratch_ + "/A.npy"), 1);
  EXPECT_EQ(FirstOf(scratch_ + "/A." + guests.value() + "@ana.npy"), 2);
  EXPECT_EQ(FirstOf(scratch_ + "/" + unnamed.value() + "@ana.npy"), 3);
}

TEST_F(SavedArraysTest, AGuestsFileIsInThePlaceOfNobodyElsesAlsoWhileTheDaemonGoesOn) {
  const core::ArrayId owners = Put("A", 20, 1, hours(1)), guests = Put("A", 10, 2, hours(1), true, "ana");
  ArraySaver saver = Saver();
  const auto save = [&](const core::ArrayId& id) {
    return saver.SaveNow(*store_.Describe(core::Everybody(), id.value()));
  };
  EXPECT_EQ(save(owners).value(), scratch_ + "/A.npy");
  EXPECT_EQ(save(guests).value(), scratch_ + "/A." + guests.value() + "@ana.npy");
  EXPECT_EQ(FirstOf(scratch_ + "/A.npy"), 1);
}

TEST_F(SavedArraysTest, WithoutTimeNothingIsBegunAndAllIsNamed) {
  const core::ArrayId a = Put("A", 10, 1, hours(1));
  ArraySaver saver = Saver();
  saver.Start(In(core::nanoseconds(0)));
  const SavedArrays saved = saver.Finish();
  ASSERT_EQ(saved.all.size(), 1u);
  EXPECT_FALSE(saved.Has(a));
  EXPECT_THAT(saved.all[0].why_not, HasSubstr("no time"));
  EXPECT_FALSE(std::filesystem::exists(scratch_));
}

TEST_F(SavedArraysTest, TimeIsTakenAwayButNotGiven) {
  ArraySaver saver = Saver();
  saver.Start(In(kLong));
  saver.Shorten(In(core::nanoseconds(0)));
  saver.Shorten(In(kLong));
  Put("late", 10, 1, hours(1));
  const SavedArrays saved = saver.Finish();
  ASSERT_EQ(saved.all.size(), 1u);
  EXPECT_EQ(saved.all[0].file, "");
}

TEST_F(SavedArraysTest, AFolderThatCannotBeMadeIsNamed) {
  Put("A", 10, 1, hours(1));
  folder_.Write("deep", "a file");
  const SavedArrays saved = SaveAll();
  ASSERT_EQ(saved.all.size(), 1u);
  EXPECT_THAT(saved.all[0].why_not, AllOf(HasSubstr(folder_.path() + "/deep"), HasSubstr("--scratch")));
}

TEST_F(SavedArraysTest, AFolderThatOthersWriteToIsNotUsed) {
  Put("A", 10, 1, hours(1));
  std::filesystem::create_directories(scratch_);
  ASSERT_EQ(chmod(scratch_.c_str(), 0777), 0);
  const SavedArrays saved = SaveAll();
  ASSERT_EQ(saved.all.size(), 1u);
  EXPECT_THAT(saved.all[0].why_not, AllOf(HasSubstr(scratch_), HasSubstr("others may write")));
}

TEST_F(SavedArraysTest, DaemonsThatEndTogetherMakeTheFoldersTogether) {
  Put("A", 10, 1, hours(1));
  for (int round = 0; round < 20; ++round) {
    const std::string deep = folder_.path() + "/" + std::to_string(round) + "/b/c/d/";
    std::vector<std::unique_ptr<ArraySaver>> savers;
    for (int i = 0; i < 6; ++i) {
      savers.push_back(std::make_unique<ArraySaver>(
          store_, ArraySaver::Options{.folder = deep + std::to_string(i), .generation = "g"}));
    }
    for (const auto& saver : savers) saver->Start(In(kLong));
    for (const auto& saver : savers) EXPECT_EQ(saver->Finish().all.at(0).why_not, "");
  }
}

TEST_F(SavedArraysTest, WhoLeavesAtOnceHearsWhatIsNotSavedYet) {
  Put("A", 10, 1, hours(1));
  Put("B", 20, 1, hours(1));
  Put("C", 30, 1, hours(1));
  ArraySaver* self = nullptr;
  std::vector<std::vector<std::string>> left;
  ArraySaver saver(store_, {.folder = scratch_, .generation = "g1", .log = [&](const SavedArrays::One&) {
                              left.push_back(self->Abandon());
                            }});
  self = &saver;
  saver.Start(In(kLong));
  EXPECT_EQ(saver.Finish().all.size(), 3u);
  EXPECT_THAT(left, ElementsAre(ElementsAre("B", "C"), ElementsAre("C"), IsEmpty()));
}

TEST_F(SavedArraysTest, PartialFilesOfTheDeadAreRemoved) {
  Put("A", 10, 1, hours(1));
  const auto old = std::filesystem::file_time_type::clock::now() - hours(2);
  for (const char* name : {".X.npy.0123456789abcdef.part", ".Y.npy.0123456789abcdef.part", "Z.npy", ".other"}) {
    folder_.Write(std::string("deep/saved/fake-17/") + name, "some");
    if (name[1] != 'Y') std::filesystem::last_write_time(scratch_ + "/" + name, old);
  }
  std::filesystem::create_symlink(scratch_ + "/Z.npy", scratch_ + "/.link.npy.0123456789abcdef.part");
  SaveAll();
  EXPECT_TRUE(std::filesystem::is_symlink(scratch_ + "/.link.npy.0123456789abcdef.part")) << "no file of a daemon";
  EXPECT_FALSE(std::filesystem::exists(scratch_ + "/.X.npy.0123456789abcdef.part"));
  EXPECT_TRUE(std::filesystem::exists(scratch_ + "/.Y.npy.0123456789abcdef.part")) << "may be written just now";
  EXPECT_TRUE(std::filesystem::exists(scratch_ + "/Z.npy"));
  EXPECT_TRUE(std::filesystem::exists(scratch_ + "/.other"));
}

TEST_F(SavedArraysTest, HavingFinishedIsHavingStarted) {
  ArraySaver saver = Saver();
  saver.Start(In(kLong));
  saver.Finish();
  EXPECT_TRUE(saver.started()) << "or it would be started again";
}

TEST_F(SavedArraysTest, AFolderOfTheUsersOwnGetsNoMark) {
  const std::string own = folder_.path() + "/own", made = folder_.path() + "/deeper/made";
  ASSERT_EQ(mkdir(own.c_str(), 0700), 0);
  EXPECT_EQ(MakeSavedFolder(own), "");
  EXPECT_FALSE(std::filesystem::exists(own + "/" + kSavedMark));
  EXPECT_EQ(MakeSavedFolder(made), "");
  EXPECT_THAT(ReadText(made + "/" + kSavedMark), HasSubstr("--saved-bytes"));
}

TEST_F(SavedArraysTest, AMarkThatCannotBeWrittenIsSaid) {
  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  const rlimit none{0, old.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &none);
  const std::string why_not = MakeSavedFolder(scratch_);
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(why_not, AllOf(HasSubstr(scratch_ + "/" + kSavedMark), HasSubstr("too large"), HasSubstr("--scratch")));
}

// What other daemons saved: name, age in hours, bytes.
class OldSavedTest : public SavedArraysTest {
 protected:
  std::string Old(const std::string& file, int age, std::size_t bytes = 100, bool marked = true) {
    const std::string path = folder_.Write("deep/saved/" + file, std::string(bytes, 'x'));
    if (marked) folder_.Write("deep/saved/" + file.substr(0, file.find('/')) + "/" + kSavedMark, "");
    std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - hours(age));
    return path;
  }
  static bool Exists(const std::string& path) { return std::filesystem::exists(path); }
};

TEST_F(OldSavedTest, ThoseThatAreTooOldGo) {
  bounds_.age = hours(48);
  const std::string old = Old("fake-1/a.npy", 49), young = Old("fake-1/b.npy", 47), mine = Old("fake-17/A.npy", 50);
  const std::string text = Old("fake-1/notes.txt", 49), others = Old("not-ours/c.npy", 49, 100, /*marked=*/false);
  const std::string target = folder_.Write("target.npy", "data");
  std::filesystem::create_symlink(target, scratch_ + "/../fake-1/link.npy");
  SaveAll();
  EXPECT_THAT(dropped_,
              ElementsAre("A.npy: older than 2 days (--saved-age)", "a.npy: older than 2 days (--saved-age)"));
  EXPECT_FALSE(Exists(old));
  EXPECT_FALSE(Exists(mine));
  for (const std::string& path : {young, text, others, target}) EXPECT_TRUE(Exists(path)) << path;
}

TEST_F(OldSavedTest, TheOldestGoUntilThoseOfMoreThanADayAreWithinTheBound) {
  bounds_.bytes = 1000;
  const std::string oldest = Old("fake-1/a.npy", 50, 500), middle = Old("fake-2/b.npy", 49, 400);
  const std::string youngest = Old("fake-1/c.npy", 25, 100);
  SaveAll();
  EXPECT_THAT(dropped_, IsEmpty());
  const std::string another = Old("fake-3/d.npy", 26, 100);
  SaveAll();
  EXPECT_THAT(dropped_, ElementsAre(AllOf(HasSubstr("a.npy: the oldest of more than 1.0 kB"),
                                          HasSubstr("over a day ago"), HasSubstr("(--saved-bytes)"))));
  EXPECT_FALSE(Exists(oldest));
  for (const std::string& path : {middle, youngest, another}) EXPECT_TRUE(Exists(path)) << path;
}

// Daemons of one allocation share a scratch folder, and end together.
TEST_F(OldSavedTest, WhatAnotherDaemonHasJustSavedStays) {
  bounds_.bytes = 10;
  const std::string yesterdays = Old("fake-1/a.npy", 23, 300);
  Put("A", 50, 1, hours(1));
  std::vector<std::unique_ptr<ArraySaver>> savers;
  for (const char* name : {"fake-17-gpu1", "fake-17-gpu2", "fake-17-gpu3"}) {
    savers.push_back(std::make_unique<ArraySaver>(
        store_,
        ArraySaver::Options{.folder = folder_.path() + "/deep/saved/" + name, .generation = "g", .bounds = bounds_}));
    savers.back()->Start(In(kLong));
    EXPECT_EQ(savers.back()->Finish().all.size(), 1u);
  }
  for (const auto& saver : savers) EXPECT_EQ(saver->DropOld(), "");
  for (const char* name : {"fake-17-gpu1", "fake-17-gpu2", "fake-17-gpu3"}) {
    EXPECT_EQ(FirstOf(folder_.path() + "/deep/saved/" + name + "/A.npy"), 1);
  }
  EXPECT_TRUE(Exists(yesterdays));
}

// Dropping others could not bring it under the bound.
TEST_F(OldSavedTest, WhatIsSparedIsNotMadeUpForByOthers) {
  bounds_.bytes = 350;
  const std::string old = Old("fake-1/a.npy", 30, 300), young = Old("fake-2/b.npy", 1, 1000);
  Put("A", 50, 1, hours(1));
  SaveAll();
  EXPECT_THAT(dropped_, IsEmpty());
  EXPECT_TRUE(Exists(old));
  EXPECT_TRUE(Exists(young));
}

// The default: a home that is nearly full is not filled.
TEST_F(OldSavedTest, HalfOfTheRoomIsLeft) {
  bounds_.bytes = kHalfOfTheRoom;
  const std::string old = Old("fake-1/a.npy", 50, 500);
  Put("A", 50, 1, hours(1));
  EXPECT_NE(SaveAll().all[0].file, "") << "there is room for it";
  EXPECT_TRUE(Exists(old)) << "and for this one";
}

TEST_F(OldSavedTest, WhatThisRunSavesStaysHoweverMuchItIs) {
  bounds_ = {std::chrono::nanoseconds(1), 10};
  Old("fake-1/a.npy", 1);
  Put("A", 50, 1, hours(1));
  ArraySaver saver = Saver();
  saver.Start(In(kLong));
  Put("late", 50, 2, hours(1));
  EXPECT_EQ(saver.Finish().all.size(), 2u);
  EXPECT_THAT(dropped_, IsEmpty()) << "what was saved is known before anything else is looked at";
  EXPECT_EQ(saver.DropOld(), "");
  EXPECT_EQ(dropped_.size(), 1u) << "an age that is less than a day is the user's wish";
  EXPECT_EQ(FirstOf(scratch_ + "/A.npy"), 1);
  EXPECT_EQ(FirstOf(scratch_ + "/late.npy"), 2);
}

TEST_F(OldSavedTest, WhereOthersRenameWhatIsThereNothingGoes) {
  bounds_.age = hours(48);
  const std::string old = Old("fake-1/a.npy", 49), root = folder_.path() + "/deep/saved";
  ASSERT_EQ(chmod(root.c_str(), 0777), 0);
  SaveAll();
  EXPECT_TRUE(Exists(old));
  EXPECT_THAT(why_not_dropped_, AllOf(HasSubstr(root), HasSubstr("others may write"), HasSubstr("--scratch")));
  ASSERT_EQ(chmod(root.c_str(), 01777), 0);
  SaveAll();
  EXPECT_FALSE(Exists(old));
  EXPECT_EQ(why_not_dropped_, "");
}

TEST_F(OldSavedTest, LinksAreNotFollowed) {
  bounds_.age = hours(48);
  const std::string elsewhere = folder_.Write("elsewhere/a.npy", "data");
  folder_.Write(std::string("elsewhere/") + kSavedMark, "");
  std::filesystem::last_write_time(elsewhere, std::filesystem::file_time_type::clock::now() - hours(49));
  const std::string marked = Old("fake-2/b.npy", 49, 100, /*marked=*/false);
  std::filesystem::create_directory_symlink(folder_.path() + "/elsewhere", folder_.path() + "/deep/saved/fake-1");
  std::filesystem::create_symlink(folder_.path() + "/elsewhere/" + kSavedMark,
                                  folder_.path() + "/deep/saved/fake-2/" + kSavedMark);
  SaveAll();
  EXPECT_TRUE(Exists(elsewhere));
  EXPECT_TRUE(Exists(marked)) << "a mark is no link";
}

TEST_F(OldSavedTest, TheClockIsLookedAtWhileFilesAre) {
  for (const char folder : {'1', '2'}) {
    for (const char file : {'a', 'b', 'c', 'd', 'e'})
      Old(std::string("fake-") + folder + "/." + file + ".npy.0.part", 2);
  }
  const std::string root = folder_.path() + "/deep/saved";
  const auto left = [&] {
    int count = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      count += entry.path().extension() == ".part" ? 1 : 0;
    }
    return count;
  };
  int asked = 0;
  const auto dropped = [](const std::string&, const std::string&) {};
  EXPECT_EQ(DropOldSaved(root, bounds_, {}, dropped, [&] { return ++asked > 15; }), "");
  EXPECT_EQ(left(), 10) << "the list alone takes that long";
  EXPECT_LE(asked, 20);
  EXPECT_EQ(DropOldSaved(root, bounds_, {}, dropped, [&] { return left() < 8; }), "");
  EXPECT_EQ(left(), 7);
}

TEST_F(OldSavedTest, WithoutTimeAndWithoutBoundsNothingGoes) {
  const std::string old = Old("fake-1/a.npy", 10'000);
  SaveAll();
  EXPECT_TRUE(Exists(old));
  bounds_ = {hours(1), 1};
  ArraySaver saver = Saver();
  saver.Start(In(core::nanoseconds(0)));
  saver.Finish();
  saver.DropOld();
  EXPECT_TRUE(Exists(old));
}

TEST_F(OldSavedTest, AFolderThatIsEmptyForLongGoes) {
  const std::string saved = folder_.path() + "/deep/saved/";
  const auto age = [&](const std::string& path) {
    std::filesystem::last_write_time(saved + path, std::filesystem::file_time_type::clock::now() - hours(2));
  };
  for (const char* name : {"fake-1", "fake-3", "fake-4", "fake-5"}) Old(std::string(name) + "/" + kSavedMark, 2);
  Old("fake-2/a.npy", 2);
  for (const char* name : {"fake-1", "fake-2", "fake-4", "fake-5"}) age(name);
  folder_.Write(std::string("deep/saved/fake-4/") + kSavedMark, "");
  EXPECT_EQ(MakeSavedFolder(saved + "fake-5"), "");
  SaveAll();
  EXPECT_FALSE(Exists(saved + "fake-1"));
  EXPECT_TRUE(Exists(saved + "fake-2"));
  EXPECT_TRUE(Exists(saved + "fake-3")) << "may be somebody's who is about to save";
  EXPECT_TRUE(Exists(saved + "fake-4")) << "as this one, by the mark";
  EXPECT_TRUE(Exists(saved + "fake-5")) << "as this one, whose mark was renewed";
}

TEST_F(SavedArraysTest, AnEmptyArrayIsAnArrayToo) {
  Put("empty", 0, 1, hours(1));
  EXPECT_EQ(SaveAll().all.size(), 1u);
  EXPECT_TRUE(std::filesystem::exists(scratch_ + "/empty.npy"));
}

}  // namespace
}  // namespace hotplate::server
