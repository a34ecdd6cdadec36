// The library wants rows >= columns, stored by columns. A wide row-major matrix already is that: its transpose, whose
// left vectors are vt and whose right ones are u, each in place. A tall matrix is transposed, and so are its vectors.
// Long ones go through their QR factors: r has a's singular values, and q turns its left vectors into a's. Small ones
// do not use the library (svd_small_cuda.cuh).
#include <limits>

#include "kernels/call/for_type.h"
#include "kernels/catalogue/svd/svd.h"
#include "kernels/catalogue/svd/svd_cuda.h"
#include "kernels/catalogue/svd/svd_small_cuda.cuh"
#include "kernels/devices/cuda/code/matrices.cuh"
#include "kernels/devices/cuda/libraries/dense.h"

namespace hotplate::svd {
namespace {

using small_matrices::AreSmall;

struct Layout {
  std::uint64_t copy = 0, tau = 0, r = 0, r_left = 0;  // of QR, all but the copy
  std::uint64_t left = 0, right = 0;                   // vectors that are to be transposed
  std::uint64_t workspace = 0;
};

struct Problem {
  MatrixStack stack;
  DType dtype = DType::kFloat32;
  dense::Vectors vectors = dense::Vectors::kNone;
  std::uint64_t rows = 0, columns = 0;  // as the library sees it
  std::uint64_t left_columns = 0;       // vectors on the longer side

  bool tall() const { return stack.rows > stack.columns; }
  bool by_qr() const { return 5 * rows >= 8 * columns; }
  bool wants_vectors() const { return vectors != dense::Vectors::kNone; }
  Layout LayOut() const {
    const std::uint64_t element = SizeOf(dtype);
    Layout layout;
    std::uint64_t end = matrices::MarksBytes(stack);
    const auto take = [&](std::uint64_t elements) {
      const std::uint64_t at = end;
      end += RoundUp(elements * element, kArenaAlignment);
      return at;
    };
    layout.copy = take(rows * columns);
    if (by_qr()) {
      layout.tau = take(columns);
      layout.r = take(columns * columns);
      if (wants_vectors()) layout.r_left = take(columns * columns);
    }
    if (tall() && wants_vectors()) {
      layout.left = take(rows * left_columns);
      layout.right = take(columns * columns);
    }
    layout.workspace = end;
    return layout;
  }
};

Problem ProblemOf(const Call& call) {
  Problem problem{.stack = StackOf(call.InputArray("a")), .dtype = call.InputType("a")};
  problem.rows = problem.stack.rows > problem.stack.columns ? problem.stack.rows : problem.stack.columns;
  problem.columns = problem.stack.elements() / (problem.rows == 0 ? 1 : problem.rows);
  const std::string_view compute = call.Choice("compute");
  problem.vectors = compute == "full"   ? dense::Vectors::kFull
                    : compute == "thin" ? dense::Vectors::kThin
                                        : dense::Vectors::kNone;
  problem.left_columns = compute == "full" ? problem.rows : compute == "thin" ? problem.columns : 0;
  return problem;
}

// By columns: the upper triangle of a matrix with `rows` rows, square.
template <typename T>
__global__ void __launch_bounds__(kBlockSize)
    TakeUpper(const T* from, std::uint64_t rows, std::uint64_t columns, T* to) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kBlockSize;
  for (std::uint64_t at = std::uint64_t{blockIdx.x} * kBlockSize + threadIdx.x; at < columns * columns; at += stride) {
    const std::uint64_t i = at % columns, j = at / columns;
    to[at] = i <= j ? from[j * rows + i] : T{0};
  }
}

// By columns: `to`, rows x columns, has a square matrix of `order` in its corner, and is the identity beside it.
template <typename T>
__global__ void __launch_bounds__(kBlockSize)
    Embed(const T* corner, std::uint64_t order, T* to, std::uint64_t rows, std::uint64_t columns) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kBlockSize;
  for (std::uint64_t at = std::uint64_t{blockIdx.x} * kBlockSize + threadIdx.x; at < rows * columns; at += stride) {
    const std::uint64_t i = at % rows, j = at / rows;
    to[at] = i < order && j < order ? corner[j * order + i] : T{i == j ? T{1} : T{0}};
  }
}

