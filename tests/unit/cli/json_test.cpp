// JSON for scripts: times, counts and bytes as numbers, ids and seeds as texts.
#include "client/cli/terminal/json.h"

#include <gtest/gtest.h>

#include "hotplate/v1/catalogue.pb.h"
#include "hotplate/v1/jobs.pb.h"
#include "hotplate/v1/server.pb.h"

namespace hotplate::cli {
namespace {

TEST(JsonTest, TimesAndBytesAreNumbers) {
  v1::Receipt receipt;
  receipt.set_job_id("7");
  receipt.set_kernel_ns(18'446'744'073'709'551'615u);
  receipt.set_bytes_moved(16);
  receipt.set_bytes_per_second(882.5);
  receipt.mutable_seal_time()->set_seconds(1'795'292'833);
  receipt.mutable_seal_time()->set_nanos(250'000'000);
  const std::string json = ToJson(receipt);
  for (const char* member : {"\"jobId\":\"7\"", "\"kernelNs\":18446744073709551615", "\"bytesMoved\":16",
                             "\"bytesPerSecond\":882.5", "\"sealTime\":1795292833.25", "\"cold\":false",
                             "\"energyState\":\"ENERGY_STATE_UNSPECIFIED\"", "\"throttleReasons\":[]"})
    EXPECT_NE(json.find(member), std::string::npos) << member << " in " << json;
  EXPECT_EQ(json.find("compileNs"), std::string::npos) << "what was not measured is absent";
}

TEST(JsonTest, SeedsAreTexts) {
  v1::Job job;
  (*job.mutable_params())["seed"].set_int_value(7);
  (*job.mutable_params())["n"].set_int_value(7);
  job.mutable_receipt()->set_seed(9'223'372'036'854'775'807u);
  const std::string json = ToJson(job);
  EXPECT_NE(json.find(R"("params":{"n":{"intValue":7},"seed":{"intValue":"7"}})"), std::string::npos) << json;
  EXPECT_NE(json.find(R"("seed":"9223372036854775807")"), std::string::npos) << json;
  v1::ParamSpec spec;
  spec.set_name("seed");
  spec.mutable_default_value()->set_int_value(3);
  EXPECT_NE(ToJson(spec).find(R"("defaultValue":{"intValue":"3"})"), std::string::npos) << ToJson(spec);
  spec.set_name("n");
  EXPECT_NE(ToJson(spec).find(R"("defaultValue":{"intValue":3})"), std::string::npos) << ToJson(spec);
}

TEST(JsonTest, DurationsAreSeconds) {
  v1::GetServerInfoResponse info;
  const auto idle = [&](std::int64_t whole, std::int32_t nanos) {
    info.mutable_idle_timeout()->set_seconds(whole);
    info.mutable_idle_timeout()->set_nanos(nanos);
    const std::string json = ToJson(info);
    const std::size_t begin = json.find("\"idleTimeout\":") + 14;
    return json.substr(begin, json.find_first_of(",}", begin) - begin);
  };
  EXPECT_EQ(idle(900, 0), "900");
  EXPECT_EQ(idle(0, 1'500'000), "0.0015");
  EXPECT_EQ(idle(0, 0), "0");
  EXPECT_EQ(idle(-2, -500'000'000), "-2.5");
}

TEST(JsonTest, WhatIsNoNumberIsAText) {
  v1::Progress progress;
  progress.set_fraction(std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(ToJson(progress), R"({"fraction":"NaN"})");
  EXPECT_EQ(JsonNumber(-std::numeric_limits<double>::infinity()), "\"-Infinity\"");
  EXPECT_EQ(JsonNumber(0.1), "0.1");
  EXPECT_EQ(JsonNumber(1e300), "1e300");
}

TEST(JsonTest, NestedRepeatedAndMissingThings) {
  v1::JobUpdate update;
  update.set_tag(5);
  EXPECT_EQ(ToJson(update), R"({"tag":"5","jobId":"","task":0,"sequence":0})");
  v1::JobResult::Output output;
  output.mutable_signature()->set_dtype(v1::DTYPE_FLOAT64);
  output.mutable_signature()->add_shape(3);
  output.set_inline_("\x01\x02");
  EXPECT_EQ(ToJson(output), R"({"name":"","signature":{"dtype":"DTYPE_FLOAT64","shape":[3]},"inline":"AQI="})");
  output.mutable_signature()->set_dtype(static_cast<v1::DType>(99));
  EXPECT_NE(ToJson(output).find("\"dtype\":99"), std::string::npos) << "of a newer daemon";
}

}  // namespace
}  // namespace hotplate::cli
