// Devices of an engine: how many there may be.
#include "tests/unit/core/engine_fixture.h"

namespace hotplate::core::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

DeviceSet SetOf(std::size_t devices) {
  DeviceSet set;
  for (std::size_t i = 0; i < devices; ++i) {
    FakeDeviceOptions options;
    options.id = absl::StrCat("gpu", i);
    set.devices.push_back(std::make_unique<FakeDevice>(options, std::map<std::string, KernelBody>()));
  }
  return set;
}

TEST(NumberOfDevicesTest, MoreThanOneDaemonServesAreRefused) {
  EXPECT_TRUE(CheckNumber(SetOf(0)).ok());
  EXPECT_TRUE(CheckNumber(SetOf(64)).ok());
  const absl::Status refused = CheckNumber(SetOf(66));
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Text(refused), AllOf(HasSubstr("66 devices"), HasSubstr("gpu0 to gpu65"), HasSubstr("at most 64"),
                                   HasSubstr("--device gpu0")));
}

using EngineDevicesTest = EngineTest;

// The last bit of a set of devices is as good as the others.
TEST_F(EngineDevicesTest, TheLastOf64RunsJobs) {
  for (int i = 0; i < 64; ++i) {
    FakeDeviceOptions options;
    options.id = absl::StrCat("gpu", i);
    AddDevice(options);
  }
  Start();
  JobRequest request = Request("copy");
  request.device = "gpu63";
  Submit(request, 1);
  EXPECT_EQ(recorder_->AwaitEnd(1)->receipt->device, "gpu63");
}

}  // namespace
}  // namespace hotplate::core::testing
