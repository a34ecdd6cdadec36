// What is said of a CUDA_VISIBLE_DEVICES that hides GPUs from CUDA.
#include "kernels/devices/nvml/nvml_visible.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hotplate {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::vector<NvmlGpu> kTwo = {{"GPU-11112222-0000-0000-0000-000000000001", {}},
                                   {"GPU-11113333-0000-0000-0000-000000000002", {"MIG-aaaa", "MIG-abbb"}, true}};

std::string Wrong(const std::string& text, const std::optional<std::vector<NvmlGpu>>& gpus = kTwo) {
  return WhatIsWrongWithVisibleDevices(text, gpus).value_or("nothing");
}

TEST(VisibleDevices, NothingIsWrongWithWhatIsThere) {
  for (const char* text : {"0", "1,0", " 0 , 1", "GPU-11112222-0000-0000-0000-000000000001", "GPU-11112,GPU-11113",
                           "MIG-aaaa", "MIG-GPU-11113333-0000-0000-0000-000000000002/1/0"}) {
    EXPECT_EQ(Wrong(text), "nothing") << text;
  }
}

TEST(VisibleDevices, EmptyHidesEverything) {
  EXPECT_THAT(Wrong(""), AllOf(HasSubstr("set and empty"), HasSubstr("there are GPU-11112222"), HasSubstr("--gpus")));
  EXPECT_THAT(Wrong("  "), HasSubstr("set and empty"));
  EXPECT_THAT(Wrong("NoDevFiles"), HasSubstr("is NoDevFiles, which hides every GPU"));
  EXPECT_THAT(Wrong("-1"), HasSubstr("is -1, which hides every GPU"));
  EXPECT_THAT(Wrong("", std::nullopt), AllOf(HasSubstr("set and empty"), Not(HasSubstr("there"))));
  EXPECT_THAT(Wrong("", std::vector<NvmlGpu>{}), HasSubstr("lists no GPU"));
}

TEST(VisibleDevices, NonsenseIsNamed) {
  EXPECT_THAT(Wrong("0,tesla"), AllOf(HasSubstr("has \"tesla\""), HasSubstr("no index, and no UUID")));
  EXPECT_THAT(Wrong("0,,1"), HasSubstr("has \"\""));
  EXPECT_THAT(Wrong("gpu-1111"), HasSubstr("has \"gpu-1111\""));
  EXPECT_THAT(Wrong("\x1b[2Jx", std::nullopt), AllOf(HasSubstr("\\x1b"), Not(HasSubstr("\x1b"))));
}

TEST(VisibleDevices, AnIndexThatIsNotThere) {
  EXPECT_THAT(Wrong("0,2"), AllOf(HasSubstr("has \"2\""), HasSubstr("no GPU has that index")));
  EXPECT_THAT(Wrong("99999999999999999999"), HasSubstr("no GPU has that index"));
  EXPECT_EQ(Wrong("7", std::nullopt), "nothing");
}

TEST(VisibleDevices, AUuidThatIsNotThereOrNotClear) {
  EXPECT_THAT(Wrong("GPU-9999"), AllOf(HasSubstr("no GPU has that UUID"), HasSubstr("MIG-abbb")));
  EXPECT_THAT(Wrong("GPU-1111"), HasSubstr("it fits 2 of them"));
  EXPECT_THAT(Wrong("MIG-cccc"), HasSubstr("no MIG instance has that UUID"));
  EXPECT_THAT(Wrong("MIG-a"), HasSubstr("it fits 2 of them"));
  EXPECT_EQ(Wrong("GPU-9999", std::nullopt), "nothing");
}

TEST(VisibleDevices, TheSameTwice) { EXPECT_THAT(Wrong("1,1"), HasSubstr("it stands there twice")); }

TEST(VisibleDevices, ManyGpusAreNotAllNamed) {
  std::vector<NvmlGpu> gpus;
  for (int i = 0; i < 40; ++i) gpus.push_back({"GPU-" + std::to_string(100 + i), {}});
  EXPECT_THAT(Wrong("77", gpus), AllOf(HasSubstr("GPU-115 and 24 more"), Not(HasSubstr("GPU-116"))));
}

