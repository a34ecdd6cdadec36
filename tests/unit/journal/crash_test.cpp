// A daemon that dies at any moment, by a kill or with the power of its machine, loses nothing that it acknowledged, and
// doubles nothing. Each cycle forks a daemon that works, and ends it before one operation on the disk, or at one step
// of a group; then the next daemon opens what is left. By default each few operations are tried, and some cycles at
// random on one journal; all of them, and many more cycles, with
//   HOTPLATE_CRASH_STRIDE=1 HOTPLATE_CRASH_CYCLES=1000 journal_test --gtest_filter='CrashTest.*'
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "kernels/base/descriptor.h"
#include "tests/unit/journal/journal_fixture.h"
#include "tests/unit/journal/lossy_disk.h"

namespace hotplate::journal {
namespace {

using ::testing::IsEmpty;
using Loss = LossyDisk::Loss;

std::uint64_t Number(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// What a daemon has said to its clients: one letter and a job's number.
struct Word {
  char what = 0;  // A: accepted, E: ended, R: released
  std::uint64_t job = 0;
};

// Inputs and results that tell a job from each other.
std::vector<float> ElementsOf(std::uint64_t job) { return std::vector<float>(50 + job % 7, static_cast<float>(job)); }

class CrashTest : public JournalTest {
 protected:
  struct Cut {
    std::uint64_t operation = 0;  // 0: at a step
    std::string step = {};
    std::uint64_t visit = 0;  // of the step
    Loss loss = Loss::kProcess;
    std::uint64_t seed = 0;
  };
  struct Outcome {
    bool was_cut = false;
    std::vector<Word> words;
  };

  JournalOptions Lossy(const std::string& generation) {
    JournalOptions options = Options(generation);
    options.vfs = LossyDisk::kVfs;
    options.disk = &LossyDisk::Get();
    return options;
  }

  // In the child. Other threads may be cut off anywhere.
  int Daemon(const Cut& cut, std::uint64_t first, int told) {
    LossyDisk& disk = LossyDisk::Get();
    if (cut.operation > 0) disk.CutAt(cut.operation, cut.loss, cut.seed);
    const auto tell = [told](char what, std::uint64_t job) {
      const Word word{what, job};
      if (write(told, &word, sizeof word) != sizeof word) _exit(2);
    };
    JournalOptions options = Lossy("g" + std::to_string(first));
    std::uint64_t visits = 0;
    options.writer.behind = std::chrono::milliseconds(1);
    options.writer.at_step = [&](std::string_view step) {
      if (step == cut.step && ++visits == cut.visit) disk.CutNow(cut.loss, cut.seed);
    };
    absl::StatusOr<std::unique_ptr<Journal>> opened = Journal::Open(options);
    if (!opened.ok()) return 3;
    Journal& journal = **opened;
    absl::StatusOr<std::unique_ptr<Spool>> opened_spool = Spool::Open({.root = folder_.File("spool"),
                                                                       .journal_id = journal.id(),
                                                                       .used_bytes = SpooledBytes(journal).value_or(0),
                                                                       .limits = {.free_bytes = 0},
                                                                       .disk = &disk});
    if (!opened_spool.ok() || !SweepSpool(journal, **opened_spool).ok()) return 4;
    Spool& spool = **opened_spool;
    const absl::StatusOr<Recovered> left = journal.Recover({});
    if (!left.ok()) return 5;

    const auto run = [&](std::uint64_t job, std::uint64_t sequence) {
      if (!journal.Write(Started(job, sequence)).ok()) _exit(6);
      const std::vector<float> elements = ElementsOf(job);
      const std::vector<SpoolItem> items = {Item("out", elements)};
      const std::vector<SpoolText> texts = {{"receipt.json", "{}\n"}};
      const auto results = spool.StoreResults(job, items, texts, Disk::Sync::kNow);
      if (!results.ok() || !journal.Write(Ended(job, *results, sequence + 1)).ok()) _exit(7);
      tell('E', job);
    };
    const auto submit = [&](std::uint64_t job) {
      const std::vector<float> elements = ElementsOf(job), of_all(300, 0.5F);
      const std::vector<SpoolItem> items = {Item("a", elements), Item("all", of_all, true)};
      absl::StatusOr<Spool::Stored> stored = spool.StoreInputs(job, items);
      if (!stored.ok() || !journal.Write(Accepted(job, stored->files())).ok()) _exit(8);
      stored->Keep();
      tell('A', job);
      Note(journal, Attached(job + 50, At(5)));
    };
    std::vector<std::thread> threads;
    for (std::uint64_t i = 0; i < 2; ++i) {
      threads.emplace_back([&, i] {
        submit(first + 2 * i), submit(first + 2 * i + 1);
        run(first + 2 * i, 2);
      });
    }
    for (const KeptJob& job : left->unfinished) {
      std::uint64_t sequence = job.changes.back().sequence + 1;
      if (job.state == JobState::kRunning) {
        const JobRequeued requeued{.number = job.accepted.number, .sequence = sequence++, .time = At(1), .reason = "x"};
        if (!journal.Write(requeued).ok()) return 9;
      }
      run(job.accepted.number, sequence);
    }
    for (std::thread& thread : threads) thread.join();
    // Fetched, and old: they go.
    for (const KeptJob& job : left->ended) {
      if (job.accepted.number % 2 == 0) continue;
      if (!journal.Write(JobFetched{.number = job.accepted.number, .time = At(3)}).ok()) return 10;
      tell('R', job.accepted.number);
    }
    if (!Prune(journal, &spool, {.now = At(1'000'000), .age = std::chrono::seconds(1)}).ok()) return 11;
    return journal.Close("").ok() ? 0 : 12;
  }

  Outcome Live(const Cut& cut, std::uint64_t first) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) throw std::runtime_error("pipe");
    const pid_t child = fork();
    if (child == 0) {
      close(ends[0]);
      _exit(Daemon(cut, first, ends[1]));
    }
    close(ends[1]);
    const Descriptor from(ends[0]);
    Outcome outcome;
    for (Word word; read(from.get(), &word, sizeof word) == sizeof word;) outcome.words.push_back(word);
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    outcome.was_cut = WEXITSTATUS(status) == LossyDisk::kCutExit;
    EXPECT_TRUE(outcome.was_cut || WEXITSTATUS(status) == 0) << "the daemon failed at " << WEXITSTATUS(status);
    return outcome;
  }

