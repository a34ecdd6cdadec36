// CUDA with nothing of ours around it: what a kernel's bandwidth, a copy and a start are measured against.
//   bench_bare_cuda copy         JSON: GB/s of copies on the device (bytes read and written), and of pinned ones
//   bench_bare_cuda context      makes a context, a stream and a launch, and ends: its time is the process's
//   bench_bare_cuda hold BYTES   takes all free device memory but BYTES, says so, and keeps it until its input ends
// Exit status 3: no device.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "tests/gpu/bare_check.h"

namespace hotplate::bare {
namespace {

__global__ void Touch(unsigned* word) { *word = 1; }

int Context() {
  cudaStream_t stream = nullptr;
  unsigned* word = nullptr;
  Check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  Check(cudaMalloc(&word, sizeof *word), "memory");
  Touch<<<1, 1, 0, stream>>>(word);
  Check(cudaGetLastError(), "launch");
  Check(cudaStreamSynchronize(stream), "wait");
  return 0;
}

double Median(std::vector<double> all) {
  std::nth_element(all.begin(), all.begin() + all.size() / 2, all.end());
  return all[all.size() / 2];
}

// GB/s of one copy, over several.
double Rate(void* to, const void* from, std::size_t bytes, double moved, cudaMemcpyKind kind, cudaStream_t stream) {
  std::vector<double> rates;
  for (int i = 0; i < 23; ++i) {
    const float ms = Milliseconds(stream, [&] { Check(cudaMemcpyAsync(to, from, bytes, kind, stream), "copy"); });
    if (i >= 3) rates.push_back(moved / (ms * 1e6));  // the first ones warm up
  }
  return Median(rates);
}

int Copy() {
  std::size_t free_bytes = 0, total = 0;
  Check(cudaMemGetInfo(&free_bytes, &total), "memory");
  const std::size_t bytes = std::min<std::size_t>(std::size_t{1} << 30, free_bytes / 4) & ~std::size_t{255};
  const std::size_t staged = std::min<std::size_t>(bytes, std::size_t{256} << 20);
  void *a = nullptr, *b = nullptr, *host = nullptr;
  cudaStream_t stream = nullptr;
  Check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  Check(cudaMalloc(&a, bytes), "memory");
  Check(cudaMalloc(&b, bytes), "memory");
  Check(cudaMallocHost(&host, staged), "pinned memory");
  // Not zeros: they can move faster than data.
  for (std::size_t i = 0; i < staged / 8; ++i) static_cast<std::uint64_t*>(host)[i] = i * 0x9e3779b97f4a7c15;
  for (std::size_t at = 0; at + staged <= bytes; at += staged) {
    Check(cudaMemcpy(static_cast<char*>(a) + at, host, staged, cudaMemcpyHostToDevice), "fill");
  }
  const double device = Rate(b, a, bytes, 2.0 * static_cast<double>(bytes), cudaMemcpyDeviceToDevice, stream);
  const double up = Rate(a, host, staged, static_cast<double>(staged), cudaMemcpyHostToDevice, stream);
  const double down = Rate(host, a, staged, static_cast<double>(staged), cudaMemcpyDeviceToHost, stream);
  cudaDeviceProp properties{};
  Check(cudaGetDeviceProperties(&properties, 0), "properties");
  std::cout << "{\"device_copy_gb_per_s\": " << device << ", \"host_to_device_gb_per_s\": " << up
            << ", \"device_to_host_gb_per_s\": " << down << ", \"bytes\": " << bytes << ", \"staged_bytes\": " << staged
            << ", \"multiprocessors\": " << properties.multiProcessorCount
            << ", \"l2_bytes\": " << properties.l2CacheSize << ", \"memory_bytes\": " << total << "}\n";
  return 0;
}

int Hold(std::size_t leave) {
  constexpr std::size_t kPiece = std::size_t{64} << 20;
  std::size_t held = 0, free_bytes = 0, total = 0;
  for (;;) {
    Check(cudaMemGetInfo(&free_bytes, &total), "memory");
    if (free_bytes < leave + kPiece) break;
    // Large pieces first: a node's GPU has hundreds of gigabytes.
    std::size_t want = (free_bytes - leave) / kPiece * kPiece;
    void* piece = nullptr;
    while (want >= kPiece && cudaMalloc(&piece, want) != cudaSuccess) {
      static_cast<void>(cudaGetLastError());
      want = want / 2 / kPiece * kPiece;
    }
    if (want < kPiece) break;
    held += want;
  }
  Check(cudaMemGetInfo(&free_bytes, &total), "memory");
  std::cout << "{\"held_bytes\": " << held << ", \"free_bytes\": " << free_bytes << "}" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
  }
  return 0;
}

}  // namespace
}  // namespace hotplate::bare

int main(int argc, char** argv) {
  int count = 0;
  hotplate::bare::Check(cudaGetDeviceCount(&count), "counting devices");
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 1 && words[0] == "copy") return hotplate::bare::Copy();
  if (words.size() == 1 && words[0] == "context") return hotplate::bare::Context();
  if (words.size() == 2 && words[0] == "hold")
    return hotplate::bare::Hold(std::strtoull(words[1].c_str(), nullptr, 10));
  std::cerr << "usage: bench_bare_cuda copy | context | hold BYTES\n";
  return 2;
}
