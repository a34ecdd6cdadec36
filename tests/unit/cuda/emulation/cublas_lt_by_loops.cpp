#include "tests/unit/cuda/emulation/cublas_lt_by_loops.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

// NOLINTBEGIN(readability-identifier-naming): NVIDIA's names.
struct cublasLtContext {};
struct cublasLtMatmulDescOpaque {
  cublasComputeType_t compute;
  cudaDataType_t scale;
  cublasOperation_t transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N;
};
struct cublasLtMatrixLayoutOpaque {
  cudaDataType_t type;
  std::uint64_t rows = 0, columns = 0;
  std::int64_t leading = 0;
  std::int32_t count = 1;
  std::int64_t offset = 0;
};
struct cublasLtMatmulPreferenceOpaque {
  std::size_t workspace_bytes = 0;
  std::uint32_t alignments[4] = {256, 256, 256, 256};  // the library's own default
};

namespace {

std::vector<hotplate::emulation::Multiplied> multiplied;

template <typename T>
cublasStatus_t Set(T& value, const void* given, std::size_t bytes) {
  if (bytes != sizeof value) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&value, given, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

bool IsComplex(cudaDataType_t type) { return type == CUDA_C_32F || type == CUDA_C_64F; }

// As the type of an array says.
std::complex<double> Element(const cublasLtMatrixLayoutOpaque& layout, const void* array, std::size_t index) {
  switch (layout.type) {
    case CUDA_R_32F:
      return static_cast<const float*>(array)[index];
    case CUDA_R_64F:
      return static_cast<const double*>(array)[index];
    case CUDA_R_16F:
      return static_cast<float>(static_cast<const __half*>(array)[index]);
    case CUDA_R_16BF:
      return static_cast<float>(static_cast<const __nv_bfloat16*>(array)[index]);
    case CUDA_C_32F:
      return static_cast<const std::complex<float>*>(array)[index];
    case CUDA_C_64F:
      return static_cast<const std::complex<double>*>(array)[index];
  }
  return std::nan("");
}

// The worst that a device does with a factor in tf32: it cuts off 13 bits.
double CutToTf32(double factor) {
  if (!std::isfinite(factor)) return factor;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(static_cast<float>(factor)) & 0xffffe000);
}

// op(a) of one matrix of a batch, row by row; or op(a)^T, row by row.
std::vector<std::complex<double>> Factors(const cublasLtMatrixLayoutOpaque& layout, const void* array,
                                          std::int64_t index, bool by_stored_columns, bool cut) {
  std::vector<std::complex<double>> factors;
  factors.reserve(layout.rows * layout.columns);
  const std::uint64_t outer = by_stored_columns ? layout.columns : layout.rows;
  const std::uint64_t inner = by_stored_columns ? layout.rows : layout.columns;
  for (std::uint64_t i = 0; i < outer; ++i) {
    for (std::uint64_t j = 0; j < inner; ++j) {
      const std::uint64_t row = by_stored_columns ? j : i, column = by_stored_columns ? i : j;
      const std::complex<double> factor = Element(
          layout, array,
          static_cast<std::size_t>(index * layout.offset) + row + column * static_cast<std::uint64_t>(layout.leading));
      factors.push_back(cut ? CutToTf32(factor.real()) : factor);
    }
  }
  return factors;
}

// The sizes that a product of these has, or none: what cuBLASLt would refuse.
struct Sizes {
  std::uint64_t m = 0, n = 0, k = 0;
};
bool Fit(const cublasLtMatmulDescOpaque& product, const cublasLtMatrixLayoutOpaque& a,
         const cublasLtMatrixLayoutOpaque& b, const cublasLtMatrixLayoutOpaque& c, Sizes& sizes) {
  const bool turn_a = product.transpose_a == CUBLAS_OP_T, turn_b = product.transpose_b == CUBLAS_OP_T;
  sizes = {turn_a ? a.columns : a.rows, turn_b ? b.rows : b.columns, turn_a ? a.rows : a.columns};
  const bool in_double = product.compute == CUBLAS_COMPUTE_64F;
  const bool complex = IsComplex(product.scale);
  const cudaDataType_t wide = complex ? CUDA_C_64F : CUDA_R_64F, narrow = complex ? CUDA_C_32F : CUDA_R_32F;
  const bool types =
      IsComplex(a.type) == complex && (in_double ? a.type == wide && c.type == wide && product.scale == wide
                                                 : a.type != wide && c.type == narrow && product.scale == narrow);
  const bool tf32 = product.compute != CUBLAS_COMPUTE_32F_FAST_TF32 || a.type == CUDA_R_32F;
  for (const cublasLtMatrixLayoutOpaque* const layout : {&a, &b, &c}) {
    if (layout->leading < static_cast<std::int64_t>(layout->rows) || layout->count < 1) return false;
  }
  return types && tf32 && a.type == b.type && a.count == c.count && b.count == c.count && c.rows == sizes.m &&
         c.columns == sizes.n && (turn_b ? b.columns : b.rows) == sizes.k;
}

cublasLtMatmulAlgo_t AlgorithmFor(const cublasLtMatmulDescOpaque& product, const cublasLtMatrixLayoutOpaque& a,
                                  const cublasLtMatrixLayoutOpaque& b, const cublasLtMatrixLayoutOpaque& c) {
  const auto number = [](auto value) { return static_cast<std::uint64_t>(value); };
  return {{number(product.compute), number(product.transpose_a), number(product.transpose_b), number(a.type),
           number(c.type), a.rows, a.columns, b.rows, b.columns, number(c.count), number(a.offset), number(b.offset),
           number(c.offset)}};
}

constexpr std::size_t kWorkspacePlace = 13, kAlignmentPlace = 14;

template <typename Sum>
Sum FactorAs(std::complex<double> factor) {
  if constexpr (std::is_floating_point_v<Sum>) {
    return static_cast<Sum>(factor.real());
  } else {
    return Sum(factor);
  }
}

template <typename Sum>
void Multiply(const cublasLtMatmulDescOpaque& product, const Sizes& sizes, const cublasLtMatrixLayoutOpaque& a,
              const void* a_array, const cublasLtMatrixLayoutOpaque& b, const void* b_array,
              const cublasLtMatrixLayoutOpaque& c, Sum* c_array) {
  const bool cut = product.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  for (std::int64_t index = 0; index < c.count; ++index) {
    const auto left = Factors(a, a_array, index, product.transpose_a == CUBLAS_OP_T, cut);
    const auto right = Factors(b, b_array, index, product.transpose_b == CUBLAS_OP_N, cut);
    for (std::uint64_t j = 0; j < sizes.n; ++j) {
      for (std::uint64_t i = 0; i < sizes.m; ++i) {
        Sum sum = 0;
        for (std::uint64_t l = 0; l < sizes.k; ++l) {
          sum += FactorAs<Sum>(left[i * sizes.k + l]) * FactorAs<Sum>(right[j * sizes.k + l]);
        }
        c_array[static_cast<std::size_t>(index * c.offset) + i + j * static_cast<std::uint64_t>(c.leading)] = sum;
      }
    }
  }
}

bool Is(const void* given, cudaDataType_t type, double value) { return Element({.type = type}, given, 0) == value; }

}  // namespace

