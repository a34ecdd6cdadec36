// What tests of the back-end share: the fake driver in this process, and arrays as kernels take them.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "kernels/array/dtype.h"
#include "kernels/call/abi.h"
#include "kernels/devices/cuda/executor/staging.h"
#include "tests/fakes/cuda/fake_cuda.h"

namespace hotplate {

inline constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kChunk = StagingBuffer::kBytes;

// What scripts the driver that dlopen returned; the program ends, with the reason, where there is none.
inline FakeCuda& FakeCudaOf(void* library) {
  void* const found = library != nullptr ? dlsym(library, "fake_cuda") : nullptr;
  if (found == nullptr) {
    std::fprintf(stderr, "no fake of the driver: %s\n", dlerror());
    std::abort();
  }
  return *reinterpret_cast<FakeCuda* (*)()>(found)();
}

// Of one dimension.
inline hotplate_array FloatView(const char* name, std::vector<float>& values) {
  hotplate_array array{};
  array.name = name;
  array.dtype = static_cast<int>(DType::kFloat32);
  array.rank = 1;
  array.shape[0] = static_cast<std::int64_t>(values.size());
  array.data = values.data();
  array.bytes = values.size() * sizeof(float);
  return array;
}

}  // namespace hotplate
