// Jobs of many tasks: what they give, how they fail, and what ends them.
#include <atomic>
#include <cmath>
#include <numeric>
#include <set>

#include "server/core/sweeps/sweep_run.h"
#include "tests/unit/core/engine_fixture.h"

namespace hotplate::core::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Remembers the tasks that were written down.
class TaskJournal : public JobLog {
 public:
  void Append(const Job&, const JobEvent&) override {}
  void WriteStart(const Job&, const JobEvent&, std::uint64_t) override { writing_start.Enter(); }
  void WriteTasks(const Job&, TaskRows rows) override {
    std::scoped_lock lock(mutex_);
    for (TaskRow& row : rows.rows) {
      std::string data;
      if (row.state == JobState::kCompleted) {
        for (const TaskRows::Output& output : rows.outputs) {
          data.append(reinterpret_cast<const char*>(output.buffer->data()) + row.row * output.row_bytes,
                      output.row_bytes);
        }
      }
      rows_.emplace_back(std::move(row), std::move(data));
    }
    ++writes_;
  }
  void WriteEnd(std::shared_ptr<const Job>, const JobEvent&, std::uint64_t, std::function<void()> told) override {
    told();
  }
  void Suspend() override {}
  void Stop() override {}

  std::vector<std::pair<TaskRow, std::string>> rows() {
    std::scoped_lock lock(mutex_);
    return rows_;
  }
  int writes() {
    std::scoped_lock lock(mutex_);
    return writes_;
  }
  Gate writing_start;  // of jobs that wait for it

 private:
  std::mutex mutex_;
  std::vector<std::pair<TaskRow, std::string>> rows_;
  int writes_ = 0;
};

class SweepsTest : public EngineTest {
 protected:
  SweepsTest() { bodies_["copy"] = Times(nullptr); }

  // y = seed * x, once `before` lets it.
  static KernelBody Times(std::function<Outcome(std::int64_t seed, TaskControl&)> before) {
    return [before](const Task& task, TaskControl& control) {
      const std::int64_t seed = task.call.params[0].integer;
      if (before) {
        if (Outcome outcome = before(seed, control); !outcome.ok()) return EndsWith(outcome);
      }
      Report report = CopyBody(task, control);
      const hotplate_array& y = task.call.outputs[0];
      auto* const values = static_cast<float*>(y.data);
      for (std::uint64_t i = 0; i < y.bytes / sizeof(float); ++i) values[i] *= static_cast<float>(seed);
      return report;
    };
  }
  static SweepPlan::Parts Over(SweepAxis axis) {
    SweepPlan::Parts parts;
    parts.axes = {std::move(axis)};
    return parts;
  }
  static SweepPlan::Parts Seeds(std::int64_t first, std::uint64_t count) {
    return Over({"seed", SweepRange{first, std::int64_t{1}, count}});
  }
  static JobRequest Sweep(SweepPlan::Parts parts, std::vector<float> x = {1, 2, 3}) {
    JobRequest request = Request("copy", x);
    request.sweep = SweepPlan::Make(std::move(parts)).value();
    return request;
  }
  std::shared_ptr<const JobEnd> Run(JobRequest request, std::uint64_t tag = 0) {
    Submit(std::move(request), tag);
    return recorder_->AwaitEnd(tag);
  }
  std::vector<float> Values(const JobEnd& end) {
    const JobOutputValue& y = end.outputs.at(0);
    return ToFloats(y.data != nullptr ? *y.data : *store_->Open(kRoot, y.array.value())->buffer);
  }
  TaskCounts CountsOf(const JobId& id) { return engine_->Get(kRoot, id)->sweep->counts(); }
  // A task has failed with its device, and no other can run. Which ran before it is left open: two threads feed a lane.
  bool HasStopped(const JobId& id) { return CountsOf(id).failed == 1 && CountsOf(id).running == 0; }
};

