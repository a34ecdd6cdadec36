// `up` on a cluster, and what follows from it, with programs in PATH that answer as Slurm's do: every command as people
// type it, without a cluster.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <sstream>

#include "client/cli/allocation/notes.h"
#include "client/cli/app.h"
#include "client/cli/ending.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"
#include "tests/temporary_folder.h"

namespace hotplate::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ClusterUpTest : public testing::Test {
 protected:
  struct Ran {
    int exit;
    std::string out, err;
  };

  ClusterUpTest() {
    Program("hotplated", "exit 0");
    Program("scontrol", "echo 'ClusterName             = fake'");
    Program("scancel", "echo \"$@\" >> cancelled");
    Program("sacct", "echo 'Slurm accounting storage is disabled' >&2; exit 1");
    Sbatch("", "");
    Squeue("PENDING|1795292833|1795293133||ada|Priority");
  }

  void Program(const std::string& name, const std::string& body) {
    const std::string path = folder_.Write("bin/" + name, "#!/bin/sh\ncd " + folder_.path() + "\n" + body + "\n");
    ASSERT_EQ(chmod(path.c_str(), 0755), 0);
  }
  // What sbatch says where it refuses: with --test-only, and without.
  void Sbatch(const std::string& test_refusal, const std::string& refusal) {
    const auto branch = [](const std::string& words) {
      return words.empty() ? std::string(":") : "echo '" + words + "' >&2; exit 1";
    };
    Program("sbatch", "case \"$*\" in *--test-only*) " + branch(test_refusal) + ";; *) " + branch(refusal) +
                          "; cat > submitted; echo 41 >> submissions; echo 41;; esac");
  }
  // Ada runs this test.
  static std::string OfThisUser(std::string line) {
    const std::size_t at = line.find("|ada|");
    return at == std::string::npos ? line : line.replace(at, 5, "|" + UserNumber() + "|");
  }
  // As if its daemon were there, and nobody listens.
  void Publish(const std::string& name) {
    folder_.Write("hotplate/servers/" + name + ".json",
                  R"({"schema_version":1,"name":")" + name +
                      R"(","slurm_job_id":"41","pid":1,"endpoints":[{"node":"gpu1","address":"127.0.0.1","port":1}],)"
                      R"("token":")" +
                      std::string(64, 'a') + "\"}");
    ASSERT_EQ(chmod(folder_.File("hotplate/servers").c_str(), 0700), 0);
    ASSERT_EQ(chmod(folder_.File("hotplate/servers/" + name + ".json").c_str(), 0600), 0);
  }
  // The job's line without its id; empty: squeue does not know it.
  void Squeue(const std::string& line) {
    if (line.empty())
      Program("squeue", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1");
    else
      Program("squeue", "echo '41|" + OfThisUser(line) + "'");
  }

  Ran Hotplate(const std::vector<std::string>& words) {
    std::ostringstream out, err;
    std::map<std::string, std::string> variables = variables_;
    variables.insert({{"HOTPLATE_DIR", Directory()}, {"HOME", folder_.path()}, {"PATH", folder_.File("bin")}});
    const int exit = RunHotplate(words, {out, err}, [&](const std::string& name) -> std::optional<std::string> {
      const auto found = variables.find(name);
      if (found == variables.end()) return std::nullopt;
      return found->second;
    });
    return {exit, out.str(), err.str()};
  }
  std::string Directory() const { return folder_.File("hotplate"); }
  bool Exists(const std::string& name) const { return access(folder_.File(name).c_str(), F_OK) == 0; }
  static std::string Field(const std::string& json, const std::string& key) {
    google::protobuf::Struct all;
    EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(json, &all).ok()) << json;
    return all.fields().count(key) > 0 ? all.fields().at(key).string_value() : "";
  }

  const TemporaryFolder folder_;
  std::map<std::string, std::string> variables_;  // besides
};

