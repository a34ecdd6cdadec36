#include "kernels/call/for_type.h"
#include "kernels/catalogue/cholesky/cholesky.h"
#include "kernels/devices/cpu/lapack.h"
#include "kernels/devices/cpu/matrix_copy.h"
#include "kernels/devices/cpu/openblas_use.h"
#include "kernels/devices/cpu/stack_pieces.h"
#include "kernels/families/matrix_stack.h"

namespace hotplate::cholesky {
namespace {

// Smaller matrices run on one thread.
constexpr std::uint64_t kSerialBelow = 96;

// By columns, LAPACK sees each matrix transposed: a's lower triangle is its upper one, and so is l's.
template <typename T>
Outcome Run(const Call& call, CpuContext& context) {
  const MatrixStack stack = StackOf(call.InputArray("a"));
  const auto n = static_cast<std::size_t>(stack.rows);
  const T* const a = call.Input<T>("a").data();
  T* const l = call.Output<T>("l").data();
  if (stack.empty()) return Outcome::Ok();
  const bool small = n < kSerialBelow;
  const auto factor = [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
    for (std::uint64_t i = begin; i < end; ++i) {
      if (context.cancelled()) return Outcome::Cancelled();
      T* const matrix = l + i * n * n;
      if (!CopyMatrix(context, a + i * n * n, matrix, n, n, Part::kLower, /*clear=*/true)) {
        return MatrixTrouble(stack, i).NotFinite();
      }
      const OpenBlasUse use(context, small);
      const int info = lapack::Potrf('U', static_cast<int>(n), matrix);
      if (info < 0) return MatrixTrouble(stack, i).Refused(info);
      if (info > 0) return MatrixTrouble(stack, i).NotPositiveDefinite(info);
    }
    return Outcome::Ok();
  };
  return ForPieces(context, stack.count, PiecesOf(stack, stack.count, small), factor);
}

}  // namespace

Outcome RunCpu(const Call& call, CpuContext& context) {
  return ForType<float, double>("cholesky", call.InputType("a"), [&]<typename T>() { return Run<T>(call, context); });
}

}  // namespace hotplate::cholesky