TEST_F(SweepsTest, EachOutputIsOneArrayWithARowForEachTask) {
  AddDevice({.lanes = 3});
  Start();
  const auto end = Run(Sweep(Seeds(1, 1000)));
  ASSERT_EQ(end->state, JobState::kCompleted) << end->error;
  EXPECT_EQ(end->outputs[0].signature.shape, (Shape{1000, 3}));
  const std::vector<float> y = Values(*end);
  ASSERT_EQ(y.size(), 3000u);
  for (std::size_t row = 0; row < 1000; ++row) {
    for (std::size_t i = 0; i < 3; ++i) ASSERT_EQ(y[row * 3 + i], static_cast<float>((row + 1) * (i + 1))) << row;
  }
  EXPECT_EQ(end->sweep->counts, (TaskCounts{1000, 1000, 0, 0}));
  EXPECT_THAT(end->sweep->incomplete, IsEmpty());
  EXPECT_THAT(recorder_->states(0), ElementsAre(JobState::kPending, JobState::kRunning, JobState::kCompleted));
  EXPECT_EQ(engine_->List(kRoot, {}).size(), 1u) << "its tasks are not listed";
  EXPECT_EQ(engine_->Status().ended, 1u);
}

TEST_F(SweepsTest, AFailedTaskIsNamedAndItsRowIsNaN) {
  bodies_["copy"] = Times(
      [](std::int64_t seed, TaskControl&) { return seed % 4 == 3 ? Outcome::Invalid("it is odd") : Outcome::Ok(); });
  Start();
  const auto end = Run(Sweep(Seeds(0, 10)));
  ASSERT_EQ(end->state, JobState::kCompleted) << end->error;
  const std::vector<float> y = Values(*end);
  for (std::size_t row = 0; row < 10; ++row) {
    EXPECT_EQ(std::isnan(y[row * 3]), row % 4 == 3) << row;
    EXPECT_EQ(std::isnan(y[row * 3 + 2]), row % 4 == 3) << row;
  }
  EXPECT_EQ(end->sweep->counts, (TaskCounts{10, 8, 2, 0}));
  EXPECT_THAT(end->sweep->incomplete, ElementsAre(TaskRange{3, 1}, TaskRange{7, 1}));
  ASSERT_EQ(end->sweep->failures.size(), 2u);
  EXPECT_EQ(end->sweep->failures[0].task, 3u);
  EXPECT_EQ(TaskText(7, end->sweep->failures[1].values), "task 7 (seed=7)");
  EXPECT_THAT(Text(end->sweep->failures[0].error), HasSubstr("it is odd"));
  EXPECT_THAT(end->receipt->warning, HasSubstr("2 of 10 tasks failed; task 3 (seed=3): "));
}

TEST_F(SweepsTest, WhereEveryTaskFailsTheSweepHas) {
  bodies_["copy"] = Times([](std::int64_t, TaskControl&) { return Outcome::Invalid("never"); });
  Start();
  const auto end = Run(Sweep(Seeds(0, 100)));
  EXPECT_EQ(end->state, JobState::kFailed);
  EXPECT_THAT(Text(end->error), HasSubstr("100 of 100 tasks failed; task "));
  EXPECT_THAT(end->outputs, IsEmpty());
  EXPECT_EQ(end->sweep->failures.size(), SweepOutcome::kMostFailures);
}

TEST_F(SweepsTest, TooManyFailedTasksEndIt) {
  std::atomic<int> ran{0};
  bodies_["copy"] = Times([&](std::int64_t seed, TaskControl&) {
    ++ran;
    return seed >= 5 ? Outcome::Invalid("too large") : Outcome::Ok();
  });
  Start();
  SweepPlan::Parts parts = Seeds(0, 1000);
  parts.most_failed = 2;
  const auto end = Run(Sweep(parts));
  EXPECT_EQ(end->state, JobState::kFailed);
  EXPECT_THAT(Text(end->error), HasSubstr("3 of 1000 tasks failed"));
  EXPECT_THAT(Text(end->error), HasSubstr("more than 2 end the sweep"));
  EXPECT_EQ(ran.load(), 8) << "on one lane nothing runs after the third failure";
  EXPECT_EQ(end->sweep->counts, (TaskCounts{1000, 5, 3, 0}));
  EXPECT_THAT(end->sweep->incomplete, ElementsAre(TaskRange{5, 995}));
}

