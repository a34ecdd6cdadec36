#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "kernels/base/status.h"
#include "server/wire/catalogue.h"
#include "server/wire/result.h"
#include "server/wire/status.h"
#include "server/wire/values.h"

namespace hotplate::wire {
namespace {

using testing::HasSubstr;

google::rpc::Status DetailsOf(const grpc::Status& status) {
  google::rpc::Status details;
  EXPECT_TRUE(details.ParseFromString(status.error_details()));
  return details;
}

TEST(WireStatusTest, CarriesCodeSentenceAndViolations) {
  const grpc::Status status = ToGrpc(
      Refused(absl::StatusCode::kInvalidArgument, {{"params.alpha", "alpha is NaN"}, {"inputs.x", "x is missing"}}));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("alpha is NaN"));
  const google::rpc::Status details = DetailsOf(status);
  EXPECT_EQ(details.code(), 3);
  ASSERT_EQ(details.details_size(), 1);
  google::rpc::BadRequest bad;
  ASSERT_TRUE(details.details(0).UnpackTo(&bad));
  ASSERT_EQ(bad.field_violations_size(), 2);
  EXPECT_EQ(bad.field_violations(1).field(), "inputs.x");
}

TEST(WireStatusTest, SaysWhenToRetryOnlyWhereThatHelps) {
  google::rpc::RetryInfo retry;
  const google::rpc::Status full = DetailsOf(ToGrpc(absl::ResourceExhaustedError("the queue is full")));
  ASSERT_EQ(full.details_size(), 1);
  ASSERT_TRUE(full.details(0).UnpackTo(&retry));
  EXPECT_GT(retry.retry_delay().seconds(), 0);
  const absl::Status no_memory = Refused(absl::StatusCode::kResourceExhausted, {{"memory", "0 bytes are free"}});
  EXPECT_TRUE(RetrySeconds(no_memory).has_value());
  EXPECT_EQ(DetailsOf(ToGrpc(no_memory)).details_size(), 2);
  EXPECT_EQ(RetrySeconds(Refused(absl::StatusCode::kResourceExhausted, {{"device", "it fits none"}})), std::nullopt);
  EXPECT_EQ(DetailsOf(ToGrpc(absl::NotFoundError("no job 7"))).details_size(), 0);
}

TEST(WireStatusTest, FitsInTrailingMetadataWhateverIsWrong) {
  std::vector<FieldViolation> many;
  for (int i = 0; i < 300; ++i) many.push_back({std::string(1000, 'f'), std::string(5000, 'd')});
  const absl::Status status = Refused(absl::StatusCode::kInvalidArgument, many);
  const grpc::Status wire = ToGrpc(status);
  EXPECT_LT(wire.error_message().size() + wire.error_details().size() * 4 / 3, 7000u);
  EXPECT_LE(ToJobError(status).violations_size(), 10);
  EXPECT_THAT(ToJobError(status).violations(ToJobError(status).violations_size() - 1).description(),
              HasSubstr("293 more"));
}

TEST(WireStatusTest, NeverCutsACharacterInTwo) {
  std::string text;
  for (int i = 0; i < 2000; ++i) text += "é";
  const v1::JobError error = ToJobError(absl::InternalError(ToAbsl("x" + text)));
  v1::JobError parsed;
  EXPECT_TRUE(parsed.ParseFromString(error.SerializeAsString()));
  EXPECT_TRUE(error.message().ends_with("é..."));
}

TEST(WireTypesTest, TimesAndDurations) {
  google::protobuf::Timestamp timestamp;
  ToProto(core::WallTime(std::chrono::milliseconds(-1500)), timestamp);
  EXPECT_EQ(timestamp.seconds(), -2);
  EXPECT_EQ(timestamp.nanos(), 500'000'000);
  google::protobuf::Duration duration;
  ToProto(core::nanoseconds(1'500'000'001), duration);
  EXPECT_EQ(duration.seconds(), 1);
  EXPECT_EQ(duration.nanos(), 500'000'001);
}

ReceiptFacts Facts() {
  ReceiptFacts facts;
  DeviceInfo device;
  device.id = "cpu0";
  device.name = "Some CPU";
  facts.devices["cpu0"] = device;
  facts.versions.set_hotplate("0.1.0");
  return facts;
}

core::JobEnd CompletedEnd() {
  core::JobEnd end;
  end.state = core::JobState::kCompleted;
  const std::shared_ptr<HostBuffer> buffer = HostBuffer::Allocate(8);
  std::fill(buffer->bytes().begin(), buffer->bytes().end(), std::byte{1});
  end.outputs.push_back({"y", {DType::kFloat32, {2}}, buffer, {}});
  end.outputs.push_back({"z", {DType::kFloat32, {1000}}, nullptr, core::ArrayId("a3")});
  core::JobReceipt receipt;
  receipt.device = "cpu0";
  receipt.queue = core::nanoseconds(10);
  receipt.total = core::nanoseconds(100);
  receipt.kernel = core::nanoseconds(50);
  receipt.store = core::nanoseconds(7);
  receipt.cost = {.flop = 200, .bytes = 400};
  receipt.threads = 2;
  receipt.deterministic = true;
  receipt.seed = 9;
  end.receipt = receipt;
  return end;
}

TEST(WireResultTest, EndWithOutputsAndReceipt) {
  v1::JobEnd out;
  ToProto(CompletedEnd(), core::JobId("7"), "selu", Facts(), out);
  EXPECT_EQ(out.state(), v1::COMPLETED);
  EXPECT_FALSE(out.has_error());
  ASSERT_EQ(out.result().outputs_size(), 2);
  EXPECT_EQ(out.result().outputs(0).inline_(), std::string(8, '\1'));
  EXPECT_EQ(out.result().outputs(1).array_id(), "a3");
  const v1::Receipt& receipt = out.result().receipt();
  EXPECT_EQ(receipt.job_id(), "7");
  EXPECT_EQ(receipt.kernel(), "selu");
  EXPECT_EQ(receipt.device_name(), "Some CPU");
  EXPECT_EQ(receipt.kernel_ns(), 50u);
  EXPECT_EQ(receipt.store_ns(), 7u);
  EXPECT_FALSE(receipt.has_load_ns());
  EXPECT_DOUBLE_EQ(receipt.flop_per_second(), 200 / 50e-9);
  EXPECT_DOUBLE_EQ(receipt.bytes_per_second(), 400 / 50e-9);
  EXPECT_EQ(receipt.versions().hotplate(), "0.1.0");
  EXPECT_TRUE(receipt.deterministic());
  EXPECT_EQ(receipt.seed(), 9u);
  // What was not measured is absent.
  EXPECT_FALSE(receipt.has_host_to_device_ns());
  EXPECT_FALSE(receipt.has_energy_joules());
}

TEST(WireResultTest, HowTheDeviceWasGoesOver) {
  core::JobEnd end = CompletedEnd();
  v1::JobEnd out;
  ToProto(end, core::JobId("7"), "selu", Facts(), out);
  EXPECT_EQ(out.result().receipt().energy_state(), v1::ENERGY_NOT_MEASURABLE);
  EXPECT_FALSE(out.result().receipt().has_throttled());
  EXPECT_FALSE(out.result().receipt().has_other_processes());
  EXPECT_FALSE(out.result().receipt().device_shared());

  core::DeviceConditions& conditions = end.receipt->conditions;
  conditions.energy_state = core::EnergyState::kMeasured;
  conditions.energy_joules = 120;
  conditions.mean_watts = 400;
  conditions.max_watts = 500;
  conditions.sm_clock_mhz = 1980;
  conditions.throttled = true;
  conditions.throttle_reasons = {"power cap"};
  conditions.ecc_errors = false;
  conditions.xid_errors = true;
  conditions.other_processes = 2;
  out.Clear();
  ToProto(end, core::JobId("7"), "selu", Facts(), out);
  const v1::Receipt& receipt = out.result().receipt();
  EXPECT_EQ(receipt.energy_state(), v1::ENERGY_MEASURED);
  EXPECT_EQ(receipt.energy_joules(), 120);
  EXPECT_EQ(receipt.mean_watts(), 400);
  EXPECT_EQ(receipt.max_watts(), 500);
  EXPECT_EQ(receipt.sm_clock_mhz(), 1980u);
  EXPECT_TRUE(receipt.throttled());
  ASSERT_EQ(receipt.throttle_reasons_size(), 1);
  EXPECT_EQ(receipt.throttle_reasons(0), "power cap");
  EXPECT_TRUE(receipt.has_ecc_errors());
  EXPECT_FALSE(receipt.ecc_errors());
  EXPECT_TRUE(receipt.xid_errors());
  EXPECT_EQ(receipt.other_processes(), 2u);
  EXPECT_TRUE(receipt.device_shared()) << "with processes of others";
}

TEST(WireResultTest, ASampleGoesOverWithoutWhatIsNotThere) {
  core::TelemetrySample sample;
  sample.devices.resize(2);
  sample.devices[0].device = "cpu0";
  DeviceMetrics& metrics = sample.devices[1].metrics;
  metrics.throttle_reasons = {"thermal"};
  metrics.other_processes = 0;
  metrics.power_throttled_ns = 11;
  metrics.thermal_throttled_ns = 12;
  metrics.ecc_errors = 1;
  metrics.xid_errors = 2;
  metrics.last_xid = 79;
  metrics.of_whole_gpu = true;
  metrics.pool_reserved_bytes = 5;
  metrics.pool_used_bytes = 0;
  metrics.pool_peak_bytes = 4;
  metrics.pinned_bytes = 7;
  metrics.pinned_peak_bytes = 6;
  metrics.resident_bytes = 8;
  metrics.resident_arrays = 0;
  v1::TelemetrySample out;
  ToProto(sample, out);
  ASSERT_EQ(out.devices_size(), 2);
  const v1::DeviceSample &cpu = out.devices(0), &gpu = out.devices(1);
  EXPECT_FALSE(cpu.has_other_processes() || cpu.has_power_throttled_ns() || cpu.has_thermal_throttled_ns() ||
               cpu.has_ecc_errors() || cpu.has_xid_errors() || cpu.has_last_xid() || cpu.of_whole_gpu());
  ASSERT_EQ(gpu.throttle_reasons_size(), 1);
  EXPECT_EQ(gpu.throttle_reasons(0), "thermal");
  EXPECT_TRUE(gpu.has_other_processes());
  EXPECT_EQ(gpu.other_processes(), 0u);
  EXPECT_EQ(gpu.power_throttled_ns(), 11u);
  EXPECT_EQ(gpu.thermal_throttled_ns(), 12u);
  EXPECT_EQ(gpu.ecc_errors(), 1u);
  EXPECT_EQ(gpu.xid_errors(), 2u);
  EXPECT_EQ(gpu.last_xid(), 79u);
  EXPECT_TRUE(gpu.of_whole_gpu());
  EXPECT_FALSE(cpu.has_pool_reserved_bytes() || cpu.has_pool_used_bytes() || cpu.has_pool_peak_bytes() ||
               cpu.has_pinned_bytes() || cpu.has_pinned_peak_bytes() || cpu.has_resident_bytes() ||
               cpu.has_resident_arrays());
  EXPECT_EQ(gpu.pool_reserved_bytes(), 5u);
  EXPECT_TRUE(gpu.has_pool_used_bytes());
  EXPECT_EQ(gpu.pool_used_bytes(), 0u);
  EXPECT_EQ(gpu.pool_peak_bytes(), 4u);
  EXPECT_EQ(gpu.pinned_bytes(), 7u);
  EXPECT_EQ(gpu.pinned_peak_bytes(), 6u);
  EXPECT_EQ(gpu.resident_bytes(), 8u);
  EXPECT_TRUE(gpu.has_resident_arrays());
}

TEST(WireResultTest, AFailedEndHasItsErrorAndReceiptButNoOutputs) {
  core::JobEnd end = CompletedEnd();
  end.state = core::JobState::kFailed;
  end.error = absl::InternalError("it broke");
  v1::JobEnd out;
  ToProto(end, core::JobId("7"), "selu", Facts(), out);
  EXPECT_EQ(out.state(), v1::FAILED);
  EXPECT_EQ(out.error().message(), "it broke");
  EXPECT_EQ(out.result().outputs_size(), 0);
  EXPECT_TRUE(out.result().has_receipt());
}

TEST(WireCatalogueTest, EverySpecOfTheCatalogueGoesOver) {
  const v1::CatalogueFile file = ToCatalogueFile(BuiltinCatalog(), "1.2.3");
  EXPECT_EQ(file.hotplate_version(), "1.2.3");
  ASSERT_EQ(static_cast<std::size_t>(file.kernels_size()), BuiltinCatalog().specs().size());
  for (int i = 0; i < file.kernels_size(); ++i) {
    const KernelSpec& spec = *BuiltinCatalog().specs()[static_cast<std::size_t>(i)];
    EXPECT_EQ(file.kernels(i).name(), spec.name());
    EXPECT_EQ(file.kernels(i).hash(), spec.Hash());
    EXPECT_EQ(static_cast<std::size_t>(file.kernels(i).params_size()), spec.params().size());
    EXPECT_EQ(static_cast<std::size_t>(file.kernels(i).inputs_size()), spec.inputs().size());
  }
}

}  // namespace
}  // namespace hotplate::wire
