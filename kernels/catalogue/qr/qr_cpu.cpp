#include <algorithm>
#include <cmath>

#include "kernels/call/for_type.h"
#include "kernels/catalogue/qr/qr.h"
#include "kernels/devices/cpu/lapack.h"
#include "kernels/devices/cpu/matrix_copy.h"
#include "kernels/devices/cpu/openblas_use.h"
#include "kernels/devices/cpu/stack_pieces.h"
#include "kernels/devices/device.h"
#include "kernels/families/square_matrices.h"

namespace hotplate::qr {
namespace {

// Matrices run on one thread if rows * columns * the shorter side is below this.
constexpr double kSerialBelow = 262'144;

bool IsSerial(const MatrixStack& stack) {
  const std::uint64_t shorter = std::min(stack.rows, stack.columns);
  return static_cast<double>(stack.elements()) * static_cast<double>(shorter) < kSerialBelow;
}

std::uint64_t PiecesOf(const MatrixStack& stack) { return PiecesOf(stack, stack.count, IsSerial(stack)); }

// Scratch, of each piece of a stack: a copy of a matrix, the reflections' factors, LAPACK's workspace.
struct Workspace {
  std::size_t copy = 0, tau = 0, work = 0;  // in elements

  std::size_t Bytes(std::size_t element) const { return ((copy + tau + work) * element + 63) / 64 * 64; }
};

// LAPACK's own answers. In float32 they may have been rounded down.
template <typename T>
std::size_t WorkElements(int m, int n, bool complete) {
  T factor = 0, make = 0, unused = 0;
  const int k = std::min(m, n), rows = complete ? m : k;
  lapack::Gelqf(n, m, &unused, &unused, &factor, -1);
  lapack::Orglq(rows, m, k, &unused, &unused, &make, -1);
  return static_cast<std::size_t>(std::ceil(static_cast<double>(std::max(factor, make)) * (1 + 0x1p-22)));
}

Workspace WorkspaceOf(const MatrixStack& stack, DType dtype, bool complete) {
  if (stack.empty()) return {};
  const int m = static_cast<int>(stack.rows), n = static_cast<int>(stack.columns);
  const auto work = TypeFor<float, double>(dtype, [&]<typename T>() { return WorkElements<T>(m, n, complete); });
  return {.copy = static_cast<std::size_t>(stack.elements()),
          .tau = static_cast<std::size_t>(std::min(m, n)),
          .work = work.value_or(0)};
}

// By columns, LAPACK sees a^T = r^T q^T, whose LQ factors these are: r^T, by columns, is r by rows, and q^T is q.
template <typename T>
Outcome Run(const Call& call, CpuContext& context) {
  const MatrixStack stack = StackOf(call.InputArray("a"));
  const bool complete = call.Choice("mode") == "complete", serial = IsSerial(stack);
  const auto m = static_cast<std::size_t>(stack.rows), n = static_cast<std::size_t>(stack.columns);
  const std::size_t k = std::min(m, n), width = complete ? m : k;
  if (stack.empty()) {  // nothing to decompose: any orthogonal matrices will do
    return SetIdentities(call.Output<T>("q"), width, context) ? Outcome::Ok() : Outcome::Cancelled();
  }
  const Workspace sizes = WorkspaceOf(stack, call.InputType("a"), complete);
  // The spec has bounded them.
  const int rows = static_cast<int>(m), columns = static_cast<int>(n), work_elements = static_cast<int>(sizes.work);
  const auto decompose = [&](std::uint64_t begin, std::uint64_t end, std::uint64_t piece) {
    T* const copy = reinterpret_cast<T*>(call.scratch().data() + piece * sizes.Bytes(sizeof(T)));
    T* const tau = copy + sizes.copy;
    T* const work = tau + sizes.tau;
    for (std::uint64_t i = begin; i < end; ++i) {
      if (context.cancelled()) return Outcome::Cancelled();
      const T* const a = call.Input<T>("a").data() + i * m * n;
      T* const q = call.Output<T>("q").data() + i * m * width;
      T* const r = call.Output<T>("r").data() + i * width * n;
      if (!CopyMatrix(context, a, copy, m, n, Part::kWhole, /*clear=*/false))
        return MatrixTrouble(stack, i).NotFinite();
      const OpenBlasUse use(context, serial);
      int info = lapack::Gelqf(columns, rows, copy, tau, work, work_elements);
      if (info != 0) return MatrixTrouble(stack, i).Refused(info);
      for (std::size_t row = 0; row < width; ++row) {
        const std::size_t zeros = row < k ? row : n;
        std::fill_n(r + row * n, zeros, T{0});
        std::copy_n(copy + row * n + zeros, n - zeros, r + row * n + zeros);
      }
      for (std::size_t row = 0; row < m; ++row) std::copy_n(copy + row * n, k, q + row * width);
      info = lapack::Orglq(static_cast<int>(width), rows, static_cast<int>(k), q, tau, work, work_elements);
      if (info != 0) return MatrixTrouble(stack, i).Refused(info);
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
              PiecesOf(stack) * WorkspaceOf(stack, a.dtype, call.Choice("mode") == "complete").Bytes(SizeOf(a.dtype))};
}

Outcome RunCpu(const Call& call, CpuContext& context) {
  return ForType<float, double>("qr", call.InputType("a"), [&]<typename T>() { return Run<T>(call, context); });
}

}  // namespace hotplate::qr