TEST_F(SweepsTest, AFailedTaskRunsAgainAsOftenAsAskedFor) {
  std::mutex mutex;
  std::map<std::int64_t, int> runs;
  bodies_["copy"] = Times([&](std::int64_t seed, TaskControl&) {
    std::scoped_lock lock(mutex);
    const int run = ++runs[seed];
    return (seed == 3 && run < 3) || seed == 4 ? Outcome::Failed("again") : Outcome::Ok();
  });
  Start();
  SweepPlan::Parts parts = Seeds(0, 20);
  parts.retries = 2;
  const auto end = Run(Sweep(parts));
  EXPECT_EQ(end->state, JobState::kCompleted);
  EXPECT_EQ(end->sweep->counts, (TaskCounts{20, 19, 1, 0}));
  EXPECT_EQ(runs[3], 3);
  EXPECT_EQ(runs[4], 3);
  EXPECT_EQ(runs[5], 1);
  EXPECT_EQ(Values(*end)[9], 3.0F);
}

TEST_F(SweepsTest, ItIsRefusedBeforeAnythingRunsIfATaskCannotRun) {
  std::atomic<int> ran{0};
  bodies_["copy"] = Times([&](std::int64_t, TaskControl&) {
    ++ran;
    return Outcome::Ok();
  });
  Start();
  JobRequest unknown = Sweep(Over({"sead", SweepRange{std::int64_t{0}, std::int64_t{1}, 5}}));
  const absl::Status refused = Refusal(unknown);
  EXPECT_THAT(Fields(refused), ElementsAre("params.sead"));
  JobRequest text = Sweep(Over({"seed", std::vector<ParamValue>{std::int64_t{1}, std::string("two")}}));
  const absl::Status of_text = Refusal(text);
  EXPECT_THAT(Fields(of_text), ElementsAre("params.seed"));
  EXPECT_THAT(Text(of_text), HasSubstr("task 1 (seed=\"two\")"));
  EXPECT_EQ(ran.load(), 0);
  EXPECT_THAT(engine_->List(kRoot, {}), IsEmpty());
}

TEST_F(SweepsTest, OneWhoseResultsDoNotFitIsRefused) {
  limits_.total_bytes = 1 << 20;
  limits_.array_bytes = 1 << 20;
  Start();
  const absl::Status refused = Refusal(Sweep(Seeds(0, 1'000'000)));
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_THAT(Text(refused), HasSubstr("float32 [1000000, 3]"));
  EXPECT_THAT(Text(refused), HasSubstr("max-array-bytes is 1048576"));
}

TEST_F(SweepsTest, ThereHasToBeRoomForTheTasksThatRunToo) {
  limits_.total_bytes = 1 << 20;
  Start();
  const absl::Status refused = Refusal(Sweep(Seeds(0, 254), std::vector<float>(1024)));
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_THAT(Text(refused),
              HasSubstr("has 1040384 bytes, and those that run have 65536; the daemon's limit array-bytes is"));
  EXPECT_EQ(Run(Sweep(Seeds(0, 235), std::vector<float>(1024)))->sweep->counts.completed, 235u);
}

