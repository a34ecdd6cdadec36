// The real plug-in: it opens, its table fits, its kernels are the catalogue's, and without a driver or a device it
// answers so. What it does with a device is not tested here.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <map>

#include "kernels/cuda/plugin_library.h"
#include "kernels/device.h"

namespace hotplate {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::shared_ptr<PluginLibrary> Plugin() {
  auto library = PluginLibrary::Open(HOTPLATE_CUDA_PLUGIN, BuiltinCatalog(), {});
  EXPECT_TRUE(library.ok()) << library.status();
  return library.ok() ? *library : nullptr;
}

TEST(CudaPlugin, HasEveryKernelOfTheCatalogue) {
  const auto plugin = Plugin();
  ASSERT_NE(plugin, nullptr);
  EXPECT_THAT(plugin->notes(), IsEmpty());
  for (const KernelSpec& spec : BuiltinCatalog().specs()) EXPECT_TRUE(plugin->Has(spec.name())) << spec.name();
  EXPECT_EQ(plugin->table().kernel_count, static_cast<int>(BuiltinCatalog().specs().size()));
  EXPECT_NE(std::string(plugin->table().architectures), "");
}

TEST(CudaPlugin, NeedsNoDriverToBeOpened) {
  const auto plugin = Plugin();
  ASSERT_NE(plugin, nullptr);
  hotplate_outcome why{};
  const int count = plugin->table().device_count(&why);
  if (count > 0) GTEST_SKIP() << "this machine has " << count << " CUDA devices";
  EXPECT_EQ(count, 0);
  EXPECT_EQ(why.code == HOTPLATE_OK, std::string(why.message).empty()) << why.message;
  hotplate_cuda_device_info info{};
  EXPECT_EQ(plugin->table().open_device(0, nullptr, nullptr, &info, &why), nullptr);
  EXPECT_EQ(why.code, HOTPLATE_FAILED);
  EXPECT_STRNE(why.message, "");
}

// Exits 0 if everything went as it should with this driver in place of libcuda.so.1. In a process of its own: the
// driver stays.
void OpenWithFakeDriver() {
  CudaOptions options;
  options.driver_library = HOTPLATE_FAKES "/driver.so";
  options.plugin_folder = std::filesystem::path(HOTPLATE_CUDA_PLUGIN).parent_path();
  const DeviceSet set = OpenCudaDevices(options, BuiltinCatalog());
  for (const std::string& note : set.notes) std::fprintf(stderr, "%s\n", note.c_str());
  std::exit(set.devices.empty() ? 0 : 1);
}

TEST(CudaPluginDeathTest, SurvivesADriverWithoutDevices) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(OpenWithFakeDriver(), ::testing::ExitedWithCode(0), "libhotplate_cuda[0-9]+.so is not used");
}

}  // namespace
}  // namespace hotplate