TEST_F(ClusterUpTest, DryRunPrintsExactlyWhatIsSubmitted) {
  const Ran dry = Hotplate({"up", "--gpus", "2", "--time", "30m", "--dry-run", "--", "--threads", "8"});
  EXPECT_EQ(dry.exit, kExitOk) << dry.err;
  EXPECT_THAT(dry.out,
              AllOf(HasSubstr("#!/bin/bash"), HasSubstr("#SBATCH"), HasSubstr("--threads"), HasSubstr("exec")));
  EXPECT_FALSE(Exists("submitted"));
  const Ran real = Hotplate({"up", "--gpus", "2", "--time", "30m", "--detach", "--", "--threads", "8"});
  EXPECT_EQ(real.exit, kExitOk) << real.err;
  EXPECT_EQ(ReadText(folder_.File("submitted")), dry.out);
}

TEST_F(ClusterUpTest, DetachTellsTheJobAndKeepsANote) {
  const Ran ran = Hotplate({"up", "--account", "abc2026-42", "--gpus", "2", "--detach", "--json"});
  ASSERT_EQ(ran.exit, kExitOk) << ran.err;
  EXPECT_EQ(Field(ran.out, "name"), "fake-41");
  EXPECT_EQ(Field(ran.out, "jobId"), "41");
  EXPECT_EQ(Field(ran.out, "state"), "PENDING");
  EXPECT_THAT(Field(ran.out, "output"), HasSubstr("41"));
  const auto note = ReadNote(Directory(), "fake-41");
  ASSERT_TRUE(note);
  EXPECT_EQ(note->job.id, "41");
  EXPECT_EQ(note->gpus, 2);

  EXPECT_EQ(note->job.home, "fake") << "a number alone may be another cluster's";

  // The commands that follow.
  const Ran status = Hotplate({"status"});
  EXPECT_THAT(status.out, HasSubstr("give it up: hotplate down fake-41")) << "another one may be current";
  EXPECT_EQ(status.exit, kExitNoDaemon);
  EXPECT_THAT(status.out, AllOf(HasSubstr("fake-41  PENDING"), HasSubstr("(Priority)"), HasSubstr("estimated start")));
  EXPECT_EQ(Field(Hotplate({"status", "--json"}).out, "state"), "PENDING");
  const Ran jobs = Hotplate({"jobs"});
  EXPECT_EQ(jobs.exit, kExitNoDaemon);
  EXPECT_THAT(jobs.err, AllOf(HasSubstr("fake-41 has no daemon yet"), HasSubstr("hotplate up --name fake-41")));
  EXPECT_THAT(Hotplate({"use"}).out, HasSubstr("fake-41   (job 41, no daemon"));
  EXPECT_THAT(Hotplate({"use", "fake-41"}).err, HasSubstr("has no daemon yet"));
  EXPECT_THAT(Hotplate({"logs"}).err, HasSubstr("has written nothing yet"));

  const Ran down = Hotplate({"down"});
  EXPECT_EQ(down.exit, kExitOk) << down.err;
  EXPECT_THAT(down.out, HasSubstr("job 41 cancelled before it started"));
  EXPECT_EQ(ReadText(folder_.File("cancelled")), "41\n") << "this job alone";
  EXPECT_THAT(Hotplate({"jobs"}).err,
              AllOf(HasSubstr("fake-41 ended"), HasSubstr("hotplate up --again"), Not(HasSubstr("scancel"))));
  EXPECT_EQ(Hotplate({"down"}).exit, kExitNoDaemon);
  EXPECT_EQ(ReadText(folder_.File("cancelled")), "41\n");
}

TEST_F(ClusterUpTest, WhatSlurmRefusesIsSaidInItsWordsAndNotSubmitted) {
  Sbatch("allocation failure: Invalid feature specification", "");
  const Ran ran = Hotplate({"up", "--detach"});
  EXPECT_EQ(ran.exit, kExitScheduler);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("allocation failure: Invalid feature specification"), HasSubstr("sinfo")));
  EXPECT_FALSE(Exists("submitted"));
  Sbatch("", "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit)");
  const Ran limit = Hotplate({"up", "--detach"});
  EXPECT_EQ(limit.exit, kExitScheduler);
  EXPECT_THAT(limit.err, AllOf(HasSubstr("accounting/QOS policy"), HasSubstr("squeue --me")));
  EXPECT_TRUE(ReadNotes(Directory()).empty());
}

