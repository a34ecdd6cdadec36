#include <limits>

#include "kernels/call/for_type.h"
#include "kernels/catalogue/solve/solve.h"
#include "kernels/catalogue/solve/solve_cuda.h"
#include "kernels/catalogue/solve/systems.h"
#include "kernels/devices/cuda/code/matrices.cuh"
#include "kernels/devices/cuda/code/small_matrices.cuh"
#include "kernels/devices/cuda/libraries/dense.h"

namespace hotplate::solve {
namespace {

// One warp would take too long for more right-hand sides.
constexpr std::uint64_t kMostSides = 4 * small_matrices::kMost;

bool AreSmall(const Systems& systems) {
  return small_matrices::AreSmall(systems.stack.rows, systems.stack.columns) && systems.k <= kMostSides;
}

// Gauss's elimination by columns with the largest pivot: the tile becomes its factors, and order[i] the row that has
// come to row i. Returns LAPACK's info, to all lanes.
template <typename T>
__device__ int Factor(small_matrices::Tile<T>& lu, unsigned (&order)[small_matrices::kMost], unsigned n) {
  const unsigned lane = threadIdx.x;
  order[lane] = lane;
  for (unsigned j = 0; j < n; ++j) {
    unsigned largest = j;  // each lane finds it by itself
    for (unsigned i = j + 1; i < n; ++i) {
      if (fabs(lu[i][j]) > fabs(lu[largest][j])) largest = i;
    }
    if (lu[largest][j] == T{0}) return static_cast<int>(j) + 1;
    __syncthreads();
    if (largest != j) {
      if (lane < n) {
        const T upper = lu[j][lane];
        lu[j][lane] = lu[largest][lane];
        lu[largest][lane] = upper;
      }
      if (lane == 0) {
        const unsigned upper = order[j];
        order[j] = order[largest];
        order[largest] = upper;
      }
    }
    __syncthreads();
    if (lane > j && lane < n) {
      const T factor = lu[lane][j] / lu[j][j];
      lu[lane][j] = factor;
      for (unsigned column = j + 1; column < n; ++column) lu[lane][column] -= factor * lu[j][column];
    }
    __syncthreads();
  }
  return 0;
}

// The tile's columns, in the factors' order of rows, become the solutions.
template <typename T>
__device__ void Substitute(const small_matrices::Tile<T>& lu, small_matrices::Tile<T>& sides, unsigned n,
                           unsigned width) {
  const unsigned lane = threadIdx.x;
  for (unsigned j = 0; j + 1 < n; ++j) {
    if (lane > j && lane < n) {
      for (unsigned column = 0; column < width; ++column) sides[lane][column] -= lu[lane][j] * sides[j][column];
    }
    __syncthreads();
  }
  for (unsigned j = n; j-- > 0;) {
    if (lane < width) sides[j][lane] /= lu[j][j];
    __syncthreads();
    if (lane < j) {
      for (unsigned column = 0; column < width; ++column) sides[lane][column] -= lu[lane][j] * sides[j][column];
    }
    __syncthreads();
  }
}

// A block has neighbouring systems and factors a shared matrix once. Then it solves for the k right-hand sides of each
// system, as many at a time as a tile has columns. infos: LAPACK's info for each of a's matrices.
template <typename T>
__global__ void __launch_bounds__(small_matrices::kWarp)
    SolveSmall(const T* a, const T* b, T* x, std::uint64_t count, Broadcast places, unsigned n, std::uint64_t k,
               int* infos) {
  constexpr std::uint64_t kWidth = small_matrices::kMost;
  __shared__ small_matrices::Tile<T> lu, sides;
  __shared__ unsigned order[small_matrices::kMost];
  const std::uint64_t each = (count + gridDim.x - 1) / gridDim.x, begin = blockIdx.x * each;
  std::uint64_t factored = ~std::uint64_t{0};  // which of a's matrices: none
  int info = 0;
  for (std::uint64_t system = begin; system < begin + each && system < count; ++system) {
    const Broadcast::Place place = places.Element(system);
    if (place.a != factored) {
      const T* const matrix = a + place.a * n * n;
      small_matrices::Load<T>(lu, n, n, [&](unsigned i, unsigned j) { return matrix[i * n + j]; });
      info = Factor<T>(lu, order, n);
      if (info != 0 && threadIdx.x == 0) infos[place.a] = info;
      factored = place.a;
    }
    for (std::uint64_t first = 0; first < k && info == 0; first += kWidth) {
      const auto width = static_cast<unsigned>(k - first < kWidth ? k - first : kWidth);
      const T* const side = b + place.b * n * k + first;
      small_matrices::Load<T>(sides, n, width, [&](unsigned i, unsigned j) { return side[order[i] * k + j]; });
      Substitute<T>(lu, sides, n, width);
      small_matrices::Store<T>(sides, n, width, x + system * n * k + first, k);
    }
    __syncthreads();  // the next matrix takes this one's place
  }
}

// cuSOLVER's factors of a matrix that holds a NaN hold none (seen with version 12 on an H100): the solutions get it
// here, and no matter what the factors are, such a matrix is not singular.
template <typename T>
__global__ void __launch_bounds__(kBlockSize) FindNan(const T* matrix, std::uint64_t elements, int* found, int* info) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kBlockSize;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * kBlockSize + threadIdx.x; i < elements; i += stride) {
    if (matrix[i] == matrix[i]) continue;
    *found = 1;  // all threads that write it write the same
    *info = 0;
  }
}

