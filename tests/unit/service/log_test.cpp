#include "server/log.h"

#include <gmock/gmock.h>
#include <grpc/support/log.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include "tests/temporary_folder.h"

namespace hotplate::server {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(LogTest, LongHexadecimalRunsAreSecrets) {
  const std::string token(64, 'a');
  EXPECT_EQ(WithoutSecrets("authorization: Bearer " + token + " from ipv4:127.0.0.1:8080"),
            "authorization: Bearer [...] from ipv4:127.0.0.1:8080");
  EXPECT_EQ(WithoutSecrets(std::string(32, 'F')), "[...]");
  EXPECT_EQ(WithoutSecrets("deadbeef"), "deadbeef");
  EXPECT_EQ(WithoutSecrets("two\nlines\x1b"), "two lines ");
  EXPECT_EQ(WithoutSecrets(""), "");
}

TEST(LogTest, GrpcsLinesComeAtTheirLevelAndWithoutSecrets) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/log";
  const auto log = OpenLog(file, "info");
  ASSERT_TRUE(log.ok()) << log.status();
  RouteGrpcLog(*log);
  gpr_set_log_verbosity(GPR_LOG_SEVERITY_DEBUG);
  testing::internal::CaptureStderr();
  gpr_log(GPR_ERROR, "Handshake failed, token %s", std::string(64, 'b').c_str());
  gpr_log_message("file.cc", 7, GPR_LOG_SEVERITY_INFO, "for information");
  gpr_log_message("file.cc", 8, GPR_LOG_SEVERITY_DEBUG, "of no interest");
  EXPECT_THAT(testing::internal::GetCapturedStderr(), IsEmpty());
  gpr_set_log_function(nullptr);  // gRPC's own again
  gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);
  spdlog::set_default_logger(nullptr);
  (*log)->flush();
  EXPECT_THAT(ReadText(file), AllOf(HasSubstr("error grpc: Handshake failed, token [...] (log_test.cpp:"),
                                    HasSubstr("info grpc: for information (file.cc:7)"),
                                    Not(HasSubstr("of no interest")), Not(HasSubstr("bbbb"))));
}

}  // namespace
}  // namespace hotplate::server
