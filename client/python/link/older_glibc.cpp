// libstdc++.a of a system with glibc 2.36 or newer asks it for arc4random, in std::random_device, which nothing here
// uses for secrets. With this one the module also loads where glibc is 2.34 (RHEL 9, Ubuntu 22.04).
#include <sys/random.h>

#include <cstdint>
#include <cstdlib>

extern "C" __attribute__((visibility("hidden"))) std::uint32_t arc4random() noexcept {
  std::uint32_t random = 0;
  if (getrandom(&random, sizeof(random), 0) != sizeof(random)) std::abort();
  return random;
}
