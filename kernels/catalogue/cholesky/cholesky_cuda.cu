#include "kernels/call/for_type.h"
#include "kernels/catalogue/cholesky/cholesky.h"
#include "kernels/catalogue/cholesky/cholesky_cuda.h"
#include "kernels/devices/cuda/code/matrices.cuh"
#include "kernels/devices/cuda/code/small_matrices.cuh"
#include "kernels/devices/cuda/libraries/dense.h"

namespace hotplate::cholesky {
namespace {

using small_matrices::AreSmall;

// Column by column. infos: the order of the first leading minor that is not positive, as LAPACK's.
template <typename T>
__global__ void __launch_bounds__(small_matrices::kWarp)
    FactorSmall(const T* a, T* l, std::uint64_t count, unsigned n, int* flags, int* infos) {
  __shared__ small_matrices::Tile<T> tile;
  const unsigned row = threadIdx.x;
  for (std::uint64_t matrix = blockIdx.x; matrix < count; matrix += gridDim.x) {
    const T* const from = a + matrix * n * n;
    small_matrices::Load<T>(tile, n, n, [&](unsigned i, unsigned j) {
      return j <= i ? matrices::Checked(from[i * n + j], flags + matrix) : T{0};
    });
    int info = 0;
    for (unsigned j = 0; j < n; ++j) {
      const T pivot = tile[j][j];
      __syncthreads();  // all have read it
      if (!(pivot > T{0})) {
        info = static_cast<int>(j) + 1;
        break;
      }
      const T root = sqrt(pivot);
      if (row == j) tile[j][j] = root;
      if (row > j && row < n) tile[row][j] /= root;
      __syncthreads();
      if (row < n) {
        for (unsigned column = j + 1; column <= row; ++column) tile[row][column] -= tile[row][j] * tile[column][j];
      }
      __syncthreads();
    }
    if (row == 0) infos[matrix] = info;
    small_matrices::Store<T>(tile, n, n, l + matrix * n * n, n);
  }
}

// By columns, the library sees each matrix transposed: a's lower triangle is its upper one, and so is l's. Scratch: the
// marks, then the library's workspace.
template <typename T>
Outcome Run(const Call& call, CudaContext& context) {
  const MatrixStack stack = StackOf(call.InputArray("a"));
  if (stack.empty()) return Outcome::Ok();
  const DType dtype = call.InputType("a");
  std::byte* const memory = call.scratch().data();
  matrices::Marks marks;
  if (const Outcome o = matrices::ClearMarks(stack, memory, context, marks); !o.ok()) return o;
  const T* const a = call.Input<T>("a").data();
  T* const l = call.Output<T>("l").data();
  if (AreSmall(stack.rows, stack.columns)) {
    const Outcome factored =
        Launch(context, FactorSmall<T>, small_matrices::GridFor(stack.count), small_matrices::kWarp, a, l, stack.count,
               static_cast<unsigned>(stack.rows), marks.flags, marks.infos);
    return factored.ok() ? matrices::Tell(stack, marks, context) : factored;
  }
  const Outcome copied = matrices::Copy(stack, stack.count, a, l, matrices::Part::kLower, marks.flags, context);
  if (!copied.ok()) return copied;
  const std::uint64_t own = matrices::MarksBytes(stack);
  const dense::Workspace workspace{memory + own, call.scratch().size() - own};
  for (std::uint64_t i = 0; i < stack.count; ++i) {
    if (context.CancelRequested()) return Outcome::Cancelled();
    const Outcome factored = dense::Cholesky(context, dtype, static_cast<int>(stack.rows), l + i * stack.elements(),
                                             workspace, marks.infos + i);
    if (!factored.ok()) return factored;
  }
  return matrices::Tell(stack, marks, context);
}

}  // namespace

std::uint64_t ScratchCuda(const Call& call, const CudaTraits&) {
  const MatrixStack stack = StackOf(call.InputArray("a"));
  if (stack.empty()) return 0;
  if (AreSmall(stack.rows, stack.columns)) return matrices::MarksBytes(stack);
  return matrices::MarksBytes(stack) + 256 * stack.rows * SizeOf(call.InputType("a"));
}

Outcome LaneScratchCuda(const Call& call, CudaContext& context, std::uint64_t& bytes) {
  const MatrixStack stack = StackOf(call.InputArray("a"));
  bytes = 0;
  if (stack.empty()) return Outcome::Ok();
  if (AreSmall(stack.rows, stack.columns)) {
    bytes = matrices::MarksBytes(stack);
    return Outcome::Ok();
  }
  const Outcome asked = dense::CholeskyBytes(context, call.InputType("a"), static_cast<int>(stack.rows), bytes);
  bytes += matrices::MarksBytes(stack);
  return asked;
}

Outcome RunCuda(const Call& call, CudaContext& context) {
  return ForType<float, double>("cholesky", call.InputType("a"), [&]<typename T>() { return Run<T>(call, context); });
}

Outcome FinishCuda(const Call& call, CudaContext& context) {
  return matrices::Told(StackOf(call.InputArray("a")), context, &MatrixTrouble::NotPositiveDefinite);
}

}  // namespace hotplate::cholesky