TEST_F(SweepsTest, ItHasOnePlaceInTheQueueAndFewTasksExistAtATime) {
  options_.queued_jobs = 1;
  bodies_["copy"] = Times([this](std::int64_t, TaskControl& control) {
    return gate_.EnterUnlessCancelled(control) ? Outcome::Cancelled() : Outcome::Ok();
  });
  Start();
  const JobId id = Submit(Sweep(Seeds(0, 100'000)));
  ASSERT_TRUE(gate_.AwaitEntered(1));
  const JobSnapshot snapshot = *engine_->Get(kRoot, id);
  const TaskCounts counts = snapshot.sweep->counts();
  EXPECT_EQ(counts.total, 100'000u);
  EXPECT_LE(counts.running, 16u);
  EXPECT_EQ(StateOf(id), JobState::kRunning);
  engine_->Cancel(kAlice, id).IgnoreError();
  const auto end = recorder_->AwaitEnd(0);
  EXPECT_EQ(end->state, JobState::kCancelled);
  EXPECT_THAT(Text(end->error), HasSubstr("was cancelled on request when 0 of 100000 tasks had ended"));
  EXPECT_EQ(end->sweep->counts.failed, 0u);
  EXPECT_EQ(engine_->Status().pending, 0u);
}

TEST_F(SweepsTest, OneThatEndedHoldsNothingButItsResult) {
  bodies_["copy"] = Times([this](std::int64_t seed, TaskControl& control) {
    if (seed != 3) return Outcome::Ok();
    return gate_.EnterUnlessCancelled(control) ? Outcome::Cancelled() : Outcome::Ok();
  });
  Start();
  const std::uint64_t before = store_->bytes_held();
  const JobId id = Submit(Sweep(Seeds(0, 1000), std::vector<float>(1000)));
  ASSERT_TRUE(gate_.AwaitEntered(1));
  EXPECT_GE(store_->bytes_held(), before + 1000 * 1000 * sizeof(float));
  engine_->Cancel(kAlice, id).IgnoreError();
  const auto cancelled = recorder_->AwaitEnd(0);
  ASSERT_EQ(cancelled->state, JobState::kCancelled);
  EXPECT_EQ(store_->bytes_held(), before);
  EXPECT_EQ(engine_->Get(kRoot, id)->sweep->Outcome().incomplete, cancelled->sweep->incomplete)
      << "they are still told of";
  EXPECT_FALSE(cancelled->sweep->incomplete.empty());
  gate_.Open();
  const auto completed = Run(Sweep(Seeds(0, 4), std::vector<float>(1000)), 1);
  ASSERT_EQ(completed->state, JobState::kCompleted);
  EXPECT_EQ(store_->bytes_held(), before + 4 * 1000 * sizeof(float)) << "its input is held no longer";
}

TEST_F(SweepsTest, TheTimeLimitIsEachTasks) {
  bodies_["copy"] = Times([this](std::int64_t seed, TaskControl& control) {
    if (seed != 2) return Outcome::Ok();
    return gate_.EnterUnlessCancelled(control) ? Outcome::Cancelled() : Outcome::Ok();
  });
  Start();
  JobRequest request = Sweep(Seeds(0, 5));
  request.time_limit = std::chrono::seconds(1);
  Submit(request);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  clock_.Advance(std::chrono::seconds(2));
  const auto end = recorder_->AwaitEnd(0);
  EXPECT_EQ(end->state, JobState::kCompleted);
  ASSERT_EQ(end->sweep->failures.size(), 1u);
  EXPECT_TRUE(end->sweep->failures[0].timed_out);
  EXPECT_THAT(Text(end->sweep->failures[0].error), HasSubstr("job 1.2 reached its time limit of 1"));
}

TEST_F(SweepsTest, TasksOfALostDeviceWaitUntilItIsBack) {
  options_.reopen = {.first_pause = std::chrono::milliseconds(1), .longest_pause = std::chrono::milliseconds(4)};
  bodies_["copy"] = Times([](std::int64_t seed, TaskControl&) {
    return seed == 3 ? Outcome::DeviceLost("it fell off the bus") : Outcome::Ok();
  });
  const auto reopening = std::make_shared<Gate>();
  AddDevice({.reopen = [reopening] {
    reopening->Enter();
    return absl::OkStatus();
  }});
  Start();
  const JobId id = Submit(Sweep(Seeds(0, 50)));
  EXPECT_TRUE(reopening->AwaitEntered(1));
  // Tried again and again meanwhile, they count as nothing.
  EXPECT_TRUE(Eventually([&] { return HasStopped(id); }));
  EXPECT_EQ(CountsOf(id).failed, 1);
  EXPECT_EQ(StateOf(id), JobState::kRunning);
  reopening->Open();
  const auto end = recorder_->AwaitEnd(0);
  ASSERT_EQ(end->state, JobState::kCompleted);
  EXPECT_EQ(end->sweep->counts, (TaskCounts{50, 49, 1, 0})) << "only the one that lost it has failed";
  EXPECT_EQ(Values(*end)[49 * 3], 49);
}

TEST_F(SweepsTest, OneWhoseDeviceStaysAwayCanBeCancelled) {
  bodies_["copy"] = Times([](std::int64_t seed, TaskControl&) {
    return seed == 3 ? Outcome::DeviceLost("it fell off the bus") : Outcome::Ok();
  });
  Start();
  const JobId id = Submit(Sweep(Seeds(0, 50)));
  EXPECT_TRUE(Eventually([&] { return HasStopped(id); }));
  EXPECT_EQ(StateOf(id), JobState::kRunning);
  const TaskCounts counts = CountsOf(id);
  EXPECT_EQ(counts.failed, 1);
  engine_->Cancel(kAlice, id).IgnoreError();
  const auto end = recorder_->AwaitEnd(0);
  EXPECT_EQ(end->state, JobState::kCancelled);
  EXPECT_EQ(end->sweep->counts, counts);
}

TEST_F(SweepsTest, AJobThatTakesItsOutputTakesTheWholeArray) {
  Start();
  JobRequest request = Sweep(Seeds(1, 4), {1});
  request.outputs.push_back({.name = "y", .keep = true, .array_name = "rows", .lease = std::nullopt});
  const auto end = Run(request);
  ASSERT_EQ(end->state, JobState::kCompleted) << end->error;
  const auto array = store_->Open(kAlice, "rows");
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_EQ(array->array.signature.shape, (Shape{4, 1}));
  EXPECT_THAT(ToFloats(*array->buffer), ElementsAre(1, 2, 3, 4));
}

TEST_F(SweepsTest, WhatEndedIsWrittenDownInBatchesAndTheNextDaemonRunsTheRest) {
  const auto journal = std::make_shared<TaskJournal>();
  options_.job_log = journal;
  std::atomic<bool> stop_at_fifty{true};
  bodies_["copy"] = Times([&](std::int64_t seed, TaskControl& control) {
    if (seed == 7) return Outcome::Invalid("seven");
    if (seed < 50 || !stop_at_fifty.load()) return Outcome::Ok();
    return gate_.EnterUnlessCancelled(control) ? Outcome::Cancelled() : Outcome::Ok();
  });
  Start();
  JobRequest request = Sweep(Seeds(0, 200));
  const std::shared_ptr<Job> job = engine_->Accept(kAlice, request)->job;
  engine_->Acknowledge(*job);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  clock_.Advance(SweepRun::kFlushInterval);
  // Mostly 50: a task may come into the queue behind the one that waits.
  ASSERT_TRUE(Eventually([&] {
    const TaskCounts counts = engine_->Get(kRoot, job->id)->sweep->counts();
    return journal->rows().size() == counts.completed + counts.failed;
  })) << journal->rows().size();
  EXPECT_LE(journal->writes(), 4) << "not one by one";
  EXPECT_FALSE(engine_->Drain(nanoseconds::zero(), "the allocation ends"));
  EXPECT_EQ(StateOf(job->id), JobState::kRunning) << "it is left to the next daemon";
  engine_.reset();

  const auto before = journal->rows();
  std::set<std::int64_t> done;
  for (const auto& [row, data] : before) done.insert(static_cast<std::int64_t>(row.row));
  stop_at_fifty.store(false);
  std::atomic<int> ran{0};
  bodies_["copy"] = Times([&](std::int64_t seed, TaskControl&) {
    ++ran;
    EXPECT_FALSE(done.contains(seed)) << seed;
    return seed == 7 ? Outcome::Invalid("seven") : Outcome::Ok();
  });
  fakes_.clear();
  devices_.clear();
  Start();
  RestoredJob restored;
  restored.number = 1;
  restored.owner = kAlice;
  restored.request = Sweep(Seeds(0, 200));
  restored.changes = {{1, JobState::kPending, clock_.WallNow(), ""}};
  restored.restore_tasks = [&](SweepRun& sweep) {
    for (const auto& [row, data] : before) {
      EXPECT_TRUE(sweep.Restore(row, std::as_bytes(std::span(data))));
    }
    EXPECT_FALSE(sweep.Restore({.row = 200, .task = 200, .state = JobState::kCompleted, .error = {}}, {}));
    EXPECT_FALSE(sweep.Restore({.row = 60, .task = 60, .state = JobState::kCompleted, .error = {}}, {}))
        << "without its bytes it has to run";
    return absl::OkStatus();
  };
  ASSERT_TRUE(engine_->Restore(std::move(restored)).ok());
  ASSERT_TRUE(engine_->Watch(kAlice, JobId("1"), 0, recorder_, 5).ok());
  const auto end = recorder_->AwaitEnd(5);
  ASSERT_EQ(end->state, JobState::kCompleted) << end->error;
  EXPECT_EQ(ran.load(), 200 - static_cast<int>(before.size()));
  EXPECT_EQ(end->sweep->counts, (TaskCounts{200, 199, 1, 0}));
  const std::vector<float> y = Values(*end);
  for (std::size_t row = 0; row < 200; ++row) {
    if (row == 7) {
      EXPECT_TRUE(std::isnan(y[row * 3]));
    } else {
      EXPECT_EQ(y[row * 3], static_cast<float>(row));
    }
  }
}

// Without it the next daemon would run again what is not to run again.
TEST_F(SweepsTest, NoTaskOfOneThatIsNotToRerunRunsBeforeItsStartIsWrittenDown) {
  const auto journal = std::make_shared<TaskJournal>();
  options_.job_log = journal;
  std::atomic<int> ran{0};
  bodies_["copy"] = Times([&](std::int64_t, TaskControl&) {
    ++ran;
    return Outcome::Ok();
  });
  AddDevice({.lanes = 4});
  Start();
  JobRequest request = Sweep(Seeds(0, 100));
  request.may_rerun = false;
  const std::shared_ptr<Job> job = engine_->Accept(kAlice, request)->job;
  engine_->Acknowledge(*job);
  EXPECT_TRUE(engine_->Watch(kAlice, job->id, 0, recorder_, 0).ok());
  EXPECT_TRUE(journal->writing_start.AwaitEntered(1));
  // All lanes have one by now, and wait.
  EXPECT_TRUE(Eventually([&] { return engine_->Status().devices[0].running == 4; }));
  EXPECT_EQ(ran.load(), 0);
  journal->writing_start.Open();
  EXPECT_EQ(recorder_->AwaitEnd(0)->state, JobState::kCompleted);
  EXPECT_EQ(ran.load(), 100);
}

TEST_F(SweepsTest, OneThatADaemonBeforeHadFinishedEndsAtOnce) {
  options_.job_log = std::make_shared<TaskJournal>();
  Start();
  RestoredJob restored;
  restored.number = 9;
  restored.owner = kAlice;
  restored.request = Sweep(Seeds(0, 2), {1});
  restored.changes = {{1, JobState::kPending, clock_.WallNow(), ""}};
  restored.restore_tasks = [](SweepRun& sweep) {
    const std::vector<float> value = {5};
    for (std::uint64_t row = 0; row < 2; ++row) {
      EXPECT_TRUE(sweep.Restore({.row = row, .task = row, .state = JobState::kCompleted, .error = {}},
                                std::as_bytes(std::span(value))));
    }
    return absl::OkStatus();
  };
  ASSERT_TRUE(engine_->Restore(std::move(restored)).ok());
  const JobSnapshot job = *engine_->Get(kAlice, JobId("9"));
  ASSERT_EQ(job.state, JobState::kCompleted);
  EXPECT_THAT(ToFloats(*job.end->outputs[0].data), ElementsAre(5, 5));
}

TEST_F(SweepsTest, ManyTasksOnManyLanesEachRunOnce) {
  constexpr std::size_t kTasks = 20'000;
  std::vector<std::atomic<int>> runs(kTasks);
  bodies_["copy"] = Times([&](std::int64_t seed, TaskControl&) {
    ++runs[static_cast<std::size_t>(seed)];
    return Outcome::Ok();
  });
  AddDevice({.id = "cpu0", .lanes = 4});
  AddDevice({.id = "cpu1", .lanes = 4});
  Start();
  const auto end = Run(Sweep(Seeds(0, kTasks), {1}));
  ASSERT_EQ(end->state, JobState::kCompleted) << end->error;
  for (const std::atomic<int>& one : runs) ASSERT_EQ(one.load(), 1);
  const std::vector<float> y = Values(*end);
  for (std::size_t i = 0; i < kTasks; ++i) ASSERT_EQ(y[i], static_cast<float>(i));
}

}  // namespace
}  // namespace hotplate::core::testing
