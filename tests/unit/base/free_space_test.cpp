// What is free by the quota that there is. This program stands between FreeSpace and the kernel, which is asked by
// number: few kernels have quotas, and none may be set by a test.
#include "kernels/base/free_space.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <linux/quota.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdarg>
#include <functional>

#include "tests/temporary_folder.h"

namespace {

constexpr long kQuotactlFd = 443;

// Answers for the kernel; without it there are no quotas, as on most machines.
std::function<long(int type, unsigned id, struct if_dqblk& quota)> g_quotactl;

}  // namespace

extern "C" long syscall(long number, ...) noexcept {
  std::va_list list;
  va_start(list, number);
  long words[6];
  for (long& word : words) word = va_arg(list, long);
  va_end(list);
  if (number == kQuotactlFd && g_quotactl) {
    const auto command = static_cast<unsigned>(words[1]);
    EXPECT_EQ(command >> SUBCMDSHIFT, static_cast<unsigned>(Q_GETQUOTA));
    return g_quotactl(static_cast<int>(command & SUBCMDMASK), static_cast<unsigned>(words[2]),
                      *reinterpret_cast<struct if_dqblk*>(words[3]));
  }
  static const auto real = reinterpret_cast<long (*)(long, ...)>(dlsym(RTLD_NEXT, "syscall"));
  return real(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

namespace hotplate {
namespace {

class FreeSpaceTest : public testing::Test {
 protected:
  ~FreeSpaceTest() override { g_quotactl = nullptr; }
  TemporaryFolder folder_;
};

// A limit of blocks of 1 KiB, and bytes that are taken.
long Limited(struct if_dqblk& quota, std::uint64_t blocks, std::uint64_t taken) {
  quota.dqb_valid = QIF_BLIMITS | QIF_SPACE;
  quota.dqb_bhardlimit = blocks;
  quota.dqb_curspace = taken;
  return 0;
}

TEST_F(FreeSpaceTest, WithoutAQuotaItIsTheDisks) {
  struct statvfs facts {};
  ASSERT_EQ(statvfs(folder_.path().c_str(), &facts), 0);
  g_quotactl = [](int, unsigned, struct if_dqblk&) { return -1L; };
  const auto free_bytes = FreeSpace(folder_.path());
  ASSERT_TRUE(free_bytes.has_value());
  // Others write to that disk too.
  const std::uint64_t all = facts.f_bavail * facts.f_frsize;
  EXPECT_GT(*free_bytes, all / 2);
  EXPECT_LT(*free_bytes / 2, all);
  EXPECT_FALSE(FreeSpace(folder_.path() + "/not there").has_value());
}

TEST_F(FreeSpaceTest, TheUsersQuotaCounts) {
  g_quotactl = [](int type, unsigned id, struct if_dqblk& quota) {
    if (type != USRQUOTA) return -1L;
    EXPECT_EQ(id, geteuid());
    return Limited(quota, 100, 30 * 1024);
  };
  EXPECT_EQ(FreeSpace(folder_.path()), 70 * 1024);
}

TEST_F(FreeSpaceTest, TheTighterOfUserAndGroup) {
  g_quotactl = [](int type, unsigned id, struct if_dqblk& quota) {
    EXPECT_EQ(id, type == USRQUOTA ? geteuid() : getegid());
    return Limited(quota, type == USRQUOTA ? 100 : 50, 30 * 1024);
  };
  EXPECT_EQ(FreeSpace(folder_.path()), 20 * 1024);
}

TEST_F(FreeSpaceTest, BeyondTheLimitNothingIsFree) {
  g_quotactl = [](int, unsigned, struct if_dqblk& quota) { return Limited(quota, 100, 101 * 1024); };
  EXPECT_EQ(FreeSpace(folder_.path()), 0);
}

TEST_F(FreeSpaceTest, AQuotaWithoutALimitIsNone) {
  g_quotactl = [](int, unsigned, struct if_dqblk& quota) { return Limited(quota, 0, 30 * 1024); };
  EXPECT_GT(FreeSpace(folder_.path()).value_or(0), 100 * 1024);
}

}  // namespace
}  // namespace hotplate
