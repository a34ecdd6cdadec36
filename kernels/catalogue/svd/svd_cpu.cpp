#include <algorithm>
#include <cmath>
#include <string_view>

#include "kernels/call/for_type.h"
#include "kernels/catalogue/svd/svd.h"
#include "kernels/devices/cpu/lapack.h"
#include "kernels/devices/cpu/matrix_copy.h"
#include "kernels/devices/cpu/openblas_use.h"
#include "kernels/devices/cpu/stack_pieces.h"
#include "kernels/devices/device.h"
#include "kernels/families/square_matrices.h"

namespace hotplate::svd {
namespace {

// Matrices run on one thread if rows * columns * the shorter side is below this.
constexpr double kSerialBelow = 262'144;

char JobOf(std::string_view compute) { return compute == "full" ? 'A' : compute == "thin" ? 'S' : 'N'; }

// LAPACK's own answer; the sizes are not 0. In float32 it may have been rounded down.
template <typename T>
std::size_t WorkElements(char job, int rows, int columns) {
  T work = 0, unused = 0;
  int iwork = 0;
  const int k = std::min(rows, columns);
  lapack::Gesdd(job, rows, columns, &unused, &unused, &unused, rows, &unused, job == 'A' ? columns : k, &work, -1,
                &iwork);
  return static_cast<std::size_t>(std::ceil(static_cast<double>(work) * (1 + 0x1p-22)));
}

// A matrix much longer than wide goes through its QR factors, inside of LAPACK, where it lies by columns. One that lies
// by rows is transposed first, since LAPACK would see its transpose, and LQ factors take it up to three times as long.
bool GoesTransposed(const MatrixStack& stack) { return 5 * stack.rows >= 8 * stack.columns; }

// Scratch: a copy of a matrix, thin left vectors that are to be transposed, LAPACK's workspace, and its integers.
struct Workspace {
  std::size_t copy = 0, left = 0, work = 0, iwork = 0;  // in elements