  // Everything that was ever said, against what is there. `said` goes on from cycle to cycle.
  void Check(const std::vector<Word>& words) {
    for (const Word& word : words) {
      // A run that was cut before it was told is run again: then it is told the first time.
      std::set<std::uint64_t>& told = word.what == 'A' ? accepted_ : word.what == 'E' ? ended_ : released_;
      EXPECT_TRUE(told.insert(word.job).second || word.what == 'R') << word.what << " " << word.job << " twice";
    }
    const std::unique_ptr<Journal> journal = Open(Lossy("check"));
    const VerifyReport report = VerifyAll(*journal);
    EXPECT_THAT(report.problems, IsEmpty());
    const Recovered found = journal->Recover({.ended_since = At(-1000)}).value();
    std::map<std::uint64_t, const KeptJob*> jobs;
    for (const std::vector<KeptJob>* const list : {&found.unfinished, &found.ended}) {
      for (const KeptJob& job : *list) EXPECT_TRUE(jobs.emplace(job.accepted.number, &job).second);
    }
    for (const auto& [number, job] : jobs) {
      EXPECT_EQ(job->accepted.request, RequestOf(number));
      EXPECT_EQ(job->accepted.inputs.size(), 2u) << number;
      EXPECT_EQ(job->results.size(), IsEnd(job->state) ? 1u : 0u) << number;
    }
    for (const std::uint64_t job : accepted_) {
      EXPECT_TRUE(jobs.contains(job) || released_.contains(job)) << "job " << job << " is lost";
    }
    for (const std::uint64_t job : ended_) {
      if (!jobs.contains(job)) continue;
      EXPECT_EQ(jobs[job]->state, JobState::kCompleted) << "the end of job " << job << " is lost";
    }
    EXPECT_GE(found.last_number, accepted_.empty() ? 0 : *accepted_.rbegin());
  }

