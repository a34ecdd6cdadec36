// For the bare CUDA programs: any error ends the program with the call and CUDA's words.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

namespace hotplate::bare {

inline void Check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver ? 3 : 1);
}

// Milliseconds between two events around what `enqueue` puts on the stream.
template <typename Enqueue>
float Milliseconds(cudaStream_t stream, Enqueue&& enqueue) {
  cudaEvent_t begin = nullptr, end = nullptr;
  Check(cudaEventCreate(&begin), "event");
  Check(cudaEventCreate(&end), "event");
  Check(cudaEventRecord(begin, stream), "record");
  enqueue();
  Check(cudaEventRecord(end, stream), "record");
  Check(cudaEventSynchronize(end), "wait");
  float elapsed = 0;
  Check(cudaEventElapsedTime(&elapsed, begin, end), "elapsed");
  Check(cudaEventDestroy(begin), "event");
  Check(cudaEventDestroy(end), "event");
  return elapsed;
}

}  // namespace hotplate::bare