TEST_F(ClusterUpTest, WhatTheCheckDoubtsIsLeftToSlurm) {
  Sbatch("allocation failure: Requested node configuration is not available", "");
  const Ran ran = Hotplate({"up", "--detach"});
  EXPECT_EQ(ran.exit, kExitOk) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("! sbatch --test-only: allocation failure: Requested node configuration"));
  EXPECT_TRUE(Exists("submitted"));
}

TEST_F(ClusterUpTest, TheVariablesOfSbatchDoNotOverruleTheScript) {
  Program("sbatch",
          "env | grep ^SBATCH_ > variables; case \"$*\" in *--test-only*) :;; *) cat > submitted; "
          "echo 'sbatch: project has used 98 % of its hours' >&2; echo 41;; esac");
  for (const char* name : {"SBATCH_ARRAY_INX", "SBATCH_TIMELIMIT", "SBATCH_QOS", "SBATCH_ACCOUNT"}) {
    variables_[name] = "7";
    setenv(name, "7", 1);
  }
  const Ran ran = Hotplate({"up", "--time", "30m", "--detach"});
  for (const char* name : {"SBATCH_ARRAY_INX", "SBATCH_TIMELIMIT", "SBATCH_QOS", "SBATCH_ACCOUNT"}) unsetenv(name);
  ASSERT_EQ(ran.exit, kExitOk) << ran.err;
  EXPECT_EQ(ReadText(folder_.File("variables")), "SBATCH_QOS=7\n") << "the script says nothing of a QOS";
  EXPECT_THAT(ReadText(folder_.File("submitted")), HasSubstr("#SBATCH --account=7\n"));
  EXPECT_THAT(ran.err, AllOf(HasSubstr("! SBATCH_TIMELIMIT=7 is ignored: the script decides"),
                             HasSubstr("! SBATCH_ARRAY_INX=7"), HasSubstr("! --account 7, as SBATCH_ACCOUNT says"),
                             HasSubstr("! sbatch: project has used 98 % of its hours")));
}

TEST_F(ClusterUpTest, TheDeviceOfTheEnvironmentCountsAsOneThatWasChosen) {
  variables_["HOTPLATE_DEVICE"] = "cpu";
  const Ran there = Hotplate({"up", "--gpus", "1", "--dry-run"});
  EXPECT_THAT(there.out, AllOf(HasSubstr(" --device cpu\n"), Not(HasSubstr("--require-cuda"))));
  EXPECT_THAT(there.err, HasSubstr("! --device cpu: HOTPLATE_DEVICE says so"));
  const Ran given = Hotplate({"up", "--gpus", "1", "--dry-run", "--", "--device", "cuda"});
  EXPECT_THAT(given.out, AllOf(HasSubstr(" --device cuda\n"), Not(HasSubstr("--device cpu"))));
  EXPECT_THAT(given.err, Not(HasSubstr("HOTPLATE_DEVICE")));
}

TEST_F(ClusterUpTest, WithoutSlurmItAsksWhere) {
  std::filesystem::remove(folder_.File("bin/sbatch"));
  const Ran ran = Hotplate({"up"});
  EXPECT_EQ(ran.exit, kExitUsage);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("--local"), HasSubstr("--site")));
}

TEST_F(ClusterUpTest, AJobThatEndsBeforeItsDaemonIsReadyShowsWhatItPrinted) {
  Squeue("FAILED|1795292533|1795292534|gpu1|ada|NonZeroExitCode");
  folder_.Write("hotplate/logs/slurm-41.out", "Lmod has detected the following error: no module CUDA/12.1.1\n");
  const Ran ran = Hotplate({"up"});
  EXPECT_EQ(ran.exit, kExitNoDaemon);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("job 41  FAILED"), HasSubstr("no module CUDA/12.1.1"), HasSubstr("slurm-41.out"),
                             HasSubstr("hotplate up --again")));
  EXPECT_THAT(Hotplate({"logs"}).out, HasSubstr("no module CUDA/12.1.1"));
  EXPECT_EQ(ReadNote(Directory(), "fake-41")->end_state, "FAILED");
}

