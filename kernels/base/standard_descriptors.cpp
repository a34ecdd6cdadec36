#include "kernels/base/standard_descriptors.h"

#include <fcntl.h>
#include <unistd.h>

namespace hotplate {

void OpenStandardDescriptors() {
  constexpr int kModes[] = {O_WRONLY, O_RDONLY, O_RDWR};  // standard input that can only be written to, and so on
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor)
    if (fcntl(descriptor, F_GETFD) < 0) open("/dev/null", kModes[descriptor]);  // gets the smallest number that is free
}

}  // namespace hotplate