TEST(VisibleDevices, MigInstancesThatCudaDoesNotShow) {
  EXPECT_THAT(WhatMigHides({}, kTwo, {"MIG-aaaa"}),
              ElementsAre(AllOf(HasSubstr("MIG-abbb is not used"), HasSubstr("CUDA_VISIBLE_DEVICES=MIG-abbb"))));
  EXPECT_THAT(WhatMigHides({}, kTwo, {kTwo[0].uuid}), ElementsAre(HasSubstr("MIG-aaaa"), HasSubstr("MIG-abbb")));
  EXPECT_THAT(WhatMigHides({}, kTwo, {kTwo[1].uuid}), ElementsAre(HasSubstr("MIG-abbb")))
      << "the first, by another name";
  EXPECT_THAT(WhatMigHides("MIG-aaaa, MIG-abbb", kTwo, {"MIG-aaaa"}), ElementsAre(HasSubstr("MIG-abbb")));
  EXPECT_THAT(WhatMigHides("MIG-aaaa", kTwo, {"MIG-aaaa"}), IsEmpty()) << "hidden on purpose";
  EXPECT_THAT(WhatMigHides({}, kTwo, {}), IsEmpty()) << "it is not MIG that hides all of them";
}

TEST(VisibleDevices, AGpuInMigModeWithoutInstances) {
  const std::vector<NvmlGpu> gpus = {{"GPU-1111", {}, true}, {"GPU-2222", {}, false}};
  const auto told = ElementsAre(AllOf(HasSubstr("GPU-1111 is in MIG mode and has no instances"), HasSubstr("-cgi")));
  EXPECT_THAT(WhatMigHides({}, gpus, {}), told);
  EXPECT_THAT(WhatMigHides({}, gpus, {"GPU-2222"}), told);
  EXPECT_THAT(WhatMigHides("GPU-11", gpus, {}), told);
  EXPECT_THAT(WhatMigHides("GPU-2222", gpus, {"GPU-2222"}), IsEmpty());
}

// Four GPUs, whose minor numbers run the other way.
const std::vector<NvmlGpu> kFour = {{"GPU-aaaa0000", {}, false, 3},
                                    {"GPU-bbbb1111", {}, false, 2},
                                    {"GPU-cccc2222", {}, false, 1},
                                    {"GPU-dddd3333", {}, false, 0}};

std::vector<std::string> Instead(const GivenGpus& given, const std::vector<OpenGpu>& open,
                                 const std::vector<NvmlGpu>& gpus = kFour) {
  std::vector<std::string> said;
  for (const WrongGpu& wrong : WhatIsOpenInstead(given, gpus, open)) {
    EXPECT_THAT(wrong.why, HasSubstr("gpu" + std::to_string(wrong.index) + " is "));
    said.push_back(wrong.why);
  }
  return said;
}

TEST(OpenDevices, ThoseThatWereMeantAreFine) {
  EXPECT_THAT(Instead({}, {{0, "GPU-aaaa0000"}, {1, "GPU-bbbb1111"}}), IsEmpty());
  EXPECT_THAT(Instead({"2,0", true, {}}, {{0, "GPU-cccc2222"}, {1, "GPU-aaaa0000"}}), IsEmpty());
  EXPECT_THAT(Instead({"GPU-cc, GPU-a", false, {}}, {{0, "GPU-cccc2222"}, {1, "GPU-aaaa0000"}}), IsEmpty());
  EXPECT_THAT(Instead({"2,0", true, {}}, {{1, "GPU-aaaa0000"}}), IsEmpty()) << "only the second is used";
  EXPECT_THAT(Instead({"0,1", true, {0, 1}}, {{0, "GPU-aaaa0000"}, {1, "GPU-bbbb1111"}}), IsEmpty());
}

TEST(OpenDevices, OneThatIsNotTheNamedOneIsSaidWithBothUuids) {
  EXPECT_THAT(Instead({"2", true, {}}, {{0, "GPU-aaaa0000"}}),
              ElementsAre(AllOf(HasSubstr("gpu0 is GPU-aaaa0000"), HasSubstr("has \"2\" in its place"),
                                HasSubstr("GPU-cccc2222 by NVML"))));
  EXPECT_THAT(Instead({"GPU-a,GPU-b", false, {}}, {{0, "GPU-aaaa0000"}, {1, "GPU-ffff9999"}}),
              ElementsAre(AllOf(HasSubstr("gpu1 is GPU-ffff9999"), HasSubstr("GPU-bbbb1111"))));
}