TEST_F(ClusterUpTest, AJobThatSlurmEndsBeforeItRan) {
  Squeue("FAILED|1795292533|1795292533||ada|BadConstraints");
  const Ran ran = Hotplate({"up"});
  EXPECT_EQ(ran.exit, kExitScheduler);
  EXPECT_THAT(ran.err, HasSubstr("BadConstraints"));
}

TEST_F(ClusterUpTest, AgainAsksForTheSame) {
  ASSERT_EQ(Hotplate({"up", "--gpus", "3", "--time", "25m", "--detach", "--", "--threads", "8"}).exit, kExitOk);
  const std::string first = ReadText(folder_.File("submitted"));
  Squeue("");
  EXPECT_EQ(Hotplate({"status"}).exit, kExitNoDaemon);
  EXPECT_EQ(Hotplate({"up", "--again", "--detach"}).exit, kExitOk);
  EXPECT_EQ(ReadText(folder_.File("submitted")), first);
  const Ran longer = Hotplate({"up", "--again", "--time", "50m", "--dry-run"});
  EXPECT_THAT(longer.out,
              AllOf(HasSubstr("00:50:00"), Not(HasSubstr("00:25:00")), HasSubstr("gpu:3"), HasSubstr("--threads")));
  const Ran other = Hotplate({"up", "--again", "--dry-run", "--", "--lanes", "2"});
  EXPECT_THAT(other.out, AllOf(HasSubstr("--lanes"), Not(HasSubstr("--threads"))));
}

TEST_F(ClusterUpTest, AgainMeansTheOneWhoseNameTheEnvironmentHas) {
  variables_["HOTPLATE_NAME"] = "mine";
  ASSERT_EQ(Hotplate({"up", "--gpus", "3", "--detach"}).exit, kExitOk);
  variables_.clear();
  ASSERT_EQ(Hotplate({"up", "--name", "other", "--gpus", "2", "--detach"}).exit, kExitOk);
  variables_["HOTPLATE_NAME"] = "mine";
  EXPECT_THAT(Hotplate({"up", "--again", "--dry-run"}).out, AllOf(HasSubstr("gpu:3"), HasSubstr("mine")));
  variables_["HOTPLATE_NAME"] = "nobody";
  EXPECT_THAT(Hotplate({"up", "--again", "--dry-run"}).err, HasSubstr("no allocation 'nobody' of before"));
  variables_.clear();
  EXPECT_THAT(Hotplate({"up", "--again", "--name", "mine", "--dry-run"}).out, HasSubstr("gpu:3"));
}

TEST_F(ClusterUpTest, AgainKeepsANameOfTheEnvironment) {
  variables_["HOTPLATE_NAME"] = "mine";
  ASSERT_EQ(Hotplate({"up", "--detach"}).exit, kExitOk);
  variables_.clear();
  EXPECT_THAT(Hotplate({"up", "--again", "--dry-run"}).out, HasSubstr("--name mine"));
}

TEST_F(ClusterUpTest, OneThatWaitsIsNotSubmittedTwice) {
  ASSERT_EQ(Hotplate({"up", "--name", "mine", "--detach"}).exit, kExitOk);
  const Ran again = Hotplate({"up", "--name", "mine", "--timeout", "200ms"});
  EXPECT_EQ(again.exit, kExitNoDaemon) << again.err;
  EXPECT_THAT(again.err, AllOf(HasSubstr("mine is not ready yet"), HasSubstr("PENDING")));
  EXPECT_EQ(ReadText(folder_.File("submissions")), "41\n");
}

