#include <string>

#include "kernels/call/for_type.h"
#include "kernels/catalogue/eigh/eigh.h"
#include "kernels/devices/cpu/lapack.h"
#include "kernels/devices/cpu/matrix_copy.h"
#include "kernels/devices/cpu/openblas_use.h"
#include "kernels/devices/cpu/stack_pieces.h"
#include "kernels/devices/device.h"
#include "kernels/families/square_matrices.h"

namespace hotplate::eigh {
namespace {

// Smaller matrices run on one thread.
constexpr std::uint64_t kSerialBelow = 64;

// The sizes that LAPACK documents as sufficient, with a block of columns for each row. In elements; n is bounded so
// that they fit.
struct Workspace {
  std::size_t copy, work, iwork;  // in elements: a matrix, if there is no v to work in; T; int

  Workspace(std::size_t n, bool vectors)
      : copy(vectors ? 0 : n * n), work(vectors ? 1 + 6 * n + 2 * n * n : 1 + 66 * n), iwork(vectors ? 3 + 5 * n : 1) {}

  std::size_t IntsAt(std::size_t element) const { return ((copy + work) * element + 63) / 64 * 64; }
  // For one piece of a stack.
  std::size_t Bytes(std::size_t element) const { return (IntsAt(element) + iwork * sizeof(int) + 63) / 64 * 64; }
};

std::uint64_t PiecesOf(const MatrixStack& stack) { return PiecesOf(stack, stack.count, stack.rows < kSerialBelow); }

// Info of ?syevd: by divide and conquer, which finds vectors of matrices that are not small, two numbers are in one.
Outcome GivenUp(const MatrixTrouble& trouble, int info, int n, DType dtype) {
  if (info <= n) return trouble.NoConvergence(info, MatrixTrouble::kLeft, dtype);
  return trouble.NoConvergence(info,
                               ": it stopped at rows " + std::to_string(info / (n + 1)) + " to " +
                                   std::to_string(info % (n + 1)) + " of the tridiagonal form",
                               dtype);
}

// By columns, LAPACK sees each matrix transposed: a's lower triangle is its upper one, and its eigenvectors lie in
// rows.
template <typename T>
Outcome Run(const Call& call, CpuContext& context) {
  const MatrixStack stack = StackOf(call.InputArray("a"));
  const auto n = static_cast<std::size_t>(stack.rows);
  const bool vectors = call.Choice("compute") == "vectors";
  const T* const a = call.Input<T>("a").data();
  T* const w = call.Output<T>("w").data();
  T* const v = call.Output<T>("v").data();
  if (stack.empty()) return Outcome::Ok();
  const Workspace sizes(n, vectors);
  const auto decompose = [&](std::uint64_t begin, std::uint64_t end, std::uint64_t piece) {
    std::byte* const scratch = call.scratch().data() + piece * sizes.Bytes(sizeof(T));
    T* const copy = reinterpret_cast<T*>(scratch);
    T* const work = copy + sizes.copy;
    int* const iwork = reinterpret_cast<int*>(scratch + sizes.IntsAt(sizeof(T)));
    for (std::uint64_t i = begin; i < end; ++i) {
      if (context.cancelled()) return Outcome::Cancelled();
      T* const matrix = vectors ? v + i * n * n : copy;
      if (!CopyMatrix(context, a + i * n * n, matrix, n, n, Part::kLower, /*clear=*/false)) {
        return MatrixTrouble(stack, i).NotFinite();
      }
      const OpenBlasUse use(context, n < kSerialBelow);
      const int info = lapack::Syevd(vectors ? 'V' : 'N', 'U', static_cast<int>(n), matrix, w + i * n, work,
                                     static_cast<int>(sizes.work), iwork, static_cast<int>(sizes.iwork));
      if (info < 0) return MatrixTrouble(stack, i).Refused(info);
      if (info > 0) return GivenUp(MatrixTrouble(stack, i), info, static_cast<int>(n), call.InputType("a"));
      if (vectors) TransposeSquare(context, matrix, n);
    }
    return Outcome::Ok();
  };
  return ForPieces(context, stack.count, PiecesOf(stack), decompose);
}

}  // namespace

MemoryPlan PlanCpu(const BoundCall& call) {
  const Signature& a = call.Input("a");
  const MatrixStack stack = StackIn(call);
  if (stack.empty()) return {};
  const Workspace sizes(static_cast<std::size_t>(stack.rows), call.Choice("compute") == "vectors");
  return {.scratch_bytes = PiecesOf(stack) * sizes.Bytes(SizeOf(a.dtype))};
}

Outcome RunCpu(const Call& call, CpuContext& context) {
  return ForType<float, double>("eigh", call.InputType("a"), [&]<typename T>() { return Run<T>(call, context); });
}

}  // namespace hotplate::eigh
