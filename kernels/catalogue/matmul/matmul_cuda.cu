#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdio>

#include "kernels/catalogue/matmul/matmul.h"
#include "kernels/catalogue/matmul/matmul_cuda.h"
#include "kernels/devices/cuda/code/elementwise.cuh"
#include "kernels/devices/cuda/plugin/lane_libraries.h"

namespace hotplate::matmul {
namespace {

using Descriptor = OwnedByCublasLt<cublasLtMatmulDesc_t>;
using Layout = OwnedByCublasLt<cublasLtMatrixLayout_t>;
using Preference = OwnedByCublasLt<cublasLtMatmulPreference_t>;

Outcome FromBlas(const CublasLt& blas, cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return Outcome::Ok();
  ClearLaunchError();
  char text[200];
  std::snprintf(text, sizeof text, "cuBLASLt: %s: %s", what, blas.cublasLtGetStatusName(status));
  return status == CUBLAS_STATUS_ALLOC_FAILED ? Outcome::OutOfMemory(text) : Outcome::Failed(text);
}

struct Types {
  cublasComputeType_t compute;
  cudaDataType_t scale, in, out;
};

Types TypesFor(DType dtype, int precision) {
  if (dtype == DType::kFloat64) return {CUBLAS_COMPUTE_64F, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F};
  if (dtype == DType::kComplex64) return {CUBLAS_COMPUTE_32F, CUDA_C_32F, CUDA_C_32F, CUDA_C_32F};
  if (dtype == DType::kComplex128) return {CUBLAS_COMPUTE_64F, CUDA_C_64F, CUDA_C_64F, CUDA_C_64F};
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

// The conversion rounds to nearest; beyond f16's range it gives infinity.
struct AsItIs {
  template <typename T>
  __device__ T operator()(T x) const {
    return x;
  }
};

template <typename T>
Outcome RoundTo(std::span<const float> in, std::byte* out, CudaContext& context) {
  return elementwise::LaunchUnary(AsItIs(), in, std::span<T>(reinterpret_cast<T*>(out), in.size()), context);
}

// The lane's, made for its first product.
Outcome MakeHandle(LaneLibraries& libraries) {
  if (libraries.blas_handle != nullptr) return Outcome::Ok();
  cublasLtHandle_t raw = nullptr;
  const Outcome made = FromBlas(libraries.blas, libraries.blas.cublasLtCreate(&raw), "handle");
  if (made.ok()) libraries.blas_handle = {raw, {libraries.blas.cublasLtDestroy}};
  return made;
}

// The layout of `count` matrices, `step` elements apart.
Outcome MakeLayout(const CublasLt& blas, const Operand& operand, cudaDataType_t type, std::uint64_t count,
                   std::uint64_t step, Layout& layout) {
  cublasLtMatrixLayout_t raw = nullptr;
  const Outcome made = FromBlas(
      blas, blas.cublasLtMatrixLayoutCreate(&raw, type, operand.rows, operand.columns, operand.leading()), "layout");
  layout = {raw, {blas.cublasLtMatrixLayoutDestroy}};
  if (!made.ok() || count == 1) return made;
  const auto matrices = static_cast<std::int32_t>(count);
  const auto distance = static_cast<std::int64_t>(step);
  const cublasStatus_t set =
      blas.cublasLtMatrixLayoutSetAttribute(raw, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &matrices, sizeof matrices);
  if (const Outcome o = FromBlas(blas, set, "batch"); !o.ok()) return o;
  return FromBlas(blas,
                  blas.cublasLtMatrixLayoutSetAttribute(raw, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &distance,
                                                        sizeof distance),
                  "batch");
}

Outcome MakeDescriptor(const CublasLt& blas, const Product& product, const Types& types, Descriptor& descriptor) {
  cublasLtMatmulDesc_t raw = nullptr;
  if (const Outcome o = FromBlas(blas, blas.cublasLtMatmulDescCreate(&raw, types.compute, types.scale), "descriptor");
      !o.ok()) {
    return o;
  }
  descriptor = {raw, {blas.cublasLtMatmulDescDestroy}};
  const cublasOperation_t first = product.first.transpose ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t second = product.second.transpose ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasStatus_t set =
      blas.cublasLtMatmulDescSetAttribute(raw, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first);
  if (const Outcome o = FromBlas(blas, set, "transpose"); !o.ok()) return o;
  return FromBlas(blas, blas.cublasLtMatmulDescSetAttribute(raw, CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof second),
                  "transpose");
}

// The library's own choice for a product with this workspace.
Outcome Choose(const LaneLibraries& libraries, const ProductKey& key, cublasLtMatmulDesc_t descriptor,
               cublasLtMatrixLayout_t first, cublasLtMatrixLayout_t second, cublasLtMatrixLayout_t result,
               std::size_t workspace_bytes, cublasLtMatmulAlgo_t& chosen) {
  const CublasLt& blas = libraries.blas;
  cublasLtMatmulPreference_t raw = nullptr;
  if (const Outcome o = FromBlas(blas, blas.cublasLtMatmulPreferenceCreate(&raw), "preference"); !o.ok()) return o;
  const Preference preference(raw, {blas.cublasLtMatmulPreferenceDestroy});
  const cublasStatus_t set = blas.cublasLtMatmulPreferenceSetAttribute(raw, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                                       &workspace_bytes, sizeof workspace_bytes);
  if (const Outcome o = FromBlas(blas, set, "workspace"); !o.ok()) return o;
  for (const auto attribute :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    const cublasStatus_t aligned =
        blas.cublasLtMatmulPreferenceSetAttribute(raw, attribute, &key.alignment, sizeof key.alignment);
    if (const Outcome o = FromBlas(blas, aligned, "alignment"); !o.ok()) return o;
  }
  cublasLtMatmulHeuristicResult_t algorithm{};
  int found = 0;
  const cublasStatus_t asked = blas.cublasLtMatmulAlgoGetHeuristic(libraries.blas_handle.get(), descriptor, first,
                                                                   second, result, result, raw, 1, &algorithm, &found);
  if (const Outcome o = FromBlas(blas, asked, "choosing an algorithm"); !o.ok()) return o;
  // Only where the state says so is the algorithm set.
  if (found == 0 || algorithm.state != CUBLAS_STATUS_SUCCESS) {
    const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
    char text[200];
    std::snprintf(text, sizeof text,
                  "cuBLASLt has no algorithm for the product of [%llu, %llu] and [%llu, %llu], %llu at once",
                  number(key.m), number(key.k), number(key.k), number(key.n), number(key.count));
    return Outcome::Failed(text);
  }
  chosen = algorithm.algo;
  return Outcome::Ok();
}

// a and b in the type that they are multiplied in, at the first of `some`.
Outcome Multiply(const ProductKey& key, const Product& product, const StridedProducts& some, const Types& types,
                 const void* a, const void* b, void* c, const ScratchLayout& scratch, void* workspace,
                 CudaContext& context) {
  LaneLibraries& libraries = context.libraries();
  const CublasLt& blas = libraries.blas;
  if (const Outcome o = MakeHandle(libraries); !o.ok()) return o;
  Descriptor descriptor;
  Layout first, second, result;
  if (const Outcome o = MakeDescriptor(blas, product, types, descriptor); !o.ok()) return o;
  const std::uint64_t a_step = some.a_step * product.m * product.k, b_step = some.b_step * product.k * product.n;
  if (const Outcome o = MakeLayout(blas, product.first, types.in, some.count, b_step, first); !o.ok()) return o;
  if (const Outcome o = MakeLayout(blas, product.second, types.in, some.count, a_step, second); !o.ok()) return o;
  if (const Outcome o = MakeLayout(blas, product.result, types.out, some.count, product.m * product.n, result);
      !o.ok()) {
    return o;
  }

  auto known = libraries.algorithms.find(key);
  if (known == libraries.algorithms.end()) {
    cublasLtMatmulAlgo_t chosen{};
    if (const Outcome o = Choose(libraries, key, descriptor.get(), first.get(), second.get(), result.get(),
                                 scratch.workspace_bytes, chosen);
        !o.ok()) {
      return o;
    }
    if (libraries.algorithms.size() >= LaneLibraries::kMostAlgorithms) libraries.algorithms.clear();
    known = libraries.algorithms.emplace(key, chosen).first;
  }

  // A real number is the first part of a complex one.
  const double one[] = {1, 0}, zero[] = {0, 0};
  const float one_float[] = {1, 0}, zero_float[] = {0, 0};
  const bool in_double = types.compute == CUBLAS_COMPUTE_64F;
  const void* const alpha = in_double ? static_cast<const void*>(one) : one_float;
  const void* const beta = in_double ? static_cast<const void*>(zero) : zero_float;
  const cublasStatus_t status = blas.cublasLtMatmul(
      libraries.blas_handle.get(), descriptor.get(), alpha, b, first.get(), a, second.get(), beta, c, result.get(), c,
      result.get(), &known->second, workspace, scratch.workspace_bytes, context.stream());
  if (const Outcome o = FromBlas(blas, status, "product"); !o.ok()) return o;
  return context.LaunchStatus();
}

}  // namespace

std::uint64_t ScratchCuda(const Call& call, const CudaTraits& traits) {
  const std::uint64_t element = SizeOf(call.InputType("a"));
  return LayOutScratch(call.InputArray("a").bytes / element, call.InputArray("b").bytes / element, call.precision(),
                       traits)
      .bytes;
}

Outcome RunCuda(const Call& call, CudaContext& context) {
  const hotplate_array& c = call.OutputArray("c");
  if (c.bytes == 0) return Outcome::Ok();
  const Products all = ProductsOf(call);
  if (all.k == 0) {  // the empty sum
    return ToOutcome(cudaMemsetAsync(c.data, 0, c.bytes, context.stream()), "memset");
  }
  const DType dtype = call.InputType("a");
  const std::uint64_t element = SizeOf(dtype);
  const std::uint64_t a_elements = call.InputArray("a").bytes / element,
                      b_elements = call.InputArray("b").bytes / element;
  const ScratchLayout scratch = LayOutScratch(a_elements, b_elements, call.precision(), context.traits());
  std::byte* const memory = call.scratch().data();
  const auto* a = static_cast<const std::byte*>(call.InputArray("a").data);
  const auto* b = static_cast<const std::byte*>(call.InputArray("b").data);
  std::uint64_t in_element = element;
  if (call.precision() == HOTPLATE_PRECISION_BF16 || call.precision() == HOTPLATE_PRECISION_F16) {
    const auto round = call.precision() == HOTPLATE_PRECISION_BF16 ? RoundTo<__nv_bfloat16> : RoundTo<__half>;
    if (const Outcome o = round(call.Input<float>("a"), memory + scratch.a, context); !o.ok()) return o;
    if (const Outcome o = round(call.Input<float>("b"), memory + scratch.b, context); !o.ok()) return o;
    a = memory + scratch.a;
    b = memory + scratch.b;
    in_element = 2;
  }
  const Product product = ProductOf(all);
  return InStrides(all, kMostProducts, [&](const StridedProducts& some) {
    if (context.CancelRequested()) return Outcome::Cancelled();
    const std::byte* const first_a = a + some.first.a * all.m * all.k * in_element;
    const std::byte* const first_b = b + some.first.b * all.k * all.n * in_element;
    std::byte* const first_c = static_cast<std::byte*>(c.data) + some.first_c * all.m * all.n * element;
    const ProductKey key{.m = product.m,
                         .n = product.n,
                         .k = product.k,
                         .count = some.count,
                         .a_step = some.a_step,
                         .b_step = some.b_step,
                         .transpose_a = all.transpose_a,
                         .transpose_b = all.transpose_b,
                         .dtype = static_cast<int>(dtype),
                         .precision = call.precision(),
                         .alignment = AlignmentOf(first_a, first_b, first_c)};
    return Multiply(key, product, some, TypesFor(dtype, call.precision()), first_a, first_b, first_c, scratch, memory,
                    context);
  });
}

}  // namespace hotplate::matmul
