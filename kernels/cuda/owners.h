// Owners of CUDA's handles: move-only, empty when nothing is owned. A destructor drops CUDA's answer: it can only say
// that the device is gone, which whoever used the handle has heard already.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <memory>
#include <type_traits>

namespace hotplate {

template <auto kDestroy>
struct Destroy {
  template <typename T>
  void operator()(T* handle) const {
    static_cast<void>(kDestroy(handle));
  }
};

using OwnedStream = std::unique_ptr<std::remove_pointer_t<cudaStream_t>, Destroy<cudaStreamDestroy>>;
using OwnedEvent = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, Destroy<cudaEventDestroy>>;
using OwnedPool = std::unique_ptr<std::remove_pointer_t<cudaMemPool_t>, Destroy<cudaMemPoolDestroy>>;
using OwnedBlas = std::unique_ptr<std::remove_pointer_t<cublasLtHandle_t>, Destroy<cublasLtDestroy>>;
using PinnedBytes = std::unique_ptr<std::byte, Destroy<cudaFreeHost>>;

}  // namespace hotplate
