// What CUDA devices take of the host, by what the host is.
#include "kernels/devices/cuda/executor/host_share.h"

#include <gtest/gtest.h>

#include "kernels/devices/cpu/machine.h"
#include "kernels/devices/cuda/executor/staging.h"
#include "tests/temporary_folder.h"

namespace hotplate {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kLarge = std::uint64_t{1} << 40;

TEST(HostShareTest, EveryLaneMayBorrowAndOtherCopiesHaveTheirs) {
  EXPECT_EQ(HostShareFor(1, kLarge, 4).pinned_bytes, (4 + 4) * 4 * kMiB);
  EXPECT_EQ(HostShareFor(4, kLarge, 4).pinned_bytes, (16 + 4) * 4 * kMiB);
  EXPECT_EQ(HostShareFor(0, kLarge, 4).pinned_bytes, HostShareFor(1, kLarge, 4).pinned_bytes);
}

// The device's own pool gives so much: each lane's own buffers, then an upload's and those of copies to the host.
TEST(HostShareTest, WhereTheHostIsSmallThereIsWhatEveryLaneMustHave) {
  EXPECT_EQ(HostShareFor(4, 1024 * kMiB, 4).pinned_bytes, (8 + 4) * 4 * kMiB);
  EXPECT_EQ(HostShareFor(4, 16 * 80 * kMiB, 4).pinned_bytes, 80 * kMiB);
  EXPECT_EQ(HostShareFor(4, 16 * 80 * kMiB - 1, 4).pinned_bytes, 48 * kMiB);
}

TEST(HostShareTest, MostProcessorsAreTheJobs) {
  EXPECT_EQ(HostShareFor(1, kLarge, 1).copy_threads, 0);
  EXPECT_EQ(HostShareFor(1, kLarge, 4).copy_threads, 1);
  EXPECT_EQ(HostShareFor(1, kLarge, 128).copy_threads, 3);
}

TEST(HostShareTest, TheHostIsWhatTheCgroupLeavesOfIt) {
  TemporaryFolder root;
  const auto write = [&](const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root.File(path)).parent_path());
    root.Write(path, text);
  };
  write("proc/meminfo", "MemTotal: 67108864 kB\nMemAvailable: 67108864 kB\n");
  const auto pinned = [&] { return HostShareFor(4, cpu::ReadMemory(root.path()).total, 4).pinned_bytes; };
  EXPECT_EQ(pinned(), 80 * kMiB);
  write("proc/self/cgroup", "0::/job\n");
  write("sys/fs/cgroup/job/memory.max", "1073741824\n");
  EXPECT_EQ(pinned(), 48 * kMiB);
}

}  // namespace
}  // namespace hotplate
