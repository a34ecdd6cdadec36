#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdio>
#include <memory>
#include <type_traits>

#include "kernels/cuda/context.h"
#include "kernels/cuda/owners.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/matmul_cuda.h"

namespace hotplate::matmul {
namespace {

using Descriptor = std::unique_ptr<std::remove_pointer_t<cublasLtMatmulDesc_t>, Destroy<cublasLtMatmulDescDestroy>>;
using Layout = std::unique_ptr<std::remove_pointer_t<cublasLtMatrixLayout_t>, Destroy<cublasLtMatrixLayoutDestroy>>;
using Preference =
    std::unique_ptr<std::remove_pointer_t<cublasLtMatmulPreference_t>, Destroy<cublasLtMatmulPreferenceDestroy>>;

Outcome FromBlas(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return Outcome::Ok();
  static_cast<void>(cudaGetLastError());  // what cuBLAS met is reported here, not by the next launch
  char text[200];
  std::snprintf(text, sizeof text, "cuBLASLt: %s: %s", what, cublasLtGetStatusName(status));
  return status == CUBLAS_STATUS_ALLOC_FAILED ? Outcome::OutOfMemory(text) : Outcome::Failed(text);
}

struct Types {
  cublasComputeType_t compute;
  cudaDataType_t scale, in, out;
};

Types TypesFor(DType dtype, int precision) {
  if (dtype == DType::kFloat64) return {CUBLAS_COMPUTE_64F, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F};
  switch (precision) {
    case HOTPLATE_PRECISION_TF32:
      return {CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F};
    case HOTPLATE_PRECISION_BF16:
      return {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16BF, CUDA_R_32F};
    case HOTPLATE_PRECISION_F16:
      return {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16F, CUDA_R_32F};
    default:
      return {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F};
  }
}

template <typename T>
__global__ void __launch_bounds__(kBlockSize) Round(const float* in, T* out, std::size_t n) {
  const std::size_t stride = std::size_t{gridDim.x} * kBlockSize;
  for (std::size_t i = std::size_t{blockIdx.x} * kBlockSize + threadIdx.x; i < n; i += stride) {
    if constexpr (std::is_same_v<T, __half>) {
      out[i] = __float2half_rn(in[i]);
    } else {
      out[i] = __float2bfloat16_rn(in[i]);
    }
  }
}

template <typename T>
Outcome RoundTo(std::span<const float> in, std::byte* out, CudaContext& context) {
  Round<<<GridFor(in.size(), 4), kBlockSize, 0, context.stream()>>>(in.data(), reinterpret_cast<T*>(out), in.size());
  return context.LaunchStatus();
}

Outcome MakeLayout(const Operand& operand, cudaDataType_t type, Layout& layout) {
  cublasLtMatrixLayout_t raw = nullptr;
  const Outcome made =
      FromBlas(cublasLtMatrixLayoutCreate(&raw, type, operand.rows, operand.columns, operand.leading()), "layout");
  layout.reset(raw);
  return made;
}

Outcome MakeDescriptor(const Product& product, const Types& types, Descriptor& descriptor) {
  cublasLtMatmulDesc_t raw = nullptr;
  if (const Outcome o = FromBlas(cublasLtMatmulDescCreate(&raw, types.compute, types.scale), "descriptor"); !o.ok()) {
    return o;
  }
  descriptor.reset(raw);
  const cublasOperation_t first = product.first.transpose ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t second = product.second.transpose ? CUBLAS_OP_T : CUBLAS_OP_N;
  if (const Outcome o =
          FromBlas(cublasLtMatmulDescSetAttribute(raw, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first), "transpose");
      !o.ok()) {
    return o;
  }
  return FromBlas(cublasLtMatmulDescSetAttribute(raw, CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof second),
                  "transpose");
}

Product Asked(const Call& call) {
  return ProductOf(call.InputArray("a").shape, call.Bool("transpose_a"), call.InputArray("b").shape,
                   call.Bool("transpose_b"));
}

// a and b in the type that they are multiplied in.
Outcome Multiply(const Product& product, const Types& types, const void* a, const void* b, void* c,
                 const ScratchLayout& scratch, void* workspace, CudaContext& context) {
  Descriptor descriptor;
  Layout first, second, result;
  if (const Outcome o = MakeDescriptor(product, types, descriptor); !o.ok()) return o;
  if (const Outcome o = MakeLayout(product.first, types.in, first); !o.ok()) return o;
  if (const Outcome o = MakeLayout(product.second, types.in, second); !o.ok()) return o;
  if (const Outcome o = MakeLayout(product.result, types.out, result); !o.ok()) return o;

  cublasLtMatmulPreference_t raw = nullptr;
  if (const Outcome o = FromBlas(cublasLtMatmulPreferenceCreate(&raw), "preference"); !o.ok()) return o;
  const Preference preference(raw);
  const std::size_t workspace_bytes = scratch.workspace_bytes;
  if (const Outcome o = FromBlas(cublasLtMatmulPreferenceSetAttribute(raw, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                                      &workspace_bytes, sizeof workspace_bytes),
                                 "workspace");
      !o.ok()) {
    return o;
  }
  cublasLtMatmulHeuristicResult_t algorithm{};
  int found = 0;
  if (const Outcome o =
          FromBlas(cublasLtMatmulAlgoGetHeuristic(context.blas(), descriptor.get(), first.get(), second.get(),
                                                  result.get(), result.get(), raw, 1, &algorithm, &found),
                   "choosing an algorithm");
      !o.ok()) {
    return o;
  }
  if (found == 0) return Outcome::Failed("cuBLASLt has no algorithm for this product");

  const double one = 1, zero = 0;
  const float one_float = 1, zero_float = 0;
  const bool in_double = types.scale == CUDA_R_64F;
  const void* const alpha = in_double ? static_cast<const void*>(&one) : &one_float;
  const void* const beta = in_double ? static_cast<const void*>(&zero) : &zero_float;
  const cublasStatus_t status =
      cublasLtMatmul(context.blas(), descriptor.get(), alpha, b, first.get(), a, second.get(), beta, c, result.get(), c,
                     result.get(), &algorithm.algo, workspace, workspace_bytes, context.stream());
  if (const Outcome o = FromBlas(status, "product"); !o.ok()) return o;
  return context.LaunchStatus();
}

}  // namespace

std::uint64_t ScratchCuda(const Call& call, const CudaTraits& traits) {
  return LayOutScratch(Asked(call), call.precision(), traits).bytes;
}

Outcome RunCuda(const Call& call, CudaContext& context) {
  const Product product = Asked(call);
  const hotplate_array& c = call.OutputArray("c");
  if (product.m == 0 || product.n == 0) return Outcome::Ok();
  if (product.k == 0) {  // the empty sum
    return ToOutcome(cudaMemsetAsync(c.data, 0, c.bytes, context.stream()), "memset");
  }
  const CudaTraits& traits = context.traits();
  if (traits.compute_major < 8 &&
      (call.precision() == HOTPLATE_PRECISION_TF32 || call.precision() == HOTPLATE_PRECISION_BF16)) {
    char text[120];
    std::snprintf(text, sizeof text, "precision %s needs compute capability 8.0 or later; this device has %d.%d",
                  call.precision() == HOTPLATE_PRECISION_TF32 ? "tf32" : "bf16", traits.compute_major,
                  traits.compute_minor);
    return Outcome::Invalid(text);
  }
  const ScratchLayout scratch = LayOutScratch(product, call.precision(), traits);
  std::byte* const memory = call.scratch().data();
  const void* a = call.InputArray("a").data;
  const void* b = call.InputArray("b").data;
  if (call.precision() == HOTPLATE_PRECISION_BF16 || call.precision() == HOTPLATE_PRECISION_F16) {
    const auto round = call.precision() == HOTPLATE_PRECISION_BF16 ? RoundTo<__nv_bfloat16> : RoundTo<__half>;
    if (const Outcome o = round(call.Input<float>("a"), memory + scratch.a, context); !o.ok()) return o;
    if (const Outcome o = round(call.Input<float>("b"), memory + scratch.b, context); !o.ok()) return o;
    a = memory + scratch.a;
    b = memory + scratch.b;
  }
  return Multiply(product, TypesFor(call.InputType("a"), call.precision()), a, b, c.data, scratch, memory, context);
}

}  // namespace hotplate::matmul
