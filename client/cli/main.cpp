#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "client/cli/app.h"
#include "client/cli/ending.h"
#include "kernels/base/standard_descriptors.h"

// The leak sanitizer's function, if linked in: ends the process if memory leaked.
// NOLINTNEXTLINE(bugprone-reserved-identifier): the sanitizer chose it
extern "C" void __attribute__((weak)) __lsan_do_leak_check();

namespace {
[[gnu::section(".preinit_array"), gnu::used]] void (*const kBeforeStaticObjects)() = &hotplate::OpenStandardDescriptors;
}  // namespace

int main(int count, char** words) {
  // Scripts ask this often; it needs nothing that the rest prepares.
  if (count == 2 && std::strcmp(words[1], "--version") == 0 && std::getenv("HOTPLATE_OUTPUT") == nullptr) {
    std::printf("hotplate %s\n", hotplate::cli::kVersion);
    return std::fflush(stdout) == 0 ? 0 : hotplate::cli::kExitFailed;
  }
  signal(SIGCHLD, SIG_DFL);  // a parent may have had it ignored: no program that is run would have an exit code
  const int code = hotplate::cli::RunHotplate({words + 1, words + count}, hotplate::cli::StandardConsole(),
                                              hotplate::cli::ProcessEnvironment());
  std::cout.flush();
  std::cerr.flush();
  // gRPC's threads may still work on an abandoned handshake. Static objects, including gRPC's, must not be destroyed
  // under them.
  if (__lsan_do_leak_check != nullptr) __lsan_do_leak_check();
  _exit(code);
}