TEST_F(ClusterUpTest, ADaemonThatDoesNotAnswerIsNotCancelledWithoutBeingAsked) {
  ASSERT_EQ(Hotplate({"up", "--name", "mine", "--detach"}).exit, kExitOk);
  Squeue("RUNNING|1795292533|1795293133|gpu1|ada|None");
  Publish("mine");
  const Ran asked = Hotplate({"down", "mine"});
  EXPECT_EQ(asked.exit, kExitNoDaemon);
  EXPECT_THAT(asked.err, AllOf(HasSubstr("job 41  RUNNING  on gpu1"), HasSubstr("hotplate down --cancel mine")));
  EXPECT_FALSE(Exists("cancelled"));
  EXPECT_THAT(Hotplate({"run", "integrate2d", "--server", "mine"}).err, HasSubstr("hotplate status --server mine"));
  EXPECT_THAT(Hotplate({"status", "--server", "mine"}).err,
              AllOf(HasSubstr("hotplate logs --server mine"), Not(HasSubstr("hotplate status"))))
      << "what has just failed is no advice";
  EXPECT_EQ(Hotplate({"down", "mine", "--cancel"}).exit, kExitOk);
  EXPECT_EQ(ReadText(folder_.File("cancelled")), "41\n");
}

TEST_F(ClusterUpTest, WhatIsPrintedNamesTheAllocation) {
  const Ran detached = Hotplate({"up", "--name", "mine", "--detach"});
  EXPECT_THAT(detached.out, AllOf(HasSubstr("hotplate status --server mine"), HasSubstr("hotplate down mine")));
  // Another one is current.
  folder_.Write("hotplate/servers/work.json", "{}");
  std::filesystem::create_symlink("servers/work.json", folder_.File("hotplate/current"));
  const Ran late = Hotplate({"up", "--name", "mine", "--timeout", "100ms"});
  EXPECT_THAT(late.err, AllOf(HasSubstr("hotplate status --server mine"), HasSubstr("give it up: hotplate down mine")));
  EXPECT_EQ(Hotplate({"down", "mine"}).exit, kExitOk);
  EXPECT_EQ(ReadText(folder_.File("cancelled")), "41\n");
}

TEST_F(ClusterUpTest, ANumberThatIsAnotherUsersByNowIsNotCancelled) {
  ASSERT_EQ(Hotplate({"up", "--detach"}).exit, kExitOk);
  Squeue("RUNNING|1795292533|1795293133|gpu1|4294967|None");
  EXPECT_EQ(Hotplate({"down"}).exit, kExitNoDaemon);
  EXPECT_FALSE(Exists("cancelled"));
}

TEST_F(ClusterUpTest, OnAnotherClustersHostTheJobIsNotOver) {
  ASSERT_EQ(Hotplate({"up", "--detach"}).exit, kExitOk);
  Program("scontrol", "echo 'ClusterName = other'");
  Program("squeue", "case \"$*\" in '-M fake'*) echo '" + OfThisUser("41|PENDING|N/A|N/A||ada|Priority") +
                        "';; *) echo 'Invalid job id specified' >&2; exit 1;; esac");
  EXPECT_THAT(Hotplate({"status"}).out, HasSubstr("fake-41  PENDING"));
  EXPECT_FALSE(ReadNote(Directory(), "fake-41")->over());
  EXPECT_EQ(Hotplate({"down"}).exit, kExitOk);
  EXPECT_EQ(ReadText(folder_.File("cancelled")), "-M fake 41\n");
}

TEST_F(ClusterUpTest, ADeadAllocationDoesNotHideTheNewOne) {
  ASSERT_EQ(Hotplate({"up", "--name", "old", "--detach"}).exit, kExitOk);
  Publish("old");
  std::filesystem::create_symlink("servers/old.json", folder_.File("hotplate/current"));
  auto note = ReadNote(Directory(), "old");
  ASSERT_TRUE(note);
  note->name = "new";
  note->job.id = "42";
  ASSERT_TRUE(WriteNote(Directory(), *note).ok());
  Program("squeue", "case \"$*\" in *' 42 '*) echo '" + OfThisUser("42|PENDING|N/A|N/A||ada|Priority") +
                        "';; *) echo '" + OfThisUser("41|NODE_FAIL|1795292533|1795292534|gpu1|ada|None") + "';; esac");
  EXPECT_THAT(Hotplate({"status"}).out, HasSubstr("new  PENDING"));
  EXPECT_EQ(ReadNote(Directory(), "old")->end_state, "NODE_FAIL");
  EXPECT_THAT(Hotplate({"jobs"}).err, HasSubstr("new has no daemon yet"));
  EXPECT_EQ(Hotplate({"down"}).exit, kExitOk);
  EXPECT_EQ(ReadText(folder_.File("cancelled")), "42\n");
}

