#include <limits>

#include "kernels/call/for_type.h"
#include "kernels/catalogue/eigh/eigh.h"
#include "kernels/catalogue/eigh/eigh_cuda.h"
#include "kernels/devices/cuda/code/matrices.cuh"
#include "kernels/devices/cuda/code/small_matrices.cuh"
#include "kernels/devices/cuda/libraries/dense.h"

namespace hotplate::eigh {
namespace {

using small_matrices::AreSmall;

bool WithVectors(const Call& call) { return call.Choice("compute") == "vectors"; }

// Jacobi's rotations of two rows and columns at a time, until all elements beside the diagonal are `negligible`; the
// largest element of the matrix is then between 1 and 2. infos: how many elements are not, if that takes too long (the
// convergence is quadratic).
template <typename T>
__global__ void __launch_bounds__(small_matrices::kWarp)
    DecomposeSmall(const T* a, T* w, T* v, std::uint64_t count, unsigned n, T negligible, int* flags, int* infos) {
  constexpr int kMostSweeps = 60;
  __shared__ small_matrices::Tile<T> tile, vectors;
  const unsigned lane = threadIdx.x;
  for (std::uint64_t matrix = blockIdx.x; matrix < count; matrix += gridDim.x) {
    const T* const from = a + matrix * n * n;
    small_matrices::Load<T>(tile, n, n, [&](unsigned i, unsigned j) {
      return matrices::Checked(i < j ? from[j * n + i] : from[i * n + j], flags + matrix);
    });
    small_matrices::Load<T>(vectors, n, n, [&](unsigned i, unsigned j) { return i == j ? T{1} : T{0}; });
    const int exponent = small_matrices::ScaleToOne<T>(tile, n, n);
    int left = 1;
    for (int sweep = 0; left != 0 && sweep < kMostSweeps; ++sweep) {
      left = 0;
      for (unsigned p = 0; p + 1 < n; ++p) {
        for (unsigned q = p + 1; q < n; ++q) {
          const T beside = tile[p][q], upper = tile[p][p], lower = tile[q][q];
          if (fabs(beside) <= negligible) continue;
          ++left;
          const small_matrices::Rotation<T> rotation(upper, lower, beside);
          __syncthreads();  // all have read them
          if (lane < n) {
            if (lane == p) {
              tile[p][p] = upper - rotation.tangent * beside;
              tile[p][q] = T{0};
            } else if (lane == q) {
              tile[q][q] = lower + rotation.tangent * beside;
              tile[q][p] = T{0};
            } else {
              rotation.Turn(tile[lane][p], tile[lane][q]);
              tile[p][lane] = tile[lane][p];
              tile[q][lane] = tile[lane][q];
            }
            rotation.Turn(vectors[lane][p], vectors[lane][q]);
          }
          __syncthreads();
        }
      }
    }
    if (lane == 0) infos[matrix] = left;
    if (lane < n) {
      unsigned place = 0;
      for (unsigned i = 0; i < n; ++i) {
        place += tile[i][i] < tile[lane][lane] || (tile[i][i] == tile[lane][lane] && i < lane) ? 1 : 0;
      }
      w[matrix * n + place] = scalbn(tile[lane][lane], exponent);
      for (unsigned i = 0; v != nullptr && i < n; ++i) v[(matrix * n + i) * n + place] = vectors[i][lane];
    }
    __syncthreads();  // the next matrix takes this one's place
  }
}

// Scratch: the marks, a copy of one matrix, and the library's workspace.
std::uint64_t OwnBytes(const MatrixStack& stack, DType dtype) {
  return matrices::MarksBytes(stack) + RoundUp(stack.elements() * SizeOf(dtype), kArenaAlignment);
}

// By columns, the library sees each matrix transposed: a's lower triangle is its upper one, and the eigenvectors lie in
// rows until they are transposed.
template <typename T>
Outcome Run(const Call& call, CudaContext& context) {
  const MatrixStack stack = StackOf(call.InputArray("a"));
  if (stack.empty()) return Outcome::Ok();
  const DType dtype = call.InputType("a");
  const bool vectors = WithVectors(call);
  std::byte* const memory = call.scratch().data();
  matrices::Marks marks;
  if (const Outcome o = matrices::ClearMarks(stack, memory, context, marks); !o.ok()) return o;
  const T* a = call.Input<T>("a").data();
  T* w = call.Output<T>("w").data();
  T* v = call.Output<T>("v").data();
  if (AreSmall(stack.rows, stack.columns)) {
    const Outcome decomposed =
        Launch(context, DecomposeSmall<T>, small_matrices::GridFor(stack.count), small_matrices::kWarp, a, w,
               vectors ? v : nullptr, stack.count, static_cast<unsigned>(stack.rows),
               std::numeric_limits<T>::epsilon() / static_cast<T>(stack.rows), marks.flags, marks.infos);
    return decomposed.ok() ? matrices::Tell(stack, marks, context) : decomposed;
  }
  T* const copy = reinterpret_cast<T*>(memory + matrices::MarksBytes(stack));
  const std::uint64_t own = OwnBytes(stack, dtype);
  const dense::Workspace workspace{memory + own, call.scratch().size() - own};
  for (std::uint64_t i = 0; i < stack.count; ++i, a += stack.elements(), w += stack.rows) {
    if (context.CancelRequested()) return Outcome::Cancelled();
    const Outcome copied = matrices::Copy(stack, 1, a, copy, matrices::Part::kLower, marks.flags + i, context);
    if (!copied.ok()) return copied;
    const Outcome done =
        dense::Eigh(context, dtype, vectors, static_cast<int>(stack.rows), copy, w, workspace, marks.infos + i);
    if (!done.ok()) return done;
    if (!vectors) continue;
    const Outcome turned = matrices::Transpose(1, stack.rows, stack.rows, copy, v + i * stack.elements(), context);
    if (!turned.ok()) return turned;
  }
  return matrices::Tell(stack, marks, context);
}

}  // namespace

std::uint64_t ScratchCuda(const Call& call, const CudaTraits&) {
  const MatrixStack stack = StackOf(call.InputArray("a"));
  if (stack.empty()) return 0;
  if (AreSmall(stack.rows, stack.columns)) return matrices::MarksBytes(stack);
  const DType dtype = call.InputType("a");
  return OwnBytes(stack, dtype) + (2 * stack.elements() + 256 * stack.rows) * SizeOf(dtype);
}

Outcome LaneScratchCuda(const Call& call, CudaContext& context, std::uint64_t& bytes) {
  const MatrixStack stack = StackOf(call.InputArray("a"));
  const DType dtype = call.InputType("a");
  bytes = 0;
  if (stack.empty()) return Outcome::Ok();
  if (AreSmall(stack.rows, stack.columns)) {
    bytes = matrices::MarksBytes(stack);
    return Outcome::Ok();
  }
  const Outcome asked = dense::EighBytes(context, dtype, WithVectors(call), static_cast<int>(stack.rows), bytes);
  bytes += OwnBytes(stack, dtype);
  return asked;
}

Outcome RunCuda(const Call& call, CudaContext& context) {
  return ForType<float, double>("eigh", call.InputType("a"), [&]<typename T>() { return Run<T>(call, context); });
}

Outcome FinishCuda(const Call& call, CudaContext& context) {
  return matrices::Told(StackOf(call.InputArray("a")), context, [&](const MatrixTrouble& trouble, std::int64_t info) {
    return trouble.NoConvergence(info, MatrixTrouble::kLeft, call.InputType("a"));
  });
}

}  // namespace hotplate::eigh
