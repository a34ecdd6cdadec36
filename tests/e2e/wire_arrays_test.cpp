// Arrays, as a client may ask for them that our own never would, and what becomes of them when it goes.
#include <cstdint>
#include <string>
#include <vector>

#include "tests/e2e/wire_fixture.h"

namespace hotplate::e2e {
namespace {

using grpc::StatusCode;

TEST_F(WireTest, ArraysOfAbsurdShapesAreRefusedBeforeMemoryIsTaken) {
  v1::Array array;
  const std::int64_t large = std::int64_t{1} << 60;
  const struct {
    std::vector<std::int64_t> shape;
    StatusCode code;
    const char* why;
  } absurd[] = {
      {{large},
       StatusCode::RESOURCE_EXHAUSTED,
       "float32 [1152921504606846976] has 4611686018427387904 bytes; the limit "},
      {{large, large}, StatusCode::INVALID_ARGUMENT, "float32 [1152921504606846976, 1152921504606846976] overflows"},
      {{0, large, 4, 4}, StatusCode::INVALID_ARGUMENT, "float32 [0, 1152921504606846976, 4, 4] overflows"},
      {{-1}, StatusCode::INVALID_ARGUMENT, "the shape [-1] has a negative size"},
      {{4, -4}, StatusCode::INVALID_ARGUMENT, "the shape [4, -4] has a negative size"},
      {{1, 1, 1, 1, 1, 1, 1, 1, 1}, StatusCode::INVALID_ARGUMENT, "the shape has 9 dimensions; at most 8 are possible"},
  };
  for (const auto& [shape, code, why] : absurd) {
    const grpc::Status status = Create(shape, array);
    EXPECT_EQ(status.error_code(), code) << status.error_message();
    EXPECT_NE(status.error_message().find(why), std::string::npos) << status.error_message();
  }
  EXPECT_EQ(ArrayBytes(), 0U);
}

TEST_F(WireTest, AnUploadIsBoundedByItsArray) {
  v1::Array array;
  ASSERT_TRUE(Create({1024}, array).ok());
  EXPECT_FALSE(Write(array.id(), 0, 4097).ok());
  EXPECT_FALSE(Write(array.id(), 8, 16).ok()) << "offset 8 of an array without a byte";
  EXPECT_FALSE(Write(array.id(), ~std::uint64_t{0}, 16).ok());
  EXPECT_EQ(Write("no-such-array", 0, 16).error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(Describe(array.id()).state(), v1::ARRAY_STATE_WRITING);

  v1::ReadArrayRequest read;
  read.set_array_id(array.id());
  const auto context = caller_->Context();
  const auto reader = arrays_->Read(context.get(), read);
  v1::ReadArrayResponse chunk;
  EXPECT_FALSE(reader->Read(&chunk));
  EXPECT_EQ(reader->Finish().error_code(), StatusCode::FAILED_PRECONDITION);

  const std::uint64_t there = Describe(array.id()).bytes_written();
  ASSERT_TRUE(Write(array.id(), there, 4096 - there).ok());
  EXPECT_EQ(Describe(array.id()).state(), v1::ARRAY_STATE_READY);
  EXPECT_FALSE(Write(array.id(), 0, 16).ok()) << "a READY array is not written again";
}

TEST_F(WireTest, AnUploadThatIsCutOffGoesOnWhereItStopped) {
  v1::Array array;
  ASSERT_TRUE(Create({1 << 20}, array).ok());  // 4 MiB
  {
    const auto context = caller_->Context();
    v1::WriteArrayResponse response;
    const auto writer = arrays_->Write(context.get(), &response);
    v1::WriteArrayRequest request;
    request.set_array_id(array.id());
    request.set_data(std::string(1 << 20, 'h'));
    ASSERT_TRUE(writer->Write(request));
    ASSERT_TRUE(WaitUntil([&] { return Describe(array.id()).bytes_written() > 0; }));
    context->TryCancel();
    EXPECT_EQ(writer->Finish().error_code(), StatusCode::CANCELLED);
  }
  std::uint64_t offset = 0;
  // The cut may still be on its way when the next call comes.
  ASSERT_TRUE(WaitUntil([&] {
    offset = Describe(array.id()).bytes_written();
    return Write(array.id(), offset, 1 << 20).ok();
  }));
  EXPECT_EQ(offset, std::uint64_t{1} << 20);
  for (offset += 1 << 20; offset < 4U << 20; offset += 1 << 20) ASSERT_TRUE(Write(array.id(), offset, 1 << 20).ok());
  EXPECT_EQ(Describe(array.id()).state(), v1::ARRAY_STATE_READY);
}

TEST_F(WireTest, AnUploadThatIsCutOffIsFreedWithItsSession) {
  Start({"--session-timeout", "1s"});
  v1::Array array;
  ASSERT_TRUE(Create({1 << 20}, array).ok());
  ASSERT_TRUE(Write(array.id(), 0, 1 << 20).ok());
  // Sampled now and then, and asked by another session, so that the asking keeps nothing alive.
  const auto sampled = [&] {
    v1::TelemetrySnapshotResponse response;
    const grpc::Status status = telemetry_->Snapshot(Caller::Of(*daemon_).Context().get(), {}, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.samples().empty() ? ~std::uint64_t{0} : response.samples().rbegin()->daemon().array_bytes();
  };
  EXPECT_TRUE(WaitUntil([&] { return sampled() == 4U << 20; }));
  EXPECT_TRUE(WaitUntil([&] { return sampled() == 0; })) << daemon_->Log();
  EXPECT_EQ(ArrayBytes(), 0U);
}

TEST_F(WireTest, ClosingASessionFreesItsArraysAndCancelsItsJobs) {
  v1::Array array;
  ASSERT_TRUE(Create({1024}, array).ok());
  EXPECT_EQ(ArrayBytes(), 4096U);
  const auto context = caller_->Context();
  const auto stream = jobs_->Run(context.get());
  v1::RunJobsRequest request;
  request.add_start()->set_tag(1);
  *request.mutable_start(0)->mutable_job() = Integral(kForHours);
  ASSERT_TRUE(stream->Write(request));
  v1::JobState last = v1::JOB_STATE_UNSPECIFIED;
  bool closed = false;
  v1::RunJobsResponse response;
  while (last != v1::CANCELLED && stream->Read(&response)) {
    for (const v1::JobUpdate& update : response.updates()) {
      if (update.has_end()) last = update.end().state();
      if (update.has_state_change() && update.state_change().state() == v1::RUNNING && !closed) {
        closed = true;
        v1::CloseSessionResponse answer;
        ASSERT_TRUE(server_->CloseSession(caller_->Context().get(), {}, &answer).ok());
      }
    }
  }
  EXPECT_EQ(last, v1::CANCELLED);
  EXPECT_TRUE(WaitUntil([&] { return ArrayBytes() == 0; }));
  context->TryCancel();
  stream->Finish();
}

}  // namespace
}  // namespace hotplate::e2e