TEST_F(ClusterUpTest, OneThatIsEndingIsNotStarting) {
  ASSERT_EQ(Hotplate({"up", "--name", "mine", "--detach"}).exit, kExitOk);
  Squeue("COMPLETING|1795292533|1795293133|gpu1|ada|None");
  EXPECT_THAT(Hotplate({"status"}).out, HasSubstr("mine  ENDING"));
  EXPECT_THAT(Hotplate({"jobs"}).err, HasSubstr("mine is ending"));
  const Ran down = Hotplate({"down"});
  EXPECT_EQ(down.exit, kExitOk);
  EXPECT_THAT(down.out, HasSubstr("is already ending"));
  EXPECT_FALSE(Exists("cancelled"));
  ASSERT_EQ(Hotplate({"up", "--again", "--detach"}).exit, kExitOk);
  EXPECT_EQ(ReadText(folder_.File("submissions")), "41\n41\n") << "nothing to wait for";
}

TEST_F(ClusterUpTest, AnAttachedDaemonThatHasEnded) {
  const auto attached = [&] {
    ASSERT_TRUE(WriteNote(Directory(), {.name = "mine",
                                        .job = {"41", "", "fake"},
                                        .output_file = "/out",
                                        .submit_time = 1'000,
                                        .attached = true,
                                        .was_ready = true})
                    .ok());
  };
  Squeue("RUNNING|1795292533|1795293133|gpu1|ada|None");
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"status"}, {"up", "--name", "mine"}}) {
    attached();
    const Ran ran = Hotplate(words);
    EXPECT_EQ(ran.exit, kExitNoDaemon);
    EXPECT_THAT(ran.err, AllOf(HasSubstr("mine has ended"), HasSubstr("hotplate up --attach 41")));
    EXPECT_TRUE(ReadNotes(Directory()).empty());
  }
  attached();
  EXPECT_EQ(Hotplate({"down", "--all"}).exit, kExitOk);
  EXPECT_TRUE(ReadNotes(Directory()).empty());
  EXPECT_FALSE(Exists("cancelled"));
}

TEST_F(ClusterUpTest, ASecondOneIsSubmittedButNotWithoutAWord) {
  EXPECT_THAT(Hotplate({"up", "--detach"}).err, Not(HasSubstr("already yours")));
  const Ran second = Hotplate({"up", "--detach", "--json"});
  EXPECT_EQ(second.exit, kExitOk);
  EXPECT_THAT(second.err, HasSubstr("! fake-41 (job 41, PENDING) is already yours: hotplate up --name fake-41"));
  EXPECT_EQ(ReadText(folder_.File("submissions")), "41\n41\n");
}

TEST_F(ClusterUpTest, OptionsThatAJobOfBeforeWasNotRequestedWithAreNamed) {
  const std::vector<std::string> first = {"up", "--name", "mine", "--detach", "--gpus", "1", "--", "--threads", "8"};
  EXPECT_EQ(Hotplate(first).exit, kExitOk);
  const auto unused = HasSubstr("not used");
  EXPECT_THAT(Hotplate(first).err, Not(unused)) << "the same again";
  EXPECT_THAT(Hotplate({"up", "--name", "mine", "--detach"}).err, Not(unused));
  EXPECT_THAT(
      Hotplate({"up", "--name", "mine", "--detach", "--", "--threads", "4"}).err,
      HasSubstr("! mine is job 41 already, so that --threads 4 were not used; for a new job with them: hotplate "
                "down mine, then this command again"));
  EXPECT_THAT(Hotplate({"up", "--name", "mine", "--detach", "--gpus", "2"}).err,
              HasSubstr("so that --gpus=2 was not used; for a new job with it: "));
  EXPECT_EQ(ReadText(folder_.File("submissions")), "41\n");
}

TEST_F(ClusterUpTest, AClustersNameWithADot) {
  Program("scontrol", "echo 'ClusterName = lab.example'");
  EXPECT_EQ(Field(Hotplate({"up", "--detach", "--json"}).out, "name"), "lab-example-41") << "as the daemon has it";
}