template <typename T>
__global__ void __launch_bounds__(kBlockSize) SpreadNan(const int* found, T nan, T* x, std::uint64_t elements) {
  if (*found == 0) return;
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kBlockSize;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * kBlockSize + threadIdx.x; i < elements; i += stride) {
    x[i] = nan;
  }
}

// Scratch: the marks, a copy of one matrix, which becomes its factors, their pivots, whether it holds a NaN, one
// system's right-hand sides by columns, if they are more than one, and the library's workspace.
struct Layout {
  std::uint64_t lu = 0, pivots = 0, nan = 0, sides = 0, workspace = 0;
};

Layout LayOut(const Systems& systems, DType dtype) {
  const std::uint64_t element = SizeOf(dtype);
  Layout layout;
  layout.lu = matrices::MarksBytes(systems.stack);
  layout.pivots = layout.lu + RoundUp(systems.stack.elements() * element, kArenaAlignment);
  layout.nan = layout.pivots + systems.stack.rows * sizeof(int);
  layout.sides = RoundUp(layout.nan + sizeof(int), kArenaAlignment);
  layout.workspace = layout.sides + (systems.k > 1 ? RoundUp(systems.side_elements() * element, kArenaAlignment) : 0);
  return layout;
}

template <typename T>
Outcome LookForNan(std::uint64_t elements, const T* matrix, int* found, int* info, CudaContext& context) {
  const Outcome cleared = ToOutcome(cudaMemsetAsync(found, 0, sizeof *found, context.stream()), "memset");
  return cleared.ok() ? Launch(context, FindNan<T>, GridFor(elements, 4), kBlockSize, matrix, elements, found, info)
                      : cleared;
}

