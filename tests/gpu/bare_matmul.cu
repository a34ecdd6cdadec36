// cuBLASLt with nothing of ours around it: the device's matrix rate, and a process with one product.
//   bench_bare_matmul rate       JSON: TFLOP/s of square products, by precision
//   bench_bare_matmul product    makes two matrices, multiplies them on the device, and ends: its time is the process's
// Exit status 3: no device.
#include <cublasLt.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "tests/gpu/bare_check.h"

namespace hotplate::bare {
namespace {

void CheckBlas(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  std::fprintf(stderr, "%s: cuBLASLt status %d\n", what, static_cast<int>(status));
  std::exit(1);
}

struct Precision {
  const char* name;
  cudaDataType_t type;
  cublasComputeType_t compute;
  cudaDataType_t scale;
  std::size_t element;
  std::size_t n;
};

// Uniform in [-1, 1), as bits of the type; products of zeros run faster than data.
template <typename T>
__global__ void FillReal(T* data, std::size_t count) {
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += std::size_t{gridDim.x} * blockDim.x) {
    std::uint64_t mixed = (i + 1) * 0x9e3779b97f4a7c15;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    data[i] = static_cast<T>(static_cast<double>(mixed >> 11) * 0x1p-52 - 1);
  }
}
// bf16 and f16: random sign and mantissa, an exponent that means [0.5, 1).
__global__ void FillHalf(std::uint16_t* data, std::size_t count, std::uint16_t exponent, std::uint16_t mantissa) {
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += std::size_t{gridDim.x} * blockDim.x) {
    const std::uint64_t mixed = (i + 1) * 0x9e3779b97f4a7c15;
    data[i] = static_cast<std::uint16_t>((mixed >> 48 & 0x8000) | exponent | (mixed >> 32 & mantissa));
  }
}

void Fill(void* data, std::size_t count, const Precision& precision, cudaStream_t stream) {
  if (precision.type == CUDA_R_64F) FillReal<<<1024, 256, 0, stream>>>(static_cast<double*>(data), count);
  if (precision.type == CUDA_R_32F) FillReal<<<1024, 256, 0, stream>>>(static_cast<float*>(data), count);
  if (precision.type == CUDA_R_16BF)
    FillHalf<<<1024, 256, 0, stream>>>(static_cast<std::uint16_t*>(data), count, 0x3f00, 0x7f);
  if (precision.type == CUDA_R_16F)
    FillHalf<<<1024, 256, 0, stream>>>(static_cast<std::uint16_t*>(data), count, 0x3800, 0x3ff);
  Check(cudaGetLastError(), "fill");
}

// A square product of the precision, with memory and cuBLASLt's first choice of how to do it.
class Product {
 public:
  Product(cublasLtHandle_t handle, const Precision& precision) : handle_(handle), precision_(precision) {
    const std::size_t n = precision.n;
    for (void** memory : {&a, &b, &c}) Check(cudaMalloc(memory, bytes()), "memory");
    Check(cudaMalloc(&workspace_, kWorkspace), "memory");
    CheckBlas(cublasLtMatmulDescCreate(&product_, precision.compute, precision.scale), "product");
    CheckBlas(cublasLtMatrixLayoutCreate(&layout_, precision.type, n, n, static_cast<std::int64_t>(n)), "layout");
    CheckBlas(cublasLtMatmulPreferenceCreate(&preference_), "preference");
    CheckBlas(cublasLtMatmulPreferenceSetAttribute(preference_, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspace,
                                                   sizeof kWorkspace),
              "workspace");
    int count = 0;
    has_ = cublasLtMatmulAlgoGetHeuristic(handle_, product_, layout_, layout_, layout_, layout_, preference_, 1,
                                          &found_, &count) == CUBLAS_STATUS_SUCCESS &&
           count == 1;
  }
  ~Product() {
    CheckBlas(cublasLtMatmulPreferenceDestroy(preference_), "preference");
    CheckBlas(cublasLtMatrixLayoutDestroy(layout_), "layout");
    CheckBlas(cublasLtMatmulDescDestroy(product_), "product");
    for (void* memory : {a, b, c, workspace_}) Check(cudaFree(memory), "memory");
  }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  bool has() const { return has_; }  // false where the device has no such product
  std::size_t bytes() const { return precision_.n * precision_.n * precision_.element; }

