// The real plug-in: it opens, its table fits, its kernels are the catalogue's, and without a driver or a device it
// answers so. What it does with a device is not tested here.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "kernels/devices/cuda/loader/plugin_library.h"
#include "kernels/devices/device.h"

namespace hotplate {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;

// Finds what the dynamic linker finds.
LibrarySearch SearchWithoutCuda() {
  return LibrarySearch([](const char*) { return std::string(); }, "/nowhere");
}

std::shared_ptr<PluginLibrary> Plugin() {
  auto library = PluginLibrary::Open(HOTPLATE_CUDA_PLUGIN, BuiltinCatalog(), SearchWithoutCuda(), {});
  EXPECT_TRUE(library.ok()) << library.status();
  return library.ok() ? *library : nullptr;
}

TEST(CudaPlugin, HasEveryKernelOfTheCatalogue) {
  const auto plugin = Plugin();
  ASSERT_NE(plugin, nullptr);
  EXPECT_THAT(plugin->notes(), Each(AnyOf(HasSubstr("no CUDA device runs matmul: CUDA's libcublasLt"),
                                          HasSubstr("no CUDA device compiles expressions"))));
  int with_code = 0;
  for (const SharedSpec& spec : BuiltinCatalog().specs()) {
    EXPECT_EQ(plugin->Has(spec->name()), !spec->cpu_only()) << spec->name();
    EXPECT_EQ(plugin->IsCpuOnly(spec->name()), spec->cpu_only()) << spec->name();
    with_code += spec->cpu_only() ? 0 : 1;
  }
  EXPECT_TRUE(plugin->Has("expression"));
  EXPECT_EQ(plugin->table().kernel_count, with_code + 1);
  EXPECT_NE(std::string(plugin->table().architectures), "");
}

// It must load, and run the other kernels, where a driver is and nothing else of CUDA.
TEST(CudaPlugin, IsLinkedWithNoneOfCudasLibraries) {
  void* const plugin = dlopen(HOTPLATE_CUDA_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(plugin, nullptr) << dlerror();
  const link_map* map = nullptr;
  ASSERT_EQ(dlinfo(plugin, RTLD_DI_LINKMAP, &map), 0);
  const char* strings = nullptr;
  for (const ElfW(Dyn)* row = map->l_ld; row->d_tag != DT_NULL; ++row) {
    if (row->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(row->d_un.d_ptr);
  }
  ASSERT_NE(strings, nullptr);
  std::vector<std::string> needed;
  for (const ElfW(Dyn)* row = map->l_ld; row->d_tag != DT_NULL; ++row) {
    if (row->d_tag == DT_NEEDED) needed.emplace_back(strings + row->d_un.d_val);
  }
  EXPECT_THAT(needed, Contains("libc.so.6"));
  EXPECT_THAT(needed, Each(Not(AnyOf(StartsWith("libcu"), StartsWith("libnv")))));
  dlclose(plugin);
}

TEST(CudaPlugin, SaysWhichKernelsCallWhichLibrary) {
  const auto plugin = Plugin();
  ASSERT_NE(plugin, nullptr);
  const hotplate_cuda_table& table = plugin->table();
  std::map<std::string, std::string> libraries;
  for (int i = 0; i < table.kernel_count; ++i) {
    if (table.kernels[i].library != nullptr) libraries.emplace(table.kernels[i].name, table.kernels[i].library);
  }
  const int major = table.cuda_runtime_version / 1000;
  const std::string blas = "libcublasLt.so." + std::to_string(major);
  const std::string solver = "libcusolver.so." + std::to_string(major - 1);  // counted by itself
  const std::string fourier = "libcufft.so." + std::to_string(major - 1);
  EXPECT_THAT(libraries, ElementsAre(Pair("cholesky", solver), Pair("eigh", solver), Pair("fft", fourier),
                                     Pair("matmul", blas), Pair("solve", solver), Pair("svd", solver)));
}

// "sm_80" and "compute_100", code and PTX, and how often, by the tables of the fat binaries that nvcc put into the
// file. As cuobjdump lists them, which few machines have.
std::map<std::string, int> DeviceCodeIn(const std::string& path) {
  struct Header {
    std::uint32_t magic;
    std::uint16_t version, header_bytes;
    std::uint64_t bytes;
  };
  struct Entry {
    std::uint16_t kind, version;
    std::uint32_t header_bytes;
    std::uint64_t bytes;
    std::uint32_t compressed_bytes, options;
    std::uint16_t minor, major;
    std::uint32_t architecture;
  };
  constexpr std::uint32_t kMagic = 0xBA55ED50;
  constexpr std::uint16_t kPtx = 1;
  std::ifstream stream(path, std::ios::binary);
  const std::string file((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  const auto read = [&file](std::size_t at, auto& structure) {
    if (at > file.size() || file.size() - at < sizeof structure) return false;
    std::memcpy(&structure, file.data() + at, sizeof structure);
    return true;
  };
  std::map<std::string, int> found;
  const std::string_view magic(reinterpret_cast<const char*>(&kMagic), sizeof kMagic);
  for (std::size_t at = file.find(magic); at != file.npos; at = file.find(magic, at + 1)) {
    Header header;
    if (!read(at, header) || header.version != 1 || header.header_bytes != sizeof header) continue;
    const std::size_t end = at + header.header_bytes + header.bytes;
    Entry entry;
    for (std::size_t next = at + header.header_bytes; next < end && read(next, entry) && entry.bytes > 0;
         next += entry.header_bytes + entry.bytes) {
      ++found[absl::StrCat(entry.kind == kPtx ? "compute_" : "sm_", entry.architecture)];
    }
  }
  return found;
}

// Each kernel but for expressions, in however many files, and the probe: code for all of them, and PTX of the last one,
// for devices to come.
TEST(CudaPlugin, HasCodeForTheArchitecturesThatItNames) {
  const auto plugin = Plugin();
  ASSERT_NE(plugin, nullptr);
  const std::string named = plugin->table().architectures;
  const std::map<std::string, int> found = DeviceCodeIn(HOTPLATE_CUDA_PLUGIN);
  const int files = found.empty() ? 0 : found.begin()->second;
  EXPECT_GE(files, plugin->table().kernel_count);
  std::map<std::string, int> expected;
  for (const auto& one : absl::StrSplit(named, ' ')) expected[absl::StrCat("sm_", one)] = files;
  expected["compute_" + named.substr(named.rfind(' ') + 1)] = files;
  EXPECT_EQ(found, expected);
}

// CUDA 13 left Volta behind: a V100 is served by the plug-in for CUDA 12.
TEST(CudaPlugin, HasCodeForVoltaWhereItsCudaStillCan) {
  const auto plugin = Plugin();
  ASSERT_NE(plugin, nullptr);
  const bool volta = std::string(plugin->table().architectures).find("70") != std::string::npos;
  EXPECT_EQ(volta, plugin->table().cuda_runtime_version < 13000) << plugin->table().architectures;
}

TEST(CudaPlugin, NeedsNoDriverToBeOpened) {
  const auto plugin = Plugin();
  ASSERT_NE(plugin, nullptr);
  // A driver without the functions, the process itself, in place of libcuda.
  hotplate_outcome why{};
  hotplate_cuda_device_options options{};
  options.driver_library = dlopen(nullptr, RTLD_NOW);
  hotplate_cuda_device_info info{};
  EXPECT_EQ(plugin->table().open_device(&options, nullptr, nullptr, &info, &why), nullptr);
  EXPECT_EQ(why.code, HOTPLATE_FAILED);
  EXPECT_STREQ(why.message, "the driver has no function cuInit");
}

// With the fake driver, up to where the CUDA runtime comes in: that asks the fake for more than it has, and says so.
// Exits 0 if there is no device and a reason. In a process of its own: the driver stays.
void OpenWithFakeDriver() {
  CudaOptions options;
  options.driver_library = HOTPLATE_FAKES "/driver.so";
  // Alone in a folder: beside it there may be one for another CUDA.
  const std::filesystem::path plugin = HOTPLATE_CUDA_PLUGIN;
  const std::filesystem::path folder = ::testing::TempDir() + "hotplate-plugin-" + std::to_string(getpid());
  std::filesystem::create_directory(folder);
  std::filesystem::create_symlink(plugin, folder / plugin.filename());
  options.plugin_folder = folder;
  const DeviceSet set = OpenCudaDevices(options, BuiltinCatalog());
  std::filesystem::remove_all(folder);
  for (const std::string& note : set.notes) std::fprintf(stderr, "%s\n", note.c_str());
  std::exit(set.devices.empty() ? 0 : 1);
}

TEST(CudaPluginDeathTest, SurvivesADriverThatIsNoDriver) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(OpenWithFakeDriver(), ::testing::ExitedWithCode(0), "gpu0 is not used: looking for device code");
}

}  // namespace
}  // namespace hotplate
