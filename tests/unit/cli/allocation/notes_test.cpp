// The client's notes of allocations, and what is said of an allocation that has no daemon.
#include "client/cli/allocation/notes.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <ctime>
#include <filesystem>

#include "client/cli/allocation/text.h"
#include "tests/temporary_folder.h"

namespace hotplate::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

AllocationNote Note(const std::string& name, const std::string& job, EpochSeconds submitted) {
  return {.name = name,
          .site = "hpc2n",
          .job = {job, "kebnekaise"},
          .output_file = "/home/ada/.hotplate/logs/slurm-" + job + ".out",
          .request = {"--site", "hpc2n", "--gpus=2", "--", "--threads", "8"},
          .gpus = 2,
          .submit_time = submitted};
}

class Notes : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_.File("allocations/" + name + ".json"); }
  const TemporaryFolder folder_;
  const std::string& directory_ = folder_.path();
};

TEST_F(Notes, ANoteComesBackAsItWas) {
  ASSERT_TRUE(PrepareNotes(directory_).ok());
  ASSERT_TRUE(WriteNote(directory_, Note("hpc2n-7", "7", 1'000)).ok());
  struct stat info;
  ASSERT_EQ(stat(Path("hpc2n-7").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  const auto note = ReadNote(directory_, "hpc2n-7");
  ASSERT_TRUE(note);
  EXPECT_EQ(note->job.id, "7");
  EXPECT_EQ(note->job.cluster, "kebnekaise");
  EXPECT_EQ(note->site, "hpc2n");
  EXPECT_THAT(note->request, ElementsAre("--site", "hpc2n", "--gpus=2", "--", "--threads", "8"));
  EXPECT_EQ(note->gpus, 2);
  EXPECT_EQ(note->submit_time, 1'000);
  EXPECT_FALSE(note->attached);
  EXPECT_FALSE(note->over());

  NoteTheEnd(directory_, *note, {.state = "TIMEOUT", .end = 2'000});
  EXPECT_EQ(ReadNote(directory_, "hpc2n-7")->end_state, "TIMEOUT");
  EXPECT_EQ(ReadNote(directory_, "hpc2n-7")->end_time, 2'000);
  RemoveNote(directory_, "hpc2n-7");
  EXPECT_FALSE(ReadNote(directory_, "hpc2n-7"));
}

TEST_F(Notes, WhatCannotBeTrustedIsNoNote) {
  ASSERT_TRUE(WriteNote(directory_, Note("mine", "7", 1'000)).ok());
  const std::string good = ReadText(Path("mine"));
  ASSERT_EQ(chmod(Path("mine").c_str(), 0666), 0);
  EXPECT_FALSE(ReadNote(directory_, "mine")) << "others could have written it";
  ASSERT_EQ(chmod(Path("mine").c_str(), 0600), 0);
  EXPECT_TRUE(ReadNote(directory_, "mine"));
  const auto reads = [&](const std::string& text) {
    WriteText(Path("mine"), text);
    return ReadNote(directory_, "mine").has_value();
  };
  EXPECT_FALSE(reads(""));
  EXPECT_FALSE(reads("{"));
  EXPECT_FALSE(reads("[]"));
  EXPECT_FALSE(reads(std::string(100'000, ' ') + good));
  const auto with = [&](const std::string& old_text, const std::string& new_text) {
    std::string text = good;
    return text.replace(text.find(old_text), old_text.size(), new_text);
  };
  EXPECT_FALSE(reads(with("\"7\"", "\"--me\""))) << "it becomes a word of scancel";
  EXPECT_FALSE(reads(with("\"kebnekaise\"", "\"a b\"")));
  EXPECT_FALSE(reads(with("\"mine\"", "\"other\"")));
  EXPECT_FALSE(reads(with("\"schema_version\":1", "\"schema_version\":2")));
  EXPECT_TRUE(reads(good));
  EXPECT_FALSE(ReadNote(directory_, "../allocations/mine"));
}

TEST_F(Notes, TheLatestFirstAndNotTooManyOfThoseThatAreOver) {
  for (int i = 1; i <= 14; ++i) {
    AllocationNote note = Note(std::string("n").append(std::to_string(i)), std::to_string(i), i);
    if (i != 2) note.end_state = "COMPLETED";
    ASSERT_TRUE(WriteNote(directory_, note).ok());
  }
  std::vector<std::string> names;
  for (const AllocationNote& note : ReadNotes(directory_)) names.push_back(note.name);
  EXPECT_THAT(names, ElementsAre("n14", "n13", "n12", "n11", "n10", "n9", "n8", "n7", "n6", "n5", "n2"));
}

TEST_F(Notes, WhichOneTheSettingsLeadTo) {
  EXPECT_FALSE(NoteFor({.directory = directory_}));
  AllocationNote over = Note("over", "1", 300);
  over.end_state = "TIMEOUT";
  ASSERT_TRUE(WriteNote(directory_, over).ok());
  EXPECT_EQ(NoteFor({.directory = directory_})->name, "over");
  ASSERT_TRUE(WriteNote(directory_, Note("waits", "2", 100)).ok());
  EXPECT_EQ(NoteFor({.directory = directory_})->name, "waits") << "the one that is not over";
  EXPECT_EQ(NoteFor({.directory = directory_, .server = "over"})->name, "over");
  EXPECT_FALSE(NoteFor({.directory = directory_, .server = "local"}));
  // A daemon that is there comes first, whoever started it.
  folder_.Write("servers/local.json", "{}");
  EXPECT_FALSE(NoteFor({.directory = directory_}));
}

TEST_F(Notes, WhatIsOverDoesNotHideWhatWaits) {
  AllocationNote old = Note("old", "1", 100);
  folder_.Write("servers/old.json", "{}");
  std::filesystem::create_symlink("servers/old.json", folder_.File("current"));
  ASSERT_TRUE(WriteNote(directory_, old).ok());
  ASSERT_TRUE(WriteNote(directory_, Note("waits", "2", 200)).ok());
  EXPECT_EQ(NoteFor({.directory = directory_})->name, "old");
  old.end_state = "NODE_FAIL";
  ASSERT_TRUE(WriteNote(directory_, old).ok());
  EXPECT_EQ(NoteFor({.directory = directory_})->name, "waits");
  EXPECT_EQ(NoteFor({.directory = directory_, .server = "old"})->name, "old");
  // Its daemon left its record behind: it is not the current one any more.
  NoteTheEnd(directory_, Note("old", "1", 100), {.state = "NODE_FAIL"});
  EXPECT_FALSE(std::filesystem::is_symlink(folder_.File("current")));
  std::filesystem::create_symlink("servers/gone.json", folder_.File("current"));
  EXPECT_EQ(NoteFor({.directory = directory_})->name, "waits") << "current leads nowhere";
}

TEST_F(Notes, TheRecordOfAJob) {
  const auto publish = [&](const std::string& name, const std::string& job, const std::string& cluster) {
    const std::string path =
        folder_.Write("servers/" + name + ".json",
                      R"({"schema_version":1,"name":")" + name + R"(","slurm_job_id":")" + job + R"(","cluster":")" +
                          cluster + R"(","endpoints":[{"node":"n","address":"10.0.0.1","port":4000}],"token":")" +
                          std::string(64, 'a') + "\"}");
    ASSERT_EQ(chmod(path.c_str(), 0600), 0);
    ASSERT_EQ(chmod(folder_.File("servers").c_str(), 0700), 0);
  };
  AllocationNote note = Note("mine", "7", 1);
  note.job.home = "kebnekaise";
  EXPECT_FALSE(RecordedName(directory_, note));
  publish("mine", "6", "kebnekaise");
  EXPECT_FALSE(RecordedName(directory_, note)) << "another job's";
  publish("other", "7", "snowy");
  EXPECT_FALSE(RecordedName(directory_, note)) << "another cluster's";
  publish("other", "7", "kebnekaise");
  EXPECT_EQ(RecordedName(directory_, note), "other");
  publish("mine", "7", "kebnekaise");
  EXPECT_EQ(RecordedName(directory_, note), "mine");
  // Daemons know nothing of LSF's jobs; and what cannot be read may be the daemon's.
  publish("mine", "", "");
  note.scheduler = SchedulerKind::kLsf;
  EXPECT_EQ(RecordedName(directory_, note), "mine");
  note.scheduler = SchedulerKind::kSlurm;
  WriteText(folder_.File("servers/mine.json"), "{");
  EXPECT_EQ(RecordedName(directory_, note), "mine");
}

TEST_F(Notes, AFolderThatCannotBeWrittenIsSaidBeforeAnythingIsSubmitted) {
  folder_.Write("allocations", "a file where the folder should be");
  const absl::Status status = PrepareNotes(directory_);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("HOTPLATE_DIR"));
}

TEST(AllocationText, StatesAndEnds) {
  EXPECT_EQ(StateText({"7", ""}, {.phase = JobStatus::Phase::kPending, .state = "PENDING", .reason = "Priority"}),
            "job 7  PENDING  (Priority)");
  EXPECT_THAT(StateText({"7", ""}, {.phase = JobStatus::Phase::kPending, .state = "PENDING", .start = 1'000}),
              HasSubstr("estimated start "));
  EXPECT_EQ(
      StateText({"7", ""}, {.phase = JobStatus::Phase::kRunning, .state = "RUNNING", .nodes = "gpu1", .start = 1'000}),
      "job 7  RUNNING  on gpu1");
  AllocationNote note = Note("hpc2n-7", "7", 1);
  note.end_state = "TIMEOUT";
  note.end_time = std::time(nullptr);
  EXPECT_EQ(EndText(note), "hpc2n-7 ended at " + TimeText(*note.end_time) + " (job 7: TIMEOUT, its time limit)");
  note.end_state = "UNKNOWN";
  note.end_time.reset();
  EXPECT_EQ(EndText(note), "hpc2n-7 is over (job 7 is not known any more)");
}

TEST(AllocationText, DevicesByKind) {
  v1::GetServerInfoResponse info;
  for (int i = 0; i < 2; ++i) {
    v1::Device& device = *info.add_devices();
    device.set_backend("cuda");
    device.set_name("NVIDIA L40S");
    device.set_memory_bytes(48'000'000'000);
  }
  EXPECT_EQ(DevicesText(info), "2 × NVIDIA L40S 48.0 GB");
  v1::Device& cpu = *info.add_devices();
  cpu.set_backend("cpu");
  cpu.set_id("cpu0");
  cpu.set_name("Xeon");
  EXPECT_EQ(DevicesText(info), "2 × NVIDIA L40S 48.0 GB, cpu0 Xeon");
}

TEST(AllocationText, WhoChoseTheCpuMissesNoGpu) {
  EXPECT_TRUE(ChoseCpu({"--gpus", "1", "--", "--device", "cpu"}));
  EXPECT_TRUE(ChoseCpu({"--device=cpu", "--threads", "4"}));
  EXPECT_FALSE(ChoseCpu({}));
  EXPECT_FALSE(ChoseCpu({"--device"}));
  EXPECT_FALSE(ChoseCpu({"--device", "cuda"}));
  EXPECT_FALSE(ChoseCpu({"--device=cpu", "--device", "all"})) << "the last one counts";
}

TEST(AllocationText, GpusThatAreMissing) {
  v1::GetServerInfoResponse info;
  EXPECT_EQ(MissingGpusText(0, info), "");
  EXPECT_EQ(MissingGpusText(1, info), "1 GPU was asked for, and none can be used; why: hotplate logs");
  info.add_device_notes("threads: 4 of the 8 that could be used here: Slurm gave 4 CPUs (SLURM_CPUS_ON_NODE)");
  info.add_device_notes("memory: 4.0 GiB of the 8.0 GiB that could be used here: so much Slurm gave");
  EXPECT_EQ(MissingGpusText(1, info), "1 GPU was asked for, and none can be used; why: hotplate logs")
      << "what the CPU has less of is no reason";
  info.add_devices()->set_backend("cpu");
  info.add_device_notes("gpu1 is not used: it is in use by another process");
  v1::Device& gpu = *info.add_devices();
  gpu.set_backend("cuda");
  gpu.set_id("gpu0");
  EXPECT_EQ(UsableGpus(info), 1);
  EXPECT_EQ(MissingGpusText(1, info), "");
  EXPECT_EQ(MissingGpusText(2, info),
            "2 GPUs were asked for, and 1 can be used:\n  gpu1 is not used: it is in use by another process");
  gpu.set_lost("an illegal address");
  EXPECT_THAT(MissingGpusText(2, info), HasSubstr("and none can be used:\n  gpu0 is lost: an illegal address\n  gpu1"));
}

}  // namespace
}  // namespace hotplate::cli
