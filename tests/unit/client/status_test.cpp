// What the wire says and what an absl::Status keeps of it.
#include "client/lib/status.h"

#include <gtest/gtest.h>

#include "client/lib/client.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace hotplate::client {
namespace {

grpc::Status WithDetails(grpc::StatusCode code, const std::string& text, const google::rpc::Status& details) {
  return {code, text, details.SerializeAsString()};
}

TEST(StatusTest, EveryCodeKeepsItsNumberAndSentence) {
  for (int code = 0; code <= 16; ++code) {
    const absl::Status status = FromGrpc(grpc::Status(static_cast<grpc::StatusCode>(code), code == 0 ? "" : "why"));
    EXPECT_EQ(static_cast<int>(status.code()), code);
    EXPECT_EQ(status.message(), code == 0 ? "" : "why");
  }
  v1::JobError newer;
  newer.set_code(99);
  EXPECT_EQ(FromJobError(newer).code(), absl::StatusCode::kUnknown);
}

TEST(StatusTest, ViolationsAndTheRetryHintComeThrough) {
  google::rpc::BadRequest bad_request;
  for (const char* field : {"params.alpha", "inputs.x"}) {
    auto* violation = bad_request.add_field_violations();
    violation->set_field(field);
    violation->set_description(std::string("wrong ") + field);
  }
  google::rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_seconds(2);
  retry.mutable_retry_delay()->set_nanos(500'000'000);
  google::rpc::Status details;
  details.add_details()->PackFrom(bad_request);
  details.add_details()->PackFrom(retry);
  const absl::Status status = FromGrpc(WithDetails(grpc::StatusCode::INVALID_ARGUMENT, "no", details));

  const std::vector<v1::FieldViolation> violations = Violations(status);
  ASSERT_EQ(violations.size(), 2u);
  EXPECT_EQ(violations[0].field(), "params.alpha");
  EXPECT_EQ(violations[1].description(), "wrong inputs.x");
  EXPECT_EQ(RetryAfter(status), nanoseconds(2'500'000'000));
  EXPECT_FALSE(EndOf(status).has_value());
}

TEST(StatusTest, BrokenDetailsLeaveTheStatus) {
  const absl::Status status = FromGrpc(grpc::Status(grpc::StatusCode::NOT_FOUND, "why", "\xff\xff\xff"));
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(Violations(status).empty());
  google::rpc::Status details;
  auto* any = details.add_details();
  any->set_type_url("type.googleapis.com/google.rpc.BadRequest");
  any->set_value("\xff\xff");
  EXPECT_TRUE(Violations(FromGrpc(WithDetails(grpc::StatusCode::NOT_FOUND, "why", details))).empty());
}

TEST(StatusTest, AnAbsurdRetryHintIsBounded) {
  google::rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_seconds(INT64_MAX);
  google::rpc::Status details;
  details.add_details()->PackFrom(retry);
  EXPECT_EQ(RetryAfter(FromGrpc(WithDetails(grpc::StatusCode::UNAVAILABLE, "", details))), std::chrono::hours(24));
  EXPECT_FALSE(RetryAfter(absl::UnavailableError("")).has_value());
}

TEST(StatusTest, TheEndOfAJobTravelsWithItsError) {
  v1::JobEnd end;
  end.set_state(v1::FAILED);
  end.mutable_error()->set_code(13);
  end.mutable_error()->set_message("it broke");
  end.mutable_result()->mutable_receipt()->set_queue_ns(5);
  const absl::Status status = FromJobEnd(end, "17");
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(status.message(), "it broke");
  ASSERT_TRUE(EndOf(status).has_value());
  EXPECT_EQ(EndOf(status)->state(), v1::FAILED);
  EXPECT_EQ(EndOf(status)->result().receipt().queue_ns(), 5u);
  EXPECT_EQ(JobIdOf(status), "17");
}

TEST(StatusTest, TheIdOfAJobIsToldWhereItIsKnown) {
  const absl::Status late = AboutJob(absl::DeadlineExceededError("too late"), "17");
  EXPECT_EQ(JobIdOf(late), "17");
  EXPECT_EQ(late.message(), "too late");
  EXPECT_FALSE(EndOf(late).has_value());
  EXPECT_EQ(JobIdOf(AboutJob(absl::DeadlineExceededError("too late"), "")), "");
  EXPECT_TRUE(AboutJob(absl::OkStatus(), "17").ok());
  EXPECT_EQ(JobIdOf(absl::OkStatus()), "");
}

TEST(StatusTest, AnEndWithoutAnErrorStillHasACode) {
  v1::JobEnd end;
  end.set_state(v1::CANCELLED);
  EXPECT_EQ(FromJobEnd(end, "17").code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(FromJobEnd(end, "17").message(), "job 17 ended CANCELLED");
  end.set_state(v1::TIMEOUT);
  EXPECT_EQ(FromJobEnd(end, "17").code(), absl::StatusCode::kDeadlineExceeded);
  end.set_state(v1::FAILED);
  EXPECT_EQ(FromJobEnd(end, "17").code(), absl::StatusCode::kUnknown);
  end.set_state(v1::COMPLETED);
  EXPECT_TRUE(FromJobEnd(end, "17").ok());
}

}  // namespace
}  // namespace hotplate::client
