// The line that tells how a job goes on: its rate and what is left must be true whenever the watching began.
#include "client/cli/jobs/progress.h"

#include <gmock/gmock.h>

#include <sstream>

namespace hotplate::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ProgressTest : public testing::Test {
 protected:
  // The line that a report of `fraction` leads to, `later` after the one before.
  std::string Report(double fraction, std::chrono::nanoseconds later) {
    now_ += std::chrono::duration_cast<std::chrono::steady_clock::duration>(later);
    v1::JobUpdate update;
    update.mutable_progress()->set_fraction(fraction);
    return Told(update);
  }
  std::string Runs() {
    v1::JobUpdate update;
    update.set_job_id("7");
    update.mutable_state_change()->set_state(v1::RUNNING);
    update.mutable_state_change()->set_device("cpu0");
    return Told(update);
  }

  std::string Download(std::uint64_t done, milliseconds later) {
    now_ += later;
    err_.str("");
    progress_.Download(done, 100'000'000);
    return err_.str();
  }

 private:
  std::string Told(const v1::JobUpdate& update) {
    err_.str("");
    progress_.Update(update);
    return err_.str();
  }

  std::ostringstream out_, err_;
  Console console_{out_, err_, true, true};
  std::chrono::steady_clock::time_point now_{seconds(1000)};
  Progress progress_{console_, true, [this] { return now_; }};
};

TEST_F(ProgressTest, AJobFromItsStart) {
  EXPECT_THAT(Runs(), HasSubstr("job 7 on cpu0"));
  EXPECT_THAT(Report(0.00, milliseconds(100)), Not(HasSubstr("ETA")));
  EXPECT_THAT(Report(0.02, milliseconds(1000)), Not(HasSubstr("ETA"))) << "nothing to compare with yet";
  EXPECT_THAT(Report(0.04, milliseconds(1000)), AllOf(HasSubstr(" 4 %   2 %/s"), HasSubstr("ETA 48 s")));
  EXPECT_THAT(Report(0.52, seconds(24)), AllOf(HasSubstr(" 52 %   2 %/s"), HasSubstr("ETA 24 s")));
}

// The watch begins an hour after the job: its state and how far it is come at once.
TEST_F(ProgressTest, AJobThatRanLongBefore) {
  Runs();
  constexpr double kPerSecond = 1.0 / (24 * 3600);
  double done = 3600 * kPerSecond;
  EXPECT_THAT(Report(done - 10 * kPerSecond, milliseconds(1)), Not(HasSubstr("ETA"))) << "it may be old";
  EXPECT_THAT(Report(done, milliseconds(100)), Not(HasSubstr("ETA")));
  EXPECT_THAT(Report(done += 6 * kPerSecond, seconds(6)), AllOf(HasSubstr("4.2 %/h"), HasSubstr("ETA 22 h 59 m")));
}

// The first report comes when bytes are there already, after a time that nobody has measured.
TEST_F(ProgressTest, ARateIsOfTheBytesThatCameMeanwhile) {
  EXPECT_THAT(Download(50'000'000, milliseconds(0)), Not(HasSubstr("/s")));
  EXPECT_THAT(Download(60'000'000, milliseconds(100)), HasSubstr("60.0 MB   100.0 MB/s"));
  EXPECT_THAT(Download(80'000'000, milliseconds(900)), AllOf(HasSubstr("30.0 MB/s"), HasSubstr("ETA 667 ms")));
  EXPECT_THAT(Download(10'000'000, milliseconds(100)), Not(HasSubstr("/s"))) << "another transfer";
  EXPECT_THAT(Download(20'000'000, milliseconds(100)), HasSubstr("100.0 MB/s"));
}

TEST_F(ProgressTest, RatesOfEverySize) {
  Runs();
  Report(0, milliseconds(1));
  Report(0.0001, milliseconds(1));
  EXPECT_THAT(Report(0.5001, seconds(1)), HasSubstr("50 %/s"));
  Runs();
  Report(0, milliseconds(100));
  Report(0.0001, milliseconds(100));
  EXPECT_THAT(Report(0.0003, seconds(10)), HasSubstr("0.12 %/min"));
  Runs();
  Report(0, milliseconds(100));
  Report(1e-12, milliseconds(100));
  EXPECT_THAT(Report(2e-12, seconds(10)), Not(HasSubstr("ETA"))) << "more than a year is no time to wait";
}

TEST_F(ProgressTest, ReportsThatDoNotGoOnTellNoRate) {
  Runs();
  for (int i = 0; i < 5; ++i) EXPECT_THAT(Report(0.25, seconds(1)), AllOf(HasSubstr("25 %"), Not(HasSubstr("ETA"))));
}

}  // namespace
}  // namespace hotplate::cli