// A stack of identities of n rows: the diagonal has the indices divisible by n + 1.
template <typename T>
__global__ void __launch_bounds__(kBlockSize) Identities(T* to, std::uint64_t elements, std::uint64_t n) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kBlockSize;
  for (std::uint64_t at = std::uint64_t{blockIdx.x} * kBlockSize + threadIdx.x; at < elements; at += stride) {
    to[at] = at % (n * n) % (n + 1) == 0 ? T{1} : T{0};
  }
}

template <typename T>
Outcome SetIdentities(std::span<T> matrices, std::uint64_t n, CudaContext& context) {
  if (matrices.empty()) return Outcome::Ok();
  return Launch(context, Identities<T>, GridFor(matrices.size(), 4), kBlockSize, matrices.data(), matrices.size(), n);
}

template <typename T>
SmallProblem<T> SmallProblemOf(const Call& call, const Problem& problem) {
  constexpr T kEpsilon = std::numeric_limits<T>::epsilon();
  SmallProblem<T> small{.a = call.Input<T>("a").data(), .s = call.Output<T>("s").data(), .count = problem.stack.count};
  small.u = call.Output<T>("u").data();
  small.vt = call.Output<T>("vt").data();
  small.rows = static_cast<unsigned>(problem.rows);
  small.columns = static_cast<unsigned>(problem.columns);
  small.left_columns = static_cast<unsigned>(problem.left_columns);
  small.turned = problem.rows != problem.stack.rows;
  small.orthogonal = kEpsilon * static_cast<T>(problem.rows + 8) / 4;
  small.least = std::numeric_limits<T>::min() / kEpsilon;
  return small;
}

// copy = left diag(s) right, by columns. Overwrites the copy.
template <typename T>
Outcome Decompose(const Problem& problem, const Layout& layout, std::byte* memory, const dense::Workspace& workspace,
                  T* s, T* left, T* right, const matrices::Marks& marks, std::uint64_t index, CudaContext& context) {
  T* const copy = reinterpret_cast<T*>(memory + layout.copy);
  const int rows = static_cast<int>(problem.rows), columns = static_cast<int>(problem.columns);
  if (!problem.by_qr()) {
    return dense::Svd(context, problem.dtype, problem.vectors, rows, columns, copy, s, left, right, workspace,
                      marks.infos + index);
  }
  T* const tau = reinterpret_cast<T*>(memory + layout.tau);
  T* const r = reinterpret_cast<T*>(memory + layout.r);
  T* const r_left = reinterpret_cast<T*>(memory + layout.r_left);
  const Outcome factored = dense::Qr(context, problem.dtype, rows, columns, copy, tau, workspace, marks.spare);
  if (!factored.ok()) return factored;
  const Outcome taken = Launch(context, TakeUpper<T>, GridFor(problem.columns * problem.columns, 4), kBlockSize, copy,
                               problem.rows, problem.columns, r);
  if (!taken.ok()) return taken;
  const dense::Vectors vectors = problem.wants_vectors() ? dense::Vectors::kFull : dense::Vectors::kNone;
  const Outcome done = dense::Svd(context, problem.dtype, vectors, columns, columns, r, s, r_left, right, workspace,
                                  marks.infos + index);
  if (!done.ok() || !problem.wants_vectors()) return done;
  const Outcome embedded = Launch(context, Embed<T>, GridFor(problem.rows * problem.left_columns, 4), kBlockSize,
                                  r_left, problem.columns, left, problem.rows, problem.left_columns);
  if (!embedded.ok()) return embedded;
  return dense::ApplyQ(context, problem.dtype, rows, columns, copy, tau, static_cast<int>(problem.left_columns), left,
                       workspace, marks.spare);
}

