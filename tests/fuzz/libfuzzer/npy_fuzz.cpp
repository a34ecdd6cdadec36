#include <cstddef>
#include <cstdint>

#include "tests/fuzz/npy_probe.h"

// libFuzzer's own name for it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  hotplate::ProbeNpy({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}
