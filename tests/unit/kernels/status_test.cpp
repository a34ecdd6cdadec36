#include "kernels/base/status.h"

#include <gtest/gtest.h>

#include "absl/strings/cord.h"

namespace hotplate {
namespace {

TEST(StatusTest, CarriesItsViolations) {
  const absl::Status status = Refused(absl::StatusCode::kOutOfRange, {{"params.n", "n is 0"}, {"inputs.x", "x: 3:a"}});
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(ToStd(status.message()), "n is 0; x: 3:a");
  const std::vector<FieldViolation> violations = Violations(status);
  ASSERT_EQ(violations.size(), 2u);
  EXPECT_EQ(violations[0].field, "params.n");
  EXPECT_EQ(violations[0].description, "n is 0");
  EXPECT_EQ(violations[1].field, "inputs.x");
  EXPECT_EQ(violations[1].description, "x: 3:a");
}

TEST(StatusTest, AnyTextSurvives) {
  for (const std::string& text :
       {std::string(), std::string("\0a\xff", 3), std::string("12:34:"), std::string(70'000, 'x')}) {
    const std::vector<FieldViolation> violations = Violations(InvalidField(text, text));
    ASSERT_EQ(violations.size(), 1u);
    EXPECT_EQ(violations[0].field, text);
    EXPECT_EQ(violations[0].description, text);
  }
}

TEST(StatusTest, AStatusOfAnotherKindHasNone) {
  EXPECT_TRUE(Violations(absl::OkStatus()).empty());
  EXPECT_TRUE(Violations(absl::InvalidArgumentError("no")).empty());
  EXPECT_TRUE(Violations(Refused(absl::StatusCode::kInternal, {})).empty());
}

TEST(StatusTest, ADamagedPayloadIsNone) {
  for (const char* payload :
       {"", "x", "5", "5:", "5:abc", "1:a", "1:a2:b", "99999999999999999999:a", "-1:a", "1:a1:bx", "1:a5:bcd"}) {
    absl::Status status = absl::InvalidArgumentError("no");
    status.SetPayload("hotplate/field-violations", absl::Cord(payload));
    EXPECT_TRUE(Violations(status).empty()) << payload;
  }
}

}  // namespace
}  // namespace hotplate