  std::size_t IntsAt(std::size_t element) const { return ((copy + left + work) * element + 63) / 64 * 64; }
  // For one piece of a stack.
  std::size_t Bytes(std::size_t element) const { return (IntsAt(element) + iwork * sizeof(int) + 63) / 64 * 64; }
};

bool IsSerial(const MatrixStack& stack) {
  const std::uint64_t shorter = std::min(stack.rows, stack.columns);
  return static_cast<double>(stack.elements()) * static_cast<double>(shorter) < kSerialBelow;
}

std::uint64_t PiecesOf(const MatrixStack& stack) { return PiecesOf(stack, stack.count, IsSerial(stack)); }

Workspace WorkspaceOf(const MatrixStack& stack, DType dtype, std::string_view compute) {
  if (stack.empty()) return {};
  const bool transposed = GoesTransposed(stack);
  const int rows = static_cast<int>(transposed ? stack.rows : stack.columns);
  const int columns = static_cast<int>(transposed ? stack.columns : stack.rows);
  const char job = JobOf(compute);
  const auto work = TypeFor<float, double>(dtype, [&]<typename T>() { return WorkElements<T>(job, rows, columns); });
  return {.copy = static_cast<std::size_t>(stack.elements()),
          .left = static_cast<std::size_t>(transposed && job == 'S' ? stack.elements() : 0),
          .work = work.value_or(0),
          .iwork = 8 * static_cast<std::size_t>(std::min(rows, columns))};
}

// By columns, LAPACK sees a^T = (vt)^T diag(s) u^T: its left vectors, in columns, are the rows of vt, and its right
// ones, in rows, the columns of u. So the results are in place without transposing, except for long matrices.
template <typename T>
Outcome Run(const Call& call, CpuContext& context) {
  const MatrixStack stack = StackOf(call.InputArray("a"));
  const auto m = static_cast<std::size_t>(stack.rows), n = static_cast<std::size_t>(stack.columns);
  const std::size_t k = std::min(m, n);
  if (stack.empty()) {  // nothing to decompose: any orthogonal matrices will do
    const bool whole =
        SetIdentities(call.Output<T>("u"), m, context) && SetIdentities(call.Output<T>("vt"), n, context);
    return whole ? Outcome::Ok() : Outcome::Cancelled();
  }
  const hotplate_array &left = call.OutputArray("u"), &right = call.OutputArray("vt");
  const auto u_columns = static_cast<std::size_t>(left.shape[left.rank - 1]);
  const auto vt_rows = static_cast<std::size_t>(right.shape[right.rank - 2]);
  const Workspace sizes = WorkspaceOf(stack, call.InputType("a"), call.Choice("compute"));
  const char job = JobOf(call.Choice("compute"));
  const bool transposed = GoesTransposed(stack), serial = IsSerial(stack);
  // The spec has bounded the sides. Leading dimensions are at least 1, even of arrays that do not exist.
  const int rows = static_cast<int>(m), columns = static_cast<int>(n), work_elements = static_cast<int>(sizes.work);
  const int u_leading = static_cast<int>(std::max<std::size_t>(u_columns, 1));
  const auto decompose = [&](std::uint64_t begin, std::uint64_t end, std::uint64_t piece) {
    std::byte* const scratch = call.scratch().data() + piece * sizes.Bytes(sizeof(T));
    T* const copy = reinterpret_cast<T*>(scratch);
    T* const thin_left = copy + sizes.copy;
    T* const work = thin_left + sizes.left;
    int* const iwork = reinterpret_cast<int*>(scratch + sizes.IntsAt(sizeof(T)));
    for (std::uint64_t i = begin; i < end; ++i) {
      if (context.cancelled()) return Outcome::Cancelled();
      const T* const a = call.Input<T>("a").data() + i * m * n;
      T* const u = call.Output<T>("u").data() + i * m * u_columns;
      T* const s = call.Output<T>("s").data() + i * k;
      T* const vt = call.Output<T>("vt").data() + i * vt_rows * n;
      const bool finite = transposed ? CopyTransposed(context, a, copy, m, n)
                                     : CopyMatrix(context, a, copy, m, n, Part::kWhole, /*clear=*/false);
      if (!finite) return MatrixTrouble(stack, i).NotFinite();
      T* const left_vectors = job == 'S' ? thin_left : u;
      const OpenBlasUse use(context, serial);
      const int info =
          transposed
              ? lapack::Gesdd(job, rows, columns, copy, s, left_vectors, rows, vt, columns, work, work_elements, iwork)
              : lapack::Gesdd(job, columns, rows, copy, s, vt, columns, u, u_leading, work, work_elements, iwork);
      if (info < 0) return MatrixTrouble(stack, i).Refused(info);
      // With divide and conquer, info only says that a step failed.
      if (info > 0) return MatrixTrouble(stack, i).NoConvergence(info, "", call.InputType("a"));
      if (!transposed || job == 'N') continue;
      TransposeSquare(context, vt, n);
      if (job == 'S') {
        static_cast<void>(CopyTransposed(context, thin_left, u, n, m));
      } else {
        TransposeSquare(context, u, m);
      }
    }
    return Outcome::Ok();
  };
  return ForPieces(context, stack.count, PiecesOf(stack), decompose);
}

}  // namespace

MemoryPlan PlanCpu(const BoundCall& call) {
  const Signature& a = call.Input("a");
  const MatrixStack stack = StackIn(call);
  return {.scratch_bytes =
              PiecesOf(stack) * WorkspaceOf(stack, a.dtype, call.Choice("compute")).Bytes(SizeOf(a.dtype))};
}

Outcome RunCpu(const Call& call, CpuContext& context) {
  return ForType<float, double>("svd", call.InputType("a"), [&]<typename T>() { return Run<T>(call, context); });
}

}  // namespace hotplate::svd
