#include "server/core/schedule/standing.h"

#include <gtest/gtest.h>

#include "server/core/schedule/start_bias.h"

namespace hotplate::core {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kGb = 1'000'000'000;

class StandingTest : public ::testing::Test {
 protected:
  StandingTest() {
    AddDevice(1);
    standing_.own = Entry("own", seconds(1));
  }

  void AddDevice(std::uint32_t lanes) {
    standing_.devices.push_back({.id = "gpu" + std::to_string(standing_.devices.size()),
                                 .places = lanes,
                                 .free_places = lanes,
                                 .room = {.total_bytes = 10 * kGb, .free_bytes = 10 * kGb, .reserved_bytes = 0}});
  }
  static Standing::Waiting Entry(const std::string& id, std::optional<nanoseconds> time, std::uint64_t bytes = 0,
                                 unsigned device = 0) {
    Standing::Waiting entry;
    entry.who = {JobId(id), "kernel"};
    entry.needs = {{.device = device, .scratch_bytes = 0, .peak_bytes = bytes, .extra_bytes = bytes}};
    entry.time = time;
    return entry;
  }
  void Runs(const std::string& id, std::optional<nanoseconds> left, std::uint64_t bytes = 0, unsigned device = 0) {
    Standing::Running one;
    one.who = {JobId(id), "kernel"};
    one.device = device;
    one.beside = true;
    one.occupant = {bytes, 0};
    one.left = left;
    standing_.running.push_back(one);
    --standing_.devices[device].free_places;
    standing_.devices[device].room.Take(bytes);
  }
  void Ahead(Standing::Waiting entry) { standing_.first_ahead.push_back(std::move(entry)); }
  std::optional<nanoseconds> Start() const { return ForecastStart(standing_).starts_in; }