TEST(OpenDevices, WhatSlurmDidNotGiveIsSaidWithBothUuids) {
  EXPECT_THAT(Instead({"1", true, {0}}, {{0, "GPU-bbbb1111"}}),
              ElementsAre(AllOf(HasSubstr("gpu0 is GPU-bbbb1111"), HasSubstr("Slurm gave GPU-aaaa0000"),
                                HasSubstr("its numbers: 0"), HasSubstr("CUDA_VISIBLE_DEVICES"))));
  EXPECT_THAT(Instead({std::nullopt, true, {0, 1}}, {{0, "GPU-aaaa0000"}, {1, "GPU-cccc2222"}}),
              ElementsAre(HasSubstr("gpu1 is GPU-cccc2222")));
}

TEST(OpenDevices, OnlyWhatIsNoneOfSlurmsByAnyReadingIsNotSlurms) {
  const auto not_slurms = [](const GivenGpus& given, const std::string& uuid) {
    const std::vector<WrongGpu> wrong = WhatIsOpenInstead(given, kFour, {{0, uuid}});
    return wrong.size() == 1 && wrong[0].not_slurms;
  };
  EXPECT_TRUE(not_slurms({std::nullopt, true, {0}}, "GPU-bbbb1111"));
  EXPECT_TRUE(not_slurms({"0", true, {0}}, "GPU-bbbb1111"));
  EXPECT_FALSE(not_slurms({"0", true, {}}, "GPU-bbbb1111")) << "an MPS server may count otherwise";
  EXPECT_FALSE(not_slurms({"0", true, {1}}, "GPU-bbbb1111")) << "Slurm gave it";
  EXPECT_FALSE(not_slurms({"0", true, {0}}, "GPU-dddd3333")) << "its minor number";
}

TEST(OpenDevices, WhatNvmlCannotTellIsLeftAlone) {
  EXPECT_THAT(Instead({"2", false, {}}, {{0, "GPU-aaaa0000"}}), IsEmpty()) << "the fastest first";
  EXPECT_THAT(Instead({"GPU-9", true, {}}, {{0, "GPU-aaaa0000"}}), IsEmpty()) << "said already";
  EXPECT_THAT(Instead({"nonsense", true, {}}, {{0, "GPU-aaaa0000"}}), IsEmpty());
  EXPECT_THAT(Instead({"0", true, {3}}, {{0, "GPU-aaaa0000"}}), IsEmpty()) << "its minor number";
  EXPECT_THAT(Instead({std::nullopt, true, {7}}, {{0, "GPU-aaaa0000"}}), IsEmpty()) << "neither index nor minor number";
  EXPECT_THAT(Instead({"0", true, {3}}, {{0, "GPU-bbbb1111"}}, {{"GPU-bbbb1111", {}, false, 5}}), IsEmpty())
      << "a job that sees its own GPU alone";
  EXPECT_THAT(Instead({"0", true, {}}, {{0, "GPU-aaaa0000"}}, {}), IsEmpty());
}

TEST(OpenDevices, MigInstancesGoByTheirUuid) {
  EXPECT_THAT(Instead({"MIG-aaaa", true, {}}, {{0, "MIG-aaaa"}}, kTwo), IsEmpty());
  EXPECT_THAT(Instead({"MIG-aaaa", true, {}}, {{0, "MIG-11113333-0000-0000-0000-000000000002"}}, kTwo), IsEmpty())
      << "some drivers give its GPU's number";
  EXPECT_THAT(Instead({"MIG-aaaa", true, {}}, {{0, "MIG-abbb"}}, kTwo),
              ElementsAre(AllOf(HasSubstr("MIG-abbb"), HasSubstr("MIG-aaaa"))));
  EXPECT_THAT(Instead({"0", true, {0}}, {{0, "MIG-aaaa"}}, kTwo), IsEmpty()) << "CUDA counts instances then";
}

}  // namespace
}  // namespace hotplate
