#include "client/cli/journals/start_forecasts.h"

#include <gtest/gtest.h>

#include "hotplate/v1/jobs.pb.h"

namespace hotplate::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

PastJob Foretold(nanoseconds foretold, nanoseconds real) {
  v1::JobEnd end;
  v1::Receipt& receipt = *end.mutable_result()->mutable_receipt();
  receipt.set_queue_forecast_ns(static_cast<std::uint64_t>(foretold.count()));
  receipt.set_queue_ns(static_cast<std::uint64_t>(real.count()));
  PastJob job;
  job.end = end.SerializeAsString();
  return job;
}

TEST(StartForecastsTest, WithinAFactorOfTwo) {
  const auto good = [](int foretold, int real) {
    return ForetoldWaitOf(Foretold(milliseconds(foretold), milliseconds(real)))->IsWithinTwice();
  };
  EXPECT_TRUE(good(100, 100));
  EXPECT_TRUE(good(100, 200));
  EXPECT_TRUE(good(100, 50));
  EXPECT_FALSE(good(100, 201));
  EXPECT_FALSE(good(100, 49));
  EXPECT_TRUE(good(1, 15)) << "below 10 ms nobody waits";
  EXPECT_FALSE(good(1, 25));
}

TEST(StartForecastsTest, OnlyThoseCountOfWhichSomethingWasForetold) {
  StartForecasts forecasts;
  EXPECT_EQ(forecasts.Text(), "");
  PastJob unknown;
  forecasts.Add(unknown);
  v1::JobEnd end;
  end.mutable_result()->mutable_receipt()->set_queue_ns(1);
  unknown.end = end.SerializeAsString();
  forecasts.Add(unknown);
  EXPECT_EQ(forecasts.Text(), "");
  for (const int real : {100, 150, 300}) forecasts.Add(Foretold(milliseconds(100), milliseconds(real)));
  EXPECT_EQ(forecasts.Text(), "start forecasts: 67 % of 3 within a factor of 2");
}

}  // namespace
}  // namespace hotplate::cli
