// The exit codes, whole: scripts rely on them.
#include "client/cli/ending.h"

#include <gtest/gtest.h>

#include <sstream>

#include "client/cli/jobs/job_ending.h"
#include "client/lib/status.h"

namespace hotplate::cli {
namespace {

TEST(ExitCode, OfEachStatusCodeWithoutAJob) {
  const std::pair<absl::StatusCode, int> expected[] = {
      {absl::StatusCode::kOk, 0},
      {absl::StatusCode::kCancelled, 8},
      {absl::StatusCode::kUnknown, 1},
      {absl::StatusCode::kInvalidArgument, 4},
      {absl::StatusCode::kDeadlineExceeded, 3},
      {absl::StatusCode::kNotFound, 4},
      {absl::StatusCode::kAlreadyExists, 4},
      {absl::StatusCode::kPermissionDenied, 6},
      {absl::StatusCode::kResourceExhausted, 5},
      {absl::StatusCode::kFailedPrecondition, 5},
      {absl::StatusCode::kAborted, 5},
      {absl::StatusCode::kOutOfRange, 4},
      {absl::StatusCode::kUnimplemented, 4},
      {absl::StatusCode::kInternal, 1},
      {absl::StatusCode::kUnavailable, 3},
      {absl::StatusCode::kDataLoss, 3},
      {absl::StatusCode::kUnauthenticated, 6},
  };
  for (const auto& [code, exit] : expected)
    EXPECT_EQ(ExitCodeOf(code, v1::JOB_STATE_UNSPECIFIED), exit) << absl::StatusCodeToString(code);
}

TEST(ExitCode, TheStateOfAJobThatEndedDecides) {
  for (const absl::StatusCode code : {absl::StatusCode::kUnknown, absl::StatusCode::kInternal,
                                      absl::StatusCode::kResourceExhausted, absl::StatusCode::kDeadlineExceeded}) {
    EXPECT_EQ(ExitCodeOf(code, v1::COMPLETED), 0);
    EXPECT_EQ(ExitCodeOf(code, v1::FAILED), 1);
    EXPECT_EQ(ExitCodeOf(code, v1::TIMEOUT), 7);
    EXPECT_EQ(ExitCodeOf(code, v1::CANCELLED), 8);
  }
  // A job that goes on says nothing about how the command ended.
  EXPECT_EQ(ExitCodeOf(absl::StatusCode::kUnavailable, v1::RUNNING), 3);
}

TEST(ExitCode, ReadsTheJobsEndOutOfAStatus) {
  v1::JobEnd end;
  end.set_state(v1::TIMEOUT);
  EXPECT_EQ(ExitCodeOf(client::FromJobEnd(end, "7")), 7);
  end.set_state(v1::FAILED);
  end.mutable_error()->set_code(8);  // RESOURCE_EXHAUSTED: out of memory while it ran
  EXPECT_EQ(ExitCodeOf(client::FromJobEnd(end, "7")), 1);
}

// Also where the daemon could be asked again by then: what became of the call is not known.
TEST(ExitCode, ALostConnectionIsNoRefusal) {
  const absl::Status lost = Settled(client::MarkedLost(absl::UnavailableError("Socket closed")));
  EXPECT_EQ(ExitCodeOf(lost), kExitNoDaemon);
  const absl::Status drains = Settled(absl::UnavailableError("the daemon is draining"));
  EXPECT_EQ(ExitCodeOf(drains), kExitTryLater);
  std::ostringstream out, err;
  Console console{.out = out, .err = err};
  Report(console, lost);
  EXPECT_EQ(err.str().find("refused"), std::string::npos) << err.str();
  Report(console, drains);
  EXPECT_NE(err.str().find("refused: the daemon is draining"), std::string::npos) << err.str();
}

// 5 says "try later": a script that does so for what can never fit would do so for ever.
TEST(ExitCode, WhatCanNeverFitIsInvalid) {
  const auto refused = [](const char* field) {
    v1::JobError error;
    error.set_code(static_cast<int>(absl::StatusCode::kResourceExhausted));
    error.set_message("800000 bytes; the limit max-array-bytes is 524288");
    if (*field) error.add_violations()->set_field(field);
    return client::FromJobError(error);
  };
  EXPECT_EQ(ExitCodeOf(refused("outputs.out")), kExitInvalid);
  EXPECT_EQ(ExitCodeOf(refused("device")), kExitInvalid);
  EXPECT_EQ(ExitCodeOf(refused("memory")), kExitTryLater);
  EXPECT_EQ(ExitCodeOf(refused("")), kExitTryLater) << "a full queue";
}

TEST(ExitCode, WhatACommandKnowsBetterWins) {
  EXPECT_EQ(ExitCodeOf(UsageError("no")), 2);
  EXPECT_EQ(ExitCodeOf(WithExitCode(absl::UnavailableError("draining"), kExitTryLater)), 5);
  EXPECT_EQ(ExitCodeOf(WithExitCode(absl::CancelledError("interrupted"), kExitInterrupted)), 130);
  EXPECT_EQ(ExitCodeOf(Silent(kExitFailed)), 1);
  EXPECT_TRUE(Silent(kExitOk).ok());
  EXPECT_TRUE(WithExitCode(absl::OkStatus(), kExitFailed).ok());
}

std::string Reported(const absl::Status& status) {
  std::ostringstream out, err;
  Report({out, err}, status);
  EXPECT_EQ(out.str(), "");
  return err.str();
}

TEST(Report, SaysRefusedAndTheNextStep) {
  EXPECT_EQ(Reported(WithNextStep(absl::InvalidArgumentError("selu: --alpha: \"nan\" is not finite"),
                                  "hotplate describe selu")),
            "✗ refused: selu: --alpha: \"nan\" is not finite\n  hotplate describe selu\n");
  EXPECT_EQ(Reported(absl::UnavailableError("no daemon")), "✗ no daemon\n");
  EXPECT_EQ(Reported(Silent(kExitCancelled)), "");
  EXPECT_EQ(Reported(absl::OkStatus()), "");
}

TEST(Report, ListsTheFieldsThatTheMessageDoesNotName) {
  v1::JobError error;
  error.set_code(3);
  error.set_message("two things are wrong: alpha is too large");
  error.add_violations()->set_field("params.alpha");
  error.mutable_violations(0)->set_description("alpha is too large");
  error.add_violations()->set_field("inputs.x");
  error.mutable_violations(1)->set_description("x is missing");
  EXPECT_EQ(Reported(client::FromJobError(error)),
            "✗ refused: two things are wrong: alpha is too large\n  inputs.x: x is missing\n");
}

// A violation holds only the beginning of a long sentence.
TEST(Report, SaysASentenceOnceThatWasCut) {
  v1::JobError error;
  error.set_code(9);
  error.set_message("it can run on no GPU: a library is missing, and much is said of where it is not");
  error.add_violations()->set_field("device");
  error.mutable_violations(0)->set_description("it can run on no GPU: a library is mis...");
  EXPECT_EQ(Reported(client::FromJobError(error)), "✗ refused: " + error.message() + "\n");
}

TEST(Report, DoesNotPassTerminalCommandsOn) {
  EXPECT_EQ(Reported(absl::InternalError("bad \033[2J name")), "✗ bad ?[2J name\n");
}

}  // namespace
}  // namespace hotplate::cli