  // A fresh journal, with one daemon's work in it that ended well.
  void Fresh() {
    for (const char* const name : {"journal", "spool", "stash"}) std::filesystem::remove_all(folder_.File(name));
    LossyDisk::Get().Reset(folder_.File("stash"));
    accepted_.clear(), ended_.clear(), released_.clear();
  }

  std::set<std::uint64_t> accepted_, ended_, released_;
};

class EachOperationTest : public CrashTest, public ::testing::WithParamInterface<Loss> {};

TEST_P(EachOperationTest, LosesNothingAndDoublesNothing) {
  const std::uint64_t stride = Number("HOTPLATE_CRASH_STRIDE", 23);
  std::uint64_t cycles = 0;
  for (std::uint64_t operation = 1 + stride / 2;; operation += stride) {
    SCOPED_TRACE("operation " + std::to_string(operation));
    Fresh();
    Check(Live({}, 100).words);
    const Outcome outcome = Live({.operation = operation, .loss = GetParam(), .seed = operation}, 200);
    Check(outcome.words);
    if (HasFailure()) break;
    // And goes on from there.
    Check(Live({}, 300).words);
    ++cycles;
    if (!outcome.was_cut || HasFailure()) break;
  }
  RecordProperty("cycles", static_cast<int>(cycles));
  EXPECT_GE(cycles * stride, 100u) << "the daemon did too little";
}

INSTANTIATE_TEST_SUITE_P(Crash, EachOperationTest, ::testing::Values(Loss::kProcess, Loss::kPower),
                         [](const auto& test) { return test.param == Loss::kPower ? "Power" : "Process"; });

TEST_F(CrashTest, EachStepOfAGroup) {
  for (const char* const step :
       {"group: begin", "group: record", "group: written", "group: committed", "group: acknowledged"}) {
    for (std::uint64_t visit = 1; visit <= 6; ++visit) {
      SCOPED_TRACE(step + (" " + std::to_string(visit)));
      Fresh();
      Check(Live({}, 100).words);
      const Cut cut{
          .step = step, .visit = visit, .loss = visit % 2 == 0 ? Loss::kPower : Loss::kProcess, .seed = visit};
      const Outcome outcome = Live(cut, 200);
      EXPECT_TRUE(outcome.was_cut);
      Check(outcome.words);
      if (HasFailure()) return;
    }
  }
}

TEST_F(CrashTest, AtRandomOnOneJournal) {
  const std::uint64_t cycles = Number("HOTPLATE_CRASH_CYCLES", 15), seed = Number("HOTPLATE_CRASH_SEED", 1);
  std::mt19937_64 random(seed);
  Fresh();
  std::uint64_t cuts = 0;
  for (std::uint64_t cycle = 1; cycle <= cycles && !HasFailure(); ++cycle) {
    const Cut cut{
        .operation = 1 + random() % 400, .loss = random() % 2 == 0 ? Loss::kPower : Loss::kProcess, .seed = random()};
    SCOPED_TRACE("seed " + std::to_string(seed) + ", cycle " + std::to_string(cycle));
    const Outcome outcome = Live(cut, cycle * 100);
    cuts += outcome.was_cut ? 1 : 0;
    Check(outcome.words);
  }
  // The last one lives.
  Check(Live({}, (cycles + 1) * 100).words);
  std::printf("%llu cycles, %llu of them cut: %zu jobs acknowledged, %zu completed, 0 lost, 0 doubled\n",
              static_cast<unsigned long long>(cycles), static_cast<unsigned long long>(cuts), accepted_.size(),
              ended_.size());
}

}  // namespace
}  // namespace hotplate::journal