template <typename T>
Outcome Run(const Call& call, CudaContext& context) {
  const Problem problem = ProblemOf(call);
  const MatrixStack& stack = problem.stack;
  if (stack.empty()) {  // nothing to decompose: any orthogonal matrices will do
    if (const Outcome o = SetIdentities(call.Output<T>("u"), stack.rows, context); !o.ok()) return o;
    return SetIdentities(call.Output<T>("vt"), stack.columns, context);
  }
  const T* a = call.Input<T>("a").data();
  T* u = call.Output<T>("u").data();
  T* s = call.Output<T>("s").data();
  T* vt = call.Output<T>("vt").data();
  const Layout layout = problem.LayOut();
  std::byte* const memory = call.scratch().data();
  matrices::Marks marks;
  if (const Outcome o = matrices::ClearMarks(stack, memory, context, marks); !o.ok()) return o;
  if (AreSmall(stack.rows, stack.columns)) {
    const Outcome done = Launch(context, DecomposeSmall<T>, small_matrices::GridFor(stack.count), small_matrices::kWarp,
                                SmallProblemOf<T>(call, problem), marks.flags, marks.infos);
    return done.ok() ? matrices::Tell(stack, marks, context) : done;
  }
  T* const copy = reinterpret_cast<T*>(memory + layout.copy);
  const dense::Workspace workspace{memory + layout.workspace, call.scratch().size() - layout.workspace};
  const std::uint64_t left_elements = problem.rows * problem.left_columns;
  const std::uint64_t right_elements = problem.wants_vectors() ? problem.columns * problem.columns : 0;
  for (std::uint64_t i = 0; i < stack.count; ++i) {
    if (context.CancelRequested()) return Outcome::Cancelled();
    const T* const matrix = a + i * stack.elements();
    T* const long_side = (problem.tall() ? u : vt) + i * left_elements;
    T* const short_side = (problem.tall() ? vt : u) + i * right_elements;
    int* const flag = marks.flags + i;
    const Outcome copied = problem.tall()
                               ? matrices::Transpose(1, stack.rows, stack.columns, matrix, copy, context, flag)
                               : matrices::Copy(stack, 1, matrix, copy, matrices::Part::kWhole, flag, context);
    if (!copied.ok()) return copied;
    const bool transpose = problem.tall() && problem.wants_vectors();
    T* const left = transpose ? reinterpret_cast<T*>(memory + layout.left) : long_side;
    T* const right = transpose ? reinterpret_cast<T*>(memory + layout.right) : short_side;
    const Outcome done =
        Decompose(problem, layout, memory, workspace, s + i * problem.columns, left, right, marks, i, context);
    if (!done.ok()) return done;
    if (!transpose) continue;
    // A matrix stored by columns is the transpose of one stored by rows.
    const Outcome u_transposed = matrices::Transpose(1, problem.left_columns, problem.rows, left, long_side, context);
    if (!u_transposed.ok()) return u_transposed;
    const Outcome vt_transposed = matrices::Transpose(1, problem.columns, problem.columns, right, short_side, context);
    if (!vt_transposed.ok()) return vt_transposed;
  }
  return matrices::Tell(stack, marks, context);
}

}  // namespace

std::uint64_t ScratchCuda(const Call& call, const CudaTraits&) {
  const Problem problem = ProblemOf(call);
  if (problem.stack.empty()) return 0;
  if (AreSmall(problem.rows, problem.columns)) return matrices::MarksBytes(problem.stack);
  const std::uint64_t estimate = 3 * problem.columns * problem.columns + 256 * problem.rows;
  return problem.LayOut().workspace + estimate * SizeOf(problem.dtype);
}

Outcome LaneScratchCuda(const Call& call, CudaContext& context, std::uint64_t& bytes) {
  const Problem problem = ProblemOf(call);
  bytes = 0;
  if (problem.stack.empty()) return Outcome::Ok();
  if (AreSmall(problem.rows, problem.columns)) {
    bytes = matrices::MarksBytes(problem.stack);
    return Outcome::Ok();
  }
  const int rows = static_cast<int>(problem.rows), columns = static_cast<int>(problem.columns);
  const bool by_qr = problem.by_qr();
  if (const Outcome o = dense::SvdBytes(context, problem.dtype, by_qr ? columns : rows, columns, bytes); !o.ok())
    return o;
  if (by_qr) {
    std::uint64_t for_qr = 0;
    const Outcome asked =
        dense::QrBytes(context, problem.dtype, rows, columns, static_cast<int>(problem.left_columns), for_qr);
    if (!asked.ok()) return asked;
    if (for_qr > bytes) bytes = for_qr;
  }
  bytes += problem.LayOut().workspace;
  return Outcome::Ok();
}

Outcome RunCuda(const Call& call, CudaContext& context) {
  return ForType<float, double>("svd", call.InputType("a"), [&]<typename T>() { return Run<T>(call, context); });
}

Outcome FinishCuda(const Call& call, CudaContext& context) {
  const MatrixStack stack = StackOf(call.InputArray("a"));
  const char* const meaning =
      AreSmall(stack.rows, stack.columns) ? ": so many pairs of vectors are not orthogonal" : MatrixTrouble::kLeft;
  return matrices::Told(stack, context, [&](const MatrixTrouble& trouble, std::int64_t info) {
    return trouble.NoConvergence(info, meaning, call.InputType("a"));
  });
}

}  // namespace hotplate::svd