// By columns, the library sees a's transpose, which it factors, and solves with the transpose of that.
template <typename T>
Outcome Run(const Call& call, CudaContext& context) {
  const Systems systems = SystemsOf(call);
  if (systems.empty()) return Outcome::Ok();
  const DType dtype = call.InputType("a");
  const MatrixStack& stack = systems.stack;
  const Layout layout = LayOut(systems, dtype);
  std::byte* const memory = call.scratch().data();
  matrices::Marks marks;
  if (const Outcome o = matrices::ClearMarks(stack, memory, context, marks); !o.ok()) return o;
  if (AreSmall(systems)) {
    const Outcome solved =
        Launch(context, SolveSmall<T>, small_matrices::GridFor(systems.count), small_matrices::kWarp,
               call.Input<T>("a").data(), call.Input<T>("b").data(), call.Output<T>("x").data(), systems.count,
               systems.matrices, static_cast<unsigned>(stack.rows), systems.k, marks.infos);
    return solved.ok() ? matrices::Tell(stack, marks, context) : solved;
  }
  T* const lu = reinterpret_cast<T*>(memory + layout.lu);
  int* const pivots = reinterpret_cast<int*>(memory + layout.pivots);
  int* const nan = reinterpret_cast<int*>(memory + layout.nan);
  const dense::Workspace workspace{memory + layout.workspace, call.scratch().size() - layout.workspace};
  const int n = static_cast<int>(stack.rows), k = static_cast<int>(systems.k);
  const MatrixStack side{.count = 1, .rows = stack.rows, .columns = systems.k};
  T* x = call.Output<T>("x").data();
  std::uint64_t factored = stack.count;  // which of a's matrices: none
  for (std::uint64_t i = 0; i < systems.count; ++i, x += side.elements()) {
    if (context.CancelRequested()) return Outcome::Cancelled();
    const Broadcast::Place place = systems.matrices.Element(i);
    const T* const a = call.Input<T>("a").data() + place.a * stack.elements();
    const T* const b = call.Input<T>("b").data() + place.b * side.elements();
    if (place.a != factored) {
      const Outcome copied = matrices::Copy(stack, 1, a, lu, matrices::Part::kWhole, nullptr, context);
      if (!copied.ok()) return copied;
      int* const info = marks.infos + place.a;
      const Outcome done = dense::Lu(context, dtype, n, lu, pivots, workspace, info);
      if (!done.ok()) return done;
      if (const Outcome o = LookForNan(stack.elements(), a, nan, info, context); !o.ok()) return o;
      factored = place.a;
    }
    if (k == 0) continue;
    T* const columns = k == 1 ? x : reinterpret_cast<T*>(memory + layout.sides);
    const Outcome turned = k == 1 ? matrices::Copy(side, 1, b, x, matrices::Part::kWhole, nullptr, context)
                                  : matrices::Transpose(1, stack.rows, systems.k, b, columns, context);
    if (!turned.ok()) return turned;
    const Outcome solved = dense::LuSolveTransposed(context, dtype, n, k, lu, pivots, columns, marks.spare);
    if (!solved.ok()) return solved;
    if (k > 1) {
      if (const Outcome o = matrices::Transpose(1, systems.k, stack.rows, columns, x, context); !o.ok()) return o;
    }
    const Outcome spread = Launch(context, SpreadNan<T>, GridFor(side.elements(), 4), kBlockSize, nan,
                                  std::numeric_limits<T>::quiet_NaN(), x, side.elements());
    if (!spread.ok()) return spread;
  }
  return matrices::Tell(stack, marks, context);
}

}  // namespace

std::uint64_t ScratchCuda(const Call& call, const CudaTraits&) {
  const Systems systems = SystemsOf(call);
  if (systems.empty()) return 0;
  if (AreSmall(systems)) return matrices::MarksBytes(systems.stack);
  const DType dtype = call.InputType("a");
  return LayOut(systems, dtype).workspace + 256 * systems.stack.rows * SizeOf(dtype);
}

Outcome LaneScratchCuda(const Call& call, CudaContext& context, std::uint64_t& bytes) {
  const Systems systems = SystemsOf(call);
  bytes = 0;
  if (systems.empty()) return Outcome::Ok();
  if (AreSmall(systems)) {
    bytes = matrices::MarksBytes(systems.stack);
    return Outcome::Ok();
  }
  const DType dtype = call.InputType("a");
  const Outcome asked = dense::LuBytes(context, dtype, static_cast<int>(systems.stack.rows), bytes);
  bytes += LayOut(systems, dtype).workspace;
  return asked;
}

Outcome RunCuda(const Call& call, CudaContext& context) {
  return ForType<float, double>("solve", call.InputType("a"), [&]<typename T>() { return Run<T>(call, context); });
}

Outcome FinishCuda(const Call& call, CudaContext& context) {
  const Systems systems = SystemsOf(call);
  if (systems.empty()) return Outcome::Ok();  // nothing was enqueued
  return matrices::Told(systems.stack, context, &MatrixTrouble::Singular);
}

}  // namespace hotplate::solve