std::size_t cublasLtGetVersion() { return 0; }
const char* cublasLtGetStatusName(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS ? "CUBLAS_STATUS_SUCCESS" : "CUBLAS_STATUS_INVALID_VALUE";
}
cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = new cublasLtContext;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* product, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  *product = new cublasLtMatmulDescOpaque{.compute = compute, .scale = scale};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product) {
  delete product;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t product, cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, std::size_t bytes) {
  return Set(attribute == CUBLASLT_MATMUL_DESC_TRANSA ? product->transpose_a : product->transpose_b, value, bytes);
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType_t type, std::uint64_t rows,
                                          std::uint64_t columns, std::int64_t leading) {
  *layout = new cublasLtMatrixLayoutOpaque{.type = type, .rows = rows, .columns = columns, .leading = leading};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, const void* value,
                                                std::size_t bytes) {
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT) return Set(layout->count, value, bytes);
  return Set(layout->offset, value, bytes);
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = new cublasLtMatmulPreferenceOpaque;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete preference;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void* value,
                                                    std::size_t bytes) {
  if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) return Set(preference->workspace_bytes, value, bytes);
  return Set(preference->alignments[attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES], value, bytes);
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t product, cublasLtMatrixLayout_t a,
                                              cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                                              cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t preference, int,
                                              cublasLtMatmulHeuristicResult_t* results, int* found) {
  Sizes sizes;
  if (c != d || !Fit(*product, *a, *b, *c, sizes)) return CUBLAS_STATUS_INVALID_VALUE;
  results->algo = AlgorithmFor(*product, *a, *b, *c);
  results->algo.data[kWorkspacePlace] = preference->workspace_bytes;  // all that it may have
  std::uint32_t least = 256;
  for (const std::uint32_t alignment : preference->alignments) least = alignment < least ? alignment : least;
  results->algo.data[kAlignmentPlace] = least;
  results->workspaceSize = preference->workspace_bytes;
  results->state = CUBLAS_STATUS_SUCCESS;
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t product, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
                              const void* beta, const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                              std::size_t workspace_bytes, cudaStream_t stream) {
  Sizes sizes;
  if (handle == nullptr || stream != hotplate::emulation::LaneStream() || c != d || c_layout != d_layout ||
      !Fit(*product, *a_layout, *b_layout, *c_layout, sizes) || !Is(alpha, product->scale, 1) ||
      !Is(beta, product->scale, 0)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const std::uint64_t alignment = algorithm->data[kAlignmentPlace];
  for (const void* const array : {a, b, static_cast<const void*>(d)}) {
    if (reinterpret_cast<std::uintptr_t>(array) % alignment != 0) return CUBLAS_STATUS_INVALID_VALUE;
  }
  cublasLtMatmulAlgo_t wanted = AlgorithmFor(*product, *a_layout, *b_layout, *c_layout);
  wanted.data[kWorkspacePlace] = workspace_bytes, wanted.data[kAlignmentPlace] = alignment;
  if (std::memcmp(&wanted, algorithm, sizeof wanted) != 0) return CUBLAS_STATUS_INVALID_VALUE;
  // Written over at both ends: what the kernel keeps there is lost.
  const std::size_t end = workspace_bytes < 4096 ? workspace_bytes : 4096;
  std::memset(workspace, 0xA5, end);
  std::memset(static_cast<std::byte*>(workspace) + workspace_bytes - end, 0xA5, end);
  multiplied.push_back({.compute = product->compute,
                        .in = a_layout->type,
                        .out = c_layout->type,
                        .transpose_a = product->transpose_a,
                        .transpose_b = product->transpose_b,
                        .count = c_layout->count,
                        .a_offset = a_layout->offset,
                        .b_offset = b_layout->offset,
                        .c_offset = c_layout->offset});
  const auto multiply = [&](auto* array) { Multiply(*product, sizes, *a_layout, a, *b_layout, b, *c_layout, array); };
  switch (c_layout->type) {
    case CUDA_R_64F:
      multiply(static_cast<double*>(d));
      break;
    case CUDA_C_32F:
      multiply(static_cast<std::complex<float>*>(d));
      break;
    case CUDA_C_64F:
      multiply(static_cast<std::complex<double>*>(d));
      break;
    default:
      multiply(static_cast<float*>(d));
  }
  return CUBLAS_STATUS_SUCCESS;
}
// NOLINTEND(readability-identifier-naming)

namespace hotplate::emulation {

CublasLt CublasLtByLoops() {
  CublasLt blas;
  blas.cublasLtGetVersion = ::cublasLtGetVersion;
  blas.cublasLtGetStatusName = ::cublasLtGetStatusName;
  blas.cublasLtCreate = ::cublasLtCreate;
  blas.cublasLtDestroy = ::cublasLtDestroy;
  blas.cublasLtMatmul = ::cublasLtMatmul;
  blas.cublasLtMatmulAlgoGetHeuristic = ::cublasLtMatmulAlgoGetHeuristic;
  blas.cublasLtMatmulDescCreate = ::cublasLtMatmulDescCreate;
  blas.cublasLtMatmulDescDestroy = ::cublasLtMatmulDescDestroy;
  blas.cublasLtMatmulDescSetAttribute = ::cublasLtMatmulDescSetAttribute;
  blas.cublasLtMatrixLayoutCreate = ::cublasLtMatrixLayoutCreate;
  blas.cublasLtMatrixLayoutDestroy = ::cublasLtMatrixLayoutDestroy;
  blas.cublasLtMatrixLayoutSetAttribute = ::cublasLtMatrixLayoutSetAttribute;
  blas.cublasLtMatmulPreferenceCreate = ::cublasLtMatmulPreferenceCreate;
  blas.cublasLtMatmulPreferenceDestroy = ::cublasLtMatmulPreferenceDestroy;
  blas.cublasLtMatmulPreferenceSetAttribute = ::cublasLtMatmulPreferenceSetAttribute;
  return blas;
}

std::vector<Multiplied> TakeMultiplied() { return std::exchange(multiplied, {}); }

}  // namespace hotplate::emulation