TEST_F(ClusterUpTest, ADaemonThatCannotBeReachedIsToldWithTheWayToIt) {
  Squeue("RUNNING|1795292533|1795293133|gpu1|ada|None");
  Publish("mine");
  const Ran ran = Hotplate({"up", "--name", "mine", "--timeout", "1s"});
  EXPECT_EQ(ran.exit, kExitNoDaemon);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("mine has started on gpu1, but this machine cannot reach it: daemon \"mine\""),
                             HasSubstr("ssh -N -L 1:127.0.0.1:1 gpu1"), HasSubstr("hotplate --endpoint localhost:1"),
                             HasSubstr("hotplate down --cancel mine"), Not(HasSubstr("start one"))));
  EXPECT_EQ(Hotplate({"use", "--json"}).out.substr(0, 17), R"({"current":"mine")");
}

using ClusterUpDeathTest = ClusterUpTest;

TEST_F(ClusterUpDeathTest, WhatIsSubmittedIsNotedWhateverIsTyped) {
  GTEST_FLAG_SET(death_test_style, "fast");
  // Once the signal pends no more, somebody has it.
  Program("sbatch", R"(
case "$*" in *--test-only*) exit;; esac
interrupt() {
  kill -INT $PPID
  for i in $(seq 200); do
    grep -qE '^S[ih][gd]Pnd:.*[2367abef]$' /proc/$PPID/status || break
    sleep 0.05
  done
  sleep 0.3
}
interrupt
interrupt
echo 41
)");
  EXPECT_EXIT(
      {
        const Ran ran = Hotplate({"up"});
        fputs(ran.err.c_str(), stderr);
        _exit(ran.exit);
      },
      testing::ExitedWithCode(kExitInterrupted), "Slurm takes the job(.|\n)*job 41 \\(fake-41\\) stays as it is");
  EXPECT_TRUE(ReadNote(Directory(), "fake-41"));
}

TEST_F(ClusterUpTest, WordsThatDoNotGoTogether) {
  const auto refused = [&](const std::vector<std::string>& words, const std::string& says) {
    const Ran ran = Hotplate(words);
    EXPECT_EQ(ran.exit, kExitUsage) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(says));
  };
  refused({"up", "--local", "--attach", "41"}, "--local and --attach");
  refused({"up", "--local", "--gpus", "2"}, "--gpus");
  refused({"up", "--attach", "41", "--time", "1h"}, "--time");
  refused({"up", "--attach", "41;ls"}, "is not a job id");
  refused({"up", "--on-interrupt", "explode"}, "keep or cancel");
  refused({"up", "--again"}, "no allocation of before");
  refused({"up", "--name", "../x"}, "is not a valid daemon name");
  refused({"up", "--", "--log-file", "x"}, "hotplate logs");
  refused({"down", "--all", "mine"}, "give one or the other");
}

TEST_F(ClusterUpTest, AttachingToWhatDoesNotRun) {
  const Ran pending = Hotplate({"up", "--attach", "41"});
  EXPECT_EQ(pending.exit, kExitTryLater);
  EXPECT_THAT(pending.err, HasSubstr("once it runs"));
  Squeue("");
  const Ran unknown = Hotplate({"up", "--attach", "41"});
  EXPECT_EQ(unknown.exit, kExitScheduler);
  EXPECT_THAT(unknown.err, HasSubstr("no job 41"));
}

TEST_F(ClusterUpTest, AStepThatDoesNotStartShowsItsWords) {
  Squeue("RUNNING|1795292533|1795293133|gpu1|ada|None");
  Program("srun", "echo 'srun: error: Unable to confirm allocation for job 41: Invalid job id specified' >&2; exit 1");
  const Ran ran = Hotplate({"up", "--attach", "41"});
  EXPECT_EQ(ran.exit, kExitNoDaemon);
  EXPECT_THAT(ran.err, HasSubstr("Unable to confirm allocation"));
  EXPECT_TRUE(ReadNotes(Directory()).empty());
}

}  // namespace
}  // namespace hotplate::cli