  Standing standing_;
};

TEST_F(StandingTest, AnEmptyDeviceBeginsAtOnce) { EXPECT_EQ(Start(), nanoseconds::zero()); }

TEST_F(StandingTest, AfterWhatRunsAndThoseAhead) {
  Runs("1", seconds(4));
  Ahead(Entry("2", seconds(2)));
  Ahead(Entry("3", seconds(3)));
  EXPECT_EQ(Start(), seconds(9));
}

TEST_F(StandingTest, TheLaneThatIsFreeFirstTakesTheNext) {
  AddDevice(1);
  standing_.own.needs.push_back({.device = 1, .scratch_bytes = 0, .peak_bytes = 0, .extra_bytes = 0});
  Runs("1", seconds(10), 0, 0);
  Runs("2", seconds(1), 0, 1);
  EXPECT_EQ(Start(), seconds(1));
  Ahead(Entry("3", seconds(5), 0, 1));
  EXPECT_EQ(Start(), seconds(6));
  standing_.devices[1].lost = true;
  EXPECT_EQ(Start(), seconds(10)) << "a lost device takes nobody";
}

TEST_F(StandingTest, MemoryComesWithTheEndOfThoseThatHoldIt) {
  standing_.devices[0].places = standing_.devices[0].free_places = 3;
  Runs("1", seconds(2), kGb);
  Runs("2", seconds(7), 8 * kGb);
  standing_.own = Entry("own", seconds(1), 5 * kGb);
  EXPECT_EQ(Start(), seconds(7)) << "there is a lane, but no room before";
  standing_.own = Entry("own", seconds(1), 2 * kGb);
  EXPECT_EQ(Start(), seconds(2));
  standing_.own = Entry("own", seconds(1), 11 * kGb);
  const StartForecast never = ForecastStart(standing_);
  EXPECT_EQ(never.starts_in, std::nullopt);
  EXPECT_EQ(never.unknown, std::nullopt) << "nobody is to blame";
}

TEST_F(StandingTest, AnUnknownTimeThatMattersLeavesNoForecast) {
  Runs("1", std::nullopt);
  const StartForecast forecast = ForecastStart(standing_);
  EXPECT_EQ(forecast.starts_in, std::nullopt);
  ASSERT_TRUE(forecast.unknown);
  EXPECT_EQ(forecast.unknown->id.value(), "1");
}

TEST_F(StandingTest, AnUnknownTimeOnAnotherLaneDoesNotMatter) {
  standing_.devices[0].places = standing_.devices[0].free_places = 2;
  Runs("1", std::nullopt);
  Runs("2", seconds(3));
  EXPECT_EQ(Start(), seconds(3));
}

TEST_F(StandingTest, ManyAreTakenTogether) {
  standing_.devices[0].places = 2;
  standing_.devices[0].free_places = 2;
  Runs("1", seconds(2));
  Runs("2", seconds(2));
  standing_.all_listed = false;
  standing_.ahead.of_own_share = 1000;
  standing_.time_ahead = seconds(1000);
  EXPECT_EQ(Start(), seconds(502));
  standing_.unknown_ahead = 100;  // taken for as long as the others
  EXPECT_NEAR(static_cast<double>(Start()->count()) * 1e-9, 2 + 1000 / 0.9 / 2, 0.01);
  standing_.unknown_ahead = 500;
  EXPECT_EQ(Start(), std::nullopt);
}

TEST_F(StandingTest, TimesComeFromHistory) {
  RunTimes times;
  const RunTimes::Kind kind = times.KindOf("kernel", "", 0);
  times.Add(kind, seconds(8), false);
  Runs("1", std::nullopt);
  standing_.running[0].kind = kind;
  standing_.running[0].so_far = seconds(3);
  Ahead(Entry("2", std::nullopt));
  standing_.first_ahead[0].kind = kind;
  standing_.kinds_ahead = {{kind, 2.0}, {RunTimes::kNoKind, 1.0}};
  standing_.Foretell(times);
  EXPECT_EQ(standing_.running[0].left, seconds(5));
  EXPECT_EQ(standing_.first_ahead[0].time, seconds(8));
  EXPECT_EQ(standing_.time_ahead, seconds(16));
  EXPECT_EQ(standing_.unknown_ahead, 1);
  EXPECT_EQ(Start(), seconds(13));
}

TEST_F(StandingTest, AKindThatIsLimitedWaitsForItsOwn) {
  standing_.devices[0].places = standing_.devices[0].free_places = 2;
  Runs("1", seconds(6));
  standing_.running[0].kind = standing_.own.kind = 5;
  EXPECT_EQ(Start(), seconds(0));
  standing_.devices[0].most_of_kind = {{5, 1}};
  EXPECT_EQ(Start(), seconds(6));
  EXPECT_EQ(standing_.PlacesForEachOf(5), 2) << "one runs in two places";
  EXPECT_EQ(standing_.PlacesForEachOf(6), 1);
}

TEST_F(StandingTest, TheFewThatTakeLongCountInAQueue) {
  RunTimes times;
  const RunTimes::Kind kind = times.KindOf("kernel", "", 0);
  for (const int time : {1, 1, 1, 1, 13}) times.Add(kind, seconds(time), false);
  Ahead(Entry("1", std::nullopt));
  standing_.first_ahead[0].kind = kind;
  standing_.Foretell(times);
  EXPECT_EQ(standing_.first_ahead[0].time, seconds(3)) << "not the median";
}

TEST(StartBiasTest, TheMiddleOfTheNewestCounts) {
  StartBias bias;
  for (std::size_t i = 0; i + 1 < StartBias::kEnough; ++i) bias.Note(seconds(1), seconds(3));
  EXPECT_EQ(bias.Corrected(seconds(2)), seconds(2)) << "too few to tell";
  bias.Note(seconds(1), seconds(100));
  EXPECT_EQ(bias.Corrected(seconds(2)), seconds(6));
  bias.Note(milliseconds(1), milliseconds(9));
  EXPECT_EQ(bias.factor(), 3) << "nobody waited";
  for (std::size_t i = 0; i < StartBias::kNewest; ++i) bias.Note(seconds(4), seconds(2));
  EXPECT_EQ(bias.factor(), 0.5);
}

TEST(TimeLeftTest, ItsOwnWordIsBetterThanHistory) {
  EXPECT_EQ(TimeLeft(seconds(8), seconds(3), 0), seconds(5));
  EXPECT_EQ(TimeLeft(seconds(8), seconds(16), 0), seconds(2)) << "it takes longer than all before";
  EXPECT_EQ(TimeLeft(std::nullopt, seconds(3), 0), std::nullopt);
  EXPECT_EQ(TimeLeft(seconds(8), seconds(3), 0.75), seconds(1));
  EXPECT_EQ(TimeLeft(seconds(8), milliseconds(1), 0.75), seconds(8) - milliseconds(1)) << "too early to tell";
}

}  // namespace
}  // namespace hotplate::core