  void Run(cudaStream_t stream) {
    const float one32 = 1, zero32 = 0;
    const double one64 = 1, zero64 = 0;
    const bool is_double = precision_.scale == CUDA_R_64F;
    const void* alpha = is_double ? static_cast<const void*>(&one64) : &one32;
    const void* beta = is_double ? static_cast<const void*>(&zero64) : &zero32;
    CheckBlas(cublasLtMatmul(handle_, product_, alpha, a, layout_, b, layout_, beta, c, layout_, c, layout_,
                             &found_.algo, workspace_, kWorkspace, stream),
              "matmul");
  }

  void *a = nullptr, *b = nullptr, *c = nullptr;

 private:
  static constexpr std::size_t kWorkspace = std::size_t{64} << 20;

  const cublasLtHandle_t handle_;
  const Precision precision_;
  void* workspace_ = nullptr;
  cublasLtMatmulDesc_t product_ = nullptr;
  cublasLtMatrixLayout_t layout_ = nullptr;
  cublasLtMatmulPreference_t preference_ = nullptr;
  cublasLtMatmulHeuristicResult_t found_{};
  bool has_ = false;
};

// TFLOP/s, 0 where the device has no such product.
double RateOf(cublasLtHandle_t handle, const Precision& precision, cudaStream_t stream) {
  Product product(handle, precision);
  if (!product.has()) return 0;
  const std::size_t n = precision.n;
  Fill(product.a, n * n, precision, stream);
  Fill(product.b, n * n, precision, stream);
  std::vector<double> rates;
  float spent = 0;
  for (int i = 0; i < 13 && (spent < 2000 || i < 4); ++i) {
    const float ms = Milliseconds(stream, [&] { product.Run(stream); });
    spent += ms;
    if (i >= 3) {
      rates.push_back(2.0 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n) / (ms * 1e9));
    }
  }
  std::nth_element(rates.begin(), rates.begin() + rates.size() / 2, rates.end());
  return rates[rates.size() / 2];
}

// What a program does that has two matrices of 1000 x 1000 float64 and wants one.
int OneProduct(cublasLtHandle_t handle, cudaStream_t stream) {
  Product product(handle, {"f64", CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F, 8, 1000});
  if (!product.has()) {
    std::fprintf(stderr, "the device has no float64 product\n");
    return 1;
  }
  std::vector<double> a(product.bytes() / sizeof(double)), b(a.size()), c(a.size());
  std::uint64_t state = 1;
  for (std::vector<double>* matrix : {&a, &b}) {
    for (double& element : *matrix) element = static_cast<double>((state += 0x9e3779b97f4a7c15) >> 11) * 0x1p-53 - 0.5;
  }
  Check(cudaMemcpyAsync(product.a, a.data(), product.bytes(), cudaMemcpyHostToDevice, stream), "copy");
  Check(cudaMemcpyAsync(product.b, b.data(), product.bytes(), cudaMemcpyHostToDevice, stream), "copy");
  product.Run(stream);
  Check(cudaMemcpyAsync(c.data(), product.c, product.bytes(), cudaMemcpyDeviceToHost, stream), "copy");
  Check(cudaStreamSynchronize(stream), "wait");
  return 0;
}

int Rate(cublasLtHandle_t handle, cudaStream_t stream) {
  const Precision precisions[] = {
      {"f32", CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F, 4, 8192},
      {"tf32", CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F, 4, 8192},
      {"bf16", CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F, 2, 8192},
      {"f16", CUDA_R_16F, CUBLAS_COMPUTE_32F, CUDA_R_32F, 2, 8192},
      {"f64", CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F, 8, 4096},
  };
  std::string text = "{";
  for (const Precision& precision : precisions) {
    text += (text.size() == 1 ? "\"" : ", \"") + std::string(precision.name) +
            "_tflop_per_s\": " + std::to_string(RateOf(handle, precision, stream));
  }
  std::cout << text << "}\n";
  return 0;
}

}  // namespace
}  // namespace hotplate::bare

int main(int argc, char** argv) {
  using hotplate::bare::Check;
  const std::string mode = argc == 2 ? argv[1] : "";
  if (mode != "rate" && mode != "product") {
    std::cerr << "usage: bench_bare_matmul rate | product\n";
    return 2;
  }
  int count = 0;
  Check(cudaGetDeviceCount(&count), "counting devices");
  cudaStream_t stream = nullptr;
  Check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  cublasLtHandle_t handle = nullptr;
  hotplate::bare::CheckBlas(cublasLtCreate(&handle), "handle");
  return mode == "rate" ? hotplate::bare::Rate(handle, stream) : hotplate::bare::OneProduct(handle, stream);
}
